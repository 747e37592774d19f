//! A call of a tool, with what it may use.

use rmcp::model::JsonObject;
use serde_json::Value;

use super::super::await_run::{self, RequestClient};
use super::super::backend::McpBackend;
use super::super::error::{McpCallError, ToolResultError, run_of_other_project, unknown_workflow_id};
use super::super::response;
use super::super::start_queue::StartTurn;
use super::super::steps;
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::{RunStatus, RunSummary};
use synthdev_service::conversations::is_conversation;
use synthdev_service::run_control::RunControlOutcome;
use synthdev_service::run_events::EventReceiver;
use synthdev_service::run_place::{RunOperation, RunPlace};

pub(crate) struct McpToolCall<'c> {
    pub(crate) backend: &'c dyn McpBackend,
    pub(crate) arguments: Option<JsonObject>,
    pub(crate) client: RequestClient<'c>,
}

impl McpToolCall<'_> {
    /// Waits until a run may be started.
    ///
    /// # Errors
    /// The client has cancelled its request or gone away meanwhile: nothing is started.
    pub(super) async fn await_start_turn(&self) -> Result<StartTurn<'_>, McpCallError> {
        let RequestClient { context, presence } = self.client;
        let turn = tokio::select! {
            biased;
            () = context.ct.cancelled() => None,
            () = presence.wait_gone() => None,
            turn = self.backend.start_queue().take_turn() => turn,
        };
        turn.ok_or_else(|| {
            let detail = "the client went away before its turn; nothing was started";
            ToolResultError::new("not_started", "The run was not started", detail).into()
        })
    }

    /// Follows a run until it stops or needs this client, and returns its status. The subscription `events` begins
    /// before the run is started.
    pub(super) async fn follow_run(&self, run: &RunId, events: EventReceiver) -> Result<Value, McpCallError> {
        let stands = await_run::await_run(self.backend, run, events, self.client).await?;
        Ok(status_json(self.backend, &stands))
    }

    /// The same for a run that another client has started: cancelling this request leaves it alone.
    pub(super) async fn watch_run(&self, run: &RunId, events: EventReceiver) -> Result<Value, McpCallError> {
        let stands = await_run::watch_run(self.backend, run, events, self.client).await?;
        Ok(status_json(self.backend, &stands))
    }

    /// The status of a known run; waits for one that runs in this process.
    pub(super) async fn watch_if_running(&self, run: &RunId) -> Result<Value, McpCallError> {
        let events = self.backend.handle().subscribe(false);
        if self.backend.handle().running_runs().contains(run) {
            return self.watch_run(run, events).await;
        }
        self.current_status(run)
    }

    pub(super) fn current_status(&self, run: &RunId) -> Result<Value, McpCallError> {
        Ok(status_json(self.backend, &await_run::run_summary(self.backend.handle(), run)?))
    }
}

/// A run of this project, by its whole id; also one that only a server of runs has.
pub(crate) async fn find_run(backend: &dyn McpBackend, id: &str) -> Result<RunSummary, McpCallError> {
    backend.handle().refresh_from_server(id).await;
    let known = backend.handle().summary(id).ok().filter(|run| run.id.as_str() == id);
    let run = known.ok_or_else(|| unknown_workflow_id(id))?;
    RunPlace::of_run(&run, backend.project())
        .check_project(&run.id, RunOperation::Resume)
        .map_err(|error| run_of_other_project(&error))?;
    Ok(run)
}

/// What a run that was to pause or end still does.
pub(super) fn later_message(outcome: &RunControlOutcome) -> String {
    format!("The {outcome}. get_workflow_status reports it.")
}

/// The present status of a run, with tokens for pauses that the client may answer, and its open model calls.
pub(super) fn status_json(backend: &dyn McpBackend, run: &RunSummary) -> Value {
    let open = match run.progress.status {
        RunStatus::Running => backend.interactions().open_calls(&run.id),
        _ => Vec::new(),
    };
    let now = backend.handle().now();
    if let Some(asked) = response::client_directive(run, &open, now) {
        return asked;
    }
    let mut told = delegated_tasks(backend, run)
        .unwrap_or_else(|| response::run_status_json(run, &await_run::pending_actions(backend, run)));
    if backend.approves_all() {
        response::add_approval_message(run, &mut told);
    }
    if is_conversation(backend.handle(), run) {
        response::add_conversation_message(run, &mut told);
    }
    if let Some(other) =
        backend.handle().awaited_lock_holder(&run.id).filter(|_| run.progress.status == RunStatus::Running)
    {
        response::add_lock_wait(&mut told, &other);
    }
    told
}

/// The tasks of a run for which the client starts sub-agents.
fn delegated_tasks(backend: &dyn McpBackend, run: &RunSummary) -> Option<Value> {
    let handle = backend.handle();
    let tasks = handle.task_broker().open_tasks(&run.id);
    if run.progress.status != RunStatus::Running || tasks.is_empty() {
        return None;
    }
    let program = handle.load_record(run.id.as_str()).ok()?.program;
    Some(steps::add_task_fields(run, &tasks, &program, backend.is_serial()))
}
