//! The providers through real sockets: what strict servers accept, and what sloppy ones send.

mod anthropic;
mod endless;
mod faults;
pub(crate) mod images;
mod outcome;
mod paid;
mod properties;
mod responses;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use synthdev::adapters::providers::scripted::ScriptedModel;
use synthdev::adapters::providers::{ModelProviders, ModelTimeouts};
use synthdev::domain::cost::AttemptUsage;
use synthdev::domain::message::{ChatMessage, ChatRole, ToolCall};
use synthdev::domain::model::{
    DeltaKind, FinishReason, ModelChoice, ModelError, ModelParameters, ModelReply, ModelRequest, ToolChoice,
};
use synthdev::domain::secret::SecretText;
use synthdev::domain::tool::{ParsingTool, ToolRisk, ToolSpec};
use synthdev::ports::model::{DeltaSink, ModelPort};

use self::outcome::Outcome;
use crate::support::model_server::{Behaviour, Dialect, ModelServer, strict_check};

const KEY: &str = "sk-test-4711";

#[derive(Default)]
struct Heard(Mutex<Vec<(DeltaKind, String)>>, Mutex<Option<AttemptUsage>>);

impl DeltaSink for Heard {
    fn delta(&self, kind: DeltaKind, text: &str) {
        self.0.lock().unwrap().push((kind, text.to_owned()));
    }

    fn report_usage(&self, used: AttemptUsage) {
        *self.1.lock().unwrap() = Some(used);
    }
}

impl Heard {
    fn joined_text(&self, wanted: DeltaKind) -> String {
        let heard = self.0.lock().unwrap();
        heard.iter().filter(|(kind, _)| *kind == wanted).map(|(_, text)| text.as_str()).collect()
    }
}

fn providers(idle: Duration) -> ModelProviders {
    let keys = BTreeMap::from([("main".to_owned(), SecretText::new(KEY))]);
    // a server that says nothing from the start is borne as long as for a connection, and then as long as in silence
    let usual = ModelTimeouts::default();
    let connect_timeout = idle.min(usual.connect_timeout);
    ModelProviders::new(keys, ModelTimeouts { connect_timeout, idle_timeout: idle, ..usual })
}

fn patient_providers() -> ModelProviders {
    providers(Duration::from_secs(30))
}

fn request(base_url: &str) -> ModelRequest {
    ModelRequest {
        agent: "coder".to_owned(),
        state: "code".to_owned(),
        choice: ModelChoice {
            provider: "mock".to_owned(),
            base_url: base_url.to_owned(),
            model: "mock-1".to_owned(),
            key: Some("main".to_owned()),
            ..ModelChoice::default()
        },
        messages: vec![
            ChatMessage::text(ChatRole::System, "You are a coder."),
            ChatMessage::text(ChatRole::User, "Do it."),
        ],
        tools: [].into(),
        parsing_tools: Vec::new(),
        tool_choice: ToolChoice::Auto,
        answer_schema: None,
    }
}

async fn ask_server(behaviour: Behaviour) -> (Result<ModelReply, ModelError>, Heard) {
    outcome::ask_server(Dialect::Completions, behaviour, Duration::from_secs(30)).await
}

async fn check_outcome(title: &str, behaviour: Behaviour, outcome: Outcome<'_>) {
    outcome::check_outcome(Dialect::Completions, title, behaviour, outcome).await;
}

#[tokio::test]
async fn answers_of_every_kind_are_read() {
    let call = [("c1", "read_file", "{\"path\":\"src/a.rs\"}"), ("c2", "list", "{}")];
    let message = json!({"role": "assistant", "content": "Whole."});
    let whole = json!({"model": "m", "choices": [{"message": message, "finish_reason": "stop"}]});
    let hi = r#"{"choices":[{"delta":{"content":"Hi"}}]}"#;
    let stop = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    let rows = [
        ("text", Behaviour::text("Hello you there."), "Hello you there.", &[][..], FinishReason::Stop),
        ("calls in pieces", Behaviour::calls(&call), "", &call[..], FinishReason::ToolCalls),
        ("whole completion", Behaviour::from_body(&whole), "Whole.", &[], FinishReason::Stop),
        ("no [DONE]", Behaviour::events(&[hi, stop]), "Hi", &[], FinishReason::Stop),
        ("no finish reason", Behaviour::events(&[hi, "[DONE]"]), "Hi", &[], FinishReason::Stop),
        (
            "broken after the end",
            Behaviour::events(&[hi, stop]).with_cut_connection(),
            "Hi",
            &[],
            FinishReason::Stop,
        ),
        (
            "CRLF and keep-alives",
            Behaviour::raw_stream(&format!(
                ": ping\r\n\r\ndata: {hi}\r\n\r\n: ping\r\n\r\ndata: {stop}\r\n\r\n"
            )),
            "Hi",
            &[],
            FinishReason::Stop,
        ),
        (
            "cut at the limit",
            Behaviour::events(&[hi, r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#]),
            "Hi",
            &[],
            FinishReason::Length,
        ),
    ];
    for (title, behaviour, text, calls, finish) in rows {
        check_outcome(title, behaviour, Outcome::Reply(text, calls, finish)).await;
    }
}

#[tokio::test]
async fn every_status_has_its_class_and_one_clear_line() {
    let error = |text: &str| json!({"error": {"message": text, "type": "x"}}).to_string();
    let page = format!("<html><head><title>\n502 Bad\tGateway</title></head>{}</html>", "x".repeat(5000));
    let rows = [
        (
            "bad key",
            Behaviour::status(401, &error(&format!("Incorrect API key: {KEY}"))),
            "model.auth",
            &["[redacted:key]"][..],
        ),
        ("forbidden", Behaviour::status(403, "{\"detail\":\"no\"}"), "model.auth", &["403", "no"]),
        (
            "overloaded",
            Behaviour::status(529, "[{\"error\":{\"message\":\"busy\"}}]"),
            "model.overloaded",
            &["busy"],
        ),
        ("gateway page", Behaviour::status(502, &page), "model.overloaded", &["\"502 Bad Gateway\""]),
        (
            "too long",
            Behaviour::status(400, &error("This model's maximum context length is 8192 tokens")),
            "context_overflow",
            &["8192"],
        ),
        ("bad request", Behaviour::status(400, &error("nope")), "model.protocol", &["400", "nope"]),
        ("no such path", Behaviour::status(404, ""), "model.protocol", &["404"]),
        (
            "redirect",
            Behaviour::status(307, "").header("location", "https://other.example/v1/chat/completions"),
            "model.protocol",
            &["other.example"],
        ),
        (
            "filtered",
            Behaviour::status(400, "{\"error\":{\"code\":\"content_filter\"}}"),
            "model.refusal",
            &[],
        ),
    ];
    for (title, behaviour, code, says) in rows {
        check_outcome(title, behaviour, Outcome::Error(code, says)).await;
    }
}

#[tokio::test]
async fn what_is_no_answer_has_its_class_and_one_clear_line() {
    let hi = r#"{"choices":[{"delta":{"content":"Hi"}}]}"#;
    let rows = [
        (
            "error with 200",
            Behaviour::from_body(&json!({"error": "model not loaded"})),
            "model.protocol",
            &["not loaded"],
        ),
        (
            "error in the stream",
            Behaviour::events(&[hi, r#"{"error":{"message":"Provider died","code":502}}"#]),
            "model.overloaded",
            &["Provider died"],
        ),
        ("no JSON in the stream", Behaviour::events(&[hi, "{\"choices"]), "model.protocol", &["not JSON"]),
        (
            "cut before anything",
            Behaviour::raw_stream("").with_cut_connection(),
            "model.transport",
            &["before anything"],
        ),
        (
            "filter",
            Behaviour::from_chunks(&[json!({"content": "He"})], "content_filter"),
            "model.refusal",
            &["filter"],
        ),
    ];
    for (title, behaviour, code, says) in rows {
        check_outcome(title, behaviour, Outcome::Error(code, says)).await;
    }
}

#[tokio::test]
async fn addresses_that_lead_nowhere_are_told() {
    let quick = providers(Duration::from_millis(200));
    // TLS is set up, its handshake is hung up on.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let secure = format!("https://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move { while listener.accept().await.is_ok() {} });
    let error = quick.call(&request(&secure), &Heard::default()).await.unwrap_err();
    assert_eq!(error.code(), "model.transport", "{error}");
    assert!(error.to_string().contains("cannot connect to https://"), "{error}");

    let error = quick.call(&request("not a url"), &Heard::default()).await.unwrap_err();
    assert_eq!(error.code(), "model.protocol", "{error}");
}

#[tokio::test]
async fn five_turns_use_one_connection() {
    let call = ("c", "read", "{}");
    let turns = vec![
        Behaviour::text("1"),
        Behaviour::calls(&[call]),
        Behaviour::from_body(&json!({"choices": [{"message": {"content": "3"}}]})),
        Behaviour::status(500, "4"),
        Behaviour::text("5"),
    ];
    let server = ModelServer::start_server(turns).await;
    let providers = patient_providers();
    assert_eq!(server.connection_count(), 0, "construction opens nothing");
    for turn in 1..=5 {
        let answer = providers.call(&request(&server.base_url), &Heard::default()).await;
        assert_eq!(answer.is_ok(), turn != 4, "{turn}: {answer:?}");
    }
    assert_eq!((server.requests().len(), server.connection_count()), (5, 1));
}

#[tokio::test]
async fn usage_is_counted_or_estimated() {
    let (answer, _) = ask_server(Behaviour::text("Hello")).await;
    let reply = answer.unwrap();
    assert_eq!((reply.usage.prompt, reply.usage.completion, reply.usage_estimated), (10, 5, false));
    assert_eq!(reply.model.as_deref(), Some("mock-1"));

    let bare = r#"{"choices":[{"delta":{"content":"12345678"},"finish_reason":"stop"}]}"#;
    let (answer, _) = ask_server(Behaviour::events(&[bare])).await;
    let reply = answer.unwrap();
    assert!(reply.usage_estimated && reply.usage.completion == 2 && reply.usage.prompt > 10, "{reply:?}");
}

#[tokio::test]
async fn reasoning_is_apart_and_one_read_is_one_delta() {
    let deltas = [
        json!({"reasoning_content": "Let me "}),
        json!({"reasoning_content": "see."}),
        json!({"content": "A"}),
        json!({"content": "B"}),
        json!({"content": "C"}),
    ];
    let (answer, heard) = ask_server(Behaviour::from_chunks(&deltas, "stop")).await;
    let reply = answer.unwrap();
    assert_eq!((reply.reasoning.as_str(), reply.text.as_str()), ("Let me see.", "ABC"));
    assert_eq!(heard.joined_text(DeltaKind::Reasoning), "Let me see.");
    assert_eq!(heard.joined_text(DeltaKind::Text), "ABC");
    // The mock sends the body in one piece: never a delta per token.
    assert!(heard.0.lock().unwrap().len() <= 4, "{:?}", heard.0);
}

#[tokio::test]
async fn keys_go_only_where_they_belong() {
    let server = ModelServer::start_server(vec![Behaviour::text("1"), Behaviour::text("2")]).await;
    let providers = patient_providers();
    let mut asked = request(&server.base_url);
    providers.call(&asked, &Heard::default()).await.unwrap();
    asked.choice.key = None;
    providers.call(&asked, &Heard::default()).await.unwrap();
    let sent: Vec<_> = server.requests().iter().map(|r| r.headers.get("authorization").cloned()).collect();
    assert_eq!(sent, [Some(format!("Bearer {KEY}")), None]);

    asked.choice.key = Some("other".to_owned());
    let error = providers.call(&asked, &Heard::default()).await.unwrap_err();
    assert_eq!((error.code(), error.to_string().contains("`other`")), ("model.auth", true), "{error}");
    let broken = BTreeMap::from([("other".to_owned(), SecretText::new("two\nlines"))]);
    let broken = ModelProviders::new(broken, ModelTimeouts::default());
    let error = broken.call(&asked, &Heard::default()).await.unwrap_err();
    assert_eq!((error.code(), error.to_string().contains("lines")), ("model.auth", false), "{error}");
    assert_eq!(server.requests().len(), 2);
    assert!(!format!("{providers:?}").contains(KEY));
}

fn calls(list: &[(&str, &str, &str)]) -> ChatMessage {
    let call = |(id, name, arguments): &(&str, &str, &str)| ToolCall {
        id: (*id).to_owned(),
        name: (*name).to_owned(),
        arguments: (*arguments).to_owned(),
        original: None,
    };
    ChatMessage { tool_calls: list.iter().map(call).collect(), ..ChatMessage::text(ChatRole::Assistant, "") }
}

/// Conversations that would be refused as they stand, and the roles that reach the server.
#[tokio::test]
async fn any_conversation_is_valid_for_the_strictest_server() {
    let text = ChatMessage::text;
    let (system, user, assistant) = (ChatRole::System, ChatRole::User, ChatRole::Assistant);
    let result = ChatMessage::tool_result;
    let rows = [
        (vec![], "user"),
        (vec![text(system, "S")], "system user"),
        (vec![text(assistant, "A")], "user assistant user"),
        (vec![text(system, "S"), text(system, "T"), text(user, "U"), text(user, "V")], "system user"),
        (vec![text(user, "U"), text(system, "S"), text(assistant, " "), text(user, "V")], "user"),
        (vec![text(user, "U"), text(assistant, "A"), text(assistant, "B")], "user assistant user"),
        (
            vec![
                text(user, "U"),
                calls(&[("1", "r", "{}"), ("2", "w", "")]),
                result("2", "b"),
                result("1", ""),
            ],
            "user assistant tool tool",
        ),
        (
            vec![
                text(user, "U"),
                calls(&[("1", "r", "{bad"), ("2", "a.b c", "[1]")]),
                text(user, "V"),
                result("1", "x"),
            ],
            "user assistant tool tool user",
        ),
        (
            vec![text(user, "U"), result("9", "orphan"), text(assistant, "A"), text(user, "V")],
            "user assistant user",
        ),
        (
            vec![text(user, "U"), text(assistant, "A"), calls(&[("1", "r", "{}")]), result("1", "x")],
            "user assistant tool",
        ),
    ];
    let server = ModelServer::start_server(vec![Behaviour::text("ok"); rows.len()]).await;
    let providers = patient_providers();
    for (messages, roles) in rows {
        let asked = ModelRequest { messages, ..request(&server.base_url) };
        let answer = providers.call(&asked, &Heard::default()).await;
        assert!(answer.is_ok(), "{roles}: {answer:?}");
        let requests = server.requests();
        let sent = requests.last().unwrap().body["messages"].as_array().unwrap();
        let sent: Vec<_> = sent.iter().map(|message| message["role"].as_str().unwrap()).collect();
        assert_eq!(sent.join(" "), roles);
    }
}

#[tokio::test]
async fn tools_and_parameters_are_sent_as_a_strict_server_wants_them() {
    let spec = |name: &str, parameters: Value| ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        parameters,
        risk: ToolRisk::Read,
        repeat: None,
    };
    let decide = ParsingTool {
        name: "decide".to_owned(),
        description: "Decides.".to_owned(),
        parameters: json!({"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}),
        parsing_only: false,
    };
    let server = ModelServer::start_server(vec![Behaviour::calls(&[("1", "decide", "{\"ok\":true}")])]).await;
    let mut asked = request(&server.base_url);
    asked.tools = [spec("read", json!({})), spec("read", json!({})), spec("list", Value::Null)].into();
    asked.parsing_tools = vec![decide];
    asked.tool_choice = ToolChoice::Named("decide".to_owned());
    asked.choice.parameters = ModelParameters {
        temperature: Some(0.7),
        max_output_tokens: Some(100),
        reasoning_effort: Some("low".to_owned()),
        ..ModelParameters::default()
    };
    patient_providers().call(&asked, &Heard::default()).await.unwrap();
    let body = &server.requests()[0].body;
    let keys: Vec<_> = body.as_object().unwrap().keys().map(String::as_str).collect();
    let expected =
        "model messages tools tool_choice temperature max_tokens reasoning_effort stream stream_options";
    assert_eq!(keys.join(" "), expected);
    assert_eq!(body["temperature"], json!(0.7));
    assert_eq!(body["stream_options"], json!({"include_usage": true}));
}

#[test]
fn the_strict_server_refuses_what_strict_servers_refuse() {
    let good = json!({"model": "m", "stream": true, "stream_options": {"include_usage": true},
        "messages": [{"role": "user", "content": "U"}],
        "tools": [{"type": "function", "function": {"name": "r", "strict": false,
            "parameters": {"type": "object", "properties": {}}}}],
        "tool_choice": "auto"});
    assert_eq!(strict_check(&good), Ok(()));
    let user = json!({"role": "user", "content": "U"});
    let call = json!({"role": "assistant", "tool_calls":
        [{"id": "1", "type": "function", "function": {"name": "r", "arguments": "{}"}}]});
    let result = json!({"role": "tool", "tool_call_id": "1", "content": "x"});
    let schema =
        |schema: Value| json!([{"type": "function", "function": {"name": "r", "parameters": schema}}]);
    let rows = [
        ("/messages", json!([user, user]), "alternate"),
        ("/messages", json!([user, {"role": "system", "content": "S"}]), "must be the first"),
        ("/messages", json!([{"role": "assistant", "content": "A"}, user]), "first message"),
        ("/messages", json!([user, {"role": "assistant", "content": "A"}]), "last message"),
        ("/messages", json!([{"role": "user", "content": ""}]), "content"),
        ("/messages", json!([user, result]), "does not follow"),
        ("/messages", json!([user, call]), "without an answer"),
        ("/messages", json!([user, call, user]), "without an answer"),
        ("/messages", json!([user, call, result, result]), "does not follow"),
        ("/messages", json!([{"role": "user", "content": "U", "name": "n"}]), "unrecognized"),
        ("/tool_choice", json!({"type": "function", "function": {"name": "x"}}), "not offered"),
        ("/tool_choice", json!("any"), "unknown tool_choice"),
        ("/tools", json!([]), "non-empty"),
        ("/tools", schema(json!({"type": "string"})), "must be object"),
        ("/tools", schema(json!({"type": "object"})), "missing properties"),
        ("/tools", schema(json!({"type": "object", "properties": {}, "oneOf": []})), "top level"),
        (
            "/tools",
            schema(json!({"type": "object", "properties": {"a": {"type": "array"}}})),
            "missing items",
        ),
        ("/tools/0/function/strict", json!(true), "additionalProperties must be false"),
        ("/tools/0/function/name", json!("a b"), "function name"),
        ("/stream_options", json!({"include_usage": "yes"}), "boolean"),
        ("/stream", json!(false), "needs stream"),
        ("/model", json!(""), "non-empty"),
    ];
    for (path, value, why) in rows {
        let mut body = good.clone();
        *body.pointer_mut(path).unwrap() = value.clone();
        let said = strict_check(&body).unwrap_err();
        assert!(said.contains(why), "{path} = {value}: {said}");
    }
    let mut twice = good.clone();
    let tool = twice["tools"][0].clone();
    twice["tools"].as_array_mut().unwrap().push(tool);
    assert!(strict_check(&twice).unwrap_err().contains("two tools"));
}

#[tokio::test]
async fn requests_of_one_model_have_their_own_script() {
    let scripts = vec![("a", vec![Behaviour::text("for a")]), ("b", vec![Behaviour::text("for b")])];
    let server = ModelServer::start_per_model(scripts).await;
    let providers = patient_providers();
    for model in ["b", "a"] {
        let mut asked = request(&server.base_url);
        asked.choice.model = model.to_owned();
        let reply = providers.call(&asked, &Heard::default()).await.unwrap();
        assert_eq!(reply.text, format!("for {model}"));
    }
}

#[tokio::test]
async fn the_router_asks_the_script_for_scripted_choices() {
    let script = json!({"replies": {"coder": [{"text": "From the file.", "chunk": 4}]}});
    let providers = patient_providers().with_scripted(ScriptedModel::from_value(&script).unwrap());
    let mut asked = request("");
    asked.choice.provider = "scripted".to_owned();
    let heard = Heard::default();
    let reply = providers.call(&asked, &heard).await.unwrap();
    assert_eq!(
        (reply.text.as_str(), heard.joined_text(DeltaKind::Text).as_str()),
        ("From the file.", "From the file.")
    );
    assert_eq!(heard.0.lock().unwrap().len(), 4);
    assert_eq!(providers.scripted_model().unwrap().unused_replies(), []);
    let error = patient_providers().call(&asked, &Heard::default()).await.unwrap_err();
    assert_eq!(error.code(), "model.drift");
}
