//! The keys of what is focused, in a box over the screen.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::draw_helpers::{draw_box, put_line};
use crate::key_help::KeyHelp;
use crate::model::UiModel;
use crate::text::{display_width, fit_to_columns, format_count};

/// On a screen of so many rows every one is wanted.
const LOW_SCREEN: u16 = 8;
/// Columns that a key with its meaning takes at most.
const LARGEST_CELL: usize = 48;

/// Tells the list how much of it is on screen. Call before every frame.
pub fn arrange_key_help(model: &mut UiModel, screen: Rect) {
    if let Some(help) = &mut model.key_help {
        let area = help_area(help, screen);
        let fits = usize::from(area.height.saturating_sub(2));
        help.hidden_rows = help.rows.len().div_ceil(column_count(help, screen)).saturating_sub(fits);
        help.top_row = help.top_row.min(help.hidden_rows);
    }
}

pub fn draw_key_help(model: &UiModel, screen: Rect, frame: &mut Frame<'_>) {
    let Some(help) = &model.key_help else { return };
    let theme = model.theme;
    let area = help_area(help, screen);
    if area.width < 12 || area.height < 3 {
        put_line(
            frame,
            0,
            0,
            &Line::styled("enlarge the window to see the keys", theme.warning_style()),
            screen.width,
        );
        return;
    }
    let style = theme.accent_style().patch(theme.bold_style());
    let inside = draw_box(frame, area, &format!(" {} ", help.title), style);
    let columns = column_count(help, screen);
    let lines = help.rows.len().div_ceil(columns);
    let cell = inside.width / u16::try_from(columns).unwrap_or(1);
    let keys = key_columns(help).min(usize::from(cell) / 2);
    for (y, at) in (inside.y..inside.bottom()).zip(help.top_row..lines) {
        // read down the first column, then down the next
        for (x, (key, about)) in (0..).zip(help.rows.iter().skip(at).step_by(lines)) {
            let room = usize::from(cell).saturating_sub(keys + 3);
            let spans = vec![
                Span::styled(format!(" {:<keys$}", fit_to_columns(key, keys)), theme.bold_style()),
                Span::raw(format!(" {}", fit_to_columns(about, room))),
            ];
            put_line(frame, inside.x + x * cell, y, &Line::from(spans), cell);
        }
    }
    let below = help.hidden_rows.saturating_sub(help.top_row);
    let foot = match (help.hidden_rows, below) {
        (0, _) => " any key closes this ".to_owned(),
        (hidden, 0) => format!(" ↑ {} above · Esc closes this ", format_count(hidden as u64, "line")),
        (_, below) => format!(" ↓ {} · Esc closes this ", format_count(below as u64, "more line")),
    };
    let foot = fit_to_columns(&foot, usize::from(area.width - 2)).into_owned();
    put_line(frame, area.x + 1, area.bottom() - 1, &Line::styled(foot, theme.bold_style()), area.width - 2);
}

fn key_columns(help: &KeyHelp) -> usize {
    help.rows.iter().map(|(keys, _)| display_width(keys)).max().unwrap_or(0)
}

/// The widest key, the widest meaning, and blanks around both.
fn widest_cell(help: &KeyHelp) -> usize {
    let meanings = help.rows.iter().map(|(_, about)| display_width(about)).max().unwrap_or(0);
    key_columns(help) + meanings + 3
}

/// What a column takes at least, so that several stand beside each other.
fn cell_columns(help: &KeyHelp) -> usize {
    widest_cell(help).clamp(1, LARGEST_CELL)
}

fn column_count(help: &KeyHelp, screen: Rect) -> usize {
    (usize::from(screen.width.saturating_sub(2)) / cell_columns(help)).clamp(1, 3)
}

/// In the middle, as large as it must be.
fn help_area(help: &KeyHelp, screen: Rect) -> Rect {
    let columns = column_count(help, screen);
    let title = display_width(&help.title) + 2;
    let natural = (columns * widest_cell(help)).min(usize::from(screen.width.saturating_sub(2)));
    let wide = natural.max(title) + 2;
    let width = u16::try_from(wide).unwrap_or(u16::MAX).min(screen.width);
    let rows = u16::try_from(help.rows.len().div_ceil(columns) + 2).unwrap_or(u16::MAX);
    // the status line stays readable below it
    let room = screen.height - u16::from(screen.height > LOW_SCREEN);
    let height = rows.min(room);
    Rect { x: screen.x + (screen.width - width) / 2, y: screen.y + (room - height) / 2, width, height }
}
