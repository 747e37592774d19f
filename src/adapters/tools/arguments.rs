//! Checks a call's arguments against the schema the model was shown, so that there is one truth about both.
//! Reports every problem at once, in words a model can act on.
//! Covers the part of JSON Schema the tools here use; it is not a general validator, which would cost milliseconds
//! of start-up.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The arguments as `T`. A `null` for an optional argument counts as absent, because strict providers send it.
///
/// # Errors
/// All problems, one after the other, in one line.
pub(super) fn parse_arguments<T: DeserializeOwned>(schema: &Value, arguments: &Value) -> Result<T, String> {
    let Some(given) = arguments.as_object() else {
        return Err(format!("the arguments must be a JSON object, not {}", value_kind(arguments)));
    };
    let given: Map<String, Value> = given
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(k, v)| (k.clone(), normalize_integers(v)))
        .collect();
    let problems = argument_problems(schema, &given);
    if !problems.is_empty() {
        return Err(format!("invalid arguments: {}", problems.join("; ")));
    }
    serde_json::from_value(Value::Object(given)).map_err(|error| format!("invalid arguments: {error}"))
}

fn argument_problems(schema: &Value, given: &Map<String, Value>) -> Vec<String> {
    let no_properties = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&no_properties);
    let mut found = Vec::new();
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !given.contains_key(name) {
            found.push(format!("`{name}` is missing"));
        }
    }
    for (name, value) in given {
        match properties.get(name) {
            Some(property) => found.extend(argument_problem(&format!("`{name}`"), property, value)),
            None => {
                let known: Vec<&str> = properties.keys().map(String::as_str).collect();
                found
                    .push(format!("`{name}` is not an argument of this tool; it takes {}", known.join(", ")));
            }
        }
    }
    found
}

fn argument_problem(name: &str, schema: &Value, value: &Value) -> Option<String> {
    let wanted = schema["type"].as_str().unwrap_or_default();
    let fits = match wanted {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    };
    if !fits {
        return Some(format!("{name} must be {}, not {}", with_article(wanted), value_kind(value)));
    }
    if let Some(options) = schema["enum"].as_array().filter(|options| !options.contains(value)) {
        let options: Vec<String> = options.iter().map(Value::to_string).collect();
        return Some(format!("{name} must be one of {}, not {value}", options.join(", ")));
    }
    let number = value.as_f64();
    if let (Some(n), Some(least)) = (number, schema["minimum"].as_f64())
        && n < least
    {
        return Some(format!("{name} must be at least {least}, not {n}"));
    }
    if let (Some(n), Some(most)) = (number, schema["maximum"].as_f64())
        && n > most
    {
        return Some(format!("{name} must be at most {most}, not {n}"));
    }
    if value.as_str() == Some("") && schema["minLength"].as_u64() > Some(0) {
        return Some(format!("{name} must not be empty"));
    }
    let items = value.as_array()?;
    if items.is_empty() && schema["minItems"].as_u64() > Some(0) {
        return Some(format!("{name} must not be empty"));
    }
    items
        .iter()
        .enumerate()
        .find_map(|(at, item)| argument_problem(&format!("{name}[{at}]"), &schema["items"], item))
}

/// `5.0` is a whole number in JSON Schema.
fn normalize_integers(value: &Value) -> Value {
    match value.as_f64().filter(|n| value.is_f64() && n.fract() == 0.0 && n.abs() < 1e15) {
        #[expect(clippy::cast_possible_truncation, reason = "whole and far below 2^63")]
        Some(n) => Value::from(n as i64),
        None => value.clone(),
    }
}

fn value_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn with_article(kind: &str) -> &'static str {
    match kind {
        "string" => "a string",
        "boolean" => "true or false",
        "integer" => "a whole number",
        "object" => "an object",
        _ => "an array of strings",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_problem_is_named() {
        let schema = json!({"required": ["path"], "properties": {
            "path": {"type": "string", "minLength": 1}, "depth": {"type": "integer", "minimum": 1, "maximum": 10},
            "names": {"type": "array", "minItems": 1, "items": {"type": "string"}},
            "form": {"type": "string", "enum": ["a", "b"]}, "all": {"type": "boolean"}}});
        let check = |arguments: Value, expected: &str| match parse_arguments::<Value>(&schema, &arguments) {
            Ok(value) => assert_eq!(value.to_string(), expected),
            Err(problem) => assert_eq!(problem.trim_start_matches("invalid arguments: "), expected),
        };
        check(json!({"path": "a", "depth": null, "all": true}), r#"{"path":"a","all":true}"#);
        check(json!({"path": "a", "depth": 5.0}), r#"{"path":"a","depth":5}"#);
        check(json!("{"), "the arguments must be a JSON object, not a string");
        check(json!({}), "`path` is missing");
        check(json!({"path": ""}), "`path` must not be empty");
        check(
            json!({"path": 3, "all": "yes"}),
            "`path` must be a string, not a number; `all` must be true or false, not a string",
        );
        check(json!({"path": "a", "depth": 0}), "`depth` must be at least 1, not 0");
        check(json!({"path": "a", "depth": 11}), "`depth` must be at most 10, not 11");
        check(json!({"path": "a", "depth": 1.5}), "`depth` must be a whole number, not a number");
        check(json!({"path": "a", "names": []}), "`names` must not be empty");
        check(json!({"path": "a", "names": ["x", 1]}), "`names`[1] must be a string, not a number");
        check(json!({"path": "a", "form": "c"}), r#"`form` must be one of "a", "b", not "c""#);
        check(
            json!({"path": "a", "paht": 1}),
            "`paht` is not an argument of this tool; it takes path, depth, names, form, all",
        );
    }
}
