//! Schemas of tools as servers take them: an object at the top, no choice there, no list of nothing; in strict mode
//! nothing left open and few keywords.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::strict::{ensure, object};

type Checked = Result<(), String>;

const NOT_ON_TOP: [&str; 5] = ["anyOf", "oneOf", "allOf", "enum", "not"];
/// What strict mode knows.
const STRICT: [&str; 16] = [
    "type",
    "description",
    "title",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "anyOf",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
];

/// Why a server refuses a tool's schema.
pub fn check_schema(schema: &Value, strict: bool) -> Checked {
    let top = object(schema, "a schema")?;
    ensure(top.get("type") == Some(&"object".into()), "a schema's type must be object")?;
    let odd = NOT_ON_TOP.iter().find(|key| top.contains_key(**key));
    ensure(odd.is_none(), &format!("a schema must not have {odd:?} at the top level"))?;
    check_inner(top, strict, "the schema")
}

fn check_inner(schema: &Map<String, Value>, strict: bool, place: &str) -> Checked {
    let is = |name: &str| match schema.get("type") {
        Some(Value::Array(names)) => names.iter().any(|one| one == name),
        Some(one) => one == name,
        None => false,
    };
    ensure(!is("array") || schema.contains_key("items"), &format!("{place}: array schema missing items"))?;
    if strict {
        let odd = schema.keys().find(|key| !STRICT.contains(&key.as_str()));
        ensure(odd.is_none(), &format!("{place}: {odd:?} is not permitted in strict mode"))?;
        ensure(
            !is("object") || is_closed(schema),
            &format!(
                "{place}: additionalProperties must be false, and \
            required must list every property"
            ),
        )?;
    }
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let place = format!("{place}.{name}");
        check_inner(object(property, &place)?, strict, &place)?;
    }
    if let Some(items @ Value::Object(_)) = schema.get("items") {
        check_inner(object(items, place)?, strict, &format!("{place}[]"))?;
    }
    for choice in schema.get("anyOf").and_then(Value::as_array).into_iter().flatten() {
        check_inner(object(choice, place)?, strict, &format!("{place}|"))?;
    }
    Ok(())
}

fn is_closed(schema: &Map<String, Value>) -> bool {
    let names: HashSet<&str> = schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str())
        .collect();
    let required: HashSet<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    schema.get("additionalProperties") == Some(&false.into()) && names == required
}
