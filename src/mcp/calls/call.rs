//! A call of a tool, with what it may use.

use rmcp::model::JsonObject;
use serde_json::Value;

use super::super::answer;
use super::super::backend::Backend;
use super::super::follow::{self, Client};
use super::super::refusal::{Refusal, unknown_workflow_id};
use super::super::steps;
use crate::domain::ids::RunId;
use crate::domain::journal::{RunStatus, RunSummary};
use crate::runtime::handle::EventReceiver;

pub(in crate::mcp) struct Call<'c> {
    pub(in crate::mcp) backend: &'c dyn Backend,
    pub(in crate::mcp) arguments: Option<JsonObject>,
    pub(in crate::mcp) client: Client<'c>,
}

impl Call<'_> {
    /// Stays with a run until it stops or needs this client, and tells how it stands then. `events` were subscribed to
    /// before it was set going.
    pub(super) async fn follow(&self, run: &RunId, events: EventReceiver) -> Result<Value, Refusal> {
        let stands = follow::until_it_stops(self.backend, run, events, self.client).await?;
        Ok(told(self.backend, &stands))
    }

    /// The same for a run that somebody else has set going: cancelling this request leaves it alone.
    pub(super) async fn watch(&self, run: &RunId, events: EventReceiver) -> Result<Value, Refusal> {
        let stands = follow::as_it_goes(self.backend, run, events, self.client).await?;
        Ok(told(self.backend, &stands))
    }

    /// How a run stands of which this was heard before; one that goes on here is waited for.
    pub(super) async fn again(&self, run: &RunId) -> Result<Value, Refusal> {
        let events = self.backend.handle().subscribe(false);
        if self.backend.handle().running().contains(run) {
            return self.watch(run, events).await;
        }
        self.now(run)
    }

    pub(super) fn now(&self, run: &RunId) -> Result<Value, Refusal> {
        Ok(told(self.backend, &follow::summary(self.backend.handle(), run)?))
    }
}

/// A run of this project, by its whole id.
pub(in crate::mcp) fn run_of(backend: &dyn Backend, id: &str) -> Result<RunSummary, Refusal> {
    let known = backend.handle().summary(id).ok();
    let run = known.filter(|run| run.id.as_str() == id && run.project == backend.project());
    run.ok_or_else(|| unknown_workflow_id(id))
}

/// How a run stands now, with tokens for what the client may answer, and the model calls that it is to make.
pub(super) fn told(backend: &dyn Backend, run: &RunSummary) -> Value {
    let open = match run.progress.status {
        RunStatus::Running => backend.interactions().open(&run.id),
        _ => Vec::new(),
    };
    let now = backend.handle().ports().clock.now();
    if let Some(asked) = answer::directive(run, &open, now) {
        return asked;
    }
    let mut told =
        handed_out(backend, run).unwrap_or_else(|| answer::of_run(run, &follow::offers(backend, run)));
    if let Some(other) =
        backend.handle().waits_behind(&run.id).filter(|_| run.progress.status == RunStatus::Running)
    {
        answer::queues(&mut told, &other);
    }
    told
}

/// The tasks of a run for which somebody is to start sub-agents.
fn handed_out(backend: &dyn Backend, run: &RunSummary) -> Option<Value> {
    let handle = backend.handle();
    let tasks = handle.desk().tasks(&run.id);
    if run.progress.status != RunStatus::Running || tasks.is_empty() {
        return None;
    }
    let program = handle.run(run.id.as_str()).ok()?.program;
    Some(steps::fields(run, &tasks, &program, backend.serial()))
}
