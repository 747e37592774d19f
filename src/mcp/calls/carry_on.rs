//! `continue_workflow`: a run whose process died, or whose client went away, is taken up where it stands.

use serde_json::Value;

use super::super::arguments::Arguments;
use super::super::refusal::{Problem, Refusal, of_resume};
use super::call::{Call, run_of};
use crate::domain::journal::RunStatus;

pub(super) async fn carry_on(mut call: Call<'_>) -> Result<Value, Refusal> {
    let mut arguments = Arguments::read(call.arguments.take(), &["workflowId"], &[])?;
    let id = arguments.text("workflowId")?.unwrap_or_default();
    let run = run_of(call.backend, &id)?;
    if run.progress.status != RunStatus::Interrupted {
        let detail = format!("it is {}", run.progress.status.as_str());
        let hint = "get_workflow_status tells what it needs";
        return Err(Problem::new("not_interrupted", "The run was not cut off", detail)
            .hint(Some(hint.to_owned()))
            .into());
    }
    let (handle, going) = call.backend.taking_up(&run)?;
    let events = handle.subscribe(false);
    handle.resume(&run.id, going).await.map_err(|error| of_resume(&error))?;
    call.follow(&run.id, events).await
}
