//! The two strokes that every part of the screen draws with.

use ratatui::Frame;
use ratatui::buffer::CellDiffOption;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

use unicode_width::UnicodeWidthChar as _;

use crate::model::UiModel;
use crate::text::{display_width, fit_to_columns};

/// A line of spans, cut at the area's edge and marked with `…`.
pub(super) fn put_line(frame: &mut Frame<'_>, x: u16, y: u16, line: &Line<'_>, columns: u16) {
    if y >= frame.area().bottom() || x >= frame.area().right() {
        return;
    }
    let columns = columns.min(frame.area().right() - x);
    frame.buffer_mut().set_line(x, y, line, columns);
    if columns > 0 && is_too_wide(line, usize::from(columns)) {
        mark_cut(frame, x, x + columns - 1, y);
    }
}

/// A selected row has one style: nothing of its cells' own colours stays.
pub(super) fn select_row(frame: &mut Frame<'_>, row: Rect, style: Style) {
    let row = row.intersection(frame.area());
    frame.buffer_mut().set_style(row, Style::reset().patch(style));
}

/// Blanks beyond the edge do not count.
fn is_too_wide(line: &Line<'_>, columns: usize) -> bool {
    let all: usize = line.spans.iter().map(|span| display_width(&span.content)).sum();
    if all <= columns {
        return false;
    }
    let text: String = line.spans.iter().map(|span| span.content.as_ref()).collect();
    display_width(text.trim_end()) > columns
}

/// Marks the last cell of a cut row; half a wide letter is no cell.
fn mark_cut(frame: &mut Frame<'_>, first: u16, last: u16, y: u16) {
    let buffer = frame.buffer_mut();
    if last > first && display_width(buffer[(last - 1, y)].symbol()) > 1 {
        buffer[(last - 1, y)].set_symbol(" ");
    }
    buffer[(last, y)].set_symbol("…");
}

/// A joined emoji counts as one sign of two columns. A terminal that does not join it draws its parts across the
/// following cells: these are written again with every frame.
pub(super) fn cover_wide_cells(frame: &mut Frame<'_>) {
    let cells = &mut frame.buffer_mut().content;
    for at in 0..cells.len() {
        // two parts take eight bytes
        let sign = cells[at].symbol();
        if sign.len() < 8 {
            continue;
        }
        let joined = display_width(sign);
        let apart: usize = sign.chars().map(|part| part.width().unwrap_or(0)).sum();
        for cell in cells.iter_mut().skip(at + joined).take(apart.saturating_sub(joined)) {
            cell.set_diff_option(CellDiffOption::AlwaysUpdate);
        }
    }
}

/// From this width on the keys of a screen have a mode sign before them.
const SIGN_WIDTH: u16 = 40;

/// The mode sign before the keys of a screen, and its columns with the gap.
fn keys_sign(model: &UiModel, columns: u16) -> (&'static str, u16) {
    match model.mode_sign() {
        Some(sign) if columns >= SIGN_WIDTH => (sign, u16::try_from(display_width(sign)).unwrap_or(0) + 3),
        _ => ("", 0),
    }
}

/// Columns for the keys beside the mode sign.
pub(super) fn keys_room(model: &UiModel, columns: u16) -> u16 {
    columns.saturating_sub(keys_sign(model, columns).1)
}

/// Where room is short the keys before the last go first: the last one leaves.
fn fit_keys(keys: &str, columns: usize) -> String {
    let mut parts: Vec<&str> = keys.split(" · ").collect();
    while parts.len() > 2 && display_width(&parts.join(" · ")) > columns {
        parts.remove(parts.len() - 2);
    }
    parts.join(" · ")
}

/// The last rows of a screen: its keys, and who gets what is typed.
pub(super) fn put_keys(model: &UiModel, rows: &[&str], area: Rect, frame: &mut Frame<'_>) {
    let (sign, before) = keys_sign(model, area.width);
    for (y, keys) in (area.y..area.bottom()).zip(rows) {
        let keys = fit_keys(keys, usize::from(area.width - before));
        let keys = Line::styled(keys, model.theme.dim_style());
        put_line(frame, area.x + before, y, &keys, area.width - before);
    }
    if before > 0 && area.height > 0 {
        let sign = Line::styled(format!(" {sign} "), model.theme.selected_style());
        put_line(frame, area.x, area.bottom() - 1, &sign, before);
    }
}

/// A frame with a title around an area that was emptied; returns the inside.
pub(super) fn draw_box(frame: &mut Frame<'_>, area: Rect, title: &str, style: Style) -> Rect {
    use ratatui::widgets::{Block, Borders, Clear, Widget};
    let block = Block::new().borders(Borders::ALL).border_style(style).title(Line::styled(title, style));
    let inside = block.inner(area);
    // the frame takes the second half of a wide letter away: the first one is none
    for y in area.y..area.bottom() {
        let before = area.x.checked_sub(1).and_then(|x| frame.buffer_mut().cell_mut((x, y)));
        if let Some(cell) = before.filter(|cell| display_width(cell.symbol()) > 1) {
            cell.set_symbol(" ");
        }
    }
    Clear.render(area, frame.buffer_mut());
    block.render(area, frame.buffer_mut());
    inside
}

/// A line of exactly so many columns.
pub fn pad_to_columns(text: &str, columns: u16) -> String {
    let columns = usize::from(columns);
    let text = fit_to_columns(text, columns).into_owned();
    let blanks = " ".repeat(columns.saturating_sub(display_width(&text)));
    text + &blanks
}
