//! How a state deals with an error: `retry`, `catch`, `fallback`, `on_error`, in this order; then `on_error` of its
//! workflow.
//!
//! Each remedy is used once in a visit (a retry: as often as its rule says) or leaves the state, so that an error inside a remedy
//! cannot go in circles.

use serde_json::{Map, Value, json};

use super::on_failure::CHILD_FAILED;
use super::{Branch, BranchContinuation, Effect, Machine, NextHandler, RunEvent, WaitState};
use crate::call_frame::WorkResult;
use synthdev_domain::ids::StateIx;
use synthdev_domain::run_error::RunError;
use synthdev_domain::script::ScriptTask;
use synthdev_domain::workflow::{OnError, RetryBackoff};

/// What becomes of an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ErrorRemedy {
    /// By position of the rule.
    Retry(usize),
    Catch(usize),
    Fallback,
    Continue,
    Go(StateIx),
}

impl Machine {
    /// How the state of a frame of this branch handles an error.
    pub(super) fn error_remedy(&self, at: usize, code: &str) -> Option<ErrorRemedy> {
        self.error_remedy_in(&self.core.branches.current, at, code)
    }

    fn error_remedy_in(&self, branch: &Branch, at: usize, code: &str) -> Option<ErrorRemedy> {
        let frame = branch.frames.get(at)?;
        let workflow = self.core.spec.program.workflows.get(frame.workflow.0)?;
        let state = workflow.state(frame.state)?;
        let (visit, rules) = (&frame.visit, &state.recovery);
        // trying again does not lower what was used up, and a state that is left by a `catch` is left
        let lasting = visit.error_caught || code == "limit" || code == "budget_exceeded";
        let retry = rules.retry.iter().position(|rule| rule.matches_error(code)).filter(|_| !lasting);
        if let Some((at, rule)) = retry.and_then(|at| Some((at, rules.retry.get(at)?)))
            && visit.failure_count(at).saturating_add(1) < rule.max_attempts
        {
            return Some(ErrorRemedy::Retry(at));
        }
        let catch =
            rules.catch.iter().position(|rule| rule.matches_error(code)).filter(|_| !visit.error_caught);
        if let Some(at) = catch {
            return Some(ErrorRemedy::Catch(at));
        }
        if rules.fallback.is_some() && !visit.fallback_used {
            return Some(ErrorRemedy::Fallback);
        }
        let is_branch = at == 0 && branch.parent.is_some();
        let policy = match rules.on_error {
            Some(own) => own,
            // a branch fails the state that forked; that is where the workflow's policy counts
            None if is_branch => OnError::Fail,
            None if workflow.on_error == OnError::Go(frame.state) => OnError::Fail,
            None => workflow.on_error,
        };
        match policy {
            OnError::Fail => None,
            OnError::Continue => (!visit.continued).then_some(ErrorRemedy::Continue),
            OnError::Go(target) => Some(ErrorRemedy::Go(target)),
        }
    }

    /// Whether anything that the workflow says deals with such an error of the current state.
    pub(super) fn is_dealt_with(&self, code: &str) -> bool {
        let top = self.core.branches.current.frames.len().saturating_sub(1);
        self.error_remedy(top, code).is_some() || self.is_dealt_with_outside(top)
    }

    /// The same for what encloses a frame of the current branch: the workflows that started it, and the states that
    /// forked, which may also tolerate the error.
    pub(super) fn is_dealt_with_outside(&self, top: usize) -> bool {
        let (mut branch, mut inside) = (&self.core.branches.current, top);
        loop {
            if (0..inside).any(|at| self.error_remedy_in(branch, at, CHILD_FAILED).is_some()) {
                return true;
            }
            let Some(parent) = self.core.branches.parent_of(branch) else {
                return false;
            };
            if self.tolerates_another(branch) {
                return true;
            }
            (branch, inside) = (parent, parent.frames.len());
        }
    }

    /// `on_error` of the current workflow, for an error of the workflow itself.
    pub(super) fn workflow_error_target(&self) -> Option<StateIx> {
        match self.core.workflow()?.on_error {
            OnError::Go(target) if self.core.frame()?.state != target => Some(target),
            OnError::Go(_) | OnError::Fail | OnError::Continue => None,
        }
    }

    pub(super) fn apply_remedy(&mut self, remedy: ErrorRemedy, failure: RunError) -> NextHandler {
        match remedy {
            ErrorRemedy::Retry(rule) => self.schedule_retry(rule, failure),
            ErrorRemedy::Catch(rule) => self.catch_error(rule, failure),
            ErrorRemedy::Fallback => self.fall_back(failure),
            ErrorRemedy::Continue => self.continue_without_output(failure),
            ErrorRemedy::Go(target) => self.follow_error_target(failure, target),
        }
    }

    fn schedule_retry(&mut self, at: usize, error: RunError) -> NextHandler {
        let Some((_, state)) = self.core.current_state() else { return NextHandler::Wait };
        let Some(rule) = state.recovery.retry.get(at) else { return NextHandler::Wait };
        let Some(frame) = self.core.frame_mut() else { return NextHandler::Wait };
        let failures = frame.visit.count_failure(at);
        let call = self.core.next_call();
        let random = random_fraction(self.core.seed ^ call.0.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let delay_ms = backoff_delay(&rule.backoff, failures, random);
        self.core.emit_event(RunEvent::Retrying {
            state: self.core.state_name(),
            attempt: failures.saturating_add(1),
            max_attempts: rule.max_attempts,
            delay_ms,
            error: Box::new(error),
        });
        self.core.branches.current.continuation = BranchContinuation::Work;
        self.core.branches.current.wait_state = WaitState::Timer(call);
        self.core.push_effect(Effect::SetTimer { call, delay_ms, is_wall_clock: false });
        NextHandler::Wait
    }

    /// The state's work once more, from the script if that is what failed; where the work is done, only the choice of
    /// what follows. No new visit and no new step.
    pub(super) fn retry_state_work(&mut self) -> NextHandler {
        let Some((_, state)) = self.core.current_state() else { return NextHandler::Wait };
        // a time limit that ran out begins anew
        self.core.arm_state_timer(&state);
        let Some(frame) = self.core.frame_mut() else { return NextHandler::Wait };
        frame.visit.work_restarted = true;
        if frame.visit.work_done {
            return NextHandler::ChooseTransition;
        }
        if frame.visit.script_succeeded { NextHandler::DoWork } else { NextHandler::BeginState }
    }

    pub(super) fn catch_error(&mut self, at: usize, failure: RunError) -> NextHandler {
        let Some((_, state)) = self.core.current_state() else { return NextHandler::Wait };
        let Some(rule) = state.recovery.catch.get(at) else { return NextHandler::Wait };
        let name = self.core.state_name();
        let Some(frame) = self.core.frame_mut() else { return NextHandler::Wait };
        frame.visit.error_caught = true;
        if let Some(key) = &rule.key {
            let set = Map::from_iter([(key.clone(), as_data(&failure))]);
            frame.set_data(&set, &[]);
            self.core.emit_event(RunEvent::DataChanged { state: name, set, removed: Vec::new() });
        }
        let target = self.core.state_path(rule.target);
        self.core.emit_caught(failure, "catch", Some(target));
        match rule.before {
            Some(script) => {
                let call = self.evaluate_script(ScriptTask::Run { script });
                self.core.branches.current.continuation = BranchContinuation::Catch(at);
                self.core.branches.current.wait_state = WaitState::Script(call);
                NextHandler::Wait
            }
            None => self.after_catch(at),
        }
    }

    pub(super) fn after_catch(&mut self, at: usize) -> NextHandler {
        let Some((_, state)) = self.core.current_state() else { return NextHandler::Wait };
        let Some(rule) = state.recovery.catch.get(at) else { return NextHandler::Wait };
        NextHandler::follow(state.transitions.len() + at, rule.target, Vec::new())
    }

    fn fall_back(&mut self, failure: RunError) -> NextHandler {
        let Some((_, state)) = self.core.current_state() else { return NextHandler::Wait };
        let value = state.recovery.fallback.clone().unwrap_or_default();
        if let Some(frame) = self.core.frame_mut() {
            frame.visit.fallback_used = true;
        }
        self.core.emit_caught(failure, "fallback", None);
        if state.terminal {
            NextHandler::FinishFrame(Some(value))
        } else {
            NextHandler::WorkDone(true, value)
        }
    }

    /// `continue`: the transitions are judged as after a visit without an answer.
    fn continue_without_output(&mut self, failure: RunError) -> NextHandler {
        let Some((_, state)) = self.core.current_state() else { return NextHandler::Wait };
        let agent = failure.agent.clone();
        if let Some(frame) = self.core.frame_mut() {
            frame.visit.continued = true;
            frame.clear_last_answer();
            frame.result = Some(WorkResult::Value(
                json!({"success": false, "result": null, "agent": agent, "toolCalls": []}),
            ));
        }
        let text = format!("{} in state `{}`: {}", failure.title, self.core.state_name(), failure.detail);
        self.core.emit_warning("passed_over", text);
        self.core.emit_caught(failure, "on_error", None);
        if state.terminal { NextHandler::FinishFrame(None) } else { NextHandler::ChooseTransition }
    }

    pub(super) fn follow_error_target(&mut self, failure: RunError, target: StateIx) -> NextHandler {
        let Some((_, state)) = self.core.current_state() else { return NextHandler::Wait };
        let name = self.core.state_path(target);
        self.core.emit_caught(failure, "on_error", Some(name));
        NextHandler::follow(state.transitions.len(), target, Vec::new())
    }
}

/// What `as` puts into `common_data`.
fn as_data(failure: &RunError) -> Value {
    json!({
        "name": failure.code,
        "title": failure.title,
        "detail": failure.detail,
        "state": failure.state,
        "agent": failure.agent,
    })
}

/// The delay of a state's retry rule (of a model call: `runtime/retry.rs`), before the attempt that follows the n-th
/// failure. Full jitter: any part of it.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "milliseconds, capped"
)]
fn backoff_delay(backoff: &RetryBackoff, failures: u32, random: f64) -> u64 {
    let exponent = i32::try_from(failures.saturating_sub(1)).unwrap_or(i32::MAX);
    let grown = backoff.delay_ms as f64 * backoff.factor.powi(exponent);
    let capped = if grown.is_finite() { grown.max(0.0) } else { f64::MAX }.min(backoff.max_delay_ms as f64);
    (if backoff.jitter { capped * random } else { capped }).round() as u64
}

/// A number from 0 to below 1 out of a seed (SplitMix64's last steps).
#[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
fn random_fraction(seed: u64) -> f64 {
    let mut mixed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^= mixed >> 31;
    (mixed >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_to_their_cap() {
        let of =
            |delay_ms, factor, max_delay_ms, jitter| RetryBackoff { delay_ms, factor, max_delay_ms, jitter };
        let rows = [
            (of(100, 2.0, 1_000, false), [100, 200, 400, 800, 1_000]),
            (of(100, 1.0, 1_000, false), [100; 5]),
            (of(2_000, 2.0, 1_000, false), [1_000; 5]),
            (of(0, 2.0, 1_000, false), [0; 5]),
            (of(100, 2.0, 1_000, true), [50, 100, 200, 400, 500]),
        ];
        for (backoff, expected) in rows {
            let got: Vec<u64> = (1..=5).map(|failures| backoff_delay(&backoff, failures, 0.5)).collect();
            assert_eq!(got, expected, "{backoff:?}");
        }
        assert_eq!(backoff_delay(&of(100, 1e9, 60_000, false), u32::MAX, 0.5), 60_000);
    }

    #[test]
    fn shares_are_parts_of_one_and_differ() {
        let drawn: Vec<f64> = (0..1_000).map(random_fraction).collect();
        assert!(drawn.iter().all(|part| (0.0..1.0).contains(part)));
        let mean = drawn.iter().sum::<f64>() / 1_000.0;
        assert!((0.45..0.55).contains(&mean), "{mean}");
    }
}
