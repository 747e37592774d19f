//! What a search can find of an input: messages, calls and results of tools, variables (HIST-3).

use serde::Serialize;
use serde_json::Value;

use crate::domain::message::ToolCall;
use crate::domain::workflow::plain_text;
use crate::engine::input::{Answer, Input};

/// Whose words they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WordsKind {
    /// What the run was started with.
    Input,
    Message,
    ToolCall,
    ToolResult,
    Variable,
    /// What a person said or answered.
    Person,
    Error,
}

/// A text of an input; `name` is the tool's or the variable's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Part {
    pub(super) kind: WordsKind,
    pub(super) name: Option<String>,
    pub(super) text: String,
}

/// `None`: nothing that a person would look for.
pub(super) fn of(input: &Input) -> Option<String> {
    let parts = parts(input);
    let texts = parts.iter().flat_map(|part| part.name.iter().chain([&part.text]));
    let texts: Vec<&str> = texts.map(String::as_str).filter(|text| !text.trim().is_empty()).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// In the order in which they are indexed.
pub(super) fn parts(input: &Input) -> Vec<Part> {
    let one = |kind, text: &str| vec![Part { kind, name: None, text: text.to_owned() }];
    match input {
        Input::Replied { reply, .. } => {
            let mut parts = one(WordsKind::Message, &reply.text);
            parts.extend(reply.tool_calls.iter().map(|ToolCall { name, arguments, .. }| Part {
                kind: WordsKind::ToolCall,
                name: Some(name.clone()),
                text: arguments.clone(),
            }));
            parts
        }
        Input::ToolDone { outcome, .. } => one(WordsKind::ToolResult, &outcome.content),
        Input::Evaluated { outcome, .. } => {
            let set = outcome.patch.set.iter();
            set.map(|(key, value)| Part {
                kind: WordsKind::Variable,
                name: Some(key.clone()),
                text: plain_text(value),
            })
            .collect()
        }
        Input::Said { text } => one(WordsKind::Person, text),
        Input::Answered { answer, .. } => {
            answered(answer).map_or_else(Vec::new, |text| one(WordsKind::Person, &text))
        }
        Input::ModelFailed { error, .. } => one(WordsKind::Error, &error.to_string()),
        Input::ScriptFailed { error, .. } => one(WordsKind::Error, &error.message),
        Input::Resumed(resumed) => {
            let answers = resumed.answers.iter().filter_map(|(_, answer)| answered(answer));
            answers.flat_map(|text| one(WordsKind::Person, &text)).collect()
        }
        _ => Vec::new(),
    }
}

fn answered(answer: &Answer) -> Option<String> {
    match answer {
        Answer::Text { text } | Answer::Value { value: Value::String(text) } => Some(text.clone()),
        Answer::Value { value } => Some(plain_text(value)),
        Answer::Continue | Answer::Stop => None,
    }
}
