//! Timers that ran out, and stopping those that are no longer needed.

use super::{CallId, Effect, Machine};

impl Machine {
    pub(super) fn on_elapsed(&mut self, _call: CallId) {}

    /// Stops the timers of the innermost frame.
    pub(super) fn stop_timers(&mut self) {
        let Some(frame) = self.frame_mut() else { return };
        let calls: Vec<CallId> = frame.state_timer.take().into_iter().chain(frame.timer.take()).collect();
        for call in calls {
            self.effect(Effect::Abort { call });
        }
    }
}
