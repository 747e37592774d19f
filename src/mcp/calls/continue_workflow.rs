//! `continue_workflow`: resumes a run that was paused, whose process died, whose client went away, or that has a failed
//! step that can be retried.

use serde_json::Value;

use super::super::arguments::ToolArguments;
use super::super::error::{McpCallError, ToolResultError, from_resume_error};
use super::tool_call::{McpToolCall, find_run};
use synthdev_domain::journal::RunStatus;
use synthdev_service::run_resume::{
    ContinuingParty, ResumeRequest, RunResumeError, continuation_answers, resume_run,
};

pub(super) async fn continue_workflow(mut call: McpToolCall<'_>) -> Result<Value, McpCallError> {
    let mut arguments = ToolArguments::from_request(call.arguments.take(), &["workflowId"], &[])?;
    let id = arguments.text("workflowId")?.unwrap_or_default();
    let run = find_run(call.backend, &id)?;
    let answers = continuation_answers(call.backend.handle(), &run, ContinuingParty::Client)
        .map_err(|error| not_continued(&error))?;
    let (handle, request) = call.backend.prepare_resume(&run)?;
    let events = handle.subscribe(false);
    resume_run(&handle, &run.id, ResumeRequest { answers, ..request })
        .await
        .map_err(|error| from_resume_error(&error))?;
    call.follow_run(&run.id, events).await
}

fn not_continued(error: &RunResumeError) -> McpCallError {
    let hint = match error {
        RunResumeError::NotInterrupted { status: RunStatus::Running, .. } => {
            "pause_workflow pauses it, in whichever process it runs"
        }
        RunResumeError::NotInterrupted { .. } => "get_workflow_status shows what it needs",
        other => return from_resume_error(other),
    };
    ToolResultError::new("not_continued", "The run was not interrupted", error.to_string())
        .hint(Some(hint.to_owned()))
        .into()
}
