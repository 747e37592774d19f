//! Pausing and ending a run, in whichever process it is driven, and commanding one that is driven here.
//!
//! Owns when each makes sense, how long its driver is waited for, and what came of it. Refuses to decide what a user answers.

use std::fmt;
use std::time::Duration;

use tokio::time::timeout;

pub use synthdev_runtime::command::ControlAction;

use crate::conversations::is_conversation;
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::{RunStatus, RunSummary};
use synthdev_engine::steering::SteeringAction;
use synthdev_ports::run_store::StoreError;
use synthdev_runtime::cancel::CancelOutcome;
use synthdev_runtime::command::RunCommand;
use synthdev_runtime::control_requests::PauseOutcome;
use synthdev_runtime::handle::RuntimeHandle;

/// How long to wait for work in progress.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a pause waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PauseWait {
    /// The work in progress.
    Work,
    /// Nothing: the one who pauses would have to do that work.
    Nothing,
}

/// What came of it.
#[derive(Clone, PartialEq, Debug)]
pub enum RunControlOutcome {
    /// No process drives the run now. It may have come to its end by itself.
    Released(Box<RunSummary>),
    /// It is driven here, for the user who asks: it stops before its next state, and stays here.
    StopRequested(RunId),
    /// It pauses when its work in progress is done; the other process that drives it, if any.
    PauseRequested { run: RunId, pid: Option<u32> },
    /// The process that drives it does not respond.
    Unresponsive { run: RunId, pid: u32 },
    /// It is driven here, and its work in progress takes longer than is waited for.
    CancelRequested(RunId),
}

/// Nothing was changed.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum RunControlError {
    #[error("run {run} is {}: there is nothing to pause", .status.as_str())]
    NothingToPause { run: RunId, status: RunStatus },
    #[error("run {run} is {} already", .status.as_str())]
    AlreadyOver { run: RunId, status: RunStatus },
    #[error("{}", .0.message)]
    Store(StoreError),
}

impl RunControlError {
    /// What to do instead.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::NothingToPause { .. } | Self::AlreadyOver { .. } => None,
            Self::Store(error) => error.hint.as_deref(),
        }
    }
}

impl From<StoreError> for RunControlError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Sends a command to a run that this process drives: its user ends it, leaves it, steers it or answers it. The run
/// answers with events. A run that is not driven here gets nothing; use [`control_run`] for that.
pub fn command_driven_run(handle: &RuntimeHandle, run: &RunId, command: RunCommand) {
    handle.send_command(run, command);
}

/// Why a run of this status can be neither paused nor ended, as far as that tells.
///
/// # Errors
/// It makes no sense.
pub fn check_control(run: &RunId, status: RunStatus, action: ControlAction) -> Result<(), RunControlError> {
    let run = run.clone();
    match action {
        ControlAction::Pause if status != RunStatus::Running => {
            Err(RunControlError::NothingToPause { run, status })
        }
        ControlAction::Cancel if matches!(status, RunStatus::Completed | RunStatus::Cancelled) => {
            Err(RunControlError::AlreadyOver { run, status })
        }
        ControlAction::Pause | ControlAction::Cancel => Ok(()),
    }
}

/// Pauses or ends a run for the user of this process. A run that this process drives is stopped before its next state,
/// where its user can step, change and continue it; only a run of another process is given back.
///
/// # Errors
/// It makes no sense for a run of this status, its driver cannot be reached, or the store cannot be written.
pub async fn control_run(
    handle: &RuntimeHandle,
    run: &RunSummary,
    action: ControlAction,
) -> Result<RunControlOutcome, RunControlError> {
    match action {
        ControlAction::Pause if handle.running_runs().contains(&run.id) && !is_conversation(handle, run) => {
            check_control(&run.id, run.progress.status, action)?;
            Ok(stop_driven_run(handle, &run.id))
        }
        ControlAction::Pause => pause_run(handle, run, PauseWait::Work).await,
        ControlAction::Cancel => cancel_run(handle, run).await,
    }
}

/// Stops a run that this process drives before its next state.
pub fn stop_driven_run(handle: &RuntimeHandle, run: &RunId) -> RunControlOutcome {
    command_driven_run(handle, run, RunCommand::Steer(SteeringAction::Pause));
    RunControlOutcome::StopRequested(run.clone())
}

/// Pauses a run and gives it back: its work in progress completes, and nothing new begins.
///
/// # Errors
/// It does not run, or as `control_run`.
pub async fn pause_run(
    handle: &RuntimeHandle,
    run: &RunSummary,
    wait: PauseWait,
) -> Result<RunControlOutcome, RunControlError> {
    check_control(&run.id, run.progress.status, ControlAction::Pause)?;
    let patience = match wait {
        PauseWait::Work => PATIENCE,
        PauseWait::Nothing => Duration::ZERO,
    };
    let run = run.id.clone();
    Ok(match handle.pause(&run, patience).await? {
        PauseOutcome::Done => released(handle, &run)?,
        PauseOutcome::Told(pid) => RunControlOutcome::PauseRequested { run, pid },
        PauseOutcome::Unheard(pid) => RunControlOutcome::Unresponsive { run, pid },
    })
}

/// Ends a run for good, also one that waits or was interrupted.
///
/// # Errors
/// It has ended, or as `control_run`.
pub async fn cancel_run(
    handle: &RuntimeHandle,
    run: &RunSummary,
) -> Result<RunControlOutcome, RunControlError> {
    check_control(&run.id, run.progress.status, ControlAction::Cancel)?;
    let run = &run.id;
    if handle.cancel(run).await? == CancelOutcome::Told {
        if timeout(PATIENCE, handle.wait_until_released(run)).await.is_err() {
            return Ok(RunControlOutcome::CancelRequested(run.clone()));
        }
        let status = handle.summary(run.as_str())?.progress.status;
        if matches!(status, RunStatus::Paused | RunStatus::Interrupted) {
            // it paused in that moment, before it read the command
            handle.cancel(run).await?;
        }
    }
    released(handle, run)
}

fn released(handle: &RuntimeHandle, run: &RunId) -> Result<RunControlOutcome, RunControlError> {
    Ok(RunControlOutcome::Released(Box::new(handle.summary(run.as_str())?)))
}

impl fmt::Display for RunControlOutcome {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Released(run) => write_released(run, to),
            Self::StopRequested(run) => {
                write!(to, "run {run} stops before its next state, when its calls in progress have finished")
            }
            Self::PauseRequested { run, pid } => {
                write!(to, "run {run} was asked to pause")?;
                pid.iter().try_for_each(|pid| write!(to, " in process {pid}"))?;
                to.write_str(
                    ": it pauses when its calls in progress have finished, unless the run ends first",
                )
            }
            Self::Unresponsive { run, pid } => write!(
                to,
                "process {pid}, which drives run {run}, does not respond: it pauses the run once it responds; if you \
                 end that process, the run is interrupted"
            ),
            Self::CancelRequested(run) => {
                write!(to, "run {run} was asked to end: it ends when its work in progress does")
            }
        }
    }
}

fn write_released(run: &RunSummary, to: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (id, status) = (&run.id, run.progress.status);
    match status {
        RunStatus::Paused => write!(to, "run {id} is paused; continue it with: synthdev resume {id}"),
        RunStatus::Interrupted => {
            write!(
                to,
                "run {id} is interrupted: its process has ended; continue it with: synthdev resume {id}"
            )
        }
        RunStatus::Failed if !run.progress.pauses.is_empty() => {
            write!(to, "run {id} has failed; retry the failed state with: synthdev resume {id}")
        }
        RunStatus::Running | RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled => {
            write!(to, "run {id} is {}", status.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_run_is_not_paused_and_what_is_over_is_not_ended() {
        let run = RunId::from("r1");
        for status in RunStatus::ALL {
            let pause = check_control(&run, status, ControlAction::Pause).map_err(|error| error.to_string());
            let word = status.as_str();
            match status {
                RunStatus::Running => assert_eq!(pause, Ok(())),
                _ => assert_eq!(pause, Err(format!("run r1 is {word}: there is nothing to pause"))),
            }
            let cancel =
                check_control(&run, status, ControlAction::Cancel).map_err(|error| error.to_string());
            match status {
                RunStatus::Completed | RunStatus::Cancelled => {
                    assert_eq!(cancel, Err(format!("run r1 is {word} already")));
                }
                _ => assert_eq!(cancel, Ok(())),
            }
        }
    }
}
