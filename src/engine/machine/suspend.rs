//! A run that waits for an absent user is suspended: every branch stays where it is, so that resuming repeats nothing
//! and loses nothing.
//!
//! Before that, effects in progress complete; after a failure, or when the user pauses the run, no further model or
//! tool is called.

use super::open_pauses::{BY_YOU, is_waiting};
use super::run_phase::{RunPhase, StopRequest};
use super::{Branch, Effect, Input, Machine, NextHandler, PendingQuestion, RunEvent, WaitState};
use crate::effect::UserQuestion;
use synthdev_domain::ids::{CallId, StateIx};
use synthdev_domain::journal::RunStatus;
use synthdev_domain::run_error::RunError;

impl Machine {
    /// Whether a branch or the run waits for the answer to a call; the driver need not perform any other.
    pub fn awaits_call(&self, call: CallId) -> bool {
        self.snapshots.is_pending_call(call)
            || self.core.branches.all().any(|branch| branch.awaits_call(call))
    }

    /// A suspended or halted run takes only what resumes or cancels it, the cost of a stopped call, and, if halted, a rewind.
    pub(super) fn accepts_input(&self, input: &Input) -> bool {
        if matches!(input, Input::Stopped { .. }) {
            // cost counts even if the run does not continue
            return !self.core.phase.is_halted();
        }
        let wakes = matches!(input, Input::Resumed(_) | Input::Cancelled { .. });
        if matches!(input, Input::Rewound(_)) {
            return self.core.phase.is_halted();
        }
        if self.core.phase.is_suspended() || self.core.phase.is_halted() {
            wakes
        } else {
            self.core.branches.current.wait_state != WaitState::Over
        }
    }

    /// The user leaves a question open: a chat waits again, a workflow is suspended.
    pub(super) fn suspend_for_user(&mut self) -> NextHandler {
        if !self.core.is_chat() {
            if !self.core.is_stopping() {
                self.core.stop_request = StopRequest::Pause;
            }
            // it is open under a name of its own: a second answer to the old one comes too late
            if let WaitState::Person(_, asked) = self.core.branches.current.wait_state {
                self.core.branches.current.wait_state = WaitState::Person(self.core.next_call(), asked);
            }
            return NextHandler::Wait;
        }
        if self.core.branches.current.spawned.is_some() {
            return self.fail_for_user();
        }
        // A conversation outlives its answers: this answer ends, with the results of its tools.
        self.drop_visit();
        self.core.emit_warning("limit", BY_YOU);
        self.core.ask_user(PendingQuestion::Message, UserQuestion::Message)
    }

    /// Another process wants to resume the run.
    pub(super) fn suspend_for_handover(&mut self) {
        if self.core.is_chat() {
            return;
        }
        self.core.stop_request = StopRequest::Handover;
    }

    /// An end is no new beginning.
    pub(super) fn suspends_before(&mut self, target: StateIx) -> bool {
        let ends = || {
            self.core
                .workflow()
                .is_some_and(|workflow| workflow.state(target).is_some_and(|state| state.terminal))
        };
        if !self.core.is_handing_over() || ends() {
            return false;
        }
        // the visit before is over: its time must not run out meanwhile
        self.core.stop_visit_timers();
        self.core.branches.current.next_state = Some(target);
        // what it waited for has been answered
        (self.core.branches.current.wait_state, self.core.branches.current.was_shown) =
            (WaitState::New, false);
        true
    }

    /// Branches that were kept from entering a state enter it now. `false`: the run was not being suspended.
    pub(super) fn leave_suspension(&mut self) -> bool {
        let parking = self.core.is_handing_over();
        self.core.stop_request = StopRequest::None;
        if parking {
            let mut held: Vec<u64> = self
                .core
                .branches
                .all()
                .filter(|branch| branch.next_state.is_some())
                .map(|branch| branch.id)
                .collect();
            held.sort_unstable();
            self.core.branches.ready.extend(held);
        }
        parking
    }

    pub(super) fn suspend_if_idle(&mut self) {
        let alone = !self.core.user_present || self.core.is_stopping();
        let taken = !self.snapshots.is_pending();
        if !alone
            || self.core.phase.is_suspended()
            || self.core.phase.is_halted()
            || !taken
            || !self.is_idle()
        {
            return;
        }
        let failed = self.core.branches.first_failed();
        let first = self
            .core
            .branches
            .all()
            .filter(|branch| is_waiting(&branch.wait_state))
            .min_by_key(|branch| branch.id);
        let error = failed.or(first).and_then(|branch| self.wait_reason(branch));
        let by = if self.core.is_handing_over() { "another process has paused it" } else { BY_YOU };
        let error =
            error.unwrap_or_else(|| self.core.with_location(RunError::new("paused", "The run waits", by)));
        self.status = if failed.is_some() { RunStatus::Failed } else { RunStatus::Paused };
        (self.core.phase, self.error) = (RunPhase::Suspended, Some(error));
        let progress = self.progress();
        self.core.emit_event(RunEvent::run_finished(progress));
        self.core.push_effect(Effect::Finish);
    }

    /// Every branch waits for the user, or for a branch that does.
    pub(super) fn is_idle(&self) -> bool {
        let withdraws = self.withdraws_delegation();
        let still = |branch: &Branch| match branch.wait_state {
            _ if self.core.is_handing_over() && branch.next_state.is_some() => true,
            WaitState::Person(_, asked) => asked != PendingQuestion::Message && !self.is_prompt(branch),
            WaitState::Approval(_)
            | WaitState::Fork
            | WaitState::Agents(_)
            | WaitState::Held
            | WaitState::ToolHeld => true,
            // the rest of its time runs after the run is resumed
            WaitState::Timer(_) => self.core.is_handing_over(),
            WaitState::Model(_) | WaitState::Tool(_) => withdraws && self.waits_for_sub_agent_result(branch),
            WaitState::New
            | WaitState::Script(_)
            | WaitState::Values(_)
            | WaitState::Choice(_)
            | WaitState::ToolCheck(_)
            | WaitState::Ending
            | WaitState::Over => false,
        };
        let calls_run = |branch: &Branch| branch.concurrent_calls().next().is_some();
        self.core.branches.all().all(|branch| still(branch) && !calls_run(branch))
            && (self.core.is_stopping()
                || self.core.branches.all().any(|branch| is_waiting(&branch.wait_state)))
    }
}
