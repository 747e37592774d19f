//! The checked form of a replies file. Refuses: unknown keys in a reply, a reply that says nothing.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Map, Value};

use crate::domain::cost::Usage;
use crate::domain::message::ToolCall;
use crate::domain::model::ModelError;

use super::BadScript;

#[derive(Debug)]
pub struct Reply {
    pub fit: Option<Fit>,
    pub delay_ms: u64,
    /// Characters per streamed piece.
    pub chunk: Option<usize>,
    pub usage: Option<Usage>,
    pub outcome: Outcome,
}

#[derive(Debug)]
pub enum Outcome {
    Answer(Answer),
    Error(ModelError),
}

#[derive(Default, Debug)]
pub struct Answer {
    pub text: String,
    pub reasoning: String,
    /// An empty id is filled in when the reply is given.
    pub tool_calls: Vec<ToolCall>,
}

/// What the last message must hold.
#[derive(Debug)]
pub struct Fit {
    text: String,
    pattern: Option<Regex>,
}

impl Fit {
    fn new(text: &str) -> Self {
        // What is no regular expression is still a part of a text.
        Self { text: text.to_owned(), pattern: Regex::new(text).ok() }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn fits(&self, message: &str) -> bool {
        message.contains(&self.text) || self.pattern.as_ref().is_some_and(|pattern| pattern.is_match(message))
    }
}

const REPLY_KEYS: [&str; 7] = ["text", "tool_calls", "error", "delay_ms", "chunk", "usage", "reasoning"];
const MATCH_KEYS: [&str; 4] = ["match", "reply", "delay_ms", "chunk"];
const CALL_KEYS: [&str; 3] = ["name", "arguments", "id"];
const ERROR_KEYS: [&str; 3] = ["kind", "retry_after_ms", "message"];

/// The model's name and the replies per agent.
pub fn read(file: &Value) -> Result<(String, BTreeMap<String, Vec<Reply>>), BadScript> {
    let mut problems = Vec::new();
    let model = file.get("model").and_then(Value::as_str).unwrap_or("scripted").to_owned();
    let mut replies = BTreeMap::new();
    match file.get("replies") {
        Some(Value::Object(agents)) => {
            for (agent, list) in agents {
                let at = format!("replies.{agent}");
                let Some(list) = list.as_array() else {
                    problems.push(format!("{at}: a list of replies is needed"));
                    continue;
                };
                let read = |(index, value)| reply(value, &format!("{at}[{index}]"), &mut problems);
                replies.insert(agent.clone(), list.iter().enumerate().filter_map(read).collect());
            }
        }
        _ => problems.push("replies: an object with a list of replies per agent is needed".to_owned()),
    }
    if problems.is_empty() { Ok((model, replies)) } else { Err(BadScript { problems }) }
}

fn reply(value: &Value, at: &str, problems: &mut Vec<String>) -> Option<Reply> {
    let members = object(value, at, problems)?;
    let Some(wanted) = members.get("match") else { return plain(members, at, problems) };
    unknown(members, &MATCH_KEYS, at, problems);
    let Some(wanted) = wanted.as_str() else {
        problems.push(format!("{at}.match: a text is needed"));
        return None;
    };
    let Some(inner) = members.get("reply") else {
        problems.push(format!("{at}: `match` needs a `reply` beside it"));
        return None;
    };
    let at = format!("{at}.reply");
    let inner = object(inner, &at, problems)?;
    let found = plain(inner, &at, problems)?;
    Some(Reply {
        fit: Some(Fit::new(wanted)),
        delay_ms: found.delay_ms.max(number(members, "delay_ms", &at, problems).unwrap_or(0)),
        chunk: found.chunk.or_else(|| chunk(members, &at, problems)),
        ..found
    })
}

fn plain(members: &Map<String, Value>, at: &str, problems: &mut Vec<String>) -> Option<Reply> {
    unknown(members, &REPLY_KEYS, at, problems);
    let answer = Answer {
        text: text(members, "text", at, problems),
        reasoning: text(members, "reasoning", at, problems),
        tool_calls: calls(members, at, problems),
    };
    let outcome = match members.get("error") {
        Some(error) => Outcome::Error(failure(error, &format!("{at}.error"), problems)?),
        None if answer.text.trim().is_empty() && answer.tool_calls.is_empty() => {
            problems.push(format!("{at}: one of `text`, `tool_calls`, `error` is needed"));
            return None;
        }
        None => Outcome::Answer(answer),
    };
    Some(Reply {
        fit: None,
        delay_ms: number(members, "delay_ms", at, problems).unwrap_or(0),
        chunk: chunk(members, at, problems),
        usage: usage(members, at, problems),
        outcome,
    })
}

fn calls(members: &Map<String, Value>, at: &str, problems: &mut Vec<String>) -> Vec<ToolCall> {
    let Some(list) = members.get("tool_calls") else { return Vec::new() };
    let Some(list) = list.as_array() else {
        problems.push(format!("{at}.tool_calls: a list is needed"));
        return Vec::new();
    };
    let mut found = Vec::new();
    for (index, value) in list.iter().enumerate() {
        let at = format!("{at}.tool_calls[{index}]");
        let Some(members) = object(value, &at, problems) else { continue };
        unknown(members, &CALL_KEYS, &at, problems);
        let name = text(members, "name", &at, problems);
        if name.is_empty() {
            problems.push(format!("{at}: `name` is needed"));
        }
        let arguments = match members.get("arguments") {
            None => "{}".to_owned(),
            // A text is sent as it is, so that broken JSON can be scripted.
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
        };
        found.push(ToolCall { id: text(members, "id", &at, problems), name, arguments });
    }
    found
}

fn failure(value: &Value, at: &str, problems: &mut Vec<String>) -> Option<ModelError> {
    let members = object(value, at, problems)?;
    unknown(members, &ERROR_KEYS, at, problems);
    let retry_after_ms = number(members, "retry_after_ms", at, problems);
    let message = text(members, "message", at, problems);
    let detail = if message.is_empty() { "scripted error".to_owned() } else { message };
    Some(match members.get("kind").and_then(Value::as_str) {
        Some("rate_limited" | "rate_limit") => ModelError::RateLimited { retry_after_ms, detail },
        Some("overloaded") => ModelError::Overloaded { retry_after_ms, detail },
        Some("transport") => ModelError::Transport { detail },
        Some("timeout") => ModelError::Timeout { detail },
        Some("auth") => ModelError::Auth { detail },
        Some("too_long") => ModelError::TooLong { detail },
        Some("refused") => ModelError::Refused { detail },
        Some("protocol") => ModelError::Protocol { detail },
        _ => {
            problems.push(format!(
                "{at}.kind: one of rate_limited, overloaded, transport, timeout, auth, too_long, refused, protocol is needed"
            ));
            return None;
        }
    })
}

fn usage(members: &Map<String, Value>, at: &str, problems: &mut Vec<String>) -> Option<Usage> {
    let value = members.get("usage")?;
    let at = format!("{at}.usage");
    let counts = object(value, &at, problems)?;
    unknown(counts, &["prompt", "completion", "cached", "reasoning"], &at, problems);
    let mut count = |key: &str| number(counts, key, &at, problems).unwrap_or(0);
    Some(Usage {
        prompt: count("prompt"),
        completion: count("completion"),
        cached: count("cached"),
        reasoning: count("reasoning"),
    })
}

fn chunk(members: &Map<String, Value>, at: &str, problems: &mut Vec<String>) -> Option<usize> {
    let size = number(members, "chunk", at, problems)?;
    if size == 0 {
        problems.push(format!("{at}.chunk: at least 1 is needed"));
    }
    usize::try_from(size).ok().filter(|size| *size > 0)
}

fn number(members: &Map<String, Value>, key: &str, at: &str, problems: &mut Vec<String>) -> Option<u64> {
    let value = members.get(key)?;
    let found = value.as_u64();
    if found.is_none() {
        problems.push(format!("{at}.{key}: a whole number is needed"));
    }
    found
}

fn text(members: &Map<String, Value>, key: &str, at: &str, problems: &mut Vec<String>) -> String {
    match members.get(key) {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(_) => {
            problems.push(format!("{at}.{key}: a text is needed"));
            String::new()
        }
    }
}

fn object<'a>(value: &'a Value, at: &str, problems: &mut Vec<String>) -> Option<&'a Map<String, Value>> {
    let found = value.as_object();
    if found.is_none() {
        problems.push(format!("{at}: an object is needed"));
    }
    found
}

fn unknown(members: &Map<String, Value>, known: &[&str], at: &str, problems: &mut Vec<String>) {
    for key in members.keys().filter(|key| !known.contains(&key.as_str()) && !key.starts_with("x_")) {
        problems.push(format!("{at}: unknown key `{key}` (known: {})", known.join(", ")));
    }
}
