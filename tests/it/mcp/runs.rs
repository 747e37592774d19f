//! Looking after runs: status, cancelling, progress, lists, resources.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use super::super::cli::world::{World, wait_for};
use super::client::Client;
use super::flows::{quick_workflow, slow_workflow, three_requests_workflow, ticket_workflow, world};
use super::pausing::token;
use crate::support::model_server::{Behaviour, ModelServer};

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
    let project = std::fs::canonicalize(world.project()).unwrap();
    let belongs = format!("run {} belongs to {}; ", told["workflowId"].as_str().unwrap(), project.display());
    assert_eq!(error["data"], json!({"type": "token_unknown", "workflowId": told["workflowId"]}));
    assert_eq!(error["message"], format!("{belongs}a server of that project takes its resume token"));
    let error = stranger.call_refusal("get_workflow_status", json!({"workflowId": told["workflowId"]}));
    assert_eq!(error["data"]["type"], "unknown_workflow");
    assert!(error["message"].as_str().unwrap().starts_with(&belongs), "{error}");
    let error = stranger.call_refusal("get_workflow_status", json!({"workflowId": "x"}));
    assert_eq!(error["message"], "Unknown workflowId: x");
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

/// A session in lines with one message; it is killed once the model has answered, or its user leaves it.
fn talk(world: &World, is_cut_off: bool) {
    let mut command = world.command(&["--linear"]);
    let mut session = command.stdin(Stdio::piped()).spawn().unwrap();
    writeln!(session.stdin.as_mut().unwrap(), "who are you?").unwrap();
    let mut lines = BufReader::new(session.stdout.take().unwrap()).lines().map_while(Result::ok);
    if is_cut_off {
        assert!(lines.any(|line| line.contains("I am one.")), "the model answers");
        session.kill().unwrap();
    } else {
        writeln!(session.stdin.as_mut().unwrap(), "/exit").unwrap();
        lines.for_each(drop);
    }
    session.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_is_continued_by_its_user_alone() {
    for (is_cut_off, status) in [(true, "interrupted"), (false, "paused")] {
        let server =
            ModelServer::start_server(vec![Behaviour::text("I am one.\n"), Behaviour::text("Two.")]).await;
        let mut world = world(&[quick_workflow()]);
        world.set_variable("SYNTHDEV_BASE_URL", &server.base_url);
        world.set_variable("SYNTHDEV_BASE_MODEL", "mock-1");
        world.set_variable("SYNTHDEV_API_KEY", "sk-test");
        talk(&world, is_cut_off);
        let mut client = Client::open_client(&world);
        let run = client.call_tool("list_runs", json!({"workflow": "chat"}))["runs"][0].clone();
        assert_eq!(run["status"], status, "{run}");
        let id = json!({"workflowId": run["workflowId"]});
        let reopen = format!("in a terminal: synthdev --resume {}", run["workflowId"].as_str().unwrap());
        let told = client.call_tool("get_workflow_status", id.clone());
        assert!(told["message"].as_str().unwrap().ends_with(&reopen), "{told}");
        assert!(told["resumeToken"].is_null(), "{told}");
        let refused = client.call_tool("continue_workflow", id.clone());
        assert!(refused["error"]["detail"].as_str().unwrap().contains("is a conversation"), "{refused}");
        assert_eq!(refused["error"]["hint"], json!(reopen), "{refused}");
        assert_eq!(client.call_tool("pause_workflow", id.clone())["error"]["type"], "not_paused");
        assert_eq!(client.call_tool("get_workflow_status", id)["status"], status);
        assert_eq!(server.requests().len(), 1, "the model was not asked again");
        client.close_client();
    }
}
