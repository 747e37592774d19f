//! Limits of visits and calls: reaching one goes to `on_limit`, else to a `catch` that names it, else asks, else
//! pauses. Where nobody can be asked, a branch or item fails alone if that is tolerated.

use super::{Branch, CallFrame, Machine, PendingQuestion, WaitState};
use crate::branch::BudgetScope;
use crate::conversation::LiveConversation;
use crate::effect::UserQuestion;
use synthdev_domain::ids::StateIx;
use synthdev_domain::run_error::RunError;
use synthdev_domain::workflow::{AgentFunction, StateBody, StateSpec, Workflow};

/// Events of one input: a circle of states that do nothing must not fill the memory, whatever `max_steps` says.
const RESTLESS: usize = 300_000;

/// Where a reached limit leads, without a person.
#[derive(Clone, Copy, Debug)]
enum LimitExit {
    OnLimit(StateIx),
    Catch(usize),
    /// The branch or item fails alone: the state that forked tolerates it.
    Fail,
}

impl Machine {
    pub(super) fn within_limits(&mut self, target: StateIx, state: &StateSpec) -> bool {
        let root = self.spec.program.workflows.first().map(|root| root.limits).unwrap_or_default();
        let most = root.max_steps.saturating_add(self.lane.granted_steps);
        if self.lane.steps >= most {
            self.reached(
                PendingQuestion::Steps,
                "max_steps",
                most,
                format!("the run has visited {most} states"),
            );
            return false;
        }
        if self.out.events.len() >= RESTLESS {
            let steps = self.lane.steps;
            let text =
                format!("the run has visited {steps} states, the last ones without any work in between");
            self.reached(PendingQuestion::Steps, "max_steps", steps, text);
            return false;
        }
        let Some((frame, workflow)) = self.frame().zip(self.workflow()) else { return false };
        let at = target.0;
        let visits = frame.visits.get(at).copied().unwrap_or(0);
        let visits = visits.saturating_sub(u32::from(may_continue(frame, &workflow, state)));
        let granted = frame.granted.get(at).copied().unwrap_or(0);
        let most = state.max_visits.unwrap_or(workflow.limits.max_visits).saturating_add(granted);
        if visits >= most && !state.terminal {
            let text = format!("state `{}` has been visited {most} times", frame.path_name(state));
            self.reached(PendingQuestion::Visits(target), "max_visits", most, text);
            return false;
        }
        true
    }

    /// A limit was reached: what the workflow says, else a person, else the run pauses.
    pub(super) fn reached(&mut self, asked: PendingQuestion, limit: &str, value: u32, text: String) {
        if !self.is_chat() {
            let failure = self.located(limit_failure(limit, &text));
            if self.take_exit(asked, limit, failure) {
                return;
            }
        }
        if self.is_chat() && !self.present {
            // A conversation outlives its answers: this one ends here, with what its tools have done.
            self.drop_visit();
            self.warn("limit", format!("The limit {limit} was reached: {text}"));
            return self.ask_person(PendingQuestion::Message, UserQuestion::Message);
        }
        // with nobody there the run is parked: what was done stays
        self.ask_person(asked, UserQuestion::Limit { limit: limit.to_owned(), value, text });
    }

    /// Follows `on_limit` or a `catch`; the innermost counts. A state's budget concerns that state and what lies
    /// around it, not what it has started.
    fn take_exit(&mut self, asked: PendingQuestion, limit: &str, failure: RunError) -> bool {
        let (id, from) = match asked {
            PendingQuestion::Budget(BudgetScope::State { lane, frame }, _) => (lane, frame),
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
            | PendingQuestion::Break(_) => (self.lane.id, self.lane.frames.len().saturating_sub(1)),
        };
        let Some((lane, at, exit)) = self.find_exit(id, from, (asked, limit), &failure.code) else {
            return false;
        };
        // what this lane waited for has just been answered
        self.lane.phase = WaitState::New;
        if !self.switch(lane) {
            return false;
        }
        self.unwind_to(at);
        self.drop_visit();
        if !(self.counts_all() && matches!(exit, LimitExit::Fail)) {
            self.raise(asked, limit);
        }
        if let Some(frame) = self.frame_mut() {
            frame.passed.insert(passing(asked, limit, frame.state));
        }
        match exit {
            LimitExit::Catch(rule) => self.catch(rule, failure),
            LimitExit::OnLimit(target) => {
                let Some((_, state)) = self.current_state() else { return false };
                let name = self.name_of(target);
                self.emit_caught(failure, "on_limit", Some(name));
                self.follow(state.transitions.len(), target, Vec::new());
            }
            LimitExit::Fail => self.end_failed(failure),
        }
        true
    }

    fn find_exit(
        &self,
        mut id: u64,
        mut from: usize,
        limit: (PendingQuestion, &str),
        code: &str,
    ) -> Option<(u64, usize, LimitExit)> {
        loop {
            let lane = self.lane_of(id)?;
            let found = (0..=from).rev().find_map(|at| Some((at, self.exit_of(lane, at, limit, code)?)));
            if let Some((at, exit)) = found {
                return Some((id, at, exit));
            }
            if !self.present && is_local(limit.0) && self.tolerates_another(lane) {
                return Some((id, 0, LimitExit::Fail));
            }
            id = lane.parent?.0;
            from = self.lane_of(id)?.frames.len().checked_sub(1)?;
        }
    }

    fn exit_of(
        &self,
        lane: &Branch,
        at: usize,
        (asked, limit): (PendingQuestion, &str),
        code: &str,
    ) -> Option<LimitExit> {
        let unused = |frame: &&CallFrame| !frame.passed.contains(&passing(asked, limit, frame.state));
        let frame = lane.frames.get(at).filter(unused)?;
        let workflow = self.spec.program.workflows.get(frame.workflow.0)?;
        let state = workflow.state(frame.state)?;
        // a branch cannot leave for a state of the whole workflow; the state that forked can
        let branch = at == 0 && lane.parent.is_some();
        let target = state.on_limit.or(workflow.on_limit.filter(|_| !branch));
        let catch = || {
            let rule = state.recovery.catch.iter().position(|rule| rule.applies(code));
            rule.filter(|_| !frame.stay.caught).map(LimitExit::Catch)
        };
        target.map(LimitExit::OnLimit).or_else(catch)
    }

    /// So that what follows the limit can run: a tenth more, at least ten. Once for each workflow that is led on: its
    /// items and its calls by others share it.
    fn raise(&mut self, asked: PendingQuestion, limit: &str) {
        let Some(root) = self.spec.program.workflows.first().cloned() else { return };
        let tenth = |limit: u32| (limit / 10).max(10);
        match asked {
            PendingQuestion::Steps if self.moves(limit, self.lane.id) => {
                let more = tenth(root.limits.max_steps);
                self.lane.granted_steps = self.lane.granted_steps.saturating_add(more);
            }
            PendingQuestion::ModelCalls if self.moves(limit, 0) => {
                let more = tenth(root.limits.max_model_calls.unwrap_or(0));
                self.granted_calls = self.granted_calls.saturating_add(more);
            }
            PendingQuestion::Budget(BudgetScope::Run, kind) if self.moves(limit, 0) => {
                self.grant_tenth(BudgetScope::Run, kind)
            }
            PendingQuestion::Budget(scope @ BudgetScope::Agent(at), kind)
                if self.moves(limit, 1 + at as u64) =>
            {
                self.grant_tenth(scope, kind);
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

    /// Whether an end is moved now: the first time for the workflow that is led on. Runs of before moved it each time.
    fn moves(&mut self, limit: &str, whose: u64) -> bool {
        let by = self.workflow().map(|workflow| workflow.name.clone()).unwrap_or_default();
        self.moved.insert(format!("{limit} {whose} by {by}")) || !self.counts_all()
    }

    pub(super) fn lane_of(&self, id: u64) -> Option<&Branch> {
        if self.lane.id == id { Some(&self.lane) } else { self.lanes.get(&id) }
    }
}

/// Reached by one branch or item, while the others can go on.
fn is_local(asked: PendingQuestion) -> bool {
    !matches!(asked, PendingQuestion::ModelCalls | PendingQuestion::Budget(BudgetScope::Run, _))
}

/// Under which name a way out is remembered as taken: limits of the whole run once for all states of a frame, any
/// other once for each state.
fn passing(asked: PendingQuestion, limit: &str, state: StateIx) -> String {
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
        return RunError::new("budget_exceeded", format!("The {limit} is reached"), text).hint(format!(
            "raise \"budget\": {{\"{kind}\": …}}, or say what follows with \"on_limit\"; what was done is kept"
        ));
    }
    RunError::new("limit", format!("The limit {limit} was reached"), text).hint(match limit {
        "max_tool_rounds" => {
            "raise \"max_tool_rounds\" of the agent, or look at why it needs so many tools".to_owned()
        }
        _ => format!("raise \"limits\": {{\"{limit}\": …}} in the workflow, or look at why it loops"),
    })
}

/// Going on after executed tools is no new visit. Whether the input is the same is known only later, so a
/// limit may be passed by one.
fn may_continue(frame: &CallFrame, workflow: &Workflow, state: &StateSpec) -> bool {
    let StateBody::Agent { agent, function: AgentFunction::SendUserMessage, .. } = &state.work else {
        return false;
    };
    let earlier = frame.agents.get(agent.0).and_then(|memory| memory.continuation.as_ref());
    let length = workflow
        .agent(*agent)
        .and_then(|spec| frame.threads.get(spec.context.0))
        .map(LiveConversation::length);
    earlier.is_some_and(|earlier| Some(earlier.context_length) == length)
}
