//! Arguments of the system tools, taken one by one. What is missing or unknown is named, all of it at once.

use rmcp::model::JsonObject;
use serde_json::{Map, Value, json};

use super::error::{McpCallError, invalid_request_error, shorten_text};

/// Longer values are refused: what is large belongs into a file, and its path into the results.
const MOST_BYTES: usize = 1 << 20;

pub(super) struct ToolArguments {
    values: Map<String, Value>,
}

impl ToolArguments {
    /// # Errors
    /// One of `required` is missing, or something is given that is neither in it nor in `optional`.
    pub(super) fn from_request(
        given: Option<JsonObject>,
        required: &[&str],
        optional: &[&str],
    ) -> Result<Self, McpCallError> {
        let given = given.unwrap_or_default();
        let absent = |name: &&&str| given.get(**name).is_none_or(Value::is_null);
        let missing: Vec<&str> = required.iter().filter(absent).copied().collect();
        if !missing.is_empty() {
            return Err(missing_arguments(&missing));
        }
        let known = |name: &String| required.contains(&name.as_str()) || optional.contains(&name.as_str());
        let unknown: Vec<String> =
            given.keys().filter(|name| !known(name)).map(|name| shorten_text(name)).collect();
        if !unknown.is_empty() {
            let message = format!("Unknown argument: {}", unknown.join(", "));
            return Err(invalid_request_error(
                message,
                json!({"type": "unknown_argument", "unknown": unknown}),
            ));
        }
        Ok(Self { values: given })
    }

    pub(super) fn has_argument(&self, name: &str) -> bool {
        self.values.get(name).is_some_and(|value| !value.is_null())
    }

    /// # Errors
    /// It is no text.
    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, McpCallError> {
        match self.values.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(wrong_argument_error(name, "a text")),
        }
    }

    /// # Errors
    /// It is neither true nor false.
    pub(super) fn flag(&mut self, name: &str, usual: bool) -> Result<bool, McpCallError> {
        match self.values.remove(name) {
            None | Some(Value::Null) => Ok(usual),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(_) => Err(wrong_argument_error(name, "true or false")),
        }
    }

    /// # Errors
    /// It is no whole number from 1 to `most`.
    pub(super) fn take_count(
        &mut self,
        name: &str,
        usual: usize,
        most: usize,
    ) -> Result<usize, McpCallError> {
        match self.values.remove(name) {
            None | Some(Value::Null) => Ok(usual),
            Some(value) => value
                .as_u64()
                .and_then(|count| usize::try_from(count).ok())
                .filter(|count| (1..=most).contains(count))
                .ok_or_else(|| wrong_argument_error(name, &format!("a whole number from 1 to {most}"))),
        }
    }

    /// # Errors
    /// It is no number above zero.
    pub(super) fn amount(&mut self, name: &str) -> Result<Option<f64>, McpCallError> {
        match self.values.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value
                .as_f64()
                .filter(|amount| *amount > 0.0)
                .map(Some)
                .ok_or_else(|| wrong_argument_error(name, "a number above 0")),
        }
    }

    /// # Errors
    /// It is no object.
    pub(super) fn object(&mut self, name: &str) -> Result<Map<String, Value>, McpCallError> {
        match self.values.remove(name) {
            None | Some(Value::Null) => Ok(Map::new()),
            Some(Value::Object(fields)) => Ok(fields),
            Some(_) => Err(wrong_argument_error(name, "an object")),
        }
    }

    pub(super) fn remove_value(&mut self, name: &str) -> Value {
        self.values.remove(name).unwrap_or_default()
    }
}

/// # Errors
/// A value is larger than what is kept of one.
pub(super) fn check_size(name: &str, value: &Value) -> Result<(), McpCallError> {
    let bytes = value.to_string().len();
    if bytes <= MOST_BYTES {
        return Ok(());
    }
    let message = format!(
        "`{name}` has {bytes} bytes, at most {MOST_BYTES} are taken: write what is large into a file and give its path"
    );
    Err(invalid_request_error(message, json!({"type": "too_large", "argument": name})))
}

pub(super) fn missing_arguments(missing: &[&str]) -> McpCallError {
    let message = format!("Missing required argument: {}", missing.join(", "));
    invalid_request_error(message, json!({"type": "missing_argument", "missing": missing}))
}

fn wrong_argument_error(name: &str, expected: &str) -> McpCallError {
    invalid_request_error(
        format!("`{name}` must be {expected}"),
        json!({"type": "wrong_argument", "argument": name}),
    )
}
