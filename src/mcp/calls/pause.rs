//! `pause_workflow`: pauses a run in whichever process drives it; any client can resume it then.

use serde_json::{Value, json};

use super::super::arguments::ToolArguments;
use super::super::error::{McpCallError, ToolResultError};
use super::tool_call::{McpToolCall, find_run, later_message};
use synthdev_service::run_control::{PauseWait, RunControlError, RunControlOutcome, pause_run};

pub(super) async fn pause_workflow(mut call: McpToolCall<'_>) -> Result<Value, McpCallError> {
    let mut arguments = ToolArguments::from_request(call.arguments.take(), &["workflowId"], &[])?;
    let id = arguments.text("workflowId")?.unwrap_or_default();
    let run = find_run(call.backend, &id).await?;
    let handle = call.backend.handle();
    // the client that pauses is the one that would have to answer: waiting would be useless
    let asks = call.backend.interactions().has_unclaimed_call(&run.id)
        || handle.task_broker().has_unclaimed_task(&run.id);
    let wait = if asks { PauseWait::Nothing } else { PauseWait::Work };
    let told = pause_run(handle, &run, wait).await.map_err(refusal)?;
    let mut answer = call.current_status(&run.id)?;
    let running = answer["status"] == "running";
    if let RunControlOutcome::PauseRequested { .. } | RunControlOutcome::Unresponsive { .. } = &told
        && running
    {
        answer["message"] = json!(later_message(&told));
    }
    Ok(answer)
}

fn refusal(error: RunControlError) -> McpCallError {
    let (title, detail) = match &error {
        RunControlError::NothingToPause { status, .. } => {
            ("There is nothing to pause", format!("it is {}", status.as_str()))
        }
        RunControlError::AlreadyOver { .. } | RunControlError::Store(_) => {
            ("The run was not paused", error.to_string())
        }
    };
    ToolResultError::new("not_paused", title, detail).hint(error.hint().map(str::to_owned)).into()
}
