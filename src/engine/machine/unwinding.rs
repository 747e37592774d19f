//! Stopping: what a branch waits for, the branches of a state, everything that was started from a state, and all work
//! of the run.

use super::{Branch, Effect, Machine, RunEvent, WaitState};
use synthdev_domain::agent_team::SpawnedAgentStatus;

impl Machine {
    /// Stops everything but the call that the current branch waits for: the current input has answered that one.
    pub(super) fn stop_other_work(&mut self) {
        for frame in &mut self.core.branches.current.frames {
            for call in frame.take_timers() {
                self.core.output.effects.push(Effect::Abort { call });
            }
        }
        self.core.stop_concurrent_calls();
        self.note_stopped_calls(true);
        self.core.branches.current.fork = None;
        for branch in std::mem::take(&mut self.core.branches.others).into_values() {
            self.stop_branch(&branch);
        }
        self.core.branches.ready.clear();
        self.team.end_all_agents(&mut self.core);
    }

    /// Stops everything everywhere and makes the root current: the run itself is about to end.
    pub(super) fn stop_all(&mut self) {
        self.withdraw_pending();
        self.note_stopped_calls(true);
        if let Some(root) = self.core.branches.others.remove(&0) {
            let branch = std::mem::replace(&mut self.core.branches.current, root);
            for call in branch.timers() {
                self.core.push_effect(Effect::Abort { call });
            }
            // its agent may work beside agents that it has started
            self.withdraw_pending();
        }
        self.stop_other_work();
    }

    /// Stops every branch and item of the current branch, with all that they have started.
    pub(super) fn stop_branches(&mut self) {
        if self.core.branches.current.fork.as_ref().is_some_and(|fork| !fork.running_branches.is_empty()) {
            self.note_stopped_calls(false);
        }
        let Some(fork) = self.core.branches.current.fork.as_mut() else { return };
        let mut open: Vec<u64> = std::mem::take(&mut fork.running_branches).into_values().collect();
        let mut touched = false;
        while let Some(id) = open.pop() {
            let Some(mut branch) = self.core.branches.others.remove(&id) else { continue };
            touched |= branch.frames.iter().any(|frame| frame.files_touched);
            self.stop_agents(self.team.running_below(id, None), SpawnedAgentStatus::Cancelled);
            self.stop_branch(&branch);
            if let Some(inner) = branch.fork.take() {
                touched |= inner.files_touched;
                open.extend(inner.running_branches.into_values());
            }
        }
        if let Some(fork) = self.core.branches.current.fork.as_mut() {
            fork.files_touched |= touched;
        }
    }

    pub(super) fn stop_branch(&mut self, branch: &Branch) {
        self.withdraw_wait(&branch.wait_state, branch.was_shown);
        for call in branch.concurrent_calls().chain(branch.timers()) {
            self.core.push_effect(Effect::Abort { call });
        }
    }

    pub(super) fn withdraw_pending(&mut self) {
        self.note_stopped_call();
        self.core.stop_concurrent_calls();
        self.withdraw_wait(
            &self.core.branches.current.wait_state.clone(),
            self.core.branches.current.was_shown,
        );
    }

    /// Stops what a branch waits for. Closes a question or an approval that was shown, because its answer is not
    /// needed.
    pub(super) fn withdraw_wait(&mut self, wait_state: &WaitState, shown: bool) {
        let Some(call) = wait_state.pending_call() else { return };
        if matches!(wait_state, WaitState::Person(..) | WaitState::Approval(_)) {
            if !shown {
                return;
            }
            self.core.emit_event(RunEvent::question_withdrawn(call));
        }
        self.core.push_effect(Effect::Abort { call });
    }

    /// Stops everything that was started from the state that a frame of this branch is in.
    pub(super) fn unwind_to(&mut self, at: usize) {
        self.stop_branches();
        if let Some(fork) = self.core.branches.current.fork.take() {
            self.core.record_files_touched(fork.files_touched);
            self.core.emit_joined(&fork);
        }
        while self.core.branches.current.frames.len() > at + 1 {
            self.stop_agents_of_frame();
            self.core.stop_timers();
            let touched = self.pop_frame();
            self.core.record_files_touched(touched);
        }
    }

    /// Stops the agents that the agent of the innermost frame has started.
    pub(super) fn stop_agents_of_frame(&mut self) {
        let Some(frame) = self.core.frame().map(|frame| frame.id) else { return };
        let running = self.team.running_below(self.core.branches.current.id, Some(frame));
        self.stop_agents(running, SpawnedAgentStatus::Cancelled);
    }

    /// Stops agents with everything that they have started.
    pub(super) fn stop_agents(&mut self, numbers: Vec<u64>, status: SpawnedAgentStatus) {
        if numbers.is_empty() {
            return;
        }
        self.note_stopped_calls(false);
        let mut open: Vec<(u64, SpawnedAgentStatus)> =
            numbers.into_iter().rev().map(|number| (number, status)).collect();
        while let Some((number, status)) = open.pop() {
            let Some(agent) = self.team.get(number).filter(|agent| agent.is_running()) else { continue };
            let id = agent.branch;
            let inner = self.team.running_below(id, None).into_iter();
            open.extend(inner.map(|number| (number, SpawnedAgentStatus::Cancelled)));
            if let Some(branch) = self.core.branches.others.remove(&id) {
                self.core.record_files_touched(branch.frames.iter().any(|frame| frame.files_touched));
                self.stop_branch(&branch);
            }
            self.team.end_agent(&mut self.core, number, status);
        }
    }

    /// Leaves the innermost workflow; whether something there has changed files.
    pub(super) fn pop_frame(&mut self) -> bool {
        self.checkpoints.pause_clocks(&self.core);
        self.core.branches.current.frames.pop().is_some_and(|child| child.files_touched)
    }
}
