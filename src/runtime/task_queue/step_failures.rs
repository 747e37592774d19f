//! Steps that sub-agents do not do: too late, never, or with results that are none.

use serde_json::{Value, json};

use super::super::leases::ExpiredLease;
use super::run_tasks::{QueuedTask, RunTasks, TaskStep, TaskStepWork};
use super::{LOSSES, TRIES, time_after};
use synthdev_domain::ids::{CallId, Timestamp};
use synthdev_domain::model::ModelError;
use synthdev_domain::tool::ToolOutcome;
use synthdev_engine::input::{Input, UserAnswer};

impl RunTasks {
    /// Failure inputs of overdue steps. A task that no sub-agent has begun waits while sub-agents of other tasks of its
    /// run are active, and `begin_ms` longer: clients may play one after the other.
    pub(super) fn fail_overdue_steps(&mut self, now: Timestamp, begin_ms: u64) -> Vec<Input> {
        let mut failing = Vec::new();
        if self.run_outcome().is_some() {
            return failing;
        }
        let silence = self.lease_ms.saturating_mul(u64::from(LOSSES));
        for entry in self.entries.values_mut().filter(|entry| entry.outcome.is_none()) {
            let over = entry.leases.expire_leases(now);
            // a worker with a lease is at work, however long that takes
            if !over.is_empty() || entry.leases.next_end().is_some() {
                entry.last_contact = entry.last_contact.max(now);
            } else if entry.has_contact
                && now >= time_after(entry.last_contact, silence)
                && !entry.open_steps.is_empty()
            {
                entry.last_contact = now;
                entry.lost_leases += 1;
            }
            if entry.lost_leases >= LOSSES {
                entry.lost_leases = 0;
                failing.extend(entry.fail_all("its sub-agent fell silent"));
            } else {
                let spent = over
                    .iter()
                    .filter(|over: &&ExpiredLease<CallId>| over.is_exhausted)
                    .map(|over| over.step);
                failing.extend(entry.fail_steps(spent, "no sub-agent did it in time"));
            }
        }
        let heard =
            self.entries.values().filter(|entry| entry.has_contact).map(|entry| entry.last_contact).max();
        for entry in self.entries.values_mut().filter(|entry| entry.outcome.is_none() && !entry.has_contact) {
            let since = heard.map_or(entry.last_contact, |heard| heard.max(entry.last_contact));
            if now >= time_after(since, begin_ms) && !entry.open_steps.is_empty() {
                entry.last_contact = now;
                failing.extend(entry.fail_all("no sub-agent has begun its task in time"));
            }
        }
        failing
    }
}

impl QueuedTask {
    fn fail_all(&self, why: &'static str) -> Vec<Input> {
        self.fail_steps(self.open_steps.keys().copied(), why)
    }

    /// A result on its way counts.
    fn fail_steps(&self, steps: impl Iterator<Item = CallId>, why: &'static str) -> Vec<Input> {
        let steps = steps.filter(|call| !self.in_flight_steps.contains(call));
        steps.filter_map(|call| self.open_steps.get(&call)).map(|step| missed_step_input(step, why)).collect()
    }
}

/// The input of a step that was not done in time.
fn missed_step_input(step: &TaskStep, why: &str) -> Input {
    let detail = format!("step {} was not done: {why}", super::step_id(step.call));
    step_failure_input(
        step,
        why,
        detail.clone(),
        ModelError::IdleTimeout { detail },
        json!({"timed_out": true}),
    )
}

/// The input of a step that got too many invalid results. A question's default does not apply: an invalid answer is not
/// a missing one.
pub(super) fn unfit_result_input(step: &TaskStep, why: &str) -> Input {
    let detail = format!("a sub-agent gave {TRIES} results that do not fit: {why}");
    if matches!(step.work, TaskStepWork::Prompt(_)) {
        return Input::Answered { call: step.call, answer: UserAnswer::Unfit { detail } };
    }
    step_failure_input(step, why, detail.clone(), ModelError::Unfit { detail }, json!({}))
}

fn step_failure_input(step: &TaskStep, why: &str, detail: String, error: ModelError, data: Value) -> Input {
    let call = step.call;
    match &step.work {
        TaskStepWork::Model(_) => {
            Input::ModelFailed { call, error, attempts: 1, used: Vec::new(), again: false }
        }
        TaskStepWork::Tool(_) => {
            let (summary, data) = (why.to_owned(), Some(data));
            let outcome = ToolOutcome { content: detail, summary, data, ..ToolOutcome::default() };
            Input::ToolDone { call, outcome }
        }
        TaskStepWork::Prompt(_) => Input::Elapsed { call },
    }
}
