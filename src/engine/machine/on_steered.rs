//! `Input::Steered`: breakpoints, step mode, and values that the user sets while the run is stopped.
//!
//! A stopped branch is a question like any other: it is recorded, asked again after a crash, and suspended without a
//! user. While one branch is stopped, the others stop before their next state, so that nothing changes while the user
//! looks.

use serde_json::Value;

use super::{CallId, Effect, Machine, NextHandler, RunEvent, WaitState};
use crate::input::UserAnswer;
use crate::steering::{Breakpoint, SteeringAction};
use synthdev_domain::run_error::RunError;

impl Machine {
    pub(super) fn on_steered(&mut self, steering: SteeringAction) -> NextHandler {
        match steering {
            SteeringAction::Pause => self.breakpoints.stops_before_next_state = true,
            SteeringAction::Park => self.suspend_for_handover(),
            SteeringAction::Interrupt { partial } => self.on_interrupted(&partial),
            SteeringAction::Compact { keep } => return self.on_compaction_wanted(keep),
            SteeringAction::Rename { name } => self.on_conversation_renamed(&name),
            SteeringAction::Leave { partial } => self.on_conversation_left(partial),
            SteeringAction::Step => {
                self.continue_all_breakpoints();
                self.breakpoints.stops_before_next_state = true;
            }
            SteeringAction::Continue => {
                if std::mem::take(&mut self.breakpoints.set.step) {
                    self.breakpoints.emit_breakpoints(&mut self.core);
                }
                self.continue_all_breakpoints();
            }
            SteeringAction::Break { point } => self.breakpoints.add(&mut self.core, point),
            SteeringAction::Unbreak { point } => self.breakpoints.remove(&mut self.core, &point),
            SteeringAction::TakeBack { text } => self.take_message_back(text),
            SteeringAction::Keep { lane: branch, name } => self.on_checkpoint(branch, name),
            SteeringAction::GoBack { lane: branch, name } => {
                return self.on_restore_checkpoint(branch, &name);
            }
            SteeringAction::Set { call, set } => self.on_set(call, set),
        }
        NextHandler::Wait
    }

    pub(super) fn take_message_back(&mut self, text: String) {
        if self.messages.take_back(&text) {
            self.core.emit_event(RunEvent::TakenBack { text });
        }
    }

    /// Every stopped branch continues.
    pub(super) fn continue_all_breakpoints(&mut self) {
        (self.breakpoints.stops_before_next_state, self.breakpoints.stop_before_model_calls) = (false, false);
        let mut standing: Vec<(CallId, u64)> = self
            .core
            .branches
            .all()
            .filter(|branch| branch.is_at_breakpoint())
            .filter_map(|branch| Some((branch.pending_call()?, branch.id)))
            .collect();
        standing.sort_by_key(|(call, _)| *call);
        for (call, branch) in standing {
            if self.core.branches.switch_to(branch) {
                if self.core.branches.current.was_shown {
                    self.core.push_effect(Effect::Abort { call });
                    self.core.branches.current.was_shown = false;
                }
                self.core.emit_event(RunEvent::PersonAnswered {
                    call,
                    question: self.core.branches.current.question.clone().map(Box::new),
                    answer: Some(Box::new(UserAnswer::Continue)),
                });
                let next = self.continue_from_breakpoint();
                self.advance(next);
            }
        }
    }

    /// Changes data only where a branch waits for the user; elsewhere a script may be about to change it.
    fn on_set(&mut self, call: Option<CallId>, set: Vec<(Vec<String>, Value)>) {
        let waits =
            |wait_state: &WaitState| matches!(wait_state, WaitState::Person(..) | WaitState::Approval(_));
        let branch = self
            .core
            .branches
            .all()
            .filter(|branch| waits(&branch.wait_state) && (call.is_none() || branch.pending_call() == call))
            .min_by_key(|branch| branch.id)
            .map(|branch| branch.id);
        match branch.filter(|_| !self.core.is_chat()) {
            Some(branch) if self.core.branches.switch_to(branch) => self.set_data_paths(set),
            Some(_) | None => {
                self.core.emit_warning(
                    "set",
                    "nothing was changed: common_data is set only while the run stands still",
                );
            }
        }
    }
}

/// Why a run that is stopped at a breakpoint has not continued.
pub(super) fn breakpoint_failure(state: &str, point: Option<&Breakpoint>) -> RunError {
    let title = match point {
        None => "The run stands still",
        Some(Breakpoint::Now) => "The run was interrupted",
        Some(_) => "The run stands at a breakpoint",
    };
    RunError::new("paused", title, breakpoint_text(state, point))
        .with_hint("`synthdev resume` goes on; in the terminal: /step, /continue, /set")
}

/// `before state `review` (breakpoint: state review)`
pub(super) fn breakpoint_text(state: &str, point: Option<&Breakpoint>) -> String {
    match point {
        None => format!("stands before state `{state}`"),
        Some(point @ Breakpoint::State { .. }) => {
            format!("stands before state `{state}` (breakpoint: {point})")
        }
        Some(Breakpoint::Now) => format!("was interrupted in state `{state}`"),
        Some(point) => format!("stands at state `{state}` (breakpoint: {point})"),
    }
}
