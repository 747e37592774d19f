//! Everything that can happen to a run. Inputs are journaled; a run is its inputs.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::approval::Decision;
use crate::domain::ids::CallId;
use crate::domain::model::{ModelError, ModelReply};
use crate::domain::script::{ScriptError, ScriptOutcome};
use crate::domain::snapshot::SnapshotInfo;
use crate::domain::tool::ToolOutcome;

/// One input. Each answer names the call it answers; an answer to a call that is no longer pending is dropped.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "input")]
pub enum Input {
    // life
    Started {
        seed: u64,
    },
    /// Stop what is running: the run, or only the turn of a chat unless `end`.
    /// `partial` is the text that had streamed by then, per model call.
    Cancelled {
        #[serde(default)]
        partial: Vec<(CallId, String)>,
        end: bool,
    },
    /// The person said something that nobody had asked for (A62).
    Said {
        text: String,
    },

    // answers
    SnapshotTaken {
        call: CallId,
        info: SnapshotInfo,
    },
    SnapshotFailed {
        call: CallId,
        reason: String,
    },
    Evaluated {
        call: CallId,
        outcome: ScriptOutcome,
    },
    ScriptFailed {
        call: CallId,
        error: ScriptError,
    },
    Replied {
        call: CallId,
        reply: ModelReply,
    },
    ModelFailed {
        call: CallId,
        error: ModelError,
        attempts: u32,
    },
    Approved {
        call: CallId,
        decision: Decision,
    },
    ToolDone {
        call: CallId,
        outcome: ToolOutcome,
    },
    Answered {
        call: CallId,
        answer: Answer,
    },
    /// A timer ran out.
    Elapsed {
        call: CallId,
    },
}

impl Input {
    /// The call that this answers; `None` for what nobody asked for.
    pub fn answers(&self) -> Option<CallId> {
        match self {
            Self::Started { .. } | Self::Cancelled { .. } | Self::Said { .. } => None,
            Self::SnapshotTaken { call, .. }
            | Self::SnapshotFailed { call, .. }
            | Self::Evaluated { call, .. }
            | Self::ScriptFailed { call, .. }
            | Self::Replied { call, .. }
            | Self::ModelFailed { call, .. }
            | Self::Approved { call, .. }
            | Self::ToolDone { call, .. }
            | Self::Answered { call, .. }
            | Self::Elapsed { call } => Some(*call),
        }
    }
}

/// A person's answer to a question of the run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "answer")]
pub enum Answer {
    /// What was typed, for `Question::Message`.
    Text { text: String },
    /// For `Question::Pause`.
    Value { value: Value },
    /// Go on past a limit, or without a snapshot; try a failed state again.
    Continue,
    /// End the run here (a limit keeps it continuable).
    Stop,
}
