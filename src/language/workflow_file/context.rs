//! The object of a context: how a conversation begins, and what views of it may leave out.

use super::super::json::{JsonNode, JsonNodeKind};
use super::super::source::FileDiagnostics;
use super::ast::ContextForm;
use super::fields::{check_object, read_choice, read_count, read_list, read_text, required_text};
use super::keys::{CONTEXT, MESSAGE};
use synthdev_domain::context::{CHARACTERS_A_TOKEN, DEFAULT_MAX_LENGTH, ToolVisibility, TrimPolicy};
use synthdev_domain::message::ChatRole;

pub(super) fn read_context(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<ContextForm> {
    check_object(node, &CONTEXT, findings)?;
    let messages = read_list(node, "starting_messages", findings, read_message);
    let max_length = read_count(node, "max_length", findings).map(|length| length as usize);
    let max_tokens = read_count(node, "max_tokens", findings).map(|tokens| tokens as usize);
    // The default applies only if the file sets no limit: it does not narrow a limit that is given in tokens.
    let usual = max_tokens.map_or(DEFAULT_MAX_LENGTH, |tokens| tokens.saturating_mul(CHARACTERS_A_TOKEN));
    let ways = [
        ("drop_oldest", TrimPolicy::DropOldest),
        ("summarize", TrimPolicy::Summarize),
        ("error", TrimPolicy::Error),
    ];
    let trim = read_choice(node, "trim", &ways, findings).map(|found| found.value);
    let pin_first = read_whole_number(node, "pin_first", findings);
    let seen = [
        ("none", ToolVisibility::None),
        ("summary", ToolVisibility::Summary),
        ("full", ToolVisibility::Full),
    ];
    let tool_visibility = read_choice(node, "tool_visibility", &seen, findings).map(|found| found.value);
    let name = required_text(node, "name", "the context", findings)?;
    Some(ContextForm {
        name,
        messages,
        max_length: max_length.unwrap_or(usual),
        max_tokens,
        trim: trim.unwrap_or_default(),
        summary_level: read_text(node, "summary_level", findings),
        pin_first: pin_first.unwrap_or_default(),
        tool_visibility: tool_visibility.unwrap_or_default(),
    })
}

/// A whole number, 0 included.
fn read_whole_number(node: &JsonNode, key: &str, findings: &mut FileDiagnostics<'_>) -> Option<usize> {
    let value = node.get(key).filter(|value| value.kind != JsonNodeKind::Null)?;
    let parsed = match &value.kind {
        JsonNodeKind::Number(text) => text.parse::<u32>().ok(),
        _ => None,
    };
    if parsed.is_none() {
        findings.add_error("E10", value.span.clone(), format!("`{key}` must be a whole number"), None);
    }
    parsed.map(|number| number as usize)
}

fn read_message(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<(ChatRole, String)> {
    check_object(node, &MESSAGE, findings)?;
    let words = [("system", ChatRole::System), ("user", ChatRole::User), ("assistant", ChatRole::Assistant)];
    let present = required_text(node, "role", "the starting message", findings).is_some();
    let role = if present { read_choice(node, "role", &words, findings) } else { None };
    let content = required_text(node, "content", "the starting message", findings)?;
    Some((role?.value, content.value))
}
