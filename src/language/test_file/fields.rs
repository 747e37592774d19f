//! Shapes that only test files have.

use serde_json::Value;

use crate::fields::{ObjectFields, SpannedField};
use crate::json::{JsonNode, JsonNodeKind};
use crate::source::FileDiagnostics;
use synthdev_domain::mock_results::TextPattern;

pub(super) fn value_at(node: &JsonNode) -> SpannedField<Value> {
    SpannedField { value: node.to_value(), span: node.span.clone() }
}

pub(super) fn read_text_pattern(
    fields: &ObjectFields<'_>,
    key: &str,
    findings: &mut FileDiagnostics<'_>,
) -> Option<TextPattern> {
    fields.text(&[key], findings).map(|text| TextPattern::new(&text.value))
}

/// A whole number from 0.
pub(super) fn read_whole_number(
    name: &str,
    node: &JsonNode,
    findings: &mut FileDiagnostics<'_>,
) -> Option<u64> {
    let number = if let JsonNodeKind::Number(text) = &node.kind { text.parse().ok() } else { None };
    if number.is_none() {
        wrong_type_error(name, "a whole number from 0", node, findings);
    }
    number
}

pub(super) fn wrong_type_error(
    name: &str,
    expected: &str,
    node: &JsonNode,
    findings: &mut FileDiagnostics<'_>,
) {
    let message = format!("`{name}` must be {expected}, found {}", node.kind_name());
    findings.add_error("C03", node.span.clone(), message, None);
}

/// Whether a value is an object with at least one of these keys.
pub(super) fn has_any(node: &JsonNode, keys: &[&str]) -> bool {
    node.members().is_some_and(|members| members.iter().any(|member| keys.contains(&member.key.as_str())))
}
