//! One run: its facts, and below them every step with what happened in it.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::super::draw_helpers::{put_line, select_row};
use super::list::{status_mark, status_style};
use crate::history_browser::step_list::StepLine;
use crate::history_browser::{BrowsedRun, RunDetails};
use crate::model::UiModel;
use crate::pane::timeline::format_clock;
use crate::pane::timeline_chart::{TimelineChart, chart_height};
use crate::text::{display_width, fit_to_columns, format_dollars, format_duration, one_line, short_number};
use crate::theme::ColorTheme;
use synthdev_domain::ids::Timestamp;

/// A screen of fewer rows has no heads above the steps.
const WITH_HEADS: u16 = 4;
/// The numbers of a step: from which width of the screen on, the head, its columns. The narrower, the fewer.
const NUMBERS: [(usize, &str, usize); 6] = [
    (30, "took", 11),
    (58, "messages", 8),
    (68, "tools", 5),
    (78, "variables", 9),
    (90, "tokens", 7),
    (100, "cost", 8),
];
/// From this width on a step has its time.
const WITH_TIME: usize = 50;

/// Rows above the steps: facts, the chart, the line about the chosen bar, and the heads. A small screen has steps instead.
pub(super) fn head_height(model: &UiModel, area: Rect) -> u16 {
    let run = model.history_browser.as_ref().and_then(|archive| archive.run.as_ref());
    let Some((run, details)) = run.and_then(|run| Some((run, run.details.as_ref()?))) else { return 0 };
    let facts = facts_height(details, area);
    let (chart, rows) = run_chart(model, run, details, area);
    // the last line is about the chosen bar
    let less = usize::from(run.chosen_bar.is_none());
    facts + u16::try_from(chart_height(chart.timeline, rows).saturating_sub(less)).unwrap_or(0)
}

fn facts_height(details: &RunDetails, area: Rect) -> u16 {
    let facts = u16::try_from(details.facts.len()).unwrap_or(u16::MAX);
    let heads = u16::from(area.height >= WITH_HEADS);
    if area.height < 8 { heads } else { facts.min(area.height / 2) + heads }
}

/// The chart of the run, and the rows that it may use.
fn run_chart<'r>(
    model: &'r UiModel,
    run: &'r BrowsedRun,
    details: &'r RunDetails,
    area: Rect,
) -> (TimelineChart<'r>, usize) {
    let chart = TimelineChart {
        timeline: &details.timeline,
        roster: &run.roster,
        now: model.now,
        chosen_row: run.chosen_bar,
        columns: usize::from(area.width.saturating_sub(2)),
        theme: model.theme,
    };
    (chart, usize::from(area.height.saturating_sub(facts_height(details, area))))
}

pub(super) fn draw_run(model: &UiModel, run: &BrowsedRun, area: Rect, frame: &mut Frame<'_>) {
    let theme = model.theme;
    let Some(look) = &run.details else {
        put_line(
            frame,
            area.x + 2,
            area.y,
            &Line::styled(model.with_wait_time("reading …"), theme.dim_style()),
            area.width,
        );
        return;
    };
    draw_head(model, run, look, area, frame);
    let head = head_height(model, area);
    let begun = look.steps.first().map_or(run.row.started, |step| step.at).min(run.row.started);
    let numbers = number_columns(look.steps.len());
    for (y, at) in (area.y + head..area.bottom()).zip(run.top_row..look.steps.len()) {
        let line = step_line(&look.steps[at], numbers, begun, usize::from(area.width), theme);
        put_line(frame, area.x, y, &line, area.width);
        if at == run.cursor && run.chosen_bar.is_none() {
            select_row(frame, Rect { y, height: 1, ..area }, theme.selected_style());
        }
    }
    if look.steps.is_empty() {
        let text = "it has entered no state yet";
        put_line(frame, area.x + 2, area.y + head, &Line::styled(text, theme.dim_style()), area.width);
    }
}

/// Facts, the chart, which bar is chosen, and the heads of the steps.
fn draw_head(model: &UiModel, run: &BrowsedRun, look: &RunDetails, area: Rect, frame: &mut Frame<'_>) {
    let theme = model.theme;
    let facts = facts_height(look, area);
    for (y, (name, text)) in (area.y..area.y + facts.saturating_sub(1)).zip(&look.facts) {
        let name = format!("  {:<10} ", fit_to_columns(name, 10));
        let room = usize::from(area.width).saturating_sub(display_width(&name));
        let text = fit_to_columns(text, room).into_owned();
        let style = if name.trim() == "error" { theme.bad_style() } else { theme.text() };
        let line = Line::from(vec![Span::styled(name, theme.dim_style()), Span::styled(text, style)]);
        put_line(frame, area.x, y, &line, area.width);
    }
    let (drawing, rows) = run_chart(model, run, look, area);
    let mut chart = drawing.lines(rows);
    if run.chosen_bar.is_none() {
        chart.pop();
    }
    let top = area.y + facts.saturating_sub(1);
    for (y, line) in (top..area.bottom()).zip(&chart) {
        put_line(frame, area.x + 2, y, line, area.width.saturating_sub(2));
    }
    let head = head_height(model, area);
    if head == 0 {
        return;
    }
    let line = Line::styled(heads_line(look.steps.len(), usize::from(area.width)), theme.dim_style());
    put_line(frame, area.x, area.y + head - 1, &line, area.width);
}

/// What went wrong in the chosen step or paused it, else the status of the run.
pub(super) fn selected_step_note(run: &BrowsedRun) -> String {
    let outcome = run.steps().get(run.cursor).and_then(StepLine::outcome);
    outcome.map_or_else(
        || run.row.status_text.clone(),
        |(status, text)| format!("{} {}", status_mark(status), one_line(text)),
    )
}

/// Digits of the numbers of steps.
fn number_columns(steps: usize) -> usize {
    steps.to_string().len().max(2)
}

/// `─ step ─────── at ─ state #visit (agent) ──── took ─ messages`, each above its column.
fn heads_line(steps: usize, columns: usize) -> String {
    let number = format!("{:>width$}  ", "step", width = number_columns(steps) + 2);
    let time = if columns >= WITH_TIME { format!("{:>8}  ", "at") } else { String::new() };
    let cells = NUMBERS.iter().filter(|(from, ..)| columns >= *from);
    let tail: String = cells.map(|(_, head, wide)| format!("  {head:>wide$}")).collect();
    let room = columns.saturating_sub(display_width(&number) + display_width(&time) + display_width(&tail));
    let title = fit_to_columns("state #visit (agent)", room);
    draw_gaps(&format!("{number}{time}{title:<room$}{tail}"))
}

/// A line through the gaps, with a blank beside each word.
fn draw_gaps(text: &str) -> String {
    let cells: Vec<char> = text.chars().collect();
    let is_gap = |at: Option<usize>| at.and_then(|at| cells.get(at)).is_none_or(|c| *c == ' ');
    let shown = |at: usize| {
        let is_free = is_gap(Some(at)) && is_gap(at.checked_sub(1)) && is_gap(Some(at + 1));
        if is_free { '─' } else { cells[at] }
    };
    (0..cells.len()).map(shown).collect()
}

/// `  2  0:04.2  code #2 (coder)            4.2 s         3      2          2     1.2k     $0.01`
fn step_line(
    step: &StepLine,
    numbers: usize,
    begun: Timestamp,
    columns: usize,
    theme: ColorTheme,
) -> Line<'static> {
    let since = u64::try_from(step.at.0.saturating_sub(begun.0)).unwrap_or(0);
    let head = format!("  {:>numbers$}  ", step.step);
    let time = if columns >= WITH_TIME { format!("{:>8}  ", format_clock(since)) } else { String::new() };
    let agent = step.agent.as_ref().map(|agent| format!(" ({})", one_line(agent))).unwrap_or_default();
    let title = format!("{} #{}{agent}", one_line(&step.state), step.visit);
    let some = |count: u32| if count == 0 { String::new() } else { count.to_string() };
    let cost = step.cost_usd.map_or_else(|| "?".to_owned(), |usd| format_dollars(Some(usd)));
    let paid = step.tokens > 0;
    let cells = [
        step.duration_ms.map_or_else(|| "…".to_owned(), format_duration),
        some(step.messages),
        some(step.tools),
        some(step.changed_variables),
        if paid { short_number(step.tokens) } else { String::new() },
        if paid { cost } else { String::new() },
    ];
    let tail: String = NUMBERS
        .iter()
        .zip(cells)
        .filter(|((from, ..), _)| columns >= *from)
        .map(|((.., wide), text)| {
            format!("  {}{text}", " ".repeat(wide.saturating_sub(display_width(&text))))
        })
        .collect();
    let room = columns.saturating_sub(display_width(&head) + display_width(&time) + display_width(&tail));
    let status = step.outcome().map(|(status, _)| status);
    let mark = status.map(|status| format!("{} ", status_mark(status))).unwrap_or_default();
    let style = status.map_or_else(|| theme.accent_style(), |status| status_style(status, theme));
    let title = fit_to_columns(&format!("{mark}{title}"), room).into_owned();
    let gap = " ".repeat(room - display_width(&title));
    Line::from(vec![
        Span::styled(format!("{head}{time}"), theme.dim_style()),
        Span::styled(title, style),
        Span::raw(gap),
        Span::styled(tail, theme.dim_style()),
    ])
}
