//! `graph`: which workflows of a program are drawn, and how the drawing is written.

use std::io::{self, Write};

use super::args::GraphFormat;
use super::data;
use super::words::{Clean, cost, name};
use crate::config::graph::terminal::{Line, Tone, draw};
use crate::config::graph::{Graph, dot, mermaid};
use crate::domain::trail::Part;
use crate::domain::workflow::Program;
use crate::engine::trail::trail;
use crate::runtime::history::RunRecord;

/// How the drawing for a terminal is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Look {
    /// Columns.
    pub width: usize,
    pub colour: bool,
}

/// The graphs of a program with their indices: workflow `at` first, then with `children` every other one that it
/// reaches; marked with what `run` did.
pub fn graphs(program: &Program, at: usize, children: bool, run: Option<&RunRecord>) -> Vec<(usize, Graph)> {
    let mut found = Graph::family(program, at, children);
    if let Some(run) = run {
        let trail = trail(run.events.iter().map(|(_, event)| event));
        for (at, graph) in &mut found {
            let called = graph.workflow.clone();
            graph.mark(&trail, if *at == 0 { Part::Root } else { Part::Called(&called) });
        }
    }
    found
}

/// # Errors
/// stdout cannot be written.
pub fn show(
    graphs: &[(usize, Graph)],
    run: Option<&RunRecord>,
    format: GraphFormat,
    look: Look,
    out: &mut dyn Write,
) -> io::Result<()> {
    match format {
        GraphFormat::Mermaid => write!(Clean(out), "{}", mermaid::draw(graphs)),
        GraphFormat::Dot => write!(Clean(out), "{}", dot::draw(graphs)),
        GraphFormat::Json => {
            let list: Vec<&Graph> = graphs.iter().map(|(_, graph)| graph).collect();
            data::pretty(&list, out)
        }
        GraphFormat::Terminal => {
            if let Some(run) = run {
                writeln!(Clean(out), "{}\n", head(run))?;
            }
            for (place, (_, graph)) in graphs.iter().enumerate() {
                if place > 0 {
                    writeln!(out)?;
                }
                for line in draw(graph, look.width) {
                    writeln!(out, "{}", painted(&line, look.colour))?;
                }
            }
            Ok(())
        }
    }
}

fn head(run: &RunRecord) -> String {
    let progress = &run.summary.progress;
    let visits = match progress.path.len() {
        1 => "1 visit".to_owned(),
        count => format!("{count} visits"),
    };
    let (id, workflow) = (&run.summary.id, name(&run.summary.workflow));
    format!(
        "run {id} of {workflow}: {}, {visits}, cost {}",
        progress.status.as_str(),
        cost(progress.cost_usd)
    )
}

/// Names were made printable when the graph was built; the colours are our own.
fn painted(line: &Line, colour: bool) -> String {
    let mut text = String::new();
    for span in line {
        let code = match span.tone {
            Tone::Plain => "",
            Tone::Current => "1;33",
            Tone::Done => "32",
            Tone::Dim => "2",
            Tone::Edge => "36",
        };
        if colour && !code.is_empty() {
            text.push_str(&format!("\x1b[{code}m{}\x1b[0m", span.text));
        } else {
            text.push_str(&span.text);
        }
    }
    text
}
