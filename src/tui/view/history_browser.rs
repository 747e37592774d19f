//! The history: a title, the front view (the list, a run, a page), and below it the result of the last key and the
//! available keys. Only rows on screen are made.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::Line;

use self::key_line::browser_keys;
use super::draw_helpers::{keys_room, put_keys, put_line, select_row};
use super::graph_pane::{NUMBERS, draw_whole_graph};
use crate::history_browser::run_comparison::RunComparisonView;
use crate::history_browser::{HistoryBrowser, HistoryPrompt, RunDetails, fork_data_text};
use crate::model::UiModel;
use crate::text::{display_width, fit_entries, fit_to_columns, format_count, visible_tail, wrap_line};
use crate::text_field::TextField;
use crate::theme::ColorTheme;
use crate::transcript::item::ItemTone;
use crate::transcript::layout::ItemLayoutOptions;
use synthdev_service::definition_views::graph::layout::CellSize;

mod comparison;
mod key_line;
mod list;
mod run;
mod trend;

/// Most rows for the result of a key.
const NOTE: usize = 6;

struct HistoryBrowserAreas {
    title: Rect,
    body: Rect,
    note_area: Rect,
    keys: Rect,
}

/// Lays out what is in front. Call before every frame.
pub fn arrange_browser(model: &mut UiModel, area: Rect) {
    let areas = browser_areas(model, area);
    let (theme, details) = (model.theme, true);
    let head = run::head_height(model, areas.body);
    let now = model.now;
    let Some(archive) = &mut model.history_browser else { return };
    if let Some(guard) = archive.question.as_mut().and_then(HistoryPrompt::key_guard_mut) {
        guard.note_shown(now);
    }
    if let Some(page) = &mut archive.page {
        page.guard.note_shown(now);
        let columns = usize::from(areas.body.width.saturating_sub(1));
        let look = ItemLayoutOptions { columns, details, theme, clock: None };
        if page.fits_screen {
            page.text.to_start();
        }
        page.text.arrange_rows(look, usize::from(areas.body.height));
        page.fits_screen = page.text.visible_rows().count() < usize::from(areas.body.height);
    }
    let size = CellSize { width: usize::from(areas.body.width), height: usize::from(areas.body.height) };
    if let Some(run) = &mut archive.run {
        run.graph.iter_mut().for_each(|graph| graph.arrange_size(size));
        run.height = usize::from(areas.body.height.saturating_sub(head));
        run.select_row(run.cursor);
    }
    if let Some(both) = &mut archive.comparison {
        both.height = usize::from(areas.body.height);
        both.select_row(both.cursor);
    }
    let around = list::head_height(areas.body) + trend::trend_height(archive, areas.body);
    archive.list.height = usize::from(areas.body.height.saturating_sub(around));
    archive.list.settle_cursor();
}

/// Where the cursor is while something is typed.
pub fn draw_browser(model: &UiModel, area: Rect, frame: &mut Frame<'_>) -> Option<Position> {
    let archive = model.history_browser.as_deref()?;
    let areas = browser_areas(model, area);
    if areas.title.height > 0 {
        let title = browser_title(model, archive, usize::from(area.width));
        put_line(
            frame,
            area.x,
            areas.title.y,
            &Line::styled(title, model.theme.selected_style()),
            area.width,
        );
    }
    match (&archive.page, &archive.comparison, &archive.run) {
        (Some(page), ..) => {
            for (y, row) in (areas.body.y..areas.body.bottom()).zip(page.text.visible_rows()) {
                if let Some(line) = row {
                    put_line(frame, areas.body.x, y, line, areas.body.width);
                }
            }
            let chosen = page.text.selected_rows().filter(|rows| rows.start < usize::from(areas.body.height));
            if let Some(rows) = chosen {
                let y = areas.body.y + u16::try_from(rows.start).unwrap_or(0);
                select_row(frame, Rect { y, height: 1, ..areas.body }, model.theme.selected_style());
            }
        }
        (None, Some(both), _) => comparison::draw_comparison(both, areas.body, model.theme, frame),
        (None, None, Some(run)) => match run.shown_graph() {
            Some(shown) => draw_whole_graph(model, &shown, areas.body, frame),
            None => run::draw_run(model, run, areas.body, frame),
        },
        (None, None, None) => {
            let trend = trend::trend_height(archive, areas.body);
            let list = Rect { height: areas.body.height - trend, ..areas.body };
            list::draw_list(model, archive, list, frame);
            let below = Rect { y: list.bottom(), height: trend, ..list };
            trend::draw_trend(model, archive, below, frame);
        }
    }
    let (note, style) = status_note(model, archive, usize::from(area.width));
    for (y, line) in (areas.note_area.y..areas.note_area.bottom()).zip(&note) {
        put_line(frame, areas.note_area.x, y, &Line::styled(line.as_str(), style), area.width);
    }
    let keys = browser_keys(model, Some(archive), usize::from(keys_room(model, area.width)));
    // one row has the most urgent ones, and the way out
    let rows = if areas.keys.height == 1 { &keys[keys.len() - 1..] } else { &keys[..keys.len().min(2)] };
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    put_keys(model, &rows, areas.keys, frame);
    let typed = note.first().filter(|_| is_typed(archive))?;
    let field = typed_line(archive.question.as_ref());
    let column = field.map(|(label, field)| typed_row(&label, field, usize::from(area.width)).1);
    let x = u16::try_from(column.unwrap_or_else(|| display_width(typed)))
        .unwrap_or(0)
        .min(area.width.saturating_sub(1));
    Some(Position { x: area.x + x, y: areas.note_area.y })
}

/// What is below the pointer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BrowsedPlace {
    /// By its place in the list.
    Run(usize),
    /// By its place among the steps of the run.
    Step(usize),
    /// A cell of the graph's part on screen.
    Cell { column: usize, row: usize },
}

/// `None`: nothing that can be chosen.
pub fn browsed_place(model: &UiModel, area: Rect, column: u16, row: u16) -> Option<BrowsedPlace> {
    let archive = model.history_browser.as_deref()?;
    let body = browser_areas(model, area).body;
    if !body.contains(Position { x: column, y: row })
        || archive.page.is_some()
        || archive.comparison.is_some()
    {
        return None;
    }
    let (column, row) = (usize::from(column - body.x), usize::from(row - body.y));
    let Some(run) = &archive.run else {
        let (head, height) = (usize::from(list::head_height(body)), archive.list.height);
        let at = row.checked_sub(head).filter(|at| *at < height)? + archive.list.top_row;
        return (at < archive.list.len()).then_some(BrowsedPlace::Run(at));
    };
    if run.graph.is_some() {
        return Some(BrowsedPlace::Cell { column, row });
    }
    let at = row.checked_sub(usize::from(run::head_height(model, body)))? + run.top_row;
    (at < run.steps().len()).then_some(BrowsedPlace::Step(at))
}

fn browser_areas(model: &UiModel, area: Rect) -> HistoryBrowserAreas {
    let row = |y: u16, height: u16| Rect { x: area.x, y: area.y + y, width: area.width, height };
    let title = u16::from(area.height > 2);
    let keys = match (
        area.height,
        browser_keys(model, model.history_browser.as_deref(), usize::from(keys_room(model, area.width)))
            .len(),
    ) {
        (..4, _) => 0,
        (4..16, _) | (_, 1) => 1,
        _ => 2,
    };
    let rest = area.height.saturating_sub(title + keys);
    let wanted = model
        .history_browser
        .as_ref()
        .map_or(0, |archive| status_note(model, archive, usize::from(area.width)).0.len());
    let note = u16::try_from(wanted).unwrap_or(1).max(1).min(rest / 2);
    let body = rest - note;
    HistoryBrowserAreas {
        title: row(0, title),
        body: row(title, body),
        note_area: row(title + body, note),
        keys: row(title + body + note, keys),
    }
}

/// ` history · 213 runs · failed ───`
fn browser_title(model: &UiModel, archive: &HistoryBrowser, columns: usize) -> String {
    let list = &archive.list;
    let both = archive.comparison.as_ref().filter(|_| archive.page.is_none());
    let text = match (&archive.page, &archive.run) {
        _ if both.is_some() => both.map(|both| comparison_title(both)).unwrap_or_default(),
        (Some(page), Some(run)) => format!(" {} {} · {}", run.row.workflow, run.row.id, page.title),
        (Some(page), None) => format!(" {}", page.title),
        (None, Some(run)) => {
            let what = match &run.graph {
                Some(_) => format!(" · graph · {NUMBERS}"),
                None => run
                    .details
                    .as_ref()
                    .map(|details| format!(" · {}", steps_text(details)))
                    .unwrap_or_default(),
            };
            format!(" {} {} · {}{what}", run.row.workflow, run.row.id, list::shown_status(model, &run.row))
        }
        (None, None) => {
            let more = if list.has_more { "+" } else { "" };
            let what = if list.len() == 1 { "run" } else { "runs" };
            let filter = &list.filter;
            let known = list.loaded_filter.is_some() && list.problem.is_none() || !list.is_empty();
            let count = if known { format!(" · {}{more} {what}", list.len()) } else { String::new() };
            let mut text = format!(" history{count}");
            if filter.this_project_only {
                text += " of this project";
            }
            for part in [filter.status.map(|status| status.as_str().to_owned()), filter.workflow.clone()] {
                text += &part.map(|part| format!(" · {part}")).unwrap_or_default();
            }
            if !filter.search_words.is_empty() && !list.is_typing {
                text += &format!(" · /{}", filter.search_words);
            }
            text
        }
    };
    let waits = match model.dialogs.len() {
        0 => String::new(),
        1 => "a question waits: Ctrl+C ".to_owned(),
        more => format!("{more} questions wait: Ctrl+C "),
    };
    let text = fit_entries(&text, columns.saturating_sub(display_width(&waits))).into_owned();
    let gap = " ".repeat(columns.saturating_sub(display_width(&text) + display_width(&waits)));
    format!("{text}{gap}{waits}")
}

fn steps_text(details: &RunDetails) -> String {
    format_count(details.steps.len() as u64, "step")
}

fn comparison_title(view: &RunComparisonView) -> String {
    format!(" {} and {} side by side", view.comparison.first, view.comparison.second)
}

fn is_typed(archive: &HistoryBrowser) -> bool {
    let asked = matches!(archive.question, Some(HistoryPrompt::Fork { .. } | HistoryPrompt::Export { .. }));
    asked || archive.list.is_typing || archive.search.as_ref().is_some_and(|search| search.is_typing)
}

/// What stands before the text that a question wants, and the text.
fn typed_line(question: Option<&HistoryPrompt>) -> Option<(String, &TextField)> {
    match question? {
        HistoryPrompt::Fork { step, typed_text, .. } => {
            Some((format!("fork before step {step}; set (name=value …, may be empty): "), typed_text))
        }
        HistoryPrompt::Export { typed_text, .. } => {
            Some(("export to (.json, or .md to read): ".to_owned(), typed_text))
        }
        HistoryPrompt::Agree { .. } | HistoryPrompt::Cancel { .. } => None,
    }
}

/// The part of the line around the cursor, and the cursor's column.
fn typed_row(label: &str, field: &TextField, columns: usize) -> (String, usize) {
    let text = field.text();
    let (before, behind) = text.split_at(field.cursor_offset());
    let before = format!("{label}{before}");
    let before = visible_tail(&before, columns);
    let row = format!("{before}{behind}");
    (fit_to_columns(&row, columns).into_owned(), display_width(&before))
}

/// The lines above the keys: the question, the result of the last key, or details of the chosen row.
fn status_note(model: &UiModel, archive: &HistoryBrowser, columns: usize) -> (Vec<String>, Style) {
    let theme = model.theme;
    let told = archive.status_note.as_ref().map(|(tone, text)| (text.as_str(), tone_style(theme, *tone)));
    let asked = match &archive.question {
        Some(HistoryPrompt::Cancel { run, .. }) => Some(format!("cancel run {run}? its history stays")),
        question => typed_line(question.as_ref()).map(|(label, field)| typed_row(&label, field, columns).0),
    };
    if let Some(line) = asked {
        // what is wrong with a line, or what is done with it, stands below
        let wait = archive.pending_wait.as_ref().and(archive.wait_text());
        let wait = wait.map(|text| model.with_wait_time(&text));
        let below = wait.as_deref().or(told.map(|(text, _)| text));
        let mut rows = vec![line];
        rows.extend(below.map_or_else(Vec::new, |text| fold_to_rows(text, columns)));
        if let Some(HistoryPrompt::Fork { data: Some(data), .. }) = &archive.question {
            rows.extend(fold_with_mark(&fork_data_text(data), columns, NOTE.saturating_sub(rows.len() - 1)));
        }
        return (rows, theme.accent_style());
    }
    if let Some(search) = &archive.search {
        let words = format!("/{}{}", search.search_words, if search.not_found { " not found" } else { "" });
        return (vec![visible_tail(&words, columns).into_owned()], theme.accent_style());
    }
    if archive.list.is_typing {
        return (
            vec![visible_tail(&format!("/{}", archive.list.filter.search_words), columns).into_owned()],
            theme.accent_style(),
        );
    }
    if let Some(text) = archive.pending_wait.as_ref().and(archive.wait_text()) {
        let text = fit_to_columns(&model.with_wait_time(&text), columns).into_owned();
        return (vec![text], theme.warning_style());
    }
    if let Some((text, style)) = told {
        return (fold_to_rows(text, columns), style);
    }
    let line = match (&archive.page, &archive.run) {
        (Some(_), _) => String::new(),
        _ if archive.comparison.is_some() => String::new(),
        (None, Some(run)) if run.graph.is_some() => run.row.status_text.clone(),
        (None, Some(run)) => run::selected_step_note(run),
        (None, None) => list::selected_run_note(model, archive),
    };
    (vec![fit_to_columns(&line, columns).into_owned()], theme.text())
}

fn tone_style(theme: ColorTheme, tone: ItemTone) -> Style {
    match tone {
        ItemTone::Good => theme.good_style(),
        ItemTone::Bad => theme.bad_style(),
        ItemTone::Warning => theme.warning_style(),
        ItemTone::Accent | ItemTone::Human => theme.accent_style(),
        ItemTone::Plain | ItemTone::Dim => theme.text(),
    }
}

/// At most so many rows; the last one ends with `…` if there is more.
fn fold_with_mark(text: &str, columns: usize, most: usize) -> Vec<String> {
    let mut rows = wrap_line(text, columns).into_iter().map(|row| text[row].trim_end().to_owned());
    let mut shown: Vec<String> = rows.by_ref().take(most).collect();
    if let (Some(last), Some(_)) = (shown.last_mut(), rows.next()) {
        const REST: &str = " … the rest: Enter on the step";
        let room = columns.saturating_sub(display_width(REST));
        *last = format!("{}{REST}", fit_to_columns(last.trim_end_matches(" ·"), room));
    }
    shown
}

fn fold_to_rows(text: &str, columns: usize) -> Vec<String> {
    let text = crate::text::clean_text(text);
    let rows = text
        .lines()
        .flat_map(|line| wrap_line(line, columns).into_iter().map(|row| line[row].trim_end().to_owned()));
    rows.take(NOTE).collect()
}
