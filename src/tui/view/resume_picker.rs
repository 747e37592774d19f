//! The list of `/resume`: a title, what is typed, a row for each that fits, the keys.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

use super::draw_helpers::{pad_to_columns, put_keys, put_line, select_row};
use crate::model::UiModel;
use crate::text::display_width;
use synthdev_domain::terminal_safe;

const TITLE: &str = " Resume which conversation or run of this project?";
const KEYS: &str = "↑↓ or type · Enter resumes it · Esc leaves";

/// Where the cursor is.
pub(super) fn draw_picker(model: &UiModel, area: Rect, frame: &mut Frame<'_>) -> Option<Position> {
    let picker = model.resume_picker.as_ref()?;
    let theme = model.theme;
    let title = Line::styled(pad_to_columns(TITLE, area.width), theme.selected_style());
    put_line(frame, area.x, area.y, &title, area.width);
    let typed = format!("❯ {}", terminal_safe::escape_name(&picker.typed_filter));
    if area.height > 1 {
        put_line(frame, area.x, area.y + 1, &Line::raw(typed.as_str()), area.width);
    }
    let fits = usize::from(area.height.saturating_sub(3));
    let entries = picker.matching_entries();
    if entries.is_empty() && fits > 0 {
        put_line(frame, area.x, area.y + 2, &Line::styled("  nothing fits", theme.dim_style()), area.width);
    }
    let first = (picker.selected + 1).saturating_sub(fits);
    let columns = usize::from(area.width).saturating_sub(2);
    for (y, (at, entry)) in (area.y + 2..).zip(entries.iter().enumerate().skip(first).take(fits)) {
        let here = at == picker.selected;
        let row = format!("{}{}", if here { "▸ " } else { "  " }, entry.row(columns));
        put_line(frame, area.x, y, &Line::raw(row), area.width);
        if here {
            select_row(frame, Rect { y, height: 1, ..area }, theme.selected_style());
        }
    }
    if area.height > 3 {
        put_keys(model, &[KEYS], Rect { y: area.bottom() - 1, height: 1, ..area }, frame);
    }
    let x = u16::try_from(display_width(&typed)).unwrap_or(0).min(area.width.saturating_sub(1));
    (area.height > 1).then_some(Position { x: area.x + x, y: area.y + 1 })
}
