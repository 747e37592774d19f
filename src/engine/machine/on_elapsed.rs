//! Timers: those that fired, and stopping those that are no longer needed. A late one finds no branch that waits.

use super::{BranchContinuation, CallId, Machine, NextHandler, PendingQuestion, WaitState};
use synthdev_domain::run_error::RunError;

impl Machine {
    pub(super) fn on_elapsed(&mut self, call: CallId) -> NextHandler {
        if self.core.branches.current.wait_state == WaitState::Timer(call) {
            return match self.core.branches.current.continuation {
                BranchContinuation::Work => self.retry_state_work(),
                BranchContinuation::Done => NextHandler::WorkDone(true, serde_json::Value::Null),
                BranchContinuation::Catch(rule) => self.after_catch(rule),
                BranchContinuation::Unanswered => self.continue_after_timeout(),
            };
        }
        if self.core.branches.current.wait_state == WaitState::Person(call, PendingQuestion::Pause) {
            // no user or sub-agent is left to answer it
            return self.on_pause_deadline();
        }
        let Some(at) = self
            .core
            .branches
            .current
            .frames
            .iter()
            .position(|frame| frame.timers().any(|timer| timer == call))
        else {
            return NextHandler::Wait;
        };
        let Some(frame) = self.core.branches.current.frames.get_mut(at) else { return NextHandler::Wait };
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
        let Some((workflow, state)) = self.core.current_state() else { return NextHandler::Wait };
        if whole {
            let detail =
                format!("`{}` took longer than {}", workflow.name, seconds_text(workflow.timeout_ms));
            self.fail_workflow(
                RunError::new("timeout", "A workflow ran out of time", detail)
                    .with_hint("raise \"timeout\" of the workflow, or give it an \"on_error\" state"),
            )
        } else {
            let detail = format!(
                "state `{}` took longer than {}",
                self.core.state_name(),
                seconds_text(state.timeout_ms)
            );
            NextHandler::fail(
                RunError::new("timeout", "A state ran out of time", detail)
                    .with_hint("raise \"timeout\" of the state, or say what follows: \"catch\": [{\"errors\": [\"timeout\"], …}]"),
            )
        }
    }

    /// Stops what the current branch itself waits for.
    fn stop_pending(&mut self) {
        self.withdraw_pending();
        self.core.branches.current.wait_state = WaitState::New;
        // the branch may have been stopped before a state that it does not enter now
        self.core.branches.current.next_state = None;
    }
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds for people")]
fn seconds_text(ms: Option<u64>) -> String {
    format!("{} s", ms.unwrap_or(0) as f64 / 1000.0)
}
