//! `SteeringAction::Interrupt`: the user stops the models in the middle of a reply and gives guidance.
//!
//! The partial reply stays in the turn, marked, followed by the guidance; then the model is called again.

use super::{Branch, CallId, Effect, Machine, WaitState};
use crate::agent_turn::SummarizationState;

impl Machine {
    /// A conversation is not interrupted: it is cancelled, and waits for the next text.
    pub(super) fn on_interrupted(&mut self, partial: &[(CallId, String)]) {
        if self.core.is_chat() {
            return;
        }
        (self.breakpoints.stops_before_next_state, self.breakpoints.stop_before_model_calls) = (true, true);
        let call = |branch: &Branch| {
            if let WaitState::Model(call) = branch.wait_state { Some((call, branch.id)) } else { None }
        };
        let mut under_way: Vec<(CallId, u64)> = self.core.branches.all().filter_map(call).collect();
        under_way.sort_unstable_by_key(|(call, _)| *call);
        for (call, branch) in under_way {
            if self.core.branches.switch_to(branch) {
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
}
