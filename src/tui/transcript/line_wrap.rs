//! Pieces of text with their styles become rows of one width.

use std::borrow::Cow;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::text::{display_width, wrap_hanging};
use crate::theme::ColorTheme;

/// Words are not read well in longer rows: prose is laid out no wider. Code, tables and diffs are.
pub const WIDEST_PROSE: usize = 120;

/// A part of a line and how it looks.
pub type StyledPiece<'a> = (Style, &'a str);

/// Where and how a text is laid out.
#[derive(Clone, Copy, Debug)]
pub struct TextLayoutOptions {
    pub columns: usize,
    /// Columns that stay free on the left.
    pub indent: usize,
    pub base: Style,
    pub theme: ColorTheme,
}

impl TextLayoutOptions {
    /// Columns for words.
    pub fn prose_columns(self) -> usize {
        self.columns.min(WIDEST_PROSE)
    }
}

/// Prefixes of a line's first row and of its other rows.
#[derive(Clone, Copy, Default, Debug)]
pub struct LinePrefix<'a> {
    pub style: Style,
    pub first_row: &'a str,
    pub other_rows: &'a str,
}

const SPACES: &str =
    "                                                                                                ";

/// So many spaces; a lead is never wider than this.
pub fn blank_columns(columns: usize) -> &'static str {
    &SPACES[..columns.min(SPACES.len())]
}

/// Wraps one line; rows after the first are indented by `hang` more.
pub fn push(
    pieces: &[StyledPiece<'_>],
    columns: usize,
    indent: usize,
    hang: usize,
    rows: &mut Vec<Line<'static>>,
) {
    // A hanging indent may not eat the line.
    let hang = if hang * 2 > columns { 0 } else { hang };
    let lead = LinePrefix {
        style: Style::new(),
        first_row: blank_columns(indent),
        other_rows: blank_columns(indent + hang),
    };
    push_wrapped(pieces, lead, columns, rows);
}

/// Wraps one line behind its lead. No row is wider than `columns`, but where that is less than two.
pub fn push_wrapped(
    pieces: &[StyledPiece<'_>],
    lead: LinePrefix<'_>,
    columns: usize,
    rows: &mut Vec<Line<'static>>,
) {
    let whole: Cow<'_, str> = match pieces {
        [] => Cow::Borrowed(""),
        [(_, only)] => Cow::Borrowed(only),
        many => Cow::Owned(many.iter().map(|piece| piece.1).collect()),
    };
    let (first, rest) = (narrow_lead(lead.first_row, columns), narrow_lead(lead.other_rows, columns));
    let (room, others) =
        (columns.saturating_sub(display_width(first)), columns.saturating_sub(display_width(rest)));
    for (at, row) in wrap_hanging(&whole, room, others).into_iter().enumerate() {
        let (left, room) = if at == 0 { (first, room) } else { (rest, others) };
        let row = row.start..row.start + without_overhang(&whole[row], room).len();
        let mut spans = Vec::with_capacity(pieces.len().min(8) + 1);
        if !left.is_empty() {
            spans.push(Span::styled(left.to_owned(), lead.style));
        }
        push_spans(pieces, row, &mut spans);
        rows.push(Line::from(spans));
    }
}

/// The spans of a part of the line that the pieces make; neighbours of one style become one.
pub fn push_spans(pieces: &[StyledPiece<'_>], part: std::ops::Range<usize>, spans: &mut Vec<Span<'static>>) {
    let mut start = 0;
    for (style, piece) in pieces {
        let (from, to) = (part.start.max(start), part.end.min(start + piece.len()));
        if from < to {
            let text = &piece[from - start..to - start];
            match spans.last_mut() {
                Some(last) if last.style == *style => last.content.to_mut().push_str(text),
                _ => spans.push(Span::styled(text.to_owned(), *style)),
            }
        }
        start += piece.len();
        if start >= part.end {
            break;
        }
    }
}

/// A lead that would leave less than half of the width, or no room for a wide letter, is dropped: windows are tiny, too.
fn narrow_lead(lead: &str, columns: usize) -> &str {
    let wide = display_width(lead);
    if wide * 2 > columns || wide + 2 > columns { "" } else { lead }
}

/// Spaces beyond the edge are not drawn.
fn without_overhang(row: &str, room: usize) -> &str {
    let text = row.trim_end_matches(' ');
    let spaces = (row.len() - text.len()).min(room.saturating_sub(display_width(text)));
    &row[..text.len() + spaces]
}
