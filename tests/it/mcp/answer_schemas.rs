//! The result of an agent state with `output.schema`: the client is told the schema, and its object is the result.

use serde_json::{Value, json};

use super::client::Client;
use super::flows::{flow, world};
use crate::cli::world::World;

const OURS: [&str; 2] = ["--provider", "agentllm"];

fn schema() -> Value {
    json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
}

fn counting_world(tools: &[&str]) -> World {
    let mut flow = flow(
        "counting",
        &json!([
            {"name": "start", "transition": [{"target": "count"}]},
            {"name": "count", "agent": "counter", "input": {"text": "how many?"},
             "output": {"as": "result", "schema": schema()}, "transition": [{"target": "stop"}]},
        ]),
    );
    flow["contexts"] = json!([{"name": "main", "starting_messages": []}]);
    flow["agents"] = json!([{"agent_role": "counter", "context": "main", "role": "assistant"}]);
    let world = world(&[flow]);
    let role = json!({"level": "base", "systemMessage": "You count.", "includedTools": tools});
    world.write_user_file("roles/counter.json", &json!({"counter": role}).to_string());
    world
}

const WRONG: [(&str, &str); 4] = [
    (r#"{"object": {"n": "x"}}"#, "/n: \"x\" is not of type"),
    (r#"{"text": "three"}"#, "does not fit the schema"),
    (r#"{"text": "{\"m\": 3}"}"#, "\"n\" is a required property"),
    ("{}", "\"n\" is a required property"),
];
const RIGHT: [&str; 4] =
    [r#"{"object": {"n": 3}}"#, r#"{"text": "{\"n\": 3}"}"#, r#""```json\n{\"n\": 3}\n```""#, r#"{"n": 3}"#];

/// With tools on offer the request stays one for text, and the last answer must fit all the same.
#[test]
fn the_client_is_told_the_schema_and_its_object_is_the_result() {
    let rows =
        [(&[][..], json!("generateObject"), schema()), (&["read_files"], json!("generateText"), Value::Null)];
    for (tools, kind, told_schema) in rows {
        let world = counting_world(tools);
        let mut client = Client::open_with(&world, &OURS);
        for data in RIGHT {
            let told = client.call_tool("counting", json!({}));
            let request = &told["llmRequestForAgent"];
            assert_eq!((&request["serviceType"], &request["schema"]), (&kind, &told_schema), "{told}");
            let mut answer = |data: &str| {
                let data: Value = serde_json::from_str(data).unwrap();
                let response = json!({"status": "success", "data": data});
                client.call_tool(
                    "agent_llm",
                    json!({"interactionId": told["interactionId"], "agentLLMResponse": response}),
                )
            };
            for (wrong, part) in WRONG {
                let refused = answer(wrong);
                let detail = refused["error"]["detail"].as_str().unwrap_or_else(|| panic!("{refused}"));
                assert!(detail.contains(part), "{wrong}: no `{part}` in {detail}");
            }
            let told = answer(data);
            assert_eq!(told["run"]["output"], json!({"n": 3}), "{data}: {told}");
        }
        client.close_client();
    }
}

#[test]
fn a_sub_agent_is_told_the_schema_too() {
    let world = counting_world(&[]);
    for (data, part) in WRONG.iter().map(|(data, part)| (*data, *part)).chain(RIGHT.map(|data| (data, ""))) {
        let mut client = Client::open_with(&world, &OURS);
        let told = client.call_tool("start_workflow", json!({"name": "counting", "agent": "@task"}));
        let id = told["subAgents"][0]["workflow_id"].clone();
        let step = client.call_tool("get_next_step", json!({"workflow_id": id}))["step"].clone();
        let request = &step["parameters"];
        assert_eq!(
            (&request["serviceType"], &request["schema"]),
            (&json!("generateObject"), &schema()),
            "{step}"
        );
        let result: Value = serde_json::from_str(data).unwrap();
        let said = client.call_tool(
            "submit_step_result",
            json!({"workflow_id": id, "step_id": step["step_id"], "result": result}),
        );
        if part.is_empty() {
            assert_eq!(said, json!({"status": "accepted"}), "{data}");
            let told = client
                .call_tool("get_workflow_status", json!({"workflowId": told["workflowId"], "wait": true}));
            assert_eq!(told["output"], json!({"n": 3}), "{data}: {told}");
        } else {
            assert!(said.to_string().contains(&part.replace('"', "\\\"")), "{data}: no `{part}` in {said}");
        }
        client.close_client();
    }
}
