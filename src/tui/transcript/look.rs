//! What the look of an item depends on, besides the item; plain text at that look.

use ratatui::style::Style;
use ratatui::text::Line;

use super::rows::{Page, push};
use crate::tui::text::counted;
use crate::tui::theme::Theme;

/// Columns that stay free before what belongs to a title.
pub const INDENT: usize = 2;

/// Everything the look of an item depends on, besides the item.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Look {
    pub columns: usize,
    /// Full tool output, reasoning and data changes (Ctrl+O).
    pub details: bool,
    pub theme: Theme,
}

impl Look {
    /// A text at that look.
    pub fn page(self, indent: usize, base: Style) -> Page {
        Page { columns: self.columns, indent, base, theme: self.theme }
    }
}

/// Says how much is folded.
pub fn lay_more(lines: usize, look: Look, indent: usize, rows: &mut Vec<Line<'static>>) {
    let more = format!("… {} (Ctrl+O)", counted(lines as u64, "more line"));
    lay_plain(&more, look.theme.dim(), look.columns, indent, rows);
}

/// Lays out a cleaned text as it is; wrapped rows keep their line's indentation.
pub fn lay_plain(text: &str, style: Style, columns: usize, indent: usize, rows: &mut Vec<Line<'static>>) {
    for line in text.split('\n') {
        let own = line.len() - line.trim_start_matches(' ').len();
        push(&[(style, line)], columns, indent, own, rows);
    }
}
