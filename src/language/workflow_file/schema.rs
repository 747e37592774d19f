//! JSON Schemas inside a workflow file: they must be sound themselves, and literal values must fit them.

use serde_json::{Map, Value, json};

use super::super::json::{JsonNode, JsonNodeKind};
use super::super::source::FileDiagnostics;
use super::definitions_lookup::NamedDefinitions;
use super::fields::{non_null_member, report_wrong_type};

/// The `schema` of an object: a JSON Schema, or the name of one (`use.schemas`).
pub(super) fn read_schema(
    node: &JsonNode,
    named: &NamedDefinitions,
    findings: &mut FileDiagnostics<'_>,
) -> Option<Value> {
    let value = non_null_member(node, "schema")?;
    match &value.kind {
        JsonNodeKind::String(name) => named.find_schema(name, &value.span, findings),
        _ => usable_schema(value, findings),
    }
}

/// The `schema` of an answer of several values: as `read_schema`, or a JSON Schema for each value by its name.
pub(super) fn read_output_schema(
    node: &JsonNode,
    outputs: &[String],
    named: &NamedDefinitions,
    findings: &mut FileDiagnostics<'_>,
) -> Option<Value> {
    let members = non_null_member(node, "schema").and_then(JsonNode::members).unwrap_or_default();
    if members.is_empty() || !members.iter().all(|member| outputs.contains(&member.key)) {
        return read_schema(node, named, findings);
    }
    let properties: Map<String, Value> = members
        .iter()
        .filter_map(|member| Some((member.key.clone(), usable_schema(&member.value, findings)?)))
        .collect();
    Some(json!({"type": "object", "properties": properties}))
}

/// A JSON Schema that can be used. Schemas elsewhere on the network are not fetched.
pub(super) fn usable_schema(value: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<Value> {
    if !matches!(value.kind, JsonNodeKind::Object(_)) {
        report_wrong_type(value, "a schema must be an object or a name from `use.schemas`", findings);
        return None;
    }
    let schema = value.to_value();
    match jsonschema::validator_for(&schema) {
        Ok(_) => Some(schema),
        Err(error) => {
            let hint = "see https://json-schema.org, for example {\"type\": \"string\", \"minLength\": 1}";
            let message = format!("not a valid JSON Schema: {error}");
            findings.add_error("E10", value.span.clone(), message, Some(hint.to_owned()));
            None
        }
    }
}

/// Finds that a literal value does not fit its schema.
pub(super) fn check_value_fits(
    value: &JsonNode,
    key: &str,
    schema: &Value,
    findings: &mut FileDiagnostics<'_>,
) {
    let Ok(validator) = jsonschema::validator_for(schema) else { return };
    let literal = value.to_value();
    if let Some(error) = validator.iter_errors(&literal).next() {
        let message = format!("`{key}` does not fit the schema: {error}");
        findings.add_error("E10", value.span.clone(), message, None);
    }
}
