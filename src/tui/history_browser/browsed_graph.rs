//! The graph of a past run over its steps: where it has been, and which part of the drawing is seen.

use crate::agent_identity::AgentRoster;
use crate::pane::graph::GraphPaneState;
use crate::pane::shown_graph::ShownGraph;
use crate::run_view::run_graph::{RunDefinitionView, RunGraphDrawing};
use crate::run_view::state_visits::StateVisitTimes;
use synthdev_domain::trace::RunTrace;
use synthdev_service::definition_views::graph::layout::CellSize;

/// What is read of a run for its graph.
#[derive(Clone, Debug, Default)]
pub struct RunGraphFacts {
    pub definition: RunDefinitionView,
    pub trace: RunTrace,
    pub visits: StateVisitTimes,
}

/// The graph of the run that is looked at.
#[derive(Clone, Debug, Default)]
pub struct BrowsedGraph {
    drawing: RunGraphDrawing,
    visits: StateVisitTimes,
    pub state: GraphPaneState,
}

impl BrowsedGraph {
    /// `seen`: what was seen of the same graph before it was read again.
    pub fn new(facts: RunGraphFacts, seen: Option<GraphPaneState>) -> Self {
        let mut drawing = RunGraphDrawing::from_graphs(facts.definition.graphs);
        drawing.mark_trace(&facts.trace, 1);
        Self { drawing, visits: facts.visits, state: seen.unwrap_or_default() }
    }

    pub fn agents(&self) -> &[String] {
        self.drawing.agents()
    }

    /// Lays out what is on screen.
    pub fn arrange_size(&mut self, size: CellSize) {
        self.drawing.lay_out(size.width, self.state.names_only);
        self.state.reveals_chosen |= self.state.size != size;
        self.state.size = size;
        self.state.settle(&self.drawing);
    }

    /// Changes what is seen.
    pub fn change_view(&mut self, change: impl FnOnce(&mut GraphPaneState, &RunGraphDrawing)) {
        change(&mut self.state, &self.drawing);
    }

    pub fn shown<'g>(&'g self, roster: &'g AgentRoster, is_over: bool) -> ShownGraph<'g> {
        let (drawing, visits, state) = (&self.drawing, &self.visits, &self.state);
        ShownGraph { drawing, visits, roster, breakpoints: &[], state, is_over }
    }
}
