//! Which branch an input is for, and running every branch as far as it can go.

use super::snapshot_progress::SnapshotProgress;
use super::{Branch, Effect, Input, Machine, Next, PendingQuestion, WaitState};
use synthdev_domain::ids::StateIx;

impl Machine {
    /// Makes the branch current that an input is for. `false`: no branch waits for it any more, because a cancel, a
    /// time limit or a finished join overtook it.
    pub(super) fn activate_branch_for(&mut self, input: &Input) -> bool {
        // a run that ends in a branch has no other branch left
        let Some(call) = input.answered_call() else {
            // a rewound run is in the branch that is about to enter its state
            let stands = matches!(input, Input::Returned(_) | Input::Resumed(_) | Input::Stopped { .. });
            return stands || self.branch.phase == WaitState::Ending || self.switch_branch(0);
        };
        if self.snapshot == SnapshotProgress::Pending(call) || self.branch.awaits_call(call) {
            return true;
        }
        let found = self.branches.iter().find(|(_, lane)| lane.awaits_call(call)).map(|(id, _)| *id);
        found.is_some_and(|id| self.switch_branch(id))
    }

    pub(super) fn switch_branch(&mut self, id: u64) -> bool {
        if self.branch.id == id {
            return true;
        }
        let Some(next) = self.branches.remove(&id) else { return false };
        let previous = std::mem::replace(&mut self.branch, next);
        self.branches.insert(previous.id, previous);
        true
    }

    /// Switches to a branch and discards the current one.
    pub(super) fn switch_and_discard(&mut self, id: u64) -> Option<Branch> {
        let next = self.branches.remove(&id)?;
        Some(std::mem::replace(&mut self.branch, next))
    }

    /// Runs until every branch waits for an input.
    pub(super) fn run_ready_branches(&mut self) {
        if self.is_halted {
            return;
        }
        loop {
            while let Some(target) = self.next_state() {
                if self.halt_before_step == Some(self.step_count + 1) {
                    self.branch.next_state = Some(target);
                    (self.halt_before_step, self.is_halted) = (None, true);
                    return;
                }
                if self.suspends_before(target) {
                    break;
                }
                if !self.breaks_before_state(target) {
                    let next = self.enter_state(target);
                    self.advance(next);
                }
            }
            if let Some(ended) = self.branch.result.take() {
                let next = self.on_branch_ended(ended);
                self.advance(next);
                continue;
            }
            let next = self.ready_branches.pop_front().or_else(|| self.released_branch());
            let Some(next) = next else { return };
            if self.branch.phase == WaitState::Over || !self.switch_branch(next) {
                continue;
            }
            if self.branch.phase == WaitState::ToolHeld {
                self.advance(Next::RunWaitingTool);
            } else if self.branch.phase == WaitState::Held {
                self.advance(Next::CallModel);
            }
        }
    }

    /// Where the current branch continues, unless it stops before that.
    fn next_state(&mut self) -> Option<StateIx> {
        if matches!(self.branch.phase, WaitState::Person(_, PendingQuestion::Break(_))) {
            None
        } else {
            self.branch.next_state.take()
        }
    }

    /// Lets everything that waits for the snapshot try again.
    pub(super) fn wake_waiting_branches(&mut self) -> Next {
        let held =
            self.branches.values().filter(|lane| lane.phase == WaitState::ToolHeld).map(|lane| lane.id);
        self.ready_branches.extend(held);
        if self.branch.phase == WaitState::ToolHeld { Next::RunWaitingTool } else { Next::Wait }
    }

    /// Stops everything but the call that the current branch waits for: the current input has answered that one.
    pub(super) fn stop_other_work(&mut self) {
        for frame in &mut self.branch.frames {
            for call in frame.take_timers() {
                self.output.effects.push(Effect::Abort { call });
            }
        }
        self.note_stopped_calls(true);
        self.branch.fork = None;
        for lane in std::mem::take(&mut self.branches).into_values() {
            self.stop_branch(&lane);
        }
        self.ready_branches.clear();
    }

    /// Stops everything everywhere and makes the root current: the run itself is about to end.
    pub(super) fn stop_all(&mut self) {
        self.withdraw_pending();
        self.note_stopped_calls(true);
        if let Some(root) = self.branches.remove(&0) {
            let branch = std::mem::replace(&mut self.branch, root);
            for call in branch.timers() {
                self.push_effect(Effect::Abort { call });
            }
        }
        self.stop_other_work();
    }

    /// Stops every branch and item of the current branch, with all that they have started.
    pub(super) fn stop_branches(&mut self) {
        if self.branch.fork.as_ref().is_some_and(|fork| !fork.running_branches.is_empty()) {
            self.note_stopped_calls(false);
        }
        let Some(fork) = self.branch.fork.as_mut() else { return };
        let mut open: Vec<u64> = std::mem::take(&mut fork.running_branches).into_values().collect();
        let mut touched = false;
        while let Some(id) = open.pop() {
            let Some(mut lane) = self.branches.remove(&id) else { continue };
            touched |= lane.frames.iter().any(|frame| frame.files_touched);
            self.stop_branch(&lane);
            if let Some(inner) = lane.fork.take() {
                touched |= inner.files_touched;
                open.extend(inner.running_branches.into_values());
            }
        }
        if let Some(fork) = self.branch.fork.as_mut() {
            fork.files_touched |= touched;
        }
    }

    fn stop_branch(&mut self, lane: &Branch) {
        self.withdraw_wait(&lane.phase, lane.was_shown);
        for call in lane.timers() {
            self.push_effect(Effect::Abort { call });
        }
    }
}
