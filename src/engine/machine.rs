//! The machine: holds the frames of a run and answers each input with effects and events.
//!
//! One file for each kind of input and each concern below; this one owns the state and the dispatch.

mod action_states;
mod ask_user;
mod budgets;
mod build_prompt;
mod checkpoints;
mod child_workflow;
mod compaction;
mod context_summary;
mod cost_accounting;
mod delegated_tasks;
mod enter_state;
mod error_recovery;
mod finish;
mod guidance_files;
mod join;
mod limits;
mod model_fallback;
mod model_substitution;
mod next;
mod on_failure;
mod on_interrupt;
mod on_model_reply;
mod on_resumed;
mod on_rewound;
mod on_script_result;
mod on_started;
mod on_steered;
mod pause_states;
mod queued_messages;
mod run_turn;
mod scheduler;
mod snapshot_progress;
mod snapshots;
mod spawn_branches;
mod state_output;
mod suspend;
mod timeout_suspension;
mod timers;
mod tool_calls;
mod upgrade;
mod user_questions;
mod wait_states;

pub use checkpoints::POINTS;
pub use delegated_tasks::DelegatedTask;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Deref;
use std::sync::Arc;

use serde_json::Value;

use super::branch::{Branch, BranchContinuation, BudgetScope, PendingQuestion, WaitState};
use super::budget_usage::{AgentBudgetUsage, BudgetUnit, BudgetUsage, CallEstimate};
use super::call_frame::CallFrame;
use super::effect::Effect;
use super::event::RunEvent;
use super::input::Input;
use super::model_caller::ModelCaller;
use super::queued_messages::QueuedMessage;
use super::replay_skips::{ReplaySkips, SkippedCallKind};
use super::run_spec::RunSpec;
use super::steering::BreakpointSet;
use next::Next;
use synthdev_domain::approval::ApprovalPolicy;
use synthdev_domain::cost::{CostLedger, TokenPrice};
use synthdev_domain::ids::{CallId, SnapshotId, StateIx, Timestamp};
use synthdev_domain::journal::{RunProgress, RunStatus};
use synthdev_domain::run_error::RunError;
use synthdev_domain::script::{ScriptJob, ScriptTask};
use synthdev_domain::workflow::{StateSpec, SubAgents, Workflow};

/// What one input led to.
#[derive(Clone, Debug, Default)]
pub struct MachineOutput {
    pub effects: Vec<Effect>,
    pub events: Vec<RunEvent>,
}

/// A run. Create it with its spec, feed it `Input::Started` first.
#[derive(Clone, Debug)]
pub struct Machine {
    spec: Arc<RunSpec>,
    now: Timestamp,
    seed: u64,
    calls: u64,
    last_frame_id: u64,
    /// Visits of states so far.
    visit_count: u64,
    /// The branch that the current input is for.
    branch: Branch,
    /// All others.
    branches: BTreeMap<u64, Branch>,
    last_branch_id: u64,
    /// Branches that can continue without an input.
    ready_branches: VecDeque<u64>,
    path: Vec<String>,
    ledger: CostLedger,
    /// What the whole run spent of its budget.
    budget_usage: BudgetUsage,
    /// What agents with a budget of their own spent, in the order in which they were first asked.
    agent_budgets: Vec<AgentBudgetUsage>,
    /// By model: real prompt tokens per 1,000 estimated ones, the largest ratio so far.
    token_density: BTreeMap<String, u64>,
    /// Model calls made, and granted on top of the limit.
    model_calls: u32,
    extra_model_calls: u32,
    /// The largest call so far: the next one may be as large.
    largest_call: CallEstimate,
    /// Limits that `on_limit` or `catch` has raised, as `LIMIT OWNER by WORKFLOW`: owner 0 is the run, others are agents.
    raised_limits: BTreeSet<String>,
    /// Budgets that the input at hand has given more to.
    granted_budgets: Vec<(BudgetScope, BudgetUnit)>,
    /// By requested model: the highest price of the models that answered in its place.
    substitute_prices: BTreeMap<String, TokenPrice>,
    /// Calls that the last input stopped, each with the caller to charge.
    stopped_calls: BTreeMap<CallId, ModelCaller>,
    /// A warning has reported that a budget in dollars cannot count calls without a price.
    unknown_price_reported: bool,
    /// Requested models with those that answered in their place; reported once each.
    reported_substitutions: BTreeSet<(String, String)>,
    approvals: ApprovalPolicy,
    /// Messages of the user that no state asked for.
    queued_messages: VecDeque<QueuedMessage>,
    /// Where the run stops.
    breakpoints: BreakpointSet,
    /// Every branch stops before its next state.
    step_mode: bool,
    /// Every branch also stops before its next model call.
    stop_before_model_calls: bool,
    snapshot: snapshot_progress::SnapshotProgress,
    /// The snapshot taken before the run.
    initial_snapshot: Option<SnapshotId>,
    status: RunStatus,
    result: Option<Value>,
    error: Option<RunError>,
    /// A user can be asked.
    user_present: bool,
    /// Sub-agents can be reached.
    sub_agents: bool,
    /// The user wants to pause the run: effects that have begun complete, none begin.
    is_stopping: bool,
    /// Another process wants to resume the run: in addition, it does not wait for timers.
    is_suspending: bool,
    /// The run waits and no process drives it; its state stays unchanged.
    is_suspended: bool,
    /// States entered so far, in all branches: the number of the last step.
    step_count: u32,
    /// The step before which the run stops.
    halt_before_step: Option<u32>,
    is_halted: bool,
    /// The run was rewound to a step: it takes a snapshot of its own before it continues.
    needs_step_snapshot: bool,
    /// Checkpoints of delegated tasks, by branch and name, and how often each task was restored.
    checkpoints: BTreeMap<(u64, String), Arc<Branch>>,
    restored: BTreeMap<u64, u64>,
    /// Time limits of states are suspended, because a branch is stopped.
    timeouts_suspended: bool,
    /// Calls that need not be made: see [`Machine::skip_calls`].
    replay_skips: Arc<ReplaySkips>,
    /// Old parts of conversations are dropped or compressed, and the number of inputs since the last time.
    compacts_history: bool,
    inputs_since_compaction: u32,
    output: MachineOutput,
}

/// An existing state with its position.
struct CurrentState {
    workflow: Arc<Workflow>,
    state_ix: StateIx,
}

impl Deref for CurrentState {
    type Target = StateSpec;

    fn deref(&self) -> &StateSpec {
        &self.workflow.states[self.state_ix.0]
    }
}

impl Machine {
    pub fn new(spec: Arc<RunSpec>) -> Self {
        let (approvals, present) = (spec.approvals.clone(), spec.interactive);
        let sub_agents = spec.program.workflows.first().map_or(SubAgents::None, |root| root.sub_agents);
        let stops = spec.stops.clone();
        Self {
            spec,
            now: Timestamp(0),
            seed: 0,
            calls: 0,
            last_frame_id: 0,
            visit_count: 0,
            branch: Branch { task_branch: (sub_agents == SubAgents::Run).then_some(0), ..Branch::root() },
            branches: BTreeMap::new(),
            last_branch_id: 0,
            ready_branches: VecDeque::new(),
            path: Vec::new(),
            ledger: CostLedger::default(),
            budget_usage: BudgetUsage::default(),
            agent_budgets: Vec::new(),
            token_density: BTreeMap::new(),
            model_calls: 0,
            extra_model_calls: 0,
            largest_call: CallEstimate::default(),
            raised_limits: BTreeSet::new(),
            granted_budgets: Vec::new(),
            substitute_prices: BTreeMap::new(),
            stopped_calls: BTreeMap::new(),
            unknown_price_reported: false,
            reported_substitutions: BTreeSet::new(),
            approvals,
            queued_messages: VecDeque::new(),
            breakpoints: stops,
            step_mode: false,
            stop_before_model_calls: false,
            snapshot: snapshot_progress::SnapshotProgress::None,
            initial_snapshot: None,
            status: RunStatus::Running,
            result: None,
            error: None,
            user_present: present,
            sub_agents: sub_agents != SubAgents::None,
            is_stopping: false,
            is_suspending: false,
            is_suspended: false,
            step_count: 0,
            halt_before_step: None,
            is_halted: false,
            needs_step_snapshot: false,
            checkpoints: BTreeMap::new(),
            restored: BTreeMap::new(),
            timeouts_suspended: false,
            replay_skips: Arc::default(),
            compacts_history: false,
            inputs_since_compaction: 0,
            output: MachineOutput::default(),
        }
    }

    /// Takes one input. An answer to a call that is no longer pending is dropped: it was overtaken by a cancel.
    pub fn handle_input(&mut self, now: Timestamp, input: Input) -> MachineOutput {
        let before = std::mem::replace(&mut self.now, now);
        self.granted_budgets.clear();
        if !matches!(input, Input::Stopped { .. }) {
            self.stopped_calls.clear();
        }
        if self.accepts_input(&input) && self.activate_branch_for(&input) {
            if matches!(input, Input::Resumed(_)) {
                self.skip_time(before);
            }
            self.dispatch_input(input);
            self.run_ready_branches();
            self.suspend_stopped_timeouts();
            self.suspend_if_idle();
        }
        self.compact_periodically();
        std::mem::take(&mut self.output)
    }

    /// Takes back an output that was read: its room is used again for the next one.
    pub fn recycle_output(&mut self, mut output: MachineOutput) {
        output.effects.clear();
        output.events.clear();
        self.output = output;
    }

    fn dispatch_input(&mut self, input: Input) {
        let next = match input {
            Input::Started { seed } => self.on_started(seed),
            Input::Cancelled { partial, end, used } => {
                self.pay_stopped(used);
                self.on_cancelled(partial, end)
            }
            Input::Stopped { call, used } => {
                self.on_stopped_call(call, &used);
                Next::Wait
            }
            Input::SnapshotTaken { call, info } => self.on_snapshot_taken(call, info),
            Input::SnapshotFailed { call, reason } => self.on_snapshot_failed(call, reason),
            Input::Evaluated { call, outcome } => self.on_evaluated(call, outcome),
            Input::ScriptFailed { call, error } => self.on_script_failed(call, &error),
            Input::Replied { call, reply } => self.on_replied(call, reply),
            Input::ModelFailed { call, error, attempts, used, again } => {
                self.on_model_failed(call, &error, attempts, &used, again)
            }
            Input::Approved { call, decision } => self.on_approved(call, decision),
            Input::ToolDone { call, outcome } => self.on_tool_done(call, outcome),
            Input::Answered { call, answer } => self.on_answered(call, answer),
            Input::Elapsed { call } => self.on_elapsed(call),
            Input::Said { text } => self.on_user_message(text),
            Input::Steered(steering) => self.on_steered(*steering),
            Input::Resumed(resumed) => {
                self.on_resumed(*resumed);
                Next::Wait
            }
            Input::Returned(returned) => {
                self.on_returned(*returned);
                Next::Wait
            }
        };
        self.advance(next);
    }

    /// For a replay: the answers of these calls are known. The machine neither builds what a model or a script would
    /// get for them nor emits an effect; events are the same.
    pub fn skip_calls(&mut self, calls: Arc<ReplaySkips>) {
        self.replay_skips = calls;
    }

    pub fn status(&self) -> RunStatus {
        self.status
    }

    /// The machine makes no further progress: the run has ended, or it is suspended until a process resumes it.
    pub fn is_idle_for_good(&self) -> bool {
        self.branch.phase == WaitState::Over || self.is_suspended
    }

    /// A user can be asked.
    pub fn is_present(&self) -> bool {
        self.user_present
    }

    pub fn ledger(&self) -> &CostLedger {
        &self.ledger
    }

    /// The ledger, and the machine without it.
    pub fn into_ledger(mut self) -> (CostLedger, Self) {
        (std::mem::take(&mut self.ledger), self)
    }

    pub fn spec(&self) -> &RunSpec {
        &self.spec
    }

    /// The summary of the run that is stored and shown in lists.
    pub fn progress(&self) -> RunProgress {
        RunProgress {
            status: self.status,
            path: self.path.clone(),
            usage: self.ledger.usage(),
            cost_usd: self.ledger.cost_usd(),
            snapshot: self.initial_snapshot.clone(),
            output: self.result.clone(),
            error: self.error.clone(),
            updated: self.now,
            pauses: if self.is_suspended || self.has_open_question() {
                self.open_question_previews()
            } else {
                Vec::new()
            },
        }
    }

    // ---- shared by the files below -------------------------------------------------------------

    fn next_call(&mut self) -> CallId {
        self.calls += 1;
        CallId(self.calls)
    }

    fn emit_event(&mut self, event: RunEvent) {
        self.output.events.push(event);
    }

    fn push_effect(&mut self, effect: Effect) {
        self.output.effects.push(effect);
    }

    fn emit_warning(&mut self, code: &str, text: impl Into<String>) {
        self.emit_event(RunEvent::Warning { code: code.to_owned(), text: text.into() });
    }

    fn frame(&self) -> Option<&CallFrame> {
        self.branch.frames.last()
    }

    fn frame_mut(&mut self) -> Option<&mut CallFrame> {
        self.branch.frames.last_mut()
    }

    fn workflow(&self) -> Option<Arc<Workflow>> {
        let frame = self.frame()?;
        self.spec.program.workflows.get(frame.workflow.0).cloned()
    }

    /// The current state with its workflow. Nothing is copied: a state may hold a long list of items.
    fn current_state(&self) -> Option<(Arc<Workflow>, CurrentState)> {
        let workflow = self.workflow()?;
        let at = self.frame()?.state;
        workflow.state(at)?;
        Some((Arc::clone(&workflow), CurrentState { workflow, state_ix: at }))
    }

    /// The current state's path name.
    fn state_name(&self) -> String {
        self.frame()
            .zip(self.workflow())
            .and_then(|(frame, workflow)| workflow.state(frame.state).map(|state| frame.path_name(state)))
            .unwrap_or_default()
    }

    fn evaluate_script(&mut self, task: ScriptTask) -> CallId {
        let call = self.next_call();
        let said = self.offer_messages(call);
        let (seed, now, spared) =
            (self.seed, self.now, self.replay_skips.skips_call(call, SkippedCallKind::Script));
        if let (Some(workflow), Some(frame), false) = (self.workflow(), self.frame_mut(), spared) {
            let mut scope = Box::new(super::script_scope::build_scope(frame, &workflow, seed, call, now));
            scope.said = said;
            let job = ScriptJob { scripts: Arc::clone(&workflow.scripts), scope, task };
            self.push_effect(Effect::Evaluate { call, job });
        }
        call
    }
}

#[cfg(test)]
mod tests;
