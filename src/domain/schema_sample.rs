//! Values made up from a schema, for simulated runs without written answers.
//!
//! Understands the part of JSON Schema that our own schemas use. Other constraints are ignored.

use serde_json::{Map, Value, json};

/// Objects inside each other; no decision needs more.
const DEEPEST: usize = 8;

/// A value that fits a schema of that kind; `round` counts from 0, texts contain `name`.
pub fn sample_value(schema: &Value, name: &str, round: usize) -> Value {
    sample_at_depth(schema, name, round, 0)
}

fn sample_at_depth(schema: &Value, name: &str, round: usize, depth: usize) -> Value {
    if let Some(word) = schema.get("const") {
        return word.clone();
    }
    if let Some(words) = schema.get("enum").and_then(Value::as_array).filter(|words| !words.is_empty()) {
        return words[round % words.len()].clone();
    }
    let kind = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().find_map(Value::as_str),
        Some(kind) => kind.as_str(),
        None => schema.get("properties").map(|_| "object"),
    };
    match kind {
        Some("boolean") => Value::Bool(round.is_multiple_of(2)),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| json!(1)),
        Some("array") if depth < DEEPEST => {
            let item = schema.get("items").map(|items| sample_at_depth(items, name, round, depth + 1));
            Value::Array(item.into_iter().collect())
        }
        Some("object") if depth < DEEPEST => {
            let parts = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
            Value::Object(
                parts
                    .map(|(key, part)| (key.clone(), sample_at_depth(part, key, round, depth + 1)))
                    .collect::<Map<_, _>>(),
            )
        }
        Some("array") => json!([]),
        Some("object") => json!({}),
        Some("null") => Value::Null,
        _ if name.is_empty() => json!("(simulated)"),
        _ => Value::String(format!("(simulated {name})")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_fit_their_schemas_and_change_their_mind() {
        let check = |schema: Value, round: usize, expected: Value| {
            assert_eq!(sample_value(&schema, "plan", round), expected, "{schema} {round}");
        };
        check(json!({"type": "boolean"}), 0, json!(true));
        check(json!({"type": "boolean"}), 1, json!(false));
        check(json!({"enum": ["a", "b"]}), 3, json!("b"));
        check(json!({"type": "integer", "minimum": 4}), 0, json!(4));
        check(json!({"type": ["string", "null"]}), 0, json!("(simulated plan)"));
        check(json!({}), 0, json!("(simulated plan)"));
        check(
            json!({"type": "object", "properties": {"yes": {"type": "boolean"}, "why": {"type": "string"},
                   "list": {"type": "array", "items": {"type": "number"}}}}),
            1,
            json!({"yes": false, "why": "(simulated why)", "list": [1]}),
        );
        let mut deep = json!({"type": "object", "properties": {}});
        for _ in 0..20 {
            deep = json!({"type": "object", "properties": {"in": deep}});
        }
        assert!(sample_value(&deep, "", 0).to_string().len() < 100);
    }
}
