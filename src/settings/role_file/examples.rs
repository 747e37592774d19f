//! Few-shot examples of a role as messages that every provider accepts: each tool result directly behind
//! its call, legacy `function` messages turned into calls and results.

use synthdev_domain::message::{ChatMessage, ChatRole, ToolCall};
use synthdev_language::did_you_mean;
use synthdev_language::fields::ObjectFields;
use synthdev_language::json::JsonNode;
use synthdev_language::source::FileDiagnostics;

const KEYS: &[&str] =
    &["role", "content", "name", "arguments", "tool_calls", "tool_call_id", "function_call"];
const ROLES: &[&str] = &["user", "assistant", "tool", "function"];

/// `None` if the role has no `examples`.
pub fn read_examples(
    fields: &ObjectFields<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<Vec<ChatMessage>> {
    let items = fields.list(&["examples"], findings)?;
    let mut messages: Vec<ChatMessage> = Vec::with_capacity(items.len());
    let mut open: Vec<String> = Vec::new();
    for item in items {
        let Some(message) = ObjectFields::from_node(item, "an example", findings) else { continue };
        message.reject_unknown_keys(KEYS, findings);
        let content = message.text(&["content"], findings).map(|text| text.value).unwrap_or_default();
        let Some(role) = message.text(&["role"], findings) else {
            findings.add_error("C06", item.span.clone(), "an example needs a role", None);
            continue;
        };
        if let Some(node) = message.get(&["arguments"], findings).filter(|_| role.value != "function") {
            let hint = "the arguments of a call stand in `tool_calls` or `function_call`".to_owned();
            let wrong = "`arguments` belongs to an example of the role `function`";
            findings.add_error("C06", node.span.clone(), wrong, Some(hint));
        }
        if matches!(role.value.as_str(), "user" | "assistant") {
            report_unanswered(&mut open, item, findings);
        }
        match role.value.as_str() {
            "user" => messages.push(ChatMessage::text(ChatRole::User, content)),
            "assistant" => {
                let calls = read_calls(&message, messages.len(), findings);
                open = calls.iter().map(|call| call.id.clone()).collect();
                let mut spoken = ChatMessage::text(ChatRole::Assistant, content);
                spoken.tool_calls = calls;
                messages.push(spoken);
            }
            "tool" => read_tool_answer(&message, content, item, &mut open, &mut messages, findings),
            "function" => read_function_message(&message, content, &mut open, &mut messages, findings),
            other => {
                let hint = did_you_mean::suggest_or_list(other, "roles of examples", ROLES);
                findings.add_error(
                    "C06",
                    role.span,
                    format!("an example cannot have the role `{other}`"),
                    hint,
                );
            }
        }
    }
    if let Some(last) = items.last() {
        report_unanswered(&mut open, last, findings);
    }
    Some(messages)
}

/// The calls of an assistant message, the legacy `function_call` included.
fn read_calls(
    message: &ObjectFields<'_>,
    position: usize,
    findings: &mut FileDiagnostics<'_>,
) -> Vec<ToolCall> {
    let mut calls = Vec::new();
    let old = message.get(&["function_call"], findings);
    let new = message.list(&["tool_calls"], findings).unwrap_or_default();
    for node in new.iter().chain(old) {
        let id = node.get("id").and_then(JsonNode::as_str).map(str::to_owned);
        let body = node.get("function").unwrap_or(node);
        let Some(name) = body.get("name").and_then(JsonNode::as_str) else {
            findings.add_error("C06", node.span.clone(), "a call in an example needs a function name", None);
            continue;
        };
        let arguments = arguments_json(body.get("arguments"));
        let id = id.unwrap_or_else(|| format!("example_{position}_{}", calls.len()));
        calls.push(ToolCall { id, name: name.to_owned(), arguments, original: None });
    }
    calls
}

/// As JSON text; they may be written as such, or as an object.
fn arguments_json(given: Option<&JsonNode>) -> String {
    given.map_or_else(
        || "{}".to_owned(),
        |node| node.as_str().map_or_else(|| node.to_value().to_string(), str::to_owned),
    )
}

/// A `tool` message: answers the call it names, or the oldest open one.
fn read_tool_answer(
    message: &ObjectFields<'_>,
    content: String,
    item: &JsonNode,
    open: &mut Vec<String>,
    messages: &mut Vec<ChatMessage>,
    findings: &mut FileDiagnostics<'_>,
) {
    let named = message.text(&["tool_call_id"], findings).map(|id| id.value);
    let id = named.or_else(|| open.first().cloned());
    match id.filter(|id| open.contains(id)) {
        Some(id) => {
            open.retain(|known| *known != id);
            messages.push(ChatMessage::tool_result(id, content));
        }
        None => {
            let hint = "put it directly behind the assistant message that calls the tool".to_owned();
            findings.add_error("C06", item.span.clone(), "this tool result answers no open call", Some(hint));
        }
    }
}

/// A `function` message: a result. Without a call before it, the call is added, with the `arguments` beside the result.
fn read_function_message(
    message: &ObjectFields<'_>,
    content: String,
    open: &mut Vec<String>,
    messages: &mut Vec<ChatMessage>,
    findings: &mut FileDiagnostics<'_>,
) {
    if open.is_empty() {
        let name = message.text(&["name"], findings).map_or_else(|| "function".to_owned(), |name| name.value);
        let id = format!("example_{}_0", messages.len());
        let arguments = arguments_json(message.get(&["arguments"], findings));
        let call = ToolCall { id: id.clone(), name, arguments, original: None };
        match messages.last_mut().filter(|last| last.role == ChatRole::Assistant) {
            Some(spoken) => spoken.tool_calls.push(call),
            None => {
                let mut spoken = ChatMessage::text(ChatRole::Assistant, "");
                spoken.tool_calls.push(call);
                messages.push(spoken);
            }
        }
        open.push(id);
    }
    let id = open.remove(0);
    messages.push(ChatMessage::tool_result(id, content));
}

fn report_unanswered(open: &mut Vec<String>, item: &JsonNode, findings: &mut FileDiagnostics<'_>) {
    if !open.is_empty() {
        let hint = "every call of an example needs its tool message directly behind it".to_owned();
        let message = format!("the call `{}` before this is not answered", open.join("`, `"));
        findings.add_error("C06", item.span.clone(), message, Some(hint));
        open.clear();
    }
}
