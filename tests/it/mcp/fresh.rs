//! Workflows whose files are changed while the server is there.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::super::cli::world::World;
use super::client::Client;
use super::flows::{flow, quick, world};
use super::web::{Visitor, Web};

const CHANGED: &str = "notifications/tools/list_changed";

fn named(name: &str, said: &str) -> Value {
    let mut flow = quick();
    flow["workflow_name"] = json!(name);
    flow["states"][0]["action"]["script"] =
        json!(format!("() => {{ this.common_data.result = {{ said: {said:?} }}; }}"));
    flow
}

fn write(world: &World, flow: &Value) {
    place(world, &flow.to_string());
}

/// All at once: nobody reads half of it. Where it is.
fn place(world: &World, text: &str) -> PathBuf {
    let aside = world.write("late.tmp", text);
    let place = world.configure("other.txt", "").with_file_name("workflows").join("late.json");
    std::fs::rename(aside, &place).unwrap();
    place
}

/// Waits for the news; what else comes is of no interest.
fn told(client: &mut Client) {
    while client.read()["method"] != CHANGED {}
}

fn tools(answer: &Value) -> Vec<String> {
    let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn changed_workflows_are_read_again_and_clients_are_told() {
    let world = world(&[quick()]);
    let mut client = Client::start(&world, &[]);
    let info = client.handshake();
    assert_eq!(info["capabilities"]["tools"]["listChanged"], true, "{info}");
    assert!(!tools(&client.ask("tools/list", json!({}))).contains(&"late".to_owned()));
    // a new one, a changed one, a broken one, a mended one, and it is gone
    write(&world, &named("late", "first"));
    told(&mut client);
    assert_eq!(client.call("late", json!({}))["output"], json!({"said": "first"}));
    write(&world, &named("late", "second"));
    told(&mut client);
    assert_eq!(client.call("late", json!({}))["output"], json!({"said": "second"}));
    place(&world, "{\"workflow_name\": ");
    told(&mut client);
    assert_eq!(client.refusal("late", json!({}))["message"], "Unknown tool: late");
    assert_eq!(client.call("quick", json!({"task": "go"}))["status"], "completed");
    let file = place(&world, &named("late", "third").to_string());
    told(&mut client);
    assert_eq!(client.call("late", json!({}))["output"], json!({"said": "third"}));
    std::fs::remove_file(file).unwrap();
    told(&mut client);
    assert!(!tools(&client.ask("tools/list", json!({}))).contains(&"late".to_owned()));
    client.close();
}

#[test]
fn changed_settings_count_for_runs_that_start_later_and_broken_ones_do_not() {
    let touch =
        json!([{"name": "start", "type": "shell", "command": "true", "transition": [{"target": "stop"}]}]);
    let world = world(&[flow("touch", &touch)]);
    let mut client = Client::open(&world);
    let settings = |text: &str| {
        let aside = world.write("settings.tmp", text);
        let place = world.configure("other.txt", "").with_file_name("settings.json");
        std::fs::rename(aside, place).unwrap();
    };
    let first = client.call("touch", json!({}));
    assert_eq!(first["status"], "paused", "a person must allow it: {first}");
    settings(r#"{"approvals": {"tools": {"shell": "allow"}}}"#);
    told(&mut client);
    assert_eq!(client.call("touch", json!({}))["status"], "completed");
    let again = client.call("get_workflow_status", json!({"workflowId": first["workflowId"]}));
    assert_eq!(again["status"], "paused", "it keeps what it began with: {again}");
    settings(r#"{"approvals": {"tools": {"shell": "perhaps"}}}"#);
    told(&mut client);
    assert_eq!(client.call("touch", json!({}))["status"], "completed", "as before the mistake");
    let listed = client.call("list_workflows", json!({}));
    assert!(listed["notes"].to_string().contains("before this mistake"), "{listed}");
    settings("{}");
    told(&mut client);
    assert_eq!(client.call("touch", json!({}))["status"], "paused");
    assert!(client.call("list_workflows", json!({})).get("notes").is_none());
    client.close();
}

#[test]
fn a_project_s_own_changes_do_not_count_before_somebody_agrees() {
    let world = world(&[quick()]);
    world.write(".synthdev/workflows/own.json", &named("own", "agreed").to_string());
    let mut client = Client::open_with(&world, &["--trust"]);
    assert_eq!(client.call("own", json!({}))["output"], json!({"said": "agreed"}));
    let aside = world.write("own.tmp", &named("own", "sneaked in").to_string());
    std::fs::rename(aside, world.project().join(".synthdev/workflows/own.json")).unwrap();
    told(&mut client);
    assert_eq!(client.refusal("own", json!({}))["message"], "Unknown tool: own");
    let listed = client.call("list_workflows", json!({}));
    assert!(listed["notes"].to_string().contains("own.json"), "{listed}");
    client.close();
}

#[test]
fn trust_counts_at_once_and_a_new_file_leaves_what_was_trusted_in_place() {
    let world = world(&[quick()]);
    let place = |name: &str, said: &str| {
        let aside = world.write("own.tmp", &named(name, said).to_string());
        std::fs::create_dir_all(world.project().join(".synthdev/workflows")).unwrap();
        std::fs::rename(aside, world.project().join(format!(".synthdev/workflows/{name}.json"))).unwrap();
    };
    place("own", "agreed");
    let mut client = Client::open(&world);
    assert_eq!(client.refusal("own", json!({}))["message"], "Unknown tool: own");
    // another process decides
    let trust = || world.run(&["--trust", "workflows"]).code(0);
    trust();
    told(&mut client);
    assert_eq!(client.call("own", json!({}))["output"], json!({"said": "agreed"}));
    place("more", "not yet");
    told(&mut client);
    assert_eq!(client.call("own", json!({}))["output"], json!({"said": "agreed"}));
    assert_eq!(client.refusal("more", json!({}))["message"], "Unknown tool: more");
    let notes = client.call("list_workflows", json!({}))["notes"].to_string();
    assert!(notes.contains("more.json") && !notes.contains("own.json"), "{notes}");
    let listed = world.run(&["workflows"]).code(0);
    assert!(listed.out.contains("own") && !listed.out.contains("more"), "{}", listed.out);
    assert!(
        listed.err.contains("new files since you trusted it (.synthdev/workflows/more.json)"),
        "{}",
        listed.err
    );
    trust();
    told(&mut client);
    assert_eq!(client.call("more", json!({}))["output"], json!({"said": "not yet"}));
    client.close();
}

#[test]
fn over_http_the_news_come_to_who_listens() {
    let world = world(&[quick()]);
    let web = Web::start(&world, &[]);
    let visitor = Visitor::greet(&web, &json!({}));
    let mut old = visitor.listen();
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    let params = json!({"_meta": meta, "notifications": {"toolsListChanged": true}});
    let ask = json!({"jsonrpc": "2.0", "id": 4, "method": "subscriptions/listen", "params": params});
    let headers = [("Mcp-Protocol-Version", "2026-07-28"), ("Mcp-Method", "subscriptions/listen")];
    let mut new = web.post(&headers, &ask);
    let first = new.next().unwrap();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
    write(&world, &named("late", "first"));
    for stream in [&mut old, &mut new] {
        let news = stream.next().unwrap();
        assert_eq!(news["method"], CHANGED, "{news}");
    }
    web.terminate();
}
