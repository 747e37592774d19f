//! What a JSON Schema says of the values that scripts read: members, types, all possible values.
//!
//! It only answers what is certain; a schema that combines others (`anyOf`, `$ref`, …) is left open.

use serde_json::Value;

use super::super::script_analysis::{ScriptLiteral, ScriptName, ValuePathSegment};

/// Where a path into a value leads.
pub(super) enum SchemaPathTarget<'s> {
    To(&'s Value),
    /// Unknown.
    Anywhere,
    /// The object has no such member; its members, for a suggestion.
    Nowhere {
        name: ScriptName,
        known_keys: Vec<&'s str>,
    },
    /// The value at this path is no object.
    NoMembers {
        name: ScriptName,
        kind: &'static str,
    },
}

/// Methods and the like that values have of themselves; one list for all types that hold several.
const STRING: &[&str] = &[
    "at",
    "charAt",
    "charCodeAt",
    "codePointAt",
    "concat",
    "endsWith",
    "includes",
    "indexOf",
    "lastIndexOf",
    "length",
    "localeCompare",
    "match",
    "matchAll",
    "normalize",
    "padEnd",
    "padStart",
    "repeat",
    "replace",
    "replaceAll",
    "search",
    "slice",
    "split",
    "startsWith",
    "substr",
    "substring",
    "toLocaleLowerCase",
    "toLocaleUpperCase",
    "toLowerCase",
    "toString",
    "toUpperCase",
    "trim",
    "trimEnd",
    "trimStart",
    "valueOf",
];
const ARRAY: &[&str] = &[
    "at",
    "concat",
    "copyWithin",
    "entries",
    "every",
    "fill",
    "filter",
    "find",
    "findIndex",
    "findLast",
    "findLastIndex",
    "flat",
    "flatMap",
    "forEach",
    "includes",
    "indexOf",
    "join",
    "keys",
    "lastIndexOf",
    "length",
    "map",
    "pop",
    "push",
    "reduce",
    "reduceRight",
    "reverse",
    "shift",
    "slice",
    "some",
    "sort",
    "splice",
    "toReversed",
    "toSorted",
    "toSpliced",
    "toString",
    "unshift",
    "values",
    "with",
];
const NUMBER: &[&str] = &["toExponential", "toFixed", "toLocaleString", "toPrecision", "toString", "valueOf"];
const OBJECT: &[&str] = &["constructor", "hasOwnProperty", "toString", "valueOf"];

/// Follows a path from a schema.
pub(super) fn resolve_path<'s>(schema: &'s Value, path: &[ValuePathSegment]) -> SchemaPathTarget<'s> {
    let mut at = schema;
    for member in path {
        let kinds = schema_types(at);
        let next = match (member, kinds.as_deref()) {
            (ValuePathSegment::Item, Some(["array"])) => at.get("items"),
            (ValuePathSegment::Item, _) => None,
            (ValuePathSegment::Key(name), Some([kind])) if *kind != "object" => {
                let own = match *kind {
                    "string" => STRING,
                    "array" => ARRAY,
                    "null" => return SchemaPathTarget::Anywhere,
                    _ => NUMBER,
                };
                if own.contains(&name.name.as_str()) {
                    return SchemaPathTarget::Anywhere;
                }
                return SchemaPathTarget::NoMembers { name: name.clone(), kind: with_article(kind) };
            }
            (ValuePathSegment::Key(name), _) => match property_schema(at, &name.name) {
                Some(next) => Some(next),
                None if is_open(at) || OBJECT.contains(&name.name.as_str()) => None,
                None => {
                    let known = property_names(at).collect();
                    return SchemaPathTarget::Nowhere { name: name.clone(), known_keys: known };
                }
            },
        };
        match next {
            Some(next) => at = next,
            None => return SchemaPathTarget::Anywhere,
        }
    }
    SchemaPathTarget::To(at)
}

/// The types that a value can have, if the schema says so.
pub(super) fn schema_types(schema: &Value) -> Option<Vec<&'static str>> {
    const ALL: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];
    let word = |value: &Value| ALL.into_iter().find(|kind| Some(*kind) == value.as_str());
    match &schema["type"] {
        Value::String(_) => Some(vec![word(&schema["type"])?]),
        Value::Array(all) => all.iter().map(word).collect(),
        _ => {
            let mut kinds: Vec<&'static str> = schema_values(schema)?.iter().map(schema_type_name).collect();
            kinds.dedup();
            Some(kinds)
        }
    }
}

/// All values, if they can be counted: `enum`, `const`, booleans.
pub(super) fn schema_values(schema: &Value) -> Option<Vec<ScriptLiteral>> {
    if let Some(all) = schema["enum"].as_array() {
        return all.iter().map(literal_from_json).collect();
    }
    if let Some(only) = schema.get("const") {
        return literal_from_json(only).map(|only| vec![only]);
    }
    let both = [ScriptLiteral::Bool(true), ScriptLiteral::Bool(false)];
    match &schema["type"] {
        Value::String(kind) if kind == "boolean" => Some(both.into()),
        Value::Array(all) if all.iter().all(|kind| kind == "boolean" || kind == "null") => {
            Some(both.into_iter().chain([ScriptLiteral::Null]).collect())
        }
        _ => None,
    }
}

/// Whether a value of this schema can be the same as a constant. `None`: not known.
pub(super) fn admits_constant(schema: &Value, constant: &ScriptLiteral) -> Option<bool> {
    if let Some(values) = schema_values(schema) {
        return Some(values.contains(constant));
    }
    let kinds = schema_types(schema)?;
    let own = schema_type_name(constant);
    Some(kinds.iter().any(|kind| *kind == own || (*kind == "integer" && own == "number")))
}

/// A schema without `properties`, or one that says so, takes anything.
pub(super) fn is_open(schema: &Value) -> bool {
    match &schema["additionalProperties"] {
        Value::Bool(open) => *open,
        Value::Null => {
            let combined = ["anyOf", "oneOf", "allOf", "$ref", "patternProperties"];
            schema["properties"].as_object().is_none() || combined.iter().any(|key| schema.get(key).is_some())
        }
        _ => true,
    }
}

pub(super) fn property_names(schema: &Value) -> impl Iterator<Item = &str> {
    schema["properties"].as_object().into_iter().flat_map(|all| all.keys().map(String::as_str))
}

/// Whether every object on the way must hold what the path names.
pub(super) fn requires_path(schema: &Value, path: &[ValuePathSegment]) -> bool {
    let mut at = schema;
    for member in path {
        let ValuePathSegment::Key(name) = member else { return false };
        let required = at["required"].as_array();
        if !required.is_some_and(|names| names.iter().any(|one| one == &name.name)) {
            return false;
        }
        match property_schema(at, &name.name) {
            Some(next) => at = next,
            None => return true,
        }
    }
    true
}

/// `a string`, `an array`.
pub(super) fn with_article(kind: &str) -> &'static str {
    match kind {
        "string" => "a string",
        "number" => "a number",
        "integer" => "a whole number",
        "boolean" => "a boolean",
        "array" => "an array",
        "object" => "an object",
        _ => "null",
    }
}

fn property_schema<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    schema["properties"].as_object()?.get(name)
}

fn literal_from_json(value: &Value) -> Option<ScriptLiteral> {
    Some(match value {
        Value::Null => ScriptLiteral::Null,
        Value::Bool(flag) => ScriptLiteral::Bool(*flag),
        Value::Number(number) => ScriptLiteral::Number(number.as_f64()?),
        Value::String(text) => ScriptLiteral::Text(text.clone()),
        Value::Array(_) | Value::Object(_) => return None,
    })
}

/// In the words of schemas.
pub(super) fn schema_type_name(literal: &ScriptLiteral) -> &'static str {
    match literal {
        ScriptLiteral::Bool(_) => "boolean",
        ScriptLiteral::Number(_) => "number",
        ScriptLiteral::Text(_) => "string",
        ScriptLiteral::Null | ScriptLiteral::Undefined => "null",
    }
}
