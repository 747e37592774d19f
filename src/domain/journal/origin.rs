//! Where a run came from.

use serde::{Deserialize, Serialize};

use crate::domain::ids::RunId;

/// The run that another one began from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Origin {
    pub run: RunId,
    pub kind: OriginKind,
    /// Of a fork: the step of the old run after which the two differ. Steps count from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OriginKind {
    /// Began with a part of the other run's journal.
    Fork,
    /// Came from a file; `run` and `step` are what it came from there, or its own id if it came from nothing.
    Import,
    /// Was started by a state of the other run.
    Child,
}

impl OriginKind {
    pub const ALL: [Self; 3] = [Self::Fork, Self::Import, Self::Child];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fork => "fork",
            Self::Import => "import",
            Self::Child => "child",
        }
    }
}
