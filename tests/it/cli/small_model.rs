//! `coder_reviewer` with a reviewer that is a small model: it answers in words whatever is forced, loses itself in a text
//! until the output limit, and its server does not always do what it is asked. How each request asks for the decision,
//! and how the decision came.

use serde_json::{Value, json};

use super::real_http::world_asking;
use crate::support::model_server::{Behaviour, ModelServer, Recorded};

fn words() -> Behaviour {
    Behaviour::text("The program prints hello.")
}

fn object(value: &Value) -> Behaviour {
    Behaviour::text(&value.to_string())
}

fn goes_on() -> Behaviour {
    object(&json!({"improvement_needed": true, "continue_message": "Say it louder."}))
}

fn ends() -> Behaviour {
    object(&json!({"improvement_needed": false}))
}

/// The server stops it in the middle of a text that may be missing.
fn cut() -> Behaviour {
    let text = format!("{{\"improvement_needed\": true, \"continue_message\": \"{}", "Again. ".repeat(40));
    Behaviour::from_chunks(&[json!({"role": "assistant", "content": text})], "length")
}

fn cut_call() -> Behaviour {
    let call = json!({"index": 0, "id": "c", "type": "function",
        "function": {"name": "review_work", "arguments": "{\"improvement_needed\": true, \"continue_message\": \"Aga"}});
    Behaviour::from_chunks(&[json!({"tool_calls": [call]})], "length")
}

fn call() -> Behaviour {
    Behaviour::calls(&[("d", "review_work", "{\"improvement_needed\": false}")])
}

fn refuses_format() -> Behaviour {
    Behaviour::status(400, r#"{"error": {"message": "response_format is not supported"}}"#)
}

/// `short`: structured, without the members that may be missing.
fn way_of_asking(request: &Recorded) -> &'static str {
    let body = &request.body;
    if let Some(schema) = body.pointer("/response_format/json_schema/schema/properties") {
        let names: Vec<&str> = schema.as_object().unwrap().keys().map(String::as_str).collect();
        return if names == ["improvement_needed"] { "short" } else { "structured" };
    }
    match body["tool_choice"].as_str() {
        Some("required") => "forced",
        _ => "free",
    }
}

/// `sources`: how each decision came; an error's detail if the run fails.
async fn check(
    about: &str,
    reviewer: Vec<Behaviour>,
    asked: &[&str],
    sources: &[&str],
    failure: Option<&str>,
) {
    let coder = [(); 4].map(|()| Behaviour::text("I did it."));
    let scripts = vec![("base-model", coder.to_vec()), ("smart-model", reviewer)];
    let server = ModelServer::start_per_model(scripts).await;
    let world = world_asking(&server);
    world.write_user_file("settings.json", r#"{"retry": {"first_delay_ms": 1}}"#);
    let ran = world.run_program(&["run", "coder_reviewer", "say hello", "--yes", "--events"]);
    let ran = ran.code(i32::from(failure.is_some()));
    let events: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).expect("an event")).collect();
    let requests = server.requests();
    let ways: Vec<&str> = requests
        .iter()
        .filter(|request| request.body["model"] == "smart-model")
        .inspect(|request| assert_eq!(request.rejection, None, "{about}"))
        .map(way_of_asking)
        .collect();
    assert_eq!(ways, asked, "{about}");
    let decided: Vec<&str> = events
        .iter()
        .filter(|event| event["event"] == "decided")
        .map(|event| event["source"].as_str().unwrap_or("call"))
        .collect();
    assert_eq!(decided, sources, "{about}");
    let detail = events.last().unwrap()["error"]["detail"].as_str().unwrap_or_default();
    assert!(detail.contains(failure.unwrap_or_default()), "{about}: {detail}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_model_decides_by_what_its_server_holds_it_to() {
    let (short, structured) = ("short", "structured_output");
    let to_short = ["free", "forced", "structured", short];
    check("cut in the first review", vec![words(), words(), cut(), ends()], &to_short, &[structured], None)
        .await;
    check(
        "cut in a later review, which begins with structured output",
        vec![words(), words(), goes_on(), words(), cut(), ends()],
        &["free", "forced", "structured", "free", "structured", short],
        &[structured, structured],
        None,
    )
    .await;
    check(
        "its calls are cut",
        vec![cut_call(), cut_call(), cut_call(), ends()],
        &["free", "free", "free", short],
        &[structured],
        None,
    )
    .await;
    check(
        "the server fails once, and hangs up once",
        vec![
            words(),
            Behaviour::status(503, "loading"),
            words(),
            Behaviour::reset_at_once(),
            cut(),
            Behaviour::status(503, "busy"),
            ends(),
        ],
        &["free", "forced", "forced", "structured", "structured", short, short],
        &[structured],
        None,
    )
    .await;
    check(
        "the server does not take a format any more: the reminder follows",
        vec![words(), words(), goes_on(), words(), refuses_format(), call()],
        &["free", "forced", "structured", "free", "structured", "forced"],
        &[structured, "reminder"],
        None,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_model_that_does_not_decide_says_what_was_tried() {
    check(
        "the server takes no format",
        vec![words(), words(), refuses_format()],
        &["free", "forced", "structured"],
        &[],
        Some("never called review_work, and its server refuses structured output: "),
    )
    .await;
    check(
        "cut however it is asked, then words",
        vec![words(), words(), goes_on(), words(), cut(), cut(), words()],
        &["free", "forced", "structured", "free", "structured", "short", "forced"],
        &["structured_output"],
        Some("also when it was reminded, and its structured output does not fit: not valid JSON"),
    )
    .await;
}
