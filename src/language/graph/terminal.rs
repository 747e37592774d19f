//! The drawing for a terminal: one list from top to bottom; edges to the next state are the line at its left, other
//! edges are arrows with a name. Nothing crosses, whatever the workflow is.
//!
//! Lines are spans with a tone, so that the command line and the screen paint the same drawing. Refuses to be wider
//! than requested: what is too long is cut.

mod rows;
mod tone;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use self::rows::{GraphRow, GraphRowTarget, build_rows};
pub use self::tone::{GraphSpan, GraphTone};
use super::labels::{label_line, printable_name};
use super::model::{GraphVisitStatus, GraphVisitTally, WorkflowGraph};

pub type GraphLine = Vec<GraphSpan>;

/// A narrower drawing says nothing.
const NARROWEST: usize = 24;

/// The drawing in at most `width` columns (at least 24). Lines have no blanks at their end.
pub fn draw_terminal(graph: &WorkflowGraph, width: usize) -> Vec<GraphLine> {
    let sheet = GraphSheet::from_graph(graph);
    let look = sheet.layout_columns(graph, width);
    (0..sheet.len()).map(|at| sheet.line(graph, at, look)).collect()
}

/// The lines of a drawing in order. The layout is made once, however often the lines are painted: the progress of a run
/// changes only their content.
#[derive(Clone, Debug)]
pub struct GraphSheet {
    /// The workflow's name, its description, an empty line.
    heading: Vec<(String, GraphTone)>,
    rows: Vec<GraphRow>,
    /// Columns of the widest name with what leads to it.
    names: usize,
}

/// Where the columns begin: names on the left, words, then numbers at the right edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GraphSheetColumns {
    width: usize,
    words_column: usize,
    numbers_column: usize,
}

impl GraphSheet {
    pub fn from_graph(graph: &WorkflowGraph) -> Self {
        let rows = build_rows(graph);
        let name = |row: &GraphRow| row.lead_text.width() + printable_name(&row.name).width();
        Self { names: rows.iter().map(name).max().unwrap_or(0), heading: heading_texts(graph), rows }
    }

    pub fn len(&self) -> usize {
        self.heading.len() + self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The columns for the present numbers of the graph.
    pub fn layout_columns(&self, graph: &WorkflowGraph, width: usize) -> GraphSheetColumns {
        let width = width.max(NARROWEST);
        let numbers = self
            .rows
            .iter()
            .map(|row| tally_text(row.visit_tally(graph).as_ref()).width())
            .max()
            .unwrap_or(0);
        // names get at most two fifths: the words are what a reader does not know yet
        GraphSheetColumns { width, words_column: self.names.min(width * 2 / 5) + 2, numbers_column: numbers }
    }

    /// One line; `graph` is the one that the sheet was made of, with other marks on it perhaps.
    pub fn line(&self, graph: &WorkflowGraph, at: usize, look: GraphSheetColumns) -> GraphLine {
        if let Some((text, tone)) = self.heading.get(at) {
            return if text.is_empty() {
                Vec::new()
            } else {
                vec![graph_span(&cut_to_columns(text, look.width), *tone)]
            };
        }
        let row = at.checked_sub(self.heading.len()).and_then(|at| self.rows.get(at));
        row.map(|row| look.line(row, row.visit_tally(graph))).unwrap_or_default()
    }

    /// The first line of a state where the run is now, or ended.
    pub fn current_line(&self, graph: &WorkflowGraph) -> Option<usize> {
        let here = |row: &GraphRow| {
            matches!(row.target, GraphRowTarget::Node(_))
                && row.visit_tally(graph).is_some_and(|tally| tally.standing == GraphVisitStatus::Current)
        };
        self.rows.iter().rposition(here).map(|at| at + self.heading.len())
    }
}

/// The workflow's name, its description, an empty line.
pub(super) fn heading_texts(graph: &WorkflowGraph) -> Vec<(String, GraphTone)> {
    let mut heading = vec![(printable_name(&graph.workflow), GraphTone::Plain)];
    if !graph.description.trim().is_empty() {
        heading.push((label_line(&graph.description), GraphTone::Dim));
    }
    heading.push((String::new(), GraphTone::Plain));
    heading
}

/// The same as plain text, one line after the other.
pub fn plain_text(lines: &[GraphLine]) -> String {
    let mut text = String::new();
    for line in lines {
        line.iter().for_each(|span| text.push_str(&span.text));
        text.push('\n');
    }
    text
}

impl GraphSheetColumns {
    fn line(self, row: &GraphRow, tally: Option<GraphVisitTally>) -> GraphLine {
        let standing = tally.map(|tally| tally.standing);
        let mut line = GraphLineBuilder { line: Vec::new(), column: 0, end: self.width };
        line.push_text(&row.marked_lead(standing), row.lead_tone(standing));
        let (name, words) = (printable_name(&row.name), label_line(&row.details));
        let room = self.words_column.saturating_sub(line.column + 2);
        line.push_text(&cut_to_columns(&name, room), row.tone_for(standing));
        let numbers = tally_text(tally.as_ref());
        let end =
            self.width.saturating_sub(if self.numbers_column > 0 { self.numbers_column + 2 } else { 0 });
        if !words.is_empty() && end > self.words_column.max(line.column) + 1 {
            line.pad_to_column(self.words_column);
            line.push_text(
                &cut_to_columns(&words, end.saturating_sub(line.column)),
                row.words_tone(standing),
            );
        }
        if !numbers.is_empty() {
            line.pad_to_column(self.width.saturating_sub(numbers.width()));
            line.push_text(&numbers, row.tone_for(standing));
        }
        line.finish_line()
    }
}

struct GraphLineBuilder {
    line: GraphLine,
    column: usize,
    end: usize,
}

impl GraphLineBuilder {
    fn push_text(&mut self, text: &str, tone: GraphTone) {
        let text = cut_to_columns(text, self.end.saturating_sub(self.column));
        if !text.is_empty() {
            self.column += text.width();
            self.line.push(GraphSpan { text, tone });
        }
    }

    /// Pads with blanks up to a column; the blanks extend the last span.
    fn pad_to_column(&mut self, column: usize) {
        let blanks = " ".repeat(column.saturating_sub(self.column));
        match self.line.last_mut() {
            Some(last) => last.text.push_str(&blanks),
            None => self.line.push(graph_span(&blanks, GraphTone::Plain)),
        }
        self.column = self.column.max(column);
    }

    fn finish_line(mut self) -> GraphLine {
        if let Some(last) = self.line.last_mut() {
            last.text.truncate(last.text.trim_end().len());
        }
        self.line.retain(|span| !span.text.is_empty());
        self.line
    }
}

/// `×3  $0.0123`, or tokens where no price is known; nothing where nothing was.
pub(super) fn tally_text(tally: Option<&GraphVisitTally>) -> String {
    let Some(tally) = tally.filter(|tally| tally.standing != GraphVisitStatus::Untouched) else {
        return String::new();
    };
    let spent = match tally.cost_usd {
        _ if tally.tokens == 0 => return format!("×{}", tally.count),
        // as everywhere
        Some(0.0) => "$0".to_owned(),
        Some(usd) => format!("${usd:.4}"),
        None if tally.tokens < 10_000 => format!("{} tokens", tally.tokens),
        None => format!("{}k tokens", tally.tokens / 1_000),
    };
    format!("×{}  {spent}", tally.count)
}

fn graph_span(text: &str, tone: GraphTone) -> GraphSpan {
    GraphSpan { text: text.to_owned(), tone }
}

/// As much of a text as fits, with `…` for what does not.
fn cut_to_columns(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > room {
            break;
        }
        out.push(c);
    }
    if room > 0 {
        out.truncate(out.trim_end().len());
        out.push('…');
    }
    out
}
