//! Which handler runs next for the current branch. A handler returns it, and `Machine::advance` runs that one, until the
//! branch waits.
//!
//! So a handler need not call one that could call it back, and long chains of states need no stack. A test
//! (`tests/it/architecture/call_circles.rs`) fails when more than three files of one type call each other in a circle.

use serde_json::Value;

use super::{CallId, PendingQuestion};
use crate::input::UserAnswer;
use synthdev_domain::ids::StateIx;
use synthdev_domain::message::ToolCall;
use synthdev_domain::run_error::RunError;
use synthdev_domain::script::TriedGuard;
use synthdev_domain::tool::{ToolInvocation, ToolOutcome, ToolRisk};

/// What a handler leaves to the next one.
#[derive(Debug)]
#[must_use]
pub(super) enum NextHandler {
    /// The branch waits as its wait state says, has a state to enter, or is over.
    Wait,
    /// The current state's script, else its work.
    BeginState,
    /// The current state's work, after its script.
    DoWork,
    CallModel,
    /// The next call of the reply, or the end of the round.
    ContinueRound,
    RunTool(Box<ToolInvocation>, ToolRisk),
    /// The tool that the branch was kept from.
    RunWaitingTool,
    FinishTool(CallId, Box<ToolOutcome>),
    /// The action of the current state: run it, ask, or deny it.
    PermitAction,
    ActionDenied(String),
    ActionDone(Box<ToolOutcome>),
    /// The agent's turn ends with this text, these calls and this decision.
    EndTurn(Box<TurnEnd>),
    /// Work without an agent is done: whether it succeeded, and its result.
    WorkDone(bool, Value),
    StoreResult(Value),
    ChooseTransition,
    Follow {
        guard: usize,
        target: StateIx,
        tried: Vec<TriedGuard>,
    },
    JoinBranches,
    /// The innermost workflow ends with this output.
    FinishFrame(Option<Value>),
    /// An answer is known without asking the user.
    Answer(CallId, UserAnswer),
    ReachLimit(Box<LimitReached>),
    /// The current state fails.
    Fail(Box<RunError>),
}

/// How an agent's turn ended.
#[derive(Debug)]
pub(super) struct TurnEnd {
    pub(super) text: String,
    pub(super) calls: Vec<ToolCall>,
    pub(super) decision: Vec<ToolCall>,
}

/// A limit or budget that was reached.
#[derive(Debug)]
pub(super) struct LimitReached {
    /// What the user is asked unless the workflow handles it.
    pub(super) question: PendingQuestion,
    /// The key in the workflow.
    pub(super) limit: String,
    pub(super) value: u32,
    /// What has happened, for the user.
    pub(super) text: String,
}

impl NextHandler {
    pub(super) fn fail(failure: RunError) -> Self {
        Self::Fail(Box::new(failure))
    }

    pub(super) fn run_tool(invocation: ToolInvocation, risk: ToolRisk) -> Self {
        Self::RunTool(Box::new(invocation), risk)
    }

    pub(super) fn finish_tool(call: CallId, outcome: ToolOutcome) -> Self {
        Self::FinishTool(call, Box::new(outcome))
    }

    pub(super) fn action_denied(reason: &str) -> Self {
        Self::ActionDenied(reason.to_owned())
    }

    pub(super) fn action_done(outcome: ToolOutcome) -> Self {
        Self::ActionDone(Box::new(outcome))
    }

    pub(super) fn follow(guard: usize, target: StateIx, tried: Vec<TriedGuard>) -> Self {
        Self::Follow { guard, target, tried }
    }

    pub(super) fn end_turn(text: String, calls: Vec<ToolCall>, decision: Vec<ToolCall>) -> Self {
        Self::EndTurn(Box::new(TurnEnd { text, calls, decision }))
    }

    pub(super) fn limit(question: PendingQuestion, limit: &str, value: u32, text: String) -> Self {
        Self::ReachLimit(Box::new(LimitReached { question, limit: limit.to_owned(), value, text }))
    }
}
