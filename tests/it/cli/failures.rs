//! Servers that refuse, fail, stall and lie: the documented end, one clear line, the path kept (acceptance 4).

use serde_json::{Value, json};

use super::world::{World, talk_workflow};
use crate::support::model_server::{Behaviour, ModelServer, dead_url};

struct Case {
    title: &'static str,
    answers: Vec<Behaviour>,
    /// Empty: the run completes.
    code: &'static str,
    message: &'static str,
    requests: usize,
}

fn world(base_url: &str) -> World {
    let mut world = World::new();
    world.write_json("talk.json", &talk_workflow());
    world.set_variable("SYNTHDEV_BASE_URL", base_url);
    world.set_variable("SYNTHDEV_API_KEY", "sk-failures-01");
    world.set_variable("SYNTHDEV_BASE_MODEL", "mock-1");
    world.set_variable("SYNTHDEV_RETRY_ATTEMPTS", "3");
    world.set_variable("SYNTHDEV_RETRY_FIRST_DELAY_MS", "1");
    world.set_variable("SYNTHDEV_RETRY_LONGEST_DELAY_MS", "2000");
    world
}

const RUN: [&str; 4] = ["run", "--workflow-file", "talk.json", "hello"];

/// A failed run reports everything in its final object, in its history and in one line on stderr.
fn check_failure(world: &World, title: &str, code: &str, says: &str) {
    let report = world.run_program(&[&RUN[..], &["--json"]].concat()).code(1).json();
    let error = &report["error"];
    assert_eq!(
        (&error["code"], &error["state"], &error["agent"]),
        (&json!(code), &json!("say"), &json!("coder")),
        "{title}"
    );
    let detail = error["detail"].as_str().unwrap();
    assert!(detail.contains(says), "{title}: no `{says}` in {detail}");
    assert!(!detail.contains('\n') && detail.chars().count() < 400, "{title}: one line: {detail}");
    assert!(error["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{title}: {error}");
    assert_eq!(report["path"], json!(["start", "say"]), "{title}");
    let id = report["run_id"].as_str().unwrap();
    let shown = world.run_program(&["runs", "show", id]).code(0).stdout;
    for part in ["start > say", "status     failed", code, says] {
        assert!(shown.contains(part), "{title}: no `{part}` in\n{shown}");
    }
    let events = world.run_program(&["runs", "show", id, "--json"]).code(0).lines();
    let said: Vec<&Value> = events.iter().filter(|one| one["event"] == "message_added").collect();
    assert!(
        said.iter().all(|one| one["author"] != json!({"agent": "coder"})),
        "{title}: context unchanged: {said:?}"
    );
}

async fn check_case(case: Case) {
    let title = case.title;
    let server = ModelServer::start_server(case.answers).await;
    let world = world(&server.base_url);
    if case.code.is_empty() {
        let report = world.run_program(&[&RUN[..], &["--json", "--yes"]].concat()).code(0).json();
        assert!(report["output"].as_str().unwrap().contains(case.message), "{title}: {report}");
    } else {
        check_failure(&world, title, case.code, case.message);
    }
    let requests = server.requests();
    assert_eq!(requests.len(), case.requests, "{title}");
    assert!(requests.iter().all(|one| one.rejection.is_none()), "{title}: {requests:?}");
    assert!(!world.project().join("cut.txt").exists(), "{title}: half a call is no call");
}

fn busy_answer() -> Behaviour {
    Behaviour::status(429, r#"{"error": {"message": "slow down", "type": "rate_limit_exceeded"}}"#)
}

fn half_a_call() -> Behaviour {
    let head = json!({"index": 0, "id": "c1", "type": "function",
        "function": {"name": "write_file", "arguments": "{\"file_path\": \"cut.txt\", \"content\": \"ha"}});
    let chunk = json!({"choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": [head]}}]});
    Behaviour::events(&[&chunk.to_string()]).with_cut_connection()
}

#[tokio::test(flavor = "multi_thread")]
async fn rate_limits_and_failing_servers_are_asked_again_as_they_wish() {
    let oops = || Behaviour::status(500, r#"{"error": {"message": "oops"}}"#);
    let ok = || Behaviour::text("Fine.");
    let cases = [
        Case {
            title: "429, then fine",
            answers: vec![busy_answer().header("retry-after", "0"), ok()],
            code: "",
            message: "Fine.",
            requests: 2,
        },
        Case {
            title: "429 for ever",
            answers: vec![busy_answer(), busy_answer(), busy_answer(), busy_answer()],
            code: "model.rate_limit",
            message: "slow down (after 3 attempts)",
            requests: 3,
        },
        Case {
            title: "429 for an hour",
            answers: vec![busy_answer().header("retry-after", "3600")],
            code: "model.rate_limit",
            message: "slow down",
            requests: 1,
        },
        Case {
            title: "500, then fine",
            answers: vec![oops(), oops(), ok()],
            code: "",
            message: "Fine.",
            requests: 3,
        },
        Case {
            title: "500 for ever",
            answers: vec![oops(), oops(), oops(), oops()],
            code: "model.overloaded",
            message: "oops (after 3 attempts)",
            requests: 3,
        },
    ];
    for case in cases {
        check_case(case).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_servers_own_wish_is_waited_for() {
    let server = ModelServer::start_server(vec![
        busy_answer().header("retry-after-ms", "120"),
        Behaviour::text("Fine."),
    ])
    .await;
    let events = world(&server.base_url).run_program(&[&RUN[..], &["--events"]].concat()).code(0).lines();
    let retry: Vec<&Value> = events.iter().filter(|one| one["event"] == "model_retry").collect();
    assert_eq!(retry.len(), 1);
    assert_eq!((&retry[0]["attempt"], &retry[0]["delay_ms"]), (&json!(2), &json!(120)));
    let times: Vec<i64> = events.iter().filter_map(|one| one["at"].as_i64()).collect();
    assert!(times.last().unwrap() - times[0] >= 120, "it did wait: {times:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_are_none_are_not_asked_for_again() {
    let page = "<html><head><title>Welcome to nginx!</title></head></html>";
    let cases = [
        Case {
            title: "a page",
            answers: vec![Behaviour::html_page(page)],
            code: "model.protocol",
            message: "Welcome to nginx!",
            requests: 1,
        },
        Case {
            title: "404 page",
            answers: vec![Behaviour::status(404, page)],
            code: "model.protocol",
            message: "404",
            requests: 1,
        },
        Case {
            title: "a bad key",
            answers: vec![Behaviour::status(401, r#"{"error": "no"}"#)],
            code: "model.auth",
            message: "401",
            requests: 1,
        },
        Case {
            title: "nothing",
            answers: vec![Behaviour::text("")],
            code: "model.empty",
            message: "the model answered nothing",
            requests: 1,
        },
    ];
    for case in cases {
        check_case(case).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_connections_end_in_transport_errors() {
    let cuts = vec![half_a_call(), half_a_call(), half_a_call()];
    check_case(Case {
        title: "cut in a call",
        answers: cuts,
        code: "model.transport",
        message: "(after 3 attempts)",
        requests: 3,
    })
    .await;
    let healed = vec![half_a_call(), Behaviour::text("Fine.")];
    check_case(Case { title: "cut once", answers: healed, code: "", message: "Fine.", requests: 2 }).await;
    let refused = world(&dead_url());
    check_failure(&refused, "refused", "model.transport", "cannot connect to http://127.0.0.1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_goes_silent_is_left_after_the_limit() {
    let hello = r#"{"choices": [{"index": 0, "delta": {"content": "Wait"}}]}"#;
    let server = ModelServer::start_server(vec![Behaviour::events(&[hello]).with_stall()]).await;
    let mut world = world(&server.base_url);
    world.set_variable("SYNTHDEV_RETRY_ATTEMPTS", "1");
    world.set_variable("SYNTHDEV_IDLE_SECONDS", "1");
    check_failure(&world, "stall", "model.timeout", "sent nothing for 1 s");
    server.wait_closed(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_calls_are_told_to_the_model_and_the_run_goes_on() {
    let fine = || Behaviour::text("Then without.");
    let rows = [
        ("invalid JSON", Behaviour::calls(&[("c1", "read_files", "{\"file_paths\": [")]), "JSON"),
        ("unknown tool", Behaviour::calls(&[("c1", "launch_rocket", "{}")]), "launch_rocket"),
        ("wrong type", Behaviour::calls(&[("c1", "read_files", "{\"file_paths\": 7}")]), "file_paths"),
    ];
    for (title, call, says) in rows {
        let server = ModelServer::start_server(vec![call, fine()]).await;
        let world = world(&server.base_url);
        let report = world.run_program(&[&RUN[..], &["--json", "--yes"]].concat()).code(0).json();
        assert_eq!(report["output"], "Then without.", "{title}");
        let requests = server.requests();
        assert!(requests.iter().all(|one| one.rejection.is_none()), "{title}: {requests:?}");
        let messages = requests[1].body["messages"].as_array().unwrap();
        let answer = messages.iter().find(|message| message["role"] == "tool").unwrap();
        let text = answer["content"].as_str().unwrap();
        assert!(text.contains(says), "{title}: no `{says}` in {text}");
        let shown = world.run_program(&["runs", "show", report["run_id"].as_str().unwrap()]).code(0).stdout;
        assert!(shown.contains("✗"), "{title}: {shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn people_get_one_clear_line_with_what_to_do() {
    let refused = world(&dead_url());
    let ran = refused.run_program(&RUN).code(1);
    assert_eq!(ran.stdout, "");
    let lines: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("cannot connect")).collect();
    assert!(
        lines.iter().any(|line| line.contains("in state say") && line.contains("agent coder")),
        "{}",
        ran.stderr
    );
    for part in ["error[model.transport]", "hint: check the base URL", "failed: start > say"] {
        assert!(ran.stderr.contains(part), "no `{part}` in\n{}", ran.stderr);
    }
}
