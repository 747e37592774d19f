//! What the look of an item depends on, besides the item; plain text at that look.

use ratatui::style::Style;
use ratatui::text::Line;

use super::line_wrap::{TextLayoutOptions, WIDEST_PROSE, push};
use crate::text::{display_width, format_count};
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
    /// Milliseconds: the time, for what runs; of its rows, the last whole second since it began. `None`: nothing moves.
    pub clock: Option<i64>,
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

/// As [`layout_plain`], for lines of columns that are set apart by two spaces or more: where a line wraps, its other rows
/// begin below its last column.
pub fn layout_columns(
    text: &str,
    style: Style,
    columns: usize,
    indent: usize,
    rows: &mut Vec<Line<'static>>,
) {
    for line in text.split('\n') {
        let body = line.trim_start_matches(' ');
        let own = line.len() - body.len();
        let last = body.trim_end().rfind("  ").map_or(0, |gap| display_width(&body[..gap + 2]));
        // a column far to the right leaves no room
        let is_far = (indent + own + last) * 2 > columns;
        let hang = if is_far { own + 2 * INDENT } else { own + last };
        push(&[(style, line)], columns, indent, hang, rows);
    }
}

/// As [`layout_plain`], for what people write: no wider than words are read well.
pub fn layout_prose(text: &str, style: Style, columns: usize, indent: usize, rows: &mut Vec<Line<'static>>) {
    layout_plain(text, style, columns.min(WIDEST_PROSE), indent, rows);
}

/// Lays out a cleaned text as it is; wrapped rows keep their line's indentation.
pub fn layout_plain(text: &str, style: Style, columns: usize, indent: usize, rows: &mut Vec<Line<'static>>) {
    for line in text.split('\n') {
        let own = line.len() - line.trim_start_matches(' ').len();
        push(&[(style, line)], columns, indent, own, rows);
    }
}
