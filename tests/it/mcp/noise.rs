//! Damaged and hostile messages: whatever is sent, only messages come back, every request is answered, and the server
//! works on.

use std::cell::RefCell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};

use super::client::Client;
use super::flows::{quick_workflow, ticket_workflow, world};
use super::web::{Visitor, Web};

/// Requests as clients send them.
fn seed_requests() -> Vec<Value> {
    let call = |name: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
    let plain =
        |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let response =
        json!({"status": "success", "data": {"text": "x", "toolCalls": [{"name": "a", "arguments": {}}]}});
    vec![
        plain("ping", json!({})),
        plain("tools/list", json!({"cursor": "x"})),
        plain("resources/list", json!({"cursor": "100"})),
        plain("resources/read", json!({"uri": "synthdev://runs/x"})),
        plain(
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": "b"}}),
        ),
        call("list_workflows", json!({})),
        call("list_runs", json!({"status": "failed", "limit": 3, "words": "x"})),
        call("quick", json!({"task": "go"})),
        call("ticket", json!({"summary": "s", "priority": 3})),
        call("start_workflow", json!({"name": "quick", "inputs": {"task": "x"}, "wait": true})),
        call(
            "resume_workflow",
            json!({"resumeToken": "ticket-0123456789abcdef", "results": {"a": [1, {"b": null}]}}),
        ),
        call("continue_workflow", json!({"workflowId": "x"})),
        call("get_workflow_status", json!({"workflowId": "../../etc/passwd"})),
        call("cancel_workflow", json!({"workflowId": "x"})),
        call("agent_llm", json!({"interactionId": "x", "agentLLMResponse": response, "projectRoot": "/"})),
        call("start_workflow", json!({"name": "quick", "inputs": {}, "agent": "@task"})),
        call("get_next_step", json!({"workflow_id": "task-0123456789abcdef", "worker_id": "w"})),
        call("get_workflow_state", json!({"workflow_id": "task-0123456789abcdef"})),
        call(
            "submit_step_result",
            json!({"workflow_id": "task-0", "step_id": "step-1", "result": {"stdout": "", "stderr": "", "exit_code": 0},
                   "worker_id": "w", "expected_version": 1}),
        ),
        plain("resources/templates/list", json!({})),
        plain("prompts/get", json!({"name": "x", "arguments": {"a": "b"}})),
        plain("logging/setLevel", json!({"level": "debug"})),
    ]
}

/// What a value may become.
fn odd_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!([[{"a": [null]}]])),
        Just(json!("x".repeat(100_000))),
        Just(json!({"__proto__": {"status": "completed"}, "toString": 1})),
    ]
}

#[derive(Clone, Debug)]
enum Change {
    /// The value at this place becomes another one.
    Replace(usize, Value),
    Remove(usize),
    Add(String, Value),
    /// Bytes of the line are overwritten.
    Bytes(Vec<(usize, u8)>),
    Cut(usize),
    /// Something else altogether.
    Noise(Vec<u8>),
}

fn random_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (any::<usize>(), odd_value()).prop_map(|(at, value)| Change::Replace(at, value)),
        2 => any::<usize>().prop_map(Change::Remove),
        2 => ("[a-zA-Z_]{0,12}", odd_value()).prop_map(|(name, value)| Change::Add(name, value)),
        2 => prop::collection::vec((any::<usize>(), any::<u8>()), 1..4).prop_map(Change::Bytes),
        1 => any::<usize>().prop_map(Change::Cut),
        1 => prop::collection::vec(any::<u8>(), 0..300).prop_map(Change::Noise),
    ]
}

/// Every place in a value, its own included.
fn places(value: &Value) -> usize {
    1 + match value {
        Value::Object(fields) => fields.values().map(places).sum(),
        Value::Array(items) => items.iter().map(places).sum(),
        _ => 0,
    }
}

fn value_at<'v>(value: &'v mut Value, place: &mut usize) -> Option<&'v mut Value> {
    if *place == 0 {
        return Some(value);
    }
    *place -= 1;
    match value {
        Value::Object(fields) => fields.values_mut().find_map(|below| value_at(below, place)),
        Value::Array(items) => items.iter_mut().find_map(|below| value_at(below, place)),
        _ => None,
    }
}

fn damage_request(seed: &Value, changes: &[Change], id: u64) -> Vec<u8> {
    let mut value = seed.clone();
    value["id"] = json!(id);
    let mut bytes = None;
    for change in changes {
        match change {
            Change::Replace(place, by) => {
                let mut place = place % places(&value);
                if let Some(found) = value_at(&mut value, &mut place) {
                    *found = by.clone();
                }
            }
            Change::Remove(place) => {
                let mut place = place % places(&value);
                if let Some(Value::Object(fields)) = value_at(&mut value, &mut place) {
                    let name = fields.keys().next().cloned();
                    name.and_then(|name| fields.shift_remove(&name));
                }
            }
            Change::Add(name, with) => {
                if let Some(params) = value.get_mut("params").and_then(Value::as_object_mut) {
                    let inner = params.entry("arguments").or_insert_with(|| Value::Object(Map::new()));
                    if let Some(inner) = inner.as_object_mut() {
                        inner.insert(name.clone(), with.clone());
                    }
                }
            }
            Change::Bytes(rows) => {
                let text = bytes.get_or_insert_with(|| value.to_string().into_bytes());
                let rows = if text.is_empty() { &[][..] } else { rows };
                for (at, byte) in rows {
                    let at = at % text.len();
                    text[at] = if *byte == b'\n' { b' ' } else { *byte };
                }
            }
            Change::Cut(at) => {
                let text = bytes.get_or_insert_with(|| value.to_string().into_bytes());
                text.truncate(at % text.len().max(1) + 1);
            }
            Change::Noise(noise) => {
                let plain = |byte: &u8| if *byte == b'\n' { b' ' } else { *byte };
                bytes = Some(noise.iter().map(plain).collect());
            }
        }
    }
    bytes.unwrap_or_else(|| value.to_string().into_bytes())
}

/// What a line is answered under; `None`: it is not answered, as it is no request.
fn expected_id(line: &[u8]) -> Option<Value> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return None;
    }
    let Ok(value) = serde_json::from_slice::<Value>(line) else { return Some(Value::Null) };
    let id = match &value["id"] {
        id @ (Value::Number(_) | Value::String(_)) => id.clone(),
        _ => Value::Null,
    };
    let method = value["method"].as_str();
    let told = value["jsonrpc"] == "2.0" && value.get("id").is_none() && method.is_some();
    // a notification, or something that looks like an answer to us
    let answers = method.is_none() && (value.get("result").is_some() || value.get("error").is_some());
    if told || answers { None } else { Some(id) }
}

fn rows() -> impl Strategy<Value = Vec<(usize, Vec<Change>)>> {
    let one = (0..seed_requests().len(), prop::collection::vec(random_change(), 0..4));
    prop::collection::vec(one, 1..12)
}

/// `FUZZ_FACTOR` times as many.
fn test_runner(cases: u32) -> TestRunner {
    let factor = std::env::var("FUZZ_FACTOR").ok().and_then(|text| text.parse().ok());
    TestRunner::new(Config {
        cases: cases * factor.unwrap_or(1),
        failure_persistence: None,
        ..Config::default()
    })
}

#[test]
fn whatever_is_sent_every_request_is_answered_in_lines_of_json() {
    let world = world(&[ticket_workflow(), quick_workflow()]);
    let client = RefCell::new(Client::open_client(&world));
    let next = RefCell::new(1_000_000_u64);
    let seeds = seed_requests();
    let ran = test_runner(40).run(&rows(), |rows| {
        let mut client = client.borrow_mut();
        let mut awaited = Vec::new();
        for (seed, changes) in &rows {
            *next.borrow_mut() += 1;
            let line = damage_request(&seeds[*seed], changes, *next.borrow());
            let Some(id) = expected_id(&line) else { continue };
            client.send_bytes(&line);
            awaited.push((id, line));
        }
        *next.borrow_mut() += 1;
        let last = *next.borrow();
        let ping = json!({"jsonrpc": "2.0", "id": last, "method": "ping"});
        client.send_bytes(ping.to_string().as_bytes());
        awaited.push((json!(last), ping.to_string().into_bytes()));
        while !awaited.is_empty() {
            // each is checked to be JSON where it is read
            let message = client.next_message();
            prop_assert!(message["result"].is_object() || message["error"].is_object(), "{}", message);
            let place = awaited.iter().position(|(id, _)| same_id(id, &message["id"]));
            let shown = |line: &[u8]| String::from_utf8_lossy(&line[..line.len().min(300)]).into_owned();
            let open: Vec<String> = awaited.iter().map(|(_, line)| shown(line)).collect();
            prop_assert!(place.is_some(), "{message} answers none of {open:?}");
            awaited.remove(place.unwrap_or_default());
        }
        Ok(())
    });
    ran.unwrap();
    client.into_inner().close_client();
}

/// Ids come back as they were sent; 1.0 and 1 are one number.
fn same_id(sent: &Value, got: &Value) -> bool {
    let number = |value: &Value| value.as_number().and_then(serde_json::Number::as_f64);
    sent == got || number(sent).is_some_and(|sent| number(got) == Some(sent))
}

#[test]
fn over_http_it_is_the_same() {
    let world = world(&[ticket_workflow(), quick_workflow()]);
    let web = Web::start_server(&world, &[]);
    let visitor = Visitor::begin_session(&web, &json!({}));
    let next = RefCell::new(1_000_000_u64);
    let seeds = seed_requests();
    let ran = test_runner(25).run(&rows(), |rows| {
        for (seed, changes) in &rows {
            *next.borrow_mut() += 1;
            let line = damage_request(&seeds[*seed], changes, *next.borrow());
            let awaited = expected_id(&line);
            let mut answer = visitor.post_bytes(&line);
            let shown = String::from_utf8_lossy(&line[..line.len().min(300)]).into_owned();
            prop_assert!([200, 202, 400].contains(&answer.status), "{} {shown}", answer.status);
            let Some(id) = awaited.filter(|_| !line.trim_ascii().is_empty()) else { continue };
            let message = answer.next_message();
            prop_assert!(message.is_some(), "{shown} was not answered");
            let message = message.unwrap_or_default();
            prop_assert!(same_id(&id, &message["id"]), "{message} for {shown}");
        }
        Ok(())
    });
    ran.unwrap();
    web.terminate_server();
}

#[test]
fn an_id_is_taken_once_at_a_time() {
    let world = world(&[quick_workflow(), super::flows::slow_workflow()]);
    let mut client = Client::open_client(&world);
    let slow = client.begin_call("slow", json!({}));
    client.send_line(&json!({"jsonrpc": "2.0", "id": slow, "method": "ping"}).to_string());
    let refused = client.wait_answer(slow);
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": slow}});
    client.send_line(&cancelled.to_string());
    // and again when it is free
    client.send_line(&json!({"jsonrpc": "2.0", "id": slow, "method": "ping"}).to_string());
    assert_eq!(client.wait_answer(slow)["result"], json!({}));
    client.close_client();
}

#[test]
fn who_goes_away_during_a_call_leaves_its_run_as_it_is() {
    let world = world(&[super::flows::slow_workflow()]);
    let mut client = Client::open_client(&world);
    client.begin_call("slow", json!({}));
    super::super::cli::world::wait_for("it naps", || {
        let runs = client.call_tool("list_runs", json!({}))["runs"].clone();
        (runs[0]["status"] == "running").then_some(())
    });
    client.close_client();
    let listed = world.run_program(&["runs", "list", "--json"]).code(0).json();
    assert_eq!(listed[0]["status"], "interrupted", "{listed}");
}
