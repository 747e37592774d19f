//! `action.set_state`: changes of the state without a script. All values are read before the first is
//! written, and nothing is written if one of them fails.

use super::super::json::{JsonMember, JsonNode, JsonNodeKind};
use super::super::source::FileDiagnostics;
use super::fields::{check_object, read_choice, report_wrong_type, required_text};
use super::keys::UPDATE;
use super::{InputForm, SpannedText, SpannedValue, UpdateForm, UpdateOperation};

/// Roots that all mean the same data.
const ROOTS: [&str; 3] = ["state.", "common_data.", "variables."];
/// Roots that can only be read.
const READ_ONLY: [&str; 2] = ["inputs", "loop"];

/// Reads a value: as any input.
pub(super) type ReadValue<'r> = dyn Fn(&JsonNode, &mut FileDiagnostics<'_>) -> Option<InputForm> + 'r;

/// `set_state` of an action: an object of new values by path, or a list of updates.
pub(super) fn read_updates(
    action: &JsonNode,
    value: &ReadValue<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Vec<UpdateForm> {
    let Some(node) = action.get("set_state") else { return Vec::new() };
    match &node.kind {
        JsonNodeKind::Null => Vec::new(),
        JsonNodeKind::Object(members) => {
            members.iter().filter_map(|one| read_assignment(one, value, findings)).collect()
        }
        JsonNodeKind::Array(items) => {
            items.iter().filter_map(|item| read_update(item, value, findings)).collect()
        }
        JsonNodeKind::Bool(_) | JsonNodeKind::Number(_) | JsonNodeKind::String(_) => {
            report_wrong_type(
                node,
                "updates must be an object of values by path, or a list of updates",
                findings,
            );
            Vec::new()
        }
    }
}

/// `"path": value`
fn read_assignment(
    member: &JsonMember,
    value: &ReadValue<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<UpdateForm> {
    let path = SpannedValue { value: member.key.clone(), span: member.key_span.clone() };
    let path = parse_target(path, findings)?;
    Some(UpdateForm {
        path,
        operation: UpdateOperation::Set,
        value: read_set_state(&member.value, value, findings)?,
    })
}

/// `{path, operation, value}`
fn read_update(
    item: &JsonNode,
    value: &ReadValue<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<UpdateForm> {
    check_object(item, &UPDATE, findings)?;
    let words = UpdateOperation::ALL.map(|operation| (operation.word(), operation));
    let operation = read_choice(item, "operation", &words, findings);
    let path =
        required_text(item, "path", "the update", findings).and_then(|path| parse_target(path, findings));
    let operation = match (operation, item.get("operation")) {
        (Some(found), _) => found.value,
        (None, None) => UpdateOperation::Set,
        (None, Some(_)) => return None,
    };
    let given = match item.get("value") {
        Some(given) => read_set_state(given, value, findings)?,
        None if matches!(operation, UpdateOperation::Increment | UpdateOperation::Decrement) => {
            InputForm::Expression(SpannedValue { value: "1".to_owned(), span: item.span.clone() })
        }
        None => {
            let message = format!("`{}` needs a `value`", operation.word());
            let span = item.span.start..item.span.start + 1;
            findings.add_error("E10", span, message, Some("add \"value\": …".to_owned()));
            return None;
        }
    };
    Some(UpdateForm { path: path?, operation, value: given })
}

fn read_set_state(
    node: &JsonNode,
    value: &ReadValue<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<InputForm> {
    match node.kind {
        JsonNodeKind::Null => {
            Some(InputForm::Expression(SpannedValue { value: "null".to_owned(), span: node.span.clone() }))
        }
        _ => value(node, findings),
    }
}

/// The path without its root. `inputs` and `loop` are refused (E13).
fn parse_target(path: SpannedText, findings: &mut FileDiagnostics<'_>) -> Option<SpannedText> {
    let SpannedText { value, span } = &path;
    let bare = ROOTS.iter().find_map(|root| value.strip_prefix(root)).unwrap_or(value);
    let first = bare.split('.').next().unwrap_or_default();
    if READ_ONLY.contains(&first) {
        let message = format!("`{value}` cannot be written: `{first}` is only read");
        let hint = "write to the state: \"path\": \"name\"";
        findings.add_error("E13", span.clone(), message, Some(hint.to_owned()));
        return None;
    }
    let sound = bare.split('.').all(|key| {
        !key.is_empty()
            && key != "__proto__"
            && !key.chars().any(|c| c.is_whitespace() || "[]{}()'\"`".contains(c))
    });
    if !sound {
        let hint = "keys with dots between them, as in \"result.items.0\"".to_owned();
        findings.add_error("E10", span.clone(), format!("`{value}` is no path into the state"), Some(hint));
        return None;
    }
    Some(SpannedValue { value: bare.to_owned(), span: span.clone() })
}
