//! coder_reviewer against a strict server over real HTTP: each request is exactly what the rules of
//! prompts say, and connections are used again.

use serde_json::{Value, json};

use super::world::World;
use crate::support::model_server::{Behaviour, Dialect, ModelServer, Recorded};

pub const KEY: &str = "sk-loopback-0001";

fn review_answer(id: &str, arguments: &Value) -> Behaviour {
    Behaviour::calls(&[(id, "review_work", &arguments.to_string())])
}

/// The conversation without the system message, as (role, text, names of calls).
fn conversation_turns(request: &Recorded) -> Vec<(String, String, Vec<String>)> {
    let messages = request.body["messages"].as_array().unwrap();
    let turn = |message: &Value| {
        let calls = message["tool_calls"].as_array();
        let names =
            calls.into_iter().flatten().map(|call| call["function"]["name"].as_str().unwrap().to_owned());
        let text = message["content"].as_str().unwrap_or_default().to_owned();
        (message["role"].as_str().unwrap().to_owned(), text, names.collect())
    };
    messages.iter().filter(|message| message["role"] != "system").map(turn).collect()
}

fn tools(request: &Recorded) -> Vec<&str> {
    let listed = request.body["tools"].as_array().unwrap();
    let mut names: Vec<&str> = listed.iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    names
}

/// What coder and reviewer answer over three rounds.
pub fn script(dialect: Dialect) -> Vec<(&'static str, Vec<Behaviour>)> {
    let text = |text: &str| dialect.text(text);
    let calls = |list: &[(&str, &str, &str)]| dialect.calls(list);
    let review = |id: &str, arguments: &Value| calls(&[(id, "review_work", &arguments.to_string())]);
    let again =
        |id: &str, text: &str| review(id, &json!({"improvement_needed": true, "continue_message": text}));
    let write = json!({"file_path": "new.txt", "content": "one"}).to_string();
    let read = json!({"file_paths": ["new.txt"]}).to_string();
    let coder = vec![
        calls(&[("w1", "write_file", &write), ("r1", "read_files", &read)]),
        text("I wrote one."),
        text("I wrote two."),
        text("I wrote three."),
    ];
    let reviewer = vec![
        again("d1", "Two is missing."),
        calls(&[("r2", "read_files", &read)]),
        again("d2", "Three is missing."),
        review("d3", &json!({"improvement_needed": false, "work_summary": "All there."})),
    ];
    vec![("base-model", coder), ("smart-model", reviewer)]
}

/// A world whose levels ask this server.
pub fn world_asking(server: &ModelServer) -> World {
    let mut world = World::repository();
    world.write_user_file("roles/mine.json", "{\"reviewer\": {\"level\": \"smart\"}}");
    world.set_variable("SYNTHDEV_BASE_URL", &server.base_url);
    world.set_variable("SYNTHDEV_API_KEY", KEY);
    world.set_variable("SYNTHDEV_BASE_MODEL", "base-model");
    world.set_variable("SYNTHDEV_SMART_MODEL", "smart-model");
    world
}

async fn three_rounds() -> (World, Value, ModelServer) {
    let server = ModelServer::start_per_model(script(Dialect::Completions)).await;
    let world = world_asking(&server);
    let report =
        world.run_program(&["run", "coder_reviewer", "count to three", "--yes", "--json"]).code(0).json();
    (world, report, server)
}

#[tokio::test(flavor = "multi_thread")]
async fn three_review_rounds_send_role_swapped_views_and_nothing_else() {
    let (world, report, server) = three_rounds().await;
    assert_eq!(report["output"], "All there.");
    let path = ["start", "code", "review", "code", "review", "code", "review", "stop"];
    assert_eq!(report["path"], json!(path));
    assert_eq!((world.read_file("new.txt").as_str(), &report["warnings"]), ("one", &json!([])));
    let requests = server.requests();
    let models: Vec<&str> = requests.iter().map(|one| one.body["model"].as_str().unwrap()).collect();
    let (base, smart) = ("base-model", "smart-model");
    assert_eq!(models, [base, base, smart, base, smart, smart, base, smart]);
    for request in &requests {
        assert_eq!((request.rejection.as_deref(), request.path.as_str()), (None, "/v1/chat/completions"));
        assert_eq!(request.headers["authorization"], format!("Bearer {KEY}"));
        assert_eq!(request.body["stream"], true);
        let coder = request.body["model"] == base;
        let system = request.body["messages"][0]["content"].as_str().unwrap();
        let says = if coder { "experienced software engineer" } else { "careful code reviewer" };
        assert!(system.contains(says) && request.body["messages"][0]["role"] == "system", "{system}");
        let ordinary = [
            "apply_patch",
            "calculate",
            "edit_file",
            "exact_search",
            "execute_script",
            "execute_terminal",
            "explain_codebase",
            "get_time",
            "glob",
            "list_directory",
            "multicall",
            "read_files",
            "read_output",
            "send_input",
            "stop_command",
            "web_fetch",
            "write_file",
        ];
        let reviewing = [
            "exact_search",
            "execute_terminal",
            "glob",
            "list_directory",
            "read_files",
            "read_output",
            "review_work",
            "send_input",
            "stop_command",
        ];
        assert_eq!(tools(request), if coder { &ordinary[..] } else { &reviewing[..] });
    }
    // A connection is put back by a task of its own: a busy machine may open one more in between. The windows of both
    // models are asked for at once.
    assert!(
        server.connection_count() <= 2 + server.requested_paths().len(),
        "{} connections for {} requests",
        server.connection_count(),
        server.requests().len()
    );
    assert_eq!(report["usage"]["prompt"], 10 * requests.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn each_agent_sees_itself_as_the_assistant() {
    let (_world, _report, server) = three_rounds().await;
    let requests = server.requests();
    let coder = conversation_turns(&requests[6]);
    let roles: Vec<&str> = coder.iter().map(|(role, ..)| role.as_str()).collect();
    let calls = ["user", "assistant", "tool", "tool", "assistant"];
    assert_eq!(roles, [&calls[..], &["user", "assistant", "user"]].concat(), "{coder:#?}");
    assert_eq!(coder[0].1, "Perform following task: count to three");
    assert_eq!(coder[1].2, ["write_file", "read_files"]);
    assert!(coder[3].1.contains("one"), "{}", coder[3].1);
    assert_eq!(coder[4].1, "I wrote one.");
    assert!(coder[5].1.ends_with("Two is missing."), "{}", coder[5].1);
    assert_eq!(coder[6].1, "I wrote two.");
    assert!(coder[7].1.ends_with("Three is missing."), "{}", coder[7].1);

    // The same conversation from the other seat; a decision's words came in through the script.
    let reviewer = conversation_turns(&requests[7]);
    let roles: Vec<&str> = reviewer.iter().map(|(role, ..)| role.as_str()).collect();
    assert_eq!(
        roles,
        ["user", "assistant", "user", "assistant", "user", "assistant", "user"],
        "{reviewer:#?}"
    );
    assert_eq!(reviewer[1].1, coder[0].1);
    assert!(
        reviewer[2].1.contains("used write_file") && reviewer[2].1.ends_with("I wrote one."),
        "{reviewer:#?}"
    );
    for (at, text) in [(3, &coder[5].1), (4, &coder[6].1), (5, &coder[7].1)] {
        assert_eq!(reviewer[at].1, *text);
    }
    assert!(reviewer[6].1.starts_with("I wrote three.") && reviewer[6].1.contains("Review the coder's work"));
    assert!(
        reviewer.iter().all(|(_, _, calls)| calls.is_empty()),
        "another agent's calls are text: {reviewer:#?}"
    );
    let reading = conversation_turns(&requests[5]);
    let [.., call, result] = &reading[..] else { panic!("{reading:#?}") };
    assert_eq!(
        (call.0.as_str(), &call.2[..], result.0.as_str()),
        ("assistant", &["read_files".to_owned()][..], "tool")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_levels_servers_keys_and_parameters_are_their_own() {
    let base = ModelServer::start_server(vec![Behaviour::text("Done.")]).await;
    let smart = ModelServer::start_server(vec![review_answer(
        "d",
        &json!({"improvement_needed": false, "work_summary": "Good."}),
    )])
    .await;
    let mut world = World::new();
    world.write_user_file("roles/mine.json", "{\"reviewer\": {\"level\": \"smart\"}}");
    world.set_variable("SYNTHDEV_TEMPERATURE", "0.5");
    world.set_variable("SYNTHDEV_BASE_URL", &base.base_url);
    world.set_variable("SYNTHDEV_API_KEY", "key-of-base-level");
    world.set_variable("SYNTHDEV_BASE_MODEL", "small");
    world.set_variable("SYNTHDEV_SMART_BASE_URL", &smart.base_url);
    world.set_variable("SYNTHDEV_SMART_API_KEY", "key-of-smart-level");
    world.set_variable("SYNTHDEV_SMART_MODEL", "large");
    world.run_program(&["run", "coder_reviewer", "x", "--json"]).code(0);
    for (server, key, model) in
        [(&base, "key-of-base-level", "small"), (&smart, "key-of-smart-level", "large")]
    {
        let requests = server.requests();
        assert_eq!(requests.len(), 1, "{model}");
        assert_eq!(requests[0].headers["authorization"], format!("Bearer {key}"));
        assert_eq!(
            (&requests[0].body["model"], &requests[0].body["temperature"]),
            (&json!(model), &json!(0.5))
        );
    }
}
