//! The server over HTTP: who is let in, sessions, streams, many clients, the end (`mcp --http`).

use std::sync::Barrier;
use std::thread;

use serde_json::{Value, json};

use super::super::cli::world::wait_for;
use super::flows::{quick_workflow, slow_workflow, ticket_workflow, world};
use super::pausing::token;
use super::web::{Visitor, Web};

fn ping() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})
}

/// The request of a newer client, which makes no handshake.
fn single_request(id: u64, method: &str, params: Value) -> Value {
    let mut params = params;
    params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"}});
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

const NEW: (&str, &str) = ("Mcp-Protocol-Version", "2026-07-28");

#[test]
fn only_addresses_of_this_machine_and_only_good_tokens() {
    let world = world(&[quick_workflow()]);
    for address in ["0.0.0.0:0", "192.168.1.2:80", "[::]:0"] {
        let ran = world.run_program(&["mcp", "--http", address]).code(2);
        assert!(ran.stderr.contains("other machines could reach it"), "{}", ran.stderr);
    }
    let file = world.write_file("token", "short");
    let ran =
        world.run_program(&["mcp", "--http", "127.0.0.1:0", "--token-file", file.to_str().unwrap()]).code(2);
    assert!(ran.stderr.contains("holds no token"), "{}", ran.stderr);
    let web = Web::start_server(&world, &[]);
    let ran = world.run_program(&["mcp", "--http", &web.address]).code(2);
    assert!(ran.stderr.contains(&web.address) && ran.stderr.contains("any free port"), "{}", ran.stderr);
    web.terminate_server();
}

#[test]
fn who_is_not_let_in_is_told_why_and_nothing_is_done() {
    let world = world(&[quick_workflow()]);
    let web = Web::start_server(&world, &[]);
    let long = "x".repeat(80 << 10);
    for (method, headers, status) in [
        ("POST", vec![("Authorization", "")], 401),
        ("POST", vec![("Authorization", "Bearer wrong")], 401),
        ("GET", vec![("Authorization", "")], 401),
        ("DELETE", vec![("Authorization", "")], 401),
        ("POST", vec![("Host", "evil.example")], 403),
        ("POST", vec![("Origin", "http://evil.example")], 403),
        ("POST", vec![("Accept", "application/json")], 406),
        ("POST", vec![("Accept", "")], 406),
        ("POST", vec![("Content-Type", "text/plain")], 415),
        ("POST", vec![], 400),
        ("POST", vec![("Mcp-Session-Id", "nope")], 404),
        ("POST", vec![("Mcp-Protocol-Version", "1999-01-01")], 400),
        ("GET", vec![], 405),
        ("GET", vec![("Mcp-Session-Id", "nope")], 404),
        ("GET", vec![("Accept", "application/json")], 406),
        ("DELETE", vec![], 400),
        ("DELETE", vec![("Mcp-Session-Id", "nope")], 404),
        ("PUT", vec![], 405),
        ("OPTIONS", vec![], 405),
        ("POST", vec![("X-Long", long.as_str())], 431),
    ] {
        let body = if method == "POST" { ping().to_string() } else { String::new() };
        let answer = web.request(method, &headers, &body);
        let shown: String = format!("{method} {headers:?}").chars().take(90).collect();
        assert_eq!(answer.status, status, "{shown}");
        assert!(answer.header("access-control-allow-origin").is_none());
    }
    let elsewhere =
        format!("GET /other HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n", web.token);
    assert_eq!(web.send_bytes(elsewhere.as_bytes()).status, 404);
    let mut visitor = Visitor::begin_session(&web, &json!({}));
    assert_eq!(visitor.call_tool("list_runs", json!({})), json!({"runs": []}));
    web.terminate_server();
}

#[test]
fn what_is_no_message_is_answered() {
    let world = world(&[quick_workflow()]);
    let web = Web::start_server(&world, &[]);
    let mut visitor = Visitor::begin_session(&web, &json!({}));
    let large = format!("{{\"x\": \"{}\"}}", "x".repeat(17 << 20));
    for (body, status, code) in [
        ("{oops", 400, -32700),
        ("", 400, -32700),
        ("[]", 400, -32600),
        ("{\"jsonrpc\": \"2.0\", \"id\": 7, \"metod\": \"x\"}", 400, -32600),
        (&large, 413, -32600),
    ] {
        let session = ("Mcp-Session-Id", visitor.session.as_str());
        let mut answer = web.request("POST", &[session], body);
        assert_eq!(answer.status, status, "{}", &body[..body.len().min(60)]);
        assert_eq!(answer.next_message().unwrap()["error"]["code"], code);
    }
    // it was announced too large, and is not read
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nAccept: */*\r\n\
         Content-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n",
        web.token
    );
    assert_eq!(web.send_bytes(head.as_bytes()).status, 413);
    assert_eq!(web.send_bytes(b"\x16\x03\x01nonsense\r\n\r\n").status, 400);
    assert_eq!(visitor.send_request("nope/nope", json!({}))["error"]["code"], -32601);
    assert_eq!(visitor.call_tool("quick", json!({"task": "go"}))["output"], json!({"said": "go"}));
    web.terminate_server();
}

#[test]
fn a_session_is_a_conversation_until_it_is_ended() {
    let world = world(&[ticket_workflow(), slow_workflow()]);
    let web = Web::start_server(&world, &[]);
    let mut visitor = Visitor::begin_session(&web, &json!({}));
    let asked = visitor.call_tool("ticket", json!({"summary": "Dark mode"}));
    assert_eq!(asked["status"], "awaiting_llm_action", "{asked}");
    let results = json!({"ticketKey": "PROJ-1", "ticketUrl": "u"});
    let done =
        visitor.call_tool("resume_workflow", json!({"resumeToken": token(&asked), "results": results}));
    assert_eq!(done["status"], "completed", "{done}");
    // progress comes on the stream of its request
    let params = json!({"name": "ticket", "arguments": {"summary": "x"}, "_meta": {"progressToken": "p"}});
    let (id, mut stream) = visitor.begin_request("tools/call", params);
    assert!(stream.is_stream());
    let first = stream.next_message().unwrap();
    assert_eq!(
        (&first["method"], &first["params"]["progressToken"]),
        (&json!("notifications/progress"), &json!("p"))
    );
    let last = std::iter::from_fn(|| stream.next_message()).last().unwrap();
    assert_eq!(last["id"], id);
    // an id is taken once at a time
    let (id, _waits) = visitor.begin_request("tools/call", json!({"name": "slow", "arguments": {}}));
    let mut twice = visitor.post_message(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
    assert_eq!((twice.status, &twice.next_message().unwrap()["error"]["code"]), (400, &json!(-32600)));
    // one stream for what belongs to no request
    let listening = visitor.open_stream();
    assert!(listening.status == 200 && listening.is_stream());
    assert_eq!(visitor.open_stream().status, 409);
    // the run of a client that ends its session goes on
    let ended = web.request("DELETE", &[("Mcp-Session-Id", &visitor.session)], "");
    assert_eq!(ended.status, 204);
    assert_eq!(visitor.post_message(&ping()).status, 404);
    let mut other = Visitor::begin_session(&web, &json!({}));
    let runs = other.call_tool("list_runs", json!({"workflow": "slow"}))["runs"].clone();
    assert_eq!(runs[0]["status"], "running", "{runs}");
    web.terminate_server();
    let listed = world.run_program(&["runs", "list", "--json"]).code(0).json();
    assert_eq!(listed[0]["status"], "interrupted", "{listed}");
}

#[test]
fn a_request_that_is_cancelled_cancels_its_run_and_one_that_is_cut_off_does_not() {
    let world = world(&[slow_workflow()]);
    let web = Web::start_server(&world, &[]);
    let mut visitor = Visitor::begin_session(&web, &json!({}));
    let (id, mut stream) = visitor.begin_request("tools/call", json!({"name": "slow", "arguments": {}}));
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    assert_eq!(visitor.post_message(&cancelled).status, 202);
    assert_eq!(stream.next_message(), None, "it gets no answer");
    wait_for("it is cancelled", || {
        let runs = visitor.call_tool("list_runs", json!({}))["runs"].clone();
        (runs[0]["status"] == "cancelled").then_some(())
    });
    let (_, stream) = visitor.begin_request("tools/call", json!({"name": "slow", "arguments": {}}));
    stream.close_connection();
    let run = visitor.call_tool("list_runs", json!({}))["runs"][0].clone();
    assert_eq!(run["status"], "running", "{run}");
    let told = visitor.call_tool("cancel_workflow", json!({"workflowId": run["workflowId"]}));
    assert_eq!(told["status"], "cancelled", "{told}");
    web.terminate_server();
}

#[test]
fn newer_clients_need_no_session() {
    let world = world(&[quick_workflow(), slow_workflow()]);
    let web = Web::start_server(&world, &[]);
    let send = |method: &str, name: &str, params: Value| {
        web.post_message(
            &[NEW, ("Mcp-Method", method), ("Mcp-Name", name)],
            &single_request(3, method, params),
        )
    };
    let mut found = send("server/discover", "", json!({}));
    assert_eq!((found.status, found.header("mcp-session-id")), (200, None));
    let found = found.next_message().unwrap();
    assert!(
        found["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")),
        "{found}"
    );
    let call = json!({"name": "quick", "arguments": {"task": "go"}});
    let done = send("tools/call", "quick", call.clone()).next_message().unwrap();
    assert_eq!(done["result"]["structuredContent"]["output"], json!({"said": "go"}), "{done}");
    // what the headers say must be so
    let mut wrong = send("tools/call", "slow", call);
    assert_eq!((wrong.status, &wrong.next_message().unwrap()["error"]["code"]), (400, &json!(-32020)));
    assert_eq!(send("nope/nope", "", json!({})).status, 404);
    let lacking = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    assert_eq!(web.post_message(&[NEW, ("Mcp-Method", "tools/list")], &lacking).status, 400);
    // who goes away cancels
    let stream = send("tools/call", "slow", json!({"name": "slow", "arguments": {}}));
    assert!(stream.is_stream());
    stream.close_connection();
    wait_for("it is cancelled", || {
        let params = json!({"name": "list_runs", "arguments": {"workflow": "slow"}});
        let told = send("tools/call", "list_runs", params).next_message().unwrap();
        (told["result"]["structuredContent"]["runs"][0]["status"] == "cancelled").then_some(())
    });
    web.terminate_server();
}

#[test]
fn many_clients_at_once_do_not_mix() {
    let world = world(&[ticket_workflow(), quick_workflow()]);
    let web = Web::start_server(&world, &[]);
    let barrier = Barrier::new(16);
    thread::scope(|scope| {
        for number in 0..16 {
            let (web, barrier) = (&web, &barrier);
            scope.spawn(move || {
                let mut visitor = Visitor::begin_session(web, &json!({}));
                barrier.wait();
                for round in 0..3 {
                    let task = format!("{number}-{round}");
                    let told = visitor.call_tool("quick", json!({"task": task}));
                    assert_eq!(told["output"]["said"], json!(task));
                    let asked = visitor.call_tool("ticket", json!({"summary": task}));
                    let results = json!({"ticketKey": task, "ticketUrl": "u"});
                    let again = json!({"resumeToken": token(&asked), "results": results});
                    let done = visitor.call_tool("resume_workflow", again);
                    assert_eq!(done["output"]["ticketKey"], json!(task), "{done}");
                }
            });
        }
    });
    web.terminate_server();
}
