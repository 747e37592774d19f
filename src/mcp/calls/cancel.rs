//! `cancel_workflow`: ends a run for good, whether it runs here or waits.

use serde_json::Value;

use super::super::arguments::Arguments;
use super::super::refusal::{Problem, Refusal};
use super::call::{Call, run_of};
use crate::domain::journal::RunStatus;
use crate::runtime::ending::Ending;

pub(super) async fn cancel(mut call: Call<'_>) -> Result<Value, Refusal> {
    let mut arguments = Arguments::read(call.arguments.take(), &["workflowId"], &[])?;
    let id = arguments.text("workflowId")?.unwrap_or_default();
    let run = run_of(call.backend, &id)?.id;
    let handle = call.backend.handle();
    let events = handle.subscribe(false);
    let ending = handle.cancel(&run).await.map_err(|error| {
        Problem::new("not_cancelled", "The run was not cancelled", error.message).hint(error.hint)
    })?;
    if ending == Ending::Done {
        return call.now(&run);
    }
    let told = call.follow(&run, events).await?;
    // it may have paused in that moment, before it could read that it was told
    let missed = |status: RunStatus| matches!(status, RunStatus::Paused | RunStatus::Interrupted);
    let stands = handle.summary(run.as_str()).is_ok_and(|stands| missed(stands.progress.status));
    if stands && handle.cancel(&run).await == Ok(Ending::Done) {
        return call.now(&run);
    }
    Ok(told)
}
