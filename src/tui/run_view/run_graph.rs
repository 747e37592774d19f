//! The graphs of a run's workflows with where it has been: laid out once, marked when the run moved.

use serde_json::{Map, Value};

use synthdev_domain::trace::{RunTrace, TraceScope};
use synthdev_service::definition_views::graph::chart::window::{ChartLine, ChartView, chart_heading};
use synthdev_service::definition_views::graph::chart::{ChartBox, ChartDetail, ChartDirection, GraphChart};
use synthdev_service::definition_views::graph::layout::{CellRect, CellSize};
use synthdev_service::definition_views::graph::{GraphNode, GraphVisitStatus, WorkflowGraph};

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

/// A state of one of the workflows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GraphStateRef {
    pub workflow: usize,
    pub node: usize,
}

/// Signs in a drawing that the run's view knows.
pub struct GraphDrawingMarks<'a> {
    pub chosen: Option<GraphStateRef>,
    pub has_breakpoint: &'a dyn Fn(&GraphNode) -> bool,
    /// One column wide, with the agent's place in [`RunGraphDrawing::agents`]; `None`: the sign of the state's kind.
    pub agent_sign: &'a dyn Fn(&GraphNode) -> Option<(&'static str, usize)>,
}

/// One workflow after the other: the one that was started, then, with a heading each, those that it calls.
#[derive(Clone, Debug, Default)]
pub struct RunGraphDrawing {
    graphs: Vec<WorkflowGraph>,
    agents: Vec<String>,
    /// Of the graphs, with the first row of each.
    charts: Vec<(usize, GraphChart)>,
    /// What the charts were made for: columns, and whether only names are shown.
    chart_key: Option<(usize, bool)>,
    /// Of the trail that is marked.
    marked_version: u64,
    current_state: Option<GraphStateRef>,
}

/// Blank line, name, description, blank line.
const HEADING: usize = 4;

impl RunGraphDrawing {
    pub fn from_graphs(graphs: Vec<WorkflowGraph>) -> Self {
        let mut agents: Vec<String> = Vec::new();
        for name in
            graphs.iter().flat_map(|graph| &graph.nodes).filter_map(|node| node.details.agent.as_ref())
        {
            if !agents.contains(name) {
                agents.push(name.clone());
            }
        }
        Self { graphs, agents, ..Self::default() }
    }

    /// The agents of the states, each once.
    pub fn agents(&self) -> &[String] {
        &self.agents
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
        for at in 0..self.graphs.len() {
            let name = self.graphs[at].workflow.clone();
            self.graphs[at].overlay_trace(trail, trace_scope(at, &name));
        }
        self.current_state = self.find_current();
    }

    /// Makes the charts for a pane, unless they are there.
    pub fn lay_out(&mut self, columns: usize, names_only: bool) {
        if self.chart_key == Some((columns, names_only)) {
            return;
        }
        self.chart_key = Some((columns, names_only));
        let mut row = 0;
        self.charts.clear();
        for (at, graph) in self.graphs.iter().enumerate() {
            row += if at > 0 { HEADING } else { 0 };
            let chart = if names_only {
                GraphChart::from_graph(graph, ChartDetail::names(true))
            } else {
                // what is too wide even so can be scrolled
                GraphChart::fit_to_width(graph, columns, true).unwrap_or_else(|| {
                    GraphChart::from_graph(graph, ChartDetail::from_wide_to_narrow(true)[1])
                })
            };
            let height = chart.size.height;
            self.charts.push((row, chart));
            row += height;
        }
    }

    /// Names of all states, as events call them.
    pub fn states(&self) -> impl Iterator<Item = &str> {
        self.graphs.iter().flat_map(|graph| graph.nodes.iter().map(|node| node.name.as_str()))
    }

    pub fn graph(&self, workflow: usize) -> Option<&WorkflowGraph> {
        self.graphs.get(workflow)
    }

    pub fn node(&self, at: GraphStateRef) -> Option<&GraphNode> {
        self.graphs.get(at.workflow)?.nodes.get(at.node)
    }

    /// How the trace of the run calls the states of a workflow.
    pub fn scope(&self, workflow: usize) -> TraceScope<'_> {
        trace_scope(workflow, self.graphs.get(workflow).map_or("", |graph| &graph.workflow))
    }

    pub fn size(&self) -> CellSize {
        let width = self.charts.iter().map(|(_, chart)| chart.size.width).max().unwrap_or(0);
        CellSize { width, height: self.charts.last().map_or(0, |(row, chart)| row + chart.size.height) }
    }

    pub fn is_empty(&self) -> bool {
        self.charts.is_empty()
    }

    /// The state where the run is; the innermost, if it is in a called workflow.
    pub fn current_state(&self) -> Option<GraphStateRef> {
        self.current_state
    }

    fn find_current(&self) -> Option<GraphStateRef> {
        let is_current =
            |node: &GraphNode| node.tally.is_some_and(|tally| tally.standing == GraphVisitStatus::Current);
        let of = |(workflow, graph): (usize, &WorkflowGraph)| {
            graph.nodes.iter().rposition(is_current).map(|node| GraphStateRef { workflow, node })
        };
        self.graphs.iter().enumerate().filter_map(of).next_back()
    }

    /// All states from top to bottom.
    pub fn drawn_states(&self) -> Vec<GraphStateRef> {
        let mut found: Vec<(usize, usize, GraphStateRef)> = Vec::new();
        for (workflow, (row, chart)) in self.charts.iter().enumerate() {
            let place =
                |one: &ChartBox| (row + one.area.y, one.area.x, GraphStateRef { workflow, node: one.node });
            found.extend(chart.boxes.iter().map(place));
        }
        found.sort_by_key(|(y, x, _)| (*y, *x));
        found.into_iter().map(|(_, _, state)| state).collect()
    }

    /// Where a state's box is.
    pub fn state_area(&self, at: GraphStateRef) -> Option<CellRect> {
        let (row, chart) = self.charts.get(at.workflow)?;
        let area = chart.box_of_node(at.node)?.area;
        Some(CellRect { y: area.y + row, ..area })
    }

    /// The state at a cell of the drawing.
    pub fn state_at(&self, x: usize, y: usize) -> Option<GraphStateRef> {
        self.charts.iter().enumerate().find_map(|(workflow, (row, chart))| {
            let node = chart.node_at(x, y.checked_sub(*row)?)?;
            Some(GraphStateRef { workflow, node })
        })
    }

    /// The nearest state in a direction, also in the workflow above or below.
    pub fn next_state(&self, from: GraphStateRef, direction: ChartDirection) -> Option<GraphStateRef> {
        let (_, chart) = self.charts.get(from.workflow)?;
        if let Some(node) = chart.next_node(from.node, direction) {
            return Some(GraphStateRef { node, ..from });
        }
        let states = self.drawn_states();
        match direction {
            ChartDirection::Down => states.iter().find(|state| state.workflow == from.workflow + 1).copied(),
            ChartDirection::Up => states.iter().rfind(|state| state.workflow + 1 == from.workflow).copied(),
            ChartDirection::Left | ChartDirection::Right => None,
        }
    }

    /// A part of the drawing.
    pub fn window_lines(&self, area: CellRect, marks: &GraphDrawingMarks<'_>) -> Vec<ChartLine> {
        let mut lines = vec![ChartLine::new(); area.height];
        for (at, ((row, chart), graph)) in self.charts.iter().zip(&self.graphs).enumerate() {
            if at > 0 {
                let heading = (row - HEADING + 1..).zip(chart_heading(graph, area.width));
                for (row, line) in heading.filter(|(row, _)| (area.y..area.bottom()).contains(row)) {
                    lines[row - area.y] = line;
                }
            }
            let top = area.y.max(*row);
            let bottom = area.bottom().min(row + chart.size.height);
            if top >= bottom {
                continue;
            }
            let chosen = marks.chosen.filter(|chosen| chosen.workflow == at).map(|chosen| chosen.node);
            let view = ChartView {
                graph,
                chart,
                chosen,
                has_breakpoint: &|node| {
                    graph.nodes.get(node).is_some_and(|node| (marks.has_breakpoint)(node))
                },
                agent_sign: &|node| (marks.agent_sign)(graph.nodes.get(node)?),
            };
            let part = CellRect { x: area.x, y: top - row, width: area.width, height: bottom - top };
            for (place, line) in (top - area.y..).zip(view.window_lines(part)) {
                lines[place] = line;
            }
        }
        lines
    }

    /// A row of the drawing as text.
    pub fn row_text(&self, row: usize) -> String {
        let area = CellRect { x: 0, y: row, width: self.size().width, height: 1 };
        let marks = GraphDrawingMarks { chosen: None, has_breakpoint: &|_| false, agent_sign: &|_| None };
        let lines = self.window_lines(area, &marks);
        lines.iter().flatten().map(|span| span.text.as_str()).collect::<String>().trim_end().to_owned()
    }
}

fn trace_scope(workflow: usize, name: &str) -> TraceScope<'_> {
    if workflow == 0 { TraceScope::Root } else { TraceScope::Called(name) }
}
