//! What a JSON Schema says of the values that scripts read: members, types, all possible values.
//!
//! It only answers what is certain; a schema that combines others (`anyOf`, `$ref`, …) is left open.

use serde_json::Value;

use super::super::script_facts::{Literal, Member, Name};

/// Where a path into a value leads.
pub(super) enum Leads<'s> {
    To(&'s Value),
    /// Nothing can be said.
    Anywhere,
    /// The object has no such member; its members, for a suggestion.
    Nowhere {
        name: Name,
        known: Vec<&'s str>,
    },
    /// What stands there is no object.
    NoMembers {
        name: Name,
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
pub(super) fn follow<'s>(schema: &'s Value, path: &[Member]) -> Leads<'s> {
    let mut at = schema;
    for member in path {
        let kinds = kinds(at);
        let next = match (member, kinds.as_deref()) {
            (Member::Item, Some(["array"])) => at.get("items"),
            (Member::Item, _) => None,
            (Member::Key(name), Some([kind])) if *kind != "object" => {
                let own = match *kind {
                    "string" => STRING,
                    "array" => ARRAY,
                    "null" => return Leads::Anywhere,
                    _ => NUMBER,
                };
                if own.contains(&name.name.as_str()) {
                    return Leads::Anywhere;
                }
                return Leads::NoMembers { name: name.clone(), kind: article(kind) };
            }
            (Member::Key(name), _) => match property(at, &name.name) {
                Some(next) => Some(next),
                None if is_open(at) || OBJECT.contains(&name.name.as_str()) => None,
                None => {
                    let known = properties(at).collect();
                    return Leads::Nowhere { name: name.clone(), known };
                }
            },
        };
        match next {
            Some(next) => at = next,
            None => return Leads::Anywhere,
        }
    }
    Leads::To(at)
}

/// The types that a value can have, if the schema says so.
pub(super) fn kinds(schema: &Value) -> Option<Vec<&'static str>> {
    const ALL: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];
    let word = |value: &Value| ALL.into_iter().find(|kind| Some(*kind) == value.as_str());
    match &schema["type"] {
        Value::String(_) => Some(vec![word(&schema["type"])?]),
        Value::Array(all) => all.iter().map(word).collect(),
        _ => {
            let mut kinds: Vec<&'static str> = values(schema)?.iter().map(kind_of).collect();
            kinds.dedup();
            Some(kinds)
        }
    }
}

/// All values, if they can be counted: `enum`, `const`, booleans.
pub(super) fn values(schema: &Value) -> Option<Vec<Literal>> {
    if let Some(all) = schema["enum"].as_array() {
        return all.iter().map(literal).collect();
    }
    if let Some(only) = schema.get("const") {
        return literal(only).map(|only| vec![only]);
    }
    let both = [Literal::Bool(true), Literal::Bool(false)];
    match &schema["type"] {
        Value::String(kind) if kind == "boolean" => Some(both.into()),
        Value::Array(all) if all.iter().all(|kind| kind == "boolean" || kind == "null") => {
            Some(both.into_iter().chain([Literal::Null]).collect())
        }
        _ => None,
    }
}

/// Whether a value of this schema can be the same as a constant. `None`: not known.
pub(super) fn admits(schema: &Value, constant: &Literal) -> Option<bool> {
    if let Some(values) = values(schema) {
        return Some(values.contains(constant));
    }
    let kinds = kinds(schema)?;
    let own = kind_of(constant);
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

pub(super) fn properties(schema: &Value) -> impl Iterator<Item = &str> {
    schema["properties"].as_object().into_iter().flat_map(|all| all.keys().map(String::as_str))
}

/// Whether every object on the way must hold what the path names.
pub(super) fn requires(schema: &Value, path: &[Member]) -> bool {
    let mut at = schema;
    for member in path {
        let Member::Key(name) = member else { return false };
        let required = at["required"].as_array();
        if !required.is_some_and(|names| names.iter().any(|one| one == &name.name)) {
            return false;
        }
        match property(at, &name.name) {
            Some(next) => at = next,
            None => return true,
        }
    }
    true
}

/// `a string`, `an array`.
pub(super) fn article(kind: &str) -> &'static str {
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

fn property<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    schema["properties"].as_object()?.get(name)
}

fn literal(value: &Value) -> Option<Literal> {
    Some(match value {
        Value::Null => Literal::Null,
        Value::Bool(flag) => Literal::Bool(*flag),
        Value::Number(number) => Literal::Number(number.as_f64()?),
        Value::String(text) => Literal::Text(text.clone()),
        Value::Array(_) | Value::Object(_) => return None,
    })
}

/// In the words of schemas.
pub(super) fn kind_of(literal: &Literal) -> &'static str {
    match literal {
        Literal::Bool(_) => "boolean",
        Literal::Number(_) => "number",
        Literal::Text(_) => "string",
        Literal::Null | Literal::Undefined => "null",
    }
}
