//! The object of an agent: its role, its side, its model and tools. Names are resolved later.

use super::super::json::{JsonNode, JsonNodeKind};
use super::super::source::FileDiagnostics;
use super::super::tool_patterns::ToolPattern;
use super::ast::AgentForm;
use super::definitions_lookup::NamedDefinitions;
use super::error_policy;
use super::fields::{check_object, read_choice, read_count, read_text, report_wrong_type, required_text};
use super::keys::AGENT;
use super::spanned::{SpannedText, SpannedValue};
use synthdev_domain::agent::{InputVisibility, MemoryPolicy, ToolLoop};
use synthdev_domain::context::ConversationSide;

pub(super) fn read_agent(
    node: &JsonNode,
    named: &NamedDefinitions,
    findings: &mut FileDiagnostics<'_>,
) -> Option<AgentForm> {
    check_object(node, &AGENT, findings)?;
    let words = [("user", ConversationSide::User), ("assistant", ConversationSide::Assistant)];
    let present = required_text(node, "role", "the agent", findings).is_some();
    let side = if present { read_choice(node, "role", &words, findings) } else { None };
    let context = required_text(node, "context", "the agent", findings);
    let name = read_text(node, "name", findings);
    let level = read_optional_text(node, "level", findings);
    let model = read_optional_text(node, "model", findings);
    let provider = read_optional_text(node, "provider", findings);
    let temperature = read_temperature(node, findings);
    let max_output_tokens = read_count(node, "max_output_tokens", findings);
    let budget = error_policy::read_budget(node, named, findings);
    let included_tools = read_patterns(node, "included_tools", findings);
    let excluded_tools = read_patterns(node, "excluded_tools", findings).unwrap_or_default();
    let system_append = read_text(node, "system_message_append", findings).map(|text| text.value);
    let max_tool_rounds = read_count(node, "max_tool_rounds", findings);
    let loops = [("auto", ToolLoop::Auto), ("step", ToolLoop::Step)];
    let tool_loop = read_choice(node, "tool_loop", &loops, findings).map(|found| found.value);
    let seen = [("shared", InputVisibility::Shared), ("private", InputVisibility::Private)];
    let input_visibility = read_choice(node, "input_visibility", &seen, findings).map(|found| found.value);
    let memories = [("none", MemoryPolicy::None), ("private", MemoryPolicy::Private)];
    let memory = read_choice(node, "memory", &memories, findings).map(|found| found.value);
    let role = required_text(node, "agent_role", "the agent", findings)?;
    Some(AgentForm {
        id: name.unwrap_or_else(|| role.clone()),
        role,
        context: context?,
        side: side?.value,
        level,
        model,
        provider,
        temperature,
        max_output_tokens,
        budget,
        included_tools,
        excluded_tools,
        system_append,
        max_tool_rounds,
        tool_loop: tool_loop.unwrap_or_default(),
        input_visibility,
        memory: memory.unwrap_or_default(),
    })
}

/// A text that may be absent, and says something where it is there.
fn read_optional_text(node: &JsonNode, key: &str, findings: &mut FileDiagnostics<'_>) -> Option<SpannedText> {
    node.get(key).filter(|value| value.kind != JsonNodeKind::Null)?;
    required_text(node, key, "the agent", findings)
}

fn read_temperature(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<f64> {
    let value = node.get("temperature").filter(|value| value.kind != JsonNodeKind::Null)?;
    let parsed = match &value.kind {
        JsonNodeKind::Number(text) => text.parse::<f64>().ok().filter(|number| (0.0..=2.0).contains(number)),
        _ => None,
    };
    if parsed.is_none() {
        findings.add_error("E10", value.span.clone(), "`temperature` must be a number from 0 to 2", None);
    }
    parsed
}

/// A list of patterns; those that cannot be read are findings and left out.
fn read_patterns(node: &JsonNode, key: &str, findings: &mut FileDiagnostics<'_>) -> Option<Vec<SpannedText>> {
    let value = node.get(key).filter(|value| value.kind != JsonNodeKind::Null)?;
    let Some(items) = value.items() else {
        report_wrong_type(value, &format!("`{key}` must be an array of tool names or patterns"), findings);
        return None;
    };
    let mut all = Vec::with_capacity(items.len());
    for item in items {
        let Some(pattern) = item.as_str() else {
            report_wrong_type(item, &format!("`{key}` holds tool names or patterns"), findings);
            continue;
        };
        match ToolPattern::parse(pattern) {
            Ok(_) => all.push(SpannedValue { value: pattern.to_owned(), span: item.span.clone() }),
            Err(why) => {
                let message = format!("the tool pattern `{pattern}` {why}");
                findings.add_error("E10", item.span.clone(), message, None);
            }
        }
    }
    Some(all)
}
