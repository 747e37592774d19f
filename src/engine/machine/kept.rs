//! Errands at a point to which somebody wants to come back (SUBA-20): their lane as it waits for a step of a sub-agent.
//!
//! Going back is an input like any other: what was done since stands in the journal, and its cost stays. Files are not
//! brought back.

use std::sync::Arc;

use serde_json::Map;

use super::{Asked, Lane, Machine, Phase, RunEvent};

/// So many points are kept of one errand.
pub const POINTS: usize = 20;

impl Machine {
    /// The points of an errand, in the order of their names.
    pub fn points(&self, lane: u64) -> impl Iterator<Item = &str> {
        self.kept
            .range((lane, String::new())..)
            .take_while(move |((own, _), _)| *own == lane)
            .map(|((_, name), _)| name.as_str())
    }

    /// How often errands went back.
    pub fn went_back(&self) -> u64 {
        self.restored
    }

    pub(super) fn on_keep(&mut self, lane: u64, name: String) {
        let open: Vec<u64> = self.every_lane().map(|lane| lane.id).collect();
        self.kept.retain(|(own, _), _| open.contains(own));
        if self.points(lane).count() >= POINTS || !self.switch(lane) || !self.waits_for_sub_agent() {
            return;
        }
        let point = Arc::new(self.lane.clone());
        self.kept.insert((lane, name), point);
    }

    pub(super) fn on_go_back(&mut self, lane: u64, name: &str) {
        let Some(point) = self.kept.get(&(lane, name.to_owned())).cloned() else { return };
        if !self.switch(lane) || self.lane.phase == Phase::Over {
            return;
        }
        self.withdraw_own();
        self.unwind_to(0);
        self.stop_timers();
        let (steps, granted_steps) = (self.lane.steps, self.lane.granted_steps);
        let back =
            Lane { steps, granted_steps, jump: None, ended: None, shown: false, ..Lane::clone(&point) };
        let left = std::mem::replace(&mut self.lane, back);
        for frame in &mut self.lane.frames {
            // they ran out or were stopped since
            frame.take_timers().for_each(drop);
        }
        self.restored += 1;
        self.tell_difference(&left);
        self.warn("went_back", format!("a sub-agent went back to `{name}` of its task"));
        self.ask_once_more();
    }

    /// Only what its sub-agent is to do next is open.
    fn waits_for_sub_agent(&self) -> bool {
        let lane = &self.lane;
        lane.errand == Some(lane.id)
            && lane.fork.is_none()
            && match lane.phase {
                Phase::Tool(call) => {
                    self.current_invocation().is_some_and(|(it, _)| self.hands_out(call, &it))
                }
                Phase::Model(call) => self.errand_of(call).is_some(),
                Phase::Person(_, Asked::Pause) => self.is_prompt(lane),
                Phase::New
                | Phase::Script(_)
                | Phase::Values(_)
                | Phase::Choice(_)
                | Phase::Approval(_)
                | Phase::Person(..)
                | Phase::ToolHeld
                | Phase::Held
                | Phase::Fork
                | Phase::Timer(_)
                | Phase::Ending
                | Phase::Over => false,
            }
    }

    /// Whoever watches the values is told what is different now.
    fn tell_difference(&mut self, left: &Lane) {
        let (Some(was), Some(now)) = (left.frames.first(), self.lane.frames.first()) else { return };
        let changed = now.data.iter().filter(|(key, value)| was.data.get(key.as_str()) != Some(value));
        let set: Map<_, _> = changed.map(|(key, value)| (key.clone(), value.clone())).collect();
        let removed: Vec<String> =
            was.data.keys().filter(|key| !now.data.contains_key(key.as_str())).cloned().collect();
        if !set.is_empty() || !removed.is_empty() {
            let state = self.name_in(&self.lane, 0);
            self.emit(RunEvent::DataChanged { state, set, removed });
        }
    }

    /// The same step once more, under a name of its own.
    fn ask_once_more(&mut self) {
        self.arm_workflow_timer();
        if let Some((_, state)) = self.here() {
            self.arm_state_timer(&state);
        }
        if matches!(self.lane.phase, Phase::Model(_)) {
            return self.call_model();
        }
        let asked = self.lane.question.clone().filter(|_| matches!(self.lane.phase, Phase::Person(..)));
        if let Some(question) = asked {
            return self.ask_person(Asked::Pause, question);
        }
        if let Some((invocation, risk)) = self.current_invocation() {
            self.run_tool(invocation, risk);
        }
    }
}
