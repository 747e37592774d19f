//! Breakpoints are places where the user wants a run to stop and wait: before a state, before a tool call, or when
//! so much is spent. This file stops the run there, before model calls after an interrupt, and before each state
//! in step mode (not before one that ends its workflow or branch; never in a conversation).
//! `continue_from_breakpoint.rs` lets it go on.

use super::machine_core::MachineCore;
use super::{PendingQuestion, RunEvent};
use crate::branch::BreakSite;
use crate::effect::UserQuestion;
use crate::steering::{Breakpoint, BreakpointSet};
use serde::{Deserialize, Serialize};
use synthdev_domain::cost::CostLedger;
use synthdev_domain::ids::StateIx;

/// Where the run stops.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct BreakpointControl {
    pub(super) set: BreakpointSet,
    /// While one branch is stopped, or after `/pause`, `/step` or an interrupt: every branch stops before its next
    /// state. Stopping before every state throughout is `set.step`.
    pub(super) stops_before_next_state: bool,
    /// Every branch also stops before its next model call.
    pub(super) stop_before_model_calls: bool,
    /// The step before which a replay stops.
    pub(super) halt_before_step: Option<u32>,
}

impl BreakpointControl {
    pub(super) fn new(set: BreakpointSet) -> Self {
        Self { set, ..Self::default() }
    }

    pub(super) fn add(&mut self, core: &mut MachineCore, point: Breakpoint) {
        if !self.set.points.contains(&point) {
            self.set.points.push(point);
            self.emit_breakpoints(core);
        }
    }

    pub(super) fn remove(&mut self, core: &mut MachineCore, point: &Breakpoint) {
        let before = self.set.points.len();
        self.set.points.retain(|known| known != point);
        if self.set.points.len() != before {
            self.emit_breakpoints(core);
        }
    }

    /// Adds breakpoints to the present ones.
    pub(super) fn also_stop(&mut self, core: &mut MachineCore, more: BreakpointSet) {
        self.set.step |= more.step;
        for point in more.points {
            if !self.set.points.contains(&point) {
                self.set.points.push(point);
            }
        }
        self.emit_breakpoints(core);
    }

    /// Reports where the run stops from now on.
    pub(super) fn emit_breakpoints(&self, core: &mut MachineCore) {
        let BreakpointSet { step, points } = self.set.clone();
        core.emit_event(RunEvent::Breakpoints { step, points });
    }

    /// Stops the current branch before a state if a breakpoint or step mode says so. `true`: it has been stopped.
    pub(super) fn stop_before_state(
        &mut self,
        core: &mut MachineCore,
        target: StateIx,
        ledger: &CostLedger,
    ) -> bool {
        if std::mem::take(&mut core.branches.current.breakpoint_passed)
            || self.set.is_empty() && !self.stops_before_next_state
        {
            return false;
        }
        let Some(workflow) = core.workflow().filter(|workflow| !workflow.conversational) else {
            return false;
        };
        let Some(state) = workflow.state(target) else { return false };
        let path = core.state_path(target);
        let named = |point: &&Breakpoint| {
            let Breakpoint::State { state: wanted } = point else { return false };
            path.strip_suffix(wanted.as_str())
                .is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        let mut point = self.set.points.iter().find(named).cloned();
        if point.is_none() && !state.terminal {
            point = self.take_reached_spend(core, ledger);
            if point.is_none() && !self.stops_before_next_state && !self.set.step {
                return false;
            }
        } else if point.is_none() {
            return false;
        }
        // the visit before is over: its time must not run out meanwhile
        core.stop_visit_timers();
        core.branches.current.next_state = Some(target);
        self.stop_at_breakpoint(core, BreakSite::State, path, point);
        true
    }

    /// Stops the current branch before its next model call after an interrupt, or if a spending breakpoint is
    /// reached.
    pub(super) fn stop_before_call(&mut self, core: &mut MachineCore, ledger: &CostLedger) -> bool {
        if self.stop_before_model_calls {
            self.interrupt(core);
            return true;
        }
        if self.set.points.is_empty() {
            return false;
        }
        let Some(point) = self.take_reached_spend(core, ledger) else { return false };
        let state = core.state_name();
        self.stop_at_breakpoint(core, BreakSite::Model, state, Some(point));
        true
    }

    /// Stops the current branch before a tool.
    pub(super) fn stop_before_tool(&mut self, core: &mut MachineCore, tool: &str) -> bool {
        if std::mem::take(&mut core.branches.current.breakpoint_passed) || self.set.points.is_empty() {
            return false;
        }
        let named =
            |point: &&Breakpoint| matches!(point, Breakpoint::Tool { tool: wanted } if wanted == tool);
        let Some(point) = self.set.points.iter().find(named).cloned() else { return false };
        let state = core.state_name();
        self.stop_at_breakpoint(core, BreakSite::Tool, state, Some(point));
        true
    }

    /// Whether a tool may be stopped before it begins.
    pub(super) fn stops_before_tools(&self) -> bool {
        self.set.points.iter().any(|point| matches!(point, Breakpoint::Tool { .. }))
    }

    /// The largest amount that was reached; a reached amount does not stop the run again.
    fn take_reached_spend(&mut self, core: &mut MachineCore, ledger: &CostLedger) -> Option<Breakpoint> {
        if !self.set.points.iter().any(|point| matches!(point, Breakpoint::Spend { .. })) {
            return None;
        }
        let spent = ledger.cost_usd()?;
        let reached = self.set.points.iter().filter(|point| point.is_spent(spent));
        let largest = reached.max_by_key(|point| match point {
            Breakpoint::Spend { micro_usd } => *micro_usd,
            Breakpoint::State { .. } | Breakpoint::Tool { .. } | Breakpoint::Now => 0,
        });
        let largest = largest.cloned()?;
        self.set.points.retain(|point| !point.is_spent(spent));
        self.emit_breakpoints(core);
        Some(largest)
    }

    fn stop_at_breakpoint(
        &mut self,
        core: &mut MachineCore,
        place: BreakSite,
        state: String,
        point: Option<Breakpoint>,
    ) {
        self.stops_before_next_state = true;
        // always `Wait`
        let _ = core.ask_user(PendingQuestion::Break(place), UserQuestion::Break { state, point });
    }

    /// Stops the current branch before its next model call, because the user interrupted the run.
    pub(super) fn interrupt(&mut self, core: &mut MachineCore) {
        let state = core.state_name();
        self.stop_at_breakpoint(core, BreakSite::Model, state, Some(Breakpoint::Now));
    }
}
