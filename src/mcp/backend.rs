//! What the server needs of the program around it: workflows, and how to start and resume runs.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::reminders::PauseReminders;
use super::start_queue::StartQueue;
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::RunSummary;
use synthdev_domain::workflow::WorkflowParameter;
use synthdev_service::delegated_work::delegated_calls::DelegatedCalls;
use synthdev_service::run_events::RuntimeHandle;
use synthdev_service::run_resume::ResumeRequest;
use synthdev_service::run_start::{DelegationOptions, FileSharingMode};

/// A workflow that can be started.
#[derive(Clone, PartialEq, Debug)]
pub struct OfferedWorkflow {
    pub name: String,
    pub description: String,
    pub inputs: Vec<WorkflowParameter>,
    /// The file that defines it.
    pub file: String,
    /// Warnings for the answer that reports its start, a line each.
    pub start_warnings: Vec<String>,
}

/// A workflow that cannot, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BrokenWorkflow {
    pub name: String,
    pub reason: String,
}

/// A run that was started for a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClientStartedRun {
    pub run: RunId,
    /// What the client has to know, a line each: servers that are left out, files that the run's worktree lacks.
    pub warnings: Vec<String>,
}

/// Why something was not done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct McpBackendError {
    pub message: String,
    pub hint: Option<String>,
}

pub trait McpBackend: Send + Sync {
    /// Sorted by name, as they are now.
    fn workflows(&self) -> Arc<[OfferedWorkflow]>;

    fn broken_workflows(&self) -> Arc<[BrokenWorkflow]>;

    /// What was left out when the configuration was read, a line each.
    fn config_notes(&self) -> Arc<[String]>;

    /// Signals that workflows were read again and have changed.
    fn workflow_changes(&self) -> watch::Receiver<u64>;

    /// The text of a workflow's file, fit to be shown.
    fn definition(&self, file: &str) -> Option<String>;

    /// The canonical path of the project: runs of other projects are none of this server's.
    fn project(&self) -> &str;

    /// Whether a client may answer questions that otherwise only a user may answer.
    fn remote_approvals(&self) -> bool;

    /// Whether every tool is allowed that would be asked about, also of a run that began without this.
    fn approves_all(&self) -> bool;

    /// Watches the runs that are started from here.
    fn handle(&self) -> &RuntimeHandle;

    /// Model calls that clients make.
    fn interactions(&self) -> &DelegatedCalls;

    /// Which clients are reminded that a run waits.
    fn reminders(&self) -> &Arc<PauseReminders>;

    /// The order in which runs are started.
    fn start_queue(&self) -> &StartQueue;

    /// Items are handed out one at a time, to look for what is wrong.
    fn is_serial(&self) -> bool;

    /// Records a run and sets it going. The values are checked.
    fn start(
        &self,
        name: &str,
        inputs: Map<String, Value>,
        handed_out: DelegationOptions,
        beside: FileSharingMode,
    ) -> BoxFuture<'static, Result<ClientStartedRun, McpBackendError>>;

    /// The runtime and the request to resume a run with.
    ///
    /// # Errors
    /// Its files are gone, or it needs models that are not set here.
    fn prepare_resume(&self, run: &RunSummary) -> Result<(RuntimeHandle, ResumeRequest), McpBackendError>;
}
