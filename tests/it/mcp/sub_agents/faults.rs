//! What is refused, and what becomes of a sub-agent that falls silent.

use super::*;
use crate::cli::world::wait_for;

fn code(told: &Value) -> &str {
    assert_eq!(told["status"], "error", "{told}");
    told["code"].as_str().unwrap_or_else(|| panic!("no code: {told}"))
}

#[test]
fn errors_have_a_code_and_a_text() {
    let world = world(&[each_step_workflow(&names(&["a"]))]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("each", json!({}));
    let id = tasks(&told).remove(0);
    let run = text(&told["workflowId"]);
    // invalid ids: forged, cut, the run's own, somebody else's words
    for wrong in ["", "nope", &id[..id.len() - 1], &id.replace("task-", "task_"), &run, "../../etc/passwd"] {
        let said = next_step(&mut client, wrong);
        assert_eq!(code(&said), "unknown_workflow", "{wrong}");
        assert!(said["error"].as_str().unwrap().contains("no workflow"), "{said}");
        let said = client.call_tool("get_workflow_state", json!({"workflow_id": wrong}));
        assert_eq!(code(&said), "unknown_workflow");
    }
    let step = next_step(&mut client, &id)["step"].clone();
    let hand_in =
        |step_id: &Value, result: Value| json!({"workflow_id": id, "step_id": step_id, "result": result});
    for wrong in [json!("step-999"), json!("x"), json!("step-01")] {
        let said = client.call_tool("submit_step_result", hand_in(&wrong, good_result(&step)));
        assert_eq!(code(&said), "unknown_step");
    }
    // what does not fit leaves the step as it was
    let said = client.call_tool("submit_step_result", hand_in(&step["step_id"], json!({"stdout": "x"})));
    assert_eq!((code(&said), &said["tries_left"]), ("validation_failed", &json!(4)));
    for part in ["`stderr` is missing", "`exit_code` is missing", "submit it again"] {
        assert!(said["message"].as_str().unwrap().contains(part), "{said}");
    }
    assert_eq!(next_step(&mut client, &id)["step"], step);
    // a result for another version of the state
    let mut late = hand_in(&step["step_id"], good_result(&step));
    late["expected_version"] = json!(7);
    let said = client.call_tool("submit_step_result", late);
    assert_eq!((code(&said), &said["state_version"]), ("version_conflict", &json!(0)));
    let huge = json!({"stdout": "x".repeat(2 << 20), "stderr": "", "exit_code": 0});
    assert_eq!(code(&client.call_tool("submit_step_result", hand_in(&step["step_id"], huge))), "too_large");
    // the same result twice, in another order of its keys
    assert_eq!(submit_step(&mut client, &id, &step, &good_result(&step)), json!({"status": "accepted"}));
    let mut same = good_result(&step);
    let first = same.as_object_mut().unwrap().shift_remove("stdout").unwrap();
    same["stdout"] = first;
    let said = submit_step(&mut client, &id, &step, &same);
    assert_eq!(said, json!({"status": "accepted", "duplicate": true}), "in another order");
    let said =
        submit_step(&mut client, &id, &step, &json!({"stdout": "other", "stderr": "", "exit_code": 0}));
    assert_eq!(code(&said), "step_already_completed");
    work_through(&mut client, &id);
    // after the end
    assert_eq!(submit_step(&mut client, &id, &step, &good_result(&step))["duplicate"], true);
    let said = client.call_tool("submit_step_result", hand_in(&json!("step-999"), json!({})));
    assert_eq!(code(&said), "workflow_complete");
    // requests that are none
    for arguments in [json!({}), json!({"workflow_id": 3}), json!({"workflow_id": id, "x": 1})] {
        assert_eq!(client.call_refusal("get_next_step", arguments)["code"], -32602);
    }
    client.close_client();
}

#[test]
fn data_of_a_tool_fits_what_the_step_takes() {
    let mut flow = each_step_workflow(&names(&["a"]));
    let ran = json!({"as": "ran", "schema": {"type": "object", "required": ["stdout"],
                     "properties": {"stdout": {"type": "string"}, "found": {"items": {"type": "integer"}}}}});
    flow["states"][0]["states"][0] = json!({"name": "start", "type": "mcp", "server": "s", "tool": "find",
        "arguments": {}, "output": ran, "transition": [{"target": "ask"}]});
    let world = world(&[flow]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("each", json!({}));
    let id = tasks(&told).remove(0);
    let step = next_step(&mut client, &id)["step"].clone();
    assert_eq!(step["type"], "mcp_call", "{step}");
    let said = submit_step(&mut client, &id, &step, &json!({"data": {"found": [1, "x"]}}));
    assert_eq!((code(&said), &said["tries_left"]), ("validation_failed", &json!(4)));
    for part in ["/found/1: \"x\" is not of type \"integer\"", "\"stdout\" is a required property"] {
        assert!(said["message"].as_str().unwrap().contains(part), "{said}");
    }
    let fits = json!({"data": {"stdout": "ok", "found": [1]}});
    assert_eq!(submit_step(&mut client, &id, &step, &fits)["status"], "accepted");
    assert_eq!(work_through(&mut client, &id), "a:ok:fine");
    client.close_client();
}

#[test]
fn results_that_never_fit_fail_the_step() {
    let world = world(&[each_step_workflow(&names(&["a"]))]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("each", json!({}));
    let id = tasks(&told).remove(0);
    let step = next_step(&mut client, &id)["step"].clone();
    let left: Vec<Value> =
        (0..5).map(|_| submit_step(&mut client, &id, &step, &json!("no"))["tries_left"].clone()).collect();
    assert_eq!(left, [4, 3, 2, 1, 0]);
    let told = wait_ended(&mut client, &told["workflowId"]);
    assert_eq!((&told["status"], &told["failedStep"]), (&json!("failed"), &json!("start")), "{told}");
    assert!(told.to_string().contains("results that do not fit"), "{told}");
    assert_eq!(code(&next_step(&mut client, &id)), "workflow_failed");
    client.close_client();
}

#[test]
fn an_exit_code_fails_the_step_and_d19_others_keep_their_places() {
    let mut flow = each_step_workflow(&names(&["a", "b", "c"]));
    flow["states"][0]["tolerated_failures"] = json!(1);
    let world = world(&[flow]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("each", json!({}));
    let ids = tasks(&told);
    let step = next_step(&mut client, &ids[1])["step"].clone();
    let failed = json!({"stdout": "", "stderr": "no such thing", "exit_code": 2});
    assert_eq!(submit_step(&mut client, &ids[1], &step, &failed)["status"], "accepted");
    let said = next_step(&mut client, &ids[1]);
    assert_eq!(code(&said), "workflow_failed");
    assert!(said["error"].as_str().unwrap().contains("no such thing"), "{said}");
    for id in [&ids[2], &ids[0]] {
        work_through(&mut client, id);
    }
    let told = wait_ended(&mut client, &told["workflowId"]);
    let output = told["output"].as_array().unwrap();
    assert_eq!((&output[0], &output[2]), (&json!("a:ok-a:fine"), &json!("c:ok-c:fine")), "{told}");
    assert_eq!(output[1]["error"]["name"], "tool.failed", "{told}");
    client.close_client();
}

/// A lease lasts a second at least, and some of these wait for many: each has a server of its own, and all wait at once.
#[test]
fn leases_and_tasks_end_when_their_time_is_up() {
    std::thread::scope(|scope| {
        for check in [
            a_silent_sub_agent_loses_its_step_and_then_its_task,
            a_sub_agent_that_takes_a_step_and_says_nothing_more_loses_its_whole_task,
            a_late_result_counts_while_nobody_else_has_the_step,
            nobody_is_silent_who_has_a_step_that_takes_long,
            a_task_that_no_sub_agent_begins_fails_when_its_time_is_up,
        ] {
            scope.spawn(check);
        }
    });
}

fn a_silent_sub_agent_loses_its_step_and_then_its_task() {
    let world = world(&[each_step_workflow(&names(&["a"]))]);
    let mut client = Client::open_with(&world, &["--lease-seconds", "1"]);
    let told = client.call_tool("each", json!({}));
    let id = tasks(&told).remove(0);
    let first = next_step(&mut client, &id)["step"].clone();
    assert_eq!((&first["timeout"], &first["attempt"]), (&json!(1), &json!(1)));
    let as_other = json!({"workflow_id": id, "worker_id": "other"});
    let second = wait_for("the lease ends", || {
        let told = client.call_tool("get_next_step", as_other.clone());
        told.get("step").cloned()
    });
    assert_eq!((&second["step_id"], &second["attempt"]), (&first["step_id"], &json!(2)));
    let said = submit_step(&mut client, &id, &first, &good_result(&first));
    assert_eq!(code(&said), "lease_lost", "somebody else has it");
    let third = wait_for("the lease ends again", || {
        let told = next_step(&mut client, &id);
        told.get("step").filter(|step| step["attempt"] == 3).cloned()
    });
    assert_eq!(third["step_id"], first["step_id"]);
    // nobody does it: the run hears of it
    let told = wait_ended(&mut client, &told["workflowId"]);
    assert_eq!((&told["status"], &told["failedStep"]), (&json!("failed"), &json!("start")), "{told}");
    assert!(told.to_string().contains("no sub-agent did it in time"), "{told}");
    client.close_client();
}

fn a_sub_agent_that_takes_a_step_and_says_nothing_more_loses_its_whole_task() {
    let mut flow = each_step_workflow(&names(&["a", "b"]));
    flow["states"][0]["tolerated_failures"] = json!(1);
    let world = world(&[flow]);
    let mut client = Client::open_with(&world, &["--lease-seconds", "1"]);
    let told = client.call_tool("each", json!({}));
    let ids = tasks(&told);
    let step = next_step(&mut client, &ids[0])["step"].clone();
    assert_eq!(step["attempt"], 1, "{step}");
    assert_eq!(work_through(&mut client, &ids[1]), "b:ok-b:fine", "the other one goes on");
    let told = wait_ended(&mut client, &told["workflowId"]);
    assert_eq!(told["status"], "completed", "{told}");
    let output = told["output"].as_array().unwrap();
    assert_eq!(output[1], "b:ok-b:fine", "{told}");
    assert!(output[0].to_string().contains("its sub-agent fell silent"), "{told}");
    assert_eq!(code(&next_step(&mut client, &ids[0])), "workflow_failed");
    assert_eq!(code(&submit_step(&mut client, &ids[0], &step, &good_result(&step))), "workflow_failed");
    client.close_client();
}

fn a_late_result_counts_while_nobody_else_has_the_step() {
    let world = world(&[each_step_workflow(&names(&["a"]))]);
    let mut client = Client::open_with(&world, &["--lease-seconds", "1"]);
    let told = client.call_tool("each", json!({}));
    let id = tasks(&told).remove(0);
    let step = next_step(&mut client, &id)["step"].clone();
    std::thread::sleep(std::time::Duration::from_millis(1_300));
    assert_eq!(submit_step(&mut client, &id, &step, &good_result(&step)), json!({"status": "accepted"}));
    client.close_client();
}

#[test]
fn a_cancelled_run_tells_its_sub_agents() {
    let world = world(&[each_step_workflow(&names(&["a"]))]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("each", json!({}));
    let id = tasks(&told).remove(0);
    let step = next_step(&mut client, &id)["step"].clone();
    let cancelled = client.call_tool("cancel_workflow", json!({"workflowId": told["workflowId"]}));
    assert_eq!(cancelled["status"], "cancelled");
    assert_eq!(code(&next_step(&mut client, &id)), "workflow_cancelled");
    assert_eq!(code(&submit_step(&mut client, &id, &step, &good_result(&step))), "workflow_cancelled");
    client.close_client();
}

#[test]
fn a_question_is_not_answered_by_what_does_not_fit() {
    let mut flow = each_step_workflow(&names(&["a"]));
    let ask = &mut flow["states"][0]["states"][1];
    (ask["kind"], ask["default"]) = (json!("boolean"), json!(true));
    let world = world(&[flow]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("each", json!({}));
    let id = tasks(&told).remove(0);
    let step = next_step(&mut client, &id)["step"].clone();
    submit_step(&mut client, &id, &step, &good_result(&step));
    let question = next_step(&mut client, &id)["step"].clone();
    assert_eq!(question["type"], "prompt", "{question}");
    for left in [4, 3, 2, 1] {
        let said = submit_step(&mut client, &id, &question, &json!("no"));
        assert_eq!((code(&said), &said["tries_left"]), ("validation_failed", &json!(left)), "{said}");
        assert!(said["message"].as_str().unwrap().ends_with("submit it again"), "{said}");
    }
    assert_eq!(next_step(&mut client, &id)["step"], question);
    assert_eq!(submit_step(&mut client, &id, &question, &json!({"confirmed": false}))["status"], "accepted");
    assert_eq!(next_step(&mut client, &id)["final_result"], "a:ok-a:false");
    // after five tries the state fails, as other steps do; no user gave its default as an answer
    let told = client.call_tool("each", json!({}));
    let id = tasks(&told).remove(0);
    let step = next_step(&mut client, &id)["step"].clone();
    submit_step(&mut client, &id, &step, &good_result(&step));
    let question = next_step(&mut client, &id)["step"].clone();
    let left: Vec<Value> = (0..5)
        .map(|_| submit_step(&mut client, &id, &question, &json!("no"))["tries_left"].clone())
        .collect();
    assert_eq!(left, [4, 3, 2, 1, 0]);
    let told = wait_ended(&mut client, &told["workflowId"]);
    assert_eq!(told["status"], "failed", "{told}");
    for part in ["validation", "a sub-agent gave 5 results that do not fit"] {
        assert!(told.to_string().contains(part), "{told}");
    }
    assert_eq!(code(&next_step(&mut client, &id)), "workflow_failed");
    client.close_client();
}

fn nobody_is_silent_who_has_a_step_that_takes_long() {
    let mut flow = each_step_workflow(&names(&["a"]));
    flow["states"][0]["states"][0]["timeout"] = json!("PT20S");
    let world = world(&[flow]);
    let mut client = Client::open_with(&world, &["--lease-seconds", "1"]);
    let told = client.call_tool("each", json!({}));
    let id = tasks(&told).remove(0);
    let step = next_step(&mut client, &id)["step"].clone();
    assert_eq!(step["timeout"], 21, "{step}");
    std::thread::sleep(std::time::Duration::from_millis(4_500));
    let other = client.call_tool("get_next_step", json!({"workflow_id": id, "worker_id": "other"}));
    assert_eq!(other["status"], "waiting", "{other}");
    assert_eq!(submit_step(&mut client, &id, &step, &good_result(&step)), json!({"status": "accepted"}));
    client.close_client();
}

#[test]
fn what_is_not_written_down_is_not_accepted_the_second_time_either() {
    let world = world(&[each_step_workflow(&names(&["a"]))]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("each", json!({}));
    let id = tasks(&told).remove(0);
    let step = next_step(&mut client, &id)["step"].clone();
    let other = rusqlite::Connection::open(world.data().join("runs.sqlite")).unwrap();
    let refusing = "CREATE TRIGGER no BEFORE INSERT ON rows BEGIN SELECT raise(ABORT, 'no room'); END";
    other.execute_batch(refusing).unwrap();
    for _ in 0..2 {
        let said = submit_step(&mut client, &id, &step, &good_result(&step));
        assert_eq!(code(&said), "not_recorded", "{said}");
    }
    other.execute_batch("DROP TRIGGER no").unwrap();
    let said = wait_for("the store is written again", || {
        let said = submit_step(&mut client, &id, &step, &good_result(&step));
        (said["status"] == "accepted").then_some(said)
    });
    assert_eq!(said, json!({"status": "accepted", "duplicate": true}));
    client.close_client();
}

#[test]
fn a_failure_that_nothing_deals_with_withdraws_all_tasks_at_once_and_they_can_be_tried_again() {
    let world = world(&[each_step_workflow(&names(&["a", "b", "c", "d"]))]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("each", json!({}));
    let (run, ids) = (told["workflowId"].clone(), tasks(&told));
    // one is at a command, one at a question, one was not begun
    let command = next_step(&mut client, &ids[1])["step"].clone();
    let first = next_step(&mut client, &ids[2])["step"].clone();
    submit_step(&mut client, &ids[2], &first, &good_result(&first));
    let question = next_step(&mut client, &ids[2])["step"].clone();
    let waits = client.call_tool("get_workflow_status", json!({"workflowId": run}));
    // what was handed in last may not be in the run's row yet
    let done_steps = waits["completedSteps"].as_array().unwrap();
    assert!(done_steps.iter().all(|step| step == "start[2]/start"), "{waits}");
    let step = next_step(&mut client, &ids[0])["step"].clone();
    let failed = json!({"stdout": "", "stderr": "no such thing", "exit_code": 2});
    let hand_in = json!({"workflow_id": ids[0], "step_id": step["step_id"], "result": failed, "next": true});
    let said = client.call_tool("submit_step_result", hand_in);
    assert_eq!(said["status"], "accepted", "{said}");
    assert_eq!(code(&said["next"]), "workflow_failed", "{said}");
    assert!(said["next"]["error"].as_str().unwrap().contains("no such thing"), "{said}");
    for id in &ids {
        assert_eq!(code(&next_step(&mut client, id)), "workflow_failed");
    }
    for (id, step) in [(&ids[1], &command), (&ids[2], &question)] {
        assert_eq!(
            code(&submit_step(&mut client, id, step, &good_result(step))),
            "workflow_failed",
            "{step}"
        );
    }
    let told = client.call_tool("get_workflow_status", json!({"workflowId": run}));
    assert_eq!((&told["status"], &told["failedStep"]), (&json!("failed"), &json!("start")), "{told}");
    assert_eq!(told["completedSteps"], json!(["start[2]/start"]), "{told}");
    // what was done stays, everything else is handed out again
    let told = client.call_tool("continue_workflow", json!({"workflowId": run}));
    assert_eq!(tasks(&told), ids, "{told}");
    assert_eq!(next_step(&mut client, &ids[2])["step"]["type"], "prompt");
    let results: Vec<Value> = ids.iter().map(|id| work_through(&mut client, id)).collect();
    assert_eq!(results, ["a:ok-a:fine", "b:ok-b:fine", "c:ok-c:fine", "d:ok-d:fine"]);
    assert_eq!(wait_ended(&mut client, &run)["status"], "completed");
    client.close_client();
}

fn a_task_that_no_sub_agent_begins_fails_when_its_time_is_up() {
    let mut flow = each_step_workflow(&names(&["a", "b"]));
    flow["states"][0]["tolerated_failures"] = json!(1);
    let world = world(&[flow]);
    let mut client = Client::open_with(&world, &["--begin-seconds", "1"]);
    let told = client.call_tool("each", json!({}));
    let ids = tasks(&told);
    // as long as one of them is at work, the others may come later
    let step = next_step(&mut client, &ids[0])["step"].clone();
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    let open = client.call_tool("get_workflow_status", json!({"workflowId": told["workflowId"]}));
    assert_eq!(open["subAgents"].as_array().unwrap().len(), 2, "{open}");
    submit_step(&mut client, &ids[0], &step, &good_result(&step));
    assert_eq!(work_through(&mut client, &ids[0]), "a:ok-a:fine");
    let run = json!({"workflowId": told["workflowId"]});
    let told = wait_for("the other one's time is up", || {
        let told = client.call_tool("get_workflow_status", run.clone());
        (told["status"] == "completed").then_some(told)
    });
    assert!(told["output"][1].to_string().contains("no sub-agent has begun its task in time"), "{told}");
    assert_eq!(code(&next_step(&mut client, &ids[1])), "workflow_failed");
    client.close_client();
}
