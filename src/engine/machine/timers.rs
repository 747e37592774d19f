//! Timers: those that fired, and stopping those that are no longer needed. A late one finds no branch that waits.

use super::{BranchContinuation, CallId, Effect, Machine, Next, PendingQuestion, RunEvent, WaitState};
use crate::time_limit::TimeLimit;
use synthdev_domain::run_error::RunError;
use synthdev_domain::workflow::StateSpec;

impl Machine {
    pub(super) fn on_elapsed(&mut self, call: CallId) -> Next {
        if self.branch.phase == WaitState::Timer(call) {
            return match self.branch.continuation {
                BranchContinuation::Work => self.retry_state_work(),
                BranchContinuation::Done => Next::WorkDone(true, serde_json::Value::Null),
                BranchContinuation::Catch(rule) => self.after_catch(rule),
                BranchContinuation::Unanswered => self.continue_after_timeout(),
            };
        }
        if self.branch.phase == WaitState::Person(call, PendingQuestion::Pause) {
            // no user or sub-agent is left to answer it
            return self.on_pause_deadline();
        }
        let Some(at) = self.branch.frames.iter().position(|frame| frame.timers().any(|timer| timer == call))
        else {
            return Next::Wait;
        };
        let Some(frame) = self.branch.frames.get_mut(at) else { return Next::Wait };
        if frame.visit.pause_timer == Some(call) {
            frame.visit.pause_timer = None;
            return self.on_pause_deadline();
        }
        let whole = frame.timer == Some(call);
        if whole {
            frame.timer.take()
        } else {
            frame.state_timer.cancel()
        };
        self.stop_pending();
        self.unwind_to(at);
        let Some((workflow, state)) = self.current_state() else { return Next::Wait };
        if whole {
            let detail =
                format!("`{}` took longer than {}", workflow.name, seconds_text(workflow.timeout_ms));
            self.fail_workflow(
                RunError::new("timeout", "A workflow ran out of time", detail)
                    .with_hint("raise \"timeout\" of the workflow, or give it an \"on_error\" state"),
            )
        } else {
            let detail =
                format!("state `{}` took longer than {}", self.state_name(), seconds_text(state.timeout_ms));
            Next::fail(
                RunError::new("timeout", "A state ran out of time", detail)
                    .with_hint("raise \"timeout\" of the state, or say what follows: \"catch\": [{\"errors\": [\"timeout\"], …}]"),
            )
        }
    }

    /// Stops what the current branch itself waits for.
    fn stop_pending(&mut self) {
        self.withdraw_pending();
        self.branch.phase = WaitState::New;
        // the branch may have been stopped before a state that it does not enter now
        self.branch.next_state = None;
    }

    pub(super) fn withdraw_pending(&mut self) {
        self.note_stopped_call();
        self.withdraw_wait(&self.branch.phase.clone(), self.branch.was_shown);
    }

    /// Stops what a branch waits for. Closes a question or an approval that was shown, because its answer is not
    /// needed.
    pub(super) fn withdraw_wait(&mut self, phase: &WaitState, shown: bool) {
        let Some(call) = phase.pending_call() else { return };
        if matches!(phase, WaitState::Person(..) | WaitState::Approval(_)) {
            if !shown {
                return;
            }
            self.emit_event(RunEvent::PersonAnswered { call });
        }
        self.push_effect(Effect::Abort { call });
    }

    /// Stops everything that was started from the state that a frame of this branch is in.
    pub(super) fn unwind_to(&mut self, at: usize) {
        self.stop_branches();
        if let Some(fork) = self.branch.fork.take() {
            self.record_files_touched(fork.files_touched);
            self.emit_joined(&fork);
        }
        while self.branch.frames.len() > at + 1 {
            self.stop_timers();
            let touched = self.pop_frame();
            self.record_files_touched(touched);
        }
    }

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
        let branch = self.branch.parent.is_some() && self.branch.frames.len() == 1;
        if !branch && self.frame().is_some_and(|frame| frame.timer.is_none()) {
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
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds for people")]
fn seconds_text(ms: Option<u64>) -> String {
    format!("{} s", ms.unwrap_or(0) as f64 / 1000.0)
}
