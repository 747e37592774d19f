//! Exchanges written down as text and played: in one go, and against servers that are killed between any two messages.
//!
//! The first character of a line is its kind: `>` a tool and its arguments, `<` its answer, `!` a protocol error
//! instead of an answer, `?` what the server asks its client's model meanwhile, `=` the model's reply. `$name` is a
//! placeholder for a value that differs from run to run, but is the same at each place; `$_` matches anything.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::super::cli::world::World;
use super::client::Client;

pub type Values = BTreeMap<String, Value>;

/// Fields that are others each time, or count tries, or tell of a repetition.
const VOLATILE: [&str; 7] =
    ["expiresAt", "expiresInSeconds", "duplicate", "triesLeft", "tries_left", "hint", "retry_after_ms"];

pub struct Transcript {
    pub world: Box<dyn Fn() -> World>,
    pub flags: &'static [&'static str],
    /// Of the client.
    pub capabilities: Value,
    pub text: String,
}

/// Where the server is killed: everywhere, or at one exchange.
type At = Option<usize>;

#[derive(Clone, Copy, Debug)]
enum Kill {
    Never,
    /// The client has received the answer.
    Heard(At),
    /// The answer gets lost: the client says the same again.
    Unheard(At),
    /// While the server works on it, or waits for its client's model.
    Working(At),
}

struct Exchange {
    tool: String,
    /// With `$name` in it.
    arguments: String,
    asked_pairs: Vec<(Value, Value)>,
    answer: Result<Value, Value>,
}

impl Transcript {
    pub fn new(world: impl Fn() -> World + 'static, flags: &'static [&'static str], text: &str) -> Self {
        Self { world: Box::new(world), flags, capabilities: json!({}), text: text.to_owned() }
    }

    /// It is what happens, and the same happens whenever the server is killed (the first
    /// `MCP_KILLS` places also on their own).
    #[track_caller]
    pub fn check_transcript(&self) {
        let undisturbed = self.play_transcript(Kill::Never);
        let kinds: [fn(At) -> Kill; 3] = [Kill::Heard, Kill::Unheard, Kill::Working];
        let alone = std::env::var("MCP_KILLS").ok().and_then(|text| text.parse().ok());
        let single = (0..undisturbed.len()).take(alone.unwrap_or(0)).map(Some);
        for at in single.chain([None]) {
            for kind in kinds {
                let kill = kind(at);
                assert_eq!(self.play_transcript(kill), undisturbed, "{kill:?}");
            }
        }
    }

    /// Every answer, with names for what differs each time.
    fn play_transcript(&self, kill: Kill) -> Vec<Value> {
        let exchanges = parse_exchanges(&self.text);
        assert!(!exchanges.is_empty());
        let mut player = Player::from_transcript(self);
        for (at, exchange) in exchanges.iter().enumerate() {
            let here = |point: At| point.is_none_or(|point| point == at);
            let told = match kill {
                Kill::Working(point) if here(point) => player.kill_before_answer(exchange),
                // an answer that says no is said again with another count
                Kill::Unheard(point) if here(point) && exchange.is_success() => {
                    let first = player.play_exchange(exchange);
                    assert!(first.is_ok(), "{first:?}");
                    player.reopen_server();
                    player.play_exchange(exchange)
                }
                _ => player.play_exchange(exchange),
            };
            player.record_answer(exchange, told);
            if let Kill::Heard(point) = kill
                && here(point)
            {
                player.reopen_server();
            }
        }
        player.end_play()
    }
}

impl Exchange {
    fn is_success(&self) -> bool {
        self.answer.as_ref().is_ok_and(|told| !matches!(told["status"].as_str(), Some("error" | "failed")))
    }
}

struct Player<'t> {
    transcript: &'t Transcript,
    world: World,
    client: Option<Client>,
    values: Values,
    heard_values: Vec<Value>,
}

impl<'t> Player<'t> {
    fn from_transcript(transcript: &'t Transcript) -> Self {
        let world = (transcript.world)();
        let root = world.project().canonicalize().unwrap();
        let values = Values::from([("$root".to_owned(), json!(root))]);
        let mut player = Self { transcript, world, client: None, values, heard_values: Vec::new() };
        player.reopen_server();
        player
    }

    /// The server dies, and another one is there.
    fn reopen_server(&mut self) {
        if let Some(client) = self.client.take() {
            client.kill_server();
        }
        let mut client = Client::start_server(&self.world, self.transcript.flags);
        client.handshake_with(&self.transcript.capabilities);
        self.client = Some(client);
    }

    fn client_mut(&mut self) -> &mut Client {
        self.client.as_mut().unwrap()
    }

    fn begin_exchange(&mut self, exchange: &Exchange) -> u64 {
        let arguments = serde_json::from_str(&fill_values(&exchange.arguments, &self.values));
        let arguments = arguments.unwrap_or_else(|error| panic!("{error}: {}", exchange.arguments));
        self.client_mut().begin_call(&exchange.tool, arguments)
    }

    /// A step that is not ready yet is asked for again.
    fn play_exchange(&mut self, exchange: &Exchange) -> Result<Value, Value> {
        for _ in 0..60 {
            let id = self.begin_exchange(exchange);
            let told = self.wait_answer(exchange, id);
            if told.as_ref().is_ok_and(|told| told["status"] == "waiting") {
                continue;
            }
            return told.map(|told| self.resume_if_cut_off(told));
        }
        panic!("{} waits for ever", exchange.tool);
    }

    fn wait_answer(&mut self, exchange: &Exchange, id: u64) -> Result<Value, Value> {
        for (request, reply) in &exchange.asked_pairs {
            let asked = self.next_server_request();
            assert_same(request, &asked["params"], &mut self.values);
            let reply = json!({"jsonrpc": "2.0", "id": asked["id"], "result": reply});
            self.client_mut().send_line(&reply.to_string());
        }
        let answer = self.client_mut().wait_answer(id);
        match answer.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(answer["result"]["structuredContent"].clone()),
        }
    }

    /// The next request of the server, whatever comes before it.
    fn next_server_request(&mut self) -> Value {
        loop {
            let message = self.client_mut().next_message();
            if message["method"] == "sampling/createMessage" {
                return message;
            }
        }
    }

    /// The server is killed before its answer is there.
    fn kill_before_answer(&mut self, exchange: &Exchange) -> Result<Value, Value> {
        self.begin_exchange(exchange);
        if exchange.asked_pairs.is_empty() {
            self.reopen_server();
            return self.play_exchange(exchange);
        }
        self.next_server_request();
        self.reopen_server();
        let runs = self.client_mut().call_tool("list_runs", json!({}))["runs"].clone();
        let run = json!({"workflowId": runs[0]["workflowId"]});
        let id = self.client_mut().begin_call("continue_workflow", run);
        self.wait_answer(exchange, id)
    }

    /// A run that was cut off is taken up.
    fn resume_if_cut_off(&mut self, mut told: Value) -> Value {
        let inner = if told["run"].is_object() { told["run"].take() } else { told.clone() };
        let run = json!({"workflowId": inner["workflowId"]});
        let ignored = inner.get("ignoredResults").cloned();
        let mut stands = match inner["status"].as_str() {
            Some("interrupted") => self.client_mut().call_tool("continue_workflow", run),
            Some("running") => self
                .client_mut()
                .call_tool("get_workflow_status", json!({"workflowId": run["workflowId"], "wait": true})),
            _ => inner,
        };
        // it came with the answer to the results, not with the later status of the run
        if let (Some(ignored), Some(stands)) = (ignored, stands.as_object_mut()) {
            stands.insert("ignoredResults".to_owned(), ignored);
        }
        if told["run"].is_null() && told.get("run").is_some() {
            told["run"] = stands;
            return told;
        }
        stands
    }

    fn record_answer(&mut self, exchange: &Exchange, told: Result<Value, Value>) {
        let (expected, mut said) = match (&exchange.answer, told) {
            (Ok(expected), Ok(told)) => (expected, told),
            (Err(expected), Err(error)) => (expected, error),
            (_, told) => panic!("{} {}: {told:?}", exchange.tool, exchange.arguments),
        };
        if expected.get("duplicate").is_none()
            && let Some(said) = said.as_object_mut()
        {
            said.remove("duplicate");
        }
        assert_same(expected, &said, &mut self.values);
        self.heard_values.push(said);
    }

    fn end_play(mut self) -> Vec<Value> {
        self.client.take().unwrap().close_client();
        let mut names: Vec<(&String, &str)> =
            self.values.iter().filter_map(|(name, value)| Some((name, value.as_str()?))).collect();
        names.retain(|(_, value)| value.len() > 5);
        names.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        let named = |told: &Value| {
            let text = names.iter().fold(told.to_string(), |text, (name, value)| text.replace(value, name));
            normalize_value(serde_json::from_str(&text).unwrap())
        };
        self.heard_values.iter().map(named).collect()
    }
}

fn normalize_value(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(name, _)| !VOLATILE.contains(&name.as_str()));
            Value::Object(kept.map(|(name, value)| (name, normalize_value(value))).collect::<Map<_, _>>())
        }
        Value::Array(items) => items.into_iter().map(normalize_value).collect(),
        other => other,
    }
}

fn parse_exchanges(text: &str) -> Vec<Exchange> {
    let mut entries: Vec<(char, String)> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let mark = line.chars().next().unwrap();
        match (mark, line[1..].strip_prefix(' ')) {
            ('>' | '<' | '!' | '?' | '=', Some(rest)) => entries.push((mark, rest.to_owned())),
            _ => entries.last_mut().unwrap().1.push_str(line),
        }
    }
    let value =
        |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let mut exchanges: Vec<Exchange> = Vec::new();
    for (mark, text) in &entries {
        match mark {
            '>' => {
                let (tool, arguments) = text.split_once(' ').unwrap();
                let (tool, arguments) = (tool.to_owned(), arguments.to_owned());
                exchanges.push(Exchange {
                    tool,
                    arguments,
                    asked_pairs: Vec::new(),
                    answer: Err(Value::Null),
                });
            }
            '<' => exchanges.last_mut().unwrap().answer = Ok(value(text)),
            '!' => exchanges.last_mut().unwrap().answer = Err(value(text)),
            '?' => exchanges.last_mut().unwrap().asked_pairs.push((value(text), Value::Null)),
            _ => exchanges.last_mut().unwrap().asked_pairs.last_mut().unwrap().1 = value(text),
        }
    }
    exchanges
}

/// A text in which values stand for their names.
pub fn fill_values(text: &str, values: &Values) -> String {
    values
        .iter()
        .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("\"{name}\""), &value.to_string()))
}

#[track_caller]
fn assert_same(expected: &Value, said: &Value, values: &mut Values) {
    assert!(
        matches_values(expected, said, values),
        "written down is\n{expected}\nsaid was\n{said}\nwith {values:?}"
    );
}

/// Whether both are the same, where `$name` is whatever was said there first.
pub fn matches_values(expected: &Value, said: &Value, values: &mut Values) -> bool {
    match (expected, said) {
        (Value::String(name), _) if name == "$_" => true,
        (Value::String(start), Value::String(said)) if start.ends_with("$_") => {
            said.starts_with(start.trim_end_matches("$_"))
        }
        (Value::String(name), said) if name.starts_with('$') => {
            values.entry(name.clone()).or_insert_with(|| said.clone()) == said
        }
        (Value::Object(expected), Value::Object(said)) => {
            expected.len() == said.len()
                && expected
                    .iter()
                    .all(|(key, value)| said.get(key).is_some_and(|said| matches_values(value, said, values)))
        }
        (Value::Array(expected), Value::Array(said)) => {
            expected.len() == said.len()
                && expected.iter().zip(said).all(|(one, other)| matches_values(one, other, values))
        }
        (one, other) => one == other,
    }
}
