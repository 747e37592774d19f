//! `cancel_workflow`: ends a run for good, whether it runs here or waits.

use serde_json::Value;

use super::super::arguments::Arguments;
use super::super::follow::until_it_stops;
use super::super::refusal::{Problem, Refusal};
use super::{Call, now, run_of, told};

pub(super) async fn cancel(mut call: Call<'_>) -> Result<Value, Refusal> {
    let mut arguments = Arguments::read(call.arguments.take(), &["workflowId"], &[])?;
    let id = arguments.text("workflowId")?.unwrap_or_default();
    let run = run_of(call.backend, &id)?.id;
    let handle = call.backend.handle();
    let events = handle.subscribe(false);
    let here = handle.running().contains(&run);
    handle.cancel(&run).map_err(|error| {
        Problem::new("not_cancelled", "The run was not cancelled", error.message).hint(error.hint)
    })?;
    if !here {
        return now(call.backend, &run);
    }
    let stopped = until_it_stops(handle, &run, events, call.context).await?;
    Ok(told(call.backend, &stopped))
}
