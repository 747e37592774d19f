//! A branch that is stopped at a breakpoint continues, with guidance if the user gives some.

use super::{Machine, NextHandler, PendingQuestion, RunEvent, WaitState};
use crate::agent_turn::TurnEntry;
use crate::branch::BreakSite;
use crate::input::UserAnswer;
use synthdev_domain::context::{ContextEntry, MessageAuthor};
use synthdev_domain::message::ChatRole;

impl Machine {
    /// The current branch continues from its breakpoint.
    pub(super) fn continue_from_breakpoint(&mut self) -> NextHandler {
        let WaitState::Person(_, PendingQuestion::Break(place)) = self.core.branches.current.wait_state
        else {
            return NextHandler::Wait;
        };
        self.core.branches.current.wait_state = WaitState::New;
        self.core.branches.ready.push_back(self.core.branches.current.id);
        match place {
            BreakSite::State => {
                self.core.branches.current.breakpoint_passed = true;
                NextHandler::Wait
            }
            BreakSite::Model => {
                self.core.branches.current.wait_state = WaitState::Held;
                NextHandler::Wait
            }
            BreakSite::Tool if self.core.has_pending_action() => {
                // a step does not look at it again: it would count for the next state
                self.core.branches.current.breakpoint_passed = !self.core.spec.offers_messages_once();
                NextHandler::PermitAction
            }
            BreakSite::Tool => {
                self.core.branches.current.breakpoint_passed = true;
                NextHandler::ContinueRound
            }
        }
    }

    /// A branch before a model call continues with the guidance; elsewhere the guidance is queued.
    pub(super) fn continue_with_guidance(&mut self, place: BreakSite, answer: UserAnswer) {
        self.breakpoints.stop_before_model_calls = false;
        let UserAnswer::Text { text } = answer else { return };
        if text.trim().is_empty() {
            return;
        }
        if place != BreakSite::Model {
            return self.messages.push(text);
        }
        let Some(workflow) = self.core.workflow() else { return };
        let Some(turn) = self.core.frame_mut().and_then(|frame| frame.agent_turn.as_mut()) else { return };
        let mut entry = ContextEntry::text(MessageAuthor::Human, ChatRole::User, text.clone());
        entry.to = Some(turn.agent_id.clone());
        turn.entries.push(TurnEntry { entry, private: false, is_foreign: false });
        let Some(agent) = workflow.agent(turn.agent) else { return };
        let context = super::run_turn::context_name(&workflow, agent);
        self.core.emit_event(RunEvent::MessageAdded {
            context,
            author: MessageAuthor::Human,
            role: ChatRole::User,
            text,
            private: false,
            call: None,
        });
    }
}
