//! Steps for sub-agents: the queue alone (100,000 operations in less than 50 ms), and what a client of the
//! program waits for (`get_next_step` answers within 5 ms, 95 of 100 times, against the real store).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a benchmark touches the real world and may stop at the first surprise"
)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use criterion::{Criterion, criterion_group};
use serde_json::{Value, json};
use synthdev::domain::ids::Timestamp;
use synthdev::runtime::leases::LeaseQueue;

const OPERATIONS: u64 = 100_000;
/// Items of the loop, and how many of them are handed out at once.
const ITEMS: usize = 1_000;
const AT_ONCE: usize = 50;

fn queue(c: &mut Criterion) {
    c.bench_function("100,000 operations of a step queue", |bench| {
        bench.iter(|| {
            let mut leases = LeaseQueue::new(usize::MAX);
            for step in 0..OPERATIONS / 4 {
                let priority = i32::try_from(step % 5).unwrap_or(0);
                let _ = leases.enqueue(step, priority, &[], 1_000);
            }
            let mut done = 0_u64;
            while let Some(lease) = leases.lease("w", Timestamp(0)) {
                leases.ownership(lease.step, "w");
                done += u64::from(leases.complete(lease.step));
            }
            assert_eq!(done, OPERATIONS / 4);
        });
    });
}

/// The program's server at the other end of two pipes, with a home of its own.
struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    asked: u64,
    _place: tempfile::TempDir,
}

impl Server {
    fn start(items: usize) -> Self {
        let place = tempfile::tempdir().unwrap();
        let (home, project) = (place.path().join("home"), place.path().join("project"));
        let workflows = home.join(".config/synthdev/workflows");
        for directory in [&workflows, &project] {
            fs::create_dir_all(directory).unwrap();
        }
        fs::write(workflows.join("each.json"), each(items).to_string()).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_synthdev"))
            .arg("mcp")
            .current_dir(project)
            .env_clear()
            .env("HOME", home)
            .env("PATH", std::env::var("PATH").unwrap_or_default())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut server = Self { child, input, output, asked: 0, _place: place };
        let client = json!({"name": "bench", "version": "1"});
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        server.ask("initialize", &hello);
        server.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        server
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the server has gone");
            let mut message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message["result"].take();
            }
        }
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let mut told = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        told["structuredContent"].take()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // it ends with its input
        self.input = None;
        let _ = self.child.wait();
    }
}

/// A loop over items, each a task with one command.
fn each(items: usize) -> Value {
    let body = json!([
        {"name": "start", "type": "shell", "command": "check", "transition": [{"target": "stop"}]},
        {"name": "stop", "input": "context.result.stdout"},
    ]);
    json!({
        "workflow_name": "each", "description": "for a measurement", "snapshot": "off",
        "input": {"name": "task", "type": "string", "description": "none", "required": false, "default": "x"},
        "output": {"name": "all", "type": "array"},
        "variables": {"list": (0..items).collect::<Vec<_>>()},
        "limits": {"max_concurrency": AT_ONCE},
        "states": [{"name": "start", "type": "foreach", "in": "common_data.list", "agent": "@task",
            "states": body, "output": {"as": "all"}, "transition": [{"target": "stop"}]}],
    })
}

/// Milliseconds that each `get_next_step` took, while all items are done one after the other.
fn waits(items: usize) -> Vec<f64> {
    let mut server = Server::start(items);
    let mut told = server.call("each", &json!({}));
    let run = told["workflowId"].clone();
    let mut waits = Vec::with_capacity(items);
    while told["status"] == "awaiting_sub_agents" {
        let tasks = told["subAgents"].as_array().unwrap().clone();
        for task in tasks.iter().filter(|task| task["started"] == false) {
            let id = &task["workflow_id"];
            let begun = Instant::now();
            let next = server.call("get_next_step", &json!({"workflow_id": id}));
            waits.push(begun.elapsed().as_secs_f64() * 1_000.0);
            let result = json!({"stdout": "ok", "stderr": "", "exit_code": 0});
            let step = &next["step"]["step_id"];
            let done = json!({"workflow_id": id, "step_id": step, "result": result});
            assert_eq!(server.call("submit_step_result", &done)["status"], "accepted", "{next}");
        }
        told = server.call("get_workflow_status", &json!({"workflowId": run, "wait": true}));
    }
    assert_eq!((told["status"].as_str(), waits.len()), (Some("completed"), items), "{told}");
    waits
}

criterion_group!(benches, queue);

fn main() {
    let measured = std::env::args().any(|argument| argument == "--bench");
    benches();
    Criterion::default().configure_from_args().final_summary();
    let mut waits = waits(if measured { ITEMS } else { AT_ONCE / 10 });
    waits.sort_by(f64::total_cmp);
    let at = |percent: usize| waits[(waits.len() * percent / 100).min(waits.len() - 1)];
    println!(
        "get_next_step, {} of {AT_ONCE} open tasks: median {:.2} ms, p95 {:.2} ms (gate 5 ms), longest {:.2} ms",
        waits.len(),
        at(50),
        at(95),
        at(100)
    );
}
