//! `graph`: which workflows of a program are drawn, and how the drawing is written.

use std::io::{self, Write};

use super::args::GraphFormat;
use super::json_output;
use super::output::{TerminalSafeWriter, cost_text, safe_name};
use synthdev_domain::trace::TraceScope;
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_service::definition_views::graph::terminal::{GraphLine, GraphTone, draw_terminal};
use synthdev_service::definition_views::graph::{WorkflowGraph, dot, mermaid};
use synthdev_service::run_events::build_trace;
use synthdev_service::run_reports::RunRecord;

/// How the drawing for a terminal is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GraphTerminalOptions {
    /// Columns.
    pub width: usize,
    pub colour: bool,
}

/// The graphs of a program with their indices: workflow `at` first, then with `children` every other one that it
/// reaches; marked with what `run` did.
pub fn program_graphs(
    program: &WorkflowProgram,
    at: usize,
    children: bool,
    run: Option<&RunRecord>,
) -> Vec<(usize, WorkflowGraph)> {
    let mut found = WorkflowGraph::with_children(program, at, children);
    if let Some(run) = run {
        let trail = build_trace(run.events.iter().map(|(_, event)| &event.event));
        for (at, graph) in &mut found {
            let called = graph.workflow.clone();
            graph
                .overlay_trace(&trail, if *at == 0 { TraceScope::Root } else { TraceScope::Called(&called) });
        }
    }
    found
}

/// # Errors
/// stdout cannot be written.
pub fn write_graphs(
    graphs: &[(usize, WorkflowGraph)],
    run: Option<&RunRecord>,
    format: GraphFormat,
    look: GraphTerminalOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    match format {
        GraphFormat::Mermaid => write!(TerminalSafeWriter(out), "{}", mermaid::draw_mermaid(graphs)),
        GraphFormat::Dot => write!(TerminalSafeWriter(out), "{}", dot::draw_dot(graphs)),
        GraphFormat::Json => {
            let list: Vec<&WorkflowGraph> = graphs.iter().map(|(_, graph)| graph).collect();
            json_output::write_pretty_json(&list, out)
        }
        GraphFormat::Terminal => {
            if let Some(run) = run {
                writeln!(TerminalSafeWriter(out), "{}\n", graph_heading(run))?;
            }
            for (place, (_, graph)) in graphs.iter().enumerate() {
                if place > 0 {
                    writeln!(out)?;
                }
                for line in draw_terminal(graph, look.width) {
                    writeln!(out, "{}", painted_line(&line, look.colour))?;
                }
            }
            Ok(())
        }
    }
}

fn graph_heading(run: &RunRecord) -> String {
    let progress = &run.summary.progress;
    let visits = match progress.path.len() {
        1 => "1 visit".to_owned(),
        count => format!("{count} visits"),
    };
    let (id, workflow) = (&run.summary.id, safe_name(&run.summary.workflow));
    format!(
        "run {id} of {workflow}: {}, {visits}, cost {}",
        progress.status.as_str(),
        cost_text(progress.cost_usd)
    )
}

/// Names were made printable when the graph was built; the colours are our own.
fn painted_line(line: &GraphLine, colour: bool) -> String {
    let mut text = String::new();
    for span in line {
        let code = match span.tone {
            GraphTone::Plain => "",
            GraphTone::Current => "1;33",
            GraphTone::Done => "32",
            GraphTone::Dim => "2",
            GraphTone::Edge => "36",
        };
        if colour && !code.is_empty() {
            text.push_str(&format!("\x1b[{code}m{}\x1b[0m", span.text));
        } else {
            text.push_str(&span.text);
        }
    }
    text
}
