//! Shapes that only test files have.

use serde_json::Value;

use crate::config::fields::{At, Fields};
use crate::config::json::{Kind, Node};
use crate::config::source::Findings;
use crate::domain::scripted::Fit;

pub(super) fn value_at(node: &Node) -> At<Value> {
    At { value: node.to_value(), span: node.span.clone() }
}

pub(super) fn fit(fields: &Fields<'_>, key: &str, findings: &mut Findings<'_>) -> Option<Fit> {
    fields.text(&[key], findings).map(|text| Fit::new(&text.value))
}

/// A whole number from 0.
pub(super) fn whole(name: &str, node: &Node, findings: &mut Findings<'_>) -> Option<u64> {
    let number = if let Kind::Number(text) = &node.kind { text.parse().ok() } else { None };
    if number.is_none() {
        wrong(name, "a whole number from 0", node, findings);
    }
    number
}

pub(super) fn wrong(name: &str, expected: &str, node: &Node, findings: &mut Findings<'_>) {
    let message = format!("`{name}` must be {expected}, found {}", node.kind_name());
    findings.error("C03", node.span.clone(), message, None);
}

/// Whether a value is an object with at least one of these keys.
pub(super) fn has_any(node: &Node, keys: &[&str]) -> bool {
    node.members().is_some_and(|members| members.iter().any(|member| keys.contains(&member.key.as_str())))
}
