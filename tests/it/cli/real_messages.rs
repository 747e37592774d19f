//! coder_reviewer against the strict server of Anthropic's protocol: the same path and output as with chat completions,
//! and what only this protocol wants (MODEL-2).

use serde_json::{Value, json};

use super::real_http::{KEY, Words, asking, script};
use super::world::World;
use crate::support::model_server::messages::{self, call_block, text_block, thinking_block};
use crate::support::model_server::{ModelServer, Recorded};

const MESSAGES: Words = Words { text: messages::text, calls: messages::calls };

/// Each turn as its role with the kinds of its blocks.
fn turns(request: &Recorded) -> Vec<String> {
    let turn = |turn: &Value| {
        let blocks = turn["content"].as_array().unwrap().iter();
        let kinds: Vec<&str> = blocks.map(|block| block["type"].as_str().unwrap()).collect();
        format!("{} {}", turn["role"].as_str().unwrap(), kinds.join(" "))
    };
    request.body["messages"].as_array().unwrap().iter().map(turn).collect()
}

fn world(server: &ModelServer) -> World {
    let mut world = asking(server);
    world.set("SYNTHDEV_PROVIDER", "anthropic");
    world
}

#[tokio::test(flavor = "multi_thread")]
async fn three_review_rounds_take_the_same_path_as_with_chat_completions() {
    let server = ModelServer::start_messages_per_model(script(MESSAGES)).await;
    let world = world(&server);
    let report = world.run(&["run", "coder_reviewer", "count to three", "--yes", "--json"]).code(0).json();
    let path = ["start", "code", "review", "code", "review", "code", "review", "stop"];
    assert_eq!((&report["output"], &report["path"]), (&json!("All there."), &json!(path)));
    assert_eq!((world.read("new.txt").as_str(), &report["warnings"]), ("one", &json!([])));
    let requests = server.requests();
    let models: Vec<&str> = requests.iter().map(|one| one.body["model"].as_str().unwrap()).collect();
    let (base, smart) = ("base-model", "smart-model");
    assert_eq!(models, [base, base, smart, base, smart, smart, base, smart]);
    for request in &requests {
        assert_eq!((request.rejected.as_deref(), request.path.as_str()), (None, "/v1/messages"));
        assert_eq!(request.headers["x-api-key"], KEY);
        let coder = request.body["model"] == base;
        let says = if coder { "experienced software engineer" } else { "careful code reviewer" };
        assert!(request.body["system"][0]["text"].as_str().unwrap().contains(says));
        let tools = request.body["tools"].as_array().unwrap();
        assert_eq!(tools.iter().any(|tool| tool["name"] == "review_work"), !coder);
        assert_eq!(request.body["max_tokens"], 32_000);
    }
    let said = [
        "user text",
        "assistant tool_use tool_use",
        "user tool_result tool_result",
        "assistant text",
        "user text",
        "assistant text",
        "user text",
    ];
    assert_eq!(turns(&requests[6]), said);
    assert_eq!(report["usage"]["prompt"], 10 * requests.len());
}

/// Through the engine, the context and the views: signed thoughts stand beside their calls in every later request.
#[tokio::test(flavor = "multi_thread")]
async fn signed_thoughts_stay_with_their_calls_for_the_whole_run() {
    let write = json!({"file_path": "new.txt", "content": "one"}).to_string();
    let decide = |improve: bool| {
        json!({"improvement_needed": improve, "continue_message": "More.", "work_summary": "Good."})
            .to_string()
    };
    let first =
        [thinking_block("A file.", "sig-1"), text_block("I write."), call_block("w", "write_file", &write)];
    let coder = vec![
        messages::blocks(&first, "tool_use"),
        messages::text("Written."),
        messages::text("Written more."),
    ];
    let judged = |id: &str, sign: &str, improve: bool| {
        let blocks = [thinking_block("Hm.", sign), call_block(id, "review_work", &decide(improve))];
        messages::blocks(&blocks, "tool_use")
    };
    let reviewer = vec![judged("d1", "sig-2", true), judged("d2", "sig-3", false)];
    let scripts = vec![("base-model", coder), ("smart-model", reviewer)];
    let server = ModelServer::start_messages_per_model(scripts).await;
    let mut world = world(&server);
    world.set("SYNTHDEV_REASONING_EFFORT", "low");
    let report = world.run(&["run", "coder_reviewer", "write", "--yes", "--json"]).code(0).json();
    assert_eq!(report["output"], "Good.");
    let requests = server.requests();
    let coder: Vec<&Recorded> = requests.iter().filter(|one| one.body["model"] == "base-model").collect();
    assert_eq!(coder.len(), 3);
    for request in &requests {
        assert_eq!((&request.rejected, request.body["thinking"]["type"].as_str()), (&None, Some("enabled")));
    }
    for request in &coder[1..] {
        assert_eq!(turns(request)[1], "assistant thinking text tool_use");
        assert_eq!(request.body["messages"][1]["content"][0], first[0]);
    }
    let seen = requests.last().unwrap().body.to_string();
    assert!(!seen.contains("sig-1"), "another agent's thoughts are its own: {seen}");
}
