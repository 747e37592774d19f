//! What a graph is drawn from, whether its run goes on or is one of the history.

use super::graph::GraphPaneState;
use crate::agent_identity::AgentRoster;
use crate::run_view::run_graph::RunGraphDrawing;
use crate::run_view::state_visits::StateVisitTimes;
use synthdev_service::run_steering::Breakpoint;

/// A run's graph with what its card says, live or of the history.
#[derive(Clone, Copy)]
pub struct ShownGraph<'m> {
    pub drawing: &'m RunGraphDrawing,
    pub visits: &'m StateVisitTimes,
    pub roster: &'m AgentRoster,
    pub breakpoints: &'m [Breakpoint],
    pub state: &'m GraphPaneState,
    pub is_over: bool,
}

impl ShownGraph<'_> {
    /// The drawing does not fit the pane's columns.
    pub fn is_wide(&self) -> bool {
        self.drawing.size().width > self.state.size.width
    }
}
