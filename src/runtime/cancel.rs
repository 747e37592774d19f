//! Ending a run for good: a run that this process drives gets a command, one that another process drives is ended
//! there, and one without a driver is closed in the store.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::command::{ControlAction, RunCommand};
use super::control_requests::PauseOutcome;
use super::driver_message::DriverMessage;
use super::handle::RuntimeHandle;
use super::journal;
use super::load_for_resume::{LoadScope, LoadedRun, load_for_resume};
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::{RunProgress, RunStatus, RunSummary};
use synthdev_engine::input::Input;
use synthdev_engine::machine::MachineOutput;
use synthdev_ports::run_store::{RemoteRunAction, StoreError};

/// A run that is neither driven nor free is one or the other soon.
const SOON: Duration = Duration::from_millis(1);

/// How long another process may take to end its run.
const PATIENCE: Duration = Duration::from_secs(10);

/// How a run was ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CancelOutcome {
    /// This process drives it, and its driver has the command: its end is still to come.
    Told,
    /// It has ended.
    Done,
}

impl RuntimeHandle {
    /// Ends a run for good, in whichever process it is driven: a waiting or interrupted one is cancelled. Waits for a
    /// resume in this process to complete, and ends the run then.
    ///
    /// # Errors
    /// The process that drives the run does not end it in time, it is a conversation there, it has ended, or the store
    /// cannot be written.
    pub async fn cancel(&self, run: &RunId) -> Result<CancelOutcome, StoreError> {
        if let Some(cancelled) = self.cancel_at_server(run).await {
            return cancelled.map(|ended| if ended { CancelOutcome::Done } else { CancelOutcome::Told });
        }
        let until = Instant::now() + PATIENCE;
        let mut alone = false;
        loop {
            self.task_broker().wait_until_resumed(run).await;
            if self.context.runs.send(run, DriverMessage::Command(RunCommand::End)) {
                return Ok(CancelOutcome::Told);
            }
            match self.ports().store.claim(run) {
                Ok(before) => return self.cancel_idle(run, before).map(|()| CancelOutcome::Done),
                // this process has begun to resume it in between
                Err(_) if self.task_broker().is_resuming(run) || self.context.drives_run(run) => {}
                Err(refused) => {
                    // its driver may have released it meanwhile, but only once
                    let asked = self.cancel_in_other_process(run).await?;
                    // it may have come to its end by itself
                    let status = self.summary(run.as_str())?.progress.status;
                    if asked && matches!(status, RunStatus::Cancelled | RunStatus::Completed) {
                        return Ok(CancelOutcome::Done);
                    }
                    if !asked && std::mem::replace(&mut alone, true) || Instant::now() >= until {
                        self.ensure_not_remote(run, RemoteRunAction::Cancel)?;
                        return Err(refused);
                    }
                }
            }
            tokio::time::sleep(SOON).await;
        }
    }

    /// `false`: no other process drives it.
    async fn cancel_in_other_process(&self, run: &RunId) -> Result<bool, StoreError> {
        match self.ask_driver(run, ControlAction::Cancel, PATIENCE).await? {
            Some(PauseOutcome::Done) => Ok(true),
            Some(PauseOutcome::Told(pid)) => Err(StoreError {
                message: format!(
                    "process {} was told to cancel run {run} and has not done so within {} s",
                    pid.unwrap_or_default(),
                    PATIENCE.as_secs()
                ),
                hint: Some(
                    "look whether that process still works; ending it leaves the run interrupted".to_owned(),
                ),
            }),
            Some(PauseOutcome::Unheard(pid)) => Err(StoreError {
                message: format!("process {pid}, which drives run {run}, does not answer"),
                hint: Some(
                    "it ends the run when it works again; ending that process leaves the run interrupted"
                        .to_owned(),
                ),
            }),
            None => Ok(false),
        }
    }

    /// Cancels a run that was claimed for this; releases it if it cannot be cancelled.
    fn cancel_idle(&self, run: &RunId, before: RunSummary) -> Result<(), StoreError> {
        let status = before.progress.status;
        let done = if matches!(status, RunStatus::Completed | RunStatus::Cancelled) {
            let message = format!("run {run} is {} already", status.as_str());
            Err(StoreError { message, hint: None })
        } else {
            self.cancel_claimed(run)
        };
        if done.is_err() {
            self.give_back(run, before.progress);
        }
        done
    }

    fn cancel_claimed(&self, run: &RunId) -> Result<(), StoreError> {
        let (at, store) = (self.ports().clock.now(), Arc::clone(&self.ports().store));
        let LoadedRun { mut machine, mut recent_events, .. } =
            load_for_resume(&*store, run, LoadScope::Machine)?;
        let input = Input::Cancelled { partial: Vec::new(), end: true, used: Vec::new() };
        let MachineOutput { effects: _, events: now } = machine.handle_input(at, input.clone());
        let mut rows = Vec::new();
        journal::input_rows(at, &input, &[], &now, &mut rows)?;
        // one that has failed for good takes no more inputs: only its status changes
        if now.is_empty() {
            rows.clear();
        }
        let progress = RunProgress { status: RunStatus::Cancelled, updated: at, ..machine.progress() };
        recent_events.record_events(at, &now);
        let preview = recent_events.to_preview_json();
        store.append_and_end_tokens(run, &rows, Some(&progress), &[], preview.as_deref())?;
        store.drop_state(run)
    }
}
