//! OpenAI's Responses through real sockets: what odd servers send, and what is sent to them.

mod refusals;

use serde_json::{Value, json};
use synthdev::domain::message::OpaqueBlock;
use synthdev::domain::model::FinishReason;
use synthdev::ports::model::ModelPort;

use super::outcome::{self, Outcome, plain_request};
use super::{Heard, KEY, patient_providers};
use crate::support::model_server::responses::{self, call, events, message, parts};
use crate::support::model_server::{Behaviour, Dialect, ModelServer, messages};

async fn check_outcome(title: &str, behaviour: Behaviour, outcome: Outcome<'_>) {
    outcome::check_outcome(Dialect::Responses, title, behaviour, outcome).await;
}

/// The events of a short text.
fn short_text_events() -> Vec<Value> {
    parts(&[message("Hi")], "")
}

#[tokio::test]
async fn answers_of_every_kind_are_read() {
    use FinishReason::{Length, Stop, ToolCalls};
    let list = [("c1", "read_file", "{\"path\":\"src/a.rs\"}"), ("c2", "list", "{}")];
    let both = [message("I look."), call("c1", "read_file", "{\"path\":\"src/a.rs\"}")];
    let whole = json!({"object": "response", "status": "completed", "model": "m", "output": both});
    let stream = messages::event_stream(&short_text_events());
    let nameless: String = short_text_events().iter().map(|event| format!("data:{event}\n")).collect();
    let cut_call = [call("c", "read", "{\"path\": \"src")];
    let with_done = format!("{stream}data: [DONE]\n\n");
    let endless = messages::event_stream(&short_text_events()[..8]);
    let rows = [
        ("text", responses::text("Hello you there."), Outcome::Reply("Hello you there.", &[], Stop)),
        ("calls in pieces", responses::calls(&list), Outcome::Reply("", &list, ToolCalls)),
        ("text and call", responses::items(&both), Outcome::Reply("I look.", &list[..1], ToolCalls)),
        ("whole response", Behaviour::from_body(&whole), Outcome::Reply("I look.", &list[..1], ToolCalls)),
        (
            "broken after the end",
            events(&short_text_events()).with_cut_connection(),
            Outcome::Reply("Hi", &[], Stop),
        ),
        ("silent after the end", events(&short_text_events()).with_stall(), Outcome::Reply("Hi", &[], Stop)),
        ("CRLF", Behaviour::raw_stream(&stream.replace('\n', "\r\n")), Outcome::Reply("Hi", &[], Stop)),
        ("no event names, no blank lines", Behaviour::raw_stream(&nameless), Outcome::Reply("Hi", &[], Stop)),
        ("[DONE] behind the end", Behaviour::raw_stream(&with_done), Outcome::Reply("Hi", &[], Stop)),
        (
            "[DONE] for an end",
            Behaviour::raw_stream(&format!("{endless}data: [DONE]\n\n")),
            Outcome::Reply("Hi", &[], Stop),
        ),
        (
            "cut at the limit",
            events(&parts(&[message("A")], "max_output_tokens")),
            Outcome::Reply("A", &[], Length),
        ),
        (
            "cut in a call",
            events(&parts(&cut_call, "max_output_tokens")),
            Outcome::Reply("", &[("c", "read", "{\"path\": \"src")], Length),
        ),
    ];
    for (title, behaviour, outcome) in rows {
        check_outcome(title, behaviour, outcome).await;
    }
}

#[tokio::test]
async fn what_is_no_answer_has_its_class_and_one_clear_line() {
    use Outcome::Error;
    let with = |failure: Value| events(&[&short_text_events()[..5], &[failure]].concat());
    let failed = |code: &str| {
        let error = json!({"code": code, "message": "Provider died"});
        json!({"type": "response.failed", "response": {"status": "failed", "error": error}})
    };
    let flat = json!({"type": "error", "code": "server_error", "message": "Provider died", "param": null});
    let key = format!("Incorrect API key provided: {KEY}");
    let rows = [
        (
            "bad key",
            Behaviour::status(401, &Dialect::Responses.error("invalid_api_key", &key)),
            Error("model.auth", &["[redacted:key]"]),
        ),
        ("no such path", Behaviour::status(404, ""), Error("model.protocol", &["404"])),
        (
            "redirect",
            Behaviour::status(307, "").header("location", "https://other.example/v1/responses"),
            Error("model.protocol", &["other.example"]),
        ),
        ("failed", with(failed("server_error")), Error("model.overloaded", &["Provider died"])),
        ("limited", with(failed("rate_limit_exceeded")), Error("model.rate_limit", &["Provider died"])),
        ("broken off", with(flat), Error("model.overloaded", &["Provider died"])),
        (
            "error with 200",
            Behaviour::from_body(&json!({"error": {"message": "no"}})),
            Error("model.protocol", &["no"]),
        ),
        (
            "chat completions",
            Behaviour::text("Hi"),
            Error("model.protocol", &["chat completions", "\"protocol\": \"chat\""]),
        ),
        (
            "filter",
            events(&parts(&[message("He")], "content_filter")),
            Error("model.refusal", &["filter", "2 characters"]),
        ),
        (
            "only thoughts",
            responses::items(&[responses::reasoning("Hm", "enc-1")]),
            Error("model.empty", &["only thought"]),
        ),
    ];
    for (title, behaviour, outcome) in rows {
        check_outcome(title, behaviour, outcome).await;
    }
}

/// However the bytes are cut on their way, the answer is the same.
#[tokio::test]
async fn a_stream_may_be_cut_anywhere() {
    let calls = [("c", "read", "{\"p\":\"ü\"}")];
    let items = [message("Hé \"you\"\n"), call("c", "read", "{\"p\":\"ü\"}")];
    let stream = messages::event_stream(&parts(&items, ""));
    for step in [1, 7, 64, 1000] {
        let expected = Outcome::Reply("Hé \"you\"\n", &calls, FinishReason::ToolCalls);
        check_outcome("steps", Behaviour::in_steps(stream.as_bytes(), step), expected).await;
    }
}

#[tokio::test]
async fn keys_and_connections_are_as_the_protocol_wants_them() {
    let server = ModelServer::start_in_dialect(Dialect::Responses, vec![responses::text("Hi"); 3]).await;
    let providers = patient_providers();
    for base_url in [server.base_url.clone(), format!("{}/responses", server.base_url)] {
        providers.call(&plain_request(Dialect::Responses, &base_url), &Heard::default()).await.unwrap();
    }
    let mut keyless = plain_request(Dialect::Responses, &server.base_url);
    keyless.choice.key = None;
    let reply = providers.call(&keyless, &Heard::default()).await.unwrap();
    assert_eq!(reply.model.as_deref(), Some("mock-1"), "the model that the server says answered");
    let usage = (reply.usage.prompt, reply.usage.completion, reply.usage_estimated);
    assert_eq!(usage, (10, 5, false));
    let requests = server.requests();
    let keys: Vec<_> = requests.iter().map(|one| one.headers.get("authorization").cloned()).collect();
    let bearer = Some(format!("Bearer {KEY}"));
    assert_eq!(keys, [bearer.clone(), bearer, None]);
    assert!(requests.iter().all(|one| one.path == "/v1/responses"));
    assert_eq!(server.connection_count(), 1, "one connection for all requests");
}

/// Summaries are for verified organisations, opaque reasoning blocks for the account that made them: the run continues
/// without them.
#[tokio::test]
async fn what_a_server_refuses_to_give_is_left_out_from_then_on() {
    let refuse = |text: &str| Behaviour::status(400, &Dialect::Responses.error("unsupported_value", text));
    let script = vec![
        refuse(
            "Your organization must be verified to generate reasoning summaries. Please go to your settings.",
        ),
        refuse("The encrypted content enc-... could not be verified. Reason: it could not be decrypted."),
        responses::text("One"),
        responses::text("Two"),
    ];
    let server = ModelServer::start_in_dialect(Dialect::Responses, script).await;
    let providers = patient_providers();
    let mut asked = plain_request(Dialect::Responses, &server.base_url);
    asked.choice.parameters.reasoning_effort = Some("low".to_owned());
    let mut before = super::calls(&[("c", "read", "{}")]);
    before.sealed = vec![OpaqueBlock {
        after: 0,
        block: json!({"type": "reasoning", "summary": [], "encrypted_content": "enc-1"}),
    }];
    asked.messages.push(before);
    for text in ["One", "Two"] {
        assert_eq!(providers.call(&asked, &Heard::default()).await.unwrap().text, text);
    }
    let requests = server.requests();
    let told = |at: usize| {
        let body = &requests[at].body;
        assert_eq!(requests[at].rejection, None);
        (
            body["reasoning"].clone(),
            body.get("include").is_some(),
            body["input"].to_string().contains("enc-1"),
        )
    };
    let (effort, summed) = (json!({"effort": "low"}), json!({"effort": "low", "summary": "auto"}));
    assert_eq!(told(0), (summed, true, true));
    assert_eq!(told(1), (effort.clone(), true, true));
    assert_eq!(told(2), (effort.clone(), false, false));
    assert_eq!((told(3), requests.len()), ((effort, false, false), 4));
}
