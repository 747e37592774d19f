//! A client that writes lines and reads lines, with everything logged that can be: whatever the server prints must be
//! a message of the protocol.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};

use super::super::cli::world::World;

/// A hang is a failure; nothing waits this long otherwise.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    reader: Option<JoinHandle<()>>,
    /// Messages that came while another one was waited for.
    pub pending_messages: VecDeque<Value>,
    next_id: u64,
}

impl Client {
    /// Not a word was said yet.
    pub fn start_server(world: &World, more: &[&str]) -> Self {
        let mut command = world.command(&[&["--verbosity", "5", "mcp"], more].concat());
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (to, lines) = channel();
        let reader = thread::spawn(move || {
            for line in output.lines() {
                let Ok(line) = line else { return };
                let message: Value =
                    serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"));
                assert_eq!(message["jsonrpc"], "2.0", "{line}");
                if to.send(message).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Self { child, input, lines, reader: Some(reader), pending_messages: VecDeque::new(), next_id: 0 }
    }

    pub fn open_client(world: &World) -> Self {
        Self::open_with(world, &[])
    }

    pub fn open_with(world: &World, more: &[&str]) -> Self {
        let mut client = Self::start_server(world, more);
        client.handshake();
        client
    }

    pub fn handshake(&mut self) -> Value {
        self.handshake_with(&json!({}))
    }

    /// The handshake of a client that can do these things.
    pub fn handshake_with(&mut self, capabilities: &Value) -> Value {
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": capabilities,
                            "clientInfo": {"name": "test", "version": "1"}});
        let answer = self.send_request("initialize", params);
        self.send_line(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        answer["result"].clone()
    }

    /// One line as it is.
    pub fn send_line(&mut self, line: &str) {
        self.send_bytes(line.as_bytes());
    }

    pub fn send_bytes(&mut self, line: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line).unwrap();
        input.write_all(b"\n").unwrap();
        input.flush().unwrap();
    }

    /// Sends a request without waiting; its id.
    pub fn begin_request(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.send_line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        id
    }

    pub fn send_request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin_request(method, params);
        self.wait_answer(id)
    }

    /// The answer to a request; what comes before it is kept.
    pub fn wait_answer(&mut self, id: u64) -> Value {
        if let Some(at) = self.pending_messages.iter().position(|message| message["id"] == id) {
            return self.pending_messages.remove(at).unwrap();
        }
        loop {
            let message = self.next_message();
            if message["id"] == id {
                return message;
            }
            self.pending_messages.push_back(message);
        }
    }

    /// The next message, whatever it is.
    pub fn next_message(&mut self) -> Value {
        self.lines.recv_timeout(PATIENCE).expect("the server says nothing")
    }

    pub fn begin_call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.begin_request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The structured answer of a tool.
    pub fn call_tool(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.begin_call(tool, arguments);
        self.call_result(id)
    }

    pub fn call_result(&mut self, id: u64) -> Value {
        let answer = self.wait_answer(id);
        let result = &answer["result"];
        assert!(result.is_object(), "{answer}");
        let told = result["structuredContent"].clone();
        let wrong = matches!(told["status"].as_str(), Some("failed" | "error"));
        assert_eq!(result["isError"], wrong, "{answer}");
        assert!(!result["content"][0]["text"].as_str().unwrap().is_empty(), "{answer}");
        told
    }

    /// The protocol's error of a call.
    pub fn call_refusal(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.begin_call(tool, arguments);
        let answer = self.wait_answer(id);
        assert!(answer["error"].is_object(), "{answer}");
        answer["error"].clone()
    }

    /// The client goes away: the server ends well and has said nothing on the side.
    pub fn close_client(mut self) {
        drop(self.input.take());
        let status = self.child.wait().unwrap();
        assert!(self.reader.take().unwrap().join().is_ok(), "something else than the protocol was printed");
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!((status.code(), said.as_str()), (Some(0), ""));
    }

    /// The system ends the server, politely.
    pub fn terminate_server(mut self) {
        let sent = std::process::Command::new("kill").arg(self.child.id().to_string()).status();
        assert!(sent.unwrap().success());
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }

    /// `kill -9`.
    pub fn kill_server(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
