//! `get_workflow_status`: how a run stands; for one that waits with its token (B5).

use std::time::Duration;

use serde_json::Value;

use super::super::arguments::Arguments;
use super::super::follow;
use super::super::refusal::Refusal;
use super::call::{Call, run_of, told};
use crate::domain::journal::{RunStatus, RunSummary};

/// How often a run is looked at that another process drives.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

pub(super) async fn status(mut call: Call<'_>) -> Result<Value, Refusal> {
    let mut arguments = Arguments::read(call.arguments.take(), &["workflowId"], &["wait"])?;
    let id = arguments.text("workflowId")?.unwrap_or_default();
    let wait = arguments.flag("wait", false)?;
    let handle = call.backend.handle();
    let events = handle.subscribe(false);
    // read after that: a run that works by then tells its end
    let run = run_of(call.backend, &id)?;
    let works = run.progress.status == RunStatus::Running && handle.running().contains(&run.id);
    if wait && works {
        return call.watch(&run.id, events).await;
    }
    let run = if wait && !works { elsewhere(&call, run).await? } else { run };
    let over = [RunStatus::Completed, RunStatus::Failed, RunStatus::Cancelled];
    if over.contains(&run.progress.status) {
        follow::let_go(handle, &run.id).await;
    }
    Ok(told(call.backend, &run))
}

/// A run that another process drives is looked at until something comes of it, or the client waits no longer.
async fn elsewhere(call: &Call<'_>, mut run: RunSummary) -> Result<RunSummary, Refusal> {
    let asked = run.progress.pauses.clone();
    while run.progress.status == RunStatus::Running && run.progress.pauses == asked {
        tokio::select! {
            () = call.client.presence.gone() => break,
            () = call.client.context.ct.cancelled() => break,
            () = tokio::time::sleep(LOOK_AGAIN) => {}
        }
        run = follow::summary(call.backend.handle(), &run.id)?;
    }
    Ok(run)
}
