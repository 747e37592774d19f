//! The graph as a Mermaid `stateDiagram-v2`.
//!
//! Texts of a file are data: whatever Mermaid could read as syntax is written as a character code, names are never
//! used as ids.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::labels::label_line;
use super::model::{BodyStates, EdgeKind, GraphEdge, GraphVisitStatus, NodeKind, WorkflowGraph};
use super::terminal::tally_text;

/// One diagram of a workflow and, beside it, of those that it calls: `graphs[n]` is the program's workflow `n`, those
/// that shall not be drawn are left out.
pub fn draw_mermaid(graphs: &[(usize, WorkflowGraph)]) -> String {
    let mut out = String::from("stateDiagram-v2\n    direction TB\n");
    let mut drawing = MermaidWriter { output: &mut out, status_marks: Vec::new() };
    for (place, (at, graph)) in graphs.iter().enumerate() {
        if place == 0 {
            drawing.write_workflow(*at, graph, 1);
            continue;
        }
        drawing.write_line(1, &format!("state \"{}\" as w{at} {{", escape_text(&graph.workflow)));
        drawing.write_workflow(*at, graph, 2);
        drawing.write_line(1, "}");
    }
    let beside: HashSet<usize> = graphs.iter().skip(1).map(|(at, _)| *at).collect();
    for (at, graph) in graphs {
        for (state, node) in graph.nodes.iter().enumerate() {
            let called = node.calls.filter(|called| beside.contains(called));
            if let Some(called) = called.filter(|called| called != at && !node.hidden) {
                drawing.write_line(1, &format!("{} --> w{called} : calls", node_id(*at, state)));
            }
        }
    }
    drawing.write_classes();
    out
}

struct MermaidWriter<'o> {
    output: &'o mut String,
    status_marks: Vec<(String, GraphVisitStatus)>,
}

impl MermaidWriter<'_> {
    fn write_line(&mut self, depth: usize, line: &str) {
        // writing into a string cannot fail
        let _ = writeln!(self.output, "{}{line}", "    ".repeat(depth));
    }

    fn write_workflow(&mut self, at: usize, graph: &WorkflowGraph, depth: usize) {
        self.write_line(depth, &format!("[*] --> {}", node_id(at, graph.start)));
        self.write_states(at, graph, &BodyStates::from_graph(graph), None, depth);
        let any = format!("any{at}");
        if !graph.handlers.is_empty() {
            self.write_line(depth, &format!("state \"any state\" as {any}"));
        }
        for handler in &graph.handlers {
            let target = node_id(at, handler.to);
            self.write_line(
                depth,
                &format!("{any} --> {target} : {}", escape_text(&format!("! {}", handler.label))),
            );
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
        let list = || states.states_in(group).iter().copied().filter(|index| !graph.nodes[*index].hidden);
        for index in list() {
            self.write_state(at, graph, states, index, depth);
        }
        for edge in list().flat_map(|index| graph.outgoing_edges(index)) {
            let (from, to) = (node_id(at, edge.from), node_id(at, edge.to));
            let label = edge_label(graph, edge);
            let label = if label.is_empty() { String::new() } else { format!(" : {}", escape_text(&label)) };
            self.write_line(depth, &format!("{from} --> {to}{label}"));
        }
        for index in list() {
            if graph.nodes[index].kind == NodeKind::End {
                self.write_line(depth, &format!("{} --> [*]", node_id(at, index)));
            }
        }
    }

    /// A state with bodies is a composite one: its branches are beside each other.
    fn write_state(
        &mut self,
        at: usize,
        graph: &WorkflowGraph,
        states: &BodyStates,
        index: usize,
        depth: usize,
    ) {
        let node = &graph.nodes[index];
        let own = node_id(at, index);
        if let Some(tally) = node.tally {
            self.status_marks.push((own.clone(), tally.standing));
        }
        let counted = tally_text(node.tally.as_ref());
        let about =
            if counted.is_empty() { node.about.clone() } else { format!("{} ({counted})", node.about) };
        let bodies: Vec<usize> = graph.bodies(index).map(|(group, _)| group).collect();
        if bodies.is_empty() {
            self.write_line(depth, &format!("{own} : {}", escape_text(&node.label)));
            self.write_line(depth, &format!("{own} : {}", escape_text(&about)));
            return;
        }
        self.write_line(
            depth,
            &format!("state \"{} ({})\" as {own} {{", escape_text(&node.label), escape_text(&about)),
        );
        for (place, group) in bodies.into_iter().enumerate() {
            if place > 0 {
                self.write_line(depth + 1, "--");
            }
            let body = &graph.groups[group];
            self.write_line(depth + 1, &format!("state \"{}\" as g{at}x{group} {{", escape_text(&body.name)));
            self.write_line(depth + 2, &format!("[*] --> {}", node_id(at, body.start)));
            self.write_states(at, graph, states, Some(group), depth + 2);
            self.write_line(depth + 1, "}");
        }
        self.write_line(depth, "}");
    }

    fn write_classes(&mut self) {
        let named = |standing: GraphVisitStatus| -> Vec<&str> {
            self.status_marks
                .iter()
                .filter(|(_, mark)| *mark == standing)
                .map(|(id, _)| id.as_str())
                .collect()
        };
        let (done, current) =
            (named(GraphVisitStatus::Done).join(","), named(GraphVisitStatus::Current).join(","));
        if !done.is_empty() {
            self.write_line(1, "classDef done fill:#d7f0d7,color:#000");
            self.write_line(1, &format!("class {done} done"));
        }
        if !current.is_empty() {
            self.write_line(1, "classDef current fill:#ffd75f,color:#000,stroke-width:3px");
            self.write_line(1, &format!("class {current} current"));
        }
    }
}

fn node_id(workflow: usize, state: usize) -> String {
    format!("s{workflow}x{state}")
}

fn edge_label(graph: &WorkflowGraph, edge: &GraphEdge) -> String {
    let several =
        graph.outgoing_edges(edge.from).filter(|other| other.kind == EdgeKind::Transition).nth(1).is_some();
    let label = edge.words(several);
    match tally_text(edge.tally.as_ref()) {
        counted if counted.is_empty() => label,
        counted => format!("{label} ({counted})").trim_start().to_owned(),
    }
}

const HARMLESS: &str = " .,_()!?/='+-×…";

/// Only letters, digits, blanks and harmless marks stay as they are.
fn escape_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in label_line(text).chars() {
        if c.is_alphanumeric() || HARMLESS.contains(c) {
            out.push(c);
        } else {
            let _ = write!(out, "#{};", u32::from(c));
        }
    }
    out
}
