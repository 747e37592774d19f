//! Which branch an input is for, and running every branch as far as it can go.

use super::run_phase::RunPhase;
use super::{Input, Machine, NextHandler, WaitState};
use synthdev_domain::ids::StateIx;

impl Machine {
    /// Makes the branch current that an input is for. `false`: no branch waits for it any more, because a cancel, a
    /// time limit or a finished join overtook it.
    pub(super) fn activate_branch_for(&mut self, input: &Input) -> bool {
        // a run that ends in a branch has no other branch left
        let Some(call) = input.answered_call() else {
            // a rewound run is in the branch that is about to enter its state
            let stands = matches!(input, Input::Rewound(_) | Input::Resumed(_) | Input::Stopped { .. });
            return stands
                || self.core.branches.current.wait_state == WaitState::Ending
                || self.core.branches.switch_to(0);
        };
        if self.snapshots.is_pending_call(call) || self.core.branches.current.awaits_call(call) {
            return true;
        }
        let found =
            self.core.branches.others.iter().find(|(_, branch)| branch.awaits_call(call)).map(|(id, _)| *id);
        found.is_some_and(|id| self.core.branches.switch_to(id))
    }

    /// Runs until every branch waits for an input.
    pub(super) fn run_ready_branches(&mut self) {
        if self.core.phase.is_halted() {
            return;
        }
        loop {
            while let Some(target) = self.next_state() {
                if self.breakpoints.halt_before_step == Some(self.step_count + 1) {
                    self.core.branches.current.next_state = Some(target);
                    self.breakpoints.halt_before_step = None;
                    self.core.phase = RunPhase::Halted;
                    return;
                }
                if self.suspends_before(target) {
                    break;
                }
                if !self.breakpoints.stop_before_state(&mut self.core, target, &self.ledger) {
                    let next = self.enter_state(target);
                    self.advance(next);
                }
            }
            if let Some(ended) = self.core.branches.current.result.take() {
                let next = self.on_branch_ended(ended);
                self.advance(next);
                continue;
            }
            let next =
                self.core.branches.ready.pop_front().or_else(|| self.budgets.released_branch(&self.core));
            let Some(next) = next else { return };
            if self.core.branches.current.wait_state == WaitState::Over || !self.core.branches.switch_to(next)
            {
                continue;
            }
            if self.core.branches.current.wait_state == WaitState::ToolHeld {
                self.advance(NextHandler::RunWaitingTool);
            } else if self.core.branches.current.wait_state == WaitState::Held {
                self.advance(NextHandler::CallModel);
            }
        }
    }

    /// Where the current branch continues, unless it stops before that.
    fn next_state(&mut self) -> Option<StateIx> {
        if self.core.branches.current.is_at_breakpoint() {
            None
        } else {
            self.core.branches.current.next_state.take()
        }
    }
}
