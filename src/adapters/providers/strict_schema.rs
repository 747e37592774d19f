//! Whether a tool's schema may be enforced. In strict mode a server holds a model to the schema, but takes only those
//! that leave nothing open: no further members, none that may be missing, few keywords.

use serde_json::{Map, Value};

/// What is taken of the rest of JSON Schema. Servers know more; these all know.
const KEYWORDS: [&str; 8] =
    ["type", "description", "properties", "required", "additionalProperties", "items", "enum", "anyOf"];
const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];
const DEPTH: usize = 5;
const MEMBERS: usize = 100;

/// Whether a schema is one of those.
pub fn is_strict(schema: &Value) -> bool {
    let mut members = 0;
    schema.get("type").is_some_and(|kind| kind == "object")
        && schema.get("anyOf").is_none()
        && fits_strict_mode(schema, 1, &mut members)
        && members <= MEMBERS
}

fn fits_strict_mode(schema: &Value, depth: usize, members: &mut usize) -> bool {
    let Some(schema) = schema.as_object().filter(|_| depth <= DEPTH) else { return false };
    let known = schema.keys().all(|key| KEYWORDS.contains(&key.as_str()));
    let types = schema.get("type").map(type_names);
    let typed = types.as_ref().is_none_or(|types| types.iter().all(|name| TYPES.contains(name)));
    let says_something =
        types.as_ref().is_some_and(|types| !types.is_empty()) || schema.contains_key("anyOf");
    let is = |name: &str| types.as_ref().is_some_and(|types| types.contains(&name));
    let listed = schema.get("anyOf").and_then(Value::as_array);
    let mut inner = listed.into_iter().flatten().chain(schema.get("items"));
    known
        && typed
        && says_something
        && (!is("object") || is_closed_object(schema, depth, members))
        && (!is("array") || schema.contains_key("items"))
        && inner.all(|inner| fits_strict_mode(inner, depth + 1, members))
}

/// An object whose members are all known and all required.
fn is_closed_object(schema: &Map<String, Value>, depth: usize, members: &mut usize) -> bool {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return false };
    *members += properties.len();
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    schema.get("additionalProperties") == Some(&Value::Bool(false))
        && properties.keys().all(|name| required.contains(&name.as_str()))
        && required.iter().all(|name| properties.contains_key(*name))
        && properties.values().all(|inner| fits_strict_mode(inner, depth + 1, members))
}

/// One type or several; nothing where that is written wrongly.
fn type_names(kind: &Value) -> Vec<&str> {
    match kind {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_schemas_that_leave_nothing_open_are_strict() {
        let of = |property: Value| json!({"type": "object", "properties": {"a": property}, "required": ["a"], "additionalProperties": false});
        let deep = (0..4).fold(json!({"type": "string"}), |inner, _| of(inner));
        let rows = [
            (of(json!({"type": "string", "enum": ["x"], "description": "d"})), true),
            (of(json!({"type": ["string", "null"]})), true),
            (of(json!({"type": "array", "items": {"type": "number"}})), true),
            (of(json!({"anyOf": [{"type": "string"}, {"type": "null"}]})), true),
            (json!({"type": "object", "properties": {}, "additionalProperties": false}), true),
            (deep.clone(), true),
            (of(deep), false),
            (json!({"type": "object", "properties": {}}), false),
            (
                json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false}),
                false,
            ),
            (
                json!({"type": "object", "properties": {}, "required": ["a"], "additionalProperties": false}),
                false,
            ),
            (of(json!({"type": "string", "minLength": 1})), false),
            (of(json!({"type": "string", "default": "x"})), false),
            (of(json!({"type": "array"})), false),
            (of(json!({"type": "object"})), false),
            (of(json!({"type": "text"})), false),
            (of(json!({"type": 7})), false),
            (of(json!({})), false),
            (of(json!(true)), false),
            (json!({"anyOf": [], "type": "object", "properties": {}, "additionalProperties": false}), false),
            (json!({"type": "string"}), false),
            (json!(null), false),
        ];
        for (schema, expected) in rows {
            assert_eq!(is_strict(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn many_members_are_too_many() {
        let of = |count: usize| {
            let names: Vec<String> = (0..count).map(|number| format!("m{number}")).collect();
            let properties: Map<String, Value> =
                names.iter().map(|name| (name.clone(), json!({"type": "string"}))).collect();
            json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false})
        };
        assert!(is_strict(&of(100)) && !is_strict(&of(101)));
    }
}
