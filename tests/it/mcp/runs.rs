//! Looking after runs: status, cancelling, progress, lists, resources.

use serde_json::{Value, json};

use super::super::cli::world::{World, wait_for};
use super::client::Client;
use super::flows::{quick_workflow, slow_workflow, three_requests_workflow, ticket_workflow, world};
use super::pausing::token;

#[test]
fn a_run_that_works_and_one_that_waits_are_cancelled() {
    let world = world(&[slow_workflow(), ticket_workflow()]);
    let mut client = Client::open_client(&world);
    let works = client.call_tool("start_workflow", json!({"name": "slow", "wait": false}));
    let waits = client.call_tool("ticket", json!({"summary": "x"}));
    for told in [&works, &waits] {
        let id = json!({"workflowId": told["workflowId"]});
        let ended = client.call_tool("cancel_workflow", id.clone());
        assert_eq!((&ended["status"], &ended["success"]), (&json!("cancelled"), &json!(false)), "{ended}");
        assert_eq!(client.call_tool("get_workflow_status", id.clone())["status"], "cancelled");
        let again = client.call_tool("cancel_workflow", id);
        assert_eq!(again["error"]["type"], "not_cancelled", "{again}");
    }
    let results = json!({"ticketKey": "k", "ticketUrl": "u"});
    let error =
        client.call_refusal("resume_workflow", json!({"resumeToken": token(&waits), "results": results}));
    assert_eq!(error["data"]["type"], "token_unknown");
    client.close_client();
}

#[test]
fn a_request_that_is_cancelled_cancels_its_run() {
    let world = world(&[slow_workflow()]);
    let mut client = Client::open_client(&world);
    let id = client.begin_call("slow", json!({}));
    let run = wait_for("the run is there", || {
        let told = client.call_tool("list_runs", json!({"status": "running"}));
        told["runs"][0]["workflowId"].as_str().map(str::to_owned)
    });
    let params = json!({"requestId": id, "reason": "enough"});
    client.send_line(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}).to_string(),
    );
    wait_for("it is recorded", || {
        let told = client.call_tool("get_workflow_status", json!({"workflowId": run}));
        (told["status"] == "cancelled").then_some(())
    });
    assert!(
        !client.pending_messages.iter().any(|message| message["id"] == id),
        "a cancelled request is not answered"
    );
    client.close_client();
}

#[test]
fn progress_is_told_to_who_asked_for_it_and_before_the_answer() {
    let world = world(&[three_requests_workflow()]);
    let mut client = Client::open_client(&world);
    let params = json!({"name": "three", "arguments": {}, "_meta": {"progressToken": "p1"}});
    let id = client.begin_request("tools/call", params);
    let told = client.call_result(id);
    let steps: Vec<Value> = client.pending_messages.drain(..).collect();
    let told_of: Vec<&str> = steps.iter().map(|one| one["params"]["message"].as_str().unwrap()).collect();
    assert_eq!(told_of, ["start", "a"], "{steps:?}");
    for (at, step) in steps.iter().enumerate() {
        assert_eq!(step["method"], "notifications/progress");
        let params = &step["params"];
        assert_eq!(
            (&params["progressToken"], params["progress"].as_f64()),
            (&json!("p1"), Some(at as f64 + 1.0))
        );
    }
    client.call_tool("resume_workflow", json!({"resumeToken": token(&told), "results": {"a": 1}}));
    assert!(client.pending_messages.is_empty(), "nobody asked: {:?}", client.pending_messages);
    client.close_client();
}

#[test]
fn runs_and_definitions_can_be_read() {
    let world = world(&[ticket_workflow(), quick_workflow()]);
    let mut client = Client::open_client(&world);
    let waits = client.call_tool("ticket", json!({"summary": "x"}));
    client.call_tool("quick", json!({"task": "find me"}));
    let runs = client.call_tool("list_runs", json!({"words": "find"}))["runs"].clone();
    assert_eq!((runs.as_array().unwrap().len(), &runs[0]["status"]), (1, &json!("completed")), "{runs}");
    let listed = client.call_tool("list_runs", json!({"workflow": "ticket", "limit": 1}))["runs"][0].clone();
    assert_eq!((&listed["status"], &listed["waitsFor"]), (&json!("paused"), &json!("client")), "{listed}");
    let why = listed["error"]["detail"].as_str().unwrap();
    assert!(why.contains(" waits for the client's answer: "), "{listed}");

    let listed = client.send_request("resources/list", json!({}))["result"]["resources"].clone();
    let uris: Vec<&str> = listed.as_array().unwrap().iter().map(|one| one["uri"].as_str().unwrap()).collect();
    assert_eq!(uris.len(), 4, "{listed}");
    assert_eq!(uris[..2], ["synthdev://workflows/quick", "synthdev://workflows/ticket"]);
    for uri in &uris {
        let read =
            client.send_request("resources/read", json!({"uri": uri}))["result"]["contents"][0].clone();
        let text: Value = serde_json::from_str(read["text"].as_str().unwrap()).unwrap();
        assert!(text.is_object() && read["uri"] == *uri && read["mimeType"] == "application/json", "{read}");
        assert!(text["resumeToken"].is_null(), "whoever looks gets no token: {text}");
    }
    let run = format!("synthdev://runs/{}", waits["workflowId"].as_str().unwrap());
    let read =
        client.send_request("resources/read", json!({"uri": run}))["result"]["contents"][0]["text"].clone();
    let read: Value = serde_json::from_str(read.as_str().unwrap()).unwrap();
    assert_eq!((&read["status"], &read["input"]), (&json!("awaiting_llm_action"), &json!("x\n3")), "{read}");
    assert!(read["message"].as_str().unwrap().starts_with("The client is asked."), "{read}");
    assert!(!read.to_string().contains("a person"), "{read}");
    assert!(read["pending"][0]["action"]["prompt"].is_string() && read["waitsForPerson"].is_null(), "{read}");
    let templates =
        client.send_request("resources/templates/list", json!({}))["result"]["resourceTemplates"].clone();
    assert_eq!(templates.as_array().unwrap().len(), 2);
    for uri in ["synthdev://runs/nope", "synthdev://workflows/../../etc/passwd", "file:///etc/passwd", ""] {
        let error = client.send_request("resources/read", json!({"uri": uri}))["error"].clone();
        assert_eq!(error["code"], -32002, "{uri}: {error}");
    }
    assert_eq!(client.send_request("resources/list", json!({"cursor": "x"}))["error"]["code"], -32602);
    client.close_client();
}

#[test]
fn runs_of_other_projects_are_none_of_this_servers() {
    let world = world(&[ticket_workflow()]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("ticket", json!({"summary": "x"}));
    std::fs::create_dir_all(world.root().join("other")).unwrap();
    let other = world.root().join("other");
    let mut stranger = Client::open_with(&world, &["-C", other.to_str().unwrap()]);
    let results = json!({"ticketKey": "k", "ticketUrl": "u"});
    let error =
        stranger.call_refusal("resume_workflow", json!({"resumeToken": token(&told), "results": results}));
    assert_eq!(error["data"]["type"], "token_unknown");
    let error = stranger.call_refusal("get_workflow_status", json!({"workflowId": told["workflowId"]}));
    assert_eq!(error["data"]["type"], "unknown_workflow");
    assert_eq!(stranger.call_tool("list_runs", json!({}))["runs"], json!([]));
    stranger.close_client();
    client.close_client();
}

#[test]
fn a_project_that_nobody_trusted_offers_nothing_of_its_own_and_says_so() {
    let world = World::new();
    world.write_file(".synthdev/workflows/quick.json", &quick_workflow().to_string());
    let mut client = Client::start_server(&world, &[]);
    let info = client.handshake();
    assert!(info["instructions"].as_str().unwrap().contains("trust"), "{info}");
    let told = client.call_tool("list_workflows", json!({}));
    assert!(told["workflows"].as_array().unwrap().is_empty() && told["notes"][0].is_string(), "{told}");
    client.close_client();
    let mut client = Client::open_with(&world, &["--trust"]);
    assert_eq!(client.call_tool("quick", json!({}))["status"], "completed");
    client.close_client();
}
