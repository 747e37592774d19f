//! Runs beside each other in one project: who waits for a client keeps nobody else from working.

use serde_json::{Value, json};

use super::super::cli::world::{World, wait_for};
use super::client::Client;
use super::flows::{flow, world};

/// Asks a model that the client is, before and after it has changed a file.
fn asking_workflow(name: &str) -> Value {
    let ask = |name: &str, next: &str| {
        json!({"name": name, "agent": "coder", "input": {"text": format!("What of {name}?")},
               "transition": [{"target": next}]})
    };
    let states = json!([ask("start", "write"), write(name, "later"), ask("later", "stop")]);
    let mut flow = flow(name, &states);
    flow["contexts"] = json!([{"name": "work"}]);
    flow["agents"] = json!([{"agent_role": "coder", "context": "work", "role": "assistant"}]);
    flow["output"] = json!({"name": "result", "type": "string", "required": false});
    flow
}

fn write(name: &str, next: &str) -> Value {
    let script = format!("echo {name} >> log.txt");
    json!({"name": "write", "type": "shell", "command": "sh", "args": ["-c", script],
           "transition": [{"target": next}]})
}

fn writing(name: &str) -> Value {
    let mut first = write(name, "stop");
    first["name"] = json!("start");
    flow(name, &json!([first]))
}

fn log(world: &World) -> String {
    std::fs::read_to_string(world.project().join("log.txt")).unwrap_or_default()
}

fn answer_interaction(client: &mut Client, told: &Value) -> Value {
    assert_eq!(told["status"], "pending_agent_llm_action", "{told}");
    let said = json!({"interactionId": told["interactionId"],
        "agentLLMResponse": {"status": "success", "data": {"text": "go on"}}});
    client.call_tool("agent_llm", said)["run"].clone()
}

fn open_client(world: &World) -> Client {
    let ours = ["--provider", "agentllm", "--smart-provider", "agentllm", "--fast-provider", "agentllm"];
    Client::open_with(world, &[&ours[..], &["--yes"]].concat())
}

/// A repository, for who wants a worktree.
fn repository() -> World {
    let world = world(&[asking_workflow("long"), writing("short")]);
    world.write_file("README.md", "# sample\n");
    world.git(&["init", "-q", "-b", "main"]);
    world.git(&["add", "."]);
    world.git(&["commit", "-q", "-m", "first"]);
    world
}

#[test]
fn a_run_that_only_waits_for_its_client_holds_nothing() {
    let world = repository();
    let (mut client, mut other) = (open_client(&world), open_client(&world));
    let waits = client.call_tool("long", json!({}));
    assert_eq!(waits["status"], "pending_agent_llm_action", "{waits}");
    // the same client, another one, the command line
    assert_eq!(client.call_tool("short", json!({}))["status"], "completed");
    assert_eq!(other.call_tool("short", json!({}))["status"], "completed");
    world.run_program(&["run", "short", "--yes"]).code(0);
    let later = answer_interaction(&mut client, &waits);
    assert_eq!(answer_interaction(&mut client, &later)["status"], "completed");
    assert_eq!(log(&world), "short\nshort\nshort\nlong\n");
    // undoing it keeps the changes of the others
    let run = later["workflowId"].as_str().unwrap();
    world.run_program(&["runs", "undo", run, "--yes"]).code(0);
    assert_eq!(log(&world), "short\nshort\nshort\n");
    client.close_client();
    other.close_client();
}

#[test]
fn beside_a_run_that_has_changed_files_a_start_waits_shares_or_is_isolated_as_it_asks() {
    let world = repository();
    let (mut client, mut other) = (open_client(&world), open_client(&world));
    let first = client.call_tool("long", json!({}));
    let waits = answer_interaction(&mut client, &first);
    let (run, id) = (waits["workflowId"].clone(), waits["workflowId"].as_str().unwrap().to_owned());
    assert_eq!(waits["status"], "pending_agent_llm_action", "{waits}");
    // refused, with what a client can do
    for refused in
        [client.call_tool("short", json!({})), other.call_tool("start_workflow", json!({"name": "short"}))]
    {
        let (detail, hint) =
            (refused["error"]["detail"].to_string(), refused["error"]["hint"].as_str().unwrap());
        assert!(detail.contains(&id), "{refused}");
        assert!(hint.contains("\"files\": \"wait\"") && !hint.contains("--isolate"), "{refused}");
    }
    world.run_program(&["run", "short", "--yes"]).code(2);
    let start = |client: &mut Client, files: &str| {
        client.call_tool("start_workflow", json!({"name": "short", "files": files}))
    };
    assert_eq!(start(&mut client, "share")["status"], "completed");
    assert_eq!(log(&world), "long\nshort\n");
    assert_eq!(start(&mut client, "isolate")["status"], "completed");
    assert_eq!(log(&world), "long\nshort\n", "its files are elsewhere");
    // a waiting start names the run that it waits for, and continues by itself
    let queued = start(&mut client, "wait");
    assert_eq!(
        (&queued["status"], &queued["waitsForFiles"]["workflowId"]),
        (&json!("running"), &run),
        "{queued}"
    );
    assert_eq!(log(&world), "long\nshort\n");
    assert_eq!(answer_interaction(&mut client, &waits)["status"], "completed");
    let status = json!({"workflowId": queued["workflowId"]});
    wait_for("it goes on", || {
        let told = client.call_tool("get_workflow_status", status.clone());
        (told["status"] == "completed" && told.get("waitsForFiles").is_none()).then_some(())
    });
    assert_eq!(log(&world), "long\nshort\nshort\n");
    assert_eq!(client.call_refusal("start_workflow", json!({"name": "short", "files": "x"}))["code"], -32602);
    client.close_client();
    other.close_client();
}

#[test]
fn who_waits_for_the_files_can_be_cancelled() {
    let world = repository();
    let mut client = open_client(&world);
    let first = client.call_tool("long", json!({}));
    let waits = answer_interaction(&mut client, &first);
    let queued = client.call_tool("start_workflow", json!({"name": "short", "files": "wait"}));
    let ended = client.call_tool("cancel_workflow", json!({"workflowId": queued["workflowId"]}));
    assert_eq!(ended["status"], "cancelled", "{ended}");
    assert_eq!(answer_interaction(&mut client, &waits)["status"], "completed");
    assert_eq!(log(&world), "long\n");
    client.close_client();
}
