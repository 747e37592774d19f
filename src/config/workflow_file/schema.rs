//! JSON Schemas inside a workflow file: they must be sound themselves, and literal values must fit them.

use serde_json::Value;

use super::super::json::{Kind, Node};
use super::super::source::Findings;
use super::fields::{given, wrong};
use super::named::Named;

/// The `schema` of an object: a JSON Schema, or the name of one (`use.schemas`).
pub(super) fn read(node: &Node, named: &Named, findings: &mut Findings<'_>) -> Option<Value> {
    let value = given(node, "schema")?;
    match &value.kind {
        Kind::String(name) => named.schema(name, &value.span, findings),
        _ => sound(value, findings),
    }
}

/// A JSON Schema that can be used. Schemas elsewhere on the network are not fetched.
pub(super) fn sound(value: &Node, findings: &mut Findings<'_>) -> Option<Value> {
    if !matches!(value.kind, Kind::Object(_)) {
        wrong(value, "a schema must be an object or a name from `use.schemas`", findings);
        return None;
    }
    let schema = value.to_value();
    match jsonschema::validator_for(&schema) {
        Ok(_) => Some(schema),
        Err(error) => {
            let hint = "see https://json-schema.org, for example {\"type\": \"string\", \"minLength\": 1}";
            let message = format!("not a valid JSON Schema: {error}");
            findings.error("E10", value.span.clone(), message, Some(hint.to_owned()));
            None
        }
    }
}

/// Finds that a literal value does not fit its schema.
pub(super) fn fits(value: &Node, key: &str, schema: &Value, findings: &mut Findings<'_>) {
    let Ok(validator) = jsonschema::validator_for(schema) else { return };
    let literal = value.to_value();
    if let Some(error) = validator.iter_errors(&literal).next() {
        let message = format!("`{key}` does not fit the schema: {error}");
        findings.error("E10", value.span.clone(), message, None);
    }
}
