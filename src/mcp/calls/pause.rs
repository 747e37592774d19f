//! `pause_workflow`: a run is paused wherever it is driven, and whoever wants to takes it up then.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::arguments::Arguments;
use super::super::refusal::{Problem, Refusal};
use super::call::{Call, run_of};
use crate::domain::journal::RunStatus;
use crate::runtime::control::Pausing;

/// How long it is waited for what is under way.
const PATIENCE: Duration = Duration::from_secs(10);

const LATER: &str =
    "The workflow pauses when what is under way has come to its end. get_workflow_status tells.";

pub(super) async fn pause(mut call: Call<'_>) -> Result<Value, Refusal> {
    let mut arguments = Arguments::read(call.arguments.take(), &["workflowId"], &[])?;
    let id = arguments.text("workflowId")?.unwrap_or_default();
    let run = run_of(call.backend, &id)?;
    if run.progress.status != RunStatus::Running {
        let detail = format!("it is {}", run.progress.status.as_str());
        return Err(Problem::new("not_paused", "There is nothing to pause", detail).into());
    }
    let handle = call.backend.handle();
    // nobody waits for the client that asks
    let asks = call.backend.interactions().asks(&run.id) || handle.desk().asks(&run.id);
    let patience = if asks { Duration::ZERO } else { PATIENCE };
    let told = handle.pause(&run.id, patience).await.map_err(|error| {
        Problem::new("not_paused", "The run was not paused", error.message).hint(error.hint)
    })?;
    let mut answer = call.now(&run.id)?;
    let running = answer["status"] == "running";
    match told {
        Pausing::Told(_) if running => answer["message"] = json!(LATER),
        Pausing::Unheard(pid) if running => {
            let message = format!(
                "Process {pid}, which drives the workflow, does not answer. It pauses when it works again."
            );
            answer["message"] = json!(message);
        }
        _ => {}
    }
    Ok(answer)
}
