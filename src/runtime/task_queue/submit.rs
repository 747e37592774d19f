//! Results of steps on their way into a run: each counts once, and is accepted when it is written down.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;

use super::super::driver_message::{DriverMessage, SubmittedResult};
use super::super::handle::RuntimeHandle;
use super::super::journal_replay::{self, JournaledRun};
use super::super::resume_tokens::{hash_text, sort_keys};
use super::acknowledgements::parse_ack_id;
use super::broker::TaskBroker;
use super::recovery::JournaledInput;
use super::run_tasks::{RunRevision, TaskStep};
use super::step_failures::unfit_result_input;
use super::{BEGIN_SECONDS, LEASE_SECONDS, TaskOutcome, TaskTimeouts, parse_step_id};
use crate::leases::LeaseOwnership;
use synthdev_domain::ids::{CallId, RunId, Timestamp};
use synthdev_domain::journal::{RunStatus, RunSummary};
use synthdev_engine::input::Input;
use synthdev_ports::run_store::StoreError;

/// How often it is looked for leases that ran out, at most and at least.
const SWEEPS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// How long a result of the same step that came a moment earlier is waited for: in milliseconds, and how often.
const LOOK_AGAIN_MS: u64 = 5;
const LOOKS: usize = 1_000;

/// What a result is for.
#[derive(Clone, PartialEq, Debug)]
pub enum StepSubmission {
    /// It may be handed in.
    Open(Box<TaskStep>),
    /// The same was handed in before.
    Duplicate,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SubmitOutcome {
    Accepted,
    Duplicate,
}

/// The sub-agent that hands in a result.
#[derive(Clone, Copy)]
pub struct StepSubmitter<'a> {
    pub worker: &'a str,
    /// How many steps of the task it has seen finished, if it says so.
    pub expected_version: Option<u64>,
}

#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum SubmitError {
    #[error("there is no workflow with this workflow_id")]
    UnknownWorkflow,
    #[error("there is no step with this step_id, or it is not wanted any more; call get_next_step")]
    UnknownStep,
    #[error("the step was completed with another result: the first one counts")]
    Completed,
    #[error("the workflow has ended")]
    Over(TaskOutcome),
    #[error("the lease of this step ended and another worker has it; call get_next_step")]
    LeaseLost,
    #[error("the workflow is at state_version {0}; call get_next_step and look again")]
    Version(u64),
    #[error("the workflow does not run here now; submit again")]
    NotRunning,
    #[error("the result could not be written down; submit again")]
    NotRecorded,
}

impl TaskBroker {
    /// Whether the result of a step may be handed in by this worker.
    ///
    /// # Errors
    /// It may not; nothing was changed.
    pub fn check_submission(
        &self,
        id: &str,
        step_id: &str,
        who: StepSubmitter<'_>,
        result: &Value,
        now: Timestamp,
    ) -> Result<StepSubmission, SubmitError> {
        match self.claim_step(id, step_id, who, result, now, false)? {
            SubmissionClaim::Open(step) => Ok(StepSubmission::Open(step)),
            SubmissionClaim::Busy | SubmissionClaim::Duplicate => Ok(StepSubmission::Duplicate),
        }
    }

    /// A sub-agent acknowledges an action of the run. `None`: the id is none of an acknowledgement.
    pub fn acknowledge_step(
        &self,
        id: &str,
        step_id: &str,
        now: Timestamp,
    ) -> Option<Result<SubmitOutcome, SubmitError>> {
        let number = parse_ack_id(step_id)?;
        let mut table = self.lock_state();
        let Some(entry) = table.tasks_mut(id).and_then(|run_tasks| run_tasks.task_mut(id)) else {
            return Some(Err(SubmitError::UnknownWorkflow));
        };
        (entry.last_contact, entry.has_contact) = (now, true);
        let taken = match entry.acks.acknowledge(number) {
            Some(true) => Ok(SubmitOutcome::Accepted),
            Some(false) => Ok(SubmitOutcome::Duplicate),
            None => Err(SubmitError::UnknownStep),
        };
        drop(table);
        self.notify_watchers();
        Some(taken)
    }

    fn claim_step(
        &self,
        id: &str,
        step_id: &str,
        who: StepSubmitter<'_>,
        result: &Value,
        now: Timestamp,
        take: bool,
    ) -> Result<SubmissionClaim, SubmitError> {
        let StepSubmitter { worker, expected_version: expected } = who;
        let mut table = self.lock_state();
        let run_tasks = table.tasks_mut(id).ok_or(SubmitError::UnknownWorkflow)?;
        let (over, ending) = (run_tasks.run_outcome(), run_tasks.is_ending);
        let unwritten = parse_step_id(step_id).is_some_and(|call| run_tasks.unwritten_steps.contains(&call));
        let entry = run_tasks.task_mut(id).ok_or(SubmitError::UnknownWorkflow)?;
        (entry.last_contact, entry.has_contact) = (now, true);
        let call = parse_step_id(step_id).ok_or(SubmitError::UnknownStep)?;
        if let Some((_, mark)) = entry.finished_steps.iter().find(|(done, _)| *done == call) {
            return match *mark == result_hash(result) {
                true if unwritten => Err(SubmitError::NotRecorded),
                true => Ok(SubmissionClaim::Duplicate),
                false => Err(SubmitError::Completed),
            };
        }
        if let Some(ended) = entry.outcome.clone().or(over) {
            return Err(SubmitError::Over(ended));
        }
        let step = entry.open_steps.get(&call).ok_or(SubmitError::UnknownStep)?;
        if take && (ending || entry.in_flight_steps.contains(&call)) {
            return Ok(SubmissionClaim::Busy);
        }
        match entry.leases.ownership(call, worker) {
            LeaseOwnership::Theirs => {}
            LeaseOwnership::Lost => return Err(SubmitError::LeaseLost),
            LeaseOwnership::Blocked | LeaseOwnership::Unknown => return Err(SubmitError::UnknownStep),
        }
        let version = entry.finished_steps.len() as u64;
        if expected.is_some_and(|expected| expected != version) {
            return Err(SubmitError::Version(version));
        }
        let step = Box::new(step.clone());
        if take {
            entry.in_flight_steps.insert(call);
            entry.leases.renew_batch_leases(call, worker, now);
        }
        Ok(SubmissionClaim::Open(step))
    }

    fn unclaim_step(&self, id: &str, call: CallId) {
        if let Some(entry) = self.lock_state().tasks_mut(id).and_then(|run_tasks| run_tasks.task_mut(id)) {
            entry.in_flight_steps.remove(&call);
        }
    }
}

enum SubmissionClaim {
    Open(Box<TaskStep>),
    /// Another result of it is being written, or the end of the run.
    Busy,
    Duplicate,
}

impl RuntimeHandle {
    pub fn task_broker(&self) -> &TaskBroker {
        &self.context.task_broker
    }

    /// Sub-agents can be reached from now on: runs that this process starts or resumes queue their steps.
    pub fn serve_sub_agents(&self, timeouts: TaskTimeouts) {
        self.context.task_broker.enable_tasks(timeouts);
        let shared = Arc::clone(&self.context);
        let TaskTimeouts { lease_seconds, begin_seconds } = timeouts;
        let shortest = lease_seconds.unwrap_or(LEASE_SECONDS).min(begin_seconds.unwrap_or(BEGIN_SECONDS));
        let pace = (Duration::from_secs(shortest) / 8).clamp(SWEEPS.0, SWEEPS.1);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(pace).await;
                for (run, input) in shared.task_broker.fail_overdue_steps(shared.ports.clock.now()) {
                    shared.runs.send(&run, DriverMessage::Input(input));
                }
            }
        });
    }

    /// Rebuilds the tasks of a run from its journal, without resuming it. `false`: this process drives or resumes it by
    /// now, and its driver reports them. Slow for a long journal.
    ///
    /// # Errors
    /// Unknown or unreadable.
    pub fn load_tasks(&self, run: &RunSummary) -> Result<bool, StoreError> {
        let (broker, stand) = (&self.context.task_broker, RunRevision::from_progress(&run.progress));
        // a run that another process drives changes without a trace in its summary
        if run.progress.status != RunStatus::Running && broker.is_current(&run.id, stand) {
            return Ok(true);
        }
        tracing::info!(run = %run.id, "the tasks of a run are read from its journal");
        let journaled_run = journal_replay::load_journaled_run(&*self.ports().store, &run.id)?;
        let now = self.ports().clock.now();
        let driven = |run: &RunId| self.context.drives_run(run);
        Ok(broker.recover_idle_tasks(
            now,
            &run.id,
            stand,
            &journaled_run.spec,
            journaled_inputs(&journaled_run),
            driven,
        ))
    }

    /// Passes the tasks of a resumed run to the broker.
    pub(crate) fn recover_resumed_tasks(&self, journaled_run: &JournaledRun) {
        self.context.task_broker.recover_tasks(
            self.now(),
            &journaled_run.header.id,
            &journaled_run.spec,
            journaled_inputs(journaled_run),
        );
    }

    /// Hands in the result of a step; `input` is what it means for the run.
    ///
    /// # Errors
    /// It does not count; nothing was changed.
    pub async fn submit_result(
        &self,
        id: &str,
        step_id: &str,
        who: StepSubmitter<'_>,
        result: &Value,
        input: Input,
    ) -> Result<SubmitOutcome, SubmitError> {
        let broker = &self.context.task_broker;
        let run = broker.run_for_task(id).ok_or(SubmitError::UnknownWorkflow)?;
        for _ in 0..LOOKS {
            let now = self.ports().clock.now();
            match broker.claim_step(id, step_id, who, result, now, true)? {
                SubmissionClaim::Duplicate => return Ok(SubmitOutcome::Duplicate),
                SubmissionClaim::Busy => tokio::time::sleep(Duration::from_millis(LOOK_AGAIN_MS)).await,
                SubmissionClaim::Open(step) => {
                    let written = self.deliver_result(&run, step.call, result_hash(result), input).await;
                    if written.is_err() {
                        broker.unclaim_step(id, step.call);
                    }
                    return written.map(|()| SubmitOutcome::Accepted);
                }
            }
        }
        Err(SubmitError::NotRecorded)
    }

    /// An answer to a step did not fit; how many more may come. After the last one the step fails.
    pub fn reject_result(&self, id: &str, step: &TaskStep, why: &str) -> u32 {
        let left = self.context.task_broker.count_misfit(id, step.call);
        if left == 0
            && let Some(run) = self.context.task_broker.run_for_task(id)
        {
            self.context.runs.send(&run, DriverMessage::Input(unfit_result_input(step, why)));
        }
        left
    }

    async fn deliver_result(
        &self,
        run: &RunId,
        call: CallId,
        mark: String,
        input: Input,
    ) -> Result<(), SubmitError> {
        let (answer, written) = oneshot::channel();
        let mail =
            DriverMessage::Submitted(Box::new(SubmittedResult { call, input, dedup_mark: mark, answer }));
        if !self.context.runs.send(run, mail) {
            return Err(SubmitError::NotRunning);
        }
        match written.await {
            Ok(true) => Ok(()),
            Ok(false) => Err(SubmitError::NotRecorded),
            Err(_) => Err(SubmitError::NotRunning),
        }
    }
}

fn journaled_inputs(journaled_run: &JournaledRun) -> impl Iterator<Item = JournaledInput<'_>> + Clone {
    journaled_run.entries.iter().map(|entry| JournaledInput {
        at: entry.at,
        input: &entry.input,
        dedup_mark: entry.dedup_mark.as_deref(),
    })
}

/// What makes two results the same: their content, in whatever order.
fn result_hash(result: &Value) -> String {
    hash_text(&sort_keys(result.clone()).to_string())
}
