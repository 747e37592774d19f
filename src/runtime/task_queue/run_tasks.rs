//! The tasks of one run, built from the effects and events of its machine. Pure: it neither waits nor reads a clock.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use super::super::leases::{EnqueueError, LeaseQueue, StepLease};
use super::acknowledgements::{AckedAction, PendingAcks};
use super::{TaskOutcome, is_delegated, task_id};
use synthdev_domain::ids::{CallId, RunId, Timestamp};
use synthdev_domain::journal::{OpenPause, RunProgress, RunStatus};
use synthdev_domain::model::ModelRequest;
use synthdev_domain::run_error::RunError;
use synthdev_domain::tool::ToolInvocation;
use synthdev_domain::workflow::{self as flow, StateSpec, WorkflowProgram};
use synthdev_engine::effect::Effect;
use synthdev_engine::event::RunEvent;
use synthdev_engine::machine::{DelegatedTask, Machine};

/// What a sub-agent is asked to do.
#[derive(Clone, PartialEq, Debug)]
pub struct TaskStep {
    pub call: CallId,
    /// The state that asks, without the path around its task.
    pub state: String,
    pub work: TaskStepWork,
    /// The schema of the result, if the state has one.
    pub schema: Option<Value>,
    /// Answers so far that did not fit.
    pub rejected_answers: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub enum TaskStepWork {
    Model(Arc<ModelRequest>),
    Tool(ToolInvocation),
    Prompt(Box<OpenPause>),
}

/// Steps of one kind may be leased together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskStepKind {
    Command,
    McpCall,
    Model,
    Question,
    Request,
}

impl TaskStepWork {
    pub fn kind(&self) -> TaskStepKind {
        match self {
            Self::Tool(invocation) if invocation.tool == "mcp" => TaskStepKind::McpCall,
            Self::Tool(_) => TaskStepKind::Command,
            Self::Model(_) => TaskStepKind::Model,
            Self::Prompt(pause) if pause.action.is_some() || pause.kind.as_deref() == Some("outputs") => {
                TaskStepKind::Request
            }
            Self::Prompt(_) => TaskStepKind::Question,
        }
    }
}

/// One task.
pub(super) struct QueuedTask {
    pub(super) id: String,
    pub(super) task: DelegatedTask,
    pub(super) leases: LeaseQueue<CallId>,
    pub(super) open_steps: BTreeMap<CallId, TaskStep>,
    /// Open steps for which the queue has no room yet: none is lost.
    waiting_steps: VecDeque<CallId>,
    /// In the order in which they were done, with what makes a result the same.
    pub(super) finished_steps: Vec<(CallId, String)>,
    /// Results on their way into the journal.
    pub(super) in_flight_steps: BTreeSet<CallId>,
    /// Actions of the run, if its sub-agent acknowledges them.
    pub(super) acks: PendingAcks,
    /// Names of its checkpoints.
    pub(super) points: Vec<String>,
    /// How often it was restored to a checkpoint.
    pub(super) restore_count: u64,
    /// When a sub-agent last asked or answered, or when the task began.
    pub(super) last_contact: Timestamp,
    /// A sub-agent has come for it.
    pub(super) has_contact: bool,
    pub(super) lost_leases: u32,
    pub(super) outcome: Option<TaskOutcome>,
}

/// If it is the same at two times, nothing has happened to the run between them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunRevision {
    status: RunStatus,
    updated: Timestamp,
}

impl RunRevision {
    pub(super) fn from_progress(progress: &RunProgress) -> Self {
        Self { status: progress.status, updated: progress.updated }
    }
}

pub(super) struct RunTasks {
    run: RunId,
    pub(super) lease_ms: u64,
    /// By branch.
    pub(super) entries: BTreeMap<u64, QueuedTask>,
    pub(super) branch_ids: HashMap<String, u64>,
    /// Items that are under way: the loop's name, the position.
    item_owners: HashMap<(String, usize), u64>,
    steps: HashMap<CallId, u64>,
    /// Ids that are not registered with the broker yet.
    pub(super) unannounced_ids: Vec<String>,
    /// Steps whose results count and could not be written down so far.
    pub(super) unwritten_steps: BTreeSet<CallId>,
    /// The revision of the run when its journal was read, unless it continued in this process since.
    pub(super) journal_revision: Option<RunRevision>,
    /// The run itself has ended.
    run_outcome: Option<TaskOutcome>,
    /// The run is about to fail: no more steps are leased.
    failing_outcome: Option<TaskOutcome>,
    /// Its end is being written down.
    pub(super) is_ending: bool,
}

impl RunTasks {
    pub(super) fn new(run: RunId, lease_ms: u64) -> Self {
        Self {
            run,
            lease_ms,
            entries: BTreeMap::new(),
            branch_ids: HashMap::new(),
            item_owners: HashMap::new(),
            steps: HashMap::new(),
            unannounced_ids: Vec::new(),
            unwritten_steps: BTreeSet::new(),
            journal_revision: None,
            run_outcome: None,
            failing_outcome: None,
            is_ending: false,
        }
    }

    pub(super) fn task_mut(&mut self, id: &str) -> Option<&mut QueuedTask> {
        self.entries.get_mut(self.branch_ids.get(id)?)
    }

    pub(super) fn task_outcome(&self, entry: &QueuedTask) -> Option<TaskOutcome> {
        entry.outcome.clone().or_else(|| self.run_outcome())
    }

    /// How the run itself has ended, or is about to.
    pub(super) fn run_outcome(&self) -> Option<TaskOutcome> {
        self.run_outcome.clone().or_else(|| self.failing_outcome.clone())
    }

    /// A step was answered, by a sub-agent if there is a mark; looks up the task if `lane` is absent.
    pub(super) fn complete_step(&mut self, call: CallId, branch_id: Option<u64>, mark: Option<String>) {
        let Some(branch_id) = self.steps.remove(&call).or(branch_id) else { return };
        let Some(entry) = self.entries.get_mut(&branch_id) else { return };
        entry.open_steps.remove(&call);
        entry.in_flight_steps.remove(&call);
        match mark {
            Some(mark) => {
                entry.leases.complete(call);
                entry.finished_steps.push((call, mark));
            }
            None => drop(entry.leases.withdraw_step(call)),
        }
        entry.enqueue_waiting(self.lease_ms);
    }

    /// A worker that hands in a step of this task has seen the actions before it.
    pub(super) fn acknowledge_all(&mut self, branch_id: Option<u64>) {
        if let Some(entry) = branch_id.and_then(|branch_id| self.entries.get_mut(&branch_id)) {
            entry.acks.clear_open();
        }
    }

    pub(super) fn apply_events<'e>(
        &mut self,
        program: &WorkflowProgram,
        events: impl Iterator<Item = &'e RunEvent>,
    ) {
        let told = program.workflows.first().is_some_and(|root| root.ack_steps);
        for event in events {
            match event {
                RunEvent::DataChanged { state, set, removed } => {
                    let Some(entry) = self.entry_around(state) else { continue };
                    for key in removed {
                        entry.task.data.shift_remove(key);
                    }
                    entry.task.data.extend(set.clone());
                    if told && let Some(local) = data_only_state(program, &entry.task, state) {
                        let done = AckedAction::Set { set: set.clone(), removed: removed.clone() };
                        entry.acks.add_ack(local, done);
                    }
                }
                RunEvent::BranchFinished { state, index, output, error, .. } => {
                    let Some(branch_id) = self.item_owners.remove(&(state.clone(), *index)) else { continue };
                    let ended = match error {
                        Some(failure) => failure_outcome(failure),
                        None => TaskOutcome::Complete(output.clone().unwrap_or_default()),
                    };
                    if told {
                        self.ack_result(branch_id, &ended);
                    }
                    self.end_task(branch_id, ended);
                }
                RunEvent::Finished { status, output, error, .. } => {
                    if told && *status == RunStatus::Completed {
                        self.ack_result(0, &TaskOutcome::Complete(output.clone().unwrap_or_default()));
                    }
                    self.run_outcome =
                        run_status_outcome(*status, output.clone().unwrap_or_default(), error.as_deref());
                }
                RunEvent::Resumed { .. } => self.reset_contacts(),
                _ => {}
            }
        }
    }

    /// New tasks, withdrawn ones, and questions.
    pub(super) fn sync_with_machine(&mut self, now: Timestamp, machine: &Machine) {
        let branch_ids = machine.open_tasks();
        for branch_id in &branch_ids {
            if self.entries.contains_key(branch_id) {
                continue;
            }
            if let Some(delegated_task) = machine.delegated_task(*branch_id) {
                self.add_task(now, machine.random_seed(), *branch_id, delegated_task);
            }
        }
        self.failing_outcome = machine.withdrawal_reason().as_ref().map(failure_outcome);
        for (branch_id, entry) in &mut self.entries {
            entry.points = machine.checkpoint_names(*branch_id).map(str::to_owned).collect();
            entry.restore_count = machine.restore_count(*branch_id);
        }
        let open: BTreeSet<u64> = branch_ids.into_iter().collect();
        let gone = |(branch_id, entry): (&u64, &QueuedTask)| {
            (entry.outcome.is_none() && !open.contains(branch_id)).then_some(*branch_id)
        };
        let gone: Vec<u64> = if machine.is_over_or_suspended() || !machine.has_sub_agents() {
            Vec::new()
        } else {
            self.entries.iter().filter_map(gone).collect()
        };
        for branch_id in gone {
            let text = "the loop went on without this item".to_owned();
            self.end_task(branch_id, TaskOutcome::Failed { code: "workflow_cancelled".to_owned(), text });
        }
        self.sync_prompts(machine);
    }

    /// Queues an effect as a step, if it is for a sub-agent.
    pub(super) fn offer_effect(&mut self, machine: &Machine, effect: &Effect) {
        if let Effect::Abort { call } = effect {
            return self.complete_step(*call, None, None);
        }
        if !is_delegated(machine, effect) {
            return;
        }
        let (call, state, work) = match effect {
            Effect::CallModel { call, request } => {
                let mut request = request.clone();
                if let Some(schema) = machine.answer_schema_for_call(*call) {
                    Arc::make_mut(&mut request).answer_schema = Some(schema);
                }
                (*call, request.state.clone(), TaskStepWork::Model(request))
            }
            Effect::RunTool { call, invocation, .. } => (
                *call,
                machine.state_for_call(*call).unwrap_or_default(),
                TaskStepWork::Tool(invocation.clone()),
            ),
            _ => return,
        };
        if let Some(branch_id) = machine.task_for_call(call) {
            let schema = machine.output_schema_for_call(call);
            self.enqueue_step(branch_id, TaskStep { call, state, work, schema, rejected_answers: 0 });
        }
    }

    /// The run continues: sub-agents that learned of its end have gone.
    fn reset_contacts(&mut self) {
        if self.run_outcome.take().is_none() {
            return;
        }
        for entry in self.entries.values_mut().filter(|entry| entry.outcome.is_none()) {
            (entry.has_contact, entry.lost_leases) = (false, 0);
        }
    }

    fn add_task(&mut self, now: Timestamp, seed: u64, branch_id: u64, delegated_task: DelegatedTask) {
        let id = task_id(&self.run, seed, branch_id);
        self.branch_ids.insert(id.clone(), branch_id);
        self.unannounced_ids.push(id.clone());
        if let Some(index) = delegated_task.index {
            self.item_owners.insert((delegated_task.owner.clone(), index), branch_id);
        }
        let entry = QueuedTask {
            id,
            task: delegated_task,
            leases: LeaseQueue::default(),
            open_steps: BTreeMap::new(),
            waiting_steps: VecDeque::new(),
            finished_steps: Vec::new(),
            in_flight_steps: BTreeSet::new(),
            acks: PendingAcks::default(),
            points: Vec::new(),
            restore_count: 0,
            last_contact: now,
            has_contact: false,
            lost_leases: 0,
            outcome: None,
        };
        self.entries.insert(branch_id, entry);
    }

    fn end_task(&mut self, branch_id: u64, ended: TaskOutcome) {
        let Some(entry) = self.entries.get_mut(&branch_id) else { return };
        for call in std::mem::take(&mut entry.open_steps).into_keys() {
            entry.leases.withdraw_step(call);
            self.steps.remove(&call);
        }
        entry.outcome = Some(ended);
    }

    fn enqueue_step(&mut self, branch_id: u64, mut step: TaskStep) {
        let Some(entry) = self.entries.get_mut(&branch_id) else { return };
        let own = entry.task.index.map(|index| format!("{}[{index}]/", entry.task.owner));
        let state = own.as_deref().and_then(|own| step.state.strip_prefix(own)).map(str::to_owned);
        step.state = state.unwrap_or(step.state);
        let call = step.call;
        if entry.open_steps.contains_key(&call) {
            return;
        }
        if entry.queue_step(&step, self.lease_ms) == Err(EnqueueError::Full) {
            entry.waiting_steps.push_back(call);
        }
        self.steps.insert(call, branch_id);
        entry.open_steps.insert(call, step);
    }

    /// Questions begin and end without an effect, because no user is present in this process.
    fn sync_prompts(&mut self, machine: &Machine) {
        let prompts = machine.delegated_prompts();
        let asked = |entry: &QueuedTask| -> Vec<CallId> {
            let open = entry.open_steps.values().filter(|step| matches!(step.work, TaskStepWork::Prompt(_)));
            open.map(|step| step.call).collect()
        };
        let before: Vec<CallId> = self.entries.values().flat_map(asked).collect();
        for call in before {
            if !prompts.iter().any(|(_, pause)| pause.call == call) {
                self.complete_step(call, None, None);
            }
        }
        for (branch_id, pause) in prompts {
            let (call, state) = (pause.call, pause.state.clone());
            let work = TaskStepWork::Prompt(Box::new(pause));
            self.enqueue_step(branch_id, TaskStep { call, state, work, schema: None, rejected_answers: 0 });
        }
    }

    fn ack_result(&mut self, branch_id: u64, ended: &TaskOutcome) {
        if let (Some(entry), TaskOutcome::Complete(result)) = (self.entries.get_mut(&branch_id), ended) {
            entry.acks.add_ack(String::new(), AckedAction::Returned(result.clone()));
        }
    }

    fn entry_around(&mut self, state: &str) -> Option<&mut QueuedTask> {
        let around = |entry: &QueuedTask| match entry.task.index {
            Some(index) => {
                let inner = state.strip_prefix(&entry.task.owner)?.strip_prefix(&format!("[{index}]/"));
                inner.map(|_| entry.task.owner.len() + 1)
            }
            None => Some(0),
        };
        let open = self.entries.iter().filter(|(_, entry)| entry.outcome.is_none());
        let found = open.filter_map(|(branch_id, entry)| Some((around(entry)?, *branch_id))).max()?;
        self.entries.get_mut(&found.1)
    }
}

impl QueuedTask {
    /// Questions take long, so they come first.
    fn queue_step(&mut self, step: &TaskStep, lease_ms: u64) -> Result<(), EnqueueError> {
        let (priority, own) = match &step.work {
            TaskStepWork::Tool(invocation) => (0, invocation.arguments["timeout_seconds"].as_u64()),
            TaskStepWork::Model(_) => (0, None),
            TaskStepWork::Prompt(_) => (1, None),
        };
        let lasts_ms = own.map_or(lease_ms, |seconds| seconds.saturating_mul(1_000));
        self.leases.enqueue(step.call, priority, &[], lasts_ms)
    }

    /// Steps that a worker has of the task, or new leases of one kind.
    pub(super) fn lease_steps(
        &mut self,
        worker: &str,
        most: usize,
        now: Timestamp,
    ) -> impl Iterator<Item = StepLease<CallId>> + use<> {
        let kind = |call: CallId| self.open_steps.get(&call).map(|step| step.work.kind());
        let alike = |one: CallId, other: CallId| kind(one) == kind(other);
        self.leases.lease_batch(worker, now, most, alike).into_iter()
    }

    /// There may be room in the queue.
    fn enqueue_waiting(&mut self, lease_ms: u64) {
        while let Some(call) = self.waiting_steps.pop_front() {
            let Some(step) = self.open_steps.get(&call).cloned() else { continue };
            if self.queue_step(&step, lease_ms) == Err(EnqueueError::Full) {
                return self.waiting_steps.push_front(call);
            }
        }
    }
}

/// The name of a state of a task, if it only changes data.
fn data_only_state(program: &WorkflowProgram, delegated_task: &DelegatedTask, path: &str) -> Option<String> {
    let local = match delegated_task.index {
        Some(index) => path.strip_prefix(&format!("{}[{index}]/", delegated_task.owner))?,
        None => path,
    };
    let workflow = program.workflows.get(delegated_task.workflow.0)?;
    let name = format!("{}{local}", delegated_task.scope);
    // the state of a called workflow is below the state that calls it
    let inner = local.rsplit('/').next().unwrap_or(local);
    let named =
        |state: &&StateSpec| state.name == name || delegated_task.scope.is_empty() && state.name == inner;
    let state = workflow.states.iter().find(named)?;
    (state.script.is_some() && state.work == flow::StateBody::None).then(|| local.to_owned())
}

fn run_status_outcome(status: RunStatus, output: Value, error: Option<&RunError>) -> Option<TaskOutcome> {
    let failed =
        |code: &str, text: &str| TaskOutcome::Failed { code: code.to_owned(), text: text.to_owned() };
    match status {
        RunStatus::Completed => Some(TaskOutcome::Complete(output)),
        RunStatus::Failed => {
            Some(error.map_or_else(|| failed("workflow_failed", "the workflow failed"), failure_outcome))
        }
        RunStatus::Cancelled => Some(failed("workflow_cancelled", "the workflow was cancelled")),
        RunStatus::Paused | RunStatus::Running | RunStatus::Interrupted => None,
    }
}

fn failure_outcome(failure: &RunError) -> TaskOutcome {
    let text = format!("{}: {}", failure.title, failure.detail);
    TaskOutcome::Failed { code: "workflow_failed".to_owned(), text }
}
