//! Everything that can happen to a run. Inputs are journaled; a run is its inputs.

mod deserialize;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::steering::{BreakpointSet, SteeringAction};
use synthdev_domain::approval::{ApprovalDecision, ApprovalPolicy};
use synthdev_domain::cost::{AttemptUsage, CostEntry};
use synthdev_domain::ids::{CallId, RunId, SnapshotId};
use synthdev_domain::model::{ModelError, ModelReply};
use synthdev_domain::script::{ScriptError, ScriptOutcome};
use synthdev_domain::snapshot::SnapshotInfo;
use synthdev_domain::tool::ToolOutcome;
use synthdev_domain::workflow::WorkflowProgram;

/// One input. Each answer names the call it answers; an answer to a call that is no longer pending is dropped.
///
/// Written with its kind first (`{"input": "replied", …}`), and read in one pass if the kind is first: see
/// `input/deserialize.rs`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "input", remote = "Self")]
pub enum Input {
    // life
    Started {
        seed: u64,
    },
    /// Stops the run of a workflow. In a chat it stops the current turn; with `end`, the whole chat.
    /// `partial` is the text that had streamed by then, per model call.
    Cancelled {
        #[serde(default)]
        partial: Vec<(CallId, String)>,
        end: bool,
        /// What the model calls that it stops had used by then, each attempt of a call by itself.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        used: Vec<(CallId, AttemptUsage)>,
    },
    /// The user sent a message that no state had asked for.
    Said {
        text: String,
    },
    /// The user steers the run: where it stops, what it continues with.
    Steered(Box<SteeringAction>),
    /// The run resumes after it paused or failed, or after its process died.
    Resumed(Box<ResumeInput>),
    /// The run is rewound to the moment before a step; what came later no longer counts.
    #[serde(rename = "returned")]
    Rewound(Box<RewindInput>),

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
        /// By the attempts of which something had arrived; nothing in older runs, which did not store it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        used: Vec<AttemptUsage>,
        /// Another attempt was due, but the budgets had no room for the same request: the machine decides.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
    },
    /// Usage of a model call that the input before has stopped, so that its answer is no longer needed; or of one that
    /// was cut off and is repeated, because the process that drove the run left or because an attempt failed.
    Stopped {
        call: CallId,
        used: Vec<AttemptUsage>,
    },
    Approved {
        call: CallId,
        decision: ApprovalDecision,
    },
    /// A call that needs an approval was checked. An effect that checks and asks reports a refusal only.
    ToolChecked {
        call: CallId,
        /// What its tool answers instead of running; absent: the user is asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refusal: Option<Box<ToolOutcome>>,
    },
    ToolDone {
        call: CallId,
        outcome: ToolOutcome,
    },
    Answered {
        call: CallId,
        answer: UserAnswer,
    },
    /// A timer ran out.
    Elapsed {
        call: CallId,
    },
}

impl Input {
    /// The call that this answers; `None` for an input that answers no call.
    pub fn answered_call(&self) -> Option<CallId> {
        match self {
            Self::Started { .. }
            | Self::Cancelled { .. }
            | Self::Said { .. }
            | Self::Steered(_)
            | Self::Resumed(_)
            | Self::Rewound(_)
            | Self::Stopped { .. } => None,
            Self::SnapshotTaken { call, .. }
            | Self::SnapshotFailed { call, .. }
            | Self::Evaluated { call, .. }
            | Self::ScriptFailed { call, .. }
            | Self::Replied { call, .. }
            | Self::ModelFailed { call, .. }
            | Self::Approved { call, .. }
            | Self::ToolChecked { call, .. }
            | Self::ToolDone { call, .. }
            | Self::Answered { call, .. }
            | Self::Elapsed { call } => Some(*call),
        }
    }
}

/// How a run resumes. All fields count at once, in one journal row.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ResumeInput {
    /// A user can be asked from now on.
    pub present: bool,
    /// The approval policy from now on; absent: unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approvals: Option<ApprovalPolicy>,
    /// Answers to open questions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<(CallId, UserAnswer)>,
    /// Decisions on open approvals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<(CallId, ApprovalDecision)>,
    /// Open questions whose time is up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elapsed: Vec<CallId>,
    /// Calls that had begun before a crash and are made once more, with the number of the attempt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub again: Vec<(CallId, u32)>,
    /// Tools of which it is unknown whether they took effect, and why: the user decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unclear: Vec<(CallId, String)>,
    /// The definition changed and was accepted (`resume --upgrade`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<WorkflowProgram>,
    /// The run was imported, and no snapshot of this project was taken for it yet: undo restores the files as they are
    /// now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub arrived: bool,
    /// Sub-agents can be reached from now on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sub_agents: bool,
    /// Where the run stops from now on, besides its present breakpoints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stops: Option<BreakpointSet>,
}

/// Where a run is rewound to, and what is different from then on.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct RewindInput {
    /// The state that is to be entered again: the n-th that this run entered, from 1.
    pub step: u32,
    /// How many inputs before this one still count.
    pub kept: usize,
    /// The run of which this one is a fork; absent for a rewound run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork_of: Option<RunId>,
    /// `common_data` to set before the step, by path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<(Vec<String>, Value)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<WorkflowProgram>,
    /// Cost of the discarded part, which still counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spent: Vec<CostEntry>,
    /// The files were restored to this snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<SnapshotId>,
    /// The snapshot that was on its way when the step began, and was taken a little later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<SnapshotInfo>,
    /// Models and tools that other branches had called by then, without an answer yet. A tool that had begun does not
    /// begin again without a question.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<CallId>,
    /// Answers to such calls that came before the rewind; applied when the run resumes. The cost of these answers is
    /// among `spent`, or the run that this one is a fork of has paid it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Input>,
    /// Queued messages that the user withdrew after the step, or got back at the end of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withdrawn: Vec<String>,
}

/// A user's answer to a question of the run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "answer")]
pub enum UserAnswer {
    /// The text of the user, for `UserQuestion::Message`.
    Text { text: String },
    /// For `UserQuestion::Pause`.
    Value { value: Value },
    /// Continue past a limit, or without a snapshot; retry a failed state; repeat a call that may have taken effect.
    Continue,
    /// End the run (a limit leaves it resumable).
    Stop,
    /// The sub-agent's answers to this `UserQuestion::Pause` did not fit, and no more are taken: the state fails. The `default`
    /// of the pause does not apply.
    Unfit { detail: String },
}
