//! `cancel_workflow`: ends a run for good, whether it runs here or waits.

use serde_json::{Value, json};

use super::super::arguments::ToolArguments;
use super::super::error::{McpCallError, ToolResultError};
use super::tool_call::{McpToolCall, find_run, later_message};
use synthdev_service::run_control::{RunControlOutcome, cancel_run};

pub(super) async fn cancel_workflow(mut call: McpToolCall<'_>) -> Result<Value, McpCallError> {
    let mut arguments = ToolArguments::from_request(call.arguments.take(), &["workflowId"], &[])?;
    let id = arguments.text("workflowId")?.unwrap_or_default();
    let run = find_run(call.backend, &id).await?;
    let outcome = cancel_run(call.backend.handle(), &run).await.map_err(|error| {
        ToolResultError::new("not_cancelled", "The run was not cancelled", error.to_string())
            .hint(error.hint().map(str::to_owned))
    })?;
    let mut answer = call.current_status(&run.id)?;
    let running = answer["status"] == "running";
    if let RunControlOutcome::CancelRequested(_) = &outcome
        && running
    {
        answer["message"] = json!(later_message(&outcome));
    }
    Ok(answer)
}
