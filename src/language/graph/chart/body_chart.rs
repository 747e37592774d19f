//! Texts and places of the states of a workflow and, inside of their owners, of its branches and loops.

use std::collections::HashMap;

use super::super::drawing_order::DrawingOrder;
use super::super::labels::{label_line, printable_name};
use super::super::layout::{
    CellRect, CellSize, EdgeCourse, GraphLayering, LayoutEdge, LayoutInput, assign_layers, lay_out_graph,
};
use super::super::model::{EdgeKind, GraphEdge, WorkflowGraph};
use super::detail::ChartDetail;
use super::parts::{ChartBox, ChartFrame, ChartWire, GraphChart};
use super::text_cells::{cut_with_ellipsis, text_columns, wrap_text};

/// Columns of `×12  $0.1234`, and of `×12`.
const TALLY: usize = 11;
const SHORT_TALLY: usize = 4;
/// Lines of a description.
const ABOUT_LINES: usize = 3;
/// Border and blank at each side of a text.
const SIDES: usize = 4;

fn chart_workflow(graph: &WorkflowGraph, detail: ChartDetail) -> GraphChart {
    let mut notes: HashMap<usize, Vec<String>> = HashMap::new();
    for handler in &graph.handlers {
        notes.entry(handler.to).or_default().push(format!("any state: {}", handler.label));
    }
    for edge in &graph.edges {
        let group = |at: usize| graph.nodes.get(at).map(|node| node.group);
        if group(edge.from) != group(edge.to)
            && let Some(target) = graph.nodes.get(edge.to)
        {
            let text = format!("{} ▸ {}", edge.words(false), target.label);
            notes.entry(edge.from).or_default().push(text.trim_start().to_owned());
        }
    }
    BodyCharts { graph, detail, order: DrawingOrder::from_graph(graph), notes }.chart_body(None)
}

struct BodyCharts<'g> {
    graph: &'g WorkflowGraph,
    detail: ChartDetail,
    order: DrawingOrder<'g>,
    /// More lines of a state's box: what leads to it from everywhere, and out of its body.
    notes: HashMap<usize, Vec<String>>,
}

/// What is in the box of a state.
struct BoxContent {
    lines: Vec<String>,
    /// Its branches, below the lines.
    inner: Option<GraphChart>,
}

impl BoxContent {
    fn size(&self, detail: ChartDetail) -> CellSize {
        let room = match (detail.with_tallies, detail.names_only) {
            (true, false) => TALLY + 1,
            (true, true) => SHORT_TALLY + 1,
            (false, _) => 1,
        };
        let text = self.lines.iter().map(|line| text_columns(line)).max().unwrap_or(0).max(room);
        let inner = self.inner.as_ref().map_or_else(CellSize::default, |inner| inner.size);
        CellSize { width: text.max(inner.width) + SIDES, height: self.lines.len() + inner.height + 2 }
    }
}

/// A way inside of one body, with the text at it.
struct WireText {
    edge: usize,
    lines: Vec<String>,
    tally_line: Option<usize>,
    size: CellSize,
}

impl BodyCharts<'_> {
    /// The states of one body (or, without one, of the workflow itself).
    fn chart_body(&mut self, group: Option<usize>) -> GraphChart {
        let nodes = self.order.body(group);
        let contents: Vec<BoxContent> = nodes.iter().map(|node| self.box_content(*node, None)).collect();
        let sizes: Vec<CellSize> = contents.iter().map(|content| content.size(self.detail)).collect();
        let places: HashMap<usize, usize> =
            nodes.iter().enumerate().map(|(place, node)| (*node, place)).collect();
        let edges = self.inner_edges(&nodes, &places);
        let pair =
            |edge: &usize| (places[&self.graph.edges[*edge].from], places[&self.graph.edges[*edge].to]);
        let pairs: Vec<(usize, usize)> = edges.iter().map(pair).collect();
        let layering = assign_layers(nodes.len(), &pairs);
        let texts = self.wire_texts(&edges, &layering);
        let layout_edges: Vec<LayoutEdge> = pairs
            .iter()
            .zip(&texts)
            .map(|((from, to), text)| LayoutEdge { from: *from, to: *to, label: text.size })
            .collect();
        let layout = lay_out_graph(&LayoutInput { boxes: &sizes, edges: &layout_edges, layering: &layering });
        let mut chart = GraphChart { size: layout.size, ..GraphChart::default() };
        for ((node, content), area) in nodes.iter().zip(contents).zip(&layout.boxes) {
            chart.add_box(*node, *area, content);
        }
        for (text, route) in texts.into_iter().zip(layout.routes) {
            let (x, y) = route.label;
            chart.wires.push(ChartWire {
                edge: text.edge,
                points: route.points,
                head: route.head,
                label: CellRect { x, y, width: text.size.width, height: text.size.height },
                lines: text.lines,
                tally_line: text.tally_line,
                is_dashed: self.graph.edges[text.edge].kind.is_exception(),
            });
        }
        chart
    }

    /// The ways that stay in a body: state by state, those for failures last.
    fn inner_edges(&self, nodes: &[usize], places: &HashMap<usize, usize>) -> Vec<usize> {
        let mut edges: Vec<usize> = Vec::new();
        for node in nodes {
            let start = edges.len();
            let own = self.graph.outgoing_edge_indices(*node);
            edges.extend(own.filter(|edge| places.contains_key(&self.graph.edges[*edge].to)));
            edges[start..].sort_by_key(|edge| self.graph.edges[*edge].kind.is_exception());
        }
        edges
    }

    fn wire_texts(&self, edges: &[usize], layering: &GraphLayering) -> Vec<WireText> {
        let texts = edges.iter().zip(&layering.courses);
        texts.map(|(edge, course)| self.wire_text(*edge, *course)).collect()
    }

    fn wire_text(&self, at: usize, course: EdgeCourse) -> WireText {
        let (edge, detail): (&GraphEdge, _) = (&self.graph.edges[at], self.detail);
        let mut lines = if detail.names_only {
            Vec::new()
        } else {
            let several =
                self.graph.outgoing_edges(edge.from).filter(|other| other.kind == EdgeKind::Transition);
            let words = label_line(&edge.words(several.count() > 1));
            wrap_text(&words, detail.label_columns, detail.label_lines)
        };
        let tally_line = detail.with_tallies.then_some(lines.len());
        let room = if detail.names_only { SHORT_TALLY } else { TALLY };
        lines.extend(tally_line.map(|_| String::new()));
        if course == EdgeCourse::Reference {
            let name = self.graph.nodes.get(edge.to).map_or("", |node| &node.label);
            lines.push(format!(" {}", cut_with_ellipsis(&printable_name(name), detail.box_columns)));
        }
        let width = lines.iter().map(|line| text_columns(line)).max().unwrap_or(0);
        let width = if tally_line.is_some() { width.max(room) } else { width };
        WireText { edge: at, size: CellSize { width, height: lines.len() }, lines, tally_line }
    }

    /// `name`: what it is called where that is not its own name.
    fn box_content(&mut self, node: usize, name: Option<&str>) -> BoxContent {
        let (found, detail) = (&self.graph.nodes[node], self.detail);
        let name = printable_name(name.unwrap_or(&found.label));
        let mut lines = vec![cut_with_ellipsis(&format!("{} {name}", found.kind.sign()), detail.box_columns)];
        if !detail.names_only {
            let about = match found.about.as_str() {
                about if found.reachable => about.to_owned(),
                "" => "never reached".to_owned(),
                about => format!("never reached: {about}"),
            };
            lines.extend(wrap_text(&label_line(&about), detail.box_columns, ABOUT_LINES));
            for note in self.notes.get(&node).into_iter().flatten() {
                lines.extend(wrap_text(&label_line(note), detail.box_columns, ABOUT_LINES));
            }
        }
        BoxContent { lines, inner: self.chart_branches(node) }
    }

    /// The bodies that a state owns, beside each other as far as there is room.
    fn chart_branches(&mut self, owner: usize) -> Option<GraphChart> {
        let bodies: Vec<(usize, String)> =
            self.graph.bodies(owner).map(|(at, group)| (at, group.name.clone())).collect();
        let mut all = GraphChart::default();
        let (mut x, mut y) = (0, 0);
        for (group, name) in bodies {
            let chart = self.chart_branch(group, &name);
            if x > 0 && x + chart.size.width > self.detail.row_columns {
                (x, y) = (0, all.size.height);
            }
            let width = chart.size.width;
            all.append(chart, x, y);
            x += width + 2;
        }
        (!all.boxes.is_empty()).then_some(all)
    }

    /// A body of one state is the box of that state; any other one has a frame.
    fn chart_branch(&mut self, group: usize, name: &str) -> GraphChart {
        if let Some(node) = self.order.single_state_in(group) {
            let content = self.box_content(node, Some(name));
            let CellSize { width, height } = content.size(self.detail);
            let mut chart = GraphChart { size: CellSize { width, height }, ..GraphChart::default() };
            chart.add_box(node, CellRect { x: 0, y: 0, width, height }, content);
            return chart;
        }
        let title = cut_with_ellipsis(&printable_name(name), self.detail.box_columns);
        let body = self.chart_body(Some(group));
        let size = CellSize {
            width: body.size.width.max(text_columns(&title) + 2) + SIDES,
            height: body.size.height + 2,
        };
        let area = CellRect { x: 0, y: 0, width: size.width, height: size.height };
        let mut chart =
            GraphChart { size, frames: vec![ChartFrame { area, title }], ..GraphChart::default() };
        chart.append(body, SIDES / 2, 1);
        chart
    }
}

impl GraphChart {
    pub fn from_graph(graph: &WorkflowGraph, detail: ChartDetail) -> Self {
        chart_workflow(graph, detail)
    }

    /// The chart with the most text that is at most so many columns wide; `None`: even the narrowest one is wider.
    pub fn fit_to_width(graph: &WorkflowGraph, columns: usize, with_tallies: bool) -> Option<Self> {
        let charts = ChartDetail::from_wide_to_narrow(with_tallies).into_iter();
        charts.map(|detail| Self::from_graph(graph, detail)).find(|chart| chart.size.width <= columns)
    }

    fn add_box(&mut self, node: usize, area: CellRect, content: BoxContent) {
        let below = area.y + 1 + content.lines.len();
        self.boxes.push(ChartBox { node, area, lines: content.lines });
        if let Some(inner) = content.inner {
            let size = self.size;
            self.append(inner, area.x + SIDES / 2, below);
            self.size = size;
        }
    }

    /// Puts another chart's parts here.
    fn append(&mut self, other: Self, x: usize, y: usize) {
        let moved = |area: CellRect| CellRect { x: area.x + x, y: area.y + y, ..area };
        self.size.width = self.size.width.max(other.size.width + x);
        self.size.height = self.size.height.max(other.size.height + y);
        self.boxes.extend(other.boxes.into_iter().map(|one| ChartBox { area: moved(one.area), ..one }));
        self.frames.extend(other.frames.into_iter().map(|one| ChartFrame { area: moved(one.area), ..one }));
        self.wires.extend(other.wires.into_iter().map(|one| ChartWire {
            points: one.points.iter().map(|point| (point.0 + x, point.1 + y)).collect(),
            label: moved(one.label),
            ..one
        }));
    }
}
