//! Several steps of one kind in one message. Fewer calls, the same result, and every rule for a single step.

use std::collections::BTreeSet;

use super::*;
use crate::cli::world::wait_for;

/// Items whose steps are ready beside each other: a command each, then a question each.
fn wide_workflow(items: &[&str]) -> Value {
    let mut flow = each_step_workflow(&names(items));
    flow["states"][0].as_object_mut().unwrap().shift_remove("agent");
    flow
}

fn begin_task(client: &mut Client, name: &str) -> (Value, String) {
    let told = client.call_tool("start_workflow", json!({"name": name, "agent": "@task"}));
    let id = tasks(&told).remove(0);
    (told["workflowId"].clone(), id)
}

/// Until so many steps are open.
fn wait_ready_steps(client: &mut Client, id: &str, count: usize) -> Value {
    wait_for("the steps are ready", || {
        let state = client.call_tool("get_workflow_state", json!({"workflow_id": id}));
        (state["remaining_steps"] == count).then_some(state)
    })
}

/// `more` has `worker_id` and `max_steps`.
fn ask_steps(client: &mut Client, id: &str, more: &Value) -> Value {
    let mut arguments = json!({"workflow_id": id});
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    client.call_tool("get_next_step", arguments)
}

fn steps(told: &Value) -> Vec<Value> {
    assert_eq!(told["status"], "pending_step", "{told}");
    let further = told.get("further_steps").map(|steps| steps.as_array().unwrap().clone());
    assert!(further.as_ref().is_none_or(|steps| !steps.is_empty()), "{told}");
    std::iter::once(told["step"].clone()).chain(further.unwrap_or_default()).collect()
}

/// So many steps for this worker, all of a kind.
fn take_steps(client: &mut Client, id: &str, worker: &str, most: usize) -> Vec<Value> {
    let told = ask_steps(client, id, &json!({"worker_id": worker, "max_steps": most}));
    let steps = steps(&told);
    assert!(steps.iter().all(|step| step["type"] == steps[0]["type"]), "{told}");
    steps
}

fn step_ids(steps: &[Value]) -> Vec<&str> {
    steps.iter().map(|step| step["step_id"].as_str().unwrap()).collect()
}

fn pair(step: &Value, result: &Value) -> Value {
    json!({"step_id": step["step_id"], "result": result})
}

/// Hands in the first with the others beside it.
fn submit_results(client: &mut Client, id: &str, worker: &str, results: &[Value], more: &Value) -> Value {
    let mut arguments = json!({"workflow_id": id, "worker_id": worker});
    let fields = arguments.as_object_mut().unwrap();
    fields.extend(results[0].as_object().unwrap().clone());
    fields.extend(more.as_object().unwrap().clone());
    if results.len() > 1 {
        fields.insert("further_results".to_owned(), json!(results[1..]));
    }
    client.call_tool("submit_step_result", arguments)
}

fn all_done(steps: &[Value]) -> Vec<Value> {
    steps.iter().map(|step| pair(step, &good_result(step))).collect()
}

/// What became of each result: the first one's status is that of the answer.
fn result_statuses(said: &Value) -> Vec<String> {
    let further = said["further_results"].as_array().cloned().unwrap_or_default();
    let fate = |said: &Value| match said["code"].as_str() {
        Some(code) => code.to_owned(),
        None if said["duplicate"] == true => "duplicate".to_owned(),
        None => text(&said["status"]),
    };
    std::iter::once(said).chain(&further).map(fate).collect()
}

/// To the end: how many calls it took but for those that found nothing ready, what was asked for, and the result.
fn play_to_end(client: &mut Client, more: &Value) -> (usize, Vec<Value>, Value) {
    let (run, id) = begin_task(client, "each");
    let (mut calls, mut open, mut seen) = (0, 6, Vec::new());
    loop {
        if open > 0 {
            wait_ready_steps(client, &id, open);
        }
        let told = ask_steps(client, &id, more);
        match told["status"].as_str().unwrap() {
            "waiting" => continue,
            "complete" => break,
            _ => calls += 1,
        }
        assert_eq!(ask_steps(client, &id, more), told, "the same until it is submitted");
        let got = steps(&told);
        let worker = more["worker_id"].as_str().unwrap_or_default();
        let said = submit_results(client, &id, worker, &all_done(&got), &json!({}));
        assert!(result_statuses(&said).iter().all(|fate| fate == "accepted"), "{said}");
        calls += 1;
        open -= got.iter().filter(|step| step["type"] == "prompt").count();
        seen.extend(got.iter().map(|step| step["parameters"].clone()));
    }
    seen.sort_by_key(Value::to_string);
    (calls, seen, wait_ended(client, &run)["output"].clone())
}

#[test]
fn fewer_calls_come_to_the_same_result() {
    let world = world(&[wide_workflow(&["a", "b", "c", "d", "e", "f"])]);
    let mut client = Client::open_client(&world);
    let (one_by_one, asked, output) = play_to_end(&mut client, &json!({}));
    assert_eq!((one_by_one, asked.len(), &output[5]), (24, 12, &json!("f:ok-f:fine")));
    for (more, expected) in [
        (json!({"max_steps": 1, "worker_id": "w"}), 24),
        (json!({"max_steps": 3, "worker_id": "w"}), 8),
        (json!({"max_steps": 50, "worker_id": "w"}), 4),
        // Who does not say who it is gets one at a time
        (json!({"max_steps": 50}), 24),
        (json!({"max_steps": null, "worker_id": "w"}), 24),
    ] {
        let (calls, same, result) = play_to_end(&mut client, &more);
        assert_eq!((calls, same, result), (expected, asked.clone(), output.clone()), "{more}");
    }
    client.close_client();
}

#[test]
fn a_batch_is_one_workers_and_stays_so() {
    let world = world(&[wide_workflow(&["a", "b", "c", "d", "e"])]);
    let mut client = Client::open_client(&world);
    let (run, id) = begin_task(&mut client, "each");
    wait_ready_steps(&mut client, &id, 5);
    let first = take_steps(&mut client, &id, "one", 3);
    let other = take_steps(&mut client, &id, "other", 50);
    let given = first.iter().chain(&other).map(|step| text(&step["parameters"]["args"][0]));
    assert_eq!(
        given.collect::<BTreeSet<_>>(),
        ["a", "b", "c", "d", "e"].map(str::to_owned).into(),
        "each step once"
    );
    assert!(first.iter().all(|step| step["attempt"] == 1 && step["timeout"] == 300), "{first:?}");
    // Whatever is asked, it is of what one has
    assert_eq!(take_steps(&mut client, &id, "one", 50), first);
    assert_eq!(take_steps(&mut client, &id, "one", 2), first[..2]);
    assert_eq!(ask_steps(&mut client, &id, &json!({"worker_id": "one"}))["step"], first[0]);
    // Another worker has them
    let said = submit_results(&mut client, &id, "other", &all_done(&first), &json!({}));
    assert_eq!(result_statuses(&said), ["lease_lost", "lease_lost", "lease_lost"]);
    // one alone, and the rest is still there; the next one comes with the answer
    let said = submit_results(
        &mut client,
        &id,
        "one",
        &all_done(&first[1..2]),
        &json!({"next": true, "max_steps": 9}),
    );
    assert_eq!(step_ids(&steps(&said["next"])), [step_ids(&first)[0], step_ids(&first)[2]], "{said}");
    wait_ready_steps(&mut client, &id, 5);
    assert_eq!(
        step_ids(&take_steps(&mut client, &id, "one", 50)),
        [step_ids(&first)[0], step_ids(&first)[2]],
        "not the question"
    );
    // a question is of another kind and comes first
    let question = take_steps(&mut client, &id, "third", 50);
    assert_eq!((question.len(), &question[0]["type"]), (1, &json!("prompt")));
    for (worker, steps) in [("one", vec![&first[0], &first[2]]), ("other", other.iter().collect())] {
        let results: Vec<Value> = steps.into_iter().map(|step| pair(step, &good_result(step))).collect();
        let said = submit_results(&mut client, &id, worker, &results, &json!({}));
        assert_eq!(result_statuses(&said), ["accepted", "accepted"], "{said}");
    }
    wait_ready_steps(&mut client, &id, 5);
    submit_results(&mut client, &id, "third", &all_done(&question), &json!({}));
    let rest = take_steps(&mut client, &id, "one", 50);
    assert_eq!(rest.len(), 4, "{rest:?}");
    submit_results(&mut client, &id, "one", &all_done(&rest), &json!({}));
    assert_eq!(wait_ended(&mut client, &run)["output"][1], "b:ok-b:fine");
    client.close_client();
}

#[test]
fn each_result_is_judged_on_its_own() {
    let world = world(&[wide_workflow(&["a", "b", "c", "d"])]);
    let mut client = Client::open_client(&world);
    let (run, id) = begin_task(&mut client, "each");
    wait_ready_steps(&mut client, &id, 4);
    let got = take_steps(&mut client, &id, "w", 50);
    let [a, b, c, d] = [0, 1, 2, 3].map(|at| pair(&got[at], &good_result(&got[at])));
    let with = |step: &Value, result: Value| json!({"step_id": step["step_id"], "result": result});
    let forged = |id: &str| json!({"step_id": id, "result": good_result(&got[0])});
    let huge = json!({"stdout": "x".repeat(1 << 20), "stderr": "", "exit_code": 0});
    let rows: [(&[Value], &[&str]); 4] = [
        (
            &[a.clone(), forged("step-999"), b.clone(), forged("step-01"), forged(""), forged("ack-1")],
            &["accepted", "unknown_step", "accepted", "unknown_step", "unknown_step", "unknown_step"],
        ),
        // the first one refused keeps nobody out
        (
            &[
                with(&a, json!({"stdout": "other", "stderr": "", "exit_code": 0})),
                a.clone(),
                with(&c, json!("no")),
                d,
            ],
            &["step_already_completed", "duplicate", "validation_failed", "accepted"],
        ),
        (&[b.clone(), with(&c, huge), with(&c, json!({}))], &["duplicate", "too_large", "validation_failed"]),
        (&[c.clone(), c.clone(), a], &["accepted", "duplicate", "duplicate"]),
    ];
    for (results, expected) in rows {
        let said = submit_results(&mut client, &id, "w", results, &json!({"next": true}));
        assert_eq!(result_statuses(&said), expected, "{said}");
        assert_eq!(said.get("next").is_some(), said["status"] == "accepted", "{said}");
        let named: Vec<&Value> =
            said["further_results"].as_array().unwrap().iter().map(|one| &one["step_id"]).collect();
        let sent: Vec<&Value> = results[1..].iter().map(|one| &one["step_id"]).collect();
        assert_eq!(named, sent, "in the order in which they were sent");
        if expected[0] == "duplicate" {
            assert_eq!(said["further_results"][1]["tries_left"], 3, "counted as ever: {said}");
        }
    }
    // somebody else's task
    let said = submit_results(&mut client, "task-forged", "w", &[b, c], &json!({}));
    assert_eq!(result_statuses(&said), ["unknown_workflow", "unknown_workflow"]);
    wait_ready_steps(&mut client, &id, 4);
    // the one that came as `next`, then the others
    for count in [1, 3] {
        let rest = take_steps(&mut client, &id, "w", 50);
        assert_eq!(rest.len(), count, "{rest:?}");
        submit_results(&mut client, &id, "w", &all_done(&rest), &json!({}));
    }
    assert_eq!(wait_ended(&mut client, &run)["output"][2], "c:ok-c:fine");
    wait_for("the task has heard of its end", || {
        (next_step(&mut client, &id)["status"] == "complete").then_some(())
    });
    let said = submit_results(
        &mut client,
        &id,
        "w",
        &[forged("step-999"), pair(&got[0], &good_result(&got[0]))],
        &json!({}),
    );
    assert_eq!(result_statuses(&said), ["workflow_complete", "duplicate"]);
    client.close_client();
}

#[test]
fn what_is_no_batch_is_refused_as_a_whole() {
    let world = world(&[wide_workflow(&["a", "b"])]);
    let mut client = Client::open_client(&world);
    let (_, id) = begin_task(&mut client, "each");
    wait_ready_steps(&mut client, &id, 2);
    let got = take_steps(&mut client, &id, "w", 2);
    for count in [json!(0), json!(51), json!(-1), json!(1.5), json!("2"), json!(1e30), json!([])] {
        let asked = json!({"workflow_id": id, "worker_id": "w", "max_steps": count});
        let mut submitted = asked.clone();
        submitted
            .as_object_mut()
            .unwrap()
            .extend(pair(&got[0], &good_result(&got[0])).as_object().unwrap().clone());
        for (tool, arguments) in [("get_next_step", asked), ("submit_step_result", submitted)] {
            let error = client.call_refusal(tool, arguments);
            assert_eq!((&error["code"], &error["data"]["argument"]), (&json!(-32602), &json!("max_steps")));
            assert_eq!(error["message"], "`max_steps` must be a whole number from 1 to 50");
        }
    }
    let good = pair(&got[1], &good_result(&got[1]));
    let nulled = json!({"step_id": got[1]["step_id"], "result": null});
    for (further, place) in [
        (json!({}), "further_results"),
        (json!("x"), "further_results"),
        (json!(vec![good.clone(); 50]), "further_results"),
        (json!(["x"]), "further_results[0]"),
        (json!([good, {}]), "further_results[1]"),
        (json!([{"step_id": 1, "result": {}}]), "further_results[0]"),
        (json!([{"step_id": "x", "result": {}, "worker_id": "w"}]), "further_results[0]"),
        (json!([nulled]), "further_results[0]"),
    ] {
        let mut arguments = json!({"workflow_id": id, "worker_id": "w", "further_results": further});
        arguments
            .as_object_mut()
            .unwrap()
            .extend(pair(&got[0], &good_result(&got[0])).as_object().unwrap().clone());
        let error = client.call_refusal("submit_step_result", arguments);
        assert_eq!((&error["code"], &error["data"]["argument"]), (&json!(-32602), &json!(place)), "{error}");
    }
    assert_eq!(wait_ready_steps(&mut client, &id, 2)["completed_steps"], json!([]), "nothing was handed in");
    // as many as may be
    let most: Vec<Value> =
        std::iter::once(&got[0]).chain(std::iter::repeat_n(&got[1], 49)).cloned().collect();
    let said = submit_results(&mut client, &id, "w", &all_done(&most), &json!({}));
    assert_eq!(result_statuses(&said)[..3], ["accepted", "accepted", "duplicate"]);
    let said = submit_results(&mut client, &id, "w", &all_done(&got[..1]), &json!({"further_results": []}));
    assert_eq!(said, json!({"status": "accepted", "duplicate": true}));
    client.close_client();
}

/// What the call itself has handed in does not count against what it expects.
#[test]
fn a_server_that_dies_between_any_two_of_them_loses_and_doubles_nothing() {
    let world = world(&[wide_workflow(&["a", "b", "c", "d"])]);
    let mut client = Client::open_client(&world);
    let (run, id) = begin_task(&mut client, "each");
    wait_ready_steps(&mut client, &id, 4);
    let got = take_steps(&mut client, &id, "w", 50);
    client.kill_server();
    let mut client = Client::open_client(&world);
    wait_ready_steps(&mut client, &id, 4);
    assert_eq!(take_steps(&mut client, &id, "w", 50), got, "leases begin anew");
    let (results, expecting) = (all_done(&got), json!({"expected_version": 0}));
    let said = submit_results(&mut client, &id, "w", &results[..2], &expecting);
    assert_eq!(result_statuses(&said), ["accepted", "accepted"]);
    client.kill_server();
    let mut client = Client::open_client(&world);
    let said = submit_results(&mut client, &id, "w", &results[3..], &expecting);
    assert_eq!(
        (result_statuses(&said), &said["state_version"]),
        (vec!["version_conflict".to_owned()], &json!(2))
    );
    // a sub-agent that has fetched the state since then expects the finished steps to be finished
    let said = submit_results(&mut client, &id, "w", &results[..3], &json!({"expected_version": 2}));
    assert_eq!(result_statuses(&said), ["duplicate", "duplicate", "accepted"]);
    let said = submit_results(&mut client, &id, "w", &results, &expecting);
    assert_eq!(result_statuses(&said), ["duplicate", "duplicate", "duplicate", "accepted"]);
    client.kill_server();
    let mut client = Client::open_client(&world);
    let said = submit_results(&mut client, &id, "w", &results, &expecting);
    assert_eq!(result_statuses(&said), ["duplicate"; 4]);
    wait_ready_steps(&mut client, &id, 4);
    let questions = take_steps(&mut client, &id, "w", 50);
    assert_eq!(questions.len(), 4);
    // in the middle of it, wherever that is
    let mut arguments = json!({"workflow_id": id, "worker_id": "w"});
    let fields = arguments.as_object_mut().unwrap();
    let answers = all_done(&questions);
    fields.extend(answers[0].as_object().unwrap().clone());
    fields.insert("further_results".to_owned(), json!(answers[1..]));
    client.begin_call("submit_step_result", arguments);
    client.kill_server();
    let mut client = Client::open_client(&world);
    let said = submit_results(&mut client, &id, "w", &answers, &json!({}));
    assert!(
        result_statuses(&said).iter().all(|fate| ["accepted", "duplicate"].contains(&fate.as_str())),
        "{said}"
    );
    let told = wait_ended(&mut client, &run);
    assert_eq!(told["output"], json!(["a:ok-a:fine", "b:ok-b:fine", "c:ok-c:fine", "d:ok-d:fine"]), "{told}");
    client.close_client();
}

#[test]
fn steps_of_a_batch_that_is_let_go_are_handed_out_alone() {
    let world = world(&[wide_workflow(&["a", "b", "c"])]);
    let mut client = Client::open_with(&world, &["--lease-seconds", "1"]);
    let (_, id) = begin_task(&mut client, "each");
    wait_ready_steps(&mut client, &id, 3);
    let lost = take_steps(&mut client, &id, "silent", 50);
    assert_eq!(lost.len(), 3);
    let again = wait_for("the leases end", || {
        let told = ask_steps(&mut client, &id, &json!({"worker_id": "other", "max_steps": 50}));
        told.get("step").map(|_| steps(&told))
    });
    assert_eq!((step_ids(&again), &again[0]["attempt"]), (vec![step_ids(&lost)[0]], &json!(2)));
    // Late, and nobody else has the others
    let said = submit_results(&mut client, &id, "silent", &all_done(&lost), &json!({}));
    assert_eq!(result_statuses(&said), ["lease_lost", "accepted", "accepted"]);
    client.close_client();
}

/// Messages that need no answer come together, whichever sub-agent asks.
#[test]
fn what_is_only_to_be_acknowledged_comes_together() {
    let set = |name: &str, value: &Value, next: &str| json!({"name": name, "action": {"set_state": {"n": value}}, "transition": [{"target": next}]});
    let more = json!("common_data.n + 1");
    let mut counted = flow(
        "counted",
        &json!([
            set("start", &json!(1), "two"), set("two", &more, "look"),
            {"name": "look", "type": "shell", "command": "check", "args": ["x"], "transition": [{"target": "three"}]},
            set("three", &more, "four"), set("four", &more, "five"),
            set("five", &more, "stop"), {"name": "stop", "input": "common_data.n"},
        ]),
    );
    counted["output"] = json!({"name": "n", "type": "number"});
    let world = world(&[counted]);
    let mut client = Client::open_client(&world);
    let mut played = |more: Value| {
        let start = json!({"name": "counted", "agent": "@task", "ack_steps": true});
        let told = client.call_tool("start_workflow", start);
        let (run, id) = (told["workflowId"].clone(), tasks(&told).remove(0));
        wait_ready_steps(&mut client, &id, 3);
        let mut kinds = Vec::new();
        loop {
            let told = ask_steps(&mut client, &id, &more);
            if told["status"] == "complete" {
                wait_ended(&mut client, &run);
                return (kinds, told["final_result"].clone());
            }
            let got = steps(&told);
            assert_eq!(ask_steps(&mut client, &id, &more), told, "the same until it is submitted");
            let own = |step: &Value| if step["type"] == "shell" { good_result(step) } else { json!({}) };
            let results: Vec<Value> = got.iter().map(|step| pair(step, &own(step))).collect();
            let said = submit_results(
                &mut client,
                &id,
                "",
                &results,
                &json!({"expected_version": got[0]["state_version"]}),
            );
            assert!(result_statuses(&said).iter().all(|fate| fate == "accepted"), "{said}");
            kinds.push(format!("{} {}", got.len(), text(&got[0]["type"])));
            if got[0]["type"] == "shell" {
                wait_ready_steps(&mut client, &id, 4);
            }
        }
    };
    assert_eq!(
        played(json!({"max_steps": 50})),
        (["2 set_state", "1 shell", "3 set_state", "1 return"].map(str::to_owned).to_vec(), json!(5))
    );
    let (single, result) = played(json!({}));
    assert_eq!((single.len(), result), (7, json!(5)), "{single:?}");
    client.close_client();
}
