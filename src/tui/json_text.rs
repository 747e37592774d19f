//! JSON values for display.

use serde_json::Value;

use crate::text::{fit_to_columns, one_line};

/// A value for display: texts as they are, anything else as JSON.
pub fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "(nothing)".to_owned(),
        Value::Array(_) | Value::Object(_) => serde_json::to_string_pretty(value).unwrap_or_default(),
        other => other.to_string(),
    }
}

/// `path=src/lib.rs start_line=3`, one line.
pub fn arguments_line(value: &Value) -> String {
    let Value::Object(map) = value else { return one_line(&value.to_string()) };
    let parts: Vec<String> = map
        .iter()
        .map(|(key, value)| match value {
            Value::String(text) => format!("{key}={}", fit_to_columns(&one_line(text), 60)),
            other => format!("{key}={}", fit_to_columns(&one_line(&other.to_string()), 60)),
        })
        .collect();
    one_line(&parts.join(" "))
}
