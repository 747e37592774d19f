//! Errands at a point to which somebody wants to come back: their lane as it waits for a step of a sub-agent.
//!
//! Going back is an input like any other: what was done since stands in the journal, and its cost stays. Files are not
//! brought back.

use std::sync::Arc;

use serde_json::Map;

use super::{Branch, BudgetScope, Machine, PendingQuestion, RunEvent, WaitState};
use crate::budget_usage::{BudgetUnit, BudgetUsage};
use crate::effect::UserQuestion;
use crate::run_spec::RESTS_SINCE;
use synthdev_domain::cost::TokenUsage;
use synthdev_domain::workflow::StateBody;

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

    /// How often an errand went back.
    pub fn went_back(&self, lane: u64) -> u64 {
        self.restored.get(&lane).copied().unwrap_or(0)
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
        if !self.switch(lane) || self.lane.phase == WaitState::Over {
            return;
        }
        self.withdraw_own();
        self.unwind_to(0);
        self.stop_timers();
        let (steps, granted_steps) = (self.lane.steps, self.lane.granted_steps);
        let back =
            Branch { steps, granted_steps, jump: None, ended: None, shown: false, ..Branch::clone(&point) };
        // nothing else holds the point when its purses are written
        drop(point);
        self.stop_kept();
        let left = std::mem::replace(&mut self.lane, back);
        for frame in &mut self.lane.frames {
            // they ran out or were stopped since
            frame.take_timers().for_each(drop);
        }
        if self.keeps_spending() {
            self.keep_touched(left.frames.first().is_some_and(|frame| frame.touched));
            self.go_on_kept();
        }
        *self.restored.entry(lane).or_insert(0) += 1;
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
                WaitState::Tool(call) => {
                    self.current_invocation().is_some_and(|(it, _)| self.hands_out(call, &it))
                }
                WaitState::Model(call) => self.task_for_call(call).is_some(),
                WaitState::Person(_, PendingQuestion::Pause) => self.is_prompt(lane),
                WaitState::New
                | WaitState::Script(_)
                | WaitState::Values(_)
                | WaitState::Choice(_)
                | WaitState::Approval(_)
                | WaitState::Person(..)
                | WaitState::ToolHeld
                | WaitState::Held
                | WaitState::Fork
                | WaitState::Timer(_)
                | WaitState::Ending
                | WaitState::Over => false,
            }
    }

    /// Whoever watches the values is told what is different now.
    fn tell_difference(&mut self, left: &Branch) {
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
        self.arm_limits();
        if matches!(self.lane.phase, WaitState::Model(_)) {
            return self.call_model();
        }
        let asked = self.lane.question.clone().filter(|_| matches!(self.lane.phase, WaitState::Person(..)));
        if let Some(question) = asked {
            return self.ask_in_time(question);
        }
        if let Some((invocation, risk)) = self.current_invocation() {
            self.run_tool(invocation, risk);
        }
    }

    /// Every time limit around the step begins anew.
    fn arm_limits(&mut self) {
        if !self.keeps_spending() {
            self.arm_workflow_timer();
            if let Some((_, state)) = self.current_state() {
                self.arm_state_timer(&state);
            }
            return;
        }
        for at in 0..self.lane.frames.len() {
            let (whole, visit) = self.limits_of(at);
            let timer = whole.map(|delay_ms| self.set_timer(delay_ms, false));
            let state_timer = visit.map(|delay_ms| self.time_limit(delay_ms)).unwrap_or_default();
            let Some(frame) = self.lane.frames.get_mut(at) else { return };
            (frame.timer, frame.state_timer) = (timer, state_timer);
        }
    }

    /// The time limits of a workflow in progress and of the state in which it is.
    fn limits_of(&self, at: usize) -> (Option<u64>, Option<u64>) {
        let frame = self.lane.frames.get(at);
        let found = frame.and_then(|frame| Some((frame, self.spec.program.workflows.get(frame.workflow.0)?)));
        let Some((frame, workflow)) = found else { return (None, None) };
        // an item belongs to a workflow whose time already runs
        let item = at == 0 && self.lane.parent.is_some();
        let visit = workflow.state(frame.state).and_then(|state| state.timeout_ms);
        (workflow.timeout_ms.filter(|_| !item), visit)
    }

    /// The same question, with all the time that it had.
    fn ask_in_time(&mut self, mut question: UserQuestion) {
        if !self.keeps_spending() {
            return self.ask_person(PendingQuestion::Pause, question);
        }
        let ttl = self.current_state().and_then(|(_, state)| match &state.work {
            StateBody::Pause(pause) => pause.ttl_ms,
            StateBody::None
            | StateBody::Agent { .. }
            | StateBody::Child { .. }
            | StateBody::Parallel(_)
            | StateBody::ForEach(_)
            | StateBody::Step(_)
            | StateBody::Wait(_)
            | StateBody::Fail { .. } => None,
        });
        if let (Some(ttl), UserQuestion::Pause { until, .. }) = (ttl, &mut question) {
            *until = Some(self.later(ttl));
            let call = self.set_timer(ttl, true);
            if let Some(frame) = self.frame_mut() {
                frame.stay.ttl = Some(call);
            }
        }
        self.ask_pause(question);
    }

    fn keeps_spending(&self) -> bool {
        self.spec.machine_version >= RESTS_SINCE
    }

    /// What is known at a point of what a stay has spent goes on with the stay: going back gives nothing back.
    fn purses_kept(&mut self, nth: u64) -> impl Iterator<Item = &mut BudgetUsage> {
        let known = move |point: &&mut Arc<Branch>| point.frames.iter().any(|frame| frame.stay.nth == nth);
        let points = self.kept.values_mut().filter(known);
        let frames = points.flat_map(|point| &mut Arc::make_mut(point).frames);
        frames.map(|frame| &mut frame.stay).filter(move |stay| stay.nth == nth).map(|stay| &mut stay.purse)
    }

    pub(super) fn spend_kept(&mut self, nth: u64, usage: &TokenUsage, cost_usd: Option<f64>) {
        if self.keeps_spending() {
            self.purses_kept(nth).for_each(|purse| purse.spend(usage, cost_usd));
        }
    }

    pub(super) fn grant_kept(&mut self, scope: BudgetScope, kind: BudgetUnit, more: f64) {
        let BudgetScope::State { lane, frame } = scope else { return };
        let nth = self.lane_of(lane).and_then(|lane| lane.frames.get(frame)).map(|frame| frame.stay.nth);
        if let Some(nth) = nth.filter(|_| self.keeps_spending()) {
            self.purses_kept(nth).for_each(|purse| purse.grant(kind, more));
        }
    }

    /// The stay of the innermost frame is over, but for who goes back to it: then its time goes on.
    pub(super) fn stop_kept(&mut self) {
        if self.kept.is_empty() || !self.keeps_spending() {
            return;
        }
        let now = self.now;
        if let Some(nth) = self.frame().map(|frame| frame.stay.nth) {
            self.purses_kept(nth).for_each(|purse| purse.stop(now));
        }
    }

    /// The stays of this lane are not over after all.
    fn go_on_kept(&mut self) {
        let now = self.now;
        let mut open = Vec::with_capacity(self.lane.frames.len());
        for frame in &mut self.lane.frames {
            frame.stay.purse.resume_clock(now);
            open.push(frame.stay.nth);
        }
        for nth in open {
            self.purses_kept(nth).for_each(|purse| purse.resume_clock(now));
        }
    }

    pub(super) fn skip_kept(&mut self, gap: i64) {
        if !self.keeps_spending() {
            return;
        }
        let frames = self.kept.values_mut().flat_map(|point| &mut Arc::make_mut(point).frames);
        let purses = frames.map(|frame| &mut frame.stay.purse);
        // one that is stopped will go on from where it was
        purses.filter(|purse| !purse.is_stopped()).for_each(|purse| purse.skip(gap));
    }

    /// Leaves the innermost workflow; whether something there has changed files.
    pub(super) fn leave_frame(&mut self) -> bool {
        self.stop_kept();
        self.lane.frames.pop().is_some_and(|child| child.touched)
    }
}
