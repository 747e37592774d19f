//! Time limits of states are suspended while a branch is stopped: the time in which the user looks or types does not
//! count. The limit of a workflow covers that time too, and keeps running.
//!
//! A state around several branches is suspended as soon as one of them stops: no other begins a new state by then.

use std::collections::BTreeSet;

use super::{Effect, Machine, WaitState};

impl Machine {
    /// After each input: suspends the time limits of stopped branches and of the states around them; all others
    /// continue with their remaining time.
    pub(super) fn suspend_stopped_timeouts(&mut self) {
        let concerns = self.timeouts_suspended || self.breakpoints.stops_before_next_state;
        if !concerns
            || !self.core.spec.suspends_timeouts()
            || self.core.branches.current.wait_state == WaitState::Over
        {
            return;
        }
        let still = self.stopped_branches();
        self.timeouts_suspended = !still.is_empty();
        let branches: BTreeSet<u64> = self.core.branches.all().map(|branch| branch.id).collect();
        for id in branches {
            if still.contains(&id) { self.suspend_timeouts(id) } else { self.resume_timeouts(id) }
        }
    }

    /// Stopped branches, and all branches around them.
    fn stopped_branches(&self) -> BTreeSet<u64> {
        let mut still = BTreeSet::new();
        for branch in self.core.branches.all() {
            if !branch.is_at_breakpoint() {
                continue;
            }
            let mut around = Some(branch);
            while let Some(branch) = around.filter(|branch| still.insert(branch.id)) {
                around = self.core.branches.parent_of(branch);
            }
        }
        still
    }

    fn suspend_timeouts(&mut self, id: u64) {
        let now = self.core.now;
        let Some(branch) = self.core.branches.by_id_mut(id) else { return };
        let stopped: Vec<_> =
            branch.frames.iter_mut().filter_map(|frame| frame.state_timer.suspend(now)).collect();
        for call in stopped {
            self.core.push_effect(Effect::Abort { call });
        }
    }

    fn resume_timeouts(&mut self, id: u64) {
        let frames = self.core.branches.by_id(id).map_or(0, |branch| branch.frames.len());
        for at in 0..frames {
            let frame = self.core.branches.by_id_mut(id).and_then(|branch| branch.frames.get_mut(at));
            let Some(left_ms) = frame.and_then(|frame| frame.state_timer.resume()) else { continue };
            let again = self.core.time_limit(left_ms);
            if let Some(frame) = self.core.branches.by_id_mut(id).and_then(|branch| branch.frames.get_mut(at))
            {
                frame.state_timer = again;
            }
        }
    }
}
