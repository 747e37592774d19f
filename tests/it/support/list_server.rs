//! A model server that also lists its models: GET for the list, POST for scripted answers. It wants its key.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use super::model_server::strict_check;

/// One request as it came; the body of a GET is null.
#[derive(Clone, Debug)]
pub struct Asked {
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: Value,
}

pub struct ListServer {
    pub base_url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// What is said to a POST.
#[derive(Clone)]
pub enum Say {
    Text(&'static str),
    /// Name and arguments.
    Call(&'static str, Value),
}

#[derive(Clone)]
struct Shop {
    key: Option<String>,
    list: Value,
    script: Arc<Mutex<VecDeque<Say>>>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl ListServer {
    /// `list`: the answer to GET. After the script every POST is answered with `ready`.
    pub fn start(key: Option<&str>, list: Value, script: Vec<Say>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let shop = Shop {
            key: key.map(str::to_owned),
            list,
            script: Arc::new(Mutex::new(script.into())),
            asked: Arc::clone(&asked),
        };
        // ends with the test's process
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let shop = shop.clone();
                thread::spawn(move || while answer(&socket, &shop).is_some() {});
            }
        });
        Self { base_url, asked }
    }

    /// One that takes connections and never says a word.
    pub fn silent() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        thread::spawn(move || listener.incoming().flatten().collect::<Vec<TcpStream>>());
        Self { base_url, asked: Arc::default() }
    }

    /// `127.0.0.1:PORT`
    pub fn host(&self) -> &str {
        self.base_url.trim_start_matches("http://").trim_end_matches("/v1")
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The models that were asked for an answer, in order.
    pub fn models(&self) -> Vec<String> {
        let asked = self.asked();
        let posts = asked.iter().filter(|one| !one.body.is_null());
        posts.map(|one| one.body["model"].as_str().unwrap().to_owned()).collect()
    }
}

/// Models of these names, as OpenAI lists them.
pub fn named(names: &[&str]) -> Value {
    let data: Vec<Value> = names.iter().map(|name| json!({"id": name, "object": "model"})).collect();
    json!({"object": "list", "data": data})
}

fn answer(socket: &TcpStream, shop: &Shop) -> Option<()> {
    let mut reader = BufReader::new(socket);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").map_or(0, |text| text.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let posted = length > 0;
    let known =
        shop.key.as_ref().is_none_or(|key| headers.get("authorization") == Some(&format!("Bearer {key}")));
    shop.asked.lock().unwrap().push(Asked { path, headers, body: body.clone() });
    let (status, kind, text) = if !known {
        (401, "application/json", json!({"error": {"message": "Incorrect API key provided"}}).to_string())
    } else if !posted {
        (200, "application/json", shop.list.to_string())
    } else if let Err(why) = strict_check(&body) {
        (400, "application/json", json!({"error": {"message": why}}).to_string())
    } else {
        let say = shop.script.lock().unwrap().pop_front().unwrap_or(Say::Text("ready"));
        (200, "text/event-stream", stream(&say))
    };
    let head =
        format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n", text.len());
    let mut socket = socket;
    socket.write_all(format!("{head}{text}").as_bytes()).ok()
}

fn stream(say: &Say) -> String {
    let (delta, finish) = match say {
        Say::Text(text) => (json!({"role": "assistant", "content": text}), "stop"),
        Say::Call(name, arguments) => {
            let function = json!({"name": name, "arguments": arguments.to_string()});
            let call = json!({"index": 0, "id": "call_1", "type": "function", "function": function});
            (json!({"role": "assistant", "content": null, "tool_calls": [call]}), "tool_calls")
        }
    };
    let chunk = |choices: Value, usage: Value| {
        let all = json!({"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": choices, "usage": usage});
        format!("data: {all}\n\n")
    };
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15});
    let first = chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), Value::Null);
    let last = chunk(json!([{"index": 0, "delta": {}, "finish_reason": finish}]), Value::Null);
    format!("{first}{last}{}data: [DONE]\n\n", chunk(json!([]), usage))
}
