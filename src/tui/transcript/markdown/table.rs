//! A table: columns as wide as their first rows need, narrower where there is no room, cells wrapped.
//!
//! The widths are settled by the first rows, so that a table of any length can be laid out as it comes.

use std::ops::Range;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::super::line_wrap::{LinePrefix, blank_columns, push_spans};
use super::inline::inline_pieces;
use crate::text::{display_width, wrap_line};
use crate::theme::ColorTheme;

/// Rows that have a say in how wide the columns are.
pub const MEASURED: usize = 64;

/// No column becomes narrower than this, unless it needs less.
const NARROW: usize = 4;
/// Between columns: ` │ `.
const BETWEEN: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ColumnAlignment {
    Left,
    Centre,
    Right,
}

/// How a table's rows are laid out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MarkdownTable {
    widths: Vec<usize>,
    alignments: Vec<ColumnAlignment>,
}

impl MarkdownTable {
    /// `rule` is the second line (`|---|:-:|`). `None`: these two lines begin no table, or it does not fit at all.
    pub fn parse_header(header: &str, rule: &str, room: usize) -> Option<Self> {
        let aligns = column_alignments(rule)?;
        let columns = split_cells(header, usize::MAX).len();
        let fits = columns * (NARROW + BETWEEN) <= room + BETWEEN;
        (columns == aligns.len() && fits).then(|| Self { widths: vec![0; columns], alignments: aligns })
    }

    /// Settles the widths.
    pub fn measure_columns<'a>(&mut self, rows: impl Iterator<Item = &'a str>, room: usize) {
        for row in rows.take(MEASURED) {
            for (most, cell) in self.widths.iter_mut().zip(split_cells(row, self.alignments.len())) {
                let text = inline_pieces(cell, Style::new(), ColorTheme::default());
                *most = (*most).max(text.iter().map(|piece| display_width(piece.1)).sum());
            }
        }
        // a wide letter of a later row finds room
        self.widths.iter_mut().for_each(|columns| *columns = (*columns).max(2));
        let room = room.saturating_sub((self.widths.len() - 1) * BETWEEN);
        if self.widths.iter().sum::<usize>() > room {
            self.narrow_columns(room);
        }
    }

    /// Narrow columns keep what they need; the wide ones share the rest.
    fn narrow_columns(&mut self, room: usize) {
        let mut order: Vec<usize> = (0..self.widths.len()).collect();
        order.sort_by_key(|at| self.widths[*at]);
        let (mut left, mut others) = (room, order.len());
        for at in order {
            let share = left / others;
            self.widths[at] = self.widths[at].min(share.max(NARROW));
            left = left.saturating_sub(self.widths[at]);
            others -= 1;
        }
    }

    /// Lays out a row; the header's is bold and has a line below it.
    pub fn layout_row(
        &self,
        row: &str,
        base: Style,
        header: bool,
        lead: LinePrefix<'_>,
        theme: ColorTheme,
        rows: &mut Vec<Line<'static>>,
    ) {
        let style = if header { base.patch(theme.bold_style()) } else { base };
        let given = split_cells(row, self.widths.len());
        let cells: Vec<MarkdownTableCell<'_>> = self
            .widths
            .iter()
            .enumerate()
            .map(|(at, room)| {
                MarkdownTableCell::new(given.get(at).copied().unwrap_or(""), *room, style, theme)
            })
            .collect();
        let height = cells.iter().map(|cell| cell.rows.len()).max().unwrap_or(1);
        for at in 0..height {
            let mut spans = lead_spans(lead);
            for (column, cell) in cells.iter().enumerate() {
                if column > 0 {
                    spans.push(Span::styled(" │ ", theme.dim_style()));
                }
                let last = column + 1 == cells.len();
                cell.layout_cell_row(at, self.widths[column], self.alignments[column], last, &mut spans);
            }
            rows.push(Line::from(spans));
        }
        if header {
            let line: Vec<String> = self.widths.iter().map(|columns| "─".repeat(*columns)).collect();
            let mut spans = lead_spans(lead);
            spans.push(Span::styled(line.join("─┼─"), theme.dim_style()));
            rows.push(Line::from(spans));
        }
    }
}

/// A cell, wrapped.
struct MarkdownTableCell<'a> {
    pieces: Vec<(Style, &'a str)>,
    full_text: String,
    rows: Vec<Range<usize>>,
}

impl<'a> MarkdownTableCell<'a> {
    fn new(text: &'a str, room: usize, style: Style, theme: ColorTheme) -> Self {
        let pieces = inline_pieces(text, style, theme);
        let whole: String = pieces.iter().map(|piece| piece.1).collect();
        let rows = wrap_line(&whole, room);
        Self { pieces, full_text: whole, rows }
    }

    fn layout_cell_row(
        &self,
        row: usize,
        room: usize,
        align: ColumnAlignment,
        last: bool,
        spans: &mut Vec<Span<'static>>,
    ) {
        let range = self.rows.get(row).cloned().unwrap_or(0..0);
        let text = self.full_text[range.clone()].trim_end_matches(' ');
        let free = room.saturating_sub(display_width(text));
        let left = match align {
            ColumnAlignment::Centre | ColumnAlignment::Right if text.is_empty() => 0,
            ColumnAlignment::Left => 0,
            ColumnAlignment::Centre => free / 2,
            ColumnAlignment::Right => free,
        };
        if left > 0 {
            spans.push(Span::raw(blank_columns(left)));
        }
        push_spans(&self.pieces, range.start..range.start + text.len(), spans);
        if !last && free > left {
            spans.push(Span::raw(" ".repeat(free - left)));
        }
    }
}

fn lead_spans(lead: LinePrefix<'_>) -> Vec<Span<'static>> {
    if lead.other_rows.is_empty() {
        Vec::new()
    } else {
        vec![Span::styled(lead.other_rows.to_owned(), lead.style)]
    }
}

/// Could be a row of a table: it has a `|` that is not spelled `\|`.
pub fn is_row(line: &str) -> bool {
    !line.trim().is_empty() && bar_positions(line).next().is_some()
}

fn bar_positions(line: &str) -> impl Iterator<Item = usize> {
    let bytes = line.as_bytes();
    line.match_indices('|').map(|(at, _)| at).filter(move |at| *at == 0 || bytes[at - 1] != b'\\')
}

/// The cells of a row, at most so many: the last has all that is left.
fn split_cells(line: &str, most: usize) -> Vec<&str> {
    let line = line.trim();
    let mut found = Vec::new();
    let mut start = usize::from(line.starts_with('|'));
    for at in bar_positions(line) {
        if found.len() + 1 == most {
            break;
        }
        if at >= start {
            found.push(line[start..at].trim());
            start = at + 1;
        }
    }
    if start < line.len() {
        let last = &line[start..];
        let closed = last.strip_suffix('|').filter(|rest| !rest.ends_with('\\'));
        found.push(closed.unwrap_or(last).trim());
    }
    found
}

fn column_alignments(line: &str) -> Option<Vec<ColumnAlignment>> {
    if !line.contains('-')
        || !line.contains('|')
        || !line.bytes().all(|byte| matches!(byte, b'|' | b'-' | b':' | b' '))
    {
        return None;
    }
    let align = |cell: &&str| {
        let dashes = cell.trim_matches(':');
        let known = !dashes.is_empty() && dashes.bytes().all(|byte| byte == b'-');
        known.then(|| match (cell.starts_with(':'), cell.ends_with(':')) {
            (true, true) => ColumnAlignment::Centre,
            (false, true) => ColumnAlignment::Right,
            _ => ColumnAlignment::Left,
        })
    };
    split_cells(line, usize::MAX).iter().map(align).collect()
}
