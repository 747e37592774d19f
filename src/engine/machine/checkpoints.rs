//! Checkpoints of delegated tasks: a task's branch while it waits for a step of a sub-agent, kept so that it can go
//! back.
//!
//! Going back is an input like any other: the journal keeps what was done since, and its cost counts. Files are not
//! restored.

use serde_json::Map;

use super::{Branch, Machine, NextHandler, PendingQuestion, RunEvent, WaitState};
use crate::effect::UserQuestion;
use synthdev_domain::agent_team::SpawnedAgentStatus;
use synthdev_domain::workflow::StateBody;

impl Machine {
    pub(super) fn on_checkpoint(&mut self, branch: u64, name: String) {
        let open: Vec<u64> = self.core.branches.all().map(|branch| branch.id).collect();
        self.checkpoints.retain_open(&open);
        if !self.checkpoints.has_room(branch)
            || !self.core.branches.switch_to(branch)
            || !self.waits_for_sub_agent()
        {
            return;
        }
        self.checkpoints.insert(branch, name, self.core.branches.current.clone());
    }

    pub(super) fn on_restore_checkpoint(&mut self, branch: u64, name: &str) -> NextHandler {
        let Some(checkpoint) = self.checkpoints.get(branch, name).cloned() else { return NextHandler::Wait };
        if !self.core.branches.switch_to(branch) || self.core.branches.current.wait_state == WaitState::Over {
            return NextHandler::Wait;
        }
        self.withdraw_pending();
        self.stop_agents(self.team.running_below(branch, None), SpawnedAgentStatus::Cancelled);
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
            ..checkpoint
        };
        self.checkpoints.pause_clocks(&self.core);
        let left = std::mem::replace(&mut self.core.branches.current, back);
        for frame in &mut self.core.branches.current.frames {
            // they ran out or were stopped since
            frame.take_timers().for_each(drop);
        }
        if self.core.spec.suspends_timeouts() {
            self.core.record_files_touched(left.frames.first().is_some_and(|frame| frame.files_touched));
            for frame in &mut self.core.branches.current.frames {
                frame.visit.budget_usage.resume_clock(self.core.now);
                self.checkpoints.resume_clocks(frame.visit.nth, self.core.now);
            }
        }
        self.checkpoints.count_restore(branch);
        self.emit_restored_data(&left);
        self.core.emit_warning("went_back", format!("a sub-agent went back to `{name}` of its task"));
        self.ask_task_again()
    }

    /// Only what its sub-agent is to do next is open.
    fn waits_for_sub_agent(&self) -> bool {
        let branch = &self.core.branches.current;
        branch.task_branch == Some(branch.id)
            && branch.fork.is_none()
            && match branch.wait_state {
                WaitState::Tool(call) => {
                    self.core.current_invocation().is_some_and(|(it, _)| self.delegates_tool(call, &it))
                }
                WaitState::Model(call) => self.task_for_call(call).is_some(),
                WaitState::Person(_, PendingQuestion::Pause) => self.is_prompt(branch),
                WaitState::New
                | WaitState::Script(_)
                | WaitState::Values(_)
                | WaitState::Choice(_)
                | WaitState::ToolCheck(_)
                | WaitState::Approval(_)
                | WaitState::Person(..)
                | WaitState::ToolHeld
                | WaitState::Held
                | WaitState::Fork
                | WaitState::Agents(_)
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
    fn ask_task_again(&mut self) -> NextHandler {
        self.arm_limits();
        if matches!(self.core.branches.current.wait_state, WaitState::Model(_)) {
            return NextHandler::CallModel;
        }
        let asked = self
            .core
            .branches
            .current
            .question
            .clone()
            .filter(|_| matches!(self.core.branches.current.wait_state, WaitState::Person(..)));
        if let Some(question) = asked {
            return self.ask_with_full_timeout(question);
        }
        let Some((invocation, risk)) = self.core.current_invocation() else { return NextHandler::Wait };
        NextHandler::run_tool(invocation, risk)
    }

    /// Every time limit around the step begins anew.
    fn arm_limits(&mut self) {
        if !self.core.spec.suspends_timeouts() {
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
    fn ask_with_full_timeout(&mut self, mut question: UserQuestion) -> NextHandler {
        if !self.core.spec.suspends_timeouts() {
            return self.core.ask_user(PendingQuestion::Pause, question);
        }
        let ttl = self.core.current_state().and_then(|(_, state)| match &state.work {
            StateBody::Pause(pause) => pause.ttl_ms,
            StateBody::None
            | StateBody::Agent { .. }
            | StateBody::Child { .. }
            | StateBody::Parallel(_)
            | StateBody::ForEach(_)
            | StateBody::Action(_)
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
}
