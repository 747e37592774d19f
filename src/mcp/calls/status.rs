//! `get_workflow_status`: the status of a run, with its token if the run waits.

use std::time::Duration;

use serde_json::Value;

use super::super::arguments::ToolArguments;
use super::super::await_run;
use super::super::error::McpCallError;
use super::tool_call::{McpToolCall, find_run, status_json};
use synthdev_domain::journal::{RunStatus, RunSummary};

/// How often a run is looked at that another process drives.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

pub(super) async fn workflow_status(mut call: McpToolCall<'_>) -> Result<Value, McpCallError> {
    let mut arguments = ToolArguments::from_request(call.arguments.take(), &["workflowId"], &["wait"])?;
    let id = arguments.text("workflowId")?.unwrap_or_default();
    let wait = arguments.flag("wait", false)?;
    let handle = call.backend.handle();
    let events = handle.subscribe(false);
    // read after the subscription: a run that is running by then also sends its end
    let run = find_run(call.backend, &id).await?;
    let is_running = run.progress.status == RunStatus::Running;
    if wait && is_running && handle.is_at_server(&run.id).unwrap_or(false) {
        // its events come here as those of a run of this process
        let _ = handle.follow_at_server(&run.id, Vec::new());
    }
    let works = is_running && handle.running_runs().contains(&run.id);
    if wait && works {
        return call.watch_run(&run.id, events).await;
    }
    let run = if wait && !works { await_other_process(&call, run).await? } else { run };
    let over = [RunStatus::Completed, RunStatus::Failed, RunStatus::Cancelled];
    if over.contains(&run.progress.status) {
        await_run::await_release(handle, &run.id).await;
    }
    Ok(status_json(call.backend, &run))
}

/// Polls a run that another process drives until it pauses or ends, or the client waits no longer.
async fn await_other_process(
    call: &McpToolCall<'_>,
    mut run: RunSummary,
) -> Result<RunSummary, McpCallError> {
    let asked = run.progress.pauses.clone();
    while run.progress.status == RunStatus::Running && run.progress.pauses == asked {
        tokio::select! {
            () = call.client.presence.wait_gone() => break,
            () = call.client.context.ct.cancelled() => break,
            () = tokio::time::sleep(LOOK_AGAIN) => {}
        }
        run = await_run::run_summary(call.backend.handle(), &run.id)?;
    }
    Ok(run)
}
