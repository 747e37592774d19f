//! Everything that the panes show of a run, folded from its events one by one.

use super::branch_tree::BranchTree;
use super::common_data::RunCommonData;
use super::run_costs::RunCostView;
use super::run_graph::{RunDefinitionView, RunGraphDrawing};
use super::running_commands::RunningCommandList;
use super::state_visits::StateVisitTimes;
use super::timeline::RunTimeline;
use super::token_rate::TokenRate;
use super::tool_calls::ToolCallLog;
use synthdev_domain::ids::Timestamp;
use synthdev_domain::trace::RunTrace;
use synthdev_service::run_events::{RunEvent, record_event};

#[derive(Clone, Debug, Default)]
pub struct RunPaneData {
    pub timeline: RunTimeline,
    pub calls: ToolCallLog,
    pub data: RunCommonData,
    pub run_costs: RunCostView,
    pub token_rate: TokenRate,
    pub visits: StateVisitTimes,
    /// Called workflows, branches and items.
    pub tree: BranchTree,
    /// What its agents have left running.
    pub running_commands: RunningCommandList,
    /// Counts changes of agents and of those commands.
    pub agents: u64,
    pub definition: RunDefinitionState,
    trail: RunTrace,
    trail_version: u64,
}

/// Where the workflow's definition is.
#[derive(Clone, Debug, Default)]
pub enum RunDefinitionState {
    /// No pane has needed it.
    #[default]
    Unasked,
    Asked,
    Known(Box<RunGraphDrawing>),
    /// It cannot be read: why.
    Unknown(String),
}

impl RunPaneData {
    pub fn apply_event(&mut self, at: Timestamp, event: &RunEvent) {
        self.timeline.apply_event(at, event);
        self.calls.apply_event(at, event);
        self.data.apply_event(event);
        self.visits.apply_event(at, event);
        if self.tree.apply_event(event) {
            self.agents += 1;
        }
        if matches!(event, RunEvent::Finished { .. }) {
            self.agents += u64::from(!self.running_commands.is_empty());
            self.running_commands.clear();
        }
        record_event(&mut self.trail, event);
        if let RunEvent::Replied { usage, duration_ms, .. } = event {
            self.token_rate.add_reply(self.timeline.clock().last_ms(), *duration_ms, usage.completion);
        }
        match event {
            RunEvent::StateEntered { .. }
            | RunEvent::Transitioned { .. }
            | RunEvent::Caught { .. }
            | RunEvent::ChildStarted { .. }
            | RunEvent::ChildFinished { .. }
            | RunEvent::BranchFinished { .. }
            | RunEvent::Joined { .. }
            | RunEvent::Replied { .. } => self.trail_version += 1,
            // the drawing was of what the workflow was
            RunEvent::Resumed { definition: Some(_), .. } => self.definition = RunDefinitionState::Unasked,
            _ => {}
        }
    }

    /// Stores the definition of the run.
    pub fn set_definition(&mut self, found: Result<RunDefinitionView, String>) {
        self.definition = match found {
            Ok(found) => {
                self.data.set_initial(&found.variables);
                RunDefinitionState::Known(Box::new(RunGraphDrawing::from_graphs(found.graphs)))
            }
            Err(why) => RunDefinitionState::Unknown(why),
        };
        self.trail_version += 1;
    }

    /// Makes the charts for a pane of so many columns, unless they are there.
    pub fn lay_out_graph(&mut self, columns: usize, names_only: bool) {
        if let RunDefinitionState::Known(drawing) = &mut self.definition {
            drawing.lay_out(columns, names_only);
        }
    }

    /// Puts onto the drawing where the run has been, if that changed since it was done last.
    pub fn mark_graph(&mut self) {
        if let RunDefinitionState::Known(drawing) = &mut self.definition {
            drawing.mark_trace(&self.trail, self.trail_version);
        }
    }
}
