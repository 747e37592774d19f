//! `SteeringAction::Leave`: the user leaves a conversation, which is suspended until it is reopened.
//!
//! An answer in progress ends as with a cancel: its partial text stays, marked. The conversation then waits for the next
//! message, and resuming asks for it.

use super::run_phase::RunPhase;
use super::{CallId, Effect, Machine, PendingQuestion, RunEvent, WaitState};
use crate::effect::UserQuestion;
use synthdev_domain::agent_team::SpawnedAgentStatus;
use synthdev_domain::context::MessageAuthor;
use synthdev_domain::journal::{NEXT_MESSAGE, RunStatus};
use synthdev_domain::run_error::RunError;

impl Machine {
    /// Any other run has a way of its own to be left.
    pub(super) fn on_conversation_left(&mut self, partial: Vec<(CallId, String)>) {
        if !self.core.is_chat() || self.core.branches.current.wait_state == WaitState::Ending {
            return;
        }
        if matches!(self.core.branches.current.wait_state, WaitState::Person(_, PendingQuestion::Message)) {
            self.stop_agents(self.team.running(), SpawnedAgentStatus::Cancelled);
        } else {
            self.store_partial_replies(partial);
            self.emit_partial_reply();
            self.stop_all();
            self.drop_visit();
            self.wait_for_message();
        }
        let waits = RunError::new("paused", "The conversation waits", NEXT_MESSAGE);
        (self.status, self.error) = (RunStatus::Paused, Some(self.core.with_location(waits)));
        self.core.phase = RunPhase::Suspended;
        let progress = self.progress();
        self.core.emit_event(RunEvent::run_finished(progress));
        self.core.push_effect(Effect::Finish);
    }

    /// What the agent had said so far is seen when the conversation is reopened: its pieces are not kept.
    fn emit_partial_reply(&mut self) {
        let Some(workflow) = self.core.workflow() else { return };
        let Some(turn) = self.core.frame().and_then(|frame| frame.agent_turn.as_ref()) else { return };
        let Some(context) =
            workflow.agent(turn.agent).and_then(|agent| workflow.contexts.get(agent.context.0))
        else {
            return;
        };
        let Some(said) = turn.entries.last().filter(|said| said.entry.interrupted) else { return };
        let event = RunEvent::MessageAdded {
            context: context.name.clone(),
            author: MessageAuthor::Agent(self.core.speaker_name(&turn.agent_id)),
            role: said.entry.role,
            text: said.entry.text.clone(),
            private: false,
            call: self.core.branches.current.pending_call(),
        };
        self.core.emit_event(event);
    }

    /// The next message is asked for when the conversation is reopened.
    fn wait_for_message(&mut self) {
        let call = self.core.next_call();
        let branch = &mut self.core.branches.current;
        branch.wait_state = WaitState::Person(call, PendingQuestion::Message);
        branch.question = Some(UserQuestion::Message);
        branch.waiting_since = self.core.now;
        branch.was_shown = false;
    }
}
