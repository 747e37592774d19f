//! Steps of runs that sub-agents do, one at a time or in batches of one kind, under leases.
//!
//! `broker.rs` has the queue: which sub-agent gets which step; `run_tasks.rs` the tasks of one run. `recovery.rs`
//! rebuilds tasks from journals; `step_failures.rs` fails steps of sub-agents that stop responding. Here: limits,
//! and which effects go to sub-agents. Results are in the run's journal and nowhere else: a process that resumes
//! the run knows every id and every result; only leases start anew. Refuses to know the wire format of steps.

mod acknowledgements;
mod broker;
mod recovery;
mod run_tasks;
mod step_failures;
mod submit;

use serde_json::Value;
use sha2::{Digest, Sha256};

pub use self::acknowledgements::{AckedAction, StepAck};
pub(super) use self::broker::AppliedAnswer;
pub use self::broker::{
    AssignedAck, AssignedStep, DelegatedTaskInfo, DelegatedTaskStatus, NextAssignment, TaskBroker,
};
pub use self::run_tasks::{TaskStep, TaskStepKind, TaskStepWork};
pub use self::submit::{StepSubmission, StepSubmitter, SubmitError, SubmitOutcome};
use super::context_window;
use synthdev_domain::ids::{CallId, RunId, Timestamp};
use synthdev_engine::effect::Effect;
use synthdev_engine::machine::Machine;

/// How long a step is leased, in seconds.
pub const LEASE_SECONDS: u64 = 300;
/// How long a task waits for a sub-agent to start it, in seconds, while no sub-agent of its run sends anything.
pub const BEGIN_SECONDS: u64 = 1_800;
/// Answers that do not fit before a step fails.
pub const TRIES: u32 = 5;
/// So many leases without a word from a sub-agent are a loss, and so many losses end its task.
const LOSSES: u32 = 3;

const BEGINNING: &str = "task-";
const TAG: usize = 16;
const MAC: usize = 32;

/// How long sub-agents are waited for, where it is not as usual.
#[derive(Clone, Copy, Default, Debug)]
pub struct TaskTimeouts {
    /// For the result of a step.
    pub lease_seconds: Option<u64>,
    /// For the sub-agent that begins a task.
    pub begin_seconds: Option<u64>,
}

/// The final result of a task.
#[derive(Clone, PartialEq, Debug)]
pub enum TaskOutcome {
    Complete(Value),
    Failed { code: String, text: String },
}

/// The id of a task: the same in every process, not guessable, and showing its run only to those who know the run
/// id.
pub(super) fn task_id(run: &RunId, seed: u64, branch_id: u64) -> String {
    let mac = hex_digits(&format!("errand {seed:016x} {run} {branch_id}"), MAC);
    format!("{BEGINNING}{}{mac}", run_tag(run))
}

/// Whether an id can be one of this run.
pub fn may_belong_to_run(id: &str, run: &RunId) -> bool {
    let rest = id.strip_prefix(BEGINNING).filter(|rest| rest.len() == TAG + MAC && rest.is_ascii());
    rest.is_some_and(|rest| rest[..TAG] == run_tag(run))
}

fn run_tag(run: &RunId) -> String {
    hex_digits(&format!("run {run}"), TAG)
}

fn hex_digits(text: &str, digits: usize) -> String {
    let mut all: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    all.truncate(digits);
    all
}

/// What steps are called outside.
pub fn step_id(call: CallId) -> String {
    format!("step-{}", call.0)
}

pub(super) fn parse_step_id(step_id: &str) -> Option<CallId> {
    let call = CallId(step_id.strip_prefix("step-")?.parse().ok()?);
    (self::step_id(call) == step_id).then_some(call)
}

/// Whether an effect is for a sub-agent, so that the driver does not perform it itself. A request that no model could
/// take is none.
pub(super) fn is_delegated(machine: &Machine, effect: &Effect) -> bool {
    match effect {
        Effect::CallModel { call, request } => {
            machine.task_for_call(*call).is_some() && context_window::fit_to_window(request).is_ok()
        }
        Effect::RunTool { call, invocation, .. } => machine.delegates_tool(*call, invocation),
        Effect::TakeSnapshot { .. }
        | Effect::Evaluate { .. }
        | Effect::Abort { .. }
        | Effect::CheckTool { .. }
        | Effect::AskApproval { .. }
        | Effect::AskPerson { .. }
        | Effect::SetTimer { .. }
        | Effect::Finish => false,
    }
}

fn time_after(now: Timestamp, ms: u64) -> Timestamp {
    Timestamp(now.0.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_stable_and_tell_their_run_only_to_who_knows_it() {
        let (one, other) = (RunId("r1".to_owned()), RunId("r2".to_owned()));
        let id = task_id(&one, 7, 3);
        assert_eq!(id, task_id(&one, 7, 3));
        assert!(may_belong_to_run(&id, &one) && !may_belong_to_run(&id, &other));
        let others = [task_id(&one, 7, 4), task_id(&one, 8, 3), task_id(&other, 7, 3)];
        assert!(others.iter().all(|other| *other != id));
        for forged in ["", "task-", "r1", "task-äääääääääääääääääääääääää", &id[..id.len() - 1]]
        {
            assert!(!may_belong_to_run(forged, &one), "{forged}");
        }
    }

    #[test]
    fn step_ids_are_read_as_they_are_written() {
        let call = CallId(17);
        assert_eq!(parse_step_id(&step_id(call)), Some(call));
        for wrong in ["", "17", "step-", "step-017", "step-+17", "step--1", "step-99999999999999999999"] {
            assert_eq!(parse_step_id(wrong), None, "{wrong}");
        }
    }
}
