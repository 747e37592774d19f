//! The store is the truth: servers die and others go on, two at once never both win.

use serde_json::{Value, json};

use super::super::cli::world::{World, wait_for};
use super::client::Client;
use super::flows::{quick_workflow, slow_workflow, three_requests_workflow, ticket_workflow, world};
use super::pausing::token;

#[test]
fn killed_after_every_message_a_run_comes_to_the_same_end() {
    let undisturbed = play_restarts(&world(&[three_requests_workflow()]), false);
    let disturbed = play_restarts(&world(&[three_requests_workflow()]), true);
    assert_eq!(disturbed, undisturbed);
    assert_eq!(undisturbed["output"], json!({"a": 1, "b": 2, "c": 3}));
}

fn play_restarts(world: &World, killed: bool) -> Value {
    let mut client = Client::open_client(world);
    let mut told = client.call_tool("three", json!({}));
    for (name, value) in [("a", 1), ("b", 2), ("c", 3)] {
        if killed {
            client.kill_server();
            client = Client::open_client(world);
        }
        told = client
            .call_tool("resume_workflow", json!({"resumeToken": token(&told), "results": {name: value}}));
    }
    if killed {
        client.kill_server();
        client = Client::open_client(world);
        let again = client.call_tool("get_workflow_status", json!({"workflowId": told["workflowId"]}));
        assert_eq!(again, told);
    }
    client.close_client();
    told["workflowId"] = Value::Null;
    told
}

/// As often as the word of the environment says, else 12 times.
fn race_count() -> usize {
    std::env::var("MCP_RACES").ok().and_then(|text| text.parse().ok()).unwrap_or(12)
}

#[test]
fn of_two_answers_at_once_one_wins_and_the_other_is_told_so() {
    let world = world(&[ticket_workflow()]);
    let (mut one, mut other) = (Client::open_client(&world), Client::open_client(&world));
    let results = |key: &str| json!({"ticketKey": key, "ticketUrl": "u"});
    for race in 0..race_count() {
        let same = race % 3 == 0;
        let token = token(&one.call_tool("ticket", json!({"summary": "x"})));
        let answer = |key: &str| json!({"resumeToken": token, "results": results(key)});
        // in every second race over one connection
        let (first, second) = if race % 2 == 0 {
            let ids = (
                one.begin_call("resume_workflow", answer("A")),
                other.begin_call("resume_workflow", answer(if same { "A" } else { "B" })),
            );
            (one.call_result(ids.0), other.call_result(ids.1))
        } else {
            let ids = (
                one.begin_call("resume_workflow", answer("A")),
                one.begin_call("resume_workflow", answer(if same { "A" } else { "B" })),
            );
            (one.call_result(ids.0), one.call_result(ids.1))
        };
        let done = |told: &Value| told["status"] == "completed" || told["status"] == "running";
        if same {
            assert!(done(&first) && done(&second), "{first}\n{second}");
            let again = [&first, &second].iter().filter(|told| told["duplicate"] == true).count();
            assert_eq!(again, 1, "{first}\n{second}");
        } else {
            let (won, lost) = if done(&first) { (first, second) } else { (second, first) };
            assert_eq!(
                (&won["status"], &lost["error"]["type"]),
                (&json!("completed"), &json!("token_conflict")),
                "{won}\n{lost}"
            );
        }
    }
    one.close_client();
    other.close_client();
}

#[test]
fn a_client_that_goes_away_leaves_its_run_to_be_taken_up_again() {
    for end in [Client::close_client, Client::terminate_server] {
        leave_client(end);
    }
}

fn leave_client(end: fn(Client)) {
    let world = world(&[slow_workflow(), quick_workflow()]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("start_workflow", json!({"name": "slow", "wait": false}));
    assert_eq!(told["status"], "running", "{told}");
    let run = told["workflowId"].as_str().unwrap().to_owned();
    wait_for("the run naps", || {
        let told = client.call_tool("get_workflow_status", json!({"workflowId": run}));
        (told["currentStep"] == "nap").then_some(())
    });
    end(client);
    let listed = world.run_program(&["runs", "list", "--json"]).code(0).json();
    assert_eq!(listed[0]["status"], "interrupted", "{listed}");
    let mut client = Client::open_client(&world);
    let told = client.call_tool("get_workflow_status", json!({"workflowId": run}));
    assert!(told["message"].as_str().unwrap().contains("continue_workflow"), "{told}");
    assert_eq!(told["completedSteps"], json!(["start"]));
    let going = client.begin_call("continue_workflow", json!({"workflowId": run}));
    wait_for("it naps again", || {
        let told = client.call_tool("get_workflow_status", json!({"workflowId": run}));
        (told["status"] == "running").then_some(())
    });
    let told = client.call_tool("cancel_workflow", json!({"workflowId": run}));
    assert_eq!(told["status"], "cancelled", "{told}");
    assert_eq!(client.call_result(going)["status"], "cancelled");
    client.close_client();
}

#[test]
fn requests_before_the_end_of_the_input_are_answered() {
    let world = world(&[quick_workflow()]);
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    let ran = world.run_with(&["mcp"], &format!("{hello}\n{list}\n")).code(0);
    let ids: Vec<Value> = ran.lines().iter().map(|line| line["id"].clone()).collect();
    assert_eq!((ids, ran.stderr.as_str()), (vec![json!(1), json!(2)], ""));
    // nothing at all was asked
    assert_eq!(world.run_with(&["mcp"], "").code(0).stdout, "");
}
