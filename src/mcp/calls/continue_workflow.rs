//! `continue_workflow`: resumes a run that was paused, whose process died, whose client went away, or that has a failed
//! step that can be retried.

use serde_json::Value;

use super::super::arguments::ToolArguments;
use super::super::error::{McpCallError, ToolResultError, from_resume_error};
use super::tool_call::{McpToolCall, find_run};
use synthdev_domain::ids::CallId;
use synthdev_domain::journal::{PauseReason, RunStatus, RunSummary};
use synthdev_engine::input::UserAnswer;

pub(super) async fn continue_workflow(mut call: McpToolCall<'_>) -> Result<Value, McpCallError> {
    let mut arguments = ToolArguments::from_request(call.arguments.take(), &["workflowId"], &[])?;
    let id = arguments.text("workflowId")?.unwrap_or_default();
    let run = find_run(call.backend, &id)?;
    let failed = retryable_steps(&run);
    if run.progress.status != RunStatus::Interrupted && failed.is_empty() && !is_freely_paused(&run) {
        let detail = format!("it is {}, and it has no step to retry", run.progress.status.as_str());
        let hint = match run.progress.status {
            RunStatus::Running => "pause_workflow pauses it, in whichever process it runs",
            _ => "get_workflow_status shows what it needs",
        };
        return Err(ToolResultError::new("not_continued", "The run was not interrupted", detail)
            .hint(Some(hint.to_owned()))
            .into());
    }
    let (handle, mut going) = call.backend.prepare_resume(&run)?;
    going.answers = failed.into_iter().map(|call| (call, UserAnswer::Continue)).collect();
    let events = handle.subscribe(false);
    handle.resume(&run.id, going).await.map_err(|error| from_resume_error(&error))?;
    call.follow_run(&run.id, events).await
}

/// It was paused, and asks no question.
fn is_freely_paused(run: &RunSummary) -> bool {
    let open = &run.progress.pauses;
    run.progress.status == RunStatus::Paused && matches!(open.as_slice(), [only] if only.needs_no_answer())
}

/// The steps of a failed run that can be tried again.
fn retryable_steps(run: &RunSummary) -> Vec<CallId> {
    let open = run.progress.pauses.iter().filter(|_| run.progress.status == RunStatus::Failed);
    open.filter(|pause| pause.reason == PauseReason::Error).map(|pause| pause.call).collect()
}
