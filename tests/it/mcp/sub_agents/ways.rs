//! Whoever does the work, a workflow takes the same path to the same output.

use super::*;
use crate::cli::world::talk_workflow;

const OURS: [&str; 2] = ["--provider", "agentllm"];

/// A model call as a task's step, as an interaction, and from a file of replies.
#[test]
fn a_model_call_is_a_step_of_a_whole_run_that_a_sub_agent_does() {
    let world = world(&[talk_workflow()]);
    world.write_json("replies.json", &json!({"replies": {"coder": [{"text": "Bonjour"}]}}));
    let direct =
        world.run_program(&["run", "talk", "Say hello", "--replies", "replies.json", "--json"]).code(0);
    let direct = direct.lines().pop().unwrap();

    let mut client = Client::open_with(&world, &OURS);
    let asked = client.call_tool("talk", json!({"task": "Say hello"}));
    let answer = json!({"interactionId": asked["interactionId"],
                        "agentLLMResponse": {"status": "success", "data": {"text": "Bonjour"}}});
    let by_interaction = client.call_tool("agent_llm", answer)["run"].clone();

    let inputs = json!({"task": "Say hello"});
    let told =
        client.call_tool("start_workflow", json!({"name": "talk", "inputs": inputs, "agent": "@task"}));
    let id = tasks(&told).remove(0);
    assert!(
        text(&told["subAgents"][0]["prompt"]).contains("- your own words as coder, for llm_call steps"),
        "{told}"
    );
    let said = next_step(&mut client, &id);
    let step = &said["step"];
    assert_eq!(step["type"], "llm_call", "{said}");
    let request = &step["parameters"];
    assert_eq!(request["messages"], asked["llmRequestForAgent"]["messages"]);
    assert_eq!((&request["role"], &request["serviceType"]), (&json!("coder"), &json!("generateText")));
    let wrong = submit_step(&mut client, &id, step, &json!({"words": "Bonjour"}));
    assert_eq!(wrong["code"], "validation_failed", "{wrong}");
    assert_eq!(
        submit_step(&mut client, &id, step, &json!({"text": "Bonjour"})),
        json!({"status": "accepted"})
    );
    assert_eq!(next_step(&mut client, &id), json!({"status": "complete", "final_result": "Bonjour"}));
    let by_sub_agent = wait_ended(&mut client, &told["workflowId"]);
    for told in [&by_interaction, &by_sub_agent] {
        assert_eq!(
            (&told["status"], &told["output"], &told["completedSteps"]),
            (&json!("completed"), &direct["output"], &by_interaction["completedSteps"]),
            "{told}"
        );
    }
    client.close_client();
}

/// An interaction, a pause and a sub-agent in one run.
#[test]
fn one_workflow_in_three_modes() {
    let mut mixed = talk_workflow();
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
    let told = client.call_tool("mixed", json!({"task": "x"}));
    assert_eq!(told["status"], "pending_agent_llm_action", "{told}");
    let answer = json!({"interactionId": told["interactionId"],
                        "agentLLMResponse": {"status": "success", "data": {"text": "Bonjour"}}});
    let told = client.call_tool("agent_llm", answer)["run"].clone();
    let id = tasks(&told).remove(0);
    assert_eq!(work_through(&mut client, &id), "ok-a");
    let told = wait_ended(&mut client, &told["workflowId"]);
    assert_eq!(told["status"], "awaiting_llm_action", "{told}");
    let results = json!({"resumeToken": told["resumeToken"], "results": {"signature": "me"}});
    let told = client.call_tool("resume_workflow", results);
    assert_eq!((&told["status"], &told["output"]), (&json!("completed"), &json!("ok-a me")), "{told}");
    client.close_client();
}

/// Whatever model the settings name, the sub-agent's own one has answered.
#[test]
fn a_model_call_of_a_sub_agent_has_no_price() {
    let mut world = world(&[talk_workflow()]);
    for (name, value) in [
        ("SYNTHDEV_BASE_PROVIDER", "openai"),
        ("SYNTHDEV_BASE_MODEL", "gpt-4o"),
        ("SYNTHDEV_BASE_URL", "http://127.0.0.1:9/v1"),
        ("SYNTHDEV_API_KEY", "sk-loopback-0001"),
    ] {
        world.set_variable(name, value);
    }
    let mut client = Client::open_client(&world);
    let inputs = json!({"task": "Say hello"});
    let told =
        client.call_tool("start_workflow", json!({"name": "talk", "inputs": inputs, "agent": "@task"}));
    let id = tasks(&told).remove(0);
    let step = next_step(&mut client, &id)["step"].clone();
    let answer = json!({"text": "Bonjour", "usage": {"inputTokens": 1_000, "outputTokens": 500}});
    assert_eq!(submit_step(&mut client, &id, &step, &answer), json!({"status": "accepted"}));
    assert_eq!(wait_ended(&mut client, &told["workflowId"])["output"], "Bonjour");
    client.close_client();
    let spent = world.run_program(&["runs", "cost", "--json"]).code(0).json();
    let models = spent["by"]["model"].as_array().unwrap();
    assert_eq!(
        (models.len(), &models[0]["name"], &models[0]["cost_usd"]),
        (1, &json!("agentllm"), &Value::Null)
    );
    let run = text(&told["workflowId"]);
    let shown = world.run_program(&["runs", "show", &run, "--json"]).code(0).stdout;
    assert!(!shown.contains("model_substituted"), "{shown}");
}
