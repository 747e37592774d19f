//! One run: its facts, and below them every step with what happened in it.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::super::draw_helpers::{put_line, select_row};
use super::list::{format_span, status_mark, status_style};
use crate::history_browser::step_list::StepLine;
use crate::history_browser::{BrowsedRun, RunDetails};
use crate::model::UiModel;
use crate::pane::timeline::format_clock;
use crate::pane::timeline_chart::{TimelineChart, chart_height};
use crate::text::{display_width, fit_to_columns, format_dollars, one_line, short_number};
use crate::theme::ColorTheme;
use synthdev_domain::ids::Timestamp;

/// Rows above the steps: facts, the chart, and the line below them. A small screen has steps instead.
pub(super) fn head_height(model: &UiModel, area: Rect) -> u16 {
    let run = model.history_browser.as_ref().and_then(|archive| archive.run.as_ref());
    let Some((run, details)) = run.and_then(|run| Some((run, run.details.as_ref()?))) else { return 0 };
    let facts = facts_height(details, area);
    let (chart, rows) = run_chart(model, run, details, area);
    // the line about the chosen bar takes the place of the line above the steps
    facts + u16::try_from(chart_height(chart.timeline, rows).saturating_sub(1)).unwrap_or(0)
}

fn facts_height(details: &RunDetails, area: Rect) -> u16 {
    let facts = u16::try_from(details.facts.len()).unwrap_or(u16::MAX);
    if facts == 0 || area.height < 8 { 0 } else { facts.min(area.height / 2) + 1 }
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
        put_line(frame, area.x + 2, area.y, &Line::styled("reading …", theme.dim_style()), area.width);
        return;
    };
    draw_head(model, run, look, area, frame);
    let head = head_height(model, area);
    let begun = look.steps.first().map_or(run.row.started, |step| step.at).min(run.row.started);
    let numbers = look.steps.len().to_string().len().max(2);
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

/// Facts, the chart, and a line that says what is below: the steps, or which bar is chosen.
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
    let chosen = chart.pop().filter(|_| run.chosen_bar.is_some());
    let top = area.y + facts.saturating_sub(1);
    for (y, line) in (top..area.bottom()).zip(&chart) {
        put_line(frame, area.x + 2, y, line, area.width.saturating_sub(2));
    }
    let head = head_height(model, area);
    if head == 0 {
        return;
    }
    let rule = format!("─ {} ", step_count_text(look.steps.len()));
    let rest = "─".repeat(usize::from(area.width).saturating_sub(display_width(&rule)));
    let line = chosen.unwrap_or_else(|| Line::styled(rule + &rest, theme.dim_style()));
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

fn step_count_text(steps: usize) -> String {
    format!("{steps} step{}", if steps == 1 { "" } else { "s" })
}

/// `  2  0:04.2  code #2 (coder)            3 said  2 tools  1.2k  $0.01    4.2 s  ● 2 changed`
fn step_line(
    step: &StepLine,
    numbers: usize,
    begun: Timestamp,
    columns: usize,
    theme: ColorTheme,
) -> Line<'static> {
    let since = u64::try_from(step.at.0.saturating_sub(begun.0)).unwrap_or(0);
    let head = format!("  {:>numbers$}  ", step.step);
    let time = if columns >= 50 { format!("{:>8}  ", format_clock(since)) } else { String::new() };
    let agent = step.agent.as_ref().map(|agent| format!(" ({})", one_line(agent))).unwrap_or_default();
    let title = format!("{} #{}{agent}", one_line(&step.state), step.visit);
    let some = |count: u32, what: &str| if count == 0 { String::new() } else { format!("{count} {what}") };
    let tools = if step.tools == 1 { "tool" } else { "tools" };
    let cost = step.cost_usd.map_or_else(|| "?".to_owned(), |usd| format_dollars(Some(usd)));
    let paid = step.tokens > 0;
    // the narrower the screen, the fewer
    let cells: [(usize, String, usize); 6] = [
        (30, step.duration_ms.map_or_else(|| "…".to_owned(), format_span), 8),
        (58, some(step.messages, "said"), 8),
        (68, some(step.tools, tools), 8),
        (78, some(step.changed_variables, "set"), 6),
        (90, if paid { short_number(step.tokens) } else { String::new() }, 7),
        (100, if paid { cost } else { String::new() }, 8),
    ];
    let tail: String = cells
        .into_iter()
        .filter(|(from, ..)| columns >= *from)
        .map(|(_, text, wide)| format!("  {}{text}", " ".repeat(wide.saturating_sub(display_width(&text)))))
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
