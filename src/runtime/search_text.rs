//! What a search can find of a row: messages, calls and results of tools, variables.

use serde::Serialize;
use serde_json::Value;

use synthdev_domain::journal::{JournalRow, JournalRowKind};
use synthdev_domain::message::ToolCall;
use synthdev_domain::tool::{ASKED_BY, ToolInvocation};
use synthdev_domain::workflow::plain_text;
use synthdev_engine::input::{Input, UserAnswer};

/// Whose words they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchTextKind {
    /// What the run was started with.
    Input,
    Message,
    ToolCall,
    ToolResult,
    Variable,
    /// What the user sent or answered.
    Person,
    Error,
}

/// A text of an input; `name` is the tool's or the variable's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SearchText {
    pub(super) kind: SearchTextKind,
    pub(super) name: Option<String>,
    pub(super) text: String,
}

/// `None`: the input has no text worth searching.
pub(super) fn input_search_text(input: &Input) -> Option<String> {
    join_texts(&input_texts(input))
}

/// The same for what a state itself calls: a command, a request, a tool. An agent's calls are in its reply.
pub(super) fn call_search_text(invocation: &ToolInvocation) -> Option<String> {
    let ToolInvocation { agent, tool, arguments, .. } = invocation;
    (agent == ASKED_BY)
        .then(|| join_texts(&[tool_call_text(tool, unescape_json_text(&arguments.to_string()))]))
        .flatten()
}

/// The same of a row as it was written.
pub(super) fn row_search_text(row: &JournalRow) -> Option<String> {
    join_texts(&parts_of_row(row))
}

/// In the order in which they are indexed; none of a row that cannot be read.
pub(super) fn parts_of_row(row: &JournalRow) -> Vec<SearchText> {
    match row.kind {
        JournalRowKind::Input => {
            serde_json::from_str(&row.body).map_or_else(|_| Vec::new(), |input| input_texts(&input))
        }
        JournalRowKind::Intent => first_call_text(&row.body).into_iter().collect(),
        JournalRowKind::Begun => Vec::new(),
    }
}

/// From an intent: a second attempt says nothing new.
fn first_call_text(body: &str) -> Option<SearchText> {
    // most intents are calls of models, and need no second look
    if !body.contains(r#""run_tool""#) {
        return None;
    }
    let intent: Value = serde_json::from_str(body).ok()?;
    let own = intent["effect"] == "run_tool" && intent["agent"] == ASKED_BY && intent["attempt"].is_null();
    own.then(|| {
        tool_call_text(
            intent["tool"].as_str().unwrap_or_default(),
            unescape_json_text(&intent["arguments"].to_string()),
        )
    })
}

fn tool_call_text(tool: &str, arguments: String) -> SearchText {
    SearchText { kind: SearchTextKind::ToolCall, name: Some(tool.to_owned()), text: arguments }
}

/// Decodes the escapes of JSON: `\n` becomes a line break, not an `n` before the next word. Other texts stay as they
/// are.
fn unescape_json_text(text: &str) -> String {
    // most have nothing that JSON spells in a way of its own
    let parsed = text.contains('\\').then(|| serde_json::from_str::<Value>(text).ok()).flatten();
    parsed.map_or_else(|| text.to_owned(), |value| value_text(&value))
}

fn value_text(value: &Value) -> String {
    let text = plain_text(value);
    if value.is_string() || !text.contains('\\') {
        return text;
    }
    let mut lines = Vec::new();
    push_value_lines(value, "", &mut lines);
    lines.join("\n")
}

/// A line for each value, with the name that it has.
fn push_value_lines(value: &Value, name: &str, lines: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| push_value_lines(value, name, lines)),
        Value::Array(items) => items.iter().for_each(|item| push_value_lines(item, name, lines)),
        _ if name.is_empty() => lines.push(plain_text(value)),
        _ => lines.push(format!("{name}: {}", plain_text(value))),
    }
}

fn join_texts(parts: &[SearchText]) -> Option<String> {
    let texts = parts.iter().flat_map(|part| part.name.iter().chain([&part.text]));
    let texts: Vec<&str> = texts.map(String::as_str).filter(|text| !text.trim().is_empty()).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn input_texts(input: &Input) -> Vec<SearchText> {
    let one = |kind, text: &str| vec![SearchText { kind, name: None, text: text.to_owned() }];
    match input {
        Input::Replied { reply, .. } => {
            let mut parts = one(SearchTextKind::Message, &reply.text);
            let calls = reply.tool_calls.iter();
            parts.extend(
                calls.map(|ToolCall { name, arguments, .. }| {
                    tool_call_text(name, unescape_json_text(arguments))
                }),
            );
            parts
        }
        Input::ToolDone { outcome, .. } => {
            one(SearchTextKind::ToolResult, &unescape_json_text(&outcome.content))
        }
        Input::ToolChecked { refusal: Some(outcome), .. } => {
            one(SearchTextKind::ToolResult, &unescape_json_text(&outcome.content))
        }
        Input::Evaluated { outcome, .. } => {
            let set = outcome.patch.set.iter();
            set.map(|(key, value)| SearchText {
                kind: SearchTextKind::Variable,
                name: Some(key.clone()),
                text: value_text(value),
            })
            .collect()
        }
        Input::Said { text } => one(SearchTextKind::Person, text),
        Input::Answered { answer, .. } => {
            user_answer_text(answer).map_or_else(Vec::new, |text| one(SearchTextKind::Person, &text))
        }
        Input::ModelFailed { error, .. } => one(SearchTextKind::Error, &error.to_string()),
        Input::ScriptFailed { error, .. } => one(SearchTextKind::Error, &error.message),
        Input::Resumed(resumed) => {
            let answers = resumed.answers.iter().filter_map(|(_, answer)| user_answer_text(answer));
            answers.flat_map(|text| one(SearchTextKind::Person, &text)).collect()
        }
        _ => Vec::new(),
    }
}

fn user_answer_text(answer: &UserAnswer) -> Option<String> {
    match answer {
        UserAnswer::Text { text } | UserAnswer::Value { value: Value::String(text) } => Some(text.clone()),
        UserAnswer::Value { value } => Some(value_text(value)),
        UserAnswer::Continue | UserAnswer::Stop | UserAnswer::Unfit { .. } => None,
    }
}
