//! Effects that the machine wants performed. Data, never closures, so that any driver can perform them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::steering::Breakpoint;
use synthdev_domain::ids::{CallId, Timestamp};
use synthdev_domain::model::ModelRequest;
use synthdev_domain::run_error::RunError;
use synthdev_domain::script::ScriptJob;
use synthdev_domain::tool::{ToolInvocation, ToolRisk};
use synthdev_domain::workflow::PauseKind;

impl Effect {
    /// Which answer is waited for.
    pub fn call(&self) -> Option<CallId> {
        match self {
            Self::TakeSnapshot { call, .. }
            | Self::Evaluate { call, .. }
            | Self::CallModel { call, .. }
            | Self::CheckTool { call, .. }
            | Self::AskApproval { call, .. }
            | Self::RunTool { call, .. }
            | Self::AskPerson { call, .. }
            | Self::SetTimer { call, .. } => Some(*call),
            Self::Abort { .. } | Self::Finish => None,
        }
    }
}

/// A script's job has no stored form: its effect cannot be serialized.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Effect {
    TakeSnapshot {
        call: CallId,
        label: String,
        note: String,
    },
    #[serde(skip)]
    Evaluate {
        call: CallId,
        job: ScriptJob,
    },
    CallModel {
        call: CallId,
        request: Arc<ModelRequest>,
    },
    /// Stop a model call, tool, script or timer, or withdraw a question, asked for earlier; its answer would be dropped.
    Abort {
        call: CallId,
    },
    /// Say whether a tool would refuse this call, before the user is asked about it. Nothing is executed. Only in runs of
    /// earlier versions: see `RunSpec::checks_only_where_asked`.
    CheckTool {
        call: CallId,
        invocation: ToolInvocation,
        risk: ToolRisk,
    },
    AskApproval {
        call: CallId,
        /// Path name of the state that asks: several branches may at once.
        state: String,
        invocation: ToolInvocation,
        risk: ToolRisk,
        /// When it is denied by itself.
        deadline: Option<Timestamp>,
        /// Whether the call is checked before the user is asked. The answer to a call that its tool refuses is
        /// `Input::ToolChecked`.
        is_checked: bool,
    },
    RunTool {
        call: CallId,
        invocation: ToolInvocation,
        risk: ToolRisk,
    },
    AskPerson {
        call: CallId,
        question: UserQuestion,
    },
    /// Answer with `Elapsed` after this time, unless aborted before.
    /// `is_wall_clock`: time also counts while no process drives the run (`wait`, the end of a pause). Otherwise it does
    /// not (time limits).
    SetTimer {
        call: CallId,
        delay_ms: u64,
        is_wall_clock: bool,
    },
    /// The run is over; nothing follows.
    Finish,
}

/// A question to the user.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "question")]
pub enum UserQuestion {
    /// Single-agent mode: the next message.
    Message,
    /// A limit was reached: continue with more, or stop?
    Limit { limit: String, value: u32, text: String },
    /// No snapshot could be taken: continue without one?
    NoSnapshot { reason: String },
    /// A `pause` state: the answer is a value that fits.
    Pause {
        state: String,
        kind: PauseKind,
        message: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        choices: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema: Option<Box<Value>>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        required_outputs: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default: Option<Box<Value>>,
        /// When the question is answered by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
        /// Why the last answer was not taken.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
    /// The run is stopped before this state, or in it; `point`: the breakpoint, absent in step mode. Any answer
    /// continues the run.
    Break {
        state: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        point: Option<Breakpoint>,
    },
    /// A state failed and nothing catches it: try it again, or let the run end as failed?
    Failed { failure: Box<RunError> },
    /// A tool had begun when the run was cut off, and it is not known whether it took effect: repeat it, take a given
    /// result, or leave it out?
    Uncertain { began: CallId, state: String, tool: String, arguments: Value, reason: String },
}
