//! One run: its facts, and below them every step with what happened in it.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::super::draw_helpers::{put_line, select_row};
use super::list::format_span;
use crate::history_browser::step_list::StepLine;
use crate::history_browser::{BrowsedRun, HistoryBrowser};
use crate::model::UiModel;
use crate::pane::body::format_clock;
use crate::text::{display_width, fit_to_columns, format_dollars, one_line, short_number};
use crate::theme::ColorTheme;
use synthdev_domain::ids::Timestamp;

/// Rows for facts and the line below them; a small screen has steps instead.
pub(super) fn facts_height(archive: &HistoryBrowser, area: Rect) -> u16 {
    let facts = archive.run.as_ref().and_then(|run| run.details.as_ref()).map_or(0, |look| look.facts.len());
    let facts = u16::try_from(facts).unwrap_or(u16::MAX);
    if facts == 0 || area.height < 8 { 0 } else { facts.min(area.height / 2) + 1 }
}

pub(super) fn draw_run(
    model: &UiModel,
    archive: &HistoryBrowser,
    run: &BrowsedRun,
    area: Rect,
    frame: &mut Frame<'_>,
) {
    let theme = model.theme;
    let Some(look) = &run.details else {
        put_line(frame, area.x + 2, area.y, &Line::styled("reading …", theme.dim_style()), area.width);
        return;
    };
    let facts = facts_height(archive, area);
    for (y, (name, text)) in (area.y..area.y + facts.saturating_sub(1)).zip(&look.facts) {
        let name = format!("  {:<10} ", fit_to_columns(name, 10));
        let room = usize::from(area.width).saturating_sub(display_width(&name));
        let text = fit_to_columns(text, room).into_owned();
        let style = if name.trim() == "error" { theme.bad_style() } else { theme.text() };
        let line = Line::from(vec![Span::styled(name, theme.dim_style()), Span::styled(text, style)]);
        put_line(frame, area.x, y, &line, area.width);
    }
    if facts > 0 {
        let rule = format!("─ {} ", step_count_text(look.steps.len()));
        let rest = "─".repeat(usize::from(area.width).saturating_sub(display_width(&rule)));
        put_line(
            frame,
            area.x,
            area.y + facts - 1,
            &Line::styled(rule + &rest, theme.dim_style()),
            area.width,
        );
    }
    let begun = look.steps.first().map_or(run.row.started, |step| step.at).min(run.row.started);
    let numbers = look.steps.len().to_string().len().max(2);
    for (y, at) in (area.y + facts..area.bottom()).zip(run.top_row..look.steps.len()) {
        let line = step_line(&look.steps[at], numbers, begun, usize::from(area.width), theme);
        put_line(frame, area.x, y, &line, area.width);
        if at == run.cursor {
            select_row(frame, Rect { y, height: 1, ..area }, theme.selected_style());
        }
    }
    if look.steps.is_empty() {
        let text = "it has entered no state yet";
        put_line(frame, area.x + 2, area.y + facts, &Line::styled(text, theme.dim_style()), area.width);
    }
}

/// The error of the chosen step, else the status of the run.
pub(super) fn selected_step_note(run: &BrowsedRun) -> String {
    let bad = run.steps().get(run.cursor).and_then(|step| step.error_text.as_ref());
    bad.map_or_else(|| run.row.status_text.clone(), |bad| format!("✗ {}", one_line(bad)))
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
    let (mark, style) =
        if step.error_text.is_some() { ("✗ ", theme.bad_style()) } else { ("", theme.accent_style()) };
    let title = fit_to_columns(&format!("{mark}{title}"), room).into_owned();
    let gap = " ".repeat(room - display_width(&title));
    Line::from(vec![
        Span::styled(format!("{head}{time}"), theme.dim_style()),
        Span::styled(title, style),
        Span::raw(gap),
        Span::styled(tail, theme.dim_style()),
    ])
}
