//! Time limits of states rest where a lane stands still: whoever looks, or types what shall be different, takes nothing
//! of them. That of a workflow is for all that happens meanwhile, and goes on.
//!
//! A state around several branches rests as soon as one of them stands: nothing new begins there by then.

use std::collections::BTreeSet;

use super::{Effect, Machine, PendingQuestion, WaitState};
use crate::run_spec::RESTS_SINCE;

impl Machine {
    /// After each input: stops the time limits of lanes that stand, and of what is around them; those of all others go
    /// on with what was left.
    pub(super) fn suspend_stopped_timeouts(&mut self) {
        let concerns = self.resting || self.hold;
        if !concerns || self.spec.machine_version < RESTS_SINCE || self.lane.phase == WaitState::Over {
            return;
        }
        let still = self.standing();
        self.resting = !still.is_empty();
        let lanes: BTreeSet<u64> = self.every_lane().map(|lane| lane.id).collect();
        for id in lanes {
            if still.contains(&id) { self.rest_limits(id) } else { self.wake_limits(id) }
        }
    }

    /// Lanes that stand, and all around them.
    fn standing(&self) -> BTreeSet<u64> {
        let mut still = BTreeSet::new();
        for lane in self.every_lane() {
            if !matches!(lane.phase, WaitState::Person(_, PendingQuestion::Break(_))) {
                continue;
            }
            let mut around = Some(lane);
            while let Some(lane) = around.filter(|lane| still.insert(lane.id)) {
                around = lane.parent.and_then(|(id, _)| self.lane_of(id));
            }
        }
        still
    }

    fn rest_limits(&mut self, id: u64) {
        let now = self.now;
        let Some(lane) = self.lane_mut(id) else { return };
        let stopped: Vec<_> =
            lane.frames.iter_mut().filter_map(|frame| frame.state_timer.rest(now)).collect();
        for call in stopped {
            self.effect(Effect::Abort { call });
        }
    }

    fn wake_limits(&mut self, id: u64) {
        let frames = self.lane_of(id).map_or(0, |lane| lane.frames.len());
        for at in 0..frames {
            let frame = self.lane_mut(id).and_then(|lane| lane.frames.get_mut(at));
            let Some(left_ms) = frame.and_then(|frame| frame.state_timer.wake()) else { continue };
            let again = self.time_limit(left_ms);
            if let Some(frame) = self.lane_mut(id).and_then(|lane| lane.frames.get_mut(at)) {
                frame.state_timer = again;
            }
        }
    }
}
