//! Timers of the current branch: time limits of visits and workflows begin, and timers that are no longer needed stop.

use super::machine_core::MachineCore;
use crate::effect::Effect;
use crate::time_limit::TimeLimit;
use synthdev_domain::ids::CallId;
use synthdev_domain::workflow::StateSpec;

impl MachineCore {
    /// Begins the time limit of a visit, unless it runs already.
    pub(super) fn arm_state_timer(&mut self, state: &StateSpec) {
        let Some(delay_ms) = state.timeout_ms else { return };
        if self.frame().is_some_and(|frame| frame.state_timer.is_unset()) {
            let limit = self.time_limit(delay_ms);
            if let Some(frame) = self.frame_mut() {
                frame.state_timer = limit;
            }
        }
    }

    /// Begins the time limit of the innermost workflow, unless it runs already.
    pub(super) fn arm_workflow_timer(&mut self) {
        let Some(delay_ms) = self.workflow().and_then(|workflow| workflow.timeout_ms) else { return };
        // a branch belongs to a workflow whose time already runs
        let is_branch = self.branches.current.parent.is_some() && self.branches.current.frames.len() == 1;
        if !is_branch && self.frame().is_some_and(|frame| frame.timer.is_none()) {
            let call = self.set_timer(delay_ms, false);
            if let Some(frame) = self.frame_mut() {
                frame.timer = Some(call);
            }
        }
    }

    pub(super) fn time_limit(&mut self, delay_ms: u64) -> TimeLimit {
        let ends = self.time_after(delay_ms);
        TimeLimit::running_until(self.set_timer(delay_ms, false), ends)
    }

    /// `wall`: wall-clock time; otherwise time counts only while the run is driven.
    pub(super) fn set_timer(&mut self, delay_ms: u64, wall: bool) -> CallId {
        let call = self.next_call();
        self.push_effect(Effect::SetTimer { call, delay_ms, is_wall_clock: wall });
        call
    }

    /// Stops the timers of the innermost frame.
    pub(super) fn stop_timers(&mut self) {
        let Some(frame) = self.frame_mut() else { return };
        for call in frame.take_timers() {
            self.push_effect(Effect::Abort { call });
        }
    }

    /// The visit is over: its timers are.
    pub(super) fn stop_visit_timers(&mut self) {
        let Some(frame) = self.frame_mut() else { return };
        for call in frame.take_visit_timers() {
            self.push_effect(Effect::Abort { call });
        }
    }

    /// Stops the time for an answer to a question or approval.
    pub(super) fn stop_ttl(&mut self) {
        if let Some(call) = self.frame_mut().and_then(|frame| frame.visit.pause_timer.take()) {
            self.push_effect(Effect::Abort { call });
        }
    }
}
