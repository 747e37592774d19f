//! What a search can find of an input: messages, calls and results of tools, variables (HIST-3).

use serde_json::Value;

use crate::domain::message::ToolCall;
use crate::domain::workflow::plain_text;
use crate::engine::input::{Answer, Input};

/// `None`: nothing that a person would look for.
pub fn of(input: &Input) -> Option<String> {
    let mut words = String::new();
    let mut add = |text: &str| {
        if !text.trim().is_empty() {
            if !words.is_empty() {
                words.push('\n');
            }
            words.push_str(text);
        }
    };
    match input {
        Input::Replied { reply, .. } => {
            add(&reply.text);
            for ToolCall { name, arguments, .. } in &reply.tool_calls {
                add(name);
                add(arguments);
            }
        }
        Input::ToolDone { outcome, .. } => add(&outcome.content),
        Input::Evaluated { outcome, .. } => {
            for (key, value) in &outcome.patch.set {
                add(key);
                add(&plain_text(value));
            }
        }
        Input::Said { text } | Input::Answered { answer: Answer::Text { text }, .. } => add(text),
        Input::Answered { answer: Answer::Value { value }, .. } => add(&plain_text(value)),
        Input::ModelFailed { error, .. } => add(&error.to_string()),
        Input::ScriptFailed { error, .. } => add(&error.message),
        Input::Resumed(resumed) => {
            for (_, answer) in &resumed.answers {
                match answer {
                    Answer::Text { text } => add(text),
                    Answer::Value { value: Value::String(text) } => add(text),
                    Answer::Value { value } => add(&value.to_string()),
                    _ => {}
                }
            }
        }
        _ => {}
    }
    (!words.is_empty()).then_some(words)
}
