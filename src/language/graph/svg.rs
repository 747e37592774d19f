//! The chart as an image for browsers and pages: light and dark as the reader's system is, without scripts, fonts or
//! anything else from outside.

use std::fmt::Write as _;

use super::chart::{ChartBox, ChartDetail, ChartWire, GraphChart};
use super::labels::label_line;
use super::layout::{ArrowHead, CellRect};
use super::model::{GraphVisitStatus, GraphVisitTally, WorkflowGraph};
use super::terminal::{heading_texts, tally_text};

/// Pixels of a cell.
const CELL: (f64, f64) = (8.0, 18.0);
/// Pixels around everything.
const MARGIN: f64 = 16.0;
/// Of the corners of lines.
const RADIUS: f64 = 6.0;

const STYLE: &str = "
  svg { --paper: #ffffff; --ink: #1f2328; --faint: #636c76; --line: #57606a; --box: #f6f8fa;
    --done: #1a7f37; --done-box: #dafbe1; --now: #9a6700; --now-box: #fff8c5; --bad: #cf222e; }
  @media (prefers-color-scheme: dark) { svg { --paper: #0d1117; --ink: #e6edf3; --faint: #9198a1; --line: #8b949e;
    --box: #161b22; --done: #3fb950; --done-box: #12261e; --now: #d29922; --now-box: #2e2a1f; --bad: #f85149; } }
  .paper { fill: var(--paper); }
  text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: var(--ink); white-space: pre; }
  .title { font-weight: 700; }
  .faint, .label.untouched { fill: var(--faint); }
  .label, .tally { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; }
  .box { fill: var(--box); stroke: var(--line); stroke-width: 1.2; }
  .box.done { fill: var(--done-box); stroke: var(--done); }
  .box.current { fill: var(--now-box); stroke: var(--now); stroke-width: 3; }
  .frame { fill: none; stroke: var(--faint); stroke-dasharray: 2 4; }
  .wire { fill: none; stroke: var(--line); stroke-width: 1.3; }
  .wire.done { stroke: var(--done); stroke-width: 2; }
  .wire.untouched { opacity: 0.6; }
  .wire.failure { stroke-dasharray: 5 4; }
  .wire.failure:not(.done) { stroke: var(--bad); }
  .head { fill: var(--line); }
  .head.done { fill: var(--done); }
  .head.failure:not(.done) { fill: var(--bad); }
";

/// One image of a workflow and, below it, of those that it calls.
pub fn draw_svg(graphs: &[(usize, WorkflowGraph)]) -> String {
    let mut drawing = SvgWriter { body: String::new(), top: MARGIN, width: 0.0 };
    for (_, graph) in graphs {
        drawing.draw_graph(graph);
    }
    let title = escape_xml(graphs.first().map_or("", |(_, graph)| graph.workflow.as_str()));
    let (width, height) = (drawing.width + 2.0 * MARGIN, drawing.top);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n<rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n{}</svg>\n",
        drawing.body
    )
}

struct SvgWriter {
    body: String,
    /// The first free row of pixels.
    top: f64,
    width: f64,
}

impl SvgWriter {
    fn draw_graph(&mut self, graph: &WorkflowGraph) {
        for (at, (text, _)) in heading_texts(graph).into_iter().enumerate() {
            let class = if at == 0 { "title" } else { "faint" };
            self.write_text(0, 0, &text, class);
            self.width = self.width.max(columns(&text) * CELL.0);
            self.top += CELL.1;
        }
        let with_tallies = graph.nodes.iter().any(|node| node.tally.is_some());
        let chart = GraphChart::from_graph(graph, ChartDetail::whole(with_tallies));
        for frame in &chart.frames {
            self.write_rect(frame.area, "frame");
            self.write_text(frame.area.x + 2, frame.area.y, &frame.title, "faint label");
        }
        // an owner's box is below what is in it
        chart.boxes.iter().for_each(|one| {
            self.write_rect(one.area, &format!("box{}", status_class(node_tally(graph, one))))
        });
        chart.wires.iter().for_each(|wire| self.write_wire(graph, wire));
        chart.boxes.iter().for_each(|one| self.write_box_text(graph, one));
        self.width = self.width.max(chart.size.width as f64 * CELL.0);
        self.top += (chart.size.height + 2) as f64 * CELL.1;
    }

    /// The middle of a cell.
    fn place(&self, x: usize, y: usize) -> (f64, f64) {
        (MARGIN + (x as f64 + 0.5) * CELL.0, self.top + (y as f64 + 0.5) * CELL.1)
    }

    fn write_rect(&mut self, area: CellRect, class: &str) {
        let ((x, y), (right, bottom)) =
            (self.place(area.x, area.y), self.place(area.right() - 1, area.bottom() - 1));
        // writing into a string cannot fail
        let _ = writeln!(
            self.body,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"6\"/>",
            right - x,
            bottom - y
        );
    }

    /// Each text has the width of its cells, whatever font a reader has.
    fn write_text(&mut self, x: usize, y: usize, text: &str, class: &str) {
        let shown = text.trim_start();
        if shown.is_empty() {
            return;
        }
        let (left, middle) = self.place(x + (text.len() - shown.len()), y);
        let _ = writeln!(
            self.body,
            "<text class=\"{class}\" x=\"{}\" y=\"{}\" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\">{}</text>",
            left - CELL.0 / 2.0,
            middle + 4.5,
            columns(shown) * CELL.0,
            escape_xml(shown)
        );
    }

    fn write_box_text(&mut self, graph: &WorkflowGraph, one: &ChartBox) {
        for (row, line) in one.lines.iter().enumerate() {
            let class = if row == 0 { "title" } else { "faint" };
            self.write_text(one.area.x + 2, one.area.y + 1 + row, line, class);
        }
        let tally = tally_text(node_tally(graph, one).as_ref());
        let room = one.area.width.saturating_sub(4);
        if !tally.is_empty() && tally.chars().count() <= room {
            let x = one.area.right().saturating_sub(tally.chars().count() + 2);
            self.write_text(x, one.area.y, &tally, "tally");
        }
    }

    fn write_wire(&mut self, graph: &WorkflowGraph, wire: &ChartWire) {
        let tally = graph.edges.get(wire.edge).and_then(|edge| edge.tally);
        let failure = if wire.is_dashed { " failure" } else { "" };
        let class = format!("{}{failure}", status_class(tally));
        let mut points: Vec<(f64, f64)> = wire.points.iter().map(|(x, y)| self.place(*x, *y)).collect();
        let Some((x, y)) = points.last().copied() else { return };
        let (tip, base) = match wire.head {
            ArrowHead::Down => ((x, y + CELL.1 - 1.0), (x, y + CELL.1 - 9.0)),
            ArrowHead::Left => ((x - CELL.0 + 1.0, y), (x - CELL.0 + 9.0, y)),
            ArrowHead::Right => ((x + CELL.0, y), (x, y)),
        };
        points.push(base);
        let _ = writeln!(self.body, "<path class=\"wire{class}\" d=\"{}\"/>", rounded_path(&points));
        let (one, other) = match wire.head {
            ArrowHead::Down => ((base.0 - 4.0, base.1), (base.0 + 4.0, base.1)),
            ArrowHead::Left | ArrowHead::Right => ((base.0, base.1 - 4.0), (base.0, base.1 + 4.0)),
        };
        let _ = writeln!(
            self.body,
            "<path class=\"head{class}\" d=\"M{} {} L{} {} L{} {} Z\"/>",
            tip.0, tip.1, one.0, one.1, other.0, other.1
        );
        for (row, line) in wire.lines.iter().enumerate() {
            let counted = tally_text(tally.as_ref());
            let line = if wire.tally_line == Some(row) { &counted } else { line };
            self.write_text(wire.label.x, wire.label.y + row, line, &format!("label{}", status_class(tally)));
        }
    }
}

fn node_tally(graph: &WorkflowGraph, one: &ChartBox) -> Option<GraphVisitTally> {
    graph.nodes.get(one.node).and_then(|node| node.tally)
}

fn status_class(tally: Option<GraphVisitTally>) -> &'static str {
    match tally.map(|tally| tally.standing) {
        None => "",
        Some(GraphVisitStatus::Untouched) => " untouched",
        Some(GraphVisitStatus::Done) => " done",
        Some(GraphVisitStatus::Current) => " current",
    }
}

/// Lines through all points, with round corners.
fn rounded_path(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (at, (x, y)) in points.iter().enumerate() {
        let around = at.checked_sub(1).map(|before| points[before]).zip(points.get(at + 1).copied());
        let _ = match around {
            None if at == 0 => write!(path, "M{x} {y}"),
            None => write!(path, " L{x} {y}"),
            Some((before, after)) => {
                let (from, to) = (toward((*x, *y), before), toward((*x, *y), after));
                write!(path, " L{} {} Q{x} {y} {} {}", from.0, from.1, to.0, to.1)
            }
        };
    }
    path
}

/// The point on the way from a corner to the next one where its curve begins.
fn toward(corner: (f64, f64), next: (f64, f64)) -> (f64, f64) {
    let (dx, dy) = (next.0 - corner.0, next.1 - corner.1);
    let far = dx.abs().max(dy.abs());
    let share = if far > 0.0 { RADIUS.min(far / 2.0) / far } else { 0.0 };
    (corner.0 + dx * share, corner.1 + dy * share)
}

fn columns(text: &str) -> f64 {
    unicode_width::UnicodeWidthStr::width(text) as f64
}

/// Text, not syntax; without what XML does not allow.
fn escape_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in label_line(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
