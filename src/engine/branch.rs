//! One thread of control: the root of a run, or one branch or item of a fork. Each waits for one thing at a time.

use super::budget_usage::{BudgetUnit, CallEstimate, CallUsageBound};
use super::call_frame::CallFrame;
use super::effect::UserQuestion;
use super::parallel::ParallelProgress;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use synthdev_domain::ids::{CallId, StateIx, Timestamp};
use synthdev_domain::run_error::RunError;
use synthdev_domain::workflow::Budget;

/// What a branch waits for. Exactly one thing, besides timers and a snapshot in progress.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum WaitState {
    New,
    /// `action.script`, or the `before` of a `catch`.
    Script(CallId),
    /// `input`, `sub_workflow_input`, or the output of a terminal state.
    Values(CallId),
    /// Guards and the chosen `before`.
    Choice(CallId),
    Model(CallId),
    /// A tool call is checked, before the user is asked about it.
    ToolCheck(CallId),
    Approval(CallId),
    Tool(CallId),
    Person(CallId, PendingQuestion),
    /// A tool call is held: until the snapshot is taken, or while nothing new may begin.
    ToolHeld,
    /// A model call is held: by a budget, while nothing new may begin, or until the branch runs again after a breakpoint.
    Held,
    /// Branches or items run.
    Fork,
    /// Agents that the agent of this branch has started.
    Agents(AwaitedAgents),
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
            | Self::ToolCheck(call)
            | Self::Approval(call)
            | Self::Tool(call)
            | Self::Person(call, _)
            | Self::Timer(call) => Some(call),
            Self::New
            | Self::ToolHeld
            | Self::Held
            | Self::Fork
            | Self::Agents(_)
            | Self::Ending
            | Self::Over => None,
        }
    }
}

/// What goes on when the agents have ended that a branch waits for, by their numbers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum AwaitedAgents {
    /// A tool call, with their reports as its result.
    Call(CallId, Vec<u64>),
    /// The turn, which would have ended otherwise.
    TurnEnd,
}

/// The agent that another agent started, and that runs in this branch.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SpawnedBranch {
    pub number: u64,
    /// Unique in the run.
    pub name: String,
    /// What the agent that started it lets it use.
    #[serde(default, skip_serializing_if = "Budget::is_unbounded")]
    pub budget: Budget,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
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
    /// Stopped at a breakpoint.
    Break(BreakSite),
}

/// What a stopped branch does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum BreakSite {
    /// It enters the state of its `next_state`.
    State,
    Model,
    Tool,
}

/// Whose budget it is: that of the whole run, of the state that a frame of a branch is in, or of an agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum BudgetScope {
    Run,
    /// By its position among the agents' budget usages.
    Agent(usize),
    State {
        branch_id: u64,
        frame_id: usize,
    },
}

/// What follows a script or a timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum BranchContinuation {
    /// The state's work; after a timer, another attempt at it.
    #[default]
    Work,
    /// After the `before` of a `catch`, by its position.
    Catch(usize),
    /// After a `wait`.
    Done,
    /// After the time of a `pause` that has no user to answer it.
    Unanswered,
}

/// How a branch or item ended: with its output, or not.
pub type BranchResult = Result<Option<Value>, Box<RunError>>;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Branch {
    pub id: u64,
    /// The parent branch, and the position among its branches or items. `None` is the root.
    pub parent: Option<(u64, usize)>,
    /// The branch of the sub-agent's task, this one or an ancestor.
    pub task_branch: Option<u64>,
    /// An agent started it, not a state.
    #[serde(default)]
    pub spawned: Option<SpawnedBranch>,
    pub frames: Vec<CallFrame>,
    /// Stored as `phase`. The phase of the whole run is `RunPhase`.
    #[serde(rename = "phase")]
    pub wait_state: WaitState,
    pub continuation: BranchContinuation,
    /// What the model call under way may use.
    pub reserved_usage: CallEstimate,
    /// What the call that is to be made next can use, as far as that was looked at.
    pub next_call_bound: Option<CallUsageBound>,
    /// Set to enter a state; consumed by `run_ready_branches`, so that long chains of states need no stack.
    pub next_state: Option<StateIx>,
    /// The next check for a breakpoint is skipped, once.
    pub breakpoint_passed: bool,
    pub fork: Option<ParallelProgress>,
    /// Frames below this branch's own, over all its ancestors.
    pub depth: usize,
    /// States visited by this branch, and the steps that are granted on top of the limit.
    pub steps: u32,
    pub extra_steps: u32,
    /// Set when it is over; consumed by `run_ready_branches`, which takes it to the parent.
    pub result: Option<BranchResult>,
    /// The open question to the user, and since when the branch waits for the answer.
    pub question: Option<UserQuestion>,
    pub waiting_since: Timestamp,
    /// A user was present and saw the question.
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
            spawned: None,
            frames: Vec::new(),
            wait_state: WaitState::New,
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

    /// The number of the step that is under way, or was last; 0: before the first one.
    pub fn last_step(&self) -> u32 {
        self.frames.iter().rev().map(|frame| frame.step).find(|step| *step > 0).unwrap_or(0)
    }

    /// The effect whose answer continues this branch.
    pub fn pending_call(&self) -> Option<CallId> {
        self.wait_state.pending_call()
    }

    pub fn is_at_breakpoint(&self) -> bool {
        matches!(self.wait_state, WaitState::Person(_, PendingQuestion::Break(_)))
    }

    /// Timers that run beside the work.
    pub fn timers(&self) -> impl Iterator<Item = CallId> {
        self.frames.iter().flat_map(CallFrame::timers)
    }

    /// Whether the answer to this call is for this branch.
    pub fn awaits_call(&self, call: CallId) -> bool {
        self.pending_call() == Some(call)
            || self.timers().chain(self.concurrent_calls()).any(|awaited| awaited == call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_branch_keeps_the_names_of_its_fields() {
        let stored = serde_json::to_value(Branch::root()).unwrap();
        assert_eq!(stored["phase"], "New");
        assert!(stored.get("wait_state").is_none());
    }
}
