//! Questions to the person, their answers, and cancelling.

use super::{Asked, CallId, Effect, Machine, Phase, RunEvent};
use crate::domain::context::{Author, Entry};
use crate::domain::failure::Failure;
use crate::domain::journal::RunStatus;
use crate::domain::workflow::Work;
use crate::engine::effect::Question;
use crate::engine::input::Answer;
use crate::engine::turn::{INTERRUPTED, TurnEntry};

impl Machine {
    pub(super) fn ask_person(&mut self, asked: Asked, question: Question) {
        let call = self.next_call();
        self.lane.phase = Phase::Person(call, asked);
        self.emit(RunEvent::PersonAsked { call, question: question.clone() });
        self.effect(Effect::AskPerson { call, question });
    }

    pub(super) fn on_answered(&mut self, call: CallId, answer: Answer) {
        let Phase::Person(asked_call, asked) = self.lane.phase else { return };
        if asked_call != call {
            return;
        }
        self.emit(RunEvent::PersonAnswered { call });
        match (asked, answer) {
            (Asked::Message, Answer::Text { text }) if !text.trim().is_empty() => self.on_message(text),
            (Asked::Message, Answer::Text { .. } | Answer::Value { .. } | Answer::Continue) => {
                self.ask_person(Asked::Message, Question::Message);
            }
            (Asked::Message, Answer::Stop) => self.finish(RunStatus::Completed, None),
            (Asked::Steps, Answer::Continue | Answer::Text { .. } | Answer::Value { .. }) => {
                self.grant_steps()
            }
            (Asked::Visits(target), Answer::Continue | Answer::Text { .. } | Answer::Value { .. }) => {
                self.grant_visits(target)
            }
            (Asked::ToolRounds, Answer::Continue | Answer::Text { .. } | Answer::Value { .. }) => {
                self.grant_rounds()
            }
            (Asked::NoSnapshot, Answer::Continue | Answer::Text { .. } | Answer::Value { .. }) => {
                self.snapshot = super::snapshot_progress::Progress::None;
                self.run_held_tool();
            }
            (Asked::Steps, Answer::Stop) => self.pause_at_limit("max_steps", "stopped by you"),
            (Asked::Visits(_), Answer::Stop) => self.pause_at_limit("max_visits", "stopped by you"),
            (Asked::ToolRounds, Answer::Stop) => self.pause_at_limit("max_tool_rounds", "stopped by you"),
            (Asked::NoSnapshot, Answer::Stop) => {
                self.fail(Failure::new(
                    "snapshot",
                    "No snapshot could be taken",
                    "you chose not to go on without one",
                ));
            }
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
        self.lane.jump = self.frame().map(|frame| frame.state);
    }

    fn grant_visits(&mut self, target: crate::domain::ids::StateIx) {
        let more = self.workflow().map_or(0, |workflow| workflow.limits.max_visits);
        if let Some(granted) = self.frame_mut().and_then(|frame| frame.granted.get_mut(target.0)) {
            *granted = granted.saturating_add(more);
        }
        self.lane.jump = Some(target);
    }

    fn grant_rounds(&mut self) {
        let Some(workflow) = self.workflow() else { return };
        let Some(turn) = self.frame_mut().and_then(|frame| frame.turn.as_mut()) else { return };
        let more = workflow.agent(turn.agent).map_or(1, |agent| agent.max_tool_rounds.max(1));
        turn.allowed = turn.allowed.saturating_add(more);
        self.next_tool();
    }

    /// A limit is not an error of the work: what was done stays, the run can be continued (A52).
    pub(super) fn pause_at_limit(&mut self, limit: &str, text: &str) {
        if self.spec.program.workflows.first().is_some_and(|root| root.conversational) {
            // A conversation outlives its answers: this one ends here, with what its tools have done.
            self.drop_visit();
            self.warn("limit", format!("The limit {limit} was reached: {text}"));
            return self.ask_person(Asked::Message, Question::Message);
        }
        if let Some(turn) = self.frame_mut().and_then(|frame| frame.turn.as_mut()) {
            turn.close_open(INTERRUPTED);
        }
        let mut failure =
            Failure::new("limit", format!("The limit {limit} was reached"), text).hint(match limit {
                "max_tool_rounds" => {
                    "raise \"max_tool_rounds\" of the agent, or look at why it needs so many tools".to_owned()
                }
                _ => format!("raise \"limits\": {{\"{limit}\": …}} in the workflow, or look at why it loops"),
            });
        failure.state = Some(self.state_name());
        self.error = Some(failure);
        self.finish(RunStatus::Paused, None);
    }

    /// Esc: a chat goes back to waiting, anything else ends. Open calls are closed with an answer, partial
    /// text stays, marked.
    pub(super) fn on_cancelled(&mut self, partial: Vec<(CallId, String)>, end: bool) {
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

    fn keep_partial(&mut self, partial: Vec<(CallId, String)>) {
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

    /// Kept until something asks (A62).
    pub(super) fn on_said(&mut self, text: String) {
        self.emit(RunEvent::Queued { text: text.clone() });
        self.said.push_back(text);
    }
}
