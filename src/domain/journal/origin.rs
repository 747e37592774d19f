//! Where a run came from.

use serde::{Deserialize, Serialize};

use crate::ids::RunId;

/// The run that another one began from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RunOrigin {
    pub run: RunId,
    pub kind: RunOriginKind,
    /// Of a fork: the step of the old run after which the two differ. Steps count from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOriginKind {
    /// Began with a part of the other run's journal.
    Fork,
    /// As `Fork`, of a run that came from a file, or of such a fork.
    ForkOfImport,
    /// Came from a file; `run` and `step` are what it came from there, or its own id if it came from nothing.
    Import,
    /// Was started by a state of the other run.
    Child,
}

impl RunOrigin {
    /// The run comes from an import: its approvals were given elsewhere and do not count on this machine.
    pub fn is_imported(&self) -> bool {
        matches!(self.kind, RunOriginKind::Import | RunOriginKind::ForkOfImport)
    }

    /// Of a fork of the run whose origin this is.
    pub fn from_fork(before: Option<&Self>, run: RunId, step: u32) -> Self {
        let foreign = before.is_some_and(Self::is_imported);
        let kind = if foreign { RunOriginKind::ForkOfImport } else { RunOriginKind::Fork };
        Self { run, kind, step: Some(step) }
    }
}

impl RunOriginKind {
    pub const ALL: [Self; 4] = [Self::Fork, Self::ForkOfImport, Self::Import, Self::Child];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fork => "fork",
            Self::ForkOfImport => "fork_of_import",
            Self::Import => "import",
            Self::Child => "child",
        }
    }
}
