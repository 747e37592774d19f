//! The lines of a drawing before they are laid out: the tree of bodies, one row a state, one row a way that jumps.

use std::borrow::Cow;
use std::collections::HashMap;

use super::super::drawing_order::DrawingOrder;
use super::super::model::{GraphEdge, GraphVisitStatus, GraphVisitTally, WorkflowGraph};
use super::tone::GraphTone;

/// What a line shows, by its index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum GraphRowTarget {
    Node(usize),
    Edge(usize),
    Nothing,
}

/// One line: what leads to the name, the name, words beside it. What a run did is looked up when it is painted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct GraphRow {
    /// A state's begins with a blank, where the mark of the current one goes.
    pub(super) lead_text: String,
    pub(super) name: String,
    pub(super) details: String,
    pub(super) target: GraphRowTarget,
    /// Nothing leads here.
    pub(super) is_unreachable: bool,
}

impl GraphRow {
    fn new(lead: String) -> Self {
        Self {
            lead_text: lead,
            name: String::new(),
            details: String::new(),
            target: GraphRowTarget::Nothing,
            is_unreachable: false,
        }
    }

    /// What the run did there.
    pub(super) fn visit_tally(&self, graph: &WorkflowGraph) -> Option<GraphVisitTally> {
        match self.target {
            GraphRowTarget::Node(at) => graph.nodes.get(at)?.tally,
            GraphRowTarget::Edge(at) => graph.edges.get(at)?.tally,
            GraphRowTarget::Nothing => None,
        }
    }

    fn is_edge(&self) -> bool {
        !matches!(self.target, GraphRowTarget::Node(_))
    }

    /// The lead with the mark of where the run is.
    pub(super) fn marked_lead(&self, standing: Option<GraphVisitStatus>) -> Cow<'_, str> {
        match self.lead_text.strip_prefix(' ') {
            Some(rest) if standing == Some(GraphVisitStatus::Current) && !self.is_edge() => {
                Cow::Owned(format!("▶{rest}"))
            }
            _ => Cow::Borrowed(&self.lead_text),
        }
    }

    pub(super) fn tone_for(&self, standing: Option<GraphVisitStatus>) -> GraphTone {
        match standing {
            Some(GraphVisitStatus::Current) => GraphTone::Current,
            Some(GraphVisitStatus::Done) => GraphTone::Done,
            Some(GraphVisitStatus::Untouched) => GraphTone::Dim,
            None if self.is_unreachable => GraphTone::Dim,
            None => GraphTone::Plain,
        }
    }

    pub(super) fn lead_tone(&self, standing: Option<GraphVisitStatus>) -> GraphTone {
        match standing {
            Some(GraphVisitStatus::Current) => GraphTone::Current,
            Some(GraphVisitStatus::Done) if !self.is_edge() => GraphTone::Done,
            _ => GraphTone::Edge,
        }
    }

    pub(super) fn words_tone(&self, standing: Option<GraphVisitStatus>) -> GraphTone {
        match standing {
            Some(GraphVisitStatus::Done) if self.is_edge() => GraphTone::Done,
            _ if self.is_edge() && standing.is_none() => GraphTone::Plain,
            _ => GraphTone::Dim,
        }
    }
}

pub(super) fn build_rows(graph: &WorkflowGraph) -> Vec<GraphRow> {
    let mut drawing = GraphRowBuilder { graph, order: DrawingOrder::from_graph(graph), rows: Vec::new() };
    for handler in &graph.handlers {
        let name = graph.nodes.get(handler.to).map_or("", |node| &node.label);
        drawing.rows.push(GraphRow {
            name: name.to_owned(),
            details: handler.label.clone(),
            ..GraphRow::new(" any state ╌▸ ".to_owned())
        });
    }
    if !graph.handlers.is_empty() {
        drawing.rows.push(GraphRow::new(String::new()));
    }
    drawing.add_body(None, "");
    drawing.rows
}

struct GraphRowBuilder<'g> {
    graph: &'g WorkflowGraph,
    order: DrawingOrder<'g>,
    rows: Vec<GraphRow>,
}

impl GraphRowBuilder<'_> {
    /// The states of a body, one below the other, with `rail` at their left.
    fn add_body(&mut self, group: Option<usize>, rail: &str) {
        let list = self.order.body(group);
        let places: HashMap<usize, usize> = list.iter().enumerate().map(|(place, at)| (*at, place)).collect();
        for (place, at) in list.iter().enumerate() {
            let below = list.get(place + 1).copied();
            self.add_state(*at, rail);
            self.add_bodies(*at, rail);
            self.add_transitions(*at, below, &places, rail);
        }
    }

    fn add_state(&mut self, at: usize, rail: &str) {
        let node = &self.graph.nodes[at];
        let words = match node.about.as_str() {
            about if node.reachable => about.to_owned(),
            "" => "never reached".to_owned(),
            about => format!("never reached: {about}"),
        };
        self.rows.push(GraphRow {
            name: node.label.clone(),
            details: words,
            target: GraphRowTarget::Node(at),
            is_unreachable: !node.reachable,
            ..GraphRow::new(format!(" {rail}{} ", node.kind.sign()))
        });
    }

    /// The bodies that a state owns, as a tree below it.
    fn add_bodies(&mut self, owner: usize, rail: &str) {
        let bodies: Vec<(usize, String)> =
            self.graph.bodies(owner).map(|(at, group)| (at, group.name.clone())).collect();
        let line = if self.graph.outgoing_edges(owner).next().is_some() { "│ " } else { "  " };
        for (place, (group, name)) in bodies.iter().enumerate() {
            let last = place + 1 == bodies.len();
            let branch = format!("{rail}{line}{}", if last { "╰─" } else { "├─" });
            if let Some(at) = self.order.single_state_in(*group) {
                let node = &self.graph.nodes[at];
                self.rows.push(GraphRow {
                    name: name.clone(),
                    details: node.about.clone(),
                    target: GraphRowTarget::Node(at),
                    is_unreachable: !node.reachable,
                    ..GraphRow::new(format!(" {branch}{} ", node.kind.sign()))
                });
                continue;
            }
            self.rows.push(GraphRow { name: name.clone(), ..GraphRow::new(format!(" {branch} ")) });
            self.add_body(Some(*group), &format!("{rail}{line}{}", if last { "   " } else { "│  " }));
        }
    }

    fn add_transitions(
        &mut self,
        at: usize,
        below: Option<usize>,
        places: &HashMap<usize, usize>,
        rail: &str,
    ) {
        let all = self.graph.outgoing_edge_indices(at);
        let mut edges: Vec<(usize, &GraphEdge)> =
            all.map(|index| (index, &self.graph.edges[index])).collect();
        // what leads away from a failure is decided before any condition is asked
        edges.sort_by_key(|(_, edge)| !edge.kind.is_exception());
        let Some(last) = edges.len().checked_sub(1) else { return };
        // the last way may simply lead down; any other has an arrow of its own, and no second one
        let goes_on = edges.last().is_some_and(|(_, edge)| Some(edge.to) == below);
        let several = edges.iter().filter(|(_, edge)| !edge.kind.is_exception()).count() > 1;
        for (place, (index, edge)) in edges.iter().enumerate() {
            let down = place == last && goes_on;
            let (lead, name) = if down {
                (format!(" {rail}▼ "), String::new())
            } else {
                let corner = if place == last && !goes_on { '╰' } else { '├' };
                let dash = if edge.kind.is_exception() { '╌' } else { '─' };
                let arrow = arrow_between(at, edge.to, places);
                let target = self.graph.nodes[edge.to].label.clone();
                (format!(" {rail}{corner}{dash}▸ {arrow} "), target)
            };
            let of = GraphRowTarget::Edge(*index);
            self.rows.push(GraphRow {
                name,
                details: edge.words(several),
                target: of,
                ..GraphRow::new(lead)
            });
        }
        if !goes_on && below.is_some() {
            self.rows.push(GraphRow::new(format!(" {rail}").trim_end().to_owned()));
        }
    }
}

/// Up, down, or to itself.
fn arrow_between(from: usize, to: usize, places: &HashMap<usize, usize>) -> char {
    match places.get(&to).cmp(&places.get(&from)) {
        std::cmp::Ordering::Less => '↑',
        std::cmp::Ordering::Equal => '↺',
        std::cmp::Ordering::Greater => '↓',
    }
}
