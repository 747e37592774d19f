//! The state of a task is kept and brought back.

use super::*;

fn call_checkpoint(client: &mut Client, tool: &str, id: &str, name: Option<&str>) -> Value {
    let mut arguments = json!({"workflow_id": id});
    if let Some(name) = name {
        arguments["checkpoint"] = json!(name);
    }
    client.call_tool(tool, arguments)
}

#[test]
fn a_task_goes_back_to_a_checkpoint_and_goes_on_from_there() {
    for restarted in [false, true] {
        let world = world(&[each_step_workflow(&names(&["a", "b"]))]);
        let mut client = Client::open_client(&world);
        let told = client.call_tool("each", json!({}));
        let ids = tasks(&told);
        let id = &ids[0];
        let first = next_step(&mut client, id)["step"].clone();
        let kept = call_checkpoint(&mut client, "checkpoint_workflow", id, None);
        assert_eq!(
            kept,
            json!({"status": "stored", "workflow_id": id, "checkpoint": "checkpoint-1", "state_version": 0})
        );
        let ran = json!({"stdout": "wrong", "stderr": "", "exit_code": 0});
        assert_eq!(submit_step(&mut client, id, &first, &ran)["status"], "accepted");
        let question = next_step(&mut client, id)["step"].clone();
        assert_eq!(question["type"], "prompt", "{question}");
        assert_eq!(
            call_checkpoint(&mut client, "checkpoint_workflow", id, Some("asked"))["status"],
            "stored"
        );
        if restarted {
            client.kill_server();
            client = Client::open_client(&world);
        }
        let state = client.call_tool("get_workflow_state", json!({"workflow_id": id}));
        assert_eq!(state["checkpoints"], json!(["asked", "checkpoint-1"]), "{state}");
        assert_eq!(state["state"]["ran"]["stdout"], "wrong", "{state}");
        // back to before the first step: its values are gone, and it is asked anew
        let back = call_checkpoint(&mut client, "restore_workflow", id, Some("checkpoint-1"));
        assert_eq!((&back["status"], back["state"].get("ran")), (&json!("restored"), None), "{back}");
        let again = next_step(&mut client, id)["step"].clone();
        assert_eq!(
            (&again["type"], &again["parameters"], again["step_id"] == first["step_id"]),
            (&json!("shell"), &first["parameters"], false),
            "{again}"
        );
        assert_eq!(again["step_id"], back["current_step"]);
        // what was open then is wanted no longer
        assert_eq!(
            submit_step(&mut client, id, &question, &json!({"input": "late"}))["code"],
            "unknown_step"
        );
        // and forward again to the other one: with the values of then
        let there = call_checkpoint(&mut client, "restore_workflow", id, Some("asked"));
        assert_eq!(there["state"]["ran"]["stdout"], "wrong", "{there}");
        assert_eq!(next_step(&mut client, id)["step"]["type"], "prompt");
        call_checkpoint(&mut client, "restore_workflow", id, Some("checkpoint-1"));
        assert_eq!(work_through(&mut client, id), "a:ok-a:fine");
        assert_eq!(work_through(&mut client, &ids[1]), "b:ok-b:fine", "the other task knows nothing of it");
        let told = wait_ended(&mut client, &told["workflowId"]);
        assert_eq!(told["output"], json!(["a:ok-a:fine", "b:ok-b:fine"]), "{told}");
        client.close_client();
        let replayed = world.run_program(&["runs", "replay", text(&told["workflowId"]).as_str()]).code(0);
        drop(replayed);
    }
}

#[test]
fn checkpoints_that_are_none_are_refused() {
    let world = world(&[each_step_workflow(&names(&["a"]))]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("each", json!({}));
    let id = tasks(&told).remove(0);
    assert_eq!(
        call_checkpoint(&mut client, "restore_workflow", &id, Some("none"))["code"],
        "unknown_checkpoint"
    );
    assert_eq!(
        call_checkpoint(&mut client, "checkpoint_workflow", "task-1", None)["code"],
        "unknown_workflow"
    );
    assert_eq!(call_checkpoint(&mut client, "checkpoint_workflow", &id, Some("x"))["status"], "stored");
    assert_eq!(
        call_checkpoint(&mut client, "checkpoint_workflow", &id, Some("x"))["code"],
        "checkpoint_exists"
    );
    for number in 1..20 {
        let kept = call_checkpoint(&mut client, "checkpoint_workflow", &id, None);
        assert_eq!(kept["checkpoint"], json!(format!("checkpoint-{number}")), "{kept}");
    }
    assert_eq!(
        call_checkpoint(&mut client, "checkpoint_workflow", &id, None)["code"],
        "too_many_checkpoints"
    );
    for wrong in ["", "   ", &"x".repeat(65)] {
        let arguments = json!({"workflow_id": id, "checkpoint": wrong});
        assert_eq!(client.call_refusal("checkpoint_workflow", arguments)["code"], -32602, "{wrong}");
    }
    work_through(&mut client, &id);
    for tool in ["checkpoint_workflow", "restore_workflow"] {
        assert_eq!(call_checkpoint(&mut client, tool, &id, Some("x"))["code"], "workflow_complete");
    }
    client.close_client();
}
