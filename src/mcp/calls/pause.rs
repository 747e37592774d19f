//! `pause_workflow`: pauses a run in whichever process drives it; any client can resume it then.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::arguments::ToolArguments;
use super::super::error::{McpCallError, ToolResultError};
use super::tool_call::{McpToolCall, find_run};
use synthdev_domain::journal::RunStatus;
use synthdev_runtime::control_requests::PauseOutcome;

/// How long to wait for work in progress.
const PATIENCE: Duration = Duration::from_secs(10);

const LATER: &str =
    "The workflow pauses when its calls in progress have finished. get_workflow_status reports it.";

pub(super) async fn pause_workflow(mut call: McpToolCall<'_>) -> Result<Value, McpCallError> {
    let mut arguments = ToolArguments::from_request(call.arguments.take(), &["workflowId"], &[])?;
    let id = arguments.text("workflowId")?.unwrap_or_default();
    let run = find_run(call.backend, &id)?;
    if run.progress.status != RunStatus::Running {
        let detail = format!("it is {}", run.progress.status.as_str());
        return Err(ToolResultError::new("not_paused", "There is nothing to pause", detail).into());
    }
    let handle = call.backend.handle();
    // the client that pauses is the one that would have to answer: waiting would be useless
    let asks = call.backend.interactions().has_unclaimed_call(&run.id)
        || handle.task_broker().has_unclaimed_task(&run.id);
    let max_wait = if asks { Duration::ZERO } else { PATIENCE };
    let told = handle.pause(&run.id, max_wait).await.map_err(|error| {
        ToolResultError::new("not_paused", "The run was not paused", error.message).hint(error.hint)
    })?;
    let mut answer = call.current_status(&run.id)?;
    let running = answer["status"] == "running";
    match told {
        PauseOutcome::Told(_) if running => answer["message"] = json!(LATER),
        PauseOutcome::Unheard(pid) if running => {
            let message = format!(
                "Process {pid}, which drives the workflow, does not respond. It pauses the workflow once \
                    it responds again."
            );
            answer["message"] = json!(message);
        }
        _ => {}
    }
    Ok(answer)
}
