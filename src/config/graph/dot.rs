//! The graph in Graphviz's DOT language. Every text is a quoted string; names are never used as ids.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::labels::one_line;
use super::model::{BodyStates, EdgeKind, GraphEdge, GraphNode, GraphVisitStatus, NodeKind, WorkflowGraph};
use super::terminal::numbers;

/// One digraph of a workflow and, beside it, of those that it calls: `graphs` holds the program's index of each.
pub fn draw(graphs: &[(usize, WorkflowGraph)]) -> String {
    let title = graphs.first().map_or("", |(_, graph)| graph.workflow.as_str());
    let mut drawing = DotWriter { out: format!("digraph {} {{\n", quote(title)) };
    drawing.line(1, "rankdir=TB;");
    drawing.line(1, "node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"sans-serif\"];");
    drawing.line(1, "edge [fontname=\"sans-serif\", fontsize=10];");
    for (place, (at, graph)) in graphs.iter().enumerate() {
        if place == 0 {
            drawing.workflow(*at, graph, 1);
            continue;
        }
        drawing.line(1, &format!("subgraph cluster_w{at} {{"));
        drawing.line(2, &format!("label={};", quote(&graph.workflow)));
        drawing.workflow(*at, graph, 2);
        drawing.line(1, "}");
    }
    let beside: HashMap<usize, &WorkflowGraph> =
        graphs.iter().skip(1).map(|(at, graph)| (*at, graph)).collect();
    for (at, graph) in graphs {
        for (state, node) in graph.nodes.iter().enumerate().filter(|(_, node)| !node.hidden) {
            let called = node.calls.and_then(|called| Some((called, beside.get(&called)?)));
            if let Some((called, child)) = called.filter(|(called, _)| called != at) {
                let to = id(called, child.start);
                drawing.line(1, &format!("{} -> {to} [style=dotted, label=\"calls\"];", id(*at, state)));
            }
        }
    }
    drawing.out.push_str("}\n");
    drawing.out
}

struct DotWriter {
    out: String,
}

impl DotWriter {
    fn line(&mut self, depth: usize, line: &str) {
        // writing into a string cannot fail
        let _ = writeln!(self.out, "{}{line}", "    ".repeat(depth));
    }

    fn workflow(&mut self, at: usize, graph: &WorkflowGraph, depth: usize) {
        self.line(depth, &format!("begin{at} [shape=point, width=0.15, label=\"\"];"));
        self.line(depth, &format!("begin{at} -> {};", id(at, graph.start)));
        self.states(at, graph, &BodyStates::from_graph(graph), None, depth);
        for edge in graph.edges.iter().filter(|edge| !graph.nodes[edge.from].hidden) {
            self.edge(at, graph, edge, depth);
        }
        let any = format!("any{at}");
        if !graph.handlers.is_empty() {
            self.line(depth, &format!("{any} [label=\"any state\", style=dashed];"));
        }
        for handler in &graph.handlers {
            let label = quote(&format!("! {}", handler.label));
            let to = id(at, handler.to);
            self.line(depth, &format!("{any} -> {to} [style=dashed, color=firebrick, label={label}];"));
        }
    }

    fn states(
        &mut self,
        at: usize,
        graph: &WorkflowGraph,
        states: &BodyStates,
        group: Option<usize>,
        depth: usize,
    ) {
        for index in states.list(group).iter().copied().filter(|index| !graph.nodes[*index].hidden) {
            self.line(depth, &format!("{} [{}];", id(at, index), attributes(&graph.nodes[index])));
            let bodies: Vec<usize> = graph.bodies(index).map(|(group, _)| group).collect();
            for body in bodies {
                let name = &graph.groups[body].name;
                self.line(depth, &format!("subgraph cluster_g{at}_{body} {{"));
                self.line(depth + 1, &format!("label={}; style=dashed;", quote(name)));
                self.states(at, graph, states, Some(body), depth + 1);
                self.line(depth, "}");
                let start = id(at, graph.groups[body].start);
                self.line(depth, &format!("{} -> {start} [style=dotted];", id(at, index)));
            }
        }
    }

    fn edge(&mut self, at: usize, graph: &WorkflowGraph, edge: &GraphEdge, depth: usize) {
        let several = graph
            .outgoing_edges(edge.from)
            .filter(|other| other.kind == EdgeKind::Transition)
            .nth(1)
            .is_some();
        let mut label = match edge.kind {
            EdgeKind::Transition if several => format!("{}. {}", edge.order, edge.label),
            EdgeKind::Transition => edge.label.clone(),
            _ => format!("! {}", edge.label),
        };
        let counted = numbers(edge.tally.as_ref());
        if !counted.is_empty() {
            label = format!("{label} ({counted})").trim_start().to_owned();
        }
        let mut with = Vec::new();
        if !label.is_empty() {
            with.push(format!("label={}", quote(&label)));
        }
        if edge.kind.is_exception() {
            with.push("style=dashed, color=firebrick".to_owned());
        } else if edge.tally.is_some_and(|tally| tally.standing != GraphVisitStatus::Untouched) {
            with.push("penwidth=2".to_owned());
        }
        let with = if with.is_empty() { String::new() } else { format!(" [{}]", with.join(", ")) };
        self.line(depth, &format!("{} -> {}{with};", id(at, edge.from), id(at, edge.to)));
    }
}

fn attributes(node: &GraphNode) -> String {
    let counted = numbers(node.tally.as_ref());
    let lines: Vec<String> = [node.label.as_str(), node.about.as_str(), counted.as_str()]
        .into_iter()
        .filter(|line| !line.is_empty())
        .map(escaped)
        .collect();
    let shape = match node.kind {
        NodeKind::Agent => "box",
        NodeKind::Script | NodeKind::Route => "ellipse",
        NodeKind::Child => "box3d",
        NodeKind::Parallel | NodeKind::ForEach => "folder",
        NodeKind::Step => "component",
        NodeKind::Pause => "hexagon",
        NodeKind::Wait => "octagon",
        NodeKind::Fail | NodeKind::End => "doubleoctagon",
    };
    let fill = match node.tally.map(|tally| tally.standing) {
        Some(GraphVisitStatus::Current) => ", fillcolor=\"#ffd75f\", penwidth=3",
        Some(GraphVisitStatus::Done) => ", fillcolor=\"#d7f0d7\"",
        Some(GraphVisitStatus::Untouched) | None => "",
    };
    format!("label=\"{}\", shape={shape}{fill}", lines.join("\\n"))
}

fn id(workflow: usize, state: usize) -> String {
    format!("s{workflow}_{state}")
}

fn quote(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

/// Graphviz knows two escapes in a quoted string; a backslash of the text must not become one of its own.
fn escaped(text: &str) -> String {
    one_line(text).replace('&', "&amp;").replace('\\', "\\\\").replace('"', "\\\"")
}
