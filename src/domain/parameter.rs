//! What crosses the border of a workflow: typed inputs and the output.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The five types of the border.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterType {
    String,
    Number,
    Boolean,
    Object,
    Array,
}

impl ParameterType {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Object => "object",
            Self::Array => "array",
        }
    }
}

impl ParameterType {
    /// Converts at the border: text becomes a number, boolean, object or array where that is declared;
    /// anything becomes text where a string is declared.
    ///
    /// # Errors
    /// What was expected and what was found.
    pub fn convert_value(self, value: Value) -> Result<Value, String> {
        let found = value_kind(&value);
        let converted = match (self, value) {
            (Self::String, Value::String(text)) => Some(Value::String(text)),
            (Self::String, other) => Some(Value::String(plain_text(&other))),
            (kind, Value::String(text)) => with_comments(&text).filter(|value| kind.accepts_value(value)),
            (kind, other) => Some(other).filter(|value| kind.accepts_value(value)),
        };
        converted.ok_or_else(|| format!("expected {}, found {found}", self.as_str()))
    }

    fn accepts_value(self, value: &Value) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::Object => value.is_object(),
            Self::Array => value.is_array(),
        }
    }
}

/// JSON with comments and trailing commas, as in files.
fn with_comments(text: &str) -> Option<Value> {
    let strict = serde_json::from_str(text.trim()).ok();
    strict.or_else(|| {
        let options = jsonc_parser::ParseOptions {
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            ..jsonc_parser::ParseOptions::default()
        };
        jsonc_parser::parse_to_serde_value::<Option<Value>>(text.trim(), &options).ok().flatten()
    })
}

/// The JSON type of a value, in the words of the workflow format.
pub fn value_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A value as text for a conversation: strings as they are, objects and arrays as pretty JSON.
pub fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(_) | Value::Array(_) => serde_json::to_string_pretty(value).unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// The inside of a fenced block; a text without a fence as it is.
pub fn strip_code_fence(text: &str) -> &str {
    let text = text.trim();
    let Some(inner) = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) else { return text };
    inner.split_once('\n').map_or(inner, |(_, body)| body).trim()
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct WorkflowParameter {
    pub name: String,
    pub kind: ParameterType,
    pub description: String,
    pub required: bool,
    /// Taken when nothing is given; a parameter with a default is not required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// JSON Schema that the converted value must fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}
