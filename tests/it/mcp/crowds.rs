//! Many connections at once over HTTP: all are answered, and those beyond the bound are told when to come again.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Barrier;
use std::thread;

use serde_json::{Value, json};

use super::super::cli::world::wait_for;
use super::flows::{quick_workflow, world};
use super::web::{Answer, Web};

/// A newer client, which needs no session, starts `quick`.
fn start_quick(web: &Web, task: &str) -> Answer {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"}});
    let params = json!({"name": "quick", "arguments": {"task": task}, "_meta": meta});
    let headers =
        [("Mcp-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "quick")];
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    web.post_message(&headers, &call)
}

fn last_message(mut answer: Answer) -> Option<Value> {
    std::iter::from_fn(|| answer.next_message()).last()
}

/// The head of a request whose body never comes.
fn hold_connection(web: &Web) -> TcpStream {
    let mut stream = TcpStream::connect(&web.address).unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nAccept: */*\r\n\
         Content-Type: application/json\r\nContent-Length: 100\r\n\r\n",
        web.token
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

#[test]
fn three_hundred_starts_at_once_are_all_answered() {
    check_starts_at_once(300);
}

#[test]
#[ignore = "slow: as many threads, and more open files than some systems allow by default"]
fn a_thousand_starts_at_once_are_all_answered() {
    check_starts_at_once(1_000);
}

/// None is reset, and none is refused.
fn check_starts_at_once(clients: usize) {
    let world = world(&[quick_workflow()]);
    let web = Web::start_server(&world, &[]);
    let barrier = Barrier::new(clients);
    thread::scope(|scope| {
        for number in 0..clients {
            let (web, barrier) = (&web, &barrier);
            scope.spawn(move || {
                let task = number.to_string();
                barrier.wait();
                let answer = start_quick(web, &task);
                assert_eq!(answer.status, 200, "{task}");
                let told = last_message(answer).expect("an answer");
                assert_eq!(told["result"]["structuredContent"]["output"]["said"], json!(task), "{told}");
            });
        }
    });
    web.terminate_server();
}

#[test]
fn connections_beyond_the_bound_are_told_to_come_again() {
    let world = world(&[quick_workflow()]);
    // half of its files are for connections
    let web = Web::start_with_open_files(&world, 128);
    let held: Vec<TcpStream> = (0..64).map(|_| hold_connection(&web)).collect();
    let large = "x".repeat(1 << 20);
    for body in [String::new(), large] {
        let mut refused = web.request("POST", &[], &body);
        assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")));
        assert_eq!(refused.header("connection"), Some("close"));
        assert!(refused.read_text().contains("64 are served at once"));
    }
    drop(held);
    let answer = wait_for("there is room again", || {
        let answer = start_quick(&web, "go");
        (answer.status == 200).then_some(answer)
    });
    let told = last_message(answer).unwrap();
    assert_eq!(told["result"]["structuredContent"]["output"]["said"], json!("go"), "{told}");
    web.terminate_server();
}
