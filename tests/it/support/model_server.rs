//! A model server on 127.0.0.1 that is as strict as the strictest real one and as sloppy as the sloppiest.
//!
//! It writes its bytes by hand, so that cuts, stalls and odd answers can be scripted; it answers 400 to every
//! request that some real provider would refuse (`strict.rs`), and records all of them.
//!
//! ```ignore
//! let server = ModelServer::start(vec![Behaviour::text("Hello."), Behaviour::status(500, "oops")]).await;
//! // … choice.base_url = server.base_url …
//! assert_eq!(server.requests().len(), 2);
//! ```

pub mod dialect;
pub mod messages;
pub mod responses;
mod schema;
mod strict;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

pub use dialect::Dialect;
pub use strict::check_body as strict_check;

/// What one request is answered with.
#[derive(Clone, Debug)]
pub struct Behaviour {
    status: u16,
    content_type: &'static str,
    headers: Vec<(String, String)>,
    steps: Vec<Step>,
    /// The next request on its connection is taken and never answered: the connection closes instead.
    closes_next: bool,
}

#[derive(Clone, Debug)]
enum Step {
    Send(Vec<u8>),
    /// Nothing more, until the client goes away.
    Stall,
    /// This for each number from 0 on, until the client goes away.
    Flood(fn(usize) -> String),
    /// Closes the connection in the middle.
    Cut,
    /// Breaks the connection: what is on its way is lost too.
    Reset,
}

impl Behaviour {
    fn with_status(status: u16, content_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            content_type,
            headers: Vec::new(),
            steps: vec![Step::Send(body.into())],
            closes_next: false,
        }
    }

    /// A streamed text, one chunk per word, then usage (10 prompt, 5 completion) and `[DONE]`.
    pub fn text(text: &str) -> Self {
        let mut deltas: Vec<Value> = vec![json!({"role": "assistant", "content": ""})];
        deltas.extend(text.split_inclusive(' ').map(|word| json!({"content": word})));
        Self::from_chunks(&deltas, "stop")
    }

    /// Tool calls as (id, name, arguments), their arguments split over chunks of three characters.
    pub fn calls(calls: &[(&str, &str, &str)]) -> Self {
        let mut deltas = vec![json!({"role": "assistant", "content": null})];
        deltas.extend(Self::call_chunks(calls));
        Self::from_chunks(&deltas, "tool_calls")
    }

    fn call_chunks(calls: &[(&str, &str, &str)]) -> Vec<Value> {
        let mut deltas = Vec::new();
        for (index, (id, name, arguments)) in calls.iter().enumerate() {
            let head = json!({"index": index, "id": id, "type": "function",
                "function": {"name": name, "arguments": ""}});
            deltas.push(json!({"tool_calls": [head]}));
            let letters: Vec<char> = arguments.chars().collect();
            for piece in letters.chunks(3) {
                let piece: String = piece.iter().collect();
                deltas.push(json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}));
            }
        }
        deltas
    }

    /// Deltas by the book, then usage and `[DONE]`.
    pub fn from_chunks(deltas: &[Value], finish: &str) -> Self {
        let chunk = |choices: Value, usage: Value| {
            json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000,
                "model": "mock-1", "system_fingerprint": null, "choices": choices, "usage": usage})
        };
        let choice = |delta: &Value, finish: Value| json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]);
        let mut events: Vec<String> =
            deltas.iter().map(|delta| chunk(choice(delta, Value::Null), Value::Null).to_string()).collect();
        events.push(chunk(choice(&json!({}), json!(finish)), Value::Null).to_string());
        let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15});
        events.push(chunk(json!([]), usage).to_string());
        events.push("[DONE]".to_owned());
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        Self::events(&events)
    }

    /// An event stream of exactly these data lines.
    pub fn events(events: &[&str]) -> Self {
        let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        Self::raw_stream(&body)
    }

    /// An event stream of exactly these bytes.
    pub fn raw_stream(body: &str) -> Self {
        Self::with_status(200, "text/event-stream", body)
    }

    /// An event stream of these bytes, so many at a time.
    pub fn in_steps(body: &[u8], step: usize) -> Self {
        let mut behaviour = Self::raw_stream("");
        behaviour.steps = body.chunks(step).map(|piece| Step::Send(piece.to_vec())).collect();
        behaviour
    }

    /// Status 200 with a JSON body in place of a stream.
    pub fn from_body(body: &Value) -> Self {
        Self::with_status(200, "application/json", body.to_string())
    }

    /// Status 200 with a page.
    pub fn html_page(page: &str) -> Self {
        Self::with_status(200, "text/html; charset=utf-8", page)
    }

    /// Any status with any body.
    pub fn status(status: u16, body: &str) -> Self {
        let kind = if body.starts_with('<') { "text/html" } else { "application/json" };
        Self::with_status(status, kind, body)
    }

    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The connection breaks after what was sent so far.
    #[must_use]
    pub fn with_cut_connection(mut self) -> Self {
        self.steps.push(Step::Cut);
        self
    }

    /// Everything that it sends, without pauses and breaks.
    pub fn bytes(&self) -> Vec<u8> {
        let sent = self
            .steps
            .iter()
            .filter_map(|step| if let Step::Send(bytes) = step { Some(bytes) } else { None });
        sent.flatten().copied().collect()
    }

    /// In the name of the model that was asked for, unless the test has given another one.
    pub fn with_model(mut self, model: &str) -> Self {
        let (usual, own) = (r#""model":"mock-1""#, format!(r#""model":{}"#, json!(model)));
        for step in &mut self.steps {
            if let Step::Send(bytes) = step
                && let Ok(text) = std::str::from_utf8(bytes)
            {
                *bytes = text.replace(usual, &own).into_bytes();
            }
        }
        self
    }

    /// The connection is reset after what was sent so far.
    #[must_use]
    pub fn with_reset_connection(mut self) -> Self {
        self.steps.push(Step::Reset);
        self
    }

    /// Answers in the name of another model than `mock-1`.
    #[must_use]
    pub fn served_by(mut self, model: &str) -> Self {
        for step in &mut self.steps {
            if let Step::Send(bytes) = step {
                *bytes = String::from_utf8_lossy(bytes).replace("mock-1", model).into_bytes();
            }
        }
        self
    }

    /// After what was sent so far this for each number from 0 on, without an end.
    #[must_use]
    pub fn with_flood(mut self, piece: fn(usize) -> String) -> Self {
        self.steps.push(Step::Flood(piece));
        self
    }

    /// The answer is whole and its connection is said to be kept, but closes with the next request.
    #[must_use]
    pub fn then_dead(mut self) -> Self {
        self.closes_next = true;
        self
    }

    /// Silence after what was sent so far, until the client goes away.
    #[must_use]
    pub fn with_stall(mut self) -> Self {
        self.steps.push(Step::Stall);
        self
    }

    /// Silence from the start: not even a status.
    pub fn total_silence() -> Self {
        Self::without_words(Step::Stall)
    }

    /// The connection is reset before anything was answered.
    pub fn reset_at_once() -> Self {
        Self::without_words(Step::Reset)
    }

    fn without_words(step: Step) -> Self {
        Self { status: 0, content_type: "", headers: Vec::new(), steps: vec![step], closes_next: false }
    }
}

/// One request as it came.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: Value,
    /// Which connection it came on, from 1.
    pub connection: usize,
    /// Why a strict provider refuses it.
    pub rejection: Option<String>,
}

/// Answers by what is asked, in place of a script.
pub trait RequestResponder: Send + Sync {
    /// A request has come in whole; refused ones are not shown here.
    fn reply_to(&self, request: &Recorded) -> Behaviour;

    /// The answer to it has gone out whole.
    fn on_answered(&self, request: &Recorded);
}

#[derive(Default)]
struct Shared {
    dialect: Dialect,
    responder: Option<Arc<dyn RequestResponder>>,
    script: VecDeque<Behaviour>,
    per_model: BTreeMap<String, VecDeque<Behaviour>>,
    requests: Vec<Recorded>,
    /// What GET is answered with, by path; anything else is not there.
    documents: BTreeMap<String, Value>,
    requested_paths: Vec<String>,
    connections: usize,
}

/// A running server; it ends with the test's runtime.
pub struct ModelServer {
    pub base_url: String,
    shared: Arc<Mutex<Shared>>,
    closed_count: watch::Receiver<usize>,
}

impl ModelServer {
    /// Answers requests in this order, whichever model they ask.
    pub async fn start_server(script: Vec<Behaviour>) -> Self {
        Self::serve_shared(Shared { script: script.into(), ..Shared::default() }).await
    }

    /// The same in Anthropic's protocol.
    pub async fn start_messages(script: Vec<Behaviour>) -> Self {
        Self::start_in_dialect(Dialect::Messages, script).await
    }

    /// The same in any protocol.
    pub async fn start_in_dialect(dialect: Dialect, script: Vec<Behaviour>) -> Self {
        Self::serve_shared(Shared { dialect, script: script.into(), ..Shared::default() }).await
    }

    /// Each model's requests by its own list, in any protocol; more lists may come later (`answer`).
    pub async fn start_per_model_in_dialect(dialect: Dialect, scripts: Vec<(&str, Vec<Behaviour>)>) -> Self {
        let per_model = scripts.into_iter().map(|(model, list)| (model.to_owned(), list.into())).collect();
        Self::serve_shared(Shared { dialect, per_model, ..Shared::default() }).await
    }

    /// Answers each model's requests in the order of its own list: for agents that speak at the same time.
    pub async fn start_per_model(scripts: Vec<(&str, Vec<Behaviour>)>) -> Self {
        Self::start_per_model_in_dialect(Dialect::Completions, scripts).await
    }

    /// Answers whatever is asked, as the responder says.
    pub async fn start_with(responder: Arc<dyn RequestResponder>) -> Self {
        Self::serve_shared(Shared { responder: Some(responder), ..Shared::default() }).await
    }

    async fn serve_shared(shared: Shared) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let shared = Arc::new(Mutex::new(shared));
        let (tell, gone) = watch::channel(0);
        let state = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let connection = {
                    let mut shared = state.lock().unwrap();
                    shared.connections += 1;
                    shared.connections
                };
                tokio::spawn(serve_connection(socket, connection, Arc::clone(&state), tell.clone()));
            }
        });
        Self { base_url, shared, closed_count: gone }
    }

    /// The next request for this model is answered so.
    pub fn queue_answer(&self, model: &str, behaviour: Behaviour) {
        let mut shared = self.shared.lock().unwrap();
        shared.per_model.entry(model.to_owned()).or_default().push_back(behaviour);
    }

    /// Drops the answers for this model that were not used.
    pub fn forget_answers(&self, model: &str) {
        self.shared.lock().unwrap().per_model.remove(model);
    }

    /// Waits until this many requests have come.
    pub async fn wait_requests(&self, count: usize) {
        while self.requests().len() < count {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    }

    /// Every request so far, refused ones included.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.lock().unwrap().requests.clone()
    }

    /// GET of this path is answered with it. Such requests are none of `requests`.
    pub fn add_document(&self, path: &str, document: Value) {
        self.shared.lock().unwrap().documents.insert(path.to_owned(), document);
    }

    /// The path of every GET so far, found or not.
    pub fn requested_paths(&self) -> Vec<String> {
        self.shared.lock().unwrap().requested_paths.clone()
    }

    /// How many connections were opened.
    pub fn connection_count(&self) -> usize {
        self.shared.lock().unwrap().connections
    }

    /// Waits until the client has closed this many stalled answers.
    pub async fn wait_closed(&self, count: usize) {
        let mut gone = self.closed_count.clone();
        gone.wait_for(|seen| *seen >= count).await.unwrap();
    }
}

/// A URL at which nobody listens.
pub fn dead_url() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/v1", listener.local_addr().unwrap())
}

fn find_document(shared: &mut Shared, path: &str) -> Vec<u8> {
    shared.requested_paths.push(path.to_owned());
    let (status, text) = match shared.documents.get(path) {
        Some(document) => (200, document.to_string()),
        None => (404, shared.dialect.error("not_found_error", "there is nothing here")),
    };
    let head = format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: ");
    format!("{head}{}\r\n\r\n{text}", text.len()).into_bytes()
}

async fn serve_connection(
    mut socket: TcpStream,
    connection: usize,
    shared: Arc<Mutex<Shared>>,
    gone: watch::Sender<usize>,
) {
    socket.set_nodelay(true).unwrap();
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut socket, &mut buffer, connection, &shared).await {
        let responder = shared.lock().unwrap().responder.clone().filter(|_| request.rejection.is_none());
        let Some(responder) = responder else {
            let behaviour = next_behaviour(&mut shared.lock().unwrap(), request);
            let dies = behaviour.closes_next;
            if !write_answer(&mut socket, behaviour, &gone).await {
                return;
            }
            if dies {
                let unheard = read_request(&mut socket, &mut buffer, connection, &shared).await;
                shared.lock().unwrap().requests.extend(unheard);
                return;
            }
            continue;
        };
        shared.lock().unwrap().requests.push(request.clone());
        let behaviour =
            responder.reply_to(&request).with_model(request.body["model"].as_str().unwrap_or_default());
        if !write_answer(&mut socket, behaviour, &gone).await {
            return;
        }
        responder.on_answered(&request);
    }
}

fn next_behaviour(shared: &mut Shared, request: Recorded) -> Behaviour {
    let model = request.body["model"].as_str().unwrap_or_default().to_owned();
    let rejected = request.rejection.clone();
    shared.requests.push(request);
    if let Some(why) = rejected {
        return Behaviour::status(400, &shared.dialect.error("invalid_request_error", &why));
    }
    let list = shared.per_model.get_mut(&model).unwrap_or(&mut shared.script);
    let end =
        || Behaviour::status(400, &json!({"error": {"message": "the mock's script is used up"}}).to_string());
    list.pop_front().unwrap_or_else(end).with_model(&model)
}

/// The next request that asks for an answer; a GET before it gets its document.
async fn read_request(
    socket: &mut TcpStream,
    buffer: &mut Vec<u8>,
    connection: usize,
    shared: &Mutex<Shared>,
) -> Option<Recorded> {
    let dialect = shared.lock().unwrap().dialect;
    let (head, end) = loop {
        let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") else {
            if socket.read_buf(buffer).await.ok()? == 0 {
                return None;
            }
            continue;
        };
        let head = String::from_utf8(buffer[..end].to_vec()).ok()?;
        let Some(path) = head.strip_prefix("GET ").and_then(|rest| rest.split(' ').next()) else {
            break (head, end);
        };
        buffer.drain(..end + 4);
        let document = find_document(&mut shared.lock().unwrap(), path);
        socket.write_all(&document).await.ok()?;
    };
    let mut lines = head.split("\r\n");
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length: usize = headers.get("content-length")?.parse().ok()?;
    while buffer.len() < end + 4 + length {
        if socket.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    let body: Vec<u8> = buffer.drain(..end + 4 + length).skip(end + 4).collect();
    let parsed = serde_json::from_slice::<Value>(&body).map_err(|error| format!("body is not JSON: {error}"));
    let rejected = match &parsed {
        Ok(body) => dialect
            .check_request(&headers, body)
            .err()
            .or_else(|| (path != dialect.path()).then(|| format!("no such path: {path}"))),
        Err(why) => Some(why.clone()),
    };
    Some(Recorded { path, headers, body: parsed.unwrap_or_default(), connection, rejection: rejected })
}

/// Whether the connection can go on.
async fn write_answer(socket: &mut TcpStream, behaviour: Behaviour, gone: &watch::Sender<usize>) -> bool {
    if behaviour.status > 0 {
        let mut head = format!(
            "HTTP/1.1 {} Scripted\r\ncontent-type: {}\r\ntransfer-encoding: chunked\r\n",
            behaviour.status, behaviour.content_type
        );
        for (name, value) in &behaviour.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        if socket.write_all(head.as_bytes()).await.is_err() {
            return false;
        }
    }
    for step in behaviour.steps {
        match step {
            Step::Send(bytes) if bytes.is_empty() => {}
            Step::Send(bytes) => {
                let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
                chunk.extend_from_slice(&bytes);
                chunk.extend_from_slice(b"\r\n");
                if socket.write_all(&chunk).await.is_err() {
                    return false;
                }
            }
            Step::Stall => {
                let mut rest = [0; 64];
                while matches!(socket.read(&mut rest).await, Ok(count) if count > 0) {}
                gone.send_modify(|count| *count += 1);
                return false;
            }
            Step::Flood(piece) => {
                for number in 0.. {
                    // some pieces together, as a busy server sends them
                    let text: String = (0..16).map(|one| piece(number * 16 + one)).collect();
                    let chunk = format!("{:x}\r\n{text}\r\n", text.len());
                    if socket.write_all(chunk.as_bytes()).await.is_err() {
                        break;
                    }
                }
                gone.send_modify(|count| *count += 1);
                return false;
            }
            Step::Cut => return false,
            Step::Reset => {
                socket.set_zero_linger().unwrap();
                return false;
            }
        }
    }
    socket.write_all(b"0\r\n\r\n").await.is_ok()
}
