//! One thread of control: the root of a run, or one branch or item of a fork. Each waits for one thing at a time.

use super::budget_usage::{BudgetUnit, CallEstimate, CallUsageBound};
use super::call_frame::CallFrame;
use super::effect::UserQuestion;
use super::parallel::ParallelProgress;
use serde_json::Value;
use synthdev_domain::ids::{CallId, StateIx, Timestamp};
use synthdev_domain::run_error::RunError;

/// What a lane waits for. Exactly one thing, besides timers, and a snapshot that may be on its way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WaitState {
    New,
    /// `action.script`, or the `before` of a `catch`.
    Script(CallId),
    /// `input`, `sub_workflow_input`, or the output of a terminal state.
    Values(CallId),
    /// Guards and the chosen `before`.
    Choice(CallId),
    Model(CallId),
    Approval(CallId),
    Tool(CallId),
    Person(CallId, PendingQuestion),
    /// A tool that changes things waits for the snapshot.
    ToolHeld,
    /// A model call waits until others have told what they used (`budget`).
    Held,
    /// Branches or items run.
    Fork,
    /// A timer: `wait`, or the time before a retry.
    Timer(CallId),
    /// The run has its result and waits for the last snapshot.
    Ending,
    Over,
}

impl WaitState {
    /// The effect whose answer is waited for.
    pub fn pending_call(&self) -> Option<CallId> {
        match *self {
            Self::Script(call)
            | Self::Values(call)
            | Self::Choice(call)
            | Self::Model(call)
            | Self::Approval(call)
            | Self::Tool(call)
            | Self::Person(call, _)
            | Self::Timer(call) => Some(call),
            Self::New | Self::ToolHeld | Self::Held | Self::Fork | Self::Ending | Self::Over => None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PendingQuestion {
    Message,
    Steps,
    Visits(StateIx),
    ToolRounds,
    ModelCalls,
    Budget(BudgetScope, BudgetUnit),
    NoSnapshot,
    Pause,
    Failed,
    Uncertain,
    /// An agent asks.
    Request,
    /// It stands at a breakpoint.
    Break(BreakSite),
}

/// What a lane that stands does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BreakSite {
    /// It enters the state of its `next_state`.
    State,
    Model,
    Tool,
}

/// Whose budget it is: the whole run's, that of the state in which a frame of a lane is, or an agent's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BudgetScope {
    Run,
    /// By the position of its purse.
    Agent(usize),
    State {
        branch_id: u64,
        frame_id: usize,
    },
}

/// What follows a script or a timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BranchContinuation {
    /// The state's work; after a timer, another attempt at it.
    #[default]
    Work,
    /// After the `before` of a `catch`, by its position.
    Catch(usize),
    /// After a `wait`.
    Done,
    /// After the time of a `pause` that nobody is there to answer.
    Unanswered,
}

/// How a branch or item ended: with its output, or not.
pub type BranchResult = Result<Option<Value>, Box<RunError>>;

#[derive(Clone, Debug)]
pub struct Branch {
    pub id: u64,
    /// The lane that forked, and the position among its branches or items. `None` is the root.
    pub parent: Option<(u64, usize)>,
    /// The lane of the task that a sub-agent is to do, this one or one around it.
    pub task_branch: Option<u64>,
    pub frames: Vec<CallFrame>,
    pub phase: WaitState,
    pub continuation: BranchContinuation,
    /// What the model call under way may use.
    pub reserved_usage: CallEstimate,
    /// What the call that is to be made next can use, as far as that was looked at.
    pub next_call_bound: Option<CallUsageBound>,
    /// Set to enter a state; consumed by the dispatch loop, so that long chains of states need no stack.
    pub next_state: Option<StateIx>,
    /// It has stood at the breakpoint that comes next.
    pub breakpoint_passed: bool,
    pub fork: Option<ParallelProgress>,
    /// Frames below this lane's own, over all its ancestors.
    pub depth: usize,
    /// States visited by this lane, and how many are granted on top of the limit.
    pub steps: u32,
    pub extra_steps: u32,
    /// Set when it is over; consumed by the dispatch loop, which takes it to the parent.
    pub result: Option<BranchResult>,
    /// What the person was asked, and since when it is waited for.
    pub question: Option<UserQuestion>,
    pub waiting_since: Timestamp,
    /// Somebody was there to see it.
    pub was_shown: bool,
}

impl Branch {
    pub fn root() -> Self {
        Self::new(0, None, 0)
    }

    pub fn new(id: u64, parent: Option<(u64, usize)>, depth: usize) -> Self {
        Self {
            id,
            parent,
            task_branch: None,
            frames: Vec::new(),
            phase: WaitState::New,
            continuation: BranchContinuation::Work,
            reserved_usage: CallEstimate::default(),
            next_call_bound: None,
            next_state: None,
            breakpoint_passed: false,
            fork: None,
            depth,
            steps: 0,
            extra_steps: 0,
            result: None,
            question: None,
            waiting_since: Timestamp(0),
            was_shown: false,
        }
    }

    /// The effect whose answer moves this lane on.
    pub fn pending_call(&self) -> Option<CallId> {
        self.phase.pending_call()
    }

    /// Timers that run beside the work.
    pub fn timers(&self) -> impl Iterator<Item = CallId> {
        self.frames.iter().flat_map(CallFrame::timers)
    }

    /// Whether an answer to this call is for this lane.
    pub fn awaits_call(&self, call: CallId) -> bool {
        self.pending_call() == Some(call) || self.timers().any(|timer| timer == call)
    }
}
