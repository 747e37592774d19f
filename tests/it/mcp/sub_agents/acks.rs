//! Steps that the server does itself, and reports if it was asked to.

use super::*;

/// Ids and types of the steps that a sub-agent gets, to the end.
fn steps(client: &mut Client, id: &str) -> (Vec<Value>, Value) {
    let mut seen = Vec::new();
    for _ in 0..100 {
        let told = next_step(client, id);
        match told["status"].as_str().unwrap() {
            "pending_step" => {
                let step = &told["step"];
                assert_eq!(next_step(client, id)["step"], *step, "the same until it is submitted");
                let own = ["set_state", "return"].contains(&step["type"].as_str().unwrap());
                let result = if own { json!({}) } else { good_result(step) };
                assert_eq!(submit_step(client, id, step, &result), json!({"status": "accepted"}), "{step}");
                seen.push(step.clone());
            }
            "waiting" => {}
            "complete" => return (seen, told["final_result"].clone()),
            other => panic!("{other}: {told}"),
        }
    }
    panic!("the task {id} does not end");
}

fn kinds(steps: &[Value]) -> Vec<&str> {
    steps.iter().map(|step| step["type"].as_str().unwrap()).collect()
}

#[test]
fn set_state_and_return_are_acknowledged_where_that_is_asked_for() {
    let items = json!([{"name": "a"}, {"name": "b", "skip": true}]);
    let outputs = [false, true].map(|ack| {
        let world = world(&[each_step_workflow(&items)]);
        let mut client = Client::open_client(&world);
        let told = client.call_tool("start_workflow", json!({"name": "each", "ack_steps": ack}));
        let prompt = text(&told["subAgents"][0]["prompt"]);
        assert_eq!(prompt.contains("set_state: Acknowledge state updates"), ack, "{prompt}");
        assert_eq!(prompt.contains("return: Acknowledge completion"), ack, "{prompt}");
        let ids = tasks(&told);
        let (first, result) = steps(&mut client, &ids[0]);
        assert_eq!(result, "a:ok-a:fine");
        if ack {
            assert_eq!(kinds(&first), ["shell", "prompt", "set_state", "return"]);
            let set = &first[2];
            assert_eq!(
                (&set["step_id"], &set["parameters"], &set["state_version"]),
                (&json!("ack-1"), &json!({"updates": {"done": "a:ok-a:fine"}}), &json!(2)),
                "{set}"
            );
            assert_eq!(first[3]["parameters"], json!({"result": "a:ok-a:fine"}));
            let again = submit_step(&mut client, &ids[0], set, &json!({}));
            assert_eq!(again, json!({"status": "accepted", "duplicate": true}));
            let forged = json!({"step_id": "ack-9"});
            assert_eq!(submit_step(&mut client, &ids[0], &forged, &json!({}))["code"], "unknown_step");
        } else {
            assert_eq!(kinds(&first), ["shell", "prompt"]);
        }
        let (second, _) = steps(&mut client, &ids[1]);
        let expected: &[&str] = if ack { &["shell", "set_state", "return"] } else { &["shell"] };
        assert_eq!(kinds(&second), expected);
        let told = wait_ended(&mut client, &told["workflowId"]);
        client.close_client();
        told["output"].clone()
    });
    assert_eq!(outputs[0], outputs[1], "the same result");
    assert_eq!(outputs[0], json!(["a:ok-a:fine", "skipped 1"]));
}

#[test]
fn a_whole_run_is_acknowledged_too_and_nobody_has_to() {
    let states = json!([
        {"name": "start", "action": {"set_state": {"n": 1}}, "transition": [{"target": "look"}]},
        {"name": "look", "type": "shell", "command": "check", "args": ["x"], "transition": [{"target": "count"}]},
        {"name": "count", "action": {"set_state": {"n": "common_data.n + 1"}}, "transition": [{"target": "stop"}]},
        {"name": "stop", "input": "common_data.n"},
    ]);
    let mut counted = flow("counted", &states);
    counted["output"] = json!({"name": "n", "type": "number"});
    let world = world(&[counted]);
    let mut client = Client::open_client(&world);
    let start = json!({"name": "counted", "agent": "@task", "ack_steps": true});
    let told = client.call_tool("start_workflow", start.clone());
    let id = tasks(&told).remove(0);
    let (seen, result) = steps(&mut client, &id);
    assert_eq!(kinds(&seen), ["set_state", "shell", "set_state", "return"]);
    assert_eq!((&seen[0]["parameters"], result), (&json!({"updates": {"n": 1}}), json!(2)));
    // who leaves them out holds nothing up
    let told = client.call_tool("start_workflow", start);
    let id = tasks(&told).remove(0);
    let first = next_step(&mut client, &id)["step"].clone();
    assert_eq!(submit_step(&mut client, &id, &first, &json!("ok"))["status"], "accepted");
    let shell = next_step(&mut client, &id)["step"].clone();
    assert_eq!(submit_step(&mut client, &id, &shell, &good_result(&shell))["status"], "accepted");
    let told = wait_ended(&mut client, &told["workflowId"]);
    assert_eq!((&told["status"], &told["output"]), (&json!("completed"), &json!(2)), "{told}");
    client.close_client();
}

#[test]
fn after_a_restart_nothing_before_the_last_result_is_told_again() {
    let world = world(&[each_step_workflow(&names(&["a", "b"]))]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("start_workflow", json!({"name": "each", "ack_steps": true}));
    let ids = tasks(&told);
    let (seen, _) = steps(&mut client, &ids[0]);
    assert_eq!(seen.len(), 4);
    let shell = next_step(&mut client, &ids[1])["step"].clone();
    submit_step(&mut client, &ids[1], &shell, &good_result(&shell));
    client.kill_server();
    let mut client = Client::open_client(&world);
    let (seen, result) = steps(&mut client, &ids[1]);
    assert_eq!((kinds(&seen), result), (vec!["prompt", "set_state", "return"], json!("b:ok-b:fine")));
    assert_eq!(next_step(&mut client, &ids[0])["status"], "complete");
    let told = wait_ended(&mut client, &told["workflowId"]);
    assert_eq!(told["output"], json!(["a:ok-a:fine", "b:ok-b:fine"]), "{told}");
    client.close_client();
}
