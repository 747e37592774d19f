//! Pieces of text with their styles become rows of one width.

use std::borrow::Cow;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::text::{width, wrap_hanging};
use crate::theme::ColorTheme;

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

/// What stands at the left of a line's first row, and of its others.
#[derive(Clone, Copy, Default, Debug)]
pub struct LinePrefix<'a> {
    pub style: Style,
    pub first: &'a str,
    pub rest: &'a str,
}

const SPACES: &str =
    "                                                                                                ";

/// So many spaces; a lead is never wider than this.
pub fn blank(columns: usize) -> &'static str {
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
    let lead = LinePrefix { style: Style::new(), first: blank(indent), rest: blank(indent + hang) };
    put(pieces, lead, columns, rows);
}

/// Wraps one line behind its lead. No row is wider than `columns`, but where that is less than two.
pub fn put(pieces: &[StyledPiece<'_>], lead: LinePrefix<'_>, columns: usize, rows: &mut Vec<Line<'static>>) {
    let whole: Cow<'_, str> = match pieces {
        [] => Cow::Borrowed(""),
        [(_, only)] => Cow::Borrowed(only),
        many => Cow::Owned(many.iter().map(|piece| piece.1).collect()),
    };
    let (first, rest) = (narrow(lead.first, columns), narrow(lead.rest, columns));
    let (room, others) = (columns.saturating_sub(width(first)), columns.saturating_sub(width(rest)));
    for (at, row) in wrap_hanging(&whole, room, others).into_iter().enumerate() {
        let (left, room) = if at == 0 { (first, room) } else { (rest, others) };
        let row = row.start..row.start + without_overhang(&whole[row], room).len();
        let mut spans = Vec::with_capacity(pieces.len().min(8) + 1);
        if !left.is_empty() {
            spans.push(Span::styled(left.to_owned(), lead.style));
        }
        cut(pieces, row, &mut spans);
        rows.push(Line::from(spans));
    }
}

/// The spans of a part of the line that the pieces make; neighbours of one style become one.
pub fn cut(pieces: &[StyledPiece<'_>], part: std::ops::Range<usize>, spans: &mut Vec<Span<'static>>) {
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
fn narrow(lead: &str, columns: usize) -> &str {
    let wide = width(lead);
    if wide * 2 > columns || wide + 2 > columns { "" } else { lead }
}

/// Spaces that stand beyond the edge are not drawn.
fn without_overhang(row: &str, room: usize) -> &str {
    let text = row.trim_end_matches(' ');
    let spaces = (row.len() - text.len()).min(room.saturating_sub(width(text)));
    &row[..text.len() + spaces]
}
