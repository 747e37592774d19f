//! `SteeringAction::Interrupt`: the user stops the models in the middle of a reply and gives guidance.
//!
//! The partial reply stays in the turn, marked, followed by the guidance; then the model is called again.

use super::{Branch, CallId, Effect, Machine, RunEvent, WaitState};
use crate::agent_turn::{SummarizationState, TurnEntry};
use crate::branch::BreakSite;
use crate::input::UserAnswer;
use synthdev_domain::context::{ContextEntry, MessageAuthor};
use synthdev_domain::message::ChatRole;

impl Machine {
    /// A conversation is not interrupted: it is cancelled, and waits for the next text.
    pub(super) fn on_interrupted(&mut self, partial: &[(CallId, String)]) {
        if self.core.is_chat() {
            return;
        }
        (self.breakpoints.step_mode, self.breakpoints.stop_before_model_calls) = (true, true);
        let call = |lane: &Branch| {
            if let WaitState::Model(call) = lane.phase { Some((call, lane.id)) } else { None }
        };
        let mut under_way: Vec<(CallId, u64)> = self.core.branches.all().filter_map(call).collect();
        under_way.sort_unstable_by_key(|(call, _)| *call);
        for (call, lane) in under_way {
            if self.core.branches.switch_to(lane) {
                self.interrupt_call(call, partial);
            }
        }
    }

    fn interrupt_call(&mut self, call: CallId, partial: &[(CallId, String)]) {
        self.note_stopped_call();
        self.store_partial_replies(partial.to_vec());
        if let Some(turn) = self.core.frame_mut().and_then(|frame| frame.agent_turn.as_mut())
            && matches!(turn.summarization, SummarizationState::Asked(_))
        {
            turn.summarization = SummarizationState::Free;
        }
        self.core.push_effect(Effect::Abort { call });
        self.breakpoints.interrupt(&mut self.core);
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
        turn.entries.push(TurnEntry { entry, private: false });
        let Some(agent) = workflow.agent(turn.agent) else { return };
        let context = super::run_turn::context_name(&workflow, agent);
        self.core.emit_event(RunEvent::MessageAdded {
            context,
            author: MessageAuthor::Human,
            role: ChatRole::User,
            text,
            private: false,
        });
    }
}
