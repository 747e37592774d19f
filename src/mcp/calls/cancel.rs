//! `cancel_workflow`: ends a run for good, whether it runs here or waits.

use serde_json::Value;

use super::super::arguments::ToolArguments;
use super::super::error::{McpCallError, ToolResultError};
use super::tool_call::{McpToolCall, find_run};
use synthdev_domain::journal::RunStatus;
use synthdev_runtime::cancel::CancelOutcome;

pub(super) async fn cancel_workflow(mut call: McpToolCall<'_>) -> Result<Value, McpCallError> {
    let mut arguments = ToolArguments::from_request(call.arguments.take(), &["workflowId"], &[])?;
    let id = arguments.text("workflowId")?.unwrap_or_default();
    let run = find_run(call.backend, &id)?.id;
    let handle = call.backend.handle();
    let events = handle.subscribe(false);
    let ending = handle.cancel(&run).await.map_err(|error| {
        ToolResultError::new("not_cancelled", "The run was not cancelled", error.message).hint(error.hint)
    })?;
    if ending == CancelOutcome::Done {
        return call.current_status(&run);
    }
    let told = call.follow_run(&run, events).await?;
    // it may have paused at that moment, before it read the cancellation
    let missed = |status: RunStatus| matches!(status, RunStatus::Paused | RunStatus::Interrupted);
    let stands = handle.summary(run.as_str()).is_ok_and(|stands| missed(stands.progress.status));
    if stands && handle.cancel(&run).await == Ok(CancelOutcome::Done) {
        return call.current_status(&run);
    }
    Ok(told)
}
