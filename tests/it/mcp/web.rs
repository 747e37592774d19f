//! A client over HTTP that writes requests byte by byte, and the server it talks to.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::super::cli::world::World;

/// A hang is a failure; nothing waits this long otherwise.
const PATIENCE: Duration = Duration::from_secs(60);

/// `synthdev mcp --http` on a free port.
pub struct Web {
    child: Child,
    /// `127.0.0.1:PORT`
    pub address: String,
    pub token: String,
}

impl Web {
    pub fn start_server(world: &World, more: &[&str]) -> Self {
        Self::start_command(world.command(&[&["mcp", "--http", "127.0.0.1:0"], more].concat()))
    }

    /// The same as a process that may not have more files open.
    pub fn start_with_open_files(world: &World, most: u32) -> Self {
        let program = world.command(&["mcp", "--http", "127.0.0.1:0"]);
        let mut command = Command::new("sh");
        world.isolate_command(&mut command);
        command.arg("-c").arg(format!("ulimit -n {most} && exec \"$0\" \"$@\""));
        command.arg(program.get_program()).args(program.get_args());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self::start_command(command)
    }

    fn start_command(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let first = said.next().expect("it says where it listens");
        let address = first.split("http://").nth(1).and_then(|rest| rest.strip_suffix("/mcp"));
        let address = address.unwrap_or_else(|| panic!("{first}")).to_owned();
        let second = said.next().expect("it says where the token is");
        let file = second.split("the token in ").nth(1).and_then(|rest| rest.split(": Auth").next());
        let file = file.unwrap_or_else(|| panic!("{second}"));
        let token = std::fs::read_to_string(file).unwrap().trim().to_owned();
        assert!(!second.contains(&token), "the token itself is not printed");
        Self { child, address, token }
    }

    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Bytes as they are; what comes back.
    pub fn send_bytes(&self, bytes: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // a server that refuses early closes early
        let _ = stream.write_all(bytes);
        Answer::read_answer(stream)
    }

    /// A request with the token and what the protocol wants, `more` after it.
    pub fn request(&self, method: &str, more: &[(&str, &str)], body: &str) -> Answer {
        self.send_request(method, more, body.as_bytes())
    }

    pub fn send_request(&self, method: &str, more: &[(&str, &str)], body: &[u8]) -> Answer {
        let authorization = format!("Bearer {}", self.token);
        let usual = [
            ("Host", self.address.as_str()),
            ("Authorization", authorization.as_str()),
            ("Accept", "application/json, text/event-stream"),
            ("Content-Type", "application/json"),
        ];
        let given = |name: &str| more.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
        let headers = usual.iter().filter(|(name, _)| !given(name)).chain(more);
        let lines: String = headers
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        let length = body.len();
        let head = format!("{method} /mcp HTTP/1.1\r\n{lines}Content-Length: {length}\r\n\r\n");
        self.send_bytes(&[head.as_bytes(), body].concat())
    }

    pub fn post_message(&self, more: &[(&str, &str)], message: &Value) -> Answer {
        self.request("POST", more, &message.to_string())
    }

    /// The system ends the server, politely.
    pub fn terminate_server(mut self) {
        let sent = std::process::Command::new("kill").arg(self.child.id().to_string()).status();
        assert!(sent.unwrap().success());
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        let mut out = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        assert_eq!(out, "");
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What came back, read as far as it was asked for.
pub struct Answer {
    pub status: u16,
    headers: Vec<(String, String)>,
    reader: BufReader<TcpStream>,
    /// Of a body in pieces, what was read of it.
    text: String,
    is_done: bool,
}

impl Answer {
    fn read_answer(stream: TcpStream) -> Self {
        let mut reader = BufReader::new(stream);
        let mut line = || {
            let mut line = String::new();
            let _ = reader.read_line(&mut line);
            line.trim_end().to_owned()
        };
        let first = line();
        let status = first.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        let mut headers = Vec::new();
        loop {
            let line = line();
            let Some((name, value)) = line.split_once(": ") else { break };
            headers.push((name.to_lowercase(), value.to_owned()));
        }
        Self { status, headers, reader, text: String::new(), is_done: false }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn read_more(&mut self) {
        let length = self.header("content-length").and_then(|length| length.parse::<usize>().ok());
        let size = match length {
            Some(size) => {
                self.is_done = true;
                size
            }
            None => {
                let mut line = String::new();
                if self.reader.read_line(&mut line).unwrap_or(0) == 0 {
                    self.is_done = true;
                    return;
                }
                usize::from_str_radix(line.trim(), 16).unwrap()
            }
        };
        let mut bytes = vec![0; size];
        if size > 0 && self.reader.read_exact(&mut bytes).is_err() {
            self.is_done = true;
            return;
        }
        if length.is_none() {
            self.reader.read_line(&mut String::new()).unwrap();
            self.is_done |= size == 0;
        }
        self.text.push_str(std::str::from_utf8(&bytes).unwrap());
    }

    /// The body of an answer that is no message.
    pub fn read_text(&mut self) -> String {
        while !self.is_done {
            self.read_more();
        }
        std::mem::take(&mut self.text)
    }

    pub fn is_stream(&self) -> bool {
        self.header("content-type") == Some("text/event-stream")
    }

    /// The next message of a stream, or the one that there is.
    pub fn next_message(&mut self) -> Option<Value> {
        if !self.is_stream() {
            let text = self.read_text();
            return (!text.is_empty())
                .then(|| serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}")));
        }
        loop {
            while let Some(at) = self.text.find("\n\n") {
                let event: String = self.text.drain(..at + 2).collect();
                let data = event.lines().find_map(|line| line.strip_prefix("data: "));
                if let Some(data) = data {
                    return Some(serde_json::from_str(data).unwrap());
                }
            }
            if self.is_done {
                return None;
            }
            self.read_more();
        }
    }

    /// The client goes away.
    pub fn close_connection(self) {
        let _ = self.reader.get_ref().shutdown(Shutdown::Both);
    }
}

/// A client that made a handshake.
pub struct Visitor<'w> {
    pub web: &'w Web,
    pub session: String,
    next_id: u64,
}

impl<'w> Visitor<'w> {
    pub fn begin_session(web: &'w Web, capabilities: &Value) -> Self {
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": capabilities,
                            "clientInfo": {"name": "test", "version": "1"}});
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let mut answer = web.post_message(&[], &hello);
        assert_eq!(answer.status, 200);
        let session = answer.header("mcp-session-id").expect("a session").to_owned();
        let info = answer.next_message().unwrap();
        assert_eq!(info["result"]["serverInfo"]["name"], "synthdev", "{info}");
        let visitor = Self { web, session, next_id: 0 };
        let known = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(visitor.post_message(&known).status, 202);
        visitor
    }

    pub fn post_message(&self, message: &Value) -> Answer {
        self.post_bytes(message.to_string().as_bytes())
    }

    pub fn post_bytes(&self, message: &[u8]) -> Answer {
        let headers = [("Mcp-Session-Id", self.session.as_str()), ("Mcp-Protocol-Version", "2025-06-18")];
        self.web.send_request("POST", &headers, message)
    }

    /// The stream of what belongs to no request.
    pub fn open_stream(&self) -> Answer {
        self.web.request("GET", &[("Mcp-Session-Id", &self.session)], "")
    }

    pub fn begin_request(&mut self, method: &str, params: Value) -> (u64, Answer) {
        self.next_id += 1;
        let id = self.next_id;
        (id, self.post_message(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})))
    }

    pub fn send_request(&mut self, method: &str, params: Value) -> Value {
        let (id, mut answer) = self.begin_request(method, params);
        loop {
            let message = answer.next_message().expect("an answer");
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// The structured answer of a tool.
    pub fn call_tool(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.send_request("tools/call", json!({"name": tool, "arguments": arguments}));
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"]["structuredContent"].clone()
    }
}
