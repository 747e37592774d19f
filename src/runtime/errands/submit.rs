//! Results of steps on their way into a run: each counts once, and is accepted when it is written down (D5 to D7).

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;

use super::super::handle::Handle;
use super::super::mail::{Mail, Submitted};
use super::super::reopen::{self, Story};
use super::super::tokens::{hash, sorted};
use super::acks::number_of;
use super::book::Step;
use super::desk::Desk;
use super::reading::Past;
use super::unfinished::unfit;
use super::{BEGIN_SECONDS, Ended, LEASE_SECONDS, Patience, call_of};
use crate::domain::ids::{CallId, RunId, Timestamp};
use crate::domain::journal::{RunStatus, RunSummary};
use crate::engine::input::Input;
use crate::ports::run_store::StoreError;
use crate::runtime::leases::Standing;

/// How often it is looked for leases that ran out, at most and at least.
const SWEEPS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// How long a result of the same step that came a moment earlier is waited for: in milliseconds, and how often.
const LOOK_AGAIN_MS: u64 = 5;
const LOOKS: usize = 1_000;

/// What a result is for.
#[derive(Clone, PartialEq, Debug)]
pub enum Submission {
    /// It may be handed in.
    Open(Box<Step>),
    /// The same was handed in before.
    Duplicate,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
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
    Over(Ended),
    #[error("the lease of this step ended and another worker has it; call get_next_step")]
    LeaseLost,
    #[error("the workflow is at state_version {0}; call get_next_step and look again")]
    Version(u64),
    #[error("the workflow does not run here now; submit again")]
    NotRunning,
    #[error("the result could not be written down; submit again")]
    NotRecorded,
}

impl Desk {
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
    ) -> Result<Submission, SubmitError> {
        match self.claim(id, step_id, who, (result, now), false)? {
            Claimed::Open(step) => Ok(Submission::Open(step)),
            Claimed::Busy | Claimed::Duplicate => Ok(Submission::Duplicate),
        }
    }

    /// Somebody has heard of what the run did itself. `None`: that is not what the id is for.
    pub fn acknowledge(&self, id: &str, step_id: &str, now: Timestamp) -> Option<Result<Taken, SubmitError>> {
        let number = number_of(step_id)?;
        let mut table = self.table();
        let Some(entry) = table.book(id).and_then(|book| book.entry(id)) else {
            return Some(Err(SubmitError::UnknownWorkflow));
        };
        (entry.contact, entry.met) = (now, true);
        let taken = match entry.acks.take(number) {
            Some(true) => Ok(Taken::Accepted),
            Some(false) => Ok(Taken::Duplicate),
            None => Err(SubmitError::UnknownStep),
        };
        drop(table);
        self.tell();
        Some(taken)
    }

    fn claim(
        &self,
        id: &str,
        step_id: &str,
        (worker, expected): (&str, Option<u64>),
        (result, now): (&Value, Timestamp),
        take: bool,
    ) -> Result<Claimed, SubmitError> {
        let mut table = self.table();
        let book = table.book(id).ok_or(SubmitError::UnknownWorkflow)?;
        let (over, ending) = (book.over(), book.ending);
        let unwritten = call_of(step_id).is_some_and(|call| book.unwritten.contains(&call));
        let entry = book.entry(id).ok_or(SubmitError::UnknownWorkflow)?;
        (entry.contact, entry.met) = (now, true);
        let call = call_of(step_id).ok_or(SubmitError::UnknownStep)?;
        if let Some((_, mark)) = entry.done.iter().find(|(done, _)| *done == call) {
            return match *mark == mark_of(result) {
                true if unwritten => Err(SubmitError::NotRecorded),
                true => Ok(Claimed::Duplicate),
                false => Err(SubmitError::Completed),
            };
        }
        if let Some(ended) = entry.ended.clone().or(over) {
            return Err(SubmitError::Over(ended));
        }
        let step = entry.open.get(&call).ok_or(SubmitError::UnknownStep)?;
        if take && (ending || entry.in_flight.contains(&call)) {
            return Ok(Claimed::Busy);
        }
        match entry.leases.standing(call, worker) {
            Standing::Theirs => {}
            Standing::Lost => return Err(SubmitError::LeaseLost),
            Standing::Blocked | Standing::Unknown => return Err(SubmitError::UnknownStep),
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
        Ok(Claimed::Open(step))
    }

    fn put_back(&self, id: &str, call: CallId) {
        if let Some(entry) = self.table().book(id).and_then(|book| book.entry(id)) {
            entry.in_flight.remove(&call);
        }
    }
}

enum Claimed {
    Open(Box<Step>),
    /// Another result of it is being written, or the end of the run.
    Busy,
    Duplicate,
}

impl Handle {
    pub fn desk(&self) -> &Desk {
        &self.shared.desk
    }

    /// Sub-agents can be reached from now on: runs that are started or taken up here hand out what is meant for them.
    pub fn serve_sub_agents(&self, patience: Patience) {
        self.shared.desk.open(patience);
        let shared = Arc::clone(&self.shared);
        let Patience { lease_seconds, begin_seconds } = patience;
        let shortest = lease_seconds.unwrap_or(LEASE_SECONDS).min(begin_seconds.unwrap_or(BEGIN_SECONDS));
        let pace = (Duration::from_secs(shortest) / 8).clamp(SWEEPS.0, SWEEPS.1);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(pace).await;
                for (run, input) in shared.desk.sweep(shared.ports.clock.now()) {
                    shared.send(&run, Mail::Input(input));
                }
            }
        });
    }

    /// What a run's journal tells of its errands, without taking it up. `false`: it is driven or taken up here by now, so
    /// its driver tells that. Takes long where the journal is long.
    ///
    /// # Errors
    /// Unknown or unreadable.
    pub fn read_errands(&self, run: &RunSummary) -> Result<bool, StoreError> {
        let (desk, stand) = (&self.shared.desk, (run.progress.status, run.progress.updated));
        // what another process drives goes on without a trace in its summary
        if run.progress.status != RunStatus::Running && desk.knows(&run.id, stand) {
            return Ok(true);
        }
        let story = reopen::read(&*self.ports().store, &run.id)?;
        let now = self.ports().clock.now();
        let driven = |run: &RunId| self.shared.drives(run);
        Ok(desk.look_up((now, &run.id, stand), &story.spec, past(&story), driven))
    }

    /// Tells the desk what a run has come to that is taken up here.
    pub(in crate::runtime) fn tell_desk(&self, story: &Story) {
        self.shared.desk.read((self.ports().clock.now(), &story.header.id), &story.spec, past(story));
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
    ) -> Result<Taken, SubmitError> {
        let desk = &self.shared.desk;
        let run = desk.run_of(id).ok_or(SubmitError::UnknownWorkflow)?;
        for _ in 0..LOOKS {
            let now = self.ports().clock.now();
            match desk.claim(id, step_id, who, (result, now), true)? {
                Claimed::Duplicate => return Ok(Taken::Duplicate),
                Claimed::Busy => tokio::time::sleep(Duration::from_millis(LOOK_AGAIN_MS)).await,
                Claimed::Open(step) => {
                    let written = self.deliver(&run, step.call, mark_of(result), input).await;
                    if written.is_err() {
                        desk.put_back(id, step.call);
                    }
                    return written.map(|()| Taken::Accepted);
                }
            }
        }
        Err(SubmitError::NotRecorded)
    }

    /// An answer to a step did not fit; how many more may come. After the last one the step fails.
    pub fn misfit(&self, id: &str, step: &Step, why: &str) -> u32 {
        let left = self.shared.desk.misfit(id, step.call);
        if left == 0
            && let Some(run) = self.shared.desk.run_of(id)
        {
            self.shared.send(&run, Mail::Input(unfit(step, why)));
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
        let mail = Mail::Submitted(Box::new(Submitted { call, input, mark, answer }));
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

fn past(story: &Story) -> impl Iterator<Item = Past<'_>> + Clone {
    story.entries.iter().map(|entry| Past {
        at: entry.at,
        input: &entry.input,
        submitted: entry.submitted.as_deref(),
    })
}

/// What makes two results the same: their content, in whatever order.
fn mark_of(result: &Value) -> String {
    hash(&sorted(result.clone()).to_string())
}
