//! Checkpoints of delegated tasks: a task's branch while it waits for a step of a sub-agent, kept so that it can go
//! back.
//!
//! Going back is an input like any other: the journal keeps what was done since, and its cost counts. Files are not
//! restored.

use std::sync::Arc;

use serde_json::Map;

use super::{Branch, BudgetScope, Machine, Next, PendingQuestion, RunEvent, WaitState};
use crate::budget_usage::{BudgetUnit, BudgetUsage};
use crate::effect::UserQuestion;
use synthdev_domain::cost::TokenUsage;
use synthdev_domain::workflow::StateBody;

/// Most checkpoints of one task.
pub const POINTS: usize = 20;

impl Machine {
    /// The checkpoints of a task, in the order of their names.
    pub fn checkpoint_names(&self, lane: u64) -> impl Iterator<Item = &str> {
        self.checkpoints
            .range((lane, String::new())..)
            .take_while(move |((own, _), _)| *own == lane)
            .map(|((_, name), _)| name.as_str())
    }

    /// How often a task was restored to a checkpoint.
    pub fn restore_count(&self, lane: u64) -> u64 {
        self.restored.get(&lane).copied().unwrap_or(0)
    }

    pub(super) fn on_checkpoint(&mut self, lane: u64, name: String) {
        let open: Vec<u64> = self.core.branches.all().map(|lane| lane.id).collect();
        self.checkpoints.retain(|(own, _), _| open.contains(own));
        if self.checkpoint_names(lane).count() >= POINTS
            || !self.core.branches.switch_to(lane)
            || !self.waits_for_sub_agent()
        {
            return;
        }
        let point = Arc::new(self.core.branches.current.clone());
        self.checkpoints.insert((lane, name), point);
    }

    pub(super) fn on_restore_checkpoint(&mut self, lane: u64, name: &str) -> Next {
        let Some(point) = self.checkpoints.get(&(lane, name.to_owned())).cloned() else { return Next::Wait };
        if !self.core.branches.switch_to(lane) || self.core.branches.current.phase == WaitState::Over {
            return Next::Wait;
        }
        self.withdraw_pending();
        self.unwind_to(0);
        self.core.stop_timers();
        let (steps, granted_steps) =
            (self.core.branches.current.steps, self.core.branches.current.extra_steps);
        let back = Branch {
            steps,
            extra_steps: granted_steps,
            next_state: None,
            result: None,
            was_shown: false,
            ..Branch::clone(&point)
        };
        // drops the second owner of the checkpoint, so that changing its budget usage copies nothing
        drop(point);
        self.pause_checkpoint_clocks();
        let left = std::mem::replace(&mut self.core.branches.current, back);
        for frame in &mut self.core.branches.current.frames {
            // they ran out or were stopped since
            frame.take_timers().for_each(drop);
        }
        if self.keeps_checkpoint_spending() {
            self.core.record_files_touched(left.frames.first().is_some_and(|frame| frame.files_touched));
            self.resume_checkpoint_clocks();
        }
        *self.restored.entry(lane).or_insert(0) += 1;
        self.emit_restored_data(&left);
        self.core.emit_warning("went_back", format!("a sub-agent went back to `{name}` of its task"));
        self.ask_task_again()
    }

    /// Only what its sub-agent is to do next is open.
    fn waits_for_sub_agent(&self) -> bool {
        let lane = &self.core.branches.current;
        lane.task_branch == Some(lane.id)
            && lane.fork.is_none()
            && match lane.phase {
                WaitState::Tool(call) => {
                    self.current_invocation().is_some_and(|(it, _)| self.delegates_tool(call, &it))
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

    /// Front-ends that show the data get an event with what changed.
    fn emit_restored_data(&mut self, left: &Branch) {
        let (Some(was), Some(now)) = (left.frames.first(), self.core.branches.current.frames.first()) else {
            return;
        };
        let changed = now.data.iter().filter(|(key, value)| was.data.get(key.as_str()) != Some(value));
        let set: Map<_, _> = changed.map(|(key, value)| (key.clone(), value.clone())).collect();
        let removed: Vec<String> =
            was.data.keys().filter(|key| !now.data.contains_key(key.as_str())).cloned().collect();
        if !set.is_empty() || !removed.is_empty() {
            let state = self.core.state_path_in(&self.core.branches.current, 0);
            self.core.emit_event(RunEvent::DataChanged { state, set, removed });
        }
    }

    /// The same step once more, under a name of its own.
    fn ask_task_again(&mut self) -> Next {
        self.arm_limits();
        if matches!(self.core.branches.current.phase, WaitState::Model(_)) {
            return Next::CallModel;
        }
        let asked = self
            .core
            .branches
            .current
            .question
            .clone()
            .filter(|_| matches!(self.core.branches.current.phase, WaitState::Person(..)));
        if let Some(question) = asked {
            return self.ask_with_full_timeout(question);
        }
        let Some((invocation, risk)) = self.current_invocation() else { return Next::Wait };
        Next::run_tool(invocation, risk)
    }

    /// Every time limit around the step begins anew.
    fn arm_limits(&mut self) {
        if !self.keeps_checkpoint_spending() {
            self.core.arm_workflow_timer();
            if let Some((_, state)) = self.core.current_state() {
                self.core.arm_state_timer(&state);
            }
            return;
        }
        for at in 0..self.core.branches.current.frames.len() {
            let (whole, visit) = self.timeouts_of_frame(at);
            let timer = whole.map(|delay_ms| self.core.set_timer(delay_ms, false));
            let state_timer = visit.map(|delay_ms| self.core.time_limit(delay_ms)).unwrap_or_default();
            let Some(frame) = self.core.branches.current.frames.get_mut(at) else { return };
            (frame.timer, frame.state_timer) = (timer, state_timer);
        }
    }

    /// The time limits of a workflow in progress and of the state in which it is.
    fn timeouts_of_frame(&self, at: usize) -> (Option<u64>, Option<u64>) {
        let frame = self.core.branches.current.frames.get(at);
        let found =
            frame.and_then(|frame| Some((frame, self.core.spec.program.workflows.get(frame.workflow.0)?)));
        let Some((frame, workflow)) = found else { return (None, None) };
        // an item belongs to a workflow whose time already runs
        let item = at == 0 && self.core.branches.current.parent.is_some();
        let visit = workflow.state(frame.state).and_then(|state| state.timeout_ms);
        (workflow.timeout_ms.filter(|_| !item), visit)
    }

    /// The same question, with all the time that it had.
    fn ask_with_full_timeout(&mut self, mut question: UserQuestion) -> Next {
        if !self.keeps_checkpoint_spending() {
            return self.ask_user(PendingQuestion::Pause, question);
        }
        let ttl = self.core.current_state().and_then(|(_, state)| match &state.work {
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
            *until = Some(self.core.time_after(ttl));
            let call = self.core.set_timer(ttl, true);
            if let Some(frame) = self.core.frame_mut() {
                frame.visit.pause_timer = Some(call);
            }
        }
        self.ask_pause_question(question)
    }

    fn keeps_checkpoint_spending(&self) -> bool {
        self.core.spec.suspends_timeouts()
    }

    /// The visit's spending so far is carried into its checkpoints: going back refunds nothing.
    fn checkpoint_budgets(&mut self, nth: u64) -> impl Iterator<Item = &mut BudgetUsage> {
        let known = move |point: &&mut Arc<Branch>| point.frames.iter().any(|frame| frame.visit.nth == nth);
        let points = self.checkpoints.values_mut().filter(known);
        let frames = points.flat_map(|point| &mut Arc::make_mut(point).frames);
        frames
            .map(|frame| &mut frame.visit)
            .filter(move |stay| stay.nth == nth)
            .map(|stay| &mut stay.budget_usage)
    }

    pub(super) fn spend_in_checkpoints(&mut self, nth: u64, usage: &TokenUsage, cost_usd: Option<f64>) {
        if self.keeps_checkpoint_spending() {
            self.checkpoint_budgets(nth).for_each(|purse| purse.add_usage(usage, cost_usd));
        }
    }

    pub(super) fn grant_in_checkpoints(&mut self, scope: BudgetScope, kind: BudgetUnit, more: f64) {
        let BudgetScope::State { branch_id: lane, frame_id: frame } = scope else { return };
        let nth = self
            .core
            .branches
            .by_id(lane)
            .and_then(|lane| lane.frames.get(frame))
            .map(|frame| frame.visit.nth);
        if let Some(nth) = nth.filter(|_| self.keeps_checkpoint_spending()) {
            self.checkpoint_budgets(nth).for_each(|purse| purse.grant_more(kind, more));
        }
    }

    /// The visit of the innermost frame is over, but for a later return to a checkpoint: its time continues then.
    pub(super) fn pause_checkpoint_clocks(&mut self) {
        if self.checkpoints.is_empty() || !self.keeps_checkpoint_spending() {
            return;
        }
        let now = self.core.now;
        if let Some(nth) = self.core.frame().map(|frame| frame.visit.nth) {
            self.checkpoint_budgets(nth).for_each(|purse| purse.pause_clock(now));
        }
    }

    /// The visits of this branch are open again.
    fn resume_checkpoint_clocks(&mut self) {
        let now = self.core.now;
        let mut open = Vec::with_capacity(self.core.branches.current.frames.len());
        for frame in &mut self.core.branches.current.frames {
            frame.visit.budget_usage.resume_clock(now);
            open.push(frame.visit.nth);
        }
        for nth in open {
            self.checkpoint_budgets(nth).for_each(|purse| purse.resume_clock(now));
        }
    }

    pub(super) fn exclude_time_in_checkpoints(&mut self, gap: i64) {
        if !self.keeps_checkpoint_spending() {
            return;
        }
        let frames = self.checkpoints.values_mut().flat_map(|point| &mut Arc::make_mut(point).frames);
        let purses = frames.map(|frame| &mut frame.visit.budget_usage);
        // a paused clock resumes from its own reading
        purses.filter(|purse| !purse.is_clock_paused()).for_each(|purse| purse.exclude_time(gap));
    }

    /// Leaves the innermost workflow; whether something there has changed files.
    pub(super) fn pop_frame(&mut self) -> bool {
        self.pause_checkpoint_clocks();
        self.core.branches.current.frames.pop().is_some_and(|child| child.files_touched)
    }
}
