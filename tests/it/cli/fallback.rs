//! A level whose server stays down lets other levels answer, and says so.

use serde_json::{Value, json};

use super::real_protocols::thoughtful_answer;
use super::world::{World, workflow};
use crate::support::model_server::{Behaviour, Dialect, ModelServer, dead_url};

const RUN: [&str; 6] = ["run", "--workflow-file", "twice.json", "hello", "--json", "--yes"];

fn server_down() -> Behaviour {
    Behaviour::status(503, r#"{"error": {"message": "down"}}"#)
}

/// Two visits of one agent; two attempts at each model.
fn world(base: &str, smart: &str, fallback: &str) -> World {
    let mut world = World::new();
    let say = |name: &str, next: &str| {
        json!({"name": name, "agent": "coder", "input": "common_data.task",
            "action": {"function": "sendUserMessage"}, "transition": [{"target": next, "condition": "true",
                "before": "common_data.result = this.getAgent('coder').getLastResponse()"}]})
    };
    let states = json!([
        {"name": "start", "transition": [{"target": "first", "condition": "true"}]},
        say("first", "second"), say("second", "stop"), {"name": "stop", "input": "common_data.result"}
    ]);
    world.write_json("twice.json", &workflow(&states));
    for (level, url) in [("BASE", base), ("SMART", smart)] {
        world.set_variable(&format!("SYNTHDEV_{level}_BASE_URL"), url);
        world.set_variable(&format!("SYNTHDEV_{level}_MODEL"), &format!("{}-model", level.to_lowercase()));
        world.set_variable(&format!("SYNTHDEV_{level}_API_KEY"), &format!("sk-{level}-01"));
    }
    world.set_variable("SYNTHDEV_BASE_URL", base);
    world.set_variable("SYNTHDEV_BASE_FALLBACK", fallback);
    world.set_variable("SYNTHDEV_RETRY_ATTEMPTS", "2");
    world.set_variable("SYNTHDEV_RETRY_FIRST_DELAY_MS", "1");
    world
}

struct Case {
    title: &'static str,
    /// What the base level's server answers; nothing: there is none.
    base: Vec<Behaviour>,
    smart_answers: Vec<Behaviour>,
    fallback: &'static str,
    /// The output, or the code of the error.
    ends: Result<&'static str, &'static str>,
    /// How often each server is asked.
    request_counts: (usize, usize),
    /// How often another model took over.
    fallback_count: usize,
}

async fn check_case(case: Case) {
    let title = case.title;
    let base = ModelServer::start_server(case.base).await;
    let smart = ModelServer::start_server(case.smart_answers).await;
    let dead = case.request_counts.0 == 0;
    let url = if dead { dead_url() } else { base.base_url.clone() };
    let world = world(&url, &smart.base_url, case.fallback);
    let ran = world.run_program(&RUN).code(i32::from(case.ends.is_err()));
    let report = ran.json();
    match case.ends {
        Ok(text) => assert_eq!(report["output"], json!(text), "{title}: {report}"),
        Err(code) => assert_eq!(report["error"]["code"], json!(code), "{title}: {report}"),
    }
    assert_eq!((base.requests().len(), smart.requests().len()), case.request_counts, "{title}");
    let asked = base.requests().into_iter().chain(smart.requests());
    assert!(asked.into_iter().all(|one| one.rejection.is_none()), "{title}");
    let events =
        world.run_program(&["runs", "show", report["run_id"].as_str().unwrap(), "--json"]).code(0).lines();
    let told: Vec<&Value> = events.iter().filter(|one| one["code"] == "model_fallback").collect();
    assert_eq!(told.len(), case.fallback_count, "{title}: {told:?}");
    let names = |text: &str| text.contains("base-model") && text.contains("smart-model");
    assert!(told.iter().all(|one| names(one["text"].as_str().unwrap_or_default())), "{title}: {told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_level_answers_while_a_server_stays_down() {
    let text = Behaviour::text;
    let cases = [
        Case {
            title: "it takes over for the rest of the run",
            base: vec![server_down(), server_down()],
            smart_answers: vec![text("One."), text("Two.")],
            fallback: "smart",
            ends: Ok("Two."),
            request_counts: (2, 2),
            fallback_count: 1,
        },
        Case {
            title: "no server at all; a level with the same model is not asked in vain",
            base: vec![],
            smart_answers: vec![text("One."), text("Two.")],
            fallback: "fast, smart",
            ends: Ok("Two."),
            request_counts: (0, 2),
            fallback_count: 1,
        },
        Case {
            title: "it comes back when the other one goes down",
            base: vec![server_down(), server_down(), text("Two.")],
            smart_answers: vec![text("One."), server_down(), server_down()],
            fallback: "smart",
            ends: Ok("Two."),
            request_counts: (3, 3),
            fallback_count: 2,
        },
        Case {
            title: "all are down: each is tried once in a visit",
            base: vec![server_down(), server_down()],
            smart_answers: vec![server_down(), server_down()],
            fallback: "smart",
            ends: Err("model.overloaded"),
            request_counts: (2, 2),
            fallback_count: 1,
        },
        Case {
            title: "a bad key is not helped by another server",
            base: vec![Behaviour::status(401, r#"{"error": {"message": "bad key"}}"#)],
            smart_answers: vec![],
            fallback: "smart",
            ends: Err("model.auth"),
            request_counts: (1, 0),
            fallback_count: 0,
        },
        Case {
            title: "one hiccup is no outage",
            base: vec![server_down(), text("One."), text("Two.")],
            smart_answers: vec![],
            fallback: "smart",
            ends: Ok("Two."),
            request_counts: (3, 0),
            fallback_count: 0,
        },
    ];
    for case in cases {
        check_case(case).await;
    }
}

#[test]
fn a_level_that_is_none_is_refused_before_anything_runs() {
    let world = world("http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1", "smrt");
    let ran = world.run_program(&RUN).code(2);
    for part in ["level base falls back to `smrt`", "there is no level `smrt`", "smart"] {
        assert!(ran.stderr.contains(part), "no `{part}` in\n{}", ran.stderr);
    }
}

/// Three visits in a conversation that has room for two of them.
fn long_talk(summary_level: Option<&str>) -> Value {
    let say = |name: &str, next: &str| {
        json!({"name": name, "agent": "coder", "input": "common_data.task",
            "action": {"function": "sendUserMessage"}, "transition": [{"target": next, "condition": "true",
                "before": "common_data.result = this.getAgent('coder').getLastResponse()"}]})
    };
    let mut flow = workflow(&json!([
        {"name": "start", "transition": [{"target": "first", "condition": "true"}]},
        say("first", "second"), say("second", "third"), say("third", "stop"),
        {"name": "stop", "input": "common_data.result"}
    ]));
    flow["contexts"][0] =
        json!({"name": "main", "starting_messages": [], "max_length": 700, "trim": "summarize"});
    if let Some(level) = summary_level {
        flow["contexts"][0]["summary_level"] = json!(level);
    }
    flow
}

struct Sums {
    title: &'static str,
    level: Option<&'static str>,
    fallback: &'static str,
    scripts: [Vec<Behaviour>; 3],
    /// How often base, smart and fast are asked.
    request_counts: [usize; 3],
    summed_line: Option<&'static str>,
    expected_texts: &'static [&'static str],
}

fn summaries() -> [Sums; 4] {
    let long = |text: &str| Behaviour::text(&format!("{text} {}", "word ".repeat(90)));
    let sum = || Behaviour::text("In short: two answers.");
    let end = || Behaviour::text("Three.");
    [
        Sums {
            title: "the level that the context names",
            level: Some("fast"),
            fallback: "smart",
            scripts: [
                vec![long("One."), long("Two."), end()],
                vec![sum()],
                vec![server_down(), server_down()],
            ],
            request_counts: [3, 1, 2],
            summed_line: Some("smart-model"),
            expected_texts: &["model_fallback"],
        },
        Sums {
            title: "the agent's own: who sums up speaks then, too",
            level: None,
            fallback: "smart",
            scripts: [
                vec![long("One."), long("Two."), server_down(), server_down()],
                vec![sum(), end()],
                vec![],
            ],
            request_counts: [4, 2, 0],
            summed_line: Some("smart-model"),
            expected_texts: &["model_fallback"],
        },
        Sums {
            title: "nobody else",
            level: Some("fast"),
            fallback: "",
            scripts: [vec![long("One."), long("Two."), end()], vec![], vec![server_down(), server_down()]],
            request_counts: [3, 0, 2],
            summed_line: None,
            expected_texts: &["summary_failed", "context_trimmed"],
        },
        Sums {
            title: "all are down",
            level: Some("fast"),
            fallback: "smart",
            scripts: [
                vec![long("One."), long("Two."), end()],
                vec![server_down(), server_down()],
                vec![server_down(), server_down()],
            ],
            request_counts: [3, 2, 2],
            summed_line: None,
            expected_texts: &["model_fallback", "summary_failed", "context_trimmed"],
        },
    ]
}

/// A summary falls back like an agent's call; without a fallback the beginning is left out, and a warning says so.
#[tokio::test(flavor = "multi_thread")]
async fn another_level_sums_up_while_the_usual_one_is_down() {
    for Sums {
        title,
        level,
        fallback,
        scripts: [base, smart, fast],
        request_counts: asked,
        summed_line: summed,
        expected_texts: told,
    } in summaries()
    {
        let base = ModelServer::start_server(base).await;
        let smart = ModelServer::start_server(smart).await;
        let fast = ModelServer::start_server(fast).await;
        let mut world = world(&base.base_url, &smart.base_url, if level.is_none() { fallback } else { "" });
        world.set_variable("SYNTHDEV_FAST_BASE_URL", &fast.base_url);
        world.set_variable("SYNTHDEV_FAST_MODEL", "fast-model");
        world.set_variable("SYNTHDEV_FAST_FALLBACK", if level.is_some() { fallback } else { "" });
        world.write_json("twice.json", &long_talk(level));
        let report = world.run_program(&RUN).code(0).json();
        assert_eq!(report["output"], "Three.", "{title}: {report}");
        assert_eq!([&base, &smart, &fast].map(|one| one.requests().len()), asked, "{title}");
        let events = world
            .run_program(&["runs", "show", report["run_id"].as_str().unwrap(), "--json"])
            .code(0)
            .lines();
        let by = events.iter().find(|one| one["event"] == "context_summarized");
        assert_eq!(by.map(|one| one["model"].as_str().unwrap()), summed, "{title}: {by:?}");
        let warnings = events.iter().filter(|one| one["event"] == "warning");
        let codes: Vec<&str> = warnings.filter_map(|one| one["code"].as_str()).collect();
        assert_eq!(
            codes.iter().filter(|code| **code != "model_retry").collect::<Vec<_>>(),
            told.iter().collect::<Vec<_>>(),
            "{title}"
        );
        let last = if level.is_none() { &smart } else { &base };
        let seen = last.requests().last().unwrap().body.to_string();
        assert_eq!(seen.contains("In short: two answers."), summed.is_some(), "{title}: {seen}");
    }
}

/// In the middle of a visit a server of another protocol takes over: it is sent what it can read, with every call and
/// its result, and no thoughts that only the first one can unseal.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_another_protocol_takes_over_between_two_tool_rounds() {
    let pairs = Dialect::ALL.iter().flat_map(|one| Dialect::ALL.iter().map(move |other| (*one, *other)));
    for (one, other) in pairs.filter(|(one, other)| one != other) {
        let look = |id: &'static str| (id, "list_directory");
        let round = |dialect, id| {
            let (id, name) = look(id);
            thoughtful_answer(dialect, "A thought.", "I look.", (id, name, &json!({"directory_path": "."})))
        };
        let gone = |dialect: Dialect| Behaviour::status(503, &dialect.error("overloaded_error", "down"));
        let first = ModelServer::start_in_dialect(
            one,
            vec![round(one, "c1"), gone(one), gone(one), one.text("Two.")],
        )
        .await;
        let second = ModelServer::start_in_dialect(
            other,
            vec![round(other, "c2"), other.text("One."), gone(other), gone(other)],
        )
        .await;
        let mut world = world(&first.base_url, &second.base_url, "smart");
        world.set_variable("SYNTHDEV_REASONING_EFFORT", "low");
        let provider = |dialect: Dialect, server: &ModelServer| {
            json!({"base_url": server.base_url, "protocol": dialect.protocol(), "needs_key": false,
                "accepts": ["reasoning_effort", "max_output_tokens"]})
        };
        let providers = json!({"one": provider(one, &first), "other": provider(other, &second)});
        world.write_user_file("models.json", &json!({ "providers": providers }).to_string());
        let pair = format!("{one:?} then {other:?}");
        let report = world.run_program(&RUN).json();
        let refused: Vec<String> = [&first, &second]
            .iter()
            .flat_map(|server| server.requests())
            .filter_map(|one| one.rejection)
            .collect();
        assert_eq!(refused, Vec::<String>::new(), "{pair}");
        assert_eq!(report["output"], "Two.", "{pair}: {report}");
        assert_eq!((first.requests().len(), second.requests().len()), (4, 4), "{pair}");
        let seen = second.requests()[1].body.to_string();
        assert!(seen.contains("c1") && seen.contains("c2"), "{pair}: {seen}");
        let seen = first.requests()[3].body.to_string();
        for part in ["c1", "c2", "One."] {
            assert!(seen.contains(part), "{pair}: no `{part}` in {seen}");
        }
    }
}

/// A recording of a run in which another model took over plays to the same end: for who speaks, and for who sums up.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_fell_back_is_recorded_and_played() {
    let long = |text: &str| Dialect::Messages.text(&format!("{text} {}", "word ".repeat(90)));
    let gone = || Behaviour::status(503, &Dialect::Messages.error("overloaded_error", "down"));
    let (sum, end) = (Dialect::Messages.text("In short: two answers."), Dialect::Messages.text("Three."));
    let rows = [
        (
            Dialect::Completions,
            [vec![server_down(), server_down()], vec![Behaviour::text("One."), Behaviour::text("Two.")]],
            None,
        ),
        // the summary asks the base server, too, which reports its limit
        (Dialect::Messages, [vec![long("One."), long("Two."), gone(), gone(), end], vec![sum]], Some("fast")),
    ];
    for (dialect, [base, smart], level) in rows {
        let base = ModelServer::start_in_dialect(dialect, base).await;
        let smart = ModelServer::start_in_dialect(dialect, smart).await;
        let mut world = world(&base.base_url, &smart.base_url, if level.is_none() { "smart" } else { "" });
        world.set_variable("SYNTHDEV_FAST_FALLBACK", "smart");
        world.set_variable("SYNTHDEV_FAST_MODEL", "fast-model");
        let provider = |server: &ModelServer| json!({"base_url": server.base_url, "protocol": dialect.protocol(), "needs_key": false});
        let providers = json!({"one": provider(&base), "other": provider(&smart)});
        world.write_user_file("models.json", &json!({ "providers": providers }).to_string());
        if level.is_some() {
            world.write_json("twice.json", &long_talk(level));
        }
        let recorded = world.run_program(&[&RUN[..], &["--record", "it.jsonl"]].concat()).code(0).json();
        drop((base, smart));
        let played = world.run_program(&[&RUN[..], &["--replay", "it.jsonl"]].concat()).code(0).json();
        for key in ["output", "usage", "cost_usd", "path"] {
            assert_eq!(played[key], recorded[key], "{dialect:?}, {key}: {played}");
        }
        let told = |report: &Value| report["warnings"].to_string().matches("model_fallback").count();
        assert_eq!((told(&recorded), told(&played)), (1, 1), "{dialect:?}: {played}");
    }
}
