//! Whoever does the work, a workflow takes the same path to the same output (CHILD-7, DELEG-17).

use std::collections::{BTreeMap, VecDeque};

use super::*;
use crate::cli::world::talk;

const OURS: [&str; 2] = ["--provider", "agentllm"];

/// A model call as a task's step, as an interaction, and from a file of replies.
#[test]
fn a_model_call_is_a_step_of_a_whole_run_that_a_sub_agent_does() {
    let world = world(&[talk()]);
    world.write_json("replies.json", &json!({"replies": {"coder": [{"text": "Bonjour"}]}}));
    let direct = world.run(&["run", "talk", "Say hello", "--replies", "replies.json", "--json"]).code(0);
    let direct = direct.lines().pop().unwrap();

    let mut client = Client::open_with(&world, &OURS);
    let asked = client.call("talk", json!({"task": "Say hello"}));
    let answer = json!({"interactionId": asked["interactionId"],
                        "agentLLMResponse": {"status": "success", "data": {"text": "Bonjour"}}});
    let by_interaction = client.call("agent_llm", answer)["run"].clone();

    let inputs = json!({"task": "Say hello"});
    let told = client.call("start_workflow", json!({"name": "talk", "inputs": inputs, "agent": "@task"}));
    let id = tasks(&told).remove(0);
    assert!(
        text(&told["subAgents"][0]["prompt"]).contains("- your own words as coder, for llm_call steps"),
        "{told}"
    );
    let said = next(&mut client, &id);
    let step = &said["step"];
    assert_eq!(step["type"], "llm_call", "{said}");
    let request = &step["parameters"];
    assert_eq!(request["messages"], asked["llmRequestForAgent"]["messages"]);
    assert_eq!((&request["role"], &request["serviceType"]), (&json!("coder"), &json!("generateText")));
    let wrong = submit(&mut client, &id, step, &json!({"words": "Bonjour"}));
    assert_eq!(wrong["code"], "validation_failed", "{wrong}");
    assert_eq!(submit(&mut client, &id, step, &json!({"text": "Bonjour"})), json!({"status": "accepted"}));
    assert_eq!(next(&mut client, &id), json!({"status": "complete", "final_result": "Bonjour"}));
    let by_sub_agent = ended(&mut client, &told["workflowId"]);
    for told in [&by_interaction, &by_sub_agent] {
        assert_eq!(
            (&told["status"], &told["output"], &told["completedSteps"]),
            (&json!("completed"), &direct["output"], &by_interaction["completedSteps"]),
            "{told}"
        );
    }
    client.close();
}

/// DELEG-17: an interaction, a pause and a sub-agent in one run.
#[test]
fn one_workflow_in_three_modes() {
    let mut mixed = talk();
    let mut states = vec![];
    for mut state in mixed["states"].as_array().unwrap().clone() {
        for transition in state["transition"].as_array_mut().into_iter().flatten() {
            if transition["target"] == "stop" {
                transition["target"] = json!("each");
            }
        }
        if state["name"] != "stop" {
            states.push(state);
        }
    }
    states.push(json!({"name": "each", "type": "foreach", "in": [{"name": "a"}], "agent": "@task",
        "states": [{"name": "start", "type": "shell", "command": "check", "args": ["common_data.item.name"],
                    "transition": [{"target": "stop"}]}, {"name": "stop", "input": "context.result.stdout"}],
        "output": {"as": "checked"}, "transition": [{"target": "sign"}]}));
    states.push(json!({"name": "sign", "type": "delegate", "action": {"prompt": "Sign it", "required_outputs": ["signature"]},
        "transition": [{"target": "stop"}]}));
    states.push(json!({"name": "stop", "input": "common_data.checked[0] + ' ' + common_data.signature"}));
    mixed["states"] = json!(states);
    mixed["workflow_name"] = json!("mixed");
    let world = world(&[mixed]);
    let mut client = Client::open_with(&world, &OURS);
    let told = client.call("mixed", json!({"task": "x"}));
    assert_eq!(told["status"], "pending_agent_llm_action", "{told}");
    let answer = json!({"interactionId": told["interactionId"],
                        "agentLLMResponse": {"status": "success", "data": {"text": "Bonjour"}}});
    let told = client.call("agent_llm", answer)["run"].clone();
    let id = tasks(&told).remove(0);
    assert_eq!(work(&mut client, &id), "ok-a");
    let told = ended(&mut client, &told["workflowId"]);
    assert_eq!(told["status"], "awaiting_llm_action", "{told}");
    let results = json!({"resumeToken": told["resumeToken"], "results": {"signature": "me"}});
    let told = client.call("resume_workflow", results);
    assert_eq!((&told["status"], &told["output"]), (&json!("completed"), &json!("ok-a me")), "{told}");
    client.close();
}

const EVERY_LEVEL: [&str; 6] =
    ["--provider", "agentllm", "--smart-provider", "agentllm", "--fast-provider", "agentllm"];

/// Shipped workflows with the cases of their own tests, which say path and output of a run that asks its models itself.
const SHIPPED: [(&str, &str, usize); 6] = [
    ("coder_reviewer", include_str!("../../../../workflows/coder_reviewer.test.json"), 1),
    ("grocery_store", include_str!("../../../../workflows/grocery_store.test.json"), 0),
    ("hierarchical_development", include_str!("../../../../workflows/hierarchical_development.test.json"), 1),
    ("newspaper_copywriter", include_str!("../../../../workflows/newspaper_copywriter.test.json"), 1),
    ("parallel_analysis_shared", include_str!("../../../../workflows/parallel_analysis_shared.test.json"), 0),
    ("product_manager_coder", include_str!("../../../../workflows/product_manager_coder.test.json"), 1),
];

/// The replies of a case, each agent's in order.
struct Script(BTreeMap<String, VecDeque<Value>>);

impl Script {
    fn of(case: &Value) -> Self {
        let agents = case["replies"].as_object().unwrap().iter();
        let queue = |replies: &Value| replies.as_array().unwrap().iter().cloned().collect();
        Self(agents.map(|(agent, replies)| (agent.clone(), queue(replies))).collect())
    }

    /// What a model that was asked this says.
    fn answer(&mut self, request: &Value) -> Value {
        let agent = request["role"].as_str().unwrap();
        let entry = self.0.get_mut(agent).and_then(VecDeque::pop_front);
        let entry = entry.unwrap_or_else(|| panic!("{agent} is asked once more: {request}"));
        let reply = entry.get("reply").unwrap_or(&entry);
        let reply = if let Value::String(text) = reply { json!({"text": text}) } else { reply.clone() };
        let calls = reply["tool_calls"].as_array().cloned().unwrap_or_default();
        if request["serviceType"] == "generateObject" {
            assert_eq!(calls[0]["name"], request["objectName"], "{request}");
            return json!({"object": calls[0]["arguments"]});
        }
        let mut data = json!({});
        if let Some(text) = reply.get("text") {
            data["text"] = text.clone();
        }
        if !calls.is_empty() {
            data["toolCalls"] = json!(calls);
        }
        data
    }
}

fn by_interactions(client: &mut Client, name: &str, inputs: &Value, case: &Value) -> Value {
    let mut script = Script::of(case);
    let mut told = client.call("start_workflow", json!({"name": name, "inputs": inputs}));
    while told["status"] == "pending_agent_llm_action" {
        let data = script.answer(&told["llmRequestForAgent"]);
        let answer = json!({"interactionId": told["interactionId"],
                            "agentLLMResponse": {"status": "success", "data": data}});
        told = client.call("agent_llm", answer)["run"].clone();
    }
    told
}

fn by_a_sub_agent(client: &mut Client, name: &str, inputs: &Value, case: &Value) -> Value {
    let mut script = Script::of(case);
    let told = client.call("start_workflow", json!({"name": name, "inputs": inputs, "agent": "@task"}));
    let id = tasks(&told).remove(0);
    loop {
        let said = next(client, &id);
        match said["status"].as_str().unwrap() {
            "pending_step" => {
                let step = &said["step"];
                let data = script.answer(&step["parameters"]);
                assert_eq!(submit(client, &id, step, &data), json!({"status": "accepted"}));
            }
            "waiting" => {}
            "complete" => {
                let ended = ended(client, &told["workflowId"]);
                assert_eq!(said["final_result"], ended["output"], "{said}\n{ended}");
                return ended;
            }
            other => panic!("{other}: {said}"),
        }
    }
}

#[test]
fn shipped_workflows_take_the_same_path_to_the_same_output_whoever_thinks() {
    let world = World::new();
    let mut client = Client::open_with(&world, &EVERY_LEVEL);
    let listed = client.call("list_workflows", json!({}));
    for (name, cases, which) in SHIPPED {
        let cases: Value = serde_json::from_str(cases).unwrap();
        let case = &cases["tests"][which];
        let listed = listed["workflows"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap();
        let input = listed["inputSchema"]["properties"].as_object().unwrap().keys().next().unwrap();
        let inputs = if case["input"].is_object() {
            case["input"].clone()
        } else {
            json!({input.as_str(): case["input"]})
        };
        let one = by_interactions(&mut client, name, &inputs, case);
        let other = by_a_sub_agent(&mut client, name, &inputs, case);
        let path = |told: &Value| -> Vec<String> {
            let steps = told["completedSteps"].as_array().unwrap().iter();
            let mut steps: Vec<String> =
                steps.map(|step| text(step).split('#').next().unwrap().to_owned()).collect();
            // branches come as they come
            steps.sort();
            steps
        };
        assert_eq!(
            (&one["status"], &other["status"]),
            (&json!("completed"), &json!("completed")),
            "{name} {one} {other}"
        );
        assert_eq!((path(&one), &one["output"]), (path(&other), &other["output"]), "{name}");
        let expected = &case["expect"];
        if let Some(steps) = expected["path"].as_array() {
            let mut steps: Vec<String> = steps.iter().map(text).collect();
            steps.sort();
            assert_eq!(path(&other), steps, "{name}");
        }
        if expected["output"].is_string() {
            assert_eq!(other["output"], expected["output"], "{name}");
        }
    }
    client.close();
}
