//! The machine: takes the inputs of a run one by one and answers with effects and events.
//!
//! It consists of components, each in its file below (`machine_core`, `budgets`, `message_queue`,
//! `breakpoint_control`, `snapshot_gate`, `checkpoint_store`, `agent_team`), and of handlers: `impl Machine` in
//! one file for each input or concern. A handler returns a `NextHandler`, `advance` runs it, `scheduler` takes the
//! next branch.

mod action_states;
mod advance;
mod agent_team;
mod ask_user;
mod branch_set;
mod breakpoint_control;
mod budgets;
mod build_prompt;
mod checkpoint_store;
mod checkpoints;
mod child_workflow;
mod compact_conversation;
mod compaction;
mod concurrent_calls;
mod context_contents;
mod context_summary;
mod continue_from_breakpoint;
mod conversation_title;
mod cost_accounting;
mod decision_checks;
mod delegated_tasks;
mod enter_state;
mod error_recovery;
mod finish;
mod guidance_files;
mod join;
mod leave_conversation;
mod limits;
mod machine_core;
mod message_queue;
mod missing_decision;
mod model_fallback;
mod model_substitution;
mod multicall;
mod next_handler;
mod on_elapsed;
mod on_failure;
mod on_interrupt;
mod on_model_reply;
mod on_resumed;
mod on_rewound;
mod on_script_result;
mod on_started;
mod on_steered;
mod on_user_message;
mod open_pauses;
mod partial_replies;
mod pause_states;
mod pending_invocation;
mod run_phase;
mod run_turn;
mod scheduler;
mod script_calls;
mod snapshot_gate;
mod snapshots;
mod spawn_agents;
mod spawn_branches;
mod state_output;
mod suspend;
mod team_board;
mod team_tools;
mod timeout_suspension;
mod timers;
mod tool_calls;
mod uncertain_effects;
mod unwinding;
mod upgrade;
mod user_questions;
mod wait_states;

pub use checkpoint_store::MAX_CHECKPOINTS;
pub use delegated_tasks::DelegatedTask;
pub use machine_core::MachineOutput;

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use self::agent_team::AgentTeam;
use self::breakpoint_control::BreakpointControl;
use self::budgets::BudgetTracker;
use self::checkpoint_store::CheckpointStore;
use self::machine_core::MachineCore;
use self::message_queue::MessageQueue;
use self::next_handler::NextHandler;
use self::snapshot_gate::SnapshotGate;
use super::branch::{Branch, BranchContinuation, PendingQuestion, WaitState};
use super::budget_usage::BudgetUsage;
use super::call_frame::CallFrame;
use super::effect::Effect;
use super::event::RunEvent;
use super::input::Input;
use super::model_caller::ModelCaller;
use super::replay_skips::ReplaySkips;
use super::run_spec::RunSpec;
use synthdev_domain::approval::ApprovalPolicy;
use synthdev_domain::cost::CostLedger;
use synthdev_domain::ids::{CallId, Timestamp};
use synthdev_domain::journal::RunStatus;
use synthdev_domain::model::DecisionMemory;
use synthdev_domain::run_error::RunError;
use synthdev_domain::workflow::SubAgents;

/// A run. Create it with its spec, feed it `Input::Started` first.
///
/// Between two inputs it can be written and read again as a whole, as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    core: MachineCore,
    /// The number of the last visit; entries that a limit or a budget refused count too.
    visit_count: u64,
    /// The states entered, for display; bounded.
    path: Vec<Arc<str>>,
    #[serde(with = "synthdev_domain::cost::packed_ledger")]
    ledger: CostLedger,
    budgets: BudgetTracker,
    /// Calls that the last input stopped, each with the caller to charge.
    stopped_calls: BTreeMap<CallId, ModelCaller>,
    /// Requested models with those that answered in their place; reported once each.
    reported_substitutions: BTreeSet<(String, String)>,
    approvals: ApprovalPolicy,
    messages: MessageQueue,
    breakpoints: BreakpointControl,
    snapshots: SnapshotGate,
    status: RunStatus,
    #[serde(with = "crate::optional_value")]
    result: Option<Value>,
    error: Option<RunError>,
    /// Sub-agents can be reached.
    sub_agents: bool,
    /// States that the run entered, in all branches: the number of the last step.
    step_count: u32,
    checkpoints: CheckpointStore,
    /// What lists call the conversation.
    #[serde(default)]
    conversation_title: Option<String>,
    /// Agents that agents have started.
    #[serde(default)]
    team: AgentTeam,
    #[serde(default)]
    decisions: DecisionMemory,
    /// Time limits of states are suspended, because a branch is stopped.
    timeouts_suspended: bool,
    /// Old parts of conversations are dropped or compressed.
    compacts_history: bool,
    /// Inputs since that was last done.
    inputs_since_compaction: u32,
}

impl Machine {
    pub fn new(spec: Arc<RunSpec>) -> Self {
        let approvals = spec.approvals.clone();
        let sub_agents = spec.program.workflows.first().map_or(SubAgents::None, |root| root.sub_agents);
        let stops = spec.stops.clone();
        let root = Branch { task_branch: (sub_agents == SubAgents::Run).then_some(0), ..Branch::root() };
        Self {
            core: MachineCore::new(spec, root),
            visit_count: 0,
            path: Vec::new(),
            ledger: CostLedger::default(),
            budgets: BudgetTracker::default(),
            stopped_calls: BTreeMap::new(),
            reported_substitutions: BTreeSet::new(),
            approvals,
            messages: MessageQueue::default(),
            breakpoints: BreakpointControl::new(stops),
            snapshots: SnapshotGate::default(),
            status: RunStatus::Running,
            result: None,
            error: None,
            sub_agents: sub_agents != SubAgents::None,
            step_count: 0,
            checkpoints: CheckpointStore::default(),
            conversation_title: None,
            team: AgentTeam::default(),
            decisions: DecisionMemory::default(),
            timeouts_suspended: false,
            compacts_history: false,
            inputs_since_compaction: 0,
        }
    }

    /// Takes one input. An answer to a call that no branch waits for any more is dropped: a cancel, an interrupt, a
    /// time limit or a finished join came first.
    pub fn handle_input(&mut self, now: Timestamp, input: Input) -> MachineOutput {
        let before = std::mem::replace(&mut self.core.now, now);
        self.budgets.granted.clear();
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
        std::mem::take(&mut self.core.output)
    }

    /// Takes back an output that was read: its room is used again for the next one.
    pub fn recycle_output(&mut self, mut output: MachineOutput) {
        output.effects.clear();
        output.events.clear();
        self.core.output = output;
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
                NextHandler::Wait
            }
            Input::SnapshotTaken { call, info } => self.on_snapshot_taken(call, info),
            Input::SnapshotFailed { call, reason } => self.on_snapshot_failed(call, reason),
            Input::Evaluated { call, outcome } => self.on_evaluated(call, outcome),
            Input::ScriptFailed { call, error } => self.on_script_failed(call, &error),
            Input::Replied { call, reply } => self.on_replied(call, reply),
            Input::ModelFailed { call, error, attempts, used, again } => {
                self.on_model_failed(call, &error, attempts, &used, again)
            }
            Input::Approved { call, decision } => self.on_approval_answered(call, decision),
            Input::ToolChecked { call, refusal } => self.on_tool_checked(call, refusal),
            Input::ToolDone { call, outcome } => self.on_tool_done(call, outcome),
            Input::Answered { call, answer } => self.on_answered(call, answer),
            Input::Elapsed { call } => self.on_elapsed(call),
            Input::Said { text } => self.on_user_message(text),
            Input::Steered(steering) => self.on_steered(*steering),
            Input::Resumed(resumed) => {
                self.on_resumed(*resumed);
                NextHandler::Wait
            }
            Input::Rewound(returned) => {
                self.on_rewound(*returned);
                NextHandler::Wait
            }
        };
        self.advance(next);
    }

    /// For a replay: the answers of these calls are known. The machine neither builds what a model or a script would
    /// get for them nor emits an effect; events are the same.
    pub fn skip_calls(&mut self, calls: Arc<ReplaySkips>) {
        self.core.replay_skips = calls;
    }

    /// Whether a started agent has a budget of its own.
    pub(super) fn has_agent_budgets(&self) -> bool {
        let is_bounded =
            |branch: &Branch| branch.spawned.as_ref().is_some_and(|one| !one.budget.is_unbounded());
        self.core.branches.all().any(is_bounded)
    }

    pub fn status(&self) -> RunStatus {
        self.status
    }

    /// The machine makes no further progress: the run has ended, or it is suspended until a process resumes it.
    pub fn is_over_or_suspended(&self) -> bool {
        self.core.branches.current.wait_state == WaitState::Over || self.core.phase.is_suspended()
    }

    /// A user can be asked.
    pub fn is_user_present(&self) -> bool {
        self.core.user_present
    }

    pub fn ledger(&self) -> &CostLedger {
        &self.ledger
    }

    /// The ledger, and the machine without it.
    pub fn into_ledger(mut self) -> (CostLedger, Self) {
        (std::mem::take(&mut self.ledger), self)
    }

    /// The run is a conversation, which continues until the user ends it.
    pub fn is_chat(&self) -> bool {
        self.core.is_chat()
    }

    pub fn spec(&self) -> &RunSpec {
        &self.core.spec
    }

    /// The checkpoints of a task, in the order of their names.
    pub fn checkpoint_names(&self, task: u64) -> impl Iterator<Item = &str> {
        self.checkpoints.names(task)
    }

    /// How often a task was restored to a checkpoint.
    pub fn restore_count(&self, task: u64) -> u64 {
        self.checkpoints.restore_count(task)
    }
}
