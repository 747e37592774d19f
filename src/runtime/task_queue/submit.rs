//! Results of steps on their way into a run: each counts once, and is accepted when it is written down.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;

use super::super::driver_message::{DriverMessage, SubmittedResult};
use super::super::handle::RuntimeHandle;
use super::super::journal_replay::{self, JournaledRun};
use super::super::resume_tokens::{hash, sorted};
use super::acknowledgements::parse_ack_id;
use super::broker::TaskBroker;
use super::recovery::JournaledInput;
use super::run_tasks::TaskStep;
use super::step_failures::unfit;
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
    pub fn submission(
        &self,
        id: &str,
        step_id: &str,
        who: (&str, Option<u64>),
        (result, now): (&Value, Timestamp),
    ) -> Result<StepSubmission, SubmitError> {
        match self.claim(id, step_id, who, (result, now), false)? {
            SubmissionClaim::Open(step) => Ok(StepSubmission::Open(step)),
            SubmissionClaim::Busy | SubmissionClaim::Duplicate => Ok(StepSubmission::Duplicate),
        }
    }

    /// Somebody has heard of what the run did itself. `None`: that is not what the id is for.
    pub fn acknowledge(
        &self,
        id: &str,
        step_id: &str,
        now: Timestamp,
    ) -> Option<Result<SubmitOutcome, SubmitError>> {
        let number = parse_ack_id(step_id)?;
        let mut table = self.table();
        let Some(entry) = table.book(id).and_then(|book| book.entry(id)) else {
            return Some(Err(SubmitError::UnknownWorkflow));
        };
        (entry.contact, entry.met) = (now, true);
        let taken = match entry.acks.acknowledge(number) {
            Some(true) => Ok(SubmitOutcome::Accepted),
            Some(false) => Ok(SubmitOutcome::Duplicate),
            None => Err(SubmitError::UnknownStep),
        };
        drop(table);
        self.notify_watchers();
        Some(taken)
    }

    fn claim(
        &self,
        id: &str,
        step_id: &str,
        (worker, expected): (&str, Option<u64>),
        (result, now): (&Value, Timestamp),
        take: bool,
    ) -> Result<SubmissionClaim, SubmitError> {
        let mut table = self.table();
        let book = table.book(id).ok_or(SubmitError::UnknownWorkflow)?;
        let (over, ending) = (book.run_outcome(), book.ending);
        let unwritten = parse_step_id(step_id).is_some_and(|call| book.unwritten.contains(&call));
        let entry = book.entry(id).ok_or(SubmitError::UnknownWorkflow)?;
        (entry.contact, entry.met) = (now, true);
        let call = parse_step_id(step_id).ok_or(SubmitError::UnknownStep)?;
        if let Some((_, mark)) = entry.done.iter().find(|(done, _)| *done == call) {
            return match *mark == result_hash(result) {
                true if unwritten => Err(SubmitError::NotRecorded),
                true => Ok(SubmissionClaim::Duplicate),
                false => Err(SubmitError::Completed),
            };
        }
        if let Some(ended) = entry.ended.clone().or(over) {
            return Err(SubmitError::Over(ended));
        }
        let step = entry.open.get(&call).ok_or(SubmitError::UnknownStep)?;
        if take && (ending || entry.in_flight.contains(&call)) {
            return Ok(SubmissionClaim::Busy);
        }
        match entry.leases.ownership(call, worker) {
            LeaseOwnership::Theirs => {}
            LeaseOwnership::Lost => return Err(SubmitError::LeaseLost),
            LeaseOwnership::Blocked | LeaseOwnership::Unknown => return Err(SubmitError::UnknownStep),
        }
        let version = entry.done.len() as u64;
        if expected.is_some_and(|expected| expected != version) {
            return Err(SubmitError::Version(version));
        }
        let step = Box::new(step.clone());
        if take {
            entry.in_flight.insert(call);
            entry.leases.renew_beside(call, worker, now);
        }
        Ok(SubmissionClaim::Open(step))
    }

    fn put_back(&self, id: &str, call: CallId) {
        if let Some(entry) = self.table().book(id).and_then(|book| book.entry(id)) {
            entry.in_flight.remove(&call);
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
        &self.shared.desk
    }

    /// Sub-agents can be reached from now on: runs that are started or taken up here hand out what is meant for them.
    pub fn serve_sub_agents(&self, patience: TaskTimeouts) {
        self.shared.desk.enable(patience);
        let shared = Arc::clone(&self.shared);
        let TaskTimeouts { lease_seconds, begin_seconds } = patience;
        let shortest = lease_seconds.unwrap_or(LEASE_SECONDS).min(begin_seconds.unwrap_or(BEGIN_SECONDS));
        let pace = (Duration::from_secs(shortest) / 8).clamp(SWEEPS.0, SWEEPS.1);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(pace).await;
                for (run, input) in shared.desk.fail_overdue_steps(shared.ports.clock.now()) {
                    shared.send(&run, DriverMessage::Input(input));
                }
            }
        });
    }

    /// What a run's journal tells of its errands, without taking it up. `false`: it is driven or taken up here by now, so
    /// its driver tells that. Takes long where the journal is long.
    ///
    /// # Errors
    /// Unknown or unreadable.
    pub fn load_tasks(&self, run: &RunSummary) -> Result<bool, StoreError> {
        let (desk, stand) = (&self.shared.desk, (run.progress.status, run.progress.updated));
        // what another process drives goes on without a trace in its summary
        if run.progress.status != RunStatus::Running && desk.is_current(&run.id, stand) {
            return Ok(true);
        }
        let story = journal_replay::read(&*self.ports().store, &run.id)?;
        let now = self.ports().clock.now();
        let driven = |run: &RunId| self.shared.drives(run);
        Ok(desk.recover_idle_tasks((now, &run.id, stand), &story.spec, past(&story), driven))
    }

    /// Tells the desk what a run has come to that is taken up here.
    pub(crate) fn recover_resumed_tasks(&self, story: &JournaledRun) {
        self.shared.desk.recover_tasks(
            (self.ports().clock.now(), &story.header.id),
            &story.spec,
            past(story),
        );
    }

    /// Hands in the result of a step; `input` is what it means for the run.
    ///
    /// # Errors
    /// It does not count; nothing was changed.
    pub async fn submit(
        &self,
        id: &str,
        step_id: &str,
        who: (&str, Option<u64>),
        result: &Value,
        input: Input,
    ) -> Result<SubmitOutcome, SubmitError> {
        let desk = &self.shared.desk;
        let run = desk.run_for_task(id).ok_or(SubmitError::UnknownWorkflow)?;
        for _ in 0..LOOKS {
            let now = self.ports().clock.now();
            match desk.claim(id, step_id, who, (result, now), true)? {
                SubmissionClaim::Duplicate => return Ok(SubmitOutcome::Duplicate),
                SubmissionClaim::Busy => tokio::time::sleep(Duration::from_millis(LOOK_AGAIN_MS)).await,
                SubmissionClaim::Open(step) => {
                    let written = self.deliver(&run, step.call, result_hash(result), input).await;
                    if written.is_err() {
                        desk.put_back(id, step.call);
                    }
                    return written.map(|()| SubmitOutcome::Accepted);
                }
            }
        }
        Err(SubmitError::NotRecorded)
    }

    /// An answer to a step did not fit; how many more may come. After the last one the step fails.
    pub fn reject_result(&self, id: &str, step: &TaskStep, why: &str) -> u32 {
        let left = self.shared.desk.count_misfit(id, step.call);
        if left == 0
            && let Some(run) = self.shared.desk.run_for_task(id)
        {
            self.shared.send(&run, DriverMessage::Input(unfit(step, why)));
        }
        left
    }

    async fn deliver(
        &self,
        run: &RunId,
        call: CallId,
        mark: String,
        input: Input,
    ) -> Result<(), SubmitError> {
        let (answer, written) = oneshot::channel();
        let mail = DriverMessage::Submitted(Box::new(SubmittedResult { call, input, mark, answer }));
        if !self.shared.send(run, mail) {
            return Err(SubmitError::NotRunning);
        }
        match written.await {
            Ok(true) => Ok(()),
            Ok(false) => Err(SubmitError::NotRecorded),
            Err(_) => Err(SubmitError::NotRunning),
        }
    }
}

fn past(story: &JournaledRun) -> impl Iterator<Item = JournaledInput<'_>> + Clone {
    story.entries.iter().map(|entry| JournaledInput {
        at: entry.at,
        input: &entry.input,
        submitted: entry.submitted.as_deref(),
    })
}

/// What makes two results the same: their content, in whatever order.
fn result_hash(result: &Value) -> String {
    hash(&sorted(result.clone()).to_string())
}
