//! A level whose server stays down lets other levels answer, and says so (MODEL-15).

use serde_json::{Value, json};

use super::world::{World, workflow};
use crate::support::model_server::{Behaviour, ModelServer, dead_url};

const RUN: [&str; 6] = ["run", "--workflow-file", "twice.json", "hello", "--json", "--yes"];

fn down() -> Behaviour {
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
        world.set(&format!("SYNTHDEV_{level}_BASE_URL"), url);
        world.set(&format!("SYNTHDEV_{level}_MODEL"), &format!("{}-model", level.to_lowercase()));
        world.set(&format!("SYNTHDEV_{level}_API_KEY"), &format!("sk-{level}-01"));
    }
    world.set("SYNTHDEV_BASE_URL", base);
    world.set("SYNTHDEV_BASE_FALLBACK", fallback);
    world.set("SYNTHDEV_RETRY_ATTEMPTS", "2");
    world.set("SYNTHDEV_RETRY_FIRST_DELAY_MS", "1");
    world
}

struct Case {
    title: &'static str,
    /// What the base level's server answers; nothing: there is none.
    base: Vec<Behaviour>,
    smart: Vec<Behaviour>,
    fallback: &'static str,
    /// The output, or the code of the error.
    ends: Result<&'static str, &'static str>,
    /// How often each server is asked.
    asked: (usize, usize),
    /// How often another model took over.
    told: usize,
}

async fn check(case: Case) {
    let title = case.title;
    let base = ModelServer::start(case.base).await;
    let smart = ModelServer::start(case.smart).await;
    let dead = case.asked.0 == 0;
    let url = if dead { dead_url() } else { base.base_url.clone() };
    let world = world(&url, &smart.base_url, case.fallback);
    let ran = world.run(&RUN).code(i32::from(case.ends.is_err()));
    let report = ran.json();
    match case.ends {
        Ok(text) => assert_eq!(report["output"], json!(text), "{title}: {report}"),
        Err(code) => assert_eq!(report["error"]["code"], json!(code), "{title}: {report}"),
    }
    assert_eq!((base.requests().len(), smart.requests().len()), case.asked, "{title}");
    let asked = base.requests().into_iter().chain(smart.requests());
    assert!(asked.into_iter().all(|one| one.rejected.is_none()), "{title}");
    let events = world.run(&["runs", "show", report["run_id"].as_str().unwrap(), "--json"]).code(0).lines();
    let told: Vec<&Value> = events.iter().filter(|one| one["code"] == "model_fallback").collect();
    assert_eq!(told.len(), case.told, "{title}: {told:?}");
    let names = |text: &str| text.contains("base-model") && text.contains("smart-model");
    assert!(told.iter().all(|one| names(one["text"].as_str().unwrap_or_default())), "{title}: {told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_level_answers_while_a_server_stays_down() {
    let text = Behaviour::text;
    let cases = [
        Case {
            title: "it takes over for the rest of the run",
            base: vec![down(), down()],
            smart: vec![text("One."), text("Two.")],
            fallback: "smart",
            ends: Ok("Two."),
            asked: (2, 2),
            told: 1,
        },
        Case {
            title: "no server at all; a level with the same model is not asked in vain",
            base: vec![],
            smart: vec![text("One."), text("Two.")],
            fallback: "fast, smart",
            ends: Ok("Two."),
            asked: (0, 2),
            told: 1,
        },
        Case {
            title: "it comes back when the other one goes down",
            base: vec![down(), down(), text("Two.")],
            smart: vec![text("One."), down(), down()],
            fallback: "smart",
            ends: Ok("Two."),
            asked: (3, 3),
            told: 2,
        },
        Case {
            title: "all are down: each is tried once in a visit",
            base: vec![down(), down()],
            smart: vec![down(), down()],
            fallback: "smart",
            ends: Err("model.overloaded"),
            asked: (2, 2),
            told: 1,
        },
        Case {
            title: "a bad key is not helped by another server",
            base: vec![Behaviour::status(401, r#"{"error": {"message": "bad key"}}"#)],
            smart: vec![],
            fallback: "smart",
            ends: Err("model.auth"),
            asked: (1, 0),
            told: 0,
        },
        Case {
            title: "one hiccup is no outage",
            base: vec![down(), text("One."), text("Two.")],
            smart: vec![],
            fallback: "smart",
            ends: Ok("Two."),
            asked: (3, 0),
            told: 0,
        },
    ];
    for case in cases {
        check(case).await;
    }
}

#[test]
fn a_level_that_is_none_is_refused_before_anything_runs() {
    let world = world("http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1", "smrt");
    let ran = world.run(&RUN).code(2);
    for part in ["level base falls back to `smrt`", "there is no level `smrt`", "smart"] {
        assert!(ran.err.contains(part), "no `{part}` in\n{}", ran.err);
    }
}
