//! Sub-agents that work through a run's tasks step by step.

mod acks;
mod batches;
mod checkpoints;
mod crowd;
mod faults;
mod prompts;
mod restarts;
mod shipped;
mod ways;

use serde_json::{Value, json};

use super::super::cli::world::World;
use super::client::Client;
use super::flows::{flow, world};

/// Handed-out work with a step of each kind: a command, a question, and what the server does itself.
fn each_step_workflow(items: &Value) -> Value {
    let body = json!([
        {"name": "start", "type": "shell", "command": "check", "args": ["common_data.item.name"],
         "output": {"as": "ran"}, "transition": [{"target": "skip", "condition": "common_data.item.skip === true"}, {"target": "ask"}]},
        {"name": "ask", "type": "pause", "kind": "text", "message": {"template": "What of {{common_data.item.name}}?"},
         "output": {"as": "said"}, "transition": [{"target": "mark"}]},
        {"name": "mark", "action": {"set_state": {"done": "common_data.item.name + ':' + common_data.ran.stdout + ':' + common_data.said"}},
         "transition": [{"target": "stop"}]},
        {"name": "skip", "action": {"set_state": {"done": "'skipped ' + common_data.index"}}, "transition": [{"target": "stop"}]},
        {"name": "stop", "input": "common_data.done"},
    ]);
    let mut flow = flow(
        "each",
        &json!([{"name": "start", "type": "foreach", "in": "common_data.list", "agent": "@task",
                 "needs_state": ["house.rules"], "states": body, "output": {"as": "result"},
                 "transition": [{"target": "stop"}]}]),
    );
    flow["output"] = json!({"name": "result", "type": "array"});
    flow["variables"] = json!({"list": items, "secret": "PARENT-ONLY", "house": {"rules": ["be kind"], "keys": "PARENT-KEYS"}});
    flow["limits"] = json!({"max_concurrency": 50});
    flow
}

fn names(names: &[&str]) -> Value {
    Value::Array(names.iter().map(|name| json!({"name": name})).collect())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

/// The ids of tasks for which nobody has come yet.
fn tasks(told: &Value) -> Vec<String> {
    assert_eq!(told["status"], "awaiting_sub_agents", "{told}");
    let all = told["subAgents"].as_array().unwrap();
    all.iter().filter(|task| task["started"] == false).map(|task| text(&task["workflow_id"])).collect()
}

fn next_step(client: &mut Client, id: &str) -> Value {
    client.call_tool("get_next_step", json!({"workflow_id": id}))
}

fn submit_step(client: &mut Client, id: &str, step: &Value, result: &Value) -> Value {
    client.call_tool(
        "submit_step_result",
        json!({"workflow_id": id, "step_id": step["step_id"], "result": result}),
    )
}

/// What a good sub-agent answers.
fn good_result(step: &Value) -> Value {
    match step["type"].as_str().unwrap() {
        "shell" => {
            json!({"stdout": format!("ok-{}", text(&step["parameters"]["args"][0])), "stderr": "", "exit_code": 0})
        }
        "prompt" => json!({"input": "fine"}),
        "delegate" => {
            let names = step["parameters"]["requiredOutputs"].as_array().unwrap();
            names.iter().map(|name| (text(name), json!(format!("{} done", text(name))))).collect()
        }
        other => panic!("{other}: {step}"),
    }
}

/// Works through a task to its end; the final result.
fn work_through(client: &mut Client, id: &str) -> Value {
    for _ in 0..100 {
        let told = next_step(client, id);
        match told["status"].as_str().unwrap() {
            "pending_step" => {
                let step = &told["step"];
                let said = submit_step(client, id, step, &good_result(step));
                assert_eq!(said, json!({"status": "accepted"}), "{step}");
            }
            "waiting" => {}
            "complete" => return told["final_result"].clone(),
            other => panic!("{other}: {told}"),
        }
    }
    panic!("the task {id} does not end");
}

fn wait_ended(client: &mut Client, run: &Value) -> Value {
    client.call_tool("get_workflow_status", json!({"workflowId": run, "wait": true}))
}

#[test]
fn to_s4_6_a_task_is_worked_through_step_by_step() {
    let world = world(&[each_step_workflow(&json!([{"name": "a"}, {"name": "b", "skip": true}]))]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("each", json!({}));
    let ids = tasks(&told);
    assert_eq!(ids.len(), 2, "{told}");
    let id = &ids[0];
    let first = next_step(&mut client, id);
    let step = first["step"].clone();
    assert_eq!(
        first,
        json!({"status": "pending_step", "step": {
            "step_id": step["step_id"], "type": "shell", "parameters": {"command": "check", "args": ["a"]},
            "timeout": 300, "state": "start", "attempt": 1, "state_version": 0}})
    );
    assert_eq!(next_step(&mut client, id), first, "the same step until it is submitted");
    let state = client.call_tool("get_workflow_state", json!({"workflow_id": id}));
    assert_eq!(
        state,
        json!({"workflow_id": id, "current_step": step["step_id"],
               "state": {"house": {"rules": ["be kind"]}, "item": {"name": "a"}, "index": 0, "total": 2,
                         "is_first": true, "is_last": false},
               "completed_steps": [], "remaining_steps": 1})
    );
    let ran = json!({"stdout": "yes", "stderr": "", "exit_code": 0});
    assert_eq!(submit_step(&mut client, id, &step, &ran), json!({"status": "accepted"}));
    let second = next_step(&mut client, id);
    assert_eq!(
        (&second["step"]["type"], &second["step"]["parameters"], &second["step"]["state_version"]),
        (&json!("prompt"), &json!({"prompt_type": "text", "message": "What of a?"}), &json!(1))
    );
    assert_eq!(
        submit_step(&mut client, id, &second["step"], &json!({"input": "good"}))["status"],
        "accepted"
    );
    // Set_state, the condition and the return are the server's
    let complete = json!({"status": "complete", "final_result": "a:yes:good"});
    assert_eq!(next_step(&mut client, id), complete);
    assert_eq!(next_step(&mut client, id), complete, "the same result each time");
    let state = client.call_tool("get_workflow_state", json!({"workflow_id": id}));
    assert_eq!(
        (&state["current_step"], &state["remaining_steps"], &state["completed_steps"]),
        (&Value::Null, &json!(0), &json!([step["step_id"], second["step"]["step_id"]]))
    );
    assert_eq!(
        (&state["state"]["said"], &state["state"]["done"], &state["state"]["ran"]["stdout"]),
        (&json!("good"), &json!("a:yes:good"), &json!("yes")),
        "{state}"
    );
    let run = &told["workflowId"];
    let midway = client.call_tool("get_workflow_status", json!({"workflowId": run}));
    let left = midway["subAgents"].as_array().unwrap();
    assert_eq!((left.len(), &left[0]["index"], &left[0]["total"]), (1, &json!(1), &json!(2)), "{midway}");
    assert_eq!(work_through(&mut client, &ids[1]), "skipped 1");
    let told = wait_ended(&mut client, run);
    assert_eq!(
        (&told["status"], &told["output"]),
        (&json!("completed"), &json!(["a:yes:good", "skipped 1"])),
        "results stand by position: {told}"
    );
    client.close_client();
}

#[test]
fn a_result_and_the_next_step_in_one_call() {
    let world = world(&[each_step_workflow(&names(&["a"]))]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("each", json!({}));
    let id = tasks(&told).remove(0);
    let mut told = next_step(&mut client, &id);
    let mut calls = 1;
    while told["status"] == "pending_step" {
        let step = told["step"].clone();
        let hand_in = json!({"workflow_id": id, "step_id": step["step_id"], "result": good_result(&step), "next": true});
        let said = client.call_tool("submit_step_result", hand_in);
        assert_eq!(said["status"], "accepted", "{said}");
        told = said["next"].clone();
        calls += 1;
    }
    assert_eq!((told, calls), (json!({"status": "complete", "final_result": "a:ok-a:fine"}), 3));
    // what is not accepted has no next step
    let wrong = json!({"workflow_id": id, "step_id": "step-999", "result": {}, "next": true});
    let said = client.call_tool("submit_step_result", wrong);
    assert_eq!((&said["code"], said.get("next")), (&json!("workflow_complete"), None), "{said}");
    client.close_client();
}

#[test]
fn a_loop_may_name_the_kind_of_sub_agent_that_is_meant() {
    let mut flow = each_step_workflow(&names(&["a"]));
    flow["states"][0]["agent"] = json!("@reviewer");
    let world = world(&[flow]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("each", json!({}));
    let one = &told["subAgents"][0];
    assert_eq!(one["agent"], "reviewer", "{told}");
    assert!(text(&one["prompt"]).contains("- Agent: reviewer\n"), "{told}");
    let id = tasks(&told).remove(0);
    assert_eq!(work_through(&mut client, &id), "a:ok-a:fine");
    client.close_client();
}

#[test]
fn a_run_in_the_terminal_does_the_same_items_itself() {
    let mut flow = each_step_workflow(&names(&["a"]));
    flow["states"][0]["states"][0]["command"] = json!("echo");
    flow["states"][0]["states"][1]["default"] = json!("nobody");
    let world = world(&[flow]);
    let ran = world.run_program(&["run", "each", "x", "--yes", "--json"]).code(0);
    let last = ran.lines().pop().unwrap();
    assert_eq!(last["output"], json!(["a:a\n:nobody"]), "{last}");
}

#[test]
fn one_at_a_time_gives_the_same() {
    let world = world(&[each_step_workflow(&names(&["a", "b", "c"]))]);
    let outputs = [&[][..], &["--serial"]].map(|flags| {
        let mut client = Client::open_with(&world, flags);
        let mut told = client.call_tool("each", json!({}));
        assert_eq!(tasks(&told).len(), if flags.is_empty() { 3 } else { 1 }, "{told}");
        let run = told["workflowId"].clone();
        while told["status"] == "awaiting_sub_agents" {
            for id in tasks(&told) {
                work_through(&mut client, &id);
            }
            told = wait_ended(&mut client, &run);
        }
        client.close_client();
        told["output"].clone()
    });
    assert_eq!(outputs[0], outputs[1]);
    assert_eq!(outputs[0], json!(["a:ok-a:fine", "b:ok-b:fine", "c:ok-c:fine"]));
}

#[test]
fn workers_of_one_task_get_different_steps() {
    let branch = |name: &str| {
        json!({"name": name, "states": [{"name": "start", "type": "shell", "command": "check",
               "args": [name], "transition": [{"target": "stop"}]},
               {"name": "stop", "input": "context.result.stdout"}]})
    };
    let mut both = flow(
        "both",
        &json!([
        {"name": "start", "type": "parallel", "branches": [branch("x"), branch("y")], "output": {"as": "result"},
         "transition": [{"target": "stop"}]}]),
    );
    both["output"] = json!({"name": "result", "type": "object"});
    let world = world(&[both]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("start_workflow", json!({"name": "both", "agent": "@task"}));
    let id = &tasks(&told)[0];
    let ask = |client: &mut Client, worker: &str| {
        client.call_tool("get_next_step", json!({"workflow_id": id, "worker_id": worker}))["step"].clone()
    };
    let (one, other) = (ask(&mut client, "one"), ask(&mut client, "other"));
    assert_ne!(one["step_id"], other["step_id"]);
    assert_eq!(ask(&mut client, "one"), one);
    // somebody else's lease
    let stolen = json!({"workflow_id": id, "step_id": one["step_id"], "worker_id": "other", "result": good_result(&one)});
    assert_eq!(client.call_tool("submit_step_result", stolen)["code"], "lease_lost");
    for (worker, step) in [("one", &one), ("other", &other)] {
        let hand_in = json!({"workflow_id": id, "step_id": step["step_id"], "worker_id": worker, "result": good_result(step)});
        assert_eq!(client.call_tool("submit_step_result", hand_in)["status"], "accepted");
    }
    let told = wait_ended(&mut client, &told["workflowId"]);
    assert_eq!(told["output"], json!({"x": "ok-x", "y": "ok-y"}), "{told}");
    client.close_client();
}
