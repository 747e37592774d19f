//! What the machine wants done. Data, never closures, so that any driver can do it (architecture §7).

use serde::{Deserialize, Serialize};

use crate::domain::ids::CallId;
use crate::domain::model::ModelRequest;
use crate::domain::script::ScriptJob;
use crate::domain::tool::{ToolInvocation, ToolRisk};

#[derive(Clone, Debug)]
pub enum Effect {
    TakeSnapshot {
        call: CallId,
        label: String,
        note: String,
    },
    Evaluate {
        call: CallId,
        job: ScriptJob,
    },
    CallModel {
        call: CallId,
        request: Box<ModelRequest>,
    },
    /// Stop a model call, tool or script that was asked for earlier; its answer would be dropped.
    Abort {
        call: CallId,
    },
    AskApproval {
        call: CallId,
        invocation: ToolInvocation,
        risk: ToolRisk,
    },
    RunTool {
        call: CallId,
        invocation: ToolInvocation,
        risk: ToolRisk,
    },
    AskPerson {
        call: CallId,
        question: Question,
    },
    /// The run is over; nothing follows.
    Finish,
}

/// What a person is asked.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "question")]
pub enum Question {
    /// Single-agent mode: the next message.
    Message,
    /// A limit was reached: continue with more, or stop (A52, TOOL-15)?
    Limit { limit: String, value: u32, text: String },
    /// No snapshot could be taken: go on without one (A58)?
    NoSnapshot { reason: String },
}
