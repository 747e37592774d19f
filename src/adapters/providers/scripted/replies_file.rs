//! The checked form of a replies file. Refuses: unknown keys in a reply, a reply that says nothing.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use synthdev_domain::cost::TokenUsage;
use synthdev_domain::message::ToolCall;
use synthdev_domain::mock_results::TextPattern;
use synthdev_domain::model::ModelError;

use super::expectations::RequestExpectation;
use super::replies_file_error::{RepliesFileError, RepliesFileProblem, RepliesValuePath};

#[derive(Debug)]
pub struct ScriptedReply {
    pub expectation: RequestExpectation,
    pub delay_ms: u64,
    /// Characters per streamed piece.
    pub chunk_chars: Option<usize>,
    pub usage: Option<TokenUsage>,
    pub outcome: ScriptedReplyOutcome,
}

#[derive(Debug)]
pub enum ScriptedReplyOutcome {
    Answer(ScriptedReplyContent),
    Error(ModelError),
}

#[derive(Default, Debug)]
pub struct ScriptedReplyContent {
    pub text: String,
    pub reasoning: String,
    /// An empty id is filled in when the reply is given.
    pub tool_calls: Vec<ToolCall>,
}

const REPLY_KEYS: [&str; 7] = ["text", "tool_calls", "error", "delay_ms", "chunk", "usage", "reasoning"];
/// Those of them that say what the agent must be asked.
const WANTS_KEYS: [&str; 3] = ["match", "sees", "sees_not"];
const MATCH_KEYS: [&str; 6] = ["match", "sees", "sees_not", "reply", "delay_ms", "chunk"];
const CALL_KEYS: [&str; 3] = ["name", "arguments", "id"];
const ERROR_KEYS: [&str; 3] = ["kind", "retry_after_ms", "message"];

/// The model's name and the replies per agent.
pub fn parse_replies_file(
    file: &Value,
) -> Result<(String, BTreeMap<String, Vec<ScriptedReply>>), RepliesFileError> {
    let mut problems = Vec::new();
    let model = file.get("model").and_then(Value::as_str).unwrap_or("scripted").to_owned();
    let mut replies = BTreeMap::new();
    let root = RepliesValuePath::default().key("replies");
    match file.get("replies") {
        Some(Value::Object(agents)) => {
            for (agent, list) in agents {
                let at = root.key(agent);
                let Some(list) = list.as_array() else {
                    problems.push(at.problem_at("a list of replies is needed"));
                    continue;
                };
                let read = |(index, value)| parse_reply(value, &at.item(index), &mut problems);
                replies.insert(agent.clone(), list.iter().enumerate().filter_map(read).collect());
            }
        }
        _ => problems.push(root.problem_at("an object with a list of replies per agent is needed")),
    }
    if problems.is_empty() { Ok((model, replies)) } else { Err(RepliesFileError { problems }) }
}

fn parse_reply(
    value: &Value,
    at: &RepliesValuePath,
    problems: &mut Vec<RepliesFileProblem>,
) -> Option<ScriptedReply> {
    let members = parse_object(value, at, problems)?;
    let Some(first) = WANTS_KEYS.into_iter().find(|key| members.contains_key(*key)) else {
        return parse_plain_reply(members, at, problems);
    };
    check_unknown_keys(members, &MATCH_KEYS, at, problems);
    let Some(inner) = members.get("reply") else {
        problems.push(at.problem_at(format!("`{first}` needs a `reply` beside it")));
        return None;
    };
    let wants = RequestExpectation {
        last_message: members.get("match").and_then(|wanted| parse_fit(wanted, &at.key("match"), problems)),
        contains: parse_fits(members, "sees", at, problems),
        contains_not: parse_fits(members, "sees_not", at, problems),
    };
    let at = at.key("reply");
    let inner = parse_object(inner, &at, problems)?;
    let found = parse_plain_reply(inner, &at, problems)?;
    Some(ScriptedReply {
        expectation: wants,
        delay_ms: found.delay_ms.max(parse_number(members, "delay_ms", &at, problems).unwrap_or(0)),
        chunk_chars: found.chunk_chars.or_else(|| parse_chunk(members, &at, problems)),
        ..found
    })
}

fn parse_fits(
    members: &Map<String, Value>,
    key: &str,
    at: &RepliesValuePath,
    problems: &mut Vec<RepliesFileProblem>,
) -> Vec<TextPattern> {
    let at = at.key(key);
    match members.get(key) {
        None => Vec::new(),
        Some(Value::Array(list)) => {
            let read = |(index, text)| parse_fit(text, &at.item(index), problems);
            list.iter().enumerate().filter_map(read).collect()
        }
        Some(text) => parse_fit(text, &at, problems).into_iter().collect(),
    }
}

fn parse_fit(
    value: &Value,
    at: &RepliesValuePath,
    problems: &mut Vec<RepliesFileProblem>,
) -> Option<TextPattern> {
    let text = value.as_str();
    if text.is_none() {
        problems.push(at.problem_at("a text is needed"));
    }
    text.map(TextPattern::new)
}

fn parse_plain_reply(
    members: &Map<String, Value>,
    at: &RepliesValuePath,
    problems: &mut Vec<RepliesFileProblem>,
) -> Option<ScriptedReply> {
    check_unknown_keys(members, &REPLY_KEYS, at, problems);
    let answer = ScriptedReplyContent {
        text: parse_text(members, "text", at, problems),
        reasoning: parse_text(members, "reasoning", at, problems),
        tool_calls: parse_calls(members, at, problems),
    };
    let outcome = match members.get("error") {
        Some(error) => ScriptedReplyOutcome::Error(parse_failure(error, &at.key("error"), problems)?),
        None if answer.text.trim().is_empty() && answer.tool_calls.is_empty() => {
            problems.push(at.problem_at("one of `text`, `tool_calls`, `error` is needed"));
            return None;
        }
        None => ScriptedReplyOutcome::Answer(answer),
    };
    Some(ScriptedReply {
        expectation: RequestExpectation::default(),
        delay_ms: parse_number(members, "delay_ms", at, problems).unwrap_or(0),
        chunk_chars: parse_chunk(members, at, problems),
        usage: parse_usage(members, at, problems),
        outcome,
    })
}

fn parse_calls(
    members: &Map<String, Value>,
    at: &RepliesValuePath,
    problems: &mut Vec<RepliesFileProblem>,
) -> Vec<ToolCall> {
    let Some(list) = members.get("tool_calls") else { return Vec::new() };
    let Some(list) = list.as_array() else {
        problems.push(at.key("tool_calls").problem_at("a list is needed"));
        return Vec::new();
    };
    let mut found = Vec::new();
    for (index, value) in list.iter().enumerate() {
        let at = at.key("tool_calls").item(index);
        let Some(members) = parse_object(value, &at, problems) else { continue };
        check_unknown_keys(members, &CALL_KEYS, &at, problems);
        let name = parse_text(members, "name", &at, problems);
        if name.is_empty() {
            problems.push(at.problem_at("`name` is needed"));
        }
        let arguments = match members.get("arguments") {
            None => "{}".to_owned(),
            // A text is sent as it is, so that broken JSON can be scripted.
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
        };
        found.push(ToolCall {
            id: parse_text(members, "id", &at, problems),
            name,
            arguments,
            original: None,
        });
    }
    found
}

fn parse_failure(
    value: &Value,
    at: &RepliesValuePath,
    problems: &mut Vec<RepliesFileProblem>,
) -> Option<ModelError> {
    let members = parse_object(value, at, problems)?;
    check_unknown_keys(members, &ERROR_KEYS, at, problems);
    let retry_after_ms = parse_number(members, "retry_after_ms", at, problems);
    let message = parse_text(members, "message", at, problems);
    let detail = if message.is_empty() { "scripted error".to_owned() } else { message };
    Some(match members.get("kind").and_then(Value::as_str) {
        Some("rate_limited" | "rate_limit") => ModelError::RateLimited { retry_after_ms, detail },
        Some("overloaded") => ModelError::Overloaded { retry_after_ms, detail },
        Some("transport") => ModelError::Transport { detail },
        Some("timeout") => ModelError::IdleTimeout { detail },
        Some("auth") => ModelError::Auth { detail },
        Some("too_long") => ModelError::TooLong { detail },
        Some("refused") => ModelError::Refused { detail },
        Some("protocol") => ModelError::Protocol { detail },
        _ => {
            problems.push(at.key("kind").problem_at(
                "one of rate_limited, overloaded, transport, timeout, auth, too_long, refused, protocol is needed",
            ));
            return None;
        }
    })
}

fn parse_usage(
    members: &Map<String, Value>,
    at: &RepliesValuePath,
    problems: &mut Vec<RepliesFileProblem>,
) -> Option<TokenUsage> {
    let value = members.get("usage")?;
    let at = at.key("usage");
    let counts = parse_object(value, &at, problems)?;
    check_unknown_keys(counts, &["prompt", "completion", "cached", "reasoning", "written"], &at, problems);
    let mut count = |key: &str| parse_number(counts, key, &at, problems).unwrap_or(0);
    Some(TokenUsage {
        prompt: count("prompt"),
        completion: count("completion"),
        cached: count("cached"),
        reasoning: count("reasoning"),
        written: count("written"),
    })
}

fn parse_chunk(
    members: &Map<String, Value>,
    at: &RepliesValuePath,
    problems: &mut Vec<RepliesFileProblem>,
) -> Option<usize> {
    let size = parse_number(members, "chunk", at, problems)?;
    if size == 0 {
        problems.push(at.key("chunk").problem_at("at least 1 is needed"));
    }
    usize::try_from(size).ok().filter(|size| *size > 0)
}

fn parse_number(
    members: &Map<String, Value>,
    key: &str,
    at: &RepliesValuePath,
    problems: &mut Vec<RepliesFileProblem>,
) -> Option<u64> {
    let value = members.get(key)?;
    let found = value.as_u64();
    if found.is_none() {
        problems.push(at.key(key).problem_at("a whole number is needed"));
    }
    found
}

fn parse_text(
    members: &Map<String, Value>,
    key: &str,
    at: &RepliesValuePath,
    problems: &mut Vec<RepliesFileProblem>,
) -> String {
    match members.get(key) {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(_) => {
            problems.push(at.key(key).problem_at("a text is needed"));
            String::new()
        }
    }
}

fn parse_object<'a>(
    value: &'a Value,
    at: &RepliesValuePath,
    problems: &mut Vec<RepliesFileProblem>,
) -> Option<&'a Map<String, Value>> {
    let found = value.as_object();
    if found.is_none() {
        problems.push(at.problem_at("an object is needed"));
    }
    found
}

fn check_unknown_keys(
    members: &Map<String, Value>,
    known: &'static [&'static str],
    at: &RepliesValuePath,
    problems: &mut Vec<RepliesFileProblem>,
) {
    for key in members.keys().filter(|key| !known.contains(&key.as_str()) && !key.starts_with("x_")) {
        problems.push(at.unknown_key_problem(key, known));
    }
}
