//! `needs_state`: the parts of the state that a sub-agent sees in its step. It sees only what is named.

use std::ops::Range;

use super::super::super::json::{JsonMember, JsonNode, JsonNodeKind};
use super::super::super::source::FileDiagnostics;
use super::super::fields::report_wrong_type;
use super::json_nodes::{json_member, object_node, text_node};
use super::lowering::StepSource;

/// The input of the step's state: its instructions, with the values it needs below them.
pub(super) fn visible_state_input(
    step: &StepSource<'_>,
    said: Option<JsonMember>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<JsonMember> {
    let Some(needs) = step.member("needs_state") else { return said };
    let paths = visible_paths(needs, findings);
    if paths.is_empty() {
        return said;
    }
    let values: Vec<String> = paths.iter().map(|path| visible_state_line(path)).collect();
    let span = said.as_ref().map_or_else(|| needs.value.span.clone(), |said| said.value.span.clone());
    let template = match said.as_ref().map(|said| &said.value.kind) {
        None => String::new(),
        Some(JsonNodeKind::String(words)) if is_path(words) => format!("{{{{{words}}}}}"),
        Some(JsonNodeKind::String(words)) => words.clone(),
        Some(JsonNodeKind::Object(members)) => match members.as_slice() {
            [one] if one.key == "template" || one.key == "text" => {
                one.value.as_str().unwrap_or_default().to_owned()
            }
            [one] if one.key == "expr" => format!("{{{{{}}}}}", one.value.as_str().unwrap_or_default()),
            _ => return report_reserved(said, &span, findings),
        },
        Some(
            JsonNodeKind::Null | JsonNodeKind::Bool(_) | JsonNodeKind::Number(_) | JsonNodeKind::Array(_),
        ) => {
            return report_reserved(said, &span, findings);
        }
    };
    let template = format!("{template}\n\nState:\n{}", values.join("\n"));
    let value = object_node(vec![json_member("template", text_node(template.trim_start(), &span))], &span);
    Some(json_member("input", value))
}

/// Whether the instructions are a path such as `state.task`: their text is then in the state.
fn is_path(words: &str) -> bool {
    let roots = ["state.", "common_data.", "inputs.", "loop."];
    roots.iter().any(|root| words.starts_with(root))
        && words.chars().all(|c| c.is_alphanumeric() || "_$.[]".contains(c))
}

fn report_reserved(
    said: Option<JsonMember>,
    span: &Range<usize>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<JsonMember> {
    let message = "`needs_state` can only be put below instructions that are a text";
    let hint = "write them as a text or {\"template\": \"…\"}";
    findings.add_error("E10", span.clone(), message, Some(hint.to_owned()));
    said
}

fn visible_state_line(path: &str) -> String {
    if path == "*" {
        return "{{JSON.stringify(common_data, null, 2)}}".to_owned();
    }
    let keys: String = path.split('.').map(|key| format!("?.[{}]", serde_json::Value::from(key))).collect();
    format!("{path}: {{{{JSON.stringify(common_data{keys})}}}}")
}

fn visible_paths(needs: &JsonMember, findings: &mut FileDiagnostics<'_>) -> Vec<String> {
    let texts: Option<Vec<&str>> =
        needs.value.items().and_then(|items| items.iter().map(JsonNode::as_str).collect());
    let Some(texts) = texts else {
        report_wrong_type(&needs.value, "`needs_state` must be an array of names", findings);
        return Vec::new();
    };
    let without_root = |path: &str| {
        let root = ["state.", "common_data."].iter().find_map(|root| path.strip_prefix(root));
        root.unwrap_or(path).to_owned()
    };
    texts.into_iter().map(without_root).collect()
}
