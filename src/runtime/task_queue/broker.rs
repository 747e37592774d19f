//! The queue from which sub-agents take their steps: the tasks of all runs of this process.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::acknowledgements::StepAck;
use super::run_tasks::{QueuedTask, RunTasks, TaskStep};
use super::{BEGIN_SECONDS, LEASE_SECONDS, TaskOutcome, TaskTimeouts, step_id};
use synthdev_domain::ids::{CallId, RunId, Timestamp};
use synthdev_engine::input::Input;
use synthdev_engine::machine::{DelegatedTask, Machine, MachineOutput};

/// A step that is leased to a worker.
#[derive(Clone, PartialEq, Debug)]
pub struct AssignedStep {
    pub step: TaskStep,
    pub attempt: u32,
    /// How long a lease of it lasts.
    pub lease_ms: u64,
    /// Finished steps of the task.
    pub version: u64,
}

/// An action of the run that a sub-agent only acknowledges.
#[derive(Clone, PartialEq, Debug)]
pub struct AssignedAck {
    pub ack: StepAck,
    pub lease_ms: u64,
    /// As of a step.
    pub version: u64,
}

/// The reply to a worker that asks for the next step.
#[derive(Clone, PartialEq, Debug)]
pub enum NextAssignment {
    /// The step, and further ones of its kind if the worker asked for several.
    Step(Box<AssignedStep>, Vec<AssignedStep>),
    Told(Box<AssignedAck>, Vec<AssignedAck>),
    /// Nothing is ready yet.
    Waiting,
    Ended(TaskOutcome),
    Unknown,
}

/// The state of a task.
#[derive(Clone, PartialEq, Debug)]
pub struct DelegatedTaskStatus {
    pub task: DelegatedTask,
    pub current_step: Option<String>,
    pub completed: Vec<String>,
    /// Steps that are known and open; nothing is known while the run works on what follows.
    pub remaining_steps: Option<usize>,
    /// Names of its checkpoints.
    pub points: Vec<String>,
    /// By which the run knows it.
    pub branch_id: u64,
    /// Steps that are done.
    pub version: u64,
    /// How often it was restored to a checkpoint.
    pub restore_count: u64,
    pub outcome: Option<TaskOutcome>,
}

/// A task as its client sees it.
#[derive(Clone, PartialEq, Debug)]
pub struct DelegatedTaskInfo {
    pub id: String,
    pub task: DelegatedTask,
    /// A sub-agent has come for it.
    pub has_contact: bool,
}

/// What an input answered.
#[derive(Default)]
pub(crate) struct AppliedAnswer {
    pub(crate) call: Option<CallId>,
    /// What makes it the same as another result, if a sub-agent gave it.
    pub(crate) dedup_mark: Option<String>,
    /// It could not be written down so far.
    pub(crate) is_unwritten: bool,
}

#[derive(Default)]
pub(super) struct BrokerState {
    pub(super) runs: HashMap<RunId, RunTasks>,
    /// The run of each task id.
    pub(super) ids: HashMap<String, RunId>,
    /// Runs that this process is resuming, and how many resumes of each are in progress.
    pub(super) resuming: HashMap<RunId, usize>,
    /// Runs that this process does not drive; the last used one is last.
    pub(super) idle_runs: VecDeque<RunId>,
    /// Milliseconds; 0 while no sub-agent can be reached.
    pub(super) lease_ms: u64,
    /// So long a task waits for the sub-agent that begins it.
    begin_timeout_ms: u64,
}

pub struct TaskBroker {
    table: Mutex<BrokerState>,
    change_counter: watch::Sender<u64>,
}

impl Default for TaskBroker {
    fn default() -> Self {
        Self { table: Mutex::default(), change_counter: watch::Sender::new(0) }
    }
}

impl TaskBroker {
    /// Sub-agents can be reached from now on.
    pub(crate) fn enable_tasks(&self, timeouts: TaskTimeouts) {
        let ms = |given: Option<u64>, usual: u64| given.unwrap_or(usual).max(1).saturating_mul(1_000);
        let mut table = self.lock_state();
        table.lease_ms = ms(timeouts.lease_seconds, LEASE_SECONDS);
        table.begin_timeout_ms = ms(timeouts.begin_seconds, BEGIN_SECONDS);
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.lock_state().lease_ms > 0
    }

    pub(super) fn lock_state(&self) -> MutexGuard<'_, BrokerState> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something may be ready.
    pub(super) fn notify_watchers(&self) {
        self.change_counter.send_modify(|news| *news += 1);
    }

    /// Changes whenever a step may have become ready, or a task has begun or ended.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.change_counter.subscribe()
    }

    /// The run of a task, if this process knows it.
    pub fn run_for_task(&self, id: &str) -> Option<RunId> {
        self.lock_state().ids.get(id).cloned()
    }

    /// Open tasks of a run, in the order of their items.
    pub fn open_tasks(&self, run: &RunId) -> Vec<DelegatedTaskInfo> {
        let table = self.lock_state();
        let Some(run_tasks) = table.runs.get(run) else { return Vec::new() };
        let open = run_tasks.entries.values().filter(|entry| run_tasks.task_outcome(entry).is_none());
        let task = |entry: &QueuedTask| DelegatedTaskInfo {
            id: entry.id.clone(),
            task: entry.task.clone(),
            has_contact: entry.has_contact,
        };
        let mut tasks: Vec<DelegatedTaskInfo> = open.map(task).collect();
        tasks.sort_by(|one, other| {
            let place = |task: &DelegatedTaskInfo| (task.task.owner.clone(), task.task.index);
            place(one).cmp(&place(other))
        });
        tasks
    }

    /// Whether a task has open steps and no sub-agent that has asked for one.
    pub fn has_unclaimed_task(&self, run: &RunId) -> bool {
        let table = self.lock_state();
        let Some(run_tasks) = table.runs.get(run) else { return false };
        run_tasks.entries.values().any(|entry| {
            !entry.has_contact && !entry.open_steps.is_empty() && run_tasks.task_outcome(entry).is_none()
        })
    }

    /// The next step of a task for this worker, or at most `most` of one kind. A worker without a name gets one at a
    /// time.
    pub fn next_assignment(&self, id: &str, worker: &str, most: usize, now: Timestamp) -> NextAssignment {
        let mut table = self.lock_state();
        let lasts_ms = table.lease_ms;
        let Some(run_tasks) = table.tasks_mut(id) else { return NextAssignment::Unknown };
        let (over, ending) = (run_tasks.run_outcome(), run_tasks.is_ending);
        let Some(entry) = run_tasks.task_mut(id) else { return NextAssignment::Unknown };
        (entry.last_contact, entry.has_contact) = (now, true);
        if ending {
            return NextAssignment::Waiting;
        }
        let version = entry.finished_steps.len() as u64;
        if !entry.leases.has_lease(worker, now) {
            let told = |ack: &StepAck| AssignedAck { ack: ack.clone(), lease_ms: lasts_ms, version };
            let mut acks = entry.acks.first_batch().take(most).map(told);
            if let Some(first) = acks.next() {
                return NextAssignment::Told(Box::new(first), acks.collect());
            }
        }
        if let Some(ended) = entry.outcome.clone().or(over) {
            return NextAssignment::Ended(ended);
        }
        let most = if worker.is_empty() { 1 } else { most };
        let mut steps = entry.lease_steps(worker, most, now).filter_map(|lease| {
            let step = entry
                .open_steps
                .get(&lease.step)
                .filter(|step| !entry.in_flight_steps.contains(&step.call))?;
            Some(AssignedStep {
                step: step.clone(),
                attempt: lease.attempt,
                lease_ms: lease.lease_ms,
                version,
            })
        });
        match steps.next() {
            Some(first) => {
                NextAssignment::Step(Box::new(first), steps.take(most.saturating_sub(1)).collect())
            }
            None => NextAssignment::Waiting,
        }
    }

    /// The state of a task, for diagnosis.
    pub fn task_status(&self, id: &str) -> Option<DelegatedTaskStatus> {
        let mut table = self.lock_state();
        let run_tasks = table.tasks_mut(id)?;
        let branch_id = *run_tasks.branch_ids.get(id)?;
        let entry = run_tasks.entries.get(&branch_id)?;
        let ended = run_tasks.task_outcome(entry);
        let open = entry.open_steps.len() + entry.acks.open_count();
        let known = ended.is_some() || open > 0;
        // while the end is being written, no more steps are leased
        let remaining = if run_tasks.is_ending { Some(0) } else { known.then_some(open) };
        let current = entry
            .acks
            .first_open()
            .map(StepAck::id)
            .or_else(|| entry.open_steps.keys().next().copied().map(step_id));
        let completed = entry.finished_steps.iter().map(|(call, _)| step_id(*call)).collect();
        Some(DelegatedTaskStatus {
            task: entry.task.clone(),
            current_step: current.filter(|_| !run_tasks.is_ending),
            completed,
            remaining_steps: remaining,
            points: entry.points.clone(),
            branch_id,
            version: entry.finished_steps.len() as u64,
            restore_count: entry.restore_count,
            outcome: ended,
        })
    }

    /// Counts an answer that does not fit; returns how many more are allowed. After the last one the step fails.
    pub fn count_misfit(&self, id: &str, call: CallId) -> u32 {
        let mut table = self.lock_state();
        let step =
            table.tasks_mut(id).and_then(|run_tasks| run_tasks.task_mut(id)?.open_steps.get_mut(&call));
        step.map_or(0, |step| {
            step.rejected_answers += 1;
            super::TRIES.saturating_sub(step.rejected_answers)
        })
    }

    /// What an input led to.
    pub(crate) fn apply_output(
        &self,
        now: Timestamp,
        run: &RunId,
        machine: &Machine,
        answered: AppliedAnswer,
        output: &MachineOutput,
    ) {
        let mut table = self.lock_state();
        let lease_ms = table.lease_ms;
        if lease_ms == 0 || !machine.has_sub_agents() && !table.runs.contains_key(run) {
            return;
        }
        let run_tasks = table.runs.entry(run.clone()).or_insert_with(|| RunTasks::new(run.clone(), lease_ms));
        (run_tasks.journal_revision, run_tasks.is_ending) = (None, false);
        let AppliedAnswer { call, dedup_mark: mark, is_unwritten: unwritten } = answered;
        if let Some(call) = call {
            if unwritten && mark.is_some() {
                run_tasks.unwritten_steps.insert(call);
            }
            run_tasks.complete_step(call, None, mark);
        }
        run_tasks.apply_events(&machine.spec().program, output.events.iter().map(|event| &event.event));
        run_tasks.sync_with_machine(now, machine);
        for effect in &output.effects {
            run_tasks.offer_effect(machine, effect);
        }
        table.register_ids(run);
        drop(table);
        self.notify_watchers();
    }

    /// The end of a run is about to be written: a reader who sees it in the store gets no step any more, and learns of
    /// the end from this process once it is written.
    pub(crate) fn mark_ending(&self, run: &RunId) {
        if let Some(run_tasks) = self.lock_state().runs.get_mut(run) {
            run_tasks.is_ending = true;
        }
    }

    /// The journal has everything about the run.
    pub(crate) fn mark_written(&self, run: &RunId) {
        if let Some(run_tasks) = self.lock_state().runs.get_mut(run) {
            run_tasks.unwritten_steps.clear();
        }
    }

    /// Another process drives the run by now.
    pub(crate) fn forget_run(&self, run: &RunId) {
        self.lock_state().runs.remove(run);
    }

    /// Inputs for runs with overdue steps.
    pub(crate) fn fail_overdue_steps(&self, now: Timestamp) -> Vec<(RunId, Input)> {
        let mut table = self.lock_state();
        let begin_ms = table.begin_timeout_ms;
        let swept = table.runs.iter_mut();
        let failing: Vec<(RunId, Input)> = swept
            .flat_map(|(run, run_tasks)| {
                run_tasks.fail_overdue_steps(now, begin_ms).into_iter().map(|input| (run.clone(), input))
            })
            .collect();
        drop(table);
        // expired steps can be leased again
        self.notify_watchers();
        failing
    }
}

impl BrokerState {
    pub(super) fn tasks_mut(&mut self, id: &str) -> Option<&mut RunTasks> {
        self.runs.get_mut(self.ids.get(id)?)
    }

    pub(super) fn register_ids(&mut self, run: &RunId) {
        let Some(run_tasks) = self.runs.get_mut(run) else { return };
        self.ids.extend(run_tasks.unannounced_ids.drain(..).map(|id| (id, run.clone())));
    }
}
