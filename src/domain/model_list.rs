//! What a model server says it has.

use serde::Serialize;

/// One model as its server lists it. Most servers report a name and nothing else.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct ListedModel {
    pub name: String,
    /// Tokens.
    pub context_size: Option<u64>,
    /// US dollars per million tokens.
    pub input: Option<f64>,
    /// US dollars per million tokens.
    pub output: Option<f64>,
}
