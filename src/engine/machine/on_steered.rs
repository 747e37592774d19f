//! `Input::Steered`: breakpoints, step mode, and values that the user sets while the run is stopped.
//!
//! A stopped branch is a question like any other: it is recorded, asked again after a crash, and suspended without a
//! user. While one branch is stopped, the others stop before their next state, so that nothing changes while the user
//! looks.

use serde_json::Value;

use super::{CallId, Effect, Machine, Next, PendingQuestion, RunEvent, WaitState};
use crate::branch::BreakSite;
use crate::effect::UserQuestion;
use crate::steering::{Breakpoint, BreakpointSet, SteeringAction};
use synthdev_domain::ids::StateIx;
use synthdev_domain::run_error::RunError;

impl Machine {
    pub(super) fn on_steered(&mut self, steering: SteeringAction) -> Next {
        match steering {
            SteeringAction::Pause => self.step_mode = true,
            SteeringAction::Park => self.suspend_for_handover(),
            SteeringAction::Interrupt { partial } => self.on_interrupted(&partial),
            SteeringAction::Step => {
                self.continue_all_breakpoints();
                self.step_mode = true;
            }
            SteeringAction::Continue => {
                if std::mem::take(&mut self.breakpoints.step) {
                    self.emit_breakpoints();
                }
                self.continue_all_breakpoints();
            }
            SteeringAction::Break { point } => {
                if !self.breakpoints.points.contains(&point) {
                    self.breakpoints.points.push(point);
                    self.emit_breakpoints();
                }
            }
            SteeringAction::Unbreak { point } => {
                let before = self.breakpoints.points.len();
                self.breakpoints.points.retain(|known| *known != point);
                if self.breakpoints.points.len() != before {
                    self.emit_breakpoints();
                }
            }
            SteeringAction::TakeBack { text } => {
                if self.messages.take_back(&text) {
                    self.core.emit_event(RunEvent::TakenBack { text });
                }
            }
            SteeringAction::Keep { lane, name } => self.on_checkpoint(lane, name),
            SteeringAction::GoBack { lane, name } => return self.on_restore_checkpoint(lane, &name),
            SteeringAction::Set { call, set } => self.on_set(call, set),
        }
        Next::Wait
    }

    /// Adds breakpoints to the present ones.
    pub(super) fn also_stop(&mut self, more: BreakpointSet) {
        self.breakpoints.step |= more.step;
        for point in more.points {
            if !self.breakpoints.points.contains(&point) {
                self.breakpoints.points.push(point);
            }
        }
        self.emit_breakpoints();
    }

    /// Reports where the run stops from now on.
    pub(super) fn emit_breakpoints(&mut self) {
        let BreakpointSet { step, points } = self.breakpoints.clone();
        self.core.emit_event(RunEvent::Breakpoints { step, points });
    }

    /// Every stopped branch continues.
    pub(super) fn continue_all_breakpoints(&mut self) {
        (self.step_mode, self.stop_before_model_calls) = (false, false);
        let mut standing: Vec<(CallId, u64)> = self
            .core
            .branches
            .all()
            .filter(|lane| matches!(lane.phase, WaitState::Person(_, PendingQuestion::Break(_))))
            .filter_map(|lane| Some((lane.pending_call()?, lane.id)))
            .collect();
        standing.sort_by_key(|(call, _)| *call);
        for (call, lane) in standing {
            if self.core.branches.switch_to(lane) {
                if self.core.branches.current.was_shown {
                    self.core.push_effect(Effect::Abort { call });
                    self.core.branches.current.was_shown = false;
                }
                self.core.emit_event(RunEvent::PersonAnswered { call });
                let next = self.continue_from_breakpoint();
                self.advance(next);
            }
        }
    }

    /// The current branch continues from its breakpoint.
    pub(super) fn continue_from_breakpoint(&mut self) -> Next {
        let WaitState::Person(_, PendingQuestion::Break(place)) = self.core.branches.current.phase else {
            return Next::Wait;
        };
        self.core.branches.current.phase = WaitState::New;
        self.core.branches.ready.push_back(self.core.branches.current.id);
        match place {
            BreakSite::State => {
                self.core.branches.current.breakpoint_passed = true;
                Next::Wait
            }
            BreakSite::Model => {
                self.core.branches.current.phase = WaitState::Held;
                Next::Wait
            }
            BreakSite::Tool if self.core.is_action_state() => {
                // a step does not look at it again: it would count for the next state
                self.core.branches.current.breakpoint_passed = !self.core.spec.offers_messages_once();
                Next::PermitStep
            }
            BreakSite::Tool => {
                self.core.branches.current.breakpoint_passed = true;
                Next::ContinueRound
            }
        }
    }

    /// Whether the current branch stops before a state; `false`: it enters the state now.
    pub(super) fn breaks_before_state(&mut self, target: StateIx) -> bool {
        if std::mem::take(&mut self.core.branches.current.breakpoint_passed)
            || self.breakpoints.is_empty() && !self.step_mode
        {
            return false;
        }
        let Some(workflow) = self.core.workflow().filter(|workflow| !workflow.conversational) else {
            return false;
        };
        let Some(state) = workflow.state(target) else { return false };
        let path = self.core.state_path(target);
        let named = |point: &&Breakpoint| {
            let Breakpoint::State { state: wanted } = point else { return false };
            path.strip_suffix(wanted.as_str())
                .is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        let mut point = self.breakpoints.points.iter().find(named).cloned();
        if point.is_none() && !state.terminal {
            point = self.spend_reached();
            if point.is_none() && !self.step_mode && !self.breakpoints.step {
                return false;
            }
        } else if point.is_none() {
            return false;
        }
        // the visit before is over: its time must not run out meanwhile
        self.core.stop_visit_timers();
        self.core.branches.current.next_state = Some(target);
        self.stop_at_breakpoint(BreakSite::State, path, point);
        true
    }

    /// Stops the current branch before its next model call if a spending breakpoint is reached.
    pub(super) fn breaks_before_call(&mut self) -> bool {
        if self.breaks_for_interrupt() {
            return true;
        }
        if self.breakpoints.points.is_empty() {
            return false;
        }
        let Some(point) = self.spend_reached() else { return false };
        self.stop_at_breakpoint(BreakSite::Model, self.core.state_name(), Some(point));
        true
    }

    /// Stops the current branch before a tool.
    pub(super) fn breaks_before_tool(&mut self, tool: &str) -> bool {
        if std::mem::take(&mut self.core.branches.current.breakpoint_passed)
            || self.breakpoints.points.is_empty()
        {
            return false;
        }
        let named =
            |point: &&Breakpoint| matches!(point, Breakpoint::Tool { tool: wanted } if wanted == tool);
        let Some(point) = self.breakpoints.points.iter().find(named).cloned() else { return false };
        self.stop_at_breakpoint(BreakSite::Tool, self.core.state_name(), Some(point));
        true
    }

    /// The largest amount that was reached; a reached amount does not stop the run again.
    fn spend_reached(&mut self) -> Option<Breakpoint> {
        if !self.breakpoints.points.iter().any(|point| matches!(point, Breakpoint::Spend { .. })) {
            return None;
        }
        let spent = self.ledger.cost_usd()?;
        let reached = self.breakpoints.points.iter().filter(|point| point.is_spent(spent));
        let largest = reached.max_by_key(|point| match point {
            Breakpoint::Spend { micro_usd } => *micro_usd,
            Breakpoint::State { .. } | Breakpoint::Tool { .. } | Breakpoint::Now => 0,
        });
        let largest = largest.cloned()?;
        self.breakpoints.points.retain(|point| !point.is_spent(spent));
        self.emit_breakpoints();
        Some(largest)
    }

    pub(super) fn stop_at_breakpoint(&mut self, place: BreakSite, state: String, point: Option<Breakpoint>) {
        self.step_mode = true;
        let _ = self.core.ask_user(PendingQuestion::Break(place), UserQuestion::Break { state, point });
    }

    /// Changes data only where a branch waits for the user; elsewhere a script may be about to change it.
    fn on_set(&mut self, call: Option<CallId>, set: Vec<(Vec<String>, Value)>) {
        let waits = |phase: &WaitState| matches!(phase, WaitState::Person(..) | WaitState::Approval(_));
        let lane = self
            .core
            .branches
            .all()
            .filter(|lane| waits(&lane.phase) && (call.is_none() || lane.pending_call() == call))
            .min_by_key(|lane| lane.id)
            .map(|lane| lane.id);
        match lane.filter(|_| !self.core.is_chat()) {
            Some(lane) if self.core.branches.switch_to(lane) => self.set_data_paths(set),
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
