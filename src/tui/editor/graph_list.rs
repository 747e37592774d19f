//! The graph beside the text: a list of states and transitions, which fits into any width.

use synthdev_service::definition_views::graph::WorkflowGraph;
use synthdev_service::definition_views::graph::terminal::{GraphLine, GraphSheet, GraphSheetColumns};

/// The lists of the workflows of a file, one after the other.
#[derive(Clone, Debug, Default)]
pub struct EditorGraphList {
    graph_sheets: Vec<(WorkflowGraph, GraphSheet)>,
}

impl EditorGraphList {
    pub fn from_graphs(graphs: Vec<WorkflowGraph>) -> Self {
        let sheet = |graph: WorkflowGraph| {
            let sheet = GraphSheet::from_graph(&graph);
            (graph, sheet)
        };
        Self { graph_sheets: graphs.into_iter().map(sheet).collect() }
    }

    /// Where the columns of each list are.
    pub fn layout_for(&self, columns: usize) -> Vec<GraphSheetColumns> {
        self.graph_sheets.iter().map(|(graph, sheet)| sheet.layout_columns(graph, columns)).collect()
    }

    /// Lines of all lists, an empty one between two.
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
}
