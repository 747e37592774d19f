//! Workflows and conversations that start.

use synthdev_domain::ids::RunId;
use synthdev_engine::steering::BreakpointSet;

use crate::model_windows::ModelWindows;
use crate::run_start::FileSharingMode;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StartRequest {
    Workflow {
        name: String,
        input: String,
    },
    /// A workflow beside those that run: sharing the project's files, or with files of its own.
    Beside {
        name: String,
        input: String,
        sharing_mode: FileSharingMode,
    },
    /// Single-agent mode; the run asks `UserQuestion::Message` when it is ready for text.
    Chat {
        role: String,
    },
    /// Breakpoints of the next workflow that starts or is resumed.
    Breakpoints(BreakpointSet),
}

#[derive(Clone, Debug)]
pub enum StartResponse {
    WorkflowStarted {
        name: String,
        input: String,
        /// Or why not: unknown or broken workflow, input that does not fit.
        run: Result<RunId, String>,
        /// Where it works, if not in the project.
        note: Option<String>,
        windows: ModelWindows,
        /// Of the workflow, in their order: empty if it did not start.
        agents: Vec<String>,
        /// What it has to do without, a line each: empty if it did not start.
        warnings: Vec<String>,
    },
    /// `WorkflowStarted` or `ChatStarted` follows.
    Pending(PendingStart),
    ChatStarted {
        role: String,
        run: Result<RunId, String>,
        windows: ModelWindows,
        /// As for a workflow.
        warnings: Vec<String>,
    },
}

/// A start in preparation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PendingStart {
    /// The workflow, or the role of a conversation.
    pub name: String,
    pub chat: bool,
    pub preparation: StartPreparation,
}

/// What a start waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StartPreparation {
    /// MCP servers that came in this session are asked for their tools.
    Servers,
    /// Its files are copied.
    Files,
    /// The servers of its models report their windows.
    Windows,
    /// The MCP servers that it requires list their tools.
    Requirements,
}
