//! Brings the messages of a request into the one order that every server accepts, whatever its protocol.
//!
//! What strict servers demand, and so what is sent to all of them:
//! - one system message, and only at the start. A later one stays where it is, as a user's `[system]: …`, so
//!   that the prefix of the conversation can still be cached;
//! - user and assistant by turns: neighbours of one role become one message, with a blank line between;
//! - the first word is the user's and so is the last (or a tool's): `Begin.` is put before an assistant's
//!   start, `Continue.` after an assistant's end (some servers refuse such an end with 400, others
//!   silently complete the assistant's sentence);
//! - never an empty content; an assistant that only calls tools has no content at all;
//! - every tool call followed at once by its result, in the order of the calls, each call with an id of its own; no
//!   result without its call;
//! - function names of letters, digits, `_` and `-`, and arguments that are a JSON object, also where a model
//!   once sent something else: servers parse them again when they render their template.

use std::collections::HashSet;

use serde_json::{Value, json};

use synthdev_domain::message::{BEGIN, ChatMessage, ChatRole, ToolCall};

/// User message for a conversation that would end with the assistant.
pub const CONTINUE: &str = "Continue.";
const NO_OUTPUT: &str = "(no output)";
const NO_RESULT: &str = "(the tool call was interrupted; it has no result)";
/// The longest function name that OpenAI takes.
const NAME_LIMIT: usize = 64;

/// The same conversation in valid form. Never empty.
pub fn normalize_messages(messages: &[ChatMessage]) -> Vec<ChatMessage> {
    let lead = messages.iter().take_while(|message| message.role == ChatRole::System).count();
    let mut out = Vec::with_capacity(messages.len() + 2);
    for message in &messages[..lead] {
        push(&mut out, ChatRole::System, &message.content);
    }
    let mut used = HashSet::new();
    for at in lead..messages.len() {
        let message = &messages[at];
        match message.role {
            ChatRole::System => push(&mut out, ChatRole::User, &with_speaker("system", &message.content)),
            ChatRole::User => push(&mut out, ChatRole::User, &message.content),
            ChatRole::Assistant => {
                push(&mut out, ChatRole::Assistant, &message.content);
                if !message.tool_calls.is_empty() {
                    push_calls(&mut out, messages, at, &mut used);
                }
            }
            ChatRole::Tool if used.contains(&at) => {}
            ChatRole::Tool => push(&mut out, ChatRole::User, &with_speaker("tool result", &message.content)),
        }
    }
    let first = out.iter().position(|message| message.role != ChatRole::System);
    if first.is_none_or(|at| out[at].role == ChatRole::Assistant) {
        out.insert(first.unwrap_or(out.len()), ChatMessage::text(ChatRole::User, BEGIN));
    }
    if out.last().is_some_and(|last| last.role == ChatRole::Assistant) {
        out.push(ChatMessage::text(ChatRole::User, CONTINUE));
    }
    out
}

/// A name that any server takes: other characters become `_`.
pub fn function_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let name: String = name.chars().take(NAME_LIMIT).map(plain).collect();
    if name.is_empty() { "unknown".to_owned() } else { name }
}

/// Appends a text, to the message before it where that has the same role and no calls yet.
fn push(out: &mut Vec<ChatMessage>, role: ChatRole, text: &str) {
    if text.trim().is_empty() {
        return;
    }
    match out.last_mut() {
        Some(last) if last.role == role && last.tool_calls.is_empty() => {
            last.content.push_str("\n\n");
            last.content.push_str(text);
        }
        _ => out.push(ChatMessage::text(role, text)),
    }
}

/// Appends calls with their results, wherever after the call these are.
fn push_calls(out: &mut Vec<ChatMessage>, messages: &[ChatMessage], at: usize, used: &mut HashSet<usize>) {
    let calls = &messages[at].tool_calls;
    let carrier = match out.last_mut() {
        Some(last) if last.role == ChatRole::Assistant && last.tool_calls.is_empty() => last,
        _ => {
            out.push(ChatMessage::text(ChatRole::Assistant, ""));
            let end = out.len() - 1;
            &mut out[end]
        }
    };
    carrier.sealed.clone_from(&messages[at].sealed);
    let ids = distinct_call_ids(calls);
    carrier.tool_calls = calls.iter().zip(&ids).map(|(call, id)| valid_call(call, id)).collect();
    for (call, id) in calls.iter().zip(ids) {
        let found = (at + 1..messages.len()).find(|index| {
            let message = &messages[*index];
            message.role == ChatRole::Tool
                && message.tool_call_id.as_deref() == Some(call.id.as_str())
                && !used.contains(index)
        });
        let answer = found.map_or(NO_RESULT, |index| {
            used.insert(index);
            messages[index].content.as_str()
        });
        let answer = if answer.trim().is_empty() { NO_OUTPUT } else { answer };
        out.push(ChatMessage::tool_result(id, answer));
    }
}

fn with_speaker(name: &str, text: &str) -> String {
    if text.trim().is_empty() { String::new() } else { format!("[{name}]: {text}") }
}

/// Unique ids for calls of one reply; keeps the ids that are unique already.
fn distinct_call_ids(calls: &[ToolCall]) -> Vec<String> {
    let mut ids: Vec<String> = Vec::with_capacity(calls.len());
    for call in calls {
        let stem = if call.id.is_empty() { "call" } else { call.id.as_str() };
        let numbered = (2..).map(|number| format!("{stem}_{number}"));
        let id = std::iter::once(stem.to_owned()).chain(numbered).find(|id| !ids.contains(id));
        ids.extend(id);
    }
    ids
}

fn valid_call(call: &ToolCall, id: &str) -> ToolCall {
    let arguments = match serde_json::from_str::<Value>(&call.arguments) {
        Ok(Value::Object(_)) => call.arguments.clone(),
        Ok(_) | Err(_) if call.arguments.trim().is_empty() => "{}".to_owned(),
        Ok(_) | Err(_) => json!({ "invalid_arguments": call.arguments }).to_string(),
    };
    ToolCall { id: id.to_owned(), name: function_name(&call.name), arguments, original: None }
}

#[cfg(test)]
#[path = "conversation/tests.rs"]
mod tests;
