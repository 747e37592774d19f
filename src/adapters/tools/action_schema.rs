//! The arguments of what only workflows do.

use serde_json::Value;

use super::{http_request, mcp_call, shell};

/// The JSON Schema of its arguments; null: it is a tool of agents.
pub(super) fn action_schema(name: &str) -> Value {
    match name {
        shell::NAME => shell::arguments_schema(),
        http_request::NAME => http_request::arguments_schema(),
        mcp_call::NAME => mcp_call::arguments_schema(),
        _ => Value::Null,
    }
}
