//! Clients that make model calls at once (`sampling/createMessage`), and those that would rather not.

use serde_json::{Value, json};

use super::super::cli::world::{World, talk_workflow};
use super::agents::judging_world;
use super::client::Client;
use super::flows::world;
use super::web::{Visitor, Web};

/// Every level asks the client.
const OURS: [&str; 6] =
    ["--provider", "agentllm", "--smart-provider", "agentllm", "--fast-provider", "agentllm"];

fn open_client(world: &World, sampling: &Value) -> Client {
    let mut client = Client::start_server(world, &OURS);
    client.handshake_with(&json!({"sampling": sampling}));
    client
}

/// The next request of the server, whatever comes before it.
fn next_request(client: &mut Client) -> Value {
    loop {
        let message = client.next_message();
        if message["method"] == "sampling/createMessage" {
            return message;
        }
        assert!(message["id"].is_null(), "{message}");
    }
}

fn send_answer(client: &mut Client, asked: &Value, content: &Value) {
    let result = json!({"role": "assistant", "model": "theirs", "stopReason": "endTurn", "content": content});
    client.send_line(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string());
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

#[test]
fn a_workflow_ends_in_one_call_where_the_client_makes_the_model_calls() {
    let world = world(&[talk_workflow()]);
    world.write_file("notes.txt", "the secret word is plum");
    let mut client = open_client(&world, &json!({"tools": {}}));
    let id = client.begin_call("talk", json!({"task": "What is the word?"}));
    let first = next_request(&mut client);
    let params = &first["params"];
    assert!(!params["systemPrompt"].as_str().unwrap().is_empty(), "{params}");
    assert_eq!(params["messages"][0], json!({"role": "user", "content": text("What is the word?")}));
    assert_eq!(params["toolChoice"], json!({"mode": "auto"}));
    let tools = params["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["name"] == "read_files"), "{params}");
    assert!(params["maxTokens"].as_u64().unwrap() > 0);
    let call =
        json!({"type": "tool_use", "id": "c1", "name": "read_files", "input": {"file_paths": ["notes.txt"]}});
    send_answer(&mut client, &first, &json!([call]));
    let second = next_request(&mut client);
    let last = second["params"]["messages"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["role"], &last["content"]["type"]), (&json!("user"), &json!("tool_result")), "{last}");
    assert!(last.to_string().contains("plum"), "{last}");
    send_answer(&mut client, &second, &text("plum"));
    let told = client.call_result(id);
    assert_eq!((&told["status"], &told["output"]), (&json!("completed"), &json!("plum")), "{told}");
    client.close_client();
}

#[test]
fn what_the_client_does_not_answer_waits_for_it() {
    let world = world(&[talk_workflow()]);
    // one that refuses, one that answers nonsense, one that takes no tools: the workflow's agent has some
    let refusal = json!({"error": {"code": -1, "message": "User rejected sampling request"}});
    let nonsense = json!({"result": {"well": "well"}});
    for (sampling, reply) in
        [(json!({"tools": {}}), Some(refusal)), (json!({"tools": {}}), Some(nonsense)), (json!({}), None)]
    {
        let mut client = open_client(&world, &sampling);
        let id = client.begin_call("talk", json!({"task": "Say it"}));
        if let Some(mut reply) = reply {
            let first = next_request(&mut client);
            reply["jsonrpc"] = json!("2.0");
            reply["id"] = first["id"].clone();
            client.send_line(&reply.to_string());
        }
        let told = client.call_result(id);
        assert_eq!(told["status"], "pending_agent_llm_action", "{told}");
        let given = json!({"interactionId": told["interactionId"],
            "agentLLMResponse": {"status": "success", "data": {"text": "said"}}});
        let told = client.call_tool("agent_llm", given);
        assert_eq!(told["run"]["output"], "said", "{told}");
        client.close_client();
    }
}

#[test]
fn an_object_is_asked_for_in_words_where_the_client_takes_no_tools() {
    let world = judging_world();
    let mut client = open_client(&world, &json!({}));
    let id = client.begin_call("judged", json!({}));
    let first = next_request(&mut client);
    assert!(first["params"]["tools"].is_null(), "{first}");
    let last = first["params"]["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(last.contains("JSON Schema") && last.contains("translation"), "{last}");
    send_answer(&mut client, &first, &text("Here it is: {\"translation\": \"Bonjour\"}"));
    let told = client.call_result(id);
    assert_eq!((&told["status"], &told["output"]), (&json!("completed"), &json!("Bonjour")), "{told}");
    client.close_client();
}

#[test]
fn over_http_the_request_comes_on_the_stream_of_the_call() {
    let world = world(&[talk_workflow()]);
    let web = Web::start_server(&world, &OURS);
    let mut visitor = Visitor::begin_session(&web, &json!({"sampling": {"tools": {}}}));
    let params = json!({"name": "talk", "arguments": {"task": "hello"}});
    let (id, mut stream) = visitor.begin_request("tools/call", params);
    let asked = stream.next_message().unwrap();
    assert_eq!(asked["method"], "sampling/createMessage", "{asked}");
    let result = json!({"role": "assistant", "model": "theirs", "content": text("Bonjour")});
    assert_eq!(
        visitor.post_message(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result})).status,
        202
    );
    let told = stream.next_message().unwrap();
    assert_eq!(
        (&told["id"], &told["result"]["structuredContent"]["output"]),
        (&json!(id), &json!("Bonjour"))
    );
    web.terminate_server();
}
