//! Limits of visits and calls: reaching one follows `on_limit`, else a `catch` that names it, else asks the user, else
//! pauses. Without a user, a branch or item fails alone if that is tolerated.

use super::next_handler::LimitReached;
use super::{Branch, CallFrame, Machine, NextHandler, PendingQuestion, WaitState};
use crate::branch::BudgetScope;
use crate::conversation::LiveConversation;
use crate::effect::UserQuestion;
use synthdev_domain::ids::StateIx;
use synthdev_domain::run_error::RunError;
use synthdev_domain::workflow::{AgentFunction, StateBody, StateSpec, Workflow};

/// Most events of one input: a loop of states that do nothing must not fill the memory, whatever `max_steps` is.
const RESTLESS: usize = 300_000;

/// Where a reached limit leads without a user.
#[derive(Clone, Copy, Debug)]
enum LimitExit {
    OnLimit(StateIx),
    Catch(usize),
    /// The branch or item fails alone: the state that forked tolerates it.
    Fail,
}

impl Machine {
    /// `Err`: a limit is reached, and what follows.
    pub(super) fn check_limits(&self, target: StateIx, state: &StateSpec) -> Result<(), NextHandler> {
        let root = self.core.spec.program.workflows.first().map(|root| root.limits).unwrap_or_default();
        let most = root.max_steps.saturating_add(self.core.branches.current.extra_steps);
        if self.core.branches.current.steps >= most {
            let text = format!("the run has visited {most} states");
            return Err(NextHandler::limit(PendingQuestion::Steps, "max_steps", most, text));
        }
        if self.core.output.events.len() >= RESTLESS {
            let steps = self.core.branches.current.steps;
            let text =
                format!("the run has visited {steps} states, the last ones without any work in between");
            return Err(NextHandler::limit(PendingQuestion::Steps, "max_steps", steps, text));
        }
        let Some((frame, workflow)) = self.core.frame().zip(self.core.workflow()) else {
            return Err(NextHandler::Wait);
        };
        let at = target.0;
        let visits = frame.visits.get(at).copied().unwrap_or(0);
        let visits = visits.saturating_sub(u32::from(may_continue(frame, &workflow, state)));
        let granted = frame.extra_visits.get(at).copied().unwrap_or(0);
        let most = state.max_visits.unwrap_or(workflow.limits.max_visits).saturating_add(granted);
        if visits >= most && !state.terminal {
            let text = format!("state `{}` has been visited {most} times", frame.path_name(state));
            return Err(NextHandler::limit(PendingQuestion::Visits(target), "max_visits", most, text));
        }
        Ok(())
    }

    /// A limit was reached: the workflow handles it, else the user, else the run pauses.
    pub(super) fn on_limit_reached(&mut self, reached: LimitReached) -> NextHandler {
        let LimitReached { question, limit, value, text } = reached;
        if self.core.branches.current.spawned.is_some() {
            // the agent that started this one decides how it goes on
            return NextHandler::fail(limit_failure(&limit, &text));
        }
        if !self.core.is_chat() {
            let failure = self.core.with_location(limit_failure(&limit, &text));
            if let Some(next) = self.take_exit(question, &limit, failure) {
                return next;
            }
        }
        if self.core.is_chat() && !self.core.user_present {
            // A conversation outlives its answers: this answer ends, with the results of its tools.
            self.drop_visit();
            self.core.emit_warning("limit", format!("The limit {limit} was reached: {text}"));
            return self.core.ask_user(PendingQuestion::Message, UserQuestion::Message);
        }
        // without a user the run is suspended: its results stay
        self.core.ask_user(question, UserQuestion::Limit { limit, value, text })
    }

    /// Follows `on_limit` or a `catch`; the innermost counts. A state's budget concerns that state and what encloses
    /// it, not what it has started.
    fn take_exit(&mut self, asked: PendingQuestion, limit: &str, failure: RunError) -> Option<NextHandler> {
        let (id, from) = match asked {
            PendingQuestion::Budget(BudgetScope::State { branch_id: branch, frame_id: frame }, _) => {
                (branch, frame)
            }
            PendingQuestion::Budget(BudgetScope::Run | BudgetScope::Agent(_), _)
            | PendingQuestion::Message
            | PendingQuestion::Steps
            | PendingQuestion::Visits(_)
            | PendingQuestion::ToolRounds
            | PendingQuestion::ModelCalls
            | PendingQuestion::NoSnapshot
            | PendingQuestion::Pause
            | PendingQuestion::Failed
            | PendingQuestion::Uncertain
            | PendingQuestion::Request
            | PendingQuestion::Break(_) => {
                (self.core.branches.current.id, self.core.branches.current.frames.len().saturating_sub(1))
            }
        };
        let (branch, at, exit) = self.find_exit(id, from, asked, limit, &failure.code)?;
        // the call that this branch waited for has just been answered
        self.core.branches.current.wait_state = WaitState::New;
        if !self.core.branches.switch_to(branch) {
            return None;
        }
        self.unwind_to(at);
        self.drop_visit();
        if !(self.core.spec.charges_every_attempt() && matches!(exit, LimitExit::Fail)) {
            self.raise_limit(asked, limit);
        }
        if let Some(frame) = self.core.frame_mut() {
            frame.taken_limit_exits.insert(limit_exit_key(asked, limit, frame.state));
        }
        Some(match exit {
            LimitExit::Catch(rule) => self.catch_error(rule, failure),
            LimitExit::OnLimit(target) => {
                let (_, state) = self.core.current_state()?;
                let name = self.core.state_path(target);
                self.core.emit_caught(failure, "on_limit", Some(name));
                NextHandler::follow(state.transitions.len(), target, Vec::new())
            }
            LimitExit::Fail => self.end_failed(failure),
        })
    }

    fn find_exit(
        &self,
        mut id: u64,
        mut from: usize,
        asked: PendingQuestion,
        limit: &str,
        code: &str,
    ) -> Option<(u64, usize, LimitExit)> {
        loop {
            let branch = self.core.branches.by_id(id)?;
            let found = (0..=from)
                .rev()
                .find_map(|at| Some((at, self.limit_exit_for(branch, at, asked, limit, code)?)));
            if let Some((at, exit)) = found {
                return Some((id, at, exit));
            }
            if !self.core.user_present && is_local(asked) && self.tolerates_another(branch) {
                return Some((id, 0, LimitExit::Fail));
            }
            id = branch.parent?.0;
            from = self.core.branches.by_id(id)?.frames.len().checked_sub(1)?;
        }
    }

    fn limit_exit_for(
        &self,
        branch: &Branch,
        at: usize,
        asked: PendingQuestion,
        limit: &str,
        code: &str,
    ) -> Option<LimitExit> {
        let unused = |frame: &&CallFrame| {
            !frame.taken_limit_exits.contains(&limit_exit_key(asked, limit, frame.state))
        };
        let frame = branch.frames.get(at).filter(unused)?;
        let workflow = self.core.spec.program.workflows.get(frame.workflow.0)?;
        let state = workflow.state(frame.state)?;
        // a branch cannot leave for a state of the whole workflow; the state that forked can
        let is_branch = at == 0 && branch.parent.is_some();
        let target = state.on_limit.or(workflow.on_limit.filter(|_| !is_branch));
        let catch = || {
            let rule = state.recovery.catch.iter().position(|rule| rule.matches_error(code));
            rule.filter(|_| !frame.visit.error_caught).map(LimitExit::Catch)
        };
        target.map(LimitExit::OnLimit).or_else(catch)
    }

    /// So that what follows the limit can run: a tenth more, at least ten. Once for each workflow that is led on: its
    /// items and its calls by others share it.
    fn raise_limit(&mut self, asked: PendingQuestion, limit: &str) {
        let Some(root) = self.core.spec.program.workflows.first().cloned() else { return };
        let tenth = |limit: u32| (limit / 10).max(10);
        match asked {
            PendingQuestion::Steps if self.counts_limit_exit(limit, self.core.branches.current.id) => {
                let more = tenth(root.limits.max_steps);
                self.core.branches.current.extra_steps =
                    self.core.branches.current.extra_steps.saturating_add(more);
            }
            PendingQuestion::ModelCalls if self.counts_limit_exit(limit, 0) => {
                let more = tenth(root.limits.max_model_calls.unwrap_or(0));
                self.budgets.extra_model_calls = self.budgets.extra_model_calls.saturating_add(more);
            }
            PendingQuestion::Budget(BudgetScope::Run, kind) if self.counts_limit_exit(limit, 0) => {
                self.budgets.grant_tenth(&mut self.core, &mut self.checkpoints, BudgetScope::Run, kind)
            }
            PendingQuestion::Budget(scope @ BudgetScope::Agent(at), kind)
                if self.counts_limit_exit(limit, 1 + at as u64) =>
            {
                self.budgets.grant_tenth(&mut self.core, &mut self.checkpoints, scope, kind);
            }
            // it was moved before, or it ends with the visit that is left
            PendingQuestion::Steps
            | PendingQuestion::ModelCalls
            | PendingQuestion::Budget(..)
            | PendingQuestion::Visits(_)
            | PendingQuestion::ToolRounds
            | PendingQuestion::Message
            | PendingQuestion::NoSnapshot
            | PendingQuestion::Pause
            | PendingQuestion::Failed
            | PendingQuestion::Uncertain
            | PendingQuestion::Request
            | PendingQuestion::Break(_) => {}
        }
    }

    /// Whether an end is moved now: the first time for the workflow that is led on. Older runs moved it each time.
    fn counts_limit_exit(&mut self, limit: &str, whose: u64) -> bool {
        let by = self.core.workflow().map(|workflow| workflow.name.clone()).unwrap_or_default();
        self.budgets.raised_limits.insert(format!("{limit} {whose} by {by}"))
            || !self.core.spec.charges_every_attempt()
    }
}

/// Reached by one branch or item, while the others can continue.
fn is_local(asked: PendingQuestion) -> bool {
    !matches!(asked, PendingQuestion::ModelCalls | PendingQuestion::Budget(BudgetScope::Run, _))
}

/// Under which name a way out is remembered as taken: limits of the whole run once for all states of a frame, any
/// other once for each state.
fn limit_exit_key(asked: PendingQuestion, limit: &str, state: StateIx) -> String {
    match asked {
        PendingQuestion::Steps
        | PendingQuestion::ModelCalls
        | PendingQuestion::Budget(BudgetScope::Run, _) => limit.to_owned(),
        PendingQuestion::Budget(BudgetScope::Agent(at), _) => format!("{limit} of agent {at} in {}", state.0),
        PendingQuestion::Budget(BudgetScope::State { .. }, _)
        | PendingQuestion::Visits(_)
        | PendingQuestion::ToolRounds
        | PendingQuestion::Message
        | PendingQuestion::NoSnapshot
        | PendingQuestion::Pause
        | PendingQuestion::Failed
        | PendingQuestion::Uncertain
        | PendingQuestion::Request
        | PendingQuestion::Break(_) => format!("{limit} of {}", state.0),
    }
}

pub(super) fn limit_failure(limit: &str, text: &str) -> RunError {
    if let Some(kind) = limit.strip_prefix("budget.") {
        return RunError::new("budget_exceeded", format!("The {limit} is reached"), text).with_hint(format!(
            "raise \"budget\": {{\"{kind}\": …}}, or say what follows with \"on_limit\"; what was done is kept"
        ));
    }
    RunError::new("limit", format!("The limit {limit} was reached"), text).with_hint(match limit {
        "max_tool_rounds" => {
            "raise \"max_tool_rounds\" of the agent, or look at why it needs so many tools".to_owned()
        }
        _ => format!("raise \"limits\": {{\"{limit}\": …}} in the workflow, or look at why it loops"),
    })
}

/// Continuing after executed tools is no new visit. Whether the input is the same is known only later, so a limit may
/// be exceeded by one.
fn may_continue(frame: &CallFrame, workflow: &Workflow, state: &StateSpec) -> bool {
    let StateBody::Agent { agent, function: AgentFunction::SendUserMessage, .. } = &state.work else {
        return false;
    };
    let earlier = frame.agents.get(agent.0).and_then(|memory| memory.continuation.as_ref());
    let length = workflow
        .agent(*agent)
        .and_then(|spec| frame.conversations.get(spec.context.0))
        .map(LiveConversation::length);
    earlier.is_some_and(|earlier| Some(earlier.context_length) == length)
}
