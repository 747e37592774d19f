//! The question on screen: title, scrollable body, keys.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::Line;

use super::marks::{boxed, put};
use crate::tui::dialog::Dialog;
use crate::tui::model::Model;
use crate::tui::text::{fit, width, wrap};
use crate::tui::transcript::layout::diff_style;

pub fn draw(model: &Model, dialog: &Dialog, room: Rect, frame: &mut Frame<'_>) {
    let theme = model.theme;
    let columns = columns_of(room);
    if columns < 10 || room.height < 4 {
        return;
    }
    let text = text_columns(room);
    let rows = body_rows(dialog, text, model);
    let height = u16::try_from(rows.len() + 4).unwrap_or(u16::MAX).min(room.height);
    let area = Rect {
        x: room.x + (room.width - columns) / 2,
        y: room.y + (room.height - height) / 2,
        width: columns,
        height,
    };
    let more = model.dialogs.len() - 1;
    let queue = if more > 0 { format!(" (+{more} more)") } else { String::new() };
    let title = format!(" {}{queue} ", fit(&dialog.title, text.saturating_sub(width(&queue))));
    let inside = boxed(frame, area, &title, theme.warning().patch(theme.bold()));
    let fits = usize::from(inside.height.saturating_sub(2));
    let scroll = dialog.scroll.min(rows.len().saturating_sub(fits));
    for (y, (row, style)) in (inside.y..).zip(rows.iter().skip(scroll).take(fits)) {
        put(frame, inside.x + 1, y, &Line::styled(row.as_str(), *style), inside.width - 1);
    }
    let hidden = rows.len().saturating_sub(scroll + fits);
    let scrolled =
        if hidden > 0 || scroll > 0 { format!("{hidden} more lines · ↑↓ ") } else { String::new() };
    let last = inside.bottom().saturating_sub(1);
    put(frame, inside.x + 1, last.saturating_sub(1), &Line::styled(scrolled, theme.dim()), inside.width - 1);
    if let Some(reason) = &dialog.reason {
        let line = format!("reason (optional): {reason}");
        let x = inside.x + 1 + u16::try_from(width(&line)).unwrap_or(0);
        put(frame, inside.x + 1, last.saturating_sub(1), &Line::raw(line), inside.width - 1);
        frame.set_cursor_position(Position { x: x.min(area.right() - 2), y: last.saturating_sub(1) });
    }
    let keys = fit(dialog.keys(), text).into_owned();
    put(frame, inside.x + 1, last, &Line::styled(keys, theme.bold()), inside.width - 1);
}

/// The greatest scroll that still shows a full dialog.
pub fn scroll_limit(dialog: &Dialog, room: Rect) -> usize {
    let columns = text_columns(room);
    let rows: usize = dialog.body.iter().map(|line| wrap(line, columns).len()).sum();
    rows.saturating_sub(usize::from(room.height.saturating_sub(4)))
}

/// The whole width where it is narrow: scraps of text beside the frame would only disturb.
fn columns_of(room: Rect) -> u16 {
    if room.width < 100 { room.width } else { (room.width - 2).min(120) }
}

fn text_columns(room: Rect) -> usize {
    usize::from(columns_of(room).saturating_sub(4)).max(1)
}

fn body_rows(dialog: &Dialog, columns: usize, model: &Model) -> Vec<(String, Style)> {
    let mut rows = Vec::new();
    for line in &dialog.body {
        let style = if dialog.diff { diff_style(line, model.theme) } else { model.theme.text() };
        rows.extend(wrap(line, columns).into_iter().map(|row| (line[row].to_owned(), style)));
    }
    rows
}
