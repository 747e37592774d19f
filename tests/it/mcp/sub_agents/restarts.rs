//! The journal is the truth: a server that dies between any two messages changes nothing.

use super::*;

#[test]
fn killed_between_any_two_messages_every_task_comes_to_the_same_end() {
    let undisturbed = play(false);
    assert_eq!(play(true), undisturbed);
    let output = &undisturbed.last().unwrap()["output"];
    assert_eq!(*output, json!(["a:ok-a:fine", "b:ok-b:fine"]));
}

/// Everything that is said, in order, without what is drawn by luck.
fn play(killed: bool) -> Vec<Value> {
    let world = world(&[each(&names(&["a", "b"]))]);
    let mut client = Client::open(&world);
    let mut heard = Vec::new();
    let told = client.call("each", json!({}));
    let ids = tasks(&told);
    for id in &ids {
        let mut steps: Vec<String> = Vec::new();
        loop {
            client = again(&world, client, killed);
            let told = next(&mut client, id);
            steps.extend(told["step"]["step_id"].as_str().map(str::to_owned));
            heard.push(told.clone());
            let Some(step) = told.get("step").cloned() else {
                if told["status"] == "waiting" {
                    heard.pop();
                    continue;
                }
                break;
            };
            client = again(&world, client, killed);
            let said = submit(&mut client, id, &step, &done(&step));
            assert_eq!(said["status"], "accepted", "{said}");
            if killed {
                // whoever did not hear the answer says it again
                client = again(&world, client, true);
                let said = submit(&mut client, id, &step, &done(&step));
                assert_eq!(said, json!({"status": "accepted", "duplicate": true}));
                let said =
                    submit(&mut client, id, &step, &json!({"stdout": "", "stderr": "x", "exit_code": 0}));
                assert_eq!(said["code"], "step_already_completed", "{said}");
            }
        }
        client = again(&world, client, killed);
        let state = client.call("get_workflow_state", json!({"workflow_id": id}));
        assert_eq!(state["workflow_id"], json!(id));
        heard.push(state);
        // which of two items comes first is luck
        for told in &mut heard {
            let named = steps.iter().enumerate().fold(told.to_string(), |text, (at, step)| {
                text.replace(&format!("\"{step}\""), &format!("\"the step {at} of {id}\""))
            });
            *told = serde_json::from_str(&named.replace(id.as_str(), "a task")).unwrap();
        }
    }
    client = again(&world, client, killed);
    let mut told =
        client.call("get_workflow_status", json!({"workflowId": told["workflowId"], "wait": true}));
    assert_eq!(told["status"], "completed", "{told}");
    told["workflowId"].take();
    let mut steps: Vec<String> = told["completedSteps"].as_array().unwrap().iter().map(text).collect();
    steps.sort();
    told["completedSteps"] = json!(steps);
    heard.push(told);
    client.close();
    heard
}

fn again(world: &World, client: Client, killed: bool) -> Client {
    if !killed {
        return client;
    }
    client.kill();
    Client::open(world)
}

#[test]
fn a_task_that_is_taken_up_elsewhere_is_asked_about_there() {
    let world = world(&[each(&names(&["a"]))]);
    let mut client = Client::open(&world);
    let told = client.call("each", json!({}));
    let id = tasks(&told).remove(0);
    next(&mut client, &id);
    // another server sees whose it is
    let mut other = Client::open(&world);
    let said = next(&mut other, &id);
    assert_eq!((&said["status"], &said["code"]), (&json!("error"), &json!("not_running")), "{said}");
    other.close();
    client.kill();
    // without sub-agents, what they were to do needs a person's leave
    let run = text(&told["workflowId"]);
    let resumed = world.run(&["resume", &run]);
    assert!(resumed.out.contains("check") || resumed.err.contains("check"), "{}{}", resumed.out, resumed.err);
    let listed = world.run(&["runs", "list", "--json"]).code(0).json();
    assert_eq!(listed[0]["status"], "paused", "{listed}");
}

#[test]
fn all_tasks_are_asked_for_at_once_while_one_of_them_takes_the_run_up() {
    let items: Vec<String> = (0..12).map(|item| format!("i{item}")).collect();
    let items: Vec<&str> = items.iter().map(String::as_str).collect();
    let world = world(&[each(&names(&items))]);
    let mut client = Client::open(&world);
    let told = client.call("each", json!({}));
    let ids = tasks(&told);
    client.kill();
    let mut client = Client::open(&world);
    let asked: Vec<u64> =
        ids.iter().map(|id| client.begin_call("get_next_step", json!({"workflow_id": id}))).collect();
    for asked in asked {
        let told = client.told(asked);
        assert_eq!(
            (&told["status"], &told["step"]["attempt"]),
            (&json!("pending_step"), &json!(1)),
            "{told}"
        );
    }
    // each has kept its lease; the answer comes after a second
    let others: Vec<u64> = ids
        .iter()
        .map(|id| client.begin_call("get_next_step", json!({"workflow_id": id, "worker_id": "other"})))
        .collect();
    for other in others {
        let told = client.told(other);
        assert_eq!(told["status"], "waiting", "{told}");
    }
    client.close();
}
