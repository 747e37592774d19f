//! The journal is the truth: a server that dies between any two messages changes nothing.

use super::*;

#[test]
fn killed_between_any_two_messages_every_task_comes_to_the_same_end() {
    let undisturbed = play_restart(false);
    assert_eq!(play_restart(true), undisturbed);
    let output = &undisturbed.last().unwrap()["output"];
    assert_eq!(*output, json!(["a:ok-a:fine", "b:ok-b:fine"]));
}

/// Everything that is said, in order, without what is drawn by luck.
fn play_restart(killed: bool) -> Vec<Value> {
    let world = world(&[each_step_workflow(&names(&["a", "b"]))]);
    let mut client = Client::open_client(&world);
    let mut heard = Vec::new();
    let told = client.call_tool("each", json!({}));
    let ids = tasks(&told);
    for id in &ids {
        let mut steps: Vec<String> = Vec::new();
        loop {
            client = restart_client(&world, client, killed);
            let told = next_step(&mut client, id);
            steps.extend(told["step"]["step_id"].as_str().map(str::to_owned));
            heard.push(told.clone());
            let Some(step) = told.get("step").cloned() else {
                if told["status"] == "waiting" {
                    heard.pop();
                    continue;
                }
                break;
            };
            client = restart_client(&world, client, killed);
            let said = submit_step(&mut client, id, &step, &good_result(&step));
            assert_eq!(said["status"], "accepted", "{said}");
            if killed {
                // a sub-agent that did not get the answer submits again
                client = restart_client(&world, client, true);
                let said = submit_step(&mut client, id, &step, &good_result(&step));
                assert_eq!(said, json!({"status": "accepted", "duplicate": true}));
                let said = submit_step(
                    &mut client,
                    id,
                    &step,
                    &json!({"stdout": "", "stderr": "x", "exit_code": 0}),
                );
                assert_eq!(said["code"], "step_already_completed", "{said}");
            }
        }
        client = restart_client(&world, client, killed);
        let state = client.call_tool("get_workflow_state", json!({"workflow_id": id}));
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
    client = restart_client(&world, client, killed);
    let mut told =
        client.call_tool("get_workflow_status", json!({"workflowId": told["workflowId"], "wait": true}));
    assert_eq!(told["status"], "completed", "{told}");
    told["workflowId"].take();
    let mut steps: Vec<String> = told["completedSteps"].as_array().unwrap().iter().map(text).collect();
    steps.sort();
    told["completedSteps"] = json!(steps);
    heard.push(told);
    client.close_client();
    heard
}

fn restart_client(world: &World, client: Client, killed: bool) -> Client {
    if !killed {
        return client;
    }
    client.kill_server();
    Client::open_client(world)
}

#[test]
fn a_task_that_is_taken_up_elsewhere_is_asked_about_there() {
    let world = world(&[each_step_workflow(&names(&["a"]))]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("each", json!({}));
    let id = tasks(&told).remove(0);
    next_step(&mut client, &id);
    // another server sees whose it is
    let mut other = Client::open_client(&world);
    let said = next_step(&mut other, &id);
    assert_eq!((&said["status"], &said["code"]), (&json!("error"), &json!("not_running")), "{said}");
    other.close_client();
    client.kill_server();
    // without sub-agents, their commands need the user's approval
    let run = text(&told["workflowId"]);
    let resumed = world.run_program(&["resume", &run]);
    assert!(
        resumed.stdout.contains("check") || resumed.stderr.contains("check"),
        "{}{}",
        resumed.stdout,
        resumed.stderr
    );
    let listed = world.run_program(&["runs", "list", "--json"]).code(0).json();
    assert_eq!(listed[0]["status"], "paused", "{listed}");
}

#[test]
fn all_tasks_are_asked_for_at_once_while_one_of_them_takes_the_run_up() {
    let items: Vec<String> = (0..12).map(|item| format!("i{item}")).collect();
    let items: Vec<&str> = items.iter().map(String::as_str).collect();
    let world = world(&[each_step_workflow(&names(&items))]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("each", json!({}));
    let ids = tasks(&told);
    client.kill_server();
    let mut client = Client::open_client(&world);
    let asked: Vec<u64> =
        ids.iter().map(|id| client.begin_call("get_next_step", json!({"workflow_id": id}))).collect();
    for asked in asked {
        let told = client.call_result(asked);
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
        let told = client.call_result(other);
        assert_eq!(told["status"], "waiting", "{told}");
    }
    client.close_client();
}

/// After a crash all sub-agents come at once: the run is read once for them.
#[test]
fn a_crowd_after_a_crash_reads_the_run_once() {
    let items: Vec<String> = (0..20).map(|at| format!("item{at}")).collect();
    let items: Vec<&str> = items.iter().map(String::as_str).collect();
    let world = world(&[each_step_workflow(&names(&items))]);
    let mut client = Client::open_client(&world);
    let ids = tasks(&client.call_tool("each", json!({})));
    assert_eq!(ids.len(), 20);
    client.kill_server();
    let mut client = Client::open_client(&world);
    let calls: Vec<u64> =
        ids.iter().map(|id| client.begin_call("get_next_step", json!({"workflow_id": id}))).collect();
    for call in calls {
        assert_eq!(client.call_result(call)["status"], "pending_step");
    }
    client.close_client();
    let log = std::fs::read_to_string(world.data().join("synthdev.log")).unwrap();
    assert_eq!(log.matches("the tasks of a run are read from its journal").count(), 1, "{log}");
}

#[test]
fn a_task_of_another_project_is_named_to_who_has_its_id() {
    let world = world(&[each_step_workflow(&names(&["a"]))]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("each", json!({}));
    let id = tasks(&told).remove(0);
    let mut forged = id.clone();
    let last = if forged.pop() == Some('0') { '1' } else { '0' };
    forged.push(last);
    let other = world.root().join("other");
    std::fs::create_dir_all(&other).unwrap();
    let project = std::fs::canonicalize(world.project()).unwrap();
    let mut stranger = Client::open_with(&world, &["-C", other.to_str().unwrap()]);
    let belongs = format!(
        "run {} belongs to {}; a server of that project takes its steps",
        text(&told["workflowId"]),
        project.display()
    );
    for is_again in [false, true] {
        let unknown = next_step(&mut stranger, &forged);
        assert_eq!(unknown["code"], "unknown_workflow", "{is_again}: {unknown}");
        assert!(!unknown.to_string().contains("belongs"), "{is_again}: {unknown}");
        let refused = next_step(&mut stranger, &id);
        assert_eq!(
            (&refused["code"], &refused["error"]),
            (&json!("not_running"), &json!(belongs)),
            "{is_again}"
        );
    }
    // the step is still there for its own server
    assert_eq!(next_step(&mut client, &id)["status"], "pending_step");
    stranger.close_client();
    client.close_client();
}
