//! How an agent came to give its decision, as events say it.

use serde::{Deserialize, Serialize};

/// How an agent came to give its decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionSource {
    /// It called the tool.
    #[default]
    Call,
    /// It called the tool when it was reminded, or told what was wrong.
    Reminder,
    /// It called no tool; the text of its answer was taken as the arguments.
    StructuredOutput,
}

impl DecisionSource {
    pub fn is_plain_call(&self) -> bool {
        *self == Self::Call
    }
}
