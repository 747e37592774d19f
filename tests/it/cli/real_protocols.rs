//! coder_reviewer against the strict server of each protocol: the same path and output, and thoughts that go back sealed
//! where a protocol has them.

use serde_json::{Value, json};
use synthdev::domain::cost::TokenUsage;
use synthdev::domain::message::ToolCall;
use synthdev::domain::model::{FinishReason, ModelReply};

use super::real_http::{KEY, script, world_asking};
use super::world::World;
use crate::support::model_server::{Behaviour, Dialect, ModelServer, Recorded};

/// Everything of a conversation in order: who says or does what, in the protocol's words.
fn conversation_text(request: &Recorded) -> String {
    let word = |value: &Value, key: &str| value[key].as_str().map(str::to_owned);
    let list = request.body["input"].as_array().or(request.body["messages"].as_array()).unwrap().iter();
    let told = list.map(|one| {
        let calls = one["tool_calls"].as_array().into_iter().flatten().map(|_| "call".to_owned());
        let blocks = one["content"].as_array().into_iter().flatten().filter_map(|block| word(block, "type"));
        let who = word(one, "role").or(word(one, "type"));
        who.into_iter().chain(blocks).chain(calls).collect::<Vec<_>>().join("+")
    });
    told.collect::<Vec<_>>().join(" ")
}

fn system(request: &Recorded) -> &str {
    let places = ["/instructions", "/system/0/text", "/messages/0/content"];
    places.iter().find_map(|place| request.body.pointer(place)?.as_str()).unwrap()
}

/// A world that asks this server in its protocol.
pub fn world_asking_in(dialect: Dialect, server: &ModelServer) -> World {
    let mut world = world_asking(server);
    match dialect {
        Dialect::Completions => {}
        Dialect::Responses => {
            world.set_variable("SYNTHDEV_PROVIDER", "openai");
            world.write_user_file("models.json", r#"{"providers": {"openai": {"protocol": "responses"}}}"#);
        }
        Dialect::Messages => world.set_variable("SYNTHDEV_PROVIDER", "anthropic"),
    }
    world
}

#[tokio::test(flavor = "multi_thread")]
async fn three_review_rounds_take_the_same_path_in_every_protocol() {
    let rows = [
        (Dialect::Completions, "system user assistant+call+call tool tool assistant user assistant user"),
        (
            Dialect::Responses,
            "user function_call function_call function_call_output function_call_output assistant user assistant user",
        ),
        (
            Dialect::Messages,
            "user+text assistant+tool_use+tool_use user+tool_result+tool_result assistant+text user+text assistant+text \
             user+text",
        ),
    ];
    for (dialect, conversation) in rows {
        let server = ModelServer::start_per_model_in_dialect(dialect, script(dialect)).await;
        let world = world_asking_in(dialect, &server);
        let report =
            world.run_program(&["run", "coder_reviewer", "count to three", "--yes", "--json"]).code(0).json();
        let path = ["start", "code", "review", "code", "review", "code", "review", "stop"];
        assert_eq!((&report["output"], &report["path"]), (&json!("All there."), &json!(path)), "{dialect:?}");
        assert_eq!((world.read_file("new.txt").as_str(), &report["warnings"]), ("one", &json!([])));
        let requests = server.requests();
        let models: Vec<&str> = requests.iter().map(|one| one.body["model"].as_str().unwrap()).collect();
        let (base, smart) = ("base-model", "smart-model");
        assert_eq!(models, [base, base, smart, base, smart, smart, base, smart]);
        for request in &requests {
            assert_eq!((request.rejection.as_deref(), request.path.as_str()), (None, dialect.path()));
            let bearer = request.headers.get("authorization").and_then(|value| value.strip_prefix("Bearer "));
            assert_eq!(bearer.or(request.headers.get("x-api-key").map(String::as_str)), Some(KEY));
            let coder = request.body["model"] == base;
            let says = if coder { "experienced software engineer" } else { "careful code reviewer" };
            assert!(system(request).contains(says), "{dialect:?}");
            let tools = request.body["tools"].to_string();
            assert_eq!(tools.contains("\"review_work\""), !coder);
            let most = if dialect == Dialect::Messages { json!(32_000) } else { Value::Null };
            assert_eq!(request.body["max_tokens"], most);
        }
        assert_eq!(conversation_text(&requests[6]), conversation);
        assert_eq!(report["usage"]["prompt"], 10 * requests.len());
    }
}

/// A thought, a text and a call.
pub fn thoughtful_answer(
    dialect: Dialect,
    thought: &str,
    text: &str,
    (id, name, arguments): (&str, &str, &Value),
) -> Behaviour {
    let call = ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_string(),
        original: None,
    };
    dialect.render_reply(&ModelReply {
        text: text.to_owned(),
        reasoning: thought.to_owned(),
        tool_calls: vec![call],
        sealed: Vec::new(),
        usage: TokenUsage::default(),
        usage_estimated: false,
        model: None,
        finish: FinishReason::ToolCalls,
        duration_ms: 0,
        ..ModelReply::default()
    })
}

/// Through the engine, the context and the prompts: opaque reasoning blocks stay with their calls in every later request.
#[tokio::test(flavor = "multi_thread")]
async fn sealed_thoughts_stay_with_their_calls_for_the_whole_run() {
    let rows = [
        (Dialect::Responses, "user reasoning assistant function_call function_call_output"),
        (Dialect::Messages, "user+text assistant+thinking+text+tool_use user+tool_result"),
    ];
    for (dialect, conversation) in rows {
        let write = json!({"file_path": "new.txt", "content": "one"});
        let coder = vec![
            thoughtful_answer(dialect, "A file.", "I write.", ("w", "write_file", &write)),
            dialect.text("Written."),
            dialect.text("Written more."),
        ];
        let judged = |id: &str, improve: bool| {
            let decision =
                json!({"improvement_needed": improve, "continue_message": "More.", "work_summary": "Good."});
            thoughtful_answer(dialect, "Hm.", "", (id, "review_work", &decision))
        };
        let reviewer = vec![judged("d1", true), judged("d2", false)];
        let scripts = vec![("base-model", coder), ("smart-model", reviewer)];
        let server = ModelServer::start_per_model_in_dialect(dialect, scripts).await;
        let mut world = world_asking_in(dialect, &server);
        world.write_user_file("models.json", &catalogue(dialect));
        world.set_variable("SYNTHDEV_REASONING_EFFORT", "low");
        let report = world.run_program(&["run", "coder_reviewer", "write", "--yes", "--json"]).code(0).json();
        assert_eq!(report["output"], "Good.");
        let requests = server.requests();
        let (coder, reviewer): (Vec<&Recorded>, Vec<&Recorded>) =
            requests.iter().partition(|one| one.body["model"] == "base-model");
        assert_eq!((coder.len(), reviewer.len()), (3, 2));
        for request in &requests {
            assert_eq!(request.rejection, None, "{dialect:?}");
            assert!(request.body.get("thinking").or(request.body.get("reasoning")).is_some());
        }
        for request in &coder[1..] {
            assert!(
                conversation_text(request).starts_with(conversation),
                "{dialect:?}: {}",
                conversation_text(request)
            );
        }
        // "A file." is in the reasoning only.
        let seen = reviewer[1].body.to_string();
        assert!(!seen.contains("A file."), "another agent's thoughts are its own: {seen}");
    }
}

/// The provider takes an effort.
fn catalogue(dialect: Dialect) -> String {
    let provider = json!({"protocol": "responses", "accepts": ["reasoning_effort"]});
    let none = json!({});
    json!({"providers": {"openai": if dialect == Dialect::Responses { provider } else { none }}}).to_string()
}
