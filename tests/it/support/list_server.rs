//! A model server that also lists its models: GET for the list, POST for scripted answers. It wants its key.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use super::model_server::Dialect;

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
    requests_seen: Arc<Mutex<Vec<Asked>>>,
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
    dialect: Dialect,
    key: Option<String>,
    list: Value,
    script: Arc<Mutex<VecDeque<Say>>>,
    requests_seen: Arc<Mutex<Vec<Asked>>>,
}

impl ListServer {
    /// `list`: the answer to GET. After the script every POST is answered with `ready`.
    pub fn start_server(key: Option<&str>, list: Value, script: Vec<Say>) -> Self {
        Self::start_in_dialect(Dialect::Completions, key, list, script)
    }

    /// The same in any protocol.
    pub fn start_in_dialect(dialect: Dialect, key: Option<&str>, list: Value, script: Vec<Say>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let shop = Shop {
            dialect,
            key: key.map(str::to_owned),
            list,
            script: Arc::new(Mutex::new(script.into())),
            requests_seen: Arc::clone(&asked),
        };
        // ends with the test's process
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let shop = shop.clone();
                thread::spawn(move || while answer_connection(&socket, &shop).is_some() {});
            }
        });
        Self { base_url, requests_seen: asked }
    }

    /// One that takes connections and never says a word.
    pub fn silent_server() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        thread::spawn(move || listener.incoming().flatten().collect::<Vec<TcpStream>>());
        Self { base_url, requests_seen: Arc::default() }
    }

    /// An address at which nothing listens any more.
    pub fn closed_address() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/v1", listener.local_addr().unwrap())
    }

    /// `127.0.0.1:PORT`
    pub fn host_and_port(&self) -> &str {
        self.base_url.trim_start_matches("http://").trim_end_matches("/v1")
    }

    pub fn requests_seen(&self) -> Vec<Asked> {
        self.requests_seen.lock().unwrap().clone()
    }

    /// The models that were asked for an answer, in order.
    pub fn models(&self) -> Vec<String> {
        let asked = self.requests_seen();
        let posts = asked.iter().filter(|one| !one.body.is_null());
        posts.map(|one| one.body["model"].as_str().unwrap().to_owned()).collect()
    }
}

/// Models of these names, as OpenAI lists them.
pub fn model_list(names: &[&str]) -> Value {
    let data: Vec<Value> = names.iter().map(|name| json!({"id": name, "object": "model"})).collect();
    json!({"object": "list", "data": data})
}

fn answer_connection(socket: &TcpStream, shop: &Shop) -> Option<()> {
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
    let given = match shop.dialect {
        Dialect::Messages => headers.get("x-api-key").cloned(),
        Dialect::Completions | Dialect::Responses => {
            headers.get("authorization").and_then(|value| value.strip_prefix("Bearer ")).map(str::to_owned)
        }
    };
    let known = shop.key.is_none() || shop.key == given;
    let versioned = shop.dialect != Dialect::Messages || headers.contains_key("anthropic-version");
    shop.requests_seen.lock().unwrap().push(Asked {
        path: path.clone(),
        headers: headers.clone(),
        body: body.clone(),
    });
    let error = |kind: &str, message: &str| shop.dialect.error(kind, message).into_bytes();
    let (status, kind, text) = if !known {
        (401, "application/json", error("authentication_error", "Incorrect API key provided"))
    } else if !versioned {
        (400, "application/json", error("invalid_request_error", "anthropic-version: header is required"))
    } else if !posted {
        (200, "application/json", shop.list.to_string().into_bytes())
    } else if path != shop.dialect.path() {
        (404, "application/json", error("not_found_error", "there is nothing here"))
    } else if let Err(why) = shop.dialect.check_request(&headers, &body) {
        (400, "application/json", error("invalid_request_error", &why))
    } else {
        let say = shop.script.lock().unwrap().pop_front().unwrap_or(Say::Text("ready"));
        let said = match &say {
            Say::Text(text) => shop.dialect.text(text),
            Say::Call(name, arguments) => shop.dialect.calls(&[("call_1", name, &arguments.to_string())]),
        };
        let model = body["model"].as_str().unwrap_or_default();
        (200, "text/event-stream", said.with_model(model).bytes())
    };
    let head =
        format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n", text.len());
    let mut socket = socket;
    socket.write_all(&[head.into_bytes(), text].concat()).ok()
}
