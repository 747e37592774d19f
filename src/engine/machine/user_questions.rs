//! Questions to the user, their answers, and cancelling.

use super::run_phase::RunPhase;
use super::{Branch, CallId, Machine, NextHandler, PendingQuestion, RunEvent, WaitState};
use crate::answer_validation;
use crate::effect::UserQuestion;
use crate::input::UserAnswer;
use synthdev_domain::agent_team::SpawnedAgentStatus;
use synthdev_domain::ids::StateIx;
use synthdev_domain::journal::RunStatus;
use synthdev_domain::run_error::RunError;
use synthdev_domain::workflow::StateBody;

impl Machine {
    pub(super) fn on_answered(&mut self, call: CallId, answer: UserAnswer) -> NextHandler {
        let WaitState::Person(asked_call, asked) = self.core.branches.current.wait_state else {
            return NextHandler::Wait;
        };
        if asked_call != call {
            return NextHandler::Wait;
        }
        self.core.emit_event(RunEvent::PersonAnswered {
            call,
            question: self.core.branches.current.question.clone().map(Box::new),
            answer: Some(Box::new(answer.clone())),
        });
        self.core.branches.current.was_shown = false;
        if answer == UserAnswer::Stop {
            return self.on_stopped(asked);
        }
        match asked {
            PendingQuestion::Message => match answer {
                UserAnswer::Text { text } if !text.trim().is_empty() => self.on_message(text),
                UserAnswer::Text { .. }
                | UserAnswer::Value { .. }
                | UserAnswer::Continue
                | UserAnswer::Stop
                | UserAnswer::Unfit { .. } => {
                    self.core.ask_user(PendingQuestion::Message, UserQuestion::Message)
                }
            },
            PendingQuestion::Pause => self.on_pause_answered(answer),
            PendingQuestion::Failed => self.retry_failed_state(),
            PendingQuestion::Uncertain => self.on_certain(answer),
            PendingQuestion::Request => self.on_request_answered(call, answer),
            PendingQuestion::Break(place) => {
                self.core.branches.current.wait_state = WaitState::Person(call, asked);
                self.continue_with_guidance(place, answer);
                let next = self.continue_from_breakpoint();
                let still = self.core.branches.all().any(Branch::is_at_breakpoint);
                self.breakpoints.stops_before_next_state = still;
                next
            }
            PendingQuestion::Steps => self.grant_steps(),
            PendingQuestion::Visits(target) => self.grant_visits(target),
            PendingQuestion::ToolRounds => self.grant_rounds(),
            PendingQuestion::ModelCalls => self.grant_calls(),
            PendingQuestion::Budget(scope, kind) => {
                match answer_validation::requested_increase(&answer) {
                    Some(more) => {
                        self.budgets.grant_more(&mut self.core, &mut self.checkpoints, scope, kind, more)
                    }
                    None => {
                        self.budgets.grant_same_amount(&mut self.core, &mut self.checkpoints, scope, kind)
                    }
                }
                self.continue_after_budget()
            }
            PendingQuestion::NoSnapshot => {
                self.snapshots.progress = super::snapshot_gate::SnapshotProgress::None;
                NextHandler::RunWaitingTool
            }
        }
    }

    /// The run is suspended: the question stays open, and its results stay.
    fn on_stopped(&mut self, asked: PendingQuestion) -> NextHandler {
        match asked {
            PendingQuestion::Message => self.finish_run(RunStatus::Completed, None),
            PendingQuestion::NoSnapshot => self.abort_run(RunError::new(
                "snapshot",
                "No snapshot could be taken",
                "you chose not to go on without one",
            )),
            PendingQuestion::Steps
            | PendingQuestion::Visits(_)
            | PendingQuestion::ToolRounds
            | PendingQuestion::ModelCalls
            | PendingQuestion::Budget(..)
            | PendingQuestion::Pause
            | PendingQuestion::Failed
            | PendingQuestion::Uncertain
            | PendingQuestion::Request
            | PendingQuestion::Break(_) => self.suspend_for_user(),
        }
    }

    /// The question about a budget comes before a model call, or before a state is entered.
    fn continue_after_budget(&mut self) -> NextHandler {
        match self.core.frame() {
            Some(frame) if frame.agent_turn.is_none() => self.enter_after_all(frame.state),
            _ => NextHandler::CallModel,
        }
    }

    fn on_message(&mut self, text: String) -> NextHandler {
        self.title_from_message(&text);
        let Some((_, state)) = self.core.current_state() else { return NextHandler::Wait };
        let StateBody::Agent { agent, function, .. } = state.work else { return NextHandler::Wait };
        self.begin_agent_turn(agent, function, Some(text))
    }

    fn grant_steps(&mut self) -> NextHandler {
        let more = self.core.spec.program.workflows.first().map_or(0, |root| root.limits.max_steps);
        self.core.branches.current.extra_steps = self.core.branches.current.extra_steps.saturating_add(more);
        let Some(state) = self.core.frame().map(|frame| frame.state) else { return NextHandler::Wait };
        self.enter_after_all(state)
    }

    /// The limit is raised; the branch that reached it enters the state without another check.
    fn enter_after_all(&mut self, state: StateIx) -> NextHandler {
        (self.core.branches.current.next_state, self.core.branches.current.breakpoint_passed) =
            (Some(state), true);
        NextHandler::Wait
    }

    fn grant_visits(&mut self, target: StateIx) -> NextHandler {
        let own = self.core.workflow().and_then(|workflow| workflow.state(target)?.max_visits);
        let more = own.or_else(|| Some(self.core.workflow()?.limits.max_visits)).unwrap_or(0).max(1);
        if let Some(granted) = self.core.frame_mut().and_then(|frame| frame.extra_visits.get_mut(target.0)) {
            *granted = granted.saturating_add(more);
        }
        self.enter_after_all(target)
    }

    fn grant_calls(&mut self) -> NextHandler {
        let most = self.core.spec.program.workflows.first().and_then(|root| root.limits.max_model_calls);
        let most = most.unwrap_or(0);
        // another branch that asked the same may have been answered already
        if self.budgets.model_calls >= most.saturating_add(self.budgets.extra_model_calls) {
            self.budgets.extra_model_calls = self.budgets.extra_model_calls.saturating_add(most.max(1));
        }
        NextHandler::CallModel
    }

    fn grant_rounds(&mut self) -> NextHandler {
        let Some(workflow) = self.core.workflow() else { return NextHandler::Wait };
        let Some(turn) = self.core.frame_mut().and_then(|frame| frame.agent_turn.as_mut()) else {
            return NextHandler::Wait;
        };
        let more = workflow.agent(turn.agent).map_or(1, |agent| agent.max_tool_rounds.max(1));
        turn.allowed = turn.allowed.saturating_add(more);
        NextHandler::ContinueRound
    }

    /// Esc: a chat waits again, any other run ends. Open calls are closed with an answer, partial text stays, marked.
    pub(super) fn on_cancelled(&mut self, partial: Vec<(CallId, String)>, end: bool) -> NextHandler {
        self.core.phase = RunPhase::Driven;
        if self.core.branches.current.wait_state == WaitState::Ending {
            // The work is done; only a snapshot was still on its way.
            return self.emit_run_finished();
        }
        let chat = self.core.spec.program.workflows.first().is_some_and(|root| root.conversational);
        if chat
            && !end
            && matches!(self.core.branches.current.wait_state, WaitState::Person(_, PendingQuestion::Message))
        {
            self.stop_agents(self.team.running(), SpawnedAgentStatus::Cancelled);
            return NextHandler::Wait;
        }
        self.store_partial_replies(partial);
        self.stop_all();
        self.drop_visit();
        if chat && !end {
            return self.core.ask_user(PendingQuestion::Message, UserQuestion::Message);
        }
        let idle_chat = chat && end;
        self.finish_run(if idle_chat { RunStatus::Completed } else { RunStatus::Cancelled }, None)
    }
}
