//! Which lane an input is for, and letting every lane go on as far as it can.

use super::snapshot_progress::SnapshotProgress;
use super::{Branch, Effect, Input, Machine, PendingQuestion, WaitState};
use synthdev_domain::ids::StateIx;

impl Machine {
    /// Makes the lane current that an input is for. `false`: nobody waits for it any more, because a cancel, a
    /// time limit or a finished join overtook it.
    pub(super) fn turn_to(&mut self, input: &Input) -> bool {
        // a run that ends in a branch has no other lane left
        let Some(call) = input.answered_call() else {
            // a run that goes back stands in the lane that is about to enter its state
            let stands = matches!(input, Input::Returned(_) | Input::Resumed(_) | Input::Stopped { .. });
            return stands || self.lane.phase == WaitState::Ending || self.switch(0);
        };
        if self.snapshot == SnapshotProgress::Pending(call) || self.lane.awaits(call) {
            return true;
        }
        let found = self.lanes.iter().find(|(_, lane)| lane.awaits(call)).map(|(id, _)| *id);
        found.is_some_and(|id| self.switch(id))
    }

    pub(super) fn switch(&mut self, id: u64) -> bool {
        if self.lane.id == id {
            return true;
        }
        let Some(next) = self.lanes.remove(&id) else { return false };
        let previous = std::mem::replace(&mut self.lane, next);
        self.lanes.insert(previous.id, previous);
        true
    }

    /// Goes back to a lane and gives up the current one.
    pub(super) fn leave_for(&mut self, id: u64) -> Option<Branch> {
        let next = self.lanes.remove(&id)?;
        Some(std::mem::replace(&mut self.lane, next))
    }

    /// Runs until every lane waits for something outside.
    pub(super) fn settle(&mut self) {
        if self.halted {
            return;
        }
        loop {
            while let Some(target) = self.next_state() {
                if self.halt == Some(self.entered + 1) {
                    self.lane.jump = Some(target);
                    (self.halt, self.halted) = (None, true);
                    return;
                }
                if self.parks_before(target) {
                    break;
                }
                if !self.breaks_before_state(target) {
                    self.enter(target);
                }
            }
            if let Some(ended) = self.lane.ended.take() {
                self.on_lane_ended(ended);
                continue;
            }
            let next = self.ready.pop_front().or_else(|| self.released());
            let Some(next) = next else { return };
            if self.lane.phase == WaitState::Over || !self.switch(next) {
                continue;
            }
            if self.lane.phase == WaitState::ToolHeld {
                self.run_held_tool();
            } else if self.lane.phase == WaitState::Held {
                self.call_model();
            }
        }
    }

    /// Where the current lane goes, unless it stands before that.
    fn next_state(&mut self) -> Option<StateIx> {
        if matches!(self.lane.phase, WaitState::Person(_, PendingQuestion::Break(_))) {
            None
        } else {
            self.lane.jump.take()
        }
    }

    /// Lets everything that waits for the snapshot try again.
    pub(super) fn wake_held(&mut self) {
        let held = self.lanes.values().filter(|lane| lane.phase == WaitState::ToolHeld).map(|lane| lane.id);
        self.ready.extend(held);
        if self.lane.phase == WaitState::ToolHeld {
            self.run_held_tool();
        }
    }

    /// Stops everything but what the current lane waits for: the input at hand has just answered that.
    pub(super) fn stop_beside(&mut self) {
        for frame in &mut self.lane.frames {
            for call in frame.take_timers() {
                self.out.effects.push(Effect::Abort { call });
            }
        }
        self.note_stops(true);
        self.lane.fork = None;
        for lane in std::mem::take(&mut self.lanes).into_values() {
            self.stop_lane(&lane);
        }
        self.ready.clear();
    }

    /// Stops everything everywhere and makes the root current: the run itself is about to end.
    pub(super) fn stop_all(&mut self) {
        self.withdraw_own();
        self.note_stops(true);
        if let Some(root) = self.lanes.remove(&0) {
            let branch = std::mem::replace(&mut self.lane, root);
            for call in branch.timers() {
                self.effect(Effect::Abort { call });
            }
        }
        self.stop_beside();
    }

    /// Stops every branch and item of the current lane, with all that they have started.
    pub(super) fn stop_branches(&mut self) {
        if self.lane.fork.as_ref().is_some_and(|fork| !fork.running.is_empty()) {
            self.note_stops(false);
        }
        let Some(fork) = self.lane.fork.as_mut() else { return };
        let mut open: Vec<u64> = std::mem::take(&mut fork.running).into_values().collect();
        let mut touched = false;
        while let Some(id) = open.pop() {
            let Some(mut lane) = self.lanes.remove(&id) else { continue };
            touched |= lane.frames.iter().any(|frame| frame.touched);
            self.stop_lane(&lane);
            if let Some(inner) = lane.fork.take() {
                touched |= inner.touched;
                open.extend(inner.running.into_values());
            }
        }
        if let Some(fork) = self.lane.fork.as_mut() {
            fork.touched |= touched;
        }
    }

    fn stop_lane(&mut self, lane: &Branch) {
        self.withdraw(&lane.phase, lane.shown);
        for call in lane.timers() {
            self.effect(Effect::Abort { call });
        }
    }
}
