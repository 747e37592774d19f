//! `wait` and `fail` states.

use serde_json::Value;

use super::{BranchContinuation, Machine, NextHandler, RunEvent, WaitState};
use synthdev_domain::duration;
use synthdev_domain::ids::Timestamp;
use synthdev_domain::run_error::RunError;
use synthdev_domain::workflow::{WaitSpec, plain_text};

impl Machine {
    pub(super) fn begin_wait_state(&mut self, wait: &WaitSpec, value: Option<Value>) -> NextHandler {
        let value = value.unwrap_or_default();
        let delay = match wait {
            WaitSpec::For(_) => duration::duration_ms(&value),
            WaitSpec::Until(_) => duration::instant_ms(&value)
                .map(|until| u64::try_from(until.saturating_sub(self.core.now.0)).unwrap_or(0)),
        };
        let delay_ms = match delay {
            Ok(delay_ms) => delay_ms,
            Err(problem) => {
                let detail = format!("state `{}`: {problem}", self.core.state_name());
                let error = RunError::new("validation", "It is not clear how long to wait", detail);
                let hint = "\"duration\" is seconds, or a duration such as PT5M; \"until\" a time such as \
                            2030-01-31T08:00:00Z, or milliseconds since 1970";
                return NextHandler::fail(self.core.spec.with_later_hint(error, hint));
            }
        };
        let until = Timestamp(self.core.now.0.saturating_add(i64::try_from(delay_ms).unwrap_or(i64::MAX)));
        self.core.emit_event(RunEvent::Waiting { state: self.core.state_name(), until });
        let call = self.core.set_timer(delay_ms, true);
        self.core.branches.current.continuation = BranchContinuation::Done;
        self.core.branches.current.wait_state = WaitState::Timer(call);
        NextHandler::Wait
    }

    /// The author's own error.
    pub(super) fn begin_fail_state(&mut self, error: &str, cause: Option<Value>) -> NextHandler {
        let detail = cause.filter(|cause| !cause.is_null()).map(|cause| plain_text(&cause));
        let detail = detail.unwrap_or_else(|| format!("state `{}` says so", self.core.state_name()));
        NextHandler::fail(RunError::new(error, format!("The workflow failed with `{error}`"), detail))
    }
}
