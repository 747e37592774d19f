//! Rows of a run's journal, the summary that lists are made of, and what can be asked of the history.

mod disk_usage;
mod origin;
mod query;
mod resume_token;
pub mod run_tree;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cost::TokenUsage;
use super::delegation::DelegationRequest;
use super::ids::{CallId, RunId, SnapshotId, Timestamp};
use super::run_error::RunError;
use super::snapshot::RunWorktree;

pub use disk_usage::{HistoryStorageUsage, ReclaimedSpace};
pub use origin::{RunOrigin, RunOriginKind};
pub use query::{RunQuery, SearchHit, SearchQuery};
pub use resume_token::{TokenRecord, TokenRedeemOutcome};

/// `Interrupted` is what a reader sees of a run whose process died.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    Running,
    Paused,
    Completed,
    Failed,
    Cancelled,
    Interrupted,
}

impl RunStatus {
    pub const ALL: [Self; 6] =
        [Self::Running, Self::Paused, Self::Completed, Self::Failed, Self::Cancelled, Self::Interrupted];

    /// Completed, failed or cancelled: the run writes nothing more unless a user resumes it.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JournalRowKind {
    /// Written before an effect; without a later input of the same call its outcome is unknown.
    Intent,
    /// An effect with consequences is about to be performed; the body holds its expected effect.
    Begun,
    /// An input of the machine: the truth from which a run is rebuilt.
    Input,
}

impl JournalRowKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Intent => "intent",
            Self::Begun => "begun",
            Self::Input => "input",
        }
    }
}

/// One append-only row. `body` is JSON text; bodies above 128 KiB are stored once by content hash by the store.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct JournalRow {
    pub kind: JournalRowKind,
    pub at: Timestamp,
    pub call: Option<CallId>,
    pub body: String,
    /// What a search can find in it; `None` is nothing. Kept in the search index only: a row that was read again
    /// has none.
    #[serde(skip)]
    pub words: Option<String>,
    /// Of the events that an input led to: a replay must reach the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<u64>,
}

impl JournalRow {
    /// A row that no search finds and that has no digest.
    pub fn new(kind: JournalRowKind, at: Timestamp, call: Option<CallId>, body: impl Into<String>) -> Self {
        Self { kind, at, call, body: body.into(), words: None, digest: None }
    }
}

/// Why a run waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseReason {
    Approval,
    Input,
    Delegate,
    Error,
    Limit,
    Budget,
    User,
    UncertainEffect,
}

impl PauseReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Input => "input",
            Self::Delegate => "delegate",
            Self::Error => "error",
            Self::Limit => "limit",
            Self::Budget => "budget",
            Self::User => "user",
            Self::UncertainEffect => "uncertain_effect",
        }
    }
}

/// One thing that a run waits for; several branches may each wait for one.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct OpenPause {
    pub call: CallId,
    /// Path name of the state.
    pub state: String,
    pub reason: PauseReason,
    pub message: String,
    /// What a `pause` state asks for: approval, text, number, boolean, choice, outputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_outputs: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// What a `delegate` state asks for, field by field; `message` has the same in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Box<DelegationRequest>>,
    pub since: Timestamp,
}

/// Kind of the pause of a run that needs no answer to resume.
pub const FREE: &str = "paused";

/// What a conversation waits for that its user has left.
pub const NEXT_MESSAGE: &str = "waits for your next message";

/// What lists for people call a conversation that its user has left.
pub const LEFT: &str = "left";

impl OpenPause {
    /// The run is a conversation that its user has left: no other run pauses so.
    pub fn awaits_next_message(&self) -> bool {
        self.reason == PauseReason::User && self.message == NEXT_MESSAGE
    }

    /// The user paused the run and it asks nothing: it can be resumed without an answer.
    pub fn needs_no_answer(&self) -> bool {
        self.reason == PauseReason::User && self.kind.as_deref() == Some(FREE)
    }
}

/// The data of a run that is known when it begins.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunHeader {
    pub id: RunId,
    pub workflow: String,
    /// `WorkflowProgram::hash`.
    pub definition_hash: String,
    /// The whole `RunSpec` as JSON (definition, roles, prompts, input); stored by content hash.
    pub spec: String,
    pub input: String,
    /// Canonical path of the project.
    pub project: String,
    pub started: Timestamp,
    /// Process that drives the run, to distinguish running from interrupted.
    pub pid: u32,
    /// The run that it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<RunOrigin>,
    /// Where it works, if not in the project itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<RunWorktree>,
}

/// The changing part, rewritten at each state boundary; rebuildable from the rows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunProgress {
    pub status: RunStatus,
    pub path: Vec<Arc<str>>,
    pub usage: TokenUsage,
    pub cost_usd: Option<f64>,
    pub snapshot: Option<SnapshotId>,
    pub output: Option<serde_json::Value>,
    pub error: Option<RunError>,
    pub updated: Timestamp,
    /// What it waits for, if it is paused, or failed where it can be tried again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<OpenPause>,
    /// What a conversation is called: it becomes the input of its row in lists. Absent: the row keeps its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

impl RunProgress {
    /// A run of which nothing is known yet.
    pub fn new(at: Timestamp) -> Self {
        Self {
            status: RunStatus::Running,
            path: Vec::new(),
            usage: TokenUsage::default(),
            cost_usd: Some(0.0),
            snapshot: None,
            output: None,
            error: None,
            updated: at,
            pauses: Vec::new(),
            title: None,
        }
    }

    /// Whether it goes on when it is answered.
    pub fn awaits_answer(&self) -> bool {
        match self.status {
            RunStatus::Paused => true,
            RunStatus::Failed => !self.pauses.is_empty(),
            RunStatus::Running | RunStatus::Completed | RunStatus::Cancelled | RunStatus::Interrupted => {
                false
            }
        }
    }

    /// The run is a conversation that its user has left: it waits for no decision.
    pub fn is_left(&self) -> bool {
        self.status == RunStatus::Paused && self.pauses.iter().any(OpenPause::awaits_next_message)
    }

    /// The status in lists for people; programs read [`RunStatus::as_str`].
    pub fn status_word(&self) -> &'static str {
        if self.is_left() { LEFT } else { self.status.as_str() }
    }
}

/// A line of `runs list`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunSummary {
    pub id: RunId,
    pub workflow: String,
    pub definition_hash: String,
    pub input: String,
    pub project: String,
    pub started: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<RunOrigin>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<RunWorktree>,
    #[serde(flatten)]
    pub progress: RunProgress,
}

/// What tidying up needs to know of a run, without its texts.
#[derive(Clone, PartialEq, Debug)]
pub struct RunOutline {
    pub id: RunId,
    pub started: Timestamp,
    pub status: RunStatus,
    pub updated: Timestamp,
    pub worktree: Option<RunWorktree>,
}
