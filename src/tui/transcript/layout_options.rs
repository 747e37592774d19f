//! What the look of an item depends on, besides the item; plain text at that look.

use ratatui::style::Style;
use ratatui::text::Line;

use super::line_wrap::{TextLayoutOptions, push};
use crate::text::format_count;
use crate::theme::ColorTheme;

/// Columns that stay free before what belongs to a title.
pub const INDENT: usize = 2;

/// Everything the look of an item depends on, besides the item.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ItemLayoutOptions {
    pub columns: usize,
    /// Full tool output, reasoning and data changes (Ctrl+O).
    pub details: bool,
    pub theme: ColorTheme,
}

impl ItemLayoutOptions {
    /// A text at that look.
    pub fn text_options(self, indent: usize, base: Style) -> TextLayoutOptions {
        TextLayoutOptions { columns: self.columns, indent, base, theme: self.theme }
    }
}

/// Says how much is folded.
pub fn layout_fold_line(lines: usize, look: ItemLayoutOptions, indent: usize, rows: &mut Vec<Line<'static>>) {
    let more = format!("… {} (Ctrl+O)", format_count(lines as u64, "more line"));
    layout_plain(&more, look.theme.dim_style(), look.columns, indent, rows);
}

/// Lays out a cleaned text as it is; wrapped rows keep their line's indentation.
pub fn layout_plain(text: &str, style: Style, columns: usize, indent: usize, rows: &mut Vec<Line<'static>>) {
    for line in text.split('\n') {
        let own = line.len() - line.trim_start_matches(' ').len();
        push(&[(style, line)], columns, indent, own, rows);
    }
}
