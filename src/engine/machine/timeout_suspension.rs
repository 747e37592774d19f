//! Time limits of states are suspended while a branch is stopped: the time in which the user looks or types does not
//! count. The limit of a workflow covers that time too, and keeps running.
//!
//! A state around several branches is suspended as soon as one of them stops: no other begins a new state by then.

use std::collections::BTreeSet;

use super::{Effect, Machine, PendingQuestion, WaitState};

impl Machine {
    /// After each input: suspends the time limits of stopped branches and of the states around them; all others
    /// continue with their remaining time.
    pub(super) fn suspend_stopped_timeouts(&mut self) {
        let concerns = self.timeouts_suspended || self.breakpoints.step_mode;
        if !concerns
            || !self.core.spec.suspends_timeouts()
            || self.core.branches.current.phase == WaitState::Over
        {
            return;
        }
        let still = self.stopped_branches();
        self.timeouts_suspended = !still.is_empty();
        let lanes: BTreeSet<u64> = self.core.branches.all().map(|lane| lane.id).collect();
        for id in lanes {
            if still.contains(&id) { self.suspend_timeouts(id) } else { self.resume_timeouts(id) }
        }
    }

    /// Stopped branches, and all branches around them.
    fn stopped_branches(&self) -> BTreeSet<u64> {
        let mut still = BTreeSet::new();
        for lane in self.core.branches.all() {
            if !matches!(lane.phase, WaitState::Person(_, PendingQuestion::Break(_))) {
                continue;
            }
            let mut around = Some(lane);
            while let Some(lane) = around.filter(|lane| still.insert(lane.id)) {
                around = self.core.branches.parent_of(lane);
            }
        }
        still
    }

    fn suspend_timeouts(&mut self, id: u64) {
        let now = self.core.now;
        let Some(lane) = self.core.branches.by_id_mut(id) else { return };
        let stopped: Vec<_> =
            lane.frames.iter_mut().filter_map(|frame| frame.state_timer.suspend(now)).collect();
        for call in stopped {
            self.core.push_effect(Effect::Abort { call });
        }
    }

    fn resume_timeouts(&mut self, id: u64) {
        let frames = self.core.branches.by_id(id).map_or(0, |lane| lane.frames.len());
        for at in 0..frames {
            let frame = self.core.branches.by_id_mut(id).and_then(|lane| lane.frames.get_mut(at));
            let Some(left_ms) = frame.and_then(|frame| frame.state_timer.resume()) else { continue };
            let again = self.core.time_limit(left_ms);
            if let Some(frame) = self.core.branches.by_id_mut(id).and_then(|lane| lane.frames.get_mut(at)) {
                frame.state_timer = again;
            }
        }
    }
}
