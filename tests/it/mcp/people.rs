//! Decisions of the user, and which of them a client may make if the server was started so.

use serde_json::{Value, json};

use super::super::cli::world::{World, wait_for};
use super::client::Client;
use super::flows::{asking_workflow, flow, world};
use super::pausing::token;

#[test]
fn questions_of_a_workflow_are_handed_on_with_what_they_ask() {
    let rows = [
        ("words", json!({"kind": "text"}), json!({"answer": "well"}), json!("well"), "input"),
        ("number", json!({"kind": "number"}), json!({"answer": 7}), json!(7), "input"),
        (
            "choice",
            json!({"kind": "choice", "choices": ["a", "b"]}),
            json!({"answer": "b"}),
            json!("b"),
            "decision",
        ),
        ("outputs", json!({"required_outputs": ["p"]}), json!({"p": 1}), json!({"p": 1}), "input"),
    ];
    let flows: Vec<Value> = rows.iter().map(|(name, pause, ..)| asking_workflow(name, pause)).collect();
    let world = world(&flows);
    let mut client = Client::open_client(&world);
    for (name, pause, results, stored, kind) in rows {
        let told = client.call_tool(name, json!({}));
        assert_eq!(
            (&told["status"], &told["action"]["type"]),
            (&json!("awaiting_llm_action"), &json!(kind)),
            "{told}"
        );
        assert!(told["action"]["prompt"].as_str().unwrap().starts_with("What now?"), "{told}");
        assert_eq!(told["action"]["choices"], pause["choices"], "{told}");
        let outputs = told["action"]["requiredOutputs"].clone();
        assert_eq!(outputs.as_array().unwrap().len(), 1, "{told}");
        assert!(results.get(outputs[0].as_str().unwrap()).is_some(), "{told}");
        let told =
            client.call_tool("resume_workflow", json!({"resumeToken": token(&told), "results": results}));
        assert_eq!(told["output"], json!({"answer": stored}), "{name}: {told}");
    }
    client.close_client();
}

fn shell() -> Value {
    let states = json!([{"name": "start", "transition": [{"target": "touch"}]},
        {"name": "touch", "type": "shell", "command": "touch made-by-a-run", "transition": [{"target": "stop"}]}]);
    flow("shell", &states)
}

#[test]
fn what_a_person_must_decide_is_not_for_clients_unless_they_may() {
    let rows = [("approve", asking_workflow("approve", &json!({"kind": "approval"}))), ("shell", shell())];
    for (name, flow) in rows {
        let world = world(&[flow]);
        let mut client = Client::open_client(&world);
        let told = client.call_tool(name, json!({}));
        assert_eq!(told["status"], "paused", "{told}");
        assert!(
            told["resumeToken"].is_null() && told["message"].as_str().unwrap().contains("synthdev resume"),
            "{told}"
        );
        assert_eq!(told["waitsForPerson"].as_array().unwrap().len(), 1, "{told}");
        // one who may
        let mut trusted = Client::open_with(&world, &["--remote-approvals"]);
        let told = trusted.call_tool("get_workflow_status", json!({"workflowId": told["workflowId"]}));
        assert_eq!(
            (&told["status"], &told["action"]["type"]),
            (&json!("awaiting_llm_action"), &json!("approval")),
            "{told}"
        );
        let yes = if name == "shell" { json!({"decision": "allow"}) } else { json!({"answer": true}) };
        // its token is of no use to one who may not
        let refused =
            client.call_tool("resume_workflow", json!({"resumeToken": token(&told), "results": yes}));
        assert_eq!(refused["error"]["type"], "not_permitted", "{refused}");
        let hint = refused["error"]["hint"].as_str().unwrap();
        assert!(hint.starts_with("in a terminal: `synthdev resume`"), "{refused}");
        if name == "shell" {
            for wide in [json!({"decision": "run"}), json!({"decision": "always"})] {
                let wide = json!({"resumeToken": token(&told), "results": wide});
                assert_eq!(trusted.call_tool("resume_workflow", wide)["error"]["type"], "not_permitted");
            }
            assert!(!has_file(&world));
        }
        let done = trusted.call_tool("resume_workflow", json!({"resumeToken": token(&told), "results": yes}));
        assert_eq!(done["status"], "completed", "{done}");
        assert_eq!(has_file(&world), name == "shell");
        client.close_client();
        trusted.close_client();
    }
}

#[test]
fn a_run_that_was_cut_off_is_no_way_around_a_person() {
    let ask = json!([{"name": "start", "type": "delegate", "transition": [{"target": "nap"}],
                      "action": {"prompt": "Do it", "required_outputs": ["it"]}},
                     {"name": "nap", "type": "wait", "duration": 60, "transition": [{"target": "stop"}]}]);
    let touch = json!([{"name": "start", "type": "shell", "command": "touch made-by-a-run",
                        "transition": [{"target": "stop"}]}]);
    let states = json!([
        {"name": "start", "transition": [{"target": "both"}]},
        {"name": "both", "type": "parallel", "transition": [{"target": "stop"}],
         "branches": [{"name": "left", "states": ask}, {"name": "right", "states": touch}]},
    ]);
    let world = world(&[flow("both", &states)]);
    let mut trusted = Client::open_with(&world, &["--remote-approvals"]);
    let told = trusted.call_tool("both", json!({}));
    let pending = told["pending"].as_array().unwrap_or_else(|| panic!("{told}"));
    let of = |kind: &str| {
        token(
            pending.iter().find(|one| (one["action"]["type"] == "approval") == (kind == "approval")).unwrap(),
        )
    };
    let (approval, work) = (of("approval"), of("work"));
    trusted.begin_call("resume_workflow", json!({"resumeToken": work, "results": {"it": 1}}));
    wait_for("the other branch goes on", || {
        let told = trusted.call_tool("get_workflow_status", json!({"workflowId": told["workflowId"]}));
        (told["status"] == "running").then_some(())
    });
    trusted.kill_server();
    let mut client = Client::open_client(&world);
    let stands = client.call_tool("get_workflow_status", json!({"workflowId": told["workflowId"]}));
    assert_eq!(stands["status"], "interrupted", "{stands}");
    let yes = json!({"resumeToken": approval, "results": {"decision": "allow"}});
    let refused = client.call_tool("resume_workflow", yes);
    assert_eq!(refused["error"]["type"], "not_permitted", "{refused}");
    assert!(!has_file(&world));
    client.close_client();
}

fn has_file(world: &World) -> bool {
    world.project().join("made-by-a-run").exists()
}

#[test]
fn tools_are_allowed_where_the_server_was_started_with_yes() {
    let world = world(&[shell()]);
    let mut client = Client::open_with(&world, &["--yes"]);
    assert_eq!(client.call_tool("shell", json!({}))["status"], "completed");
    assert!(has_file(&world));
    client.close_client();
}

/// A server without `--yes` begins the run, one with it goes on with it.
#[test]
fn yes_counts_for_runs_that_began_without_it() {
    let later = json!([{"name": "start", "transition": [{"target": "ask"}]},
        {"name": "ask", "type": "pause", "kind": "text", "message": "What now?", "transition": [{"target": "touch"}]},
        {"name": "touch", "type": "shell", "command": "touch made-by-a-run", "transition": [{"target": "stop"}]}]);
    for (name, flow) in [("shell", shell()), ("later", flow("later", &later))] {
        let world = world(&[flow]);
        let mut client = Client::open_client(&world);
        let told = client.call_tool(name, json!({}));
        let id = json!({"workflowId": told["workflowId"]});
        client.close_client();
        let mut client = Client::open_with(&world, &["--yes"]);
        let told = client.call_tool("get_workflow_status", id.clone());
        let done = match told["resumeToken"].as_str() {
            Some(token) => client
                .call_tool("resume_workflow", json!({"resumeToken": token, "results": {"answer": "go"}})),
            None => {
                assert!(told["message"].as_str().unwrap().contains("continue_workflow resumes"), "{told}");
                client.call_tool("continue_workflow", id)
            }
        };
        assert_eq!(done["status"], "completed", "{name}: {done}");
        assert!(has_file(&world), "{name}");
        client.close_client();
    }
}

#[test]
fn no_command_is_executed_for_clients_where_no_sandbox_works() {
    let world = world(&[shell()]);
    world.write_user_file("settings.json", r#"{"sandbox": {"layer": "none"}}"#);
    for more in [&["--yes"][..], &["--yes", "--remote-approvals"]] {
        let mut client = Client::open_with(&world, more);
        let told = client.call_tool("shell", json!({}));
        assert_eq!(told["status"], "failed", "{told}");
        for part in ["tool.denied", "no sandbox works on this machine", "install bubblewrap", "--no-sandbox"]
        {
            assert!(told.to_string().contains(part), "{part}: {told}");
        }
        client.close_client();
    }
    assert!(!world.project().join("made-by-a-run").exists(), "it was executed");
}
