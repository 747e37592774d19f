//! The graphs of a run's workflows with where it has been: laid out once, marked when the run moved.

use serde_json::{Map, Value};
use synthdev_config::graph::WorkflowGraph;

use synthdev_config::graph::terminal::{GraphLine, GraphSheet, GraphSheetColumns};
use synthdev_domain::trace::{RunTrace, TraceScope};

/// What the panes want to know of a run's definition.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RunDefinitionView {
    /// The workflow that was started, then those that it calls.
    pub graphs: Vec<WorkflowGraph>,
    /// What `common_data` begins with, inputs left out.
    pub variables: Map<String, Value>,
}

/// One workflow after the other: the one that was started, then those that it calls.
#[derive(Clone, Debug, Default)]
pub struct RunGraphDrawing {
    sheets: Vec<(WorkflowGraph, GraphSheet)>,
    /// Of the trail that is marked.
    marked: u64,
    current: Option<usize>,
}

/// Where the columns of each sheet are.
pub type RunGraphLayout = Vec<GraphSheetColumns>;

impl RunGraphDrawing {
    pub fn from_graphs(graphs: Vec<WorkflowGraph>) -> Self {
        let sheet = |graph: WorkflowGraph| {
            let sheet = GraphSheet::from_graph(&graph);
            (graph, sheet)
        };
        Self { sheets: graphs.into_iter().map(sheet).collect(), marked: 0, current: None }
    }

    /// Counts changes.
    pub fn version(&self) -> u64 {
        self.marked
    }

    pub fn mark(&mut self, trail: &RunTrace, version: u64) {
        if self.marked == version {
            return;
        }
        self.marked = version;
        for (at, (graph, _)) in self.sheets.iter_mut().enumerate() {
            let name = graph.workflow.clone();
            graph.overlay_trail(trail, if at == 0 { TraceScope::Root } else { TraceScope::Called(&name) });
        }
        self.current = self.find_current();
    }

    pub fn looks(&self, columns: usize) -> RunGraphLayout {
        self.sheets.iter().map(|(graph, sheet)| sheet.layout_columns(graph, columns)).collect()
    }

    /// Names of all states, as events call them.
    pub fn states(&self) -> impl Iterator<Item = &str> {
        self.sheets.iter().flat_map(|(graph, _)| graph.nodes.iter().map(|node| node.name.as_str()))
    }

    /// Lines of all sheets, an empty one between two.
    pub fn len(&self) -> usize {
        self.sheets.iter().map(|(_, sheet)| sheet.len() + 1).sum::<usize>().saturating_sub(1)
    }

    pub fn is_empty(&self) -> bool {
        self.sheets.is_empty()
    }

    pub fn line(&self, at: usize, looks: &[GraphSheetColumns]) -> GraphLine {
        let mut at = at;
        for ((graph, sheet), look) in self.sheets.iter().zip(looks) {
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
    pub fn current(&self) -> Option<usize> {
        self.current
    }

    fn find_current(&self) -> Option<usize> {
        let mut first = 0;
        let mut found = None;
        for (graph, sheet) in &self.sheets {
            found = sheet.current(graph).map(|at| first + at).or(found);
            first += sheet.len() + 1;
        }
        found
    }
}
