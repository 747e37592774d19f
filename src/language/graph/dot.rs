//! The graph in Graphviz's DOT language. Every text is a quoted string; names are never used as ids.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::labels::label_line;
use super::model::{BodyStates, EdgeKind, GraphEdge, GraphNode, GraphVisitStatus, NodeKind, WorkflowGraph};
use super::terminal::tally_text;

/// One digraph of a workflow and, beside it, of those that it calls: `graphs` holds the program's index of each.
pub fn draw_dot(graphs: &[(usize, WorkflowGraph)]) -> String {
    let title = graphs.first().map_or("", |(_, graph)| graph.workflow.as_str());
    let mut drawing = DotWriter { output: format!("digraph {} {{\n", quote_text(title)) };
    drawing.write_line(1, "rankdir=TB;");
    drawing.write_line(
        1,
        "node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"sans-serif\"];",
    );
    drawing.write_line(1, "edge [fontname=\"sans-serif\", fontsize=10];");
    for (place, (at, graph)) in graphs.iter().enumerate() {
        if place == 0 {
            drawing.write_workflow(*at, graph, 1);
            continue;
        }
        drawing.write_line(1, &format!("subgraph cluster_w{at} {{"));
        drawing.write_line(2, &format!("label={};", quote_text(&graph.workflow)));
        drawing.write_workflow(*at, graph, 2);
        drawing.write_line(1, "}");
    }
    let beside: HashMap<usize, &WorkflowGraph> =
        graphs.iter().skip(1).map(|(at, graph)| (*at, graph)).collect();
    for (at, graph) in graphs {
        for (state, node) in graph.nodes.iter().enumerate().filter(|(_, node)| !node.hidden) {
            let called = node.calls.and_then(|called| Some((called, beside.get(&called)?)));
            if let Some((called, child)) = called.filter(|(called, _)| called != at) {
                let to = node_id(called, child.start);
                drawing.write_line(
                    1,
                    &format!("{} -> {to} [style=dotted, label=\"calls\"];", node_id(*at, state)),
                );
            }
        }
    }
    drawing.output.push_str("}\n");
    drawing.output
}

struct DotWriter {
    output: String,
}

impl DotWriter {
    fn write_line(&mut self, depth: usize, line: &str) {
        // writing into a string cannot fail
        let _ = writeln!(self.output, "{}{line}", "    ".repeat(depth));
    }

    fn write_workflow(&mut self, at: usize, graph: &WorkflowGraph, depth: usize) {
        self.write_line(depth, &format!("begin{at} [shape=point, width=0.15, label=\"\"];"));
        self.write_line(depth, &format!("begin{at} -> {};", node_id(at, graph.start)));
        self.write_states(at, graph, &BodyStates::from_graph(graph), None, depth);
        for edge in graph.edges.iter().filter(|edge| !graph.nodes[edge.from].hidden) {
            self.write_edge(at, graph, edge, depth);
        }
        let any = format!("any{at}");
        if !graph.handlers.is_empty() {
            self.write_line(depth, &format!("{any} [label=\"any state\", style=dashed];"));
        }
        for handler in &graph.handlers {
            let label = quote_text(&format!("! {}", handler.label));
            let to = node_id(at, handler.to);
            self.write_line(depth, &format!("{any} -> {to} [style=dashed, color=firebrick, label={label}];"));
        }
    }

    fn write_states(
        &mut self,
        at: usize,
        graph: &WorkflowGraph,
        states: &BodyStates,
        group: Option<usize>,
        depth: usize,
    ) {
        for index in states.states_in(group).iter().copied().filter(|index| !graph.nodes[*index].hidden) {
            self.write_line(
                depth,
                &format!("{} [{}];", node_id(at, index), node_attributes(&graph.nodes[index])),
            );
            let bodies: Vec<usize> = graph.bodies(index).map(|(group, _)| group).collect();
            for body in bodies {
                let name = &graph.groups[body].name;
                self.write_line(depth, &format!("subgraph cluster_g{at}_{body} {{"));
                self.write_line(depth + 1, &format!("label={}; style=dashed;", quote_text(name)));
                self.write_states(at, graph, states, Some(body), depth + 1);
                self.write_line(depth, "}");
                let start = node_id(at, graph.groups[body].start);
                self.write_line(depth, &format!("{} -> {start} [style=dotted];", node_id(at, index)));
            }
        }
    }

    fn write_edge(&mut self, at: usize, graph: &WorkflowGraph, edge: &GraphEdge, depth: usize) {
        let several = graph
            .outgoing_edges(edge.from)
            .filter(|other| other.kind == EdgeKind::Transition)
            .nth(1)
            .is_some();
        let mut label = edge.words(several);
        let counted = tally_text(edge.tally.as_ref());
        if !counted.is_empty() {
            label = format!("{label} ({counted})").trim_start().to_owned();
        }
        let mut with = Vec::new();
        if !label.is_empty() {
            with.push(format!("label={}", quote_text(&label)));
        }
        if edge.kind.is_exception() {
            with.push("style=dashed, color=firebrick".to_owned());
        } else if edge.tally.is_some_and(|tally| tally.standing != GraphVisitStatus::Untouched) {
            with.push("penwidth=2".to_owned());
        }
        let with = if with.is_empty() { String::new() } else { format!(" [{}]", with.join(", ")) };
        self.write_line(depth, &format!("{} -> {}{with};", node_id(at, edge.from), node_id(at, edge.to)));
    }
}

fn node_attributes(node: &GraphNode) -> String {
    let counted = tally_text(node.tally.as_ref());
    let lines: Vec<String> = [node.label.as_str(), node.about.as_str(), counted.as_str()]
        .into_iter()
        .filter(|line| !line.is_empty())
        .map(escape_text)
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

fn node_id(workflow: usize, state: usize) -> String {
    format!("s{workflow}_{state}")
}

fn quote_text(text: &str) -> String {
    format!("\"{}\"", escape_text(text))
}

/// Graphviz knows two escapes in a quoted string; a backslash of the text must not become one of its own.
fn escape_text(text: &str) -> String {
    label_line(text).replace('&', "&amp;").replace('\\', "\\\\").replace('"', "\\\"")
}
