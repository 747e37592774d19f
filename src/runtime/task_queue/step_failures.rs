//! Steps that sub-agents do not do: too late, never, or with results that are none.

use serde_json::{Value, json};

use super::super::leases::ExpiredLease;
use super::run_tasks::{QueuedTask, RunTasks, TaskStep, TaskStepWork};
use super::{LOSSES, TRIES, later};
use synthdev_domain::ids::{CallId, Timestamp};
use synthdev_domain::model::ModelError;
use synthdev_domain::tool::ToolOutcome;
use synthdev_engine::input::{Input, UserAnswer};

impl RunTasks {
    /// Steps whose sub-agent did not do them, as the run is to hear of it. A task that no sub-agent has begun waits as long
    /// as those of its run are heard of, and `begin_ms` longer: clients may play one after the other.
    pub(super) fn sweep(&mut self, now: Timestamp, begin_ms: u64) -> Vec<Input> {
        let mut failing = Vec::new();
        if self.run_outcome().is_some() {
            return failing;
        }
        let silence = self.lease_ms.saturating_mul(u64::from(LOSSES));
        for entry in self.entries.values_mut().filter(|entry| entry.ended.is_none()) {
            let over = entry.leases.expire(now);
            // whoever has a step is at work on it, however long that may take
            if !over.is_empty() || entry.leases.next_end().is_some() {
                entry.contact = entry.contact.max(now);
            } else if entry.met && now >= later(entry.contact, silence) && !entry.open.is_empty() {
                entry.contact = now;
                entry.losses += 1;
            }
            if entry.losses >= LOSSES {
                entry.losses = 0;
                failing.extend(entry.fail_all("its sub-agent fell silent"));
            } else {
                let spent =
                    over.iter().filter(|over: &&ExpiredLease<CallId>| over.spent).map(|over| over.step);
                failing.extend(entry.fail(spent, "no sub-agent did it in time"));
            }
        }
        let heard = self.entries.values().filter(|entry| entry.met).map(|entry| entry.contact).max();
        for entry in self.entries.values_mut().filter(|entry| entry.ended.is_none() && !entry.met) {
            let since = heard.map_or(entry.contact, |heard| heard.max(entry.contact));
            if now >= later(since, begin_ms) && !entry.open.is_empty() {
                entry.contact = now;
                failing.extend(entry.fail_all("no sub-agent has begun its task in time"));
            }
        }
        failing
    }
}

impl QueuedTask {
    fn fail_all(&self, why: &'static str) -> Vec<Input> {
        self.fail(self.open.keys().copied(), why)
    }

    /// A result on its way counts.
    fn fail(&self, steps: impl Iterator<Item = CallId>, why: &'static str) -> Vec<Input> {
        let steps = steps.filter(|call| !self.in_flight.contains(call));
        steps.filter_map(|call| self.open.get(&call)).map(|step| not_done(step, why)).collect()
    }
}

/// D4 and D17, as the state sees it.
fn not_done(step: &TaskStep, why: &str) -> Input {
    let detail = format!("step {} was not done: {why}", super::step_id(step.call));
    failing(step, why, detail.clone(), ModelError::Timeout { detail }, json!({"timed_out": true}))
}

/// A step fails after so many results that are none. Of a question the default does not count: what its person did not
/// say is no answer.
pub(super) fn unfit(step: &TaskStep, why: &str) -> Input {
    let detail = format!("a sub-agent gave {TRIES} results that do not fit: {why}");
    if matches!(step.work, TaskStepWork::Prompt(_)) {
        return Input::Answered { call: step.call, answer: UserAnswer::Unfit { detail } };
    }
    failing(step, why, detail.clone(), ModelError::Unfit { detail }, json!({}))
}

fn failing(step: &TaskStep, why: &str, detail: String, error: ModelError, data: Value) -> Input {
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
