//! A run that came from a file gets neither the keys nor the approvals of this place.

use std::net::TcpListener;

use serde_json::{Value, json};

use super::super::world::{World, workflow};
use super::list_runs;
use crate::support::model_server::{Behaviour, ModelServer};
use crate::support::skip::skip_sandbox_row;

const KEY: &str = "sk-of-this-place-4711";

/// Waits, runs a command that tries the port of this machine that it declares, asks a model.
fn flow_with(port: u16) -> Value {
    let line = format!(
        "echo done >> made.txt; bash -c ': >/dev/tcp/127.0.0.1/{port}' && echo reached >> made.txt; true"
    );
    let mut flow = workflow(&json!([
        {"name": "start", "type": "pause", "kind": "text", "message": {"text": "What?"},
            "transition": [{"target": "write"}]},
        {"name": "write", "type": "shell", "command": "sh", "args": ["-c", line],
            "transition": [{"target": "say"}]},
        {"name": "say", "agent": "coder", "input": "common_data.task", "action": {"function": "sendUserMessage"},
            "transition": [{"target": "stop"}]},
        {"name": "stop", "input": {"expr": "'over'"}}
    ]));
    flow["sandbox"] = json!({"ports": [port]});
    flow
}

fn tool_workflow() -> Value {
    flow_with(1024)
}

fn project_world(url: &str, key: &str) -> World {
    let mut world = World::new();
    world.set_variable("SYNTHDEV_BASE_URL", url);
    world.set_variable("SYNTHDEV_API_KEY", key);
    world.set_variable("SYNTHDEV_BASE_MODEL", "mock-1");
    world
}

fn asked_text(server: &ModelServer) -> String {
    server.requests().iter().map(|request| format!("{:?}", request.headers)).collect()
}

async fn server() -> ModelServer {
    ModelServer::start_server(vec![Behaviour::text("Hello."), Behaviour::text("Hello.")]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_imported_run_asks_here_and_is_allowed_here() {
    let (theirs, ours) = (server().await, server().await);
    let there = project_world(&theirs.base_url, "sk-of-that-place");
    let service = TcpListener::bind("127.0.0.1:0").unwrap();
    there.write_json("flow.json", &flow_with(service.local_addr().unwrap().port()));
    let report =
        there.run_program(&["run", "--workflow-file", "flow.json", "x", "--yes", "--json"]).code(3).json();
    let run = report["run_id"].as_str().unwrap();
    let bundle = there.run_program(&["runs", "export", run]).code(0).stdout;
    for fork in [false, true] {
        let here = project_world(&ours.base_url, KEY);
        here.write_file("in.run", &bundle);
        here.run_program(&["runs", "import", "in.run"]).code(0);
        let run = if fork {
            let fork = here.run_program(&["runs", "fork", run, "--at", "1", "--json"]).code(0).json();
            fork["run_id"].as_str().unwrap().to_owned()
        } else {
            run.to_owned()
        };
        if fork {
            here.run_program(&["resume", &run]).code(3);
        }
        here.run_program(&["resume", &run, "--results", "go"]).code(5);
        assert!(!here.project().join("made.txt").exists(), "--yes over there is none here");
        let done = here.run_program(&["resume", &run, "--yes", "--json"]).code(0).json();
        assert_eq!(
            (done["status"].as_str(), here.read_file("made.txt").as_str()),
            (Some("completed"), "done\n")
        );
        assert_eq!(theirs.requests().len(), 0, "nobody there was asked");
    }
    if there.run_program(&["sandbox", "--json"]).code(0).json()["layer"] == "bubblewrap" {
        there.run_program(&["resume", run, "--results", "go", "--yes"]).code(0);
        assert_eq!(there.read_file("made.txt"), "done\nreached\n", "the port is open where it was declared");
    } else {
        skip_sandbox_row("bubblewrap, which opens declared ports, does not work here");
    }
    assert_eq!((ours.requests().len(), asked_text(&ours).contains(KEY)), (2, true));
}

/// Also without any file: the key of the new server is not for the old one.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_goes_only_where_it_belongs() {
    let (before, now) = (server().await, server().await);
    let mut world = project_world(&before.base_url, "sk-of-the-old-server");
    world.write_json("flow.json", &tool_workflow());
    world.run_program(&["run", "--workflow-file", "flow.json", "x", "--yes", "--json"]).code(3);
    let run = list_runs(&world, &[])[0]["id"].as_str().unwrap().to_owned();
    world.set_variable("SYNTHDEV_BASE_URL", &now.base_url);
    world.set_variable("SYNTHDEV_API_KEY", KEY);
    let told = world.run_program(&["resume", &run, "--results", "go"]).code(1);
    assert!(
        told.stderr.contains("belongs to another server now") && told.stderr.contains("--upgrade"),
        "{}",
        told.stderr
    );
    assert_eq!((before.requests().len(), now.requests().len()), (0, 0));
    world.run_program(&["resume", &run, "--upgrade", "--workflow-file", "flow.json"]).code(0);
    assert_eq!((before.requests().len(), now.requests().len()), (0, 1));
}

#[test]
fn what_begins_like_json_is_no_text() {
    let world = World::new();
    let run = super::run_question(&world, "Shall I?");
    for broken in ["{\"answer\": \"x\"", "[1", "\"yes"] {
        let told = world.run_program(&["resume", &run, "--results", broken]).code(2);
        assert!(told.stderr.contains("--results is not JSON"), "{}", told.stderr);
    }
    let set =
        world.run_program(&["runs", "fork", &run, "--at", "1", "--set", "common_data.x={\"a\""]).code(2);
    assert!(set.stderr.contains("is not JSON"), "{}", set.stderr);
    assert_eq!(list_runs(&world, &[]).len(), 1);
}
