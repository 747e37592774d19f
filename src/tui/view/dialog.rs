//! The question on screen: title, scrollable body, keys.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;

use super::draw_helpers::{draw_box, put_line};
use crate::dialog::{AnswerForm, DialogKind, QuestionDialog};
use crate::model::UiModel;
use crate::text::{display_width, fit_to_columns, format_count, visible_tail, wrap_line};
use crate::theme::ColorTheme;
use crate::transcript::diff;
use crate::transcript::line_wrap::TextLayoutOptions;
use synthdev_domain::question_text::{MARK, QuestionLine};
use synthdev_domain::terminal_safe;

/// Where the cursor is while a reason is typed.
pub fn draw_dialog(model: &UiModel, room: Rect, frame: &mut Frame<'_>) -> Option<Position> {
    let dialog = model.dialogs.front()?;
    let theme = model.theme;
    let columns = dialog_columns(room);
    if is_short(room) {
        draw_short(model, dialog, room, frame);
        return None;
    }
    let text = text_columns(room);
    let rows = body_rows(dialog, text, model);
    let choices = choice_rows(dialog, text, theme);
    let height = dialog_height(rows.len(), choices.len(), room);
    let area = Rect {
        x: room.x + (room.width - columns) / 2,
        y: room.y + (room.height - height) / 2,
        width: columns,
        height,
    };
    let more = model.dialogs.len() - 1;
    let queue = if more > 0 { format!(" (+{more} more)") } else { String::new() };
    let title = format!(
        " {}{queue} ",
        fit_to_columns(
            &terminal_safe::escape_name(&dialog.title),
            text.saturating_sub(display_width(&queue))
        )
    );
    let inside = draw_box(frame, area, &title, theme.warning_style().patch(theme.bold_style()));
    let fits = body_height(dialog, height);
    let share = DialogRowShare::split_rows(fits, rows.len(), choices.len(), dialog.read_to_end);
    let scroll = dialog.scroll.min(rows.len().saturating_sub(share.text));
    let selected = dialog.choices().map_or(0, |(_, selected)| selected);
    let first = (selected + 1).saturating_sub(share.choices);
    let gap = std::iter::repeat_n(Line::default(), share.gap_rows);
    let shown = rows.iter().skip(scroll).take(share.text).cloned();
    let shown = shown.chain(gap).chain(choices.iter().skip(first).take(share.choices).cloned());
    for (y, row) in (inside.y..).zip(shown) {
        put_line(frame, inside.x + 1, y, &row, inside.width - 1);
    }
    let hidden = rows.len().saturating_sub(scroll + share.text) + choices.len() - share.choices;
    let last = inside.bottom().saturating_sub(1);
    let mut cursor = None;
    if fits + 1 < usize::from(inside.height) {
        let area = Rect { y: last - 1, height: 1, ..inside };
        cursor = draw_notice_line(model, dialog, hidden, scroll, area, frame);
    } else if hidden > 0 || scroll > 0 {
        put_line(frame, inside.right() - 1, last.saturating_sub(1), &Line::styled("↕", theme.dim_style()), 1);
    }
    let keys = fit_to_columns(dialog_keys(model, dialog), text).into_owned();
    put_line(frame, inside.x + 1, last, &Line::styled(keys, theme.bold_style()), inside.width - 1);
    cursor
}

/// Where no frame fits: the question, and as much of what it is about as there are rows.
fn draw_short(model: &UiModel, dialog: &QuestionDialog, room: Rect, frame: &mut Frame<'_>) {
    let theme = model.theme;
    let title = Line::styled(
        terminal_safe::escape_name(&dialog.title),
        theme.warning_style().patch(theme.bold_style()),
    );
    let columns = usize::from(room.width).max(1);
    let mut rows = body_rows(dialog, columns, model);
    rows.extend(choice_rows(dialog, columns, theme));
    frame.render_widget(Clear, room.intersection(frame.area()));
    let rows = std::iter::once(&title).chain(rows.iter().skip(dialog.scroll));
    for (y, row) in (room.y..room.bottom()).zip(rows) {
        put_line(frame, room.x, y, row, room.width);
    }
}

/// The line above the keys: what is wrong, the reason that is written, or how much there is beside what is seen.
fn draw_notice_line(
    model: &UiModel,
    dialog: &QuestionDialog,
    hidden: usize,
    above: usize,
    area: Rect,
    frame: &mut Frame<'_>,
) -> Option<Position> {
    let (theme, columns) = (model.theme, usize::from(area.width.saturating_sub(1)));
    if let Some(reason) = &dialog.reason {
        let line = visible_tail(&format!("reason (optional): {reason}"), columns).into_owned();
        let x = area.x + 1 + u16::try_from(display_width(&line)).unwrap_or(0);
        put_line(frame, area.x + 1, area.y, &Line::raw(line), area.width - 1);
        return Some(Position { x: x.min(area.right() - 1), y: area.y });
    }
    let (told, style) = match &dialog.problem {
        Some(problem) => (format!("✗ {problem}"), theme.bad_style()),
        None if hidden > 0 || above > 0 => {
            let more = match hidden {
                0 => format!("{} above", format_count(above as u64, "line")),
                _ => format_count(hidden as u64, "more line"),
            };
            let keys = match dialog.choices() {
                None => "Space, ↑↓",
                Some(_) if dialog.has_overflow() => "Space, PgUp",
                Some(_) => "↑↓",
            };
            (
                format!("{more} · {keys} {}", dialog.deadline_text(model.now).unwrap_or_default()),
                theme.dim_style(),
            )
        }
        None => (dialog.deadline_text(model.now).unwrap_or_default(), theme.dim_style()),
    };
    let told = fit_to_columns(&told, columns.saturating_sub(1)).into_owned();
    put_line(frame, area.x + 1, area.y, &Line::styled(told, style), area.width - 1);
    None
}

/// Lays out the question. Call before every frame.
pub fn arrange_dialog(model: &mut UiModel, room: Rect) {
    let extent = model.dialogs.front().map(|dialog| text_extent(model, dialog, room));
    if let (Some(dialog), Some((rows, page))) = (model.dialogs.front_mut(), extent) {
        dialog.record_visible_rows(rows, page);
    }
}

/// What Esc does to the question that is open.
pub fn escape_hint(model: &UiModel) -> Option<&'static str> {
    model.dialogs.front().map(QuestionDialog::escape_hint)
}

/// How many rows the text has, and how many of them are on screen at once.
fn text_extent(model: &UiModel, dialog: &QuestionDialog, room: Rect) -> (usize, usize) {
    let choices = dialog.choices().map_or(0, |(choices, _)| choices.len());
    if is_short(room) {
        let rows = body_rows(dialog, usize::from(room.width).max(1), model).len();
        return (rows + choices, usize::from(room.height.saturating_sub(1)));
    }
    let rows = body_rows(dialog, text_columns(room), model).len();
    let fits = body_height(dialog, dialog_height(rows, choices, room));
    (rows, DialogRowShare::split_rows(fits, rows, choices, dialog.read_to_end).text)
}

/// With its frame, the line above the keys, and the keys.
fn dialog_height(rows: usize, choices: usize, room: Rect) -> u16 {
    let body = rows + choices + usize::from(choices > 0);
    u16::try_from(body + 4).unwrap_or(u16::MAX).min(room.height)
}

/// How many rows the text gets, and how many the choices below it: they never push the beginning of the text off the
/// screen.
struct DialogRowShare {
    text: usize,
    gap_rows: usize,
    choices: usize,
}

impl DialogRowShare {
    fn split_rows(fits: usize, rows: usize, choices: usize, read: bool) -> Self {
        if choices == 0 {
            return Self { text: fits, gap_rows: 0, choices: 0 };
        }
        if rows + 1 + choices <= fits {
            return Self { text: rows, gap_rows: 1, choices };
        }
        if fits < 2 {
            // the text first, then what is chosen
            let choices = usize::from(read).min(fits);
            return Self { text: fits - choices, gap_rows: 0, choices };
        }
        let choices = choices.min((fits / 2).max(fits.saturating_sub(rows)));
        Self { text: fits - choices, gap_rows: 0, choices }
    }
}

/// No frame fits.
fn is_short(room: Rect) -> bool {
    dialog_columns(room) < 10 || room.height < 4
}

/// Rows for the text in a dialog so high. Where there is one only, it is the text's.
fn body_height(dialog: &QuestionDialog, height: u16) -> usize {
    let inside = usize::from(height.saturating_sub(2));
    let told = inside > 2 || dialog.problem.is_some() || dialog.reason.is_some();
    inside.saturating_sub(1 + usize::from(told))
}

/// Before the first key, the text in the input box is the beginning of something else.
fn dialog_keys(model: &UiModel, dialog: &QuestionDialog) -> &'static str {
    match &dialog.kind {
        DialogKind::Write { form: AnswerForm { draft: None, .. }, .. } if !model.composer.is_empty() => {
            "Enter puts what you were writing into the history · then answer"
        }
        _ => dialog.keys(),
    }
}

/// The whole width where it is narrow: scraps of text beside the frame would only disturb.
fn dialog_columns(room: Rect) -> u16 {
    if room.width < 100 { room.width } else { (room.width - 2).min(120) }
}

fn text_columns(room: Rect) -> usize {
    usize::from(dialog_columns(room).saturating_sub(4)).max(1)
}

fn body_rows(dialog: &QuestionDialog, columns: usize, model: &UiModel) -> Vec<Line<'static>> {
    let theme = model.theme;
    let mut rows = text_rows(dialog, columns, theme);
    if let Some(fields) = dialog.fields() {
        rows.push(Line::default());
        let lines = fields.lines().into_iter().map(|line| fit_to_columns(&line, columns).into_owned());
        rows.extend(lines.map(|line| match line.starts_with('▸') {
            true => Line::styled(line, theme.selected_style()),
            false => Line::styled(line, theme.text()),
        }));
    }
    rows
}

fn choice_rows(dialog: &QuestionDialog, columns: usize, theme: ColorTheme) -> Vec<Line<'static>> {
    let (choices, selected) = dialog.choices().unwrap_or_default();
    let row = |(at, choice): (usize, &&str)| {
        let here = at == selected;
        let (mark, style) = if here { ("▸", theme.selected_style()) } else { (" ", theme.text()) };
        let line = format!("{mark} {} {}", at + 1, terminal_safe::escape_name(choice));
        Line::styled(fit_to_columns(&line, columns).into_owned(), style)
    };
    choices.iter().enumerate().map(row).collect()
}

/// The text: each row of what others wrote has the mark on its left.
fn text_rows(dialog: &QuestionDialog, columns: usize, theme: ColorTheme) -> Vec<Line<'static>> {
    let mut rows = Vec::new();
    let mut numbers = diff::LineNumbers::default();
    let inside = columns.saturating_sub(display_width(MARK)).max(1);
    let page = TextLayoutOptions { columns: inside, indent: 0, base: theme.text(), theme };
    let plain = |line: &str, columns: usize| -> Vec<Line<'static>> {
        wrap_line(line, columns).into_iter().map(|row| Line::raw(line[row].to_owned())).collect()
    };
    for line in &dialog.body {
        match line {
            QuestionLine::Own(text) => rows.extend(plain(text, columns)),
            QuestionLine::Warning(_) => {
                rows.extend(
                    plain(&line.text(), columns).into_iter().map(|row| row.style(theme.warning_style())),
                );
            }
            QuestionLine::Danger(_) => {
                rows.extend(plain(&line.text(), columns).into_iter().map(|row| row.style(theme.bad_style())));
            }
            QuestionLine::Quoted(text) => rows.extend(with_mark_column(plain(text, inside), theme)),
            QuestionLine::Changed(text) => {
                let mut part = Vec::new();
                numbers.layout_line(text, page, &mut part);
                rows.extend(with_mark_column(part, theme));
            }
            QuestionLine::Blank { count, line_sign: sign } => {
                for sign in sign.iter().cycle().take(*count) {
                    numbers.layout_line(sign.encode_utf8(&mut [0; 4]), page, &mut Vec::new());
                }
                rows.push(Line::styled(line.text(), theme.dim_style()));
            }
        }
    }
    rows
}

fn with_mark_column(rows: Vec<Line<'static>>, theme: ColorTheme) -> impl Iterator<Item = Line<'static>> {
    rows.into_iter().map(move |mut row| {
        row.spans.insert(0, Span::styled(MARK, theme.accent_style()));
        row
    })
}
