//! Model calls that bring no answer: what they used counts all the same.

use std::sync::PoisonError;

use super::RunDriver;
use crate::driver_message::{PartialReplies, PartialReply};
use crate::running_effects::RunningEffects;
use synthdev_domain::ids::CallId;
use synthdev_engine::effect::Effect;
use synthdev_engine::input::Input;

impl RunDriver {
    /// With a hard budget, a failed attempt is charged first, and the call is repeated only if the budget has room for it.
    pub(super) fn charge_failed_attempts(
        &mut self,
        call: CallId,
        running: &mut RunningEffects,
        partial: &PartialReplies,
    ) -> bool {
        if self.machine.may_repeat(call).is_none() {
            return true;
        }
        let mut streamed = partial.lock().unwrap_or_else(PoisonError::into_inner);
        let used = streamed.get_mut(&call).map(PartialReply::drain_failed_usage).unwrap_or_default();
        drop(streamed);
        if !used.is_empty() {
            self.apply_input(Input::Stopped { call, used }, running, partial);
        }
        self.machine.may_repeat(call).unwrap_or(false)
    }

    /// Records the usage of model calls that an input has stopped: it counts, although no branch waits for their
    /// answers.
    pub(super) fn charge_aborted_calls(
        &mut self,
        effects: &[Effect],
        partial: &PartialReplies,
    ) -> Vec<Effect> {
        let mut more = Vec::new();
        for effect in effects {
            let Effect::Abort { call } = *effect else { continue };
            let streamed = partial.lock().unwrap_or_else(PoisonError::into_inner).remove(&call);
            let used = streamed.map(|streamed| streamed.total_usage()).unwrap_or_default();
            if !used.is_empty() {
                more.extend(self.process_input(Input::Stopped { call, used }));
            }
        }
        more
    }

    /// Records the usage so far of calls that are repeated when the run is resumed. Effects begin then, not now.
    pub(super) fn charge_abandoned_calls(&mut self, partial: &PartialReplies) {
        let all = std::mem::take(&mut *partial.lock().unwrap_or_else(PoisonError::into_inner));
        for (call, streamed) in all {
            let used = streamed.total_usage();
            if !used.is_empty() && !self.claim_lost && self.machine.awaits_call(call) {
                drop(self.process_input(Input::Stopped { call, used }));
            }
        }
    }
}
