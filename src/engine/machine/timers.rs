//! Timers: those that ran out, and stopping those that are no longer needed. A late one finds nobody who waits.

use super::{BranchContinuation, CallId, Effect, Machine, PendingQuestion, RunEvent, WaitState};
use crate::time_limit::TimeLimit;
use synthdev_domain::run_error::RunError;
use synthdev_domain::workflow::StateSpec;

impl Machine {
    pub(super) fn on_elapsed(&mut self, call: CallId) {
        if self.lane.phase == WaitState::Timer(call) {
            return match self.lane.then {
                BranchContinuation::Work => self.work_again(),
                BranchContinuation::Done => self.work_done(true, serde_json::Value::Null),
                BranchContinuation::Catch(rule) => self.after_catch(rule),
                BranchContinuation::Unanswered => self.go_on_unanswered(),
            };
        }
        if self.lane.phase == WaitState::Person(call, PendingQuestion::Pause) {
            // whoever was to answer it has gone
            return self.pause_ran_out();
        }
        let Some(at) = self.lane.frames.iter().position(|frame| frame.timers().any(|timer| timer == call))
        else {
            return;
        };
        let Some(frame) = self.lane.frames.get_mut(at) else { return };
        if frame.stay.ttl == Some(call) {
            frame.stay.ttl = None;
            return self.pause_ran_out();
        }
        let whole = frame.timer == Some(call);
        if whole {
            frame.timer.take()
        } else {
            frame.state_timer.take()
        };
        self.stop_pending();
        self.unwind_to(at);
        let Some((workflow, state)) = self.current_state() else { return };
        if whole {
            let detail = format!("`{}` took longer than {}", workflow.name, seconds(workflow.timeout_ms));
            self.fail_workflow(
                RunError::new("timeout", "A workflow ran out of time", detail)
                    .hint("raise \"timeout\" of the workflow, or give it an \"on_error\" state"),
            );
        } else {
            let detail =
                format!("state `{}` took longer than {}", self.state_name(), seconds(state.timeout_ms));
            self.fail(
                RunError::new("timeout", "A state ran out of time", detail)
                    .hint("raise \"timeout\" of the state, or say what follows: \"catch\": [{\"errors\": [\"timeout\"], …}]"),
            );
        }
    }

    /// Stops what the current lane itself waits for.
    fn stop_pending(&mut self) {
        self.withdraw_own();
        self.lane.phase = WaitState::New;
        // it may have stood before a state that is not entered now
        self.lane.jump = None;
    }

    pub(super) fn withdraw_own(&mut self) {
        self.note_stop();
        self.withdraw(&self.lane.phase.clone(), self.lane.shown);
    }

    /// Stops what a lane waits for. A question or an approval is told to be closed: nobody waits for its answer.
    pub(super) fn withdraw(&mut self, phase: &WaitState, shown: bool) {
        let Some(call) = phase.pending() else { return };
        if matches!(phase, WaitState::Person(..) | WaitState::Approval(_)) {
            if !shown {
                return;
            }
            self.emit(RunEvent::PersonAnswered { call });
        }
        self.effect(Effect::Abort { call });
    }

    /// Gives up everything that was started from the state in which a frame of this lane is.
    pub(super) fn unwind_to(&mut self, at: usize) {
        self.stop_branches();
        if let Some(fork) = self.lane.fork.take() {
            self.keep_touched(fork.touched);
            self.emit_joined(&fork);
        }
        while self.lane.frames.len() > at + 1 {
            self.stop_timers();
            let touched = self.leave_frame();
            self.keep_touched(touched);
        }
    }

    /// Begins the time limit of a visit, unless it runs already.
    pub(super) fn arm_state_timer(&mut self, state: &StateSpec) {
        let Some(delay_ms) = state.timeout_ms else { return };
        if self.frame().is_some_and(|frame| frame.state_timer.is_off()) {
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
        let branch = self.lane.parent.is_some() && self.lane.frames.len() == 1;
        if !branch && self.frame().is_some_and(|frame| frame.timer.is_none()) {
            let call = self.set_timer(delay_ms, false);
            if let Some(frame) = self.frame_mut() {
                frame.timer = Some(call);
            }
        }
    }

    pub(super) fn time_limit(&mut self, delay_ms: u64) -> TimeLimit {
        let ends = self.later(delay_ms);
        TimeLimit::running(self.set_timer(delay_ms, false), ends)
    }

    /// `wall`: the time of the world, not only that in which the run is driven.
    pub(super) fn set_timer(&mut self, delay_ms: u64, wall: bool) -> CallId {
        let call = self.next_call();
        self.effect(Effect::SetTimer { call, delay_ms, wall });
        call
    }

    /// Stops the timers of the innermost frame.
    pub(super) fn stop_timers(&mut self) {
        let Some(frame) = self.frame_mut() else { return };
        for call in frame.take_timers() {
            self.effect(Effect::Abort { call });
        }
    }

    /// The visit is over: its timers are.
    pub(super) fn stop_visit_timers(&mut self) {
        let Some(frame) = self.frame_mut() else { return };
        for call in frame.take_visit_timers() {
            self.effect(Effect::Abort { call });
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds for people")]
fn seconds(ms: Option<u64>) -> String {
    format!("{} s", ms.unwrap_or(0) as f64 / 1000.0)
}
