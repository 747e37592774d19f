//! The graphs of a run's workflows with where it has been: laid out once, marked when the run moved.

use serde_json::{Map, Value};
use synthdev_service::definition_views::graph::WorkflowGraph;

use synthdev_domain::trace::{RunTrace, TraceScope};
use synthdev_service::definition_views::graph::terminal::{GraphLine, GraphSheet, GraphSheetColumns};

/// What the panes want to know of a run's definition.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RunDefinitionView {
    /// The workflow that was started, then those that it calls.
    pub graphs: Vec<WorkflowGraph>,
    /// What `common_data` begins with, inputs left out.
    pub variables: Map<String, Value>,
    /// The agents of all these workflows, in their order.
    pub agents: Vec<String>,
}

/// One workflow after the other: the one that was started, then those that it calls.
#[derive(Clone, Debug, Default)]
pub struct RunGraphDrawing {
    graph_sheets: Vec<(WorkflowGraph, GraphSheet)>,
    /// Of the trail that is marked.
    marked_version: u64,
    current_line: Option<usize>,
}

/// Where the columns of each sheet are.
pub type RunGraphLayout = Vec<GraphSheetColumns>;

impl RunGraphDrawing {
    pub fn from_graphs(graphs: Vec<WorkflowGraph>) -> Self {
        let sheet = |graph: WorkflowGraph| {
            let sheet = GraphSheet::from_graph(&graph);
            (graph, sheet)
        };
        Self { graph_sheets: graphs.into_iter().map(sheet).collect(), marked_version: 0, current_line: None }
    }

    /// Counts changes.
    pub fn version(&self) -> u64 {
        self.marked_version
    }

    pub fn mark_trace(&mut self, trail: &RunTrace, version: u64) {
        if self.marked_version == version {
            return;
        }
        self.marked_version = version;
        for (at, (graph, _)) in self.graph_sheets.iter_mut().enumerate() {
            let name = graph.workflow.clone();
            graph.overlay_trace(trail, if at == 0 { TraceScope::Root } else { TraceScope::Called(&name) });
        }
        self.current_line = self.find_current();
    }

    pub fn layout_for(&self, columns: usize) -> RunGraphLayout {
        self.graph_sheets.iter().map(|(graph, sheet)| sheet.layout_columns(graph, columns)).collect()
    }

    /// Names of all states, as events call them.
    pub fn states(&self) -> impl Iterator<Item = &str> {
        self.graph_sheets.iter().flat_map(|(graph, _)| graph.nodes.iter().map(|node| node.name.as_str()))
    }

    /// Lines of all sheets, an empty one between two.
    pub fn len(&self) -> usize {
        self.graph_sheets.iter().map(|(_, sheet)| sheet.len() + 1).sum::<usize>().saturating_sub(1)
    }

    pub fn is_empty(&self) -> bool {
        self.graph_sheets.is_empty()
    }

    pub fn line(&self, at: usize, looks: &[GraphSheetColumns]) -> GraphLine {
        let mut at = at;
        for ((graph, sheet), look) in self.graph_sheets.iter().zip(looks) {
            if at < sheet.len() {
                return sheet.line(graph, at, *look);
            }
            at = at.saturating_sub(sheet.len());
            if at == 0 {
                return GraphLine::new();
            }
            at -= 1;
        }
        GraphLine::new()
    }

    /// The line of the state where the run is; the innermost, if it is in a called workflow.
    pub fn current_line(&self) -> Option<usize> {
        self.current_line
    }

    fn find_current(&self) -> Option<usize> {
        let mut first = 0;
        let mut found = None;
        for (graph, sheet) in &self.graph_sheets {
            found = sheet.current_line(graph).map(|at| first + at).or(found);
            first += sheet.len() + 1;
        }
        found
    }
}
