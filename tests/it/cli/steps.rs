//! Steps without a model, run by the program itself: gates, requests with secrets, pauses that nobody answers.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use super::world::World;

const SECRET: &str = "s3cret-Grep-me-77ab";

/// A server that answers one request with what it was sent, and hands it over.
fn echo_server() -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/items", listener.local_addr().unwrap());
    let (to, from) = channel();
    std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut buffer = vec![0; 64 * 1024];
        let mut request = String::new();
        while !request.ends_with('}') {
            let length = socket.read(&mut buffer).unwrap();
            assert!(length > 0, "{request}");
            request.push_str(&String::from_utf8_lossy(&buffer[..length]));
        }
        let body = json!({"id": 7, "heard": request}).to_string();
        let head = "HTTP/1.1 201 Created\r\ncontent-type: application/json\r\nconnection: close\r\n";
        write!(socket, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
        to.send(request).unwrap();
    });
    (url, from)
}

#[test]
fn a_secret_is_sent_and_stands_in_no_history() {
    let (url, sent) = echo_server();
    let mut world = World::new();
    world.set_variable("TRACKER_TOKEN", SECRET);
    world.write_json(
        "w.json",
        &json!({"workflow_name": "w", "snapshot": "off", "output": {"name": "all", "type": "object"},
            "variables": {"title": "é"},
            "states": [
                {"name": "start", "type": "http", "method": "POST", "url": url,
                    "headers": {"Authorization": {"env": "TRACKER_TOKEN", "prefix": "Bearer "}},
                    "body": {"title": {"expr": "common_data.title"}},
                    "output": {"as": "all"},
                    "transition": [{"target": "stop", "condition": "context.result.status === 201"}]},
                {"name": "stop"}]}),
    );
    let ran = world.run_program(&["run", "--workflow-file", "w.json", "--yes", "--events", "--json"]).code(0);
    let request = sent.recv().unwrap();
    assert!(request.starts_with("POST /items HTTP/1.1\r\n"), "{request}");
    assert!(request.contains(&format!("authorization: Bearer {SECRET}\r\n")), "{request}");
    assert!(request.ends_with("{\"title\":\"é\"}"), "{request}");
    let report: Value = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(report["output"]["body"]["id"], 7);
    let heard = report["output"]["body"]["heard"].as_str().unwrap();
    assert!(heard.contains("authorization: [redacted:key]\r\n"), "{heard}");
    assert!(!ran.stdout.contains(SECRET) && !ran.stderr.contains(SECRET), "{}\n{}", ran.stdout, ran.stderr);
    for (path, bytes) in World::files(world.root()) {
        let found = bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
        assert!(!found, "the secret is in {path}");
    }
}

#[test]
fn a_command_decides_what_follows() {
    let world = World::new();
    let gate = |target: &str, condition: &str| json!({"target": target, "condition": condition});
    world.write_json(
        "w.json",
        &json!({"workflow_name": "w", "snapshot": "off",
            "states": [
                {"name": "start", "type": "shell", "command": "test -e made.txt || { echo missing >&2; exit 9; }",
                    "expect_exit": "any",
                    "transition": [gate("stop", "context.result.exit_code === 0"),
                        gate("make", "context.result.exit_code === 9 && context.result.stderr.includes('missing')")]},
                {"name": "make", "type": "shell", "command": "touch", "args": ["made.txt"],
                    "transition": [{"target": "start"}]},
                {"name": "stop", "input": {"text": "green"}}]}),
    );
    let denied = world.run_program(&["run", "--workflow-file", "w.json", "--json"]).code(5);
    assert_eq!(denied.json()["error"]["code"], "tool.denied");
    let ran = world.run_program(&["run", "--workflow-file", "w.json", "--yes", "--json"]).code(0);
    assert_eq!(ran.json()["output"], "green");
    assert_eq!(ran.json()["path"], json!(["start", "make", "start", "stop"]));
    assert_eq!(world.read_file("made.txt"), "");
}

#[test]
fn a_pause_that_nobody_answers_says_what_is_asked() {
    let world = World::new();
    world.write_json(
        "w.json",
        &json!({"workflow_name": "w", "snapshot": "off",
            "states": [
                {"name": "start", "type": "pause", "kind": "approval", "message": {"text": "Ship it?"},
                    "transition": [{"target": "stop"}]},
                {"name": "stop"}]}),
    );
    let ran = world.run_program(&["run", "--workflow-file", "w.json"]).code(3);
    assert!(ran.stderr.contains("waits for the user's answer: Ship it?"), "{}", ran.stderr);
}
