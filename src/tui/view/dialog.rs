//! The question on screen: title, scrollable body, keys.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;

use super::marks::{boxed, put};
use crate::domain::printable;
use crate::domain::question_text::{MARK, QuestionLine};
use crate::tui::dialog::{Dialog, Form, Kind};
use crate::tui::model::Model;
use crate::tui::text::{counted, duration, fit, tail, width, wrap};
use crate::tui::theme::Theme;
use crate::tui::transcript::diff;
use crate::tui::transcript::rows::Page;

pub fn draw(model: &Model, dialog: &Dialog, room: Rect, frame: &mut Frame<'_>) {
    let theme = model.theme;
    let columns = columns_of(room);
    if is_short(room) {
        return draw_short(model, dialog, room, frame);
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
    let title =
        format!(" {}{queue} ", fit(&printable::name(&dialog.title), text.saturating_sub(width(&queue))));
    let inside = boxed(frame, area, &title, theme.warning().patch(theme.bold()));
    let fits = body_height(dialog, height);
    let mut scroll = dialog.scroll.min(rows.len().saturating_sub(fits));
    if let Some(selected) = selected_row(dialog, rows.len()).filter(|_| fits > 0) {
        scroll = scroll.clamp((selected + 1).saturating_sub(fits), selected);
    }
    for (y, row) in (inside.y..).zip(rows.iter().skip(scroll).take(fits)) {
        put(frame, inside.x + 1, y, row, inside.width - 1);
    }
    let hidden = rows.len().saturating_sub(scroll + fits);
    let last = inside.bottom().saturating_sub(1);
    if fits + 1 < usize::from(inside.height) {
        draw_told(model, dialog, (hidden, scroll), Rect { y: last - 1, height: 1, ..inside }, frame);
    } else if hidden > 0 || scroll > 0 {
        put(frame, inside.right() - 1, last.saturating_sub(1), &Line::styled("↕", theme.dim()), 1);
    }
    let keys = fit(keys(model, dialog), text).into_owned();
    put(frame, inside.x + 1, last, &Line::styled(keys, theme.bold()), inside.width - 1);
}

/// Where no frame fits: the question, and as much of what it is about as there are rows.
fn draw_short(model: &Model, dialog: &Dialog, room: Rect, frame: &mut Frame<'_>) {
    let theme = model.theme;
    let title = Line::styled(printable::name(&dialog.title), theme.warning().patch(theme.bold()));
    let rows = body_rows(dialog, usize::from(room.width).max(1), model);
    frame.render_widget(Clear, room.intersection(frame.area()));
    let rows = std::iter::once(&title).chain(rows.iter().skip(dialog.scroll));
    for (y, row) in (room.y..room.bottom()).zip(rows) {
        put(frame, room.x, y, row, room.width);
    }
}

/// The line above the keys: what is wrong, the reason that is written, or how much there is beside what is seen.
fn draw_told(
    model: &Model,
    dialog: &Dialog,
    (hidden, above): (usize, usize),
    area: Rect,
    frame: &mut Frame<'_>,
) {
    let (theme, columns) = (model.theme, usize::from(area.width.saturating_sub(1)));
    if let Some(reason) = &dialog.reason {
        let line = tail(&format!("reason (optional): {reason}"), columns).into_owned();
        let x = area.x + 1 + u16::try_from(width(&line)).unwrap_or(0);
        put(frame, area.x + 1, area.y, &Line::raw(line), area.width - 1);
        frame.set_cursor_position(Position { x: x.min(area.right() - 1), y: area.y });
        return;
    }
    let (told, style) = match &dialog.problem {
        Some(problem) => (format!("✗ {problem}"), theme.bad()),
        None if hidden > 0 || above > 0 => {
            let more = counted(hidden as u64, "more line");
            (format!("{more} · Space, ↑↓ {}", deadline(model, dialog)), theme.dim())
        }
        None => (deadline(model, dialog), theme.dim()),
    };
    let told = fit(&told, columns.saturating_sub(1)).into_owned();
    put(frame, area.x + 1, area.y, &Line::styled(told, style), area.width - 1);
}

/// How many rows there are, and how many of them are on screen at once.
pub fn extent(model: &Model, dialog: &Dialog, room: Rect) -> (usize, usize) {
    if is_short(room) {
        let rows = body_rows(dialog, usize::from(room.width).max(1), model).len();
        return (rows, usize::from(room.height.saturating_sub(1)));
    }
    let rows = body_rows(dialog, text_columns(room), model).len();
    let height = u16::try_from(rows + 4).unwrap_or(u16::MAX).min(room.height);
    (rows, body_height(dialog, height))
}

/// No frame fits.
fn is_short(room: Rect) -> bool {
    columns_of(room) < 10 || room.height < 4
}

/// Rows for the text in a dialog so high. Where there is one only, it is the text's.
fn body_height(dialog: &Dialog, height: u16) -> usize {
    let inside = usize::from(height.saturating_sub(2));
    let told = inside > 2 || dialog.problem.is_some() || dialog.reason.is_some();
    inside.saturating_sub(1 + usize::from(told))
}

/// Before the first key, what stands in the input box is the beginning of something else.
fn keys(model: &Model, dialog: &Dialog) -> &'static str {
    match &dialog.kind {
        Kind::Write { form: Form { draft: None, .. }, .. } if !model.composer.is_empty() => {
            "Enter puts what you were writing into the history · then answer"
        }
        _ => dialog.keys(),
    }
}

/// How long the question still waits.
fn deadline(model: &Model, dialog: &Dialog) -> String {
    let Some(until) = dialog.until else { return String::new() };
    let left = u64::try_from(until.0.saturating_sub(model.now.0)).unwrap_or(0) / 1_000;
    format!("answers itself in {}", duration(left * 1_000).replace(".0 s", " s"))
}

/// The row of the chosen line; the choices are the last rows, one each.
fn selected_row(dialog: &Dialog, rows: usize) -> Option<usize> {
    let (choices, selected) = dialog.choices()?;
    (rows + selected).checked_sub(choices.len())
}

/// The whole width where it is narrow: scraps of text beside the frame would only disturb.
fn columns_of(room: Rect) -> u16 {
    if room.width < 100 { room.width } else { (room.width - 2).min(120) }
}

fn text_columns(room: Rect) -> usize {
    usize::from(columns_of(room).saturating_sub(4)).max(1)
}

fn body_rows(dialog: &Dialog, columns: usize, model: &Model) -> Vec<Line<'static>> {
    let theme = model.theme;
    let mut rows = text_rows(dialog, columns, theme);
    if let Some(fields) = dialog.fields() {
        rows.push(Line::default());
        let lines = fields.lines().into_iter().map(|line| fit(&line, columns).into_owned());
        rows.extend(lines.map(|line| match line.starts_with('▸') {
            true => Line::styled(line, theme.selected()),
            false => Line::styled(line, theme.text()),
        }));
    }
    if let Some((choices, selected)) = dialog.choices() {
        rows.push(Line::default());
        for (at, choice) in choices.iter().enumerate() {
            let here = at == selected;
            let (mark, style) = if here { ("▸", theme.selected()) } else { (" ", theme.text()) };
            let line = format!("{mark} {} {}", at + 1, printable::name(choice));
            rows.push(Line::styled(fit(&line, columns).into_owned(), style));
        }
    }
    rows
}

/// The text: each row of what others wrote has the mark on its left.
fn text_rows(dialog: &Dialog, columns: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut rows = Vec::new();
    let mut numbers = diff::LineNumbers::default();
    let inside = columns.saturating_sub(width(MARK)).max(1);
    let page = Page { columns: inside, indent: 0, base: theme.text(), theme };
    let plain = |line: &str, columns: usize| -> Vec<Line<'static>> {
        wrap(line, columns).into_iter().map(|row| Line::raw(line[row].to_owned())).collect()
    };
    for line in &dialog.body {
        match line {
            QuestionLine::Own(text) => rows.extend(plain(text, columns)),
            QuestionLine::Warning(_) => {
                rows.extend(plain(&line.text(), columns).into_iter().map(|row| row.style(theme.warning())));
            }
            QuestionLine::Danger(_) => {
                rows.extend(plain(&line.text(), columns).into_iter().map(|row| row.style(theme.bad())));
            }
            QuestionLine::Quoted(text) => rows.extend(marked(plain(text, inside), theme)),
            QuestionLine::Changed(text) => {
                let mut part = Vec::new();
                numbers.lay(text, page, &mut part);
                rows.extend(marked(part, theme));
            }
            QuestionLine::Blank { count, sign } => {
                for sign in sign.iter().cycle().take(*count) {
                    numbers.lay(sign.encode_utf8(&mut [0; 4]), page, &mut Vec::new());
                }
                rows.push(Line::styled(line.text(), theme.dim()));
            }
        }
    }
    rows
}

fn marked(rows: Vec<Line<'static>>, theme: Theme) -> impl Iterator<Item = Line<'static>> {
    rows.into_iter().map(move |mut row| {
        row.spans.insert(0, Span::styled(MARK, theme.accent()));
        row
    })
}
