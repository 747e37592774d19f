//! Questions to the person, their answers, and cancelling.

use super::{Asked, CallId, Effect, Lane, Machine, Phase, RunEvent};
use crate::domain::context::{Author, Entry};
use crate::domain::failure::Failure;
use crate::domain::ids::StateIx;
use crate::domain::journal::RunStatus;
use crate::domain::workflow::Work;
use crate::engine::answer;
use crate::engine::effect::Question;
use crate::engine::input::Answer;
use crate::engine::turn::TurnEntry;

impl Machine {
    pub(super) fn ask_person(&mut self, asked: Asked, question: Question) {
        let call = self.next_call();
        self.lane.phase = Phase::Person(call, asked);
        self.lane.question = Some(question.clone());
        self.lane.since = self.now;
        // with nobody there it is asked when somebody comes
        self.lane.shown = self.present && !self.stopping || asked == Asked::Message;
        if self.lane.shown {
            self.emit(RunEvent::PersonAsked { call, question: question.clone() });
            self.effect(Effect::AskPerson { call, question });
        }
    }

    pub(super) fn on_answered(&mut self, call: CallId, answer: Answer) {
        let Phase::Person(asked_call, asked) = self.lane.phase else { return };
        if asked_call != call {
            return;
        }
        self.emit(RunEvent::PersonAnswered { call });
        self.lane.shown = false;
        if answer == Answer::Stop {
            return self.on_stopped(asked);
        }
        match asked {
            Asked::Message => match answer {
                Answer::Text { text } if !text.trim().is_empty() => self.on_message(text),
                Answer::Text { .. }
                | Answer::Value { .. }
                | Answer::Continue
                | Answer::Stop
                | Answer::Unfit { .. } => {
                    self.ask_person(Asked::Message, Question::Message);
                }
            },
            Asked::Pause => self.on_pause_answered(answer),
            Asked::Failed => self.try_again(),
            Asked::Uncertain => self.on_certain(answer),
            Asked::Request => self.on_request_answered(call, answer),
            Asked::Break(place) => {
                self.lane.phase = Phase::Person(call, asked);
                self.guided(place, answer);
                self.leave_stand();
                let stands = |lane: &Lane| matches!(lane.phase, Phase::Person(_, Asked::Break(_)));
                let still = self.every_lane().any(stands);
                self.hold = still;
            }
            Asked::Steps => self.grant_steps(),
            Asked::Visits(target) => self.grant_visits(target),
            Asked::ToolRounds => self.grant_rounds(),
            Asked::ModelCalls => self.grant_calls(),
            Asked::Budget(scope, kind) => {
                match answer::more(&answer) {
                    Some(more) => self.grant_more(scope, kind, more),
                    None => self.grant_same_again(scope, kind),
                }
                self.go_on_spending();
            }
            Asked::NoSnapshot => {
                self.snapshot = super::snapshot_progress::Progress::None;
                self.run_held_tool();
            }
        }
    }

    /// The run is left where it stands: the question stays open, and nothing that was done is lost.
    fn on_stopped(&mut self, asked: Asked) {
        match asked {
            Asked::Message => self.finish(RunStatus::Completed, None),
            Asked::NoSnapshot => {
                self.give_up(Failure::new(
                    "snapshot",
                    "No snapshot could be taken",
                    "you chose not to go on without one",
                ));
            }
            Asked::Steps
            | Asked::Visits(_)
            | Asked::ToolRounds
            | Asked::ModelCalls
            | Asked::Budget(..)
            | Asked::Pause
            | Asked::Failed
            | Asked::Uncertain
            | Asked::Request
            | Asked::Break(_) => self.leave_for_now(),
        }
    }

    /// A budget is asked about before a model call, or before a state is entered.
    fn go_on_spending(&mut self) {
        match self.frame() {
            Some(frame) if frame.turn.is_none() => self.enter_after_all(frame.state),
            _ => self.call_model(),
        }
    }

    fn on_message(&mut self, text: String) {
        let Some((_, state)) = self.here() else { return };
        if let Work::Agent { agent, function, .. } = state.work {
            self.begin_agent(agent, function, Some(text));
        }
    }

    fn grant_steps(&mut self) {
        let more = self.spec.program.workflows.first().map_or(0, |root| root.limits.max_steps);
        self.lane.granted_steps = self.lane.granted_steps.saturating_add(more);
        if let Some(state) = self.frame().map(|frame| frame.state) {
            self.enter_after_all(state);
        }
    }

    /// The limit at its door is moved; whoever stood before it does not stand there again.
    fn enter_after_all(&mut self, state: StateIx) {
        (self.lane.jump, self.lane.passed) = (Some(state), true);
    }

    fn grant_visits(&mut self, target: StateIx) {
        let own = self.workflow().and_then(|workflow| workflow.state(target)?.max_visits);
        let more = own.or_else(|| Some(self.workflow()?.limits.max_visits)).unwrap_or(0).max(1);
        if let Some(granted) = self.frame_mut().and_then(|frame| frame.granted.get_mut(target.0)) {
            *granted = granted.saturating_add(more);
        }
        self.enter_after_all(target);
    }

    fn grant_calls(&mut self) {
        let most = self.spec.program.workflows.first().and_then(|root| root.limits.max_model_calls);
        let most = most.unwrap_or(0);
        // another branch that asked the same may have been answered already
        if self.model_calls >= most.saturating_add(self.granted_calls) {
            self.granted_calls = self.granted_calls.saturating_add(most.max(1));
        }
        self.call_model();
    }

    fn grant_rounds(&mut self) {
        let Some(workflow) = self.workflow() else { return };
        let Some(turn) = self.frame_mut().and_then(|frame| frame.turn.as_mut()) else { return };
        let more = workflow.agent(turn.agent).map_or(1, |agent| agent.max_tool_rounds.max(1));
        turn.allowed = turn.allowed.saturating_add(more);
        self.next_tool();
    }

    /// Esc: a chat goes back to waiting, anything else ends. Open calls are closed with an answer, partial
    /// text stays, marked.
    pub(super) fn on_cancelled(&mut self, partial: Vec<(CallId, String)>, end: bool) {
        (self.parked, self.halted) = (false, false);
        if self.lane.phase == Phase::Ending {
            // The work is done; only a snapshot was still on its way.
            return self.end();
        }
        let chat = self.spec.program.workflows.first().is_some_and(|root| root.conversational);
        if chat && !end && matches!(self.lane.phase, Phase::Person(_, Asked::Message)) {
            return;
        }
        self.keep_partial(partial);
        self.stop_all();
        self.drop_visit();
        if chat && !end {
            return self.ask_person(Asked::Message, Question::Message);
        }
        let idle_chat = chat && end;
        self.finish(if idle_chat { RunStatus::Completed } else { RunStatus::Cancelled }, None);
    }

    pub(super) fn keep_partial(&mut self, partial: Vec<(CallId, String)>) {
        // What had streamed of a summary is nobody's word.
        let pending = self.lane.pending().filter(|_| self.summing().is_none());
        let text = partial.into_iter().find(|(call, _)| Some(*call) == pending).map(|(_, text)| text);
        let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return };
        let Some(turn) = self.frame_mut().and_then(|frame| frame.turn.as_mut()) else { return };
        let author = Author::Agent(turn.agent_id.clone());
        let mut entry = Entry::text(author, turn.side.canonical(), text);
        entry.interrupted = true;
        turn.entries.push(TurnEntry { entry, private: false });
    }
}
