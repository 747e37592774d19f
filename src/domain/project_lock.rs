//! Which run holds a project's files, and whether a second run may work beside it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ids::{RunId, Timestamp};

/// What a holder does with a project's files, and which other holders it allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LockMode {
    /// A run: there is one at a time.
    #[default]
    Run,
    /// A run that works beside other runs knowingly (`--share`).
    Share,
    /// Files are restored or merged: no run works meanwhile, sharing or not.
    Files,
}

impl LockMode {
    /// Whether both may be at work in one project.
    pub fn is_compatible_with(self, other: Self) -> bool {
        match (self, other) {
            (Self::Share, Self::Share | Self::Run) | (Self::Run, Self::Share) => true,
            (Self::Run, Self::Run) | (Self::Files, _) | (_, Self::Files) => false,
        }
    }
}

/// The holder of a project's lock.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LockHolder {
    /// Empty if files are restored for no run.
    pub run: RunId,
    pub workflow: String,
    /// The process that drives it.
    pub pid: u32,
    pub since: Timestamp,
    /// The directory in which it works.
    pub project: String,
    pub hold: LockMode,
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { run, workflow, pid, project, .. } = self;
        match self.hold {
            LockMode::Run | LockMode::Share => {
                write!(f, "run {run} of workflow `{workflow}` (process {pid}) is working in {project}")
            }
            LockMode::Files => write!(f, "process {pid} is changing the files of {project}"),
        }
    }
}
