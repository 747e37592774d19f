//! Workflows whose files are changed while the server is there.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::super::cli::world::World;
use super::client::Client;
use super::flows::{flow, quick_workflow, world};
use super::web::{Visitor, Web};

const CHANGED: &str = "notifications/tools/list_changed";

fn named_workflow(name: &str, said: &str) -> Value {
    let mut flow = quick_workflow();
    flow["workflow_name"] = json!(name);
    flow["states"][0]["action"]["script"] =
        json!(format!("() => {{ this.common_data.result = {{ said: {said:?} }}; }}"));
    flow
}

fn write_workflow(world: &World, flow: &Value) {
    replace_file(world, &flow.to_string());
}

/// All at once: nobody reads half of it. Where it is.
fn replace_file(world: &World, text: &str) -> PathBuf {
    let aside = world.write_file("late.tmp", text);
    let place = world.write_user_file("other.txt", "").with_file_name("workflows").join("late.json");
    std::fs::rename(aside, &place).unwrap();
    place
}

/// Waits for the news; what else comes is of no interest.
fn wait_list_changed(client: &mut Client) {
    while client.next_message()["method"] != CHANGED {}
}

fn tools(answer: &Value) -> Vec<String> {
    let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn changed_workflows_are_read_again_and_clients_are_told() {
    let world = world(&[quick_workflow()]);
    let mut client = Client::start_server(&world, &[]);
    let info = client.handshake();
    assert_eq!(info["capabilities"]["tools"]["listChanged"], true, "{info}");
    assert!(!tools(&client.send_request("tools/list", json!({}))).contains(&"late".to_owned()));
    // a new one, a changed one, a broken one, a mended one, and it is gone
    write_workflow(&world, &named_workflow("late", "first"));
    wait_list_changed(&mut client);
    assert_eq!(client.call_tool("late", json!({}))["output"], json!({"said": "first"}));
    write_workflow(&world, &named_workflow("late", "second"));
    wait_list_changed(&mut client);
    assert_eq!(client.call_tool("late", json!({}))["output"], json!({"said": "second"}));
    replace_file(&world, "{\"workflow_name\": ");
    wait_list_changed(&mut client);
    assert_eq!(client.call_refusal("late", json!({}))["message"], "Unknown tool: late");
    assert_eq!(client.call_tool("quick", json!({"task": "go"}))["status"], "completed");
    let file = replace_file(&world, &named_workflow("late", "third").to_string());
    wait_list_changed(&mut client);
    assert_eq!(client.call_tool("late", json!({}))["output"], json!({"said": "third"}));
    std::fs::remove_file(file).unwrap();
    wait_list_changed(&mut client);
    assert!(!tools(&client.send_request("tools/list", json!({}))).contains(&"late".to_owned()));
    client.close_client();
}

#[test]
fn changed_settings_count_for_runs_that_start_later_and_broken_ones_do_not() {
    let touch =
        json!([{"name": "start", "type": "shell", "command": "true", "transition": [{"target": "stop"}]}]);
    let world = world(&[flow("touch", &touch)]);
    let mut client = Client::open_client(&world);
    let settings = |text: &str| {
        let aside = world.write_file("settings.tmp", text);
        let place = world.write_user_file("other.txt", "").with_file_name("settings.json");
        std::fs::rename(aside, place).unwrap();
    };
    let first = client.call_tool("touch", json!({}));
    assert_eq!(first["status"], "paused", "a person must allow it: {first}");
    settings(r#"{"approvals": {"tools": {"shell": "allow"}}}"#);
    wait_list_changed(&mut client);
    assert_eq!(client.call_tool("touch", json!({}))["status"], "completed");
    let again = client.call_tool("get_workflow_status", json!({"workflowId": first["workflowId"]}));
    assert_eq!(again["status"], "paused", "it keeps what it began with: {again}");
    settings(r#"{"approvals": {"tools": {"shell": "perhaps"}}}"#);
    wait_list_changed(&mut client);
    assert_eq!(client.call_tool("touch", json!({}))["status"], "completed", "as before the mistake");
    let listed = client.call_tool("list_workflows", json!({}));
    assert!(listed["notes"].to_string().contains("previous settings and workflows stay in use"), "{listed}");
    settings("{}");
    wait_list_changed(&mut client);
    assert_eq!(client.call_tool("touch", json!({}))["status"], "paused");
    assert!(client.call_tool("list_workflows", json!({})).get("notes").is_none());
    client.close_client();
}

#[test]
fn a_project_s_own_changes_do_not_count_before_somebody_agrees() {
    let world = world(&[quick_workflow()]);
    world.write_file(".synthdev/workflows/own.json", &named_workflow("own", "agreed").to_string());
    let mut client = Client::open_with(&world, &["--trust"]);
    assert_eq!(client.call_tool("own", json!({}))["output"], json!({"said": "agreed"}));
    let aside = world.write_file("own.tmp", &named_workflow("own", "sneaked in").to_string());
    std::fs::rename(aside, world.project().join(".synthdev/workflows/own.json")).unwrap();
    wait_list_changed(&mut client);
    assert_eq!(client.call_refusal("own", json!({}))["message"], "Unknown tool: own");
    let listed = client.call_tool("list_workflows", json!({}));
    assert!(listed["notes"].to_string().contains("own.json"), "{listed}");
    client.close_client();
}

#[test]
fn trust_counts_at_once_and_a_new_file_leaves_what_was_trusted_in_place() {
    let world = world(&[quick_workflow()]);
    let place = |name: &str, said: &str| {
        let aside = world.write_file("own.tmp", &named_workflow(name, said).to_string());
        std::fs::create_dir_all(world.project().join(".synthdev/workflows")).unwrap();
        std::fs::rename(aside, world.project().join(format!(".synthdev/workflows/{name}.json"))).unwrap();
    };
    place("own", "agreed");
    let mut client = Client::open_client(&world);
    assert_eq!(client.call_refusal("own", json!({}))["message"], "Unknown tool: own");
    // another process decides
    let trust = || world.run_program(&["--trust", "workflows"]).code(0);
    trust();
    wait_list_changed(&mut client);
    assert_eq!(client.call_tool("own", json!({}))["output"], json!({"said": "agreed"}));
    place("more", "not yet");
    wait_list_changed(&mut client);
    assert_eq!(client.call_tool("own", json!({}))["output"], json!({"said": "agreed"}));
    assert_eq!(client.call_refusal("more", json!({}))["message"], "Unknown tool: more");
    let notes = client.call_tool("list_workflows", json!({}))["notes"].to_string();
    assert!(notes.contains("more.json") && !notes.contains("own.json"), "{notes}");
    let listed = world.run_program(&["workflows"]).code(0);
    assert!(listed.stdout.contains("own") && !listed.stdout.contains("more"), "{}", listed.stdout);
    assert!(
        listed.stderr.contains("new files since you trusted it (.synthdev/workflows/more.json)"),
        "{}",
        listed.stderr
    );
    trust();
    wait_list_changed(&mut client);
    assert_eq!(client.call_tool("more", json!({}))["output"], json!({"said": "not yet"}));
    client.close_client();
}

#[test]
fn over_http_the_news_come_to_who_listens() {
    let world = world(&[quick_workflow()]);
    let web = Web::start_server(&world, &[]);
    let visitor = Visitor::begin_session(&web, &json!({}));
    let mut old = visitor.open_stream();
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    let params = json!({"_meta": meta, "notifications": {"toolsListChanged": true}});
    let ask = json!({"jsonrpc": "2.0", "id": 4, "method": "subscriptions/listen", "params": params});
    let headers = [("Mcp-Protocol-Version", "2026-07-28"), ("Mcp-Method", "subscriptions/listen")];
    let mut new = web.post_message(&headers, &ask);
    let first = new.next_message().unwrap();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
    write_workflow(&world, &named_workflow("late", "first"));
    for stream in [&mut old, &mut new] {
        let news = stream.next_message().unwrap();
        assert_eq!(news["method"], CHANGED, "{news}");
    }
    web.terminate_server();
}
