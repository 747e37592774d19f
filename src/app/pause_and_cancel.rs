//! Pausing and ending runs wherever they are driven, for the command line and the screen.

use std::time::Duration;

use synthdev_domain::journal::{RunStatus, RunSummary};
use synthdev_ports::run_store::StoreError;
use synthdev_runtime::cancel::CancelOutcome;
use synthdev_runtime::command::ControlAction;
use synthdev_runtime::control_requests::PauseOutcome;
use synthdev_runtime::handle::RuntimeHandle;

/// How long to wait for work in progress in another process.
const PATIENCE: Duration = Duration::from_secs(10);

/// The outcome, as text for the user.
///
/// # Errors
/// The run is not running, or its driver cannot be reached.
pub(super) async fn control_run(
    handle: &RuntimeHandle,
    run: &RunSummary,
    control: ControlAction,
) -> Result<String, StoreError> {
    let id = &run.id;
    match control {
        ControlAction::Cancel => {
            if handle.cancel(id).await? == CancelOutcome::Told {
                return Ok(format!("run {id} was asked to end"));
            }
            let status = handle.summary(id.as_str())?.progress.status;
            Ok(format!("run {id} is {}", status.as_str()))
        }
        ControlAction::Pause if run.progress.status != RunStatus::Running => Err(StoreError {
            message: format!("run {id} is {}: there is nothing to pause", run.progress.status.as_str()),
            hint: None,
        }),
        ControlAction::Pause => Ok(match handle.pause(id, PATIENCE).await? {
            PauseOutcome::Done => paused_text(&handle.summary(id.as_str())?),
            PauseOutcome::Told(pid) => {
                let by = pid.map_or_else(String::new, |pid| format!(" in process {pid}"));
                format!(
                    "run {id} was asked to pause{by}: it pauses when its calls in progress have finished, \
                        unless the run ends first"
                )
            }
            PauseOutcome::Unheard(pid) => {
                format!(
                    "process {pid}, which drives run {id}, does not respond: it pauses the run once it \
                        responds; if you end that process, the run is interrupted"
                )
            }
        }),
    }
}

/// It may have come to its end by itself.
fn paused_text(run: &RunSummary) -> String {
    let (id, status) = (&run.id, run.progress.status);
    match status {
        RunStatus::Paused => format!("run {id} is paused; continue it with: synthdev resume {id}"),
        RunStatus::Interrupted => {
            format!("run {id} is interrupted: its process has ended; continue it with: synthdev resume {id}")
        }
        RunStatus::Failed if !run.progress.pauses.is_empty() => {
            format!("run {id} has failed; retry the failed state with: synthdev resume {id}")
        }
        _ => format!("run {id} is {}", status.as_str()),
    }
}
