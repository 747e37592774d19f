//! Anthropic's messages through real sockets: what the strict server accepts, and what odd ones send.

mod refusals;

use std::time::Duration;

use serde_json::{Value, json};
use synthdev::domain::message::{ChatMessage, ChatRole};
use synthdev::domain::model::{
    DeltaKind, FinishReason, ModelError, ModelParameters, ModelReply, ModelRequest, ToolChoice,
};
use synthdev::domain::tool::{ToolRisk, ToolSpec};
use synthdev::ports::model::ModelPort;

use super::outcome::{self, Outcome, plain_request};
use super::{Heard, KEY, calls, patient_providers};
use crate::support::model_server::messages::{self, call_block, text_block, thinking_block};
use crate::support::model_server::{Behaviour, Dialect, ModelServer};

pub(super) fn request(base_url: &str) -> ModelRequest {
    plain_request(Dialect::Messages, base_url)
}

fn thinking(base_url: &str) -> ModelRequest {
    let mut asked = request(base_url);
    asked.choice.parameters =
        ModelParameters { reasoning_effort: Some("low".to_owned()), ..ModelParameters::default() };
    asked.tools = [tool("read")].into();
    asked
}

pub(super) fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        parameters: json!({}),
        risk: ToolRisk::Read,
        repeat: None,
    }
}

async fn ask_server(behaviour: Behaviour) -> (Result<ModelReply, ModelError>, Heard) {
    outcome::ask_server(Dialect::Messages, behaviour, Duration::from_secs(30)).await
}

async fn check_outcome(title: &str, behaviour: Behaviour, outcome: Outcome<'_>) {
    outcome::check_outcome(Dialect::Messages, title, behaviour, outcome).await;
}

/// The events of a short text, to be left out from the end.
fn short_text_events() -> Vec<Value> {
    messages::parts(&[text_block("Hi")], "end_turn", &json!({"input_tokens": 10, "output_tokens": 1}))
}

fn in_part(count: usize) -> Behaviour {
    messages::events(&short_text_events()[..count])
}

#[tokio::test]
async fn answers_of_every_kind_are_read() {
    use FinishReason::{Length, Other, Stop, ToolCalls};
    let call = [("c1", "read_file", "{\"path\":\"src/a.rs\"}"), ("c2", "list", "{}")];
    let whole = json!({"type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use",
        "content": [text_block("Whole."), {"type": "tool_use", "id": "w", "name": "read", "input": {"p": 1}}],
        "usage": {"input_tokens": 3, "output_tokens": 4}});
    let both = [text_block("I look."), call_block("c1", "read_file", "{\"path\":\"src/a.rs\"}")];
    let crlf = messages::event_stream(&short_text_events()).replace('\n', "\r\n");
    let nameless: String = short_text_events().iter().map(|event| format!("data:{event}\n")).collect();
    let cut_call = [call_block("c", "read", "{\"path\": \"src")];
    let rows = [
        ("text", messages::text("Hello you there."), Outcome::Reply("Hello you there.", &[], Stop)),
        ("calls in pieces", messages::calls(&call), Outcome::Reply("", &call, ToolCalls)),
        (
            "text and call",
            messages::blocks_answer(&both, "tool_use"),
            Outcome::Reply("I look.", &call[..1], ToolCalls),
        ),
        (
            "whole message",
            Behaviour::from_body(&whole),
            Outcome::Reply("Whole.", &[("w", "read", "{\"p\":1}")], ToolCalls),
        ),
        ("no message_stop", in_part(6), Outcome::Reply("Hi", &[], Stop)),
        ("broken after the end", in_part(6).with_cut_connection(), Outcome::Reply("Hi", &[], Stop)),
        ("silent after the end", in_part(7).with_stall(), Outcome::Reply("Hi", &[], Stop)),
        ("CRLF", Behaviour::raw_stream(&crlf), Outcome::Reply("Hi", &[], Stop)),
        ("no event names, no blank lines", Behaviour::raw_stream(&nameless), Outcome::Reply("Hi", &[], Stop)),
        (
            "stop sequence",
            messages::blocks_answer(&[text_block("A")], "stop_sequence"),
            Outcome::Reply("A", &[], Stop),
        ),
        (
            "paused",
            messages::blocks_answer(&[text_block("A")], "pause_turn"),
            Outcome::Reply("A", &[], Other),
        ),
        (
            "cut at the limit",
            messages::blocks_answer(&[text_block("A")], "max_tokens"),
            Outcome::Reply("A", &[], Length),
        ),
        (
            "cut in a call",
            messages::blocks_answer(&cut_call, "max_tokens"),
            Outcome::Reply("", &[("c", "read", "{\"path\": \"src")], Length),
        ),
    ];
    for (title, behaviour, outcome) in rows {
        check_outcome(title, behaviour, outcome).await;
    }
}

fn error(kind: &str, text: &str) -> String {
    json!({"type": "error", "error": {"type": kind, "message": text}}).to_string()
}

#[tokio::test]
async fn a_refused_request_is_one_kind_of_error_with_a_text_of_one_line() {
    use Outcome::Error;
    let invalid = |text: &str| Behaviour::status(400, &error("invalid_request_error", text));
    let key = error("authentication_error", &format!("invalid x-api-key {KEY}"));
    let large = error("request_too_large", "big");
    let rows = [
        ("bad key", Behaviour::status(401, &key), Error("model.auth", &["401", "[redacted:key]"])),
        (
            "forbidden",
            Behaviour::status(403, &error("permission_error", "no")),
            Error("model.auth", &["403"]),
        ),
        ("no such path", Behaviour::status(404, "Not Found"), Error("model.protocol", &["404", "Not Found"])),
        (
            "too long with its answer",
            invalid("input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000"),
            Error("context_overflow", &["190000"]),
        ),
        ("too large", Behaviour::status(413, &large), Error("context_overflow", &["413"])),
        ("bad request", invalid("messages: nope"), Error("model.protocol", &["400", "nope"])),
        (
            "redirect",
            Behaviour::status(307, "").header("location", "https://other.example/v1/messages"),
            Error("model.protocol", &["other.example"]),
        ),
    ];
    for (title, behaviour, outcome) in rows {
        check_outcome(title, behaviour, outcome).await;
    }
}

#[tokio::test]
async fn a_body_that_is_no_message_is_one_kind_of_error_with_a_text_of_one_line() {
    use Outcome::Error;
    let failure = json!({"type": "error", "error": {"type": "api_error", "message": "Provider died"}});
    let thought = [thinking_block("Hm", "sig-1")];
    let rows = [
        ("error with 200", Behaviour::from_body(&failure), Error("model.overloaded", &["Provider died"])),
        (
            "chat completions",
            Behaviour::text("Hi"),
            Error("model.protocol", &["chat completions", "\"protocol\": \"chat\""]),
        ),
        (
            "only thoughts",
            messages::blocks_answer(&thought, "end_turn"),
            Error("model.empty", &["only thought"]),
        ),
    ];
    for (title, behaviour, outcome) in rows {
        check_outcome(title, behaviour, outcome).await;
    }
}

#[tokio::test]
async fn a_broken_stream_is_one_kind_of_error_with_a_text_of_one_line() {
    use Outcome::Error;
    let with = |kind: &str| {
        let failure = json!({"type": "error", "error": {"type": kind, "message": "Provider died"}});
        messages::events(&[&short_text_events()[..4], &[failure]].concat())
    };
    let rows = [
        ("overloaded", with("overloaded_error"), Error("model.overloaded", &["Provider died"])),
        ("limit", with("rate_limit_error"), Error("model.rate_limit", &["Provider died"])),
        (
            "no JSON",
            Behaviour::raw_stream("event: ping\ndata: {\"type\n\n"),
            Error("model.protocol", &["not JSON"]),
        ),
        (
            "cut before anything",
            in_part(2).with_cut_connection(),
            Error("model.transport", &["before anything"]),
        ),
    ];
    for (title, behaviour, outcome) in rows {
        check_outcome(title, behaviour, outcome).await;
    }
}

/// However the bytes are cut on their way, the answer is the same.
#[tokio::test]
async fn a_stream_may_be_cut_anywhere() {
    let blocks = [text_block("Hé \"you\"\n"), call_block("c", "read", "{\"p\":\"ü\"}")];
    let stream = messages::event_stream(&messages::parts(&blocks, "tool_use", &json!({"input_tokens": 10})));
    for step in [1, 7, 64, 1000] {
        let behaviour = Behaviour::in_steps(stream.as_bytes(), step);
        let (answer, _) = ask_server(behaviour).await;
        let reply = answer.unwrap();
        assert_eq!(
            (reply.text.as_str(), reply.tool_calls[0].arguments.as_str()),
            ("Hé \"you\"\n", "{\"p\":\"ü\"}")
        );
    }
}

#[tokio::test]
async fn keys_versions_and_connections_are_as_the_protocol_wants_them() {
    let server = ModelServer::start_messages(vec![messages::text("Hi"); 4]).await;
    let providers = patient_providers();
    let root = server.base_url.trim_end_matches("/v1").to_owned();
    for base_url in [server.base_url.clone(), root.clone(), format!("{root}/v1/messages")] {
        providers.call(&request(&base_url), &Heard::default()).await.unwrap();
    }
    let mut keyless = request(&root);
    keyless.choice.key = None;
    let reply = providers.call(&keyless, &Heard::default()).await.unwrap();
    assert_eq!(reply.model.as_deref(), Some("claude-sonnet-4-5"), "the model that the server says answered");
    let requests = server.requests();
    let keys: Vec<_> = requests.iter().map(|one| one.headers.get("x-api-key").map(String::as_str)).collect();
    assert_eq!(keys, [Some(KEY), Some(KEY), Some(KEY), None]);
    assert_eq!(server.connection_count(), 1, "one connection for all requests");
    assert!(
        requests
            .iter()
            .all(|one| one.path == "/v1/messages" && one.headers["anthropic-version"] == "2023-06-01")
    );

    let elsewhere = [("main".to_owned(), vec!["https://api.anthropic.com".to_owned()])].into();
    let kept = patient_providers().with_key_servers(elsewhere);
    let error = kept.call(&request(&root), &Heard::default()).await.unwrap_err();
    assert_eq!((error.code(), server.requests().len()), ("model.auth", 4), "{error}");
}

#[tokio::test]
async fn cached_tokens_are_a_part_of_the_prompt() {
    let usage = json!({"input_tokens": 3, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 100,
        "output_tokens": 1});
    let rows = [(usage, (123, 5, 100, false)), (Value::Null, (0, 5, 0, true))];
    for (usage, (prompt, completion, cached, estimated)) in rows {
        let behaviour = messages::answer_with_usage(&[text_block("Hello")], "end_turn", &usage);
        let reply = ask_server(behaviour).await.0.unwrap();
        let found = (reply.usage.completion, reply.usage.cached, reply.usage_estimated);
        assert_eq!(found, (completion, cached, estimated));
        assert!(if estimated { reply.usage.prompt > 10 } else { reply.usage.prompt == prompt }, "{reply:?}");
    }
}

/// Rounds of tools as the engine sends them: each reply goes back with its results.
#[tokio::test]
async fn signed_thoughts_go_back_unchanged_as_long_as_their_turn_lasts() {
    let hidden = json!({"type": "redacted_thinking", "data": "xyz"});
    let first = [
        thinking_block("Let me see.", "sig-1"),
        hidden.clone(),
        text_block("I look."),
        call_block("a", "read", "{}"),
    ];
    let script = vec![
        messages::blocks_answer(&first, "tool_use"),
        messages::calls(&[("b", "read", "{}")]),
        messages::text("Done."),
        messages::calls(&[("c", "read", "{}")]),
        messages::text("Forced."),
    ];
    let server = ModelServer::start_messages(script).await;
    let providers = patient_providers();
    let mut asked = thinking(&server.base_url);
    let mut said = Vec::new();
    for round in 0..5 {
        if round == 4 {
            asked.tool_choice = ToolChoice::Required;
        }
        let heard = Heard::default();
        let reply = providers.call(&asked, &heard).await.unwrap_or_else(|error| panic!("{round}: {error}"));
        said.push(heard.joined_text(DeltaKind::Reasoning));
        let mut message = ChatMessage::text(ChatRole::Assistant, reply.text);
        message.sealed = reply.sealed;
        message.tool_calls = reply.tool_calls;
        let results: Vec<_> =
            message.tool_calls.iter().map(|call| ChatMessage::tool_result(&call.id, "found")).collect();
        asked.messages.push(message);
        asked.messages.extend(results);
        if round == 2 {
            asked.messages.push(ChatMessage::text(ChatRole::User, "Go on."));
        }
    }
    assert_eq!(said, ["Let me see.", "", "", "", ""]);
    let requests = server.requests();
    let thinks: Vec<bool> = requests.iter().map(|one| one.body.get("thinking").is_some()).collect();
    // the last turn began without a thought: a tool was forced
    assert_eq!(thinks, [true, true, true, true, false]);
    let turn = |at: usize| requests[at].body["messages"][1]["content"].as_array().unwrap().clone();
    let kinds: Vec<_> = turn(1).iter().map(|block| block["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds, ["thinking", "redacted_thinking", "text", "tool_use"]);
    assert_eq!((&turn(2)[0], &turn(2)[1]), (&thinking_block("Let me see.", "sig-1"), &hidden));
    assert_eq!(turn(4).len(), 2, "without thinking no thoughts are sent");
    assert_eq!(requests[0].body["thinking"], json!({"type": "enabled", "budget_tokens": 4096}));

    // in the middle of a turn that began without a thought, a fixed budget is not asked for
    let server = ModelServer::start_messages(vec![messages::text("Done.")]).await;
    let mut asked = thinking(&server.base_url);
    asked.messages.extend([calls(&[("1", "read", "{}")]), ChatMessage::tool_result("1", "x")]);
    providers.call(&asked, &Heard::default()).await.unwrap();
    assert_eq!(server.requests()[0].body.get("thinking"), None);
}

/// Conversations that would be refused as they stand, and the turns that reach the server.
#[tokio::test]
async fn any_conversation_is_valid_for_the_strict_server() {
    let text = ChatMessage::text;
    let (system, user, assistant) = (ChatRole::System, ChatRole::User, ChatRole::Assistant);
    let result = ChatMessage::tool_result;
    let rows = [
        (vec![], "user"),
        (vec![text(system, "S")], "user"),
        (vec![text(assistant, "A")], "user assistant user"),
        (vec![text(system, "S"), text(system, "T"), text(user, "U"), text(user, "V")], "user"),
        (vec![text(user, "U"), text(system, "S"), text(assistant, " "), text(user, "V")], "user"),
        (vec![text(user, "U"), text(assistant, "A"), text(assistant, "B")], "user assistant user"),
        (
            vec![
                text(user, "U"),
                calls(&[("1", "r", "{}"), ("2", "w", "")]),
                result("2", "b"),
                result("1", ""),
            ],
            "user assistant user",
        ),
        (
            vec![text(user, "U"), calls(&[("1", "r", "{bad"), ("2.x", "a.b c", "[1]")]), text(user, "V")],
            "user assistant user",
        ),
        (
            vec![text(user, "U"), result("9", "orphan"), text(assistant, "A"), text(user, "V")],
            "user assistant user",
        ),
        (
            vec![
                text(user, "U"),
                calls(&[("1", "r", "{}")]),
                result("1", "x"),
                calls(&[("1", "r", "{}")]),
                result("1", "y"),
                text(user, "V"),
            ],
            "user assistant user assistant user",
        ),
    ];
    let server = ModelServer::start_messages(vec![messages::text("ok"); 2 * rows.len()]).await;
    let providers = patient_providers();
    for (messages, roles) in rows {
        for tools in [Vec::new(), vec![tool("r"), tool("r"), tool("list")]] {
            let asked = ModelRequest {
                messages: messages.clone(),
                tools: tools.into(),
                ..thinking(&server.base_url)
            };
            let answer = providers.call(&asked, &Heard::default()).await;
            assert!(answer.is_ok(), "{roles}: {answer:?}");
            let requests = server.requests();
            let sent = requests.last().unwrap().body["messages"].as_array().unwrap();
            let sent: Vec<_> = sent.iter().map(|message| message["role"].as_str().unwrap()).collect();
            assert_eq!(sent.join(" "), roles);
        }
    }
}
