//! The list of runs: columns that fit, the more the wider the screen. With runs of several projects it has their names.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::super::draw_helpers::{put_line, select_row};
use crate::history_browser::{HistoryBrowser, RunRow};
use crate::model::UiModel;
use crate::pane::bar_text::{horizontal_bar, level_character};
use crate::report::history::{format_age, listed_cost};
use crate::run_view::RunView;
use crate::text::{display_width, fit_to_columns, format_duration, one_line, short_number};
use crate::theme::ColorTheme;
use synthdev_domain::ids::Timestamp;
use synthdev_domain::journal::{NEXT_MESSAGE, RunStatus};

/// Columns of each: id, age, status, duration, cost, tokens, workflow. The text has the rest.
const ID: usize = 12;
const AGE: usize = 7;
const STATUS: usize = 13;
const TOOK: usize = 11;
const COST: usize = 8;
const TOKENS: usize = 6;
const NAME: usize = 18;
/// What the name gives to the duration, where only that is missing.
const GIVEN: usize = 4;
/// The name of a project: from the first width on all of it that is usual.
const PROJECT_FROM: usize = 110;
const PROJECT: usize = 14;
const NARROW_PROJECT: usize = 8;
/// Bars behind time and cost: from the first width on a column, from the second on several.
const LEVEL_FROM: usize = 72;
const BARS_FROM: usize = 130;
const BAR: usize = 8;
/// The input is shown from this width on.
const TEXT: usize = 10;

/// Which columns are shown.
struct RunListColumns {
    id: bool,
    age: bool,
    show_duration: bool,
    cost: bool,
    tokens: bool,
    /// Columns of a bar behind the time and of one behind the cost.
    bar: usize,
    name: usize,
    /// 0: all runs are of one project.
    project: usize,
    text: usize,
}

/// What bars compare: the most that a run on screen took and cost.
#[derive(Clone, Copy, Default)]
struct RunListMaxima {
    took_ms: u64,
    cost_usd: f64,
}

impl RunListColumns {
    /// What matters most is there first.
    fn for_width(columns: usize, several_projects: bool) -> Self {
        let bar = match columns {
            ..LEVEL_FROM => 0,
            LEVEL_FROM..BARS_FROM => 1,
            _ => BAR,
        };
        let mut left = columns.saturating_sub(2 + STATUS + 2 * bar);
        let take = |left: &mut usize, wide: usize| {
            let fits = *left >= wide + 2;
            *left -= if fits { wide + 2 } else { 0 };
            fits
        };
        let name = take(&mut left, NAME);
        let (age, cost, id) = (take(&mut left, AGE), take(&mut left, COST), take(&mut left, ID));
        let project = if columns >= PROJECT_FROM { PROJECT } else { NARROW_PROJECT };
        let project = if several_projects && take(&mut left, project) { project } else { 0 };
        let gives = name && project == 0 && (TOOK + 2 - GIVEN..TOOK + 2).contains(&left);
        left += if gives { GIVEN } else { 0 };
        let took = take(&mut left, TOOK);
        let tokens = columns >= 110 && take(&mut left, TOKENS);
        let full = if gives { NAME - GIVEN } else { NAME };
        let mut name = if name { full } else { std::mem::take(&mut left).saturating_sub(2) };
        // a word or two of the input says nothing: the name has the room
        if left < TEXT {
            name += std::mem::take(&mut left);
        }
        Self { id, age, show_duration: took, cost, tokens, bar, name, project, text: left.saturating_sub(2) }
    }
}

pub(super) fn head_height(area: Rect) -> u16 {
    u16::from(area.height > 4)
}

pub(super) fn draw_list(model: &UiModel, archive: &HistoryBrowser, area: Rect, frame: &mut Frame<'_>) {
    let (theme, list) = (model.theme, &archive.list);
    let columns = RunListColumns::for_width(usize::from(area.width), list.has_other_projects());
    let head = head_height(area);
    if head > 0 && !list.is_empty() {
        put_line(
            frame,
            area.x,
            area.y,
            &Line::styled(list_header(&columns, &list.filter.search_words), theme.dim_style()),
            area.width,
        );
    }
    if list.is_empty() {
        let wait = list.wait_text().map(|text| model.with_wait_time(text));
        let text = match (&list.problem, &list.loaded_filter) {
            _ if wait.is_some() => wait.as_deref().unwrap_or_default(),
            (Some(problem), _) => problem.as_str(),
            (_, Some(read)) if *read == crate::history_browser::HistoryRunFilter::default() => {
                "no runs yet: /workflow NAME starts one"
            }
            _ => "no runs match",
        };
        let text = fit_to_columns(
            text.lines().next().unwrap_or_default(),
            usize::from(area.width.saturating_sub(2)),
        );
        put_line(
            frame,
            area.x + 2,
            area.y + head,
            &Line::styled(text.into_owned(), theme.dim_style()),
            area.width,
        );
        return;
    }
    let rows = list.top_row..list.len().min(list.top_row + usize::from(area.height - head));
    let maxima =
        RunListMaxima::of_rows(rows.clone().filter_map(|at| list.row(at)).map(|(row, _)| row), model.now);
    let look = RunLineLook { columns: &columns, maxima, model };
    for (y, at) in (area.y + head..area.bottom()).zip(rows) {
        let Some((row, branch)) = list.row(at) else { break };
        let marked = archive.compare_with.as_ref() == Some(&row.id);
        put_line(frame, area.x, y, &run_line(row, branch, marked, look), area.width);
        if at == list.cursor {
            select_row(frame, Rect { y, height: 1, ..area }, theme.selected_style());
        }
    }
}

/// What is known of the chosen run.
pub(super) fn selected_run_note(model: &UiModel, archive: &HistoryBrowser) -> String {
    let Some(row) = archive.list.chosen_run() else { return String::new() };
    match &row.place.other_project {
        Some(project) => format!("{} · {project}", row.status_text),
        None if awaits_message(model, row) => NEXT_MESSAGE.to_owned(),
        None => row.status_text.clone(),
    }
}

fn awaits_message(model: &UiModel, row: &RunRow) -> bool {
    model.find_run(&row.id).is_some_and(RunView::awaits_message)
}

/// The status of a run as it is now: the rows were read when something was written.
pub(super) fn shown_status(model: &UiModel, row: &RunRow) -> &'static str {
    row.status_word(awaits_message(model, row))
}

fn list_header(columns: &RunListColumns, words: &str) -> String {
    let mut text = "  ".to_owned();
    let mut add = |shown: bool, title: &str, wide: usize, right: bool, gap: usize| {
        if shown {
            text += &if right { format!("{title:>wide$}") } else { format!("{title:<wide$}") };
            text += &" ".repeat(gap);
        }
    };
    add(columns.id, "run", ID, false, 2);
    add(columns.age, "age", AGE, true, 2);
    add(true, "status", STATUS, false, 2);
    add(columns.show_duration, "took", TOOK, true, columns.bar + 2);
    add(columns.cost, "cost", COST, true, columns.bar + 2);
    add(columns.tokens, "tokens", TOKENS, true, 2);
    add(columns.project > 0, "project", columns.project, false, 2);
    add(columns.name > 0, "workflow", columns.name, false, 2);
    add(columns.text > 6, if words.is_empty() { "input" } else { "found" }, 5, false, 0);
    text.trim_end().to_owned()
}

/// How the lines of the list look.
#[derive(Clone, Copy)]
struct RunLineLook<'l> {
    columns: &'l RunListColumns,
    maxima: RunListMaxima,
    model: &'l UiModel,
}

impl RunListMaxima {
    fn of_rows<'r>(rows: impl Iterator<Item = &'r RunRow>, now: Timestamp) -> Self {
        rows.fold(Self::default(), |most, row| Self {
            took_ms: most.took_ms.max(took_ms(row, now)),
            cost_usd: most.cost_usd.max(row.cost_usd.unwrap_or(0.0)),
        })
    }
}

fn took_ms(row: &RunRow, now: Timestamp) -> u64 {
    let end = if row.status == RunStatus::Running { now } else { row.updated };
    u64::try_from(end.0.saturating_sub(row.started.0)).unwrap_or(0)
}

#[expect(clippy::cast_precision_loss, reason = "a bar of a few columns")]
fn run_line(row: &RunRow, branch: &str, marked: bool, look: RunLineLook<'_>) -> Line<'static> {
    let RunLineLook { columns, maxima, model } = look;
    let (now, theme) = (model.now, model.theme);
    let mut spans = vec![Span::styled(if marked { "◆ " } else { "  " }, theme.user_attention())];
    let mut add = |shown: bool, text: String, wide: usize, right: bool, style: Style| {
        if shown {
            let text = fit_to_columns(&text, wide).into_owned();
            let gap = " ".repeat(wide - display_width(&text));
            let text = if right { format!("{gap}{text}") } else { format!("{text}{gap}") };
            spans.push(Span::styled(text, style));
        }
    };
    let took = took_ms(row, now);
    let cost = listed_cost(row.status, row.tokens, row.cost_usd);
    let bar = |part: f64| match columns.bar {
        0 => "  ".to_owned(),
        1 => format!(" {} ", level_character(part)),
        wide => format!(" {}  ", horizontal_bar(part, wide - 1)),
    };
    let bar_columns = columns.bar + 2;
    add(columns.id, row.id.to_string(), ID + 2, false, theme.text());
    let age = format_age(row.started, now).trim_end_matches(" ago").replace("just ", "");
    add(columns.age, age, AGE, true, theme.dim_style());
    add(columns.age, String::new(), 2, false, theme.text());
    let (mark, style) = row_mark(row.status, row.is_left, theme);
    add(true, format!("{mark} {}", shown_status(model, row)), STATUS + 2, false, style);
    let part = took as f64 / maxima.took_ms as f64;
    add(columns.show_duration, format_duration(took), TOOK, true, theme.dim_style());
    add(columns.show_duration, bar(part), bar_columns, false, theme.accent_style());
    let part = row.cost_usd.unwrap_or(0.0) / maxima.cost_usd;
    add(columns.cost, cost, COST, true, theme.text());
    add(columns.cost, bar(part), bar_columns, false, theme.accent_style());
    add(columns.tokens, short_number(row.tokens), TOKENS, true, theme.dim_style());
    add(columns.tokens, String::new(), 2, false, theme.text());
    let project = row.place.other_project.as_deref().map_or_else(|| "here".to_owned(), project_name);
    add(columns.project > 0, project, columns.project, false, theme.dim_style());
    add(columns.project > 0, String::new(), 2, false, theme.text());
    add(columns.name > 0, format!("{branch}{}", row.workflow), columns.name, false, theme.accent_style());
    add(columns.text > 0, format!("  {}", row.text), columns.text + 2, false, theme.text());
    Line::from(spans)
}

/// The last part of its path.
fn project_name(path: &str) -> String {
    one_line(path.trim_end_matches('/').rsplit('/').next().unwrap_or_default())
}

/// What stands for the status of a run; a conversation that was left is dim.
pub(super) fn row_mark(status: RunStatus, is_left: bool, theme: ColorTheme) -> (&'static str, Style) {
    if is_left { ("◦", theme.dim_style()) } else { (status_mark(status), status_style(status, theme)) }
}

/// A shape for each status, one column wide.
pub(super) fn status_mark(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Running => "▶",
        RunStatus::Paused => "‖",
        RunStatus::Interrupted => "╳",
        RunStatus::Completed => "✓",
        RunStatus::Failed => "✗",
        RunStatus::Cancelled => "○",
    }
}

pub(super) fn status_style(status: RunStatus, theme: ColorTheme) -> Style {
    match status {
        RunStatus::Running => theme.accent_style(),
        RunStatus::Paused | RunStatus::Interrupted => theme.warning_style(),
        RunStatus::Completed => theme.good_style(),
        RunStatus::Failed => theme.bad_style(),
        RunStatus::Cancelled => theme.dim_style(),
    }
}
