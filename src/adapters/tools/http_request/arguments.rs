//! What a request is made of, as the workflow gave it.

use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Deserialize)]
pub(in super::super) struct HttpRequestArguments {
    pub(super) method: Option<String>,
    pub(super) url: String,
    pub(super) headers: Option<Map<String, Value>>,
    pub(super) query: Option<Map<String, Value>>,
    pub(super) body: Option<Value>,
    pub(super) timeout_seconds: Option<u64>,
}
