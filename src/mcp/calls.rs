//! What each tool does.

mod cancel;
mod list;
mod resume;
mod start;
mod status;

use rmcp::RoleServer;
use rmcp::model::JsonObject;
use rmcp::service::RequestContext;
use serde_json::Value;

use super::backend::{Backend, Offered};
use super::follow;
use super::refusal::{Refusal, unknown_workflow_id};
use super::tools::System;
use crate::domain::ids::RunId;
use crate::domain::journal::RunSummary;

/// A call with what it may use.
pub(super) struct Call<'c> {
    pub(super) backend: &'c dyn Backend,
    pub(super) arguments: Option<JsonObject>,
    pub(super) context: &'c RequestContext<RoleServer>,
}

/// Does what a system tool is for.
pub(super) async fn system(tool: System, call: Call<'_>) -> Result<Value, Refusal> {
    match tool {
        System::ListWorkflows => list::workflows(call),
        System::StartWorkflow => start::by_name(call).await,
        System::ResumeWorkflow => resume::resume(call).await,
        System::GetWorkflowStatus => status::status(call),
        System::CancelWorkflow => cancel::cancel(call).await,
        System::ListRuns => list::runs(call),
    }
}

/// Starts the workflow of a tool and stays with it.
pub(super) async fn workflow(offered: &Offered, call: Call<'_>) -> Result<Value, Refusal> {
    start::workflow(offered, call).await
}

/// A run of this project, by its whole id.
pub(super) fn run_of(backend: &dyn Backend, id: &str) -> Result<RunSummary, Refusal> {
    let known = backend.handle().summary(id).ok();
    let run = known.filter(|run| run.id.as_str() == id && run.project == backend.project());
    run.ok_or_else(|| unknown_workflow_id(id))
}

/// How a run stands now, with tokens for what the client may answer.
fn told(backend: &dyn Backend, run: &RunSummary) -> Value {
    super::answer::of_run(run, &follow::offers(backend, run))
}

fn now(backend: &dyn Backend, run: &RunId) -> Result<Value, Refusal> {
    Ok(told(backend, &follow::summary(backend.handle(), run)?))
}
