//! Rewind, undo and fork as the screen requests them: the target, the effects, the result.

use serde_json::Value;

use synthdev_domain::ids::RunId;

/// Going back. Ids may be unique prefixes; without one the newest run of this project is meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TimeTravelRequest {
    /// The files as before the run.
    Undo { run: Option<String> },
    /// Conversation, data and files as before a step.
    Rewind { run: Option<String>, step: u32 },
    /// A new run from there, with something changed in `common_data`; the other one stays, and so do the files.
    Fork { run: Option<String>, step: u32, set: Vec<(Vec<String>, Value)> },
}

/// The effects of a rewind, an undo or a fork, for the user to confirm.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimeTravelPreview {
    /// With the run's whole id.
    pub travel: TimeTravelRequest,
    pub title: String,
    pub body: String,
}

/// The result of a rewind, an undo or a fork.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimeTravelOutcome {
    pub text: String,
    /// The run that `/resume` continues from there.
    pub resumable_run: Option<RunId>,
}
