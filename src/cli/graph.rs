//! `graph`: which workflows of a program are drawn, and how the drawing is written.

use std::io::{self, Write};

use super::args::GraphFormat;
use super::json_output;
use super::output::{TerminalSafeWriter, cost_text, safe_name};
use synthdev_domain::trace::TraceScope;
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_service::definition_views::graph::chart::window::{ChartLine, ChartView, chart_heading};
use synthdev_service::definition_views::graph::chart::{ChartDetail, GraphChart};
use synthdev_service::definition_views::graph::terminal::{GraphLine, GraphTone, draw_terminal};
use synthdev_service::definition_views::graph::{WorkflowGraph, dot, mermaid, svg};
use synthdev_service::run_events::build_trace;
use synthdev_service::run_reports::RunRecord;

/// How the drawing for a terminal is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GraphTerminalOptions {
    /// Columns.
    pub width: usize,
    pub colour: bool,
    /// Neither descriptions nor conditions.
    pub names_only: bool,
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
        GraphFormat::Svg => write!(TerminalSafeWriter(out), "{}", svg::draw_svg(graphs)),
        GraphFormat::Terminal | GraphFormat::List => {
            if let Some(run) = run {
                writeln!(TerminalSafeWriter(out), "{}\n", graph_heading(run))?;
            }
            for (place, (_, graph)) in graphs.iter().enumerate() {
                if place > 0 {
                    writeln!(out)?;
                }
                let chart =
                    (format == GraphFormat::Terminal).then(|| chart_lines(graph, run.is_some(), look));
                for line in chart.flatten().unwrap_or_else(|| list_lines(graph, look)) {
                    writeln!(out, "{line}")?;
                }
            }
            Ok(())
        }
    }
}

fn list_lines(graph: &WorkflowGraph, look: GraphTerminalOptions) -> Vec<String> {
    draw_terminal(graph, look.width).iter().map(|line| painted_line(line, look.colour)).collect()
}

/// Boxes and arrows; `None`: they are too wide.
fn chart_lines(graph: &WorkflowGraph, with_run: bool, look: GraphTerminalOptions) -> Option<Vec<String>> {
    let chart = if look.names_only {
        let chart = GraphChart::from_graph(graph, ChartDetail::names(with_run));
        Some(chart).filter(|chart| chart.size.width <= look.width)?
    } else {
        GraphChart::fit_to_width(graph, look.width, with_run)?
    };
    let view =
        ChartView { graph, chart: &chart, chosen: None, has_breakpoint: &|_| false, agent_sign: &|_| None };
    let lines = chart_heading(graph, look.width).into_iter().chain(view.all_lines());
    Some(lines.map(|line| painted_chart_line(&line, look.colour)).collect())
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
    line.iter().map(|span| painted_text(&span.text, tone_code(span.tone), colour)).collect()
}

fn painted_chart_line(line: &ChartLine, colour: bool) -> String {
    let painted = line.iter().map(|span| {
        let code = if span.style.is_filled { "1;7;33" } else { tone_code(span.style.tone) };
        painted_text(&span.text, code, colour)
    });
    let text: String = painted.collect();
    if colour { text } else { text.trim_end().to_owned() }
}

fn tone_code(tone: GraphTone) -> &'static str {
    match tone {
        GraphTone::Plain => "",
        GraphTone::Current => "1;33",
        GraphTone::Done => "32",
        GraphTone::Dim => "2",
        GraphTone::Edge => "36",
        GraphTone::Breakpoint => "31",
    }
}

fn painted_text(text: &str, code: &str, colour: bool) -> String {
    if colour && !code.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_service::definition_views::graph::chart::window::{ChartSpan, ChartStyle};

    #[test]
    fn the_state_where_a_run_is_is_filled_where_there_are_colours() {
        let plain = ChartStyle { tone: GraphTone::Plain, is_filled: false, is_chosen: false, agent: None };
        let style = ChartStyle { tone: GraphTone::Current, is_filled: true, ..plain };
        let line = [ChartSpan { text: "code".into(), style }, ChartSpan { text: " x ".into(), style: plain }];
        assert_eq!(painted_chart_line(&line.to_vec(), true), "\x1b[1;7;33mcode\x1b[0m x ");
        assert_eq!(painted_chart_line(&line.to_vec(), false), "code x");
    }
}
