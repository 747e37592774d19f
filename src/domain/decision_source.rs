//! How an agent comes to give its decision: what events say, and where a model is asked first.

use serde::{Deserialize, Serialize};

/// How an agent came to give its decision; later ones ask for more of the server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
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
    pub const ALL: [Self; 3] = [Self::Call, Self::Reminder, Self::StructuredOutput];

    pub fn is_plain_call(&self) -> bool {
        *self == Self::Call
    }

    /// As files and events spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Reminder => "reminder",
            Self::StructuredOutput => "structured_output",
        }
    }
}
