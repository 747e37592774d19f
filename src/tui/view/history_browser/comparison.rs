//! Two runs beside each other: facts, steps, and below them what else differs. Only rows on screen are made.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::super::draw_helpers::{put_line, select_row};
use super::list::{status_mark, status_style};
use crate::history_browser::run_comparison::{ComparedStep, ComparisonRow, RunComparisonView};
use crate::history_browser::step_list::StepLine;
use crate::text::{
    display_width, fit_entries, fit_to_columns, format_count, format_dollars, format_duration, one_line,
};
use crate::theme::ColorTheme;

/// Columns of the name of a fact.
const NAME: usize = 11;
/// From this width of a side on its steps have a cost.
const WITH_COST: usize = 34;

pub(super) fn draw_comparison(
    view: &RunComparisonView,
    area: Rect,
    theme: ColorTheme,
    frame: &mut Frame<'_>,
) {
    let both = &view.comparison;
    for (y, at) in (area.y..area.bottom()).zip(view.top_row..both.row_count()) {
        let Some(row) = both.row(at) else { break };
        let line = comparison_line(row, usize::from(area.width), theme);
        put_line(frame, area.x, y, &line, area.width);
        if at == view.cursor {
            select_row(frame, Rect { y, height: 1, ..area }, theme.selected_style());
        }
    }
}

fn comparison_line(row: ComparisonRow<'_>, columns: usize, theme: ColorTheme) -> Line<'static> {
    match row {
        ComparisonRow::Fact(fact) => {
            let side = columns.saturating_sub(NAME + 3) / 2;
            let (mark, style) =
                if fact.is_same() { ("=", theme.dim_style()) } else { ("≠", theme.warning_style()) };
            Line::from(vec![
                Span::styled(fill_columns(&format!("  {}", fact.name), NAME), theme.dim_style()),
                Span::styled(fill_columns(&fact.first, side), theme.text()),
                Span::styled(format!(" {mark} "), style),
                Span::styled(fit_to_columns(&fact.second, side).into_owned(), theme.text()),
            ])
        }
        ComparisonRow::StepsTitle(0) => rule_line("steps: the same states in both", columns, theme),
        ComparisonRow::StepsTitle(count) => {
            let count = format_count(count as u64, "step");
            rule_line(
                &format!("steps: {count} in one run only · n finds the next difference"),
                columns,
                theme,
            )
        }
        ComparisonRow::Step(step, is_first_difference) => {
            step_line(step, is_first_difference, columns, theme)
        }
        ComparisonRow::NotesTitle => rule_line("definition, inputs, data, decisions, output", columns, theme),
        ComparisonRow::Note(note) => {
            let style = match note.chars().next() {
                Some('-') => theme.bad_style(),
                Some('+') => theme.good_style(),
                _ => theme.text(),
            };
            Line::styled(fit_to_columns(&format!("  {note}"), columns).into_owned(), style)
        }
    }
}

/// `  3 code #2    4.2 s  $0.01 ·   3 code #2    3.9 s  $0.01`
fn step_line(step: &ComparedStep, is_first: bool, columns: usize, theme: ColorTheme) -> Line<'static> {
    let side = columns.saturating_sub(3) / 2;
    let (mark, style) = match (&step.first, &step.second) {
        (Some(_), Some(_)) => ("·", theme.dim_style()),
        _ if is_first => ("◆", theme.user_attention()),
        (Some(_), None) => ("<", theme.warning_style()),
        _ => (">", theme.warning_style()),
    };
    let text = |line: &Option<StepLine>| line.as_ref().map(|line| step_text(line, side)).unwrap_or_default();
    let empty = if is_first { "no such step: the ways part here" } else { "" };
    let words = |line: &Option<StepLine>| if line.is_some() { text(line) } else { format!("    {empty}") };
    let side_style = if step.is_in_both() { theme.text() } else { theme.accent_style() };
    let side_style = |line: &Option<StepLine>| -> Style {
        match line {
            Some(line) => line.outcome().map_or(side_style, |(status, _)| status_style(status, theme)),
            None => theme.warning_style(),
        }
    };
    Line::from(vec![
        Span::styled(fill_columns(&words(&step.first), side), side_style(&step.first)),
        Span::styled(format!(" {mark} "), style),
        Span::styled(fit_to_columns(&words(&step.second), side).into_owned(), side_style(&step.second)),
    ])
}

fn step_text(line: &StepLine, columns: usize) -> String {
    let took = line.duration_ms.map_or_else(|| "…".to_owned(), format_duration);
    let cost = line.cost_usd.map_or_else(|| "?".to_owned(), |usd| format_dollars(Some(usd)));
    let tail = match columns {
        ..18 => String::new(),
        18..WITH_COST => format!(" {took:>11}"),
        _ if line.tokens == 0 => format!(" {took:>11}  {:>8}", ""),
        _ => format!(" {took:>11}  {cost:>8}"),
    };
    let mark = line.outcome().map(|(status, _)| format!("{} ", status_mark(status))).unwrap_or_default();
    let head = format!("{:>3} {mark}{} #{}", line.step, one_line(&line.state), line.visit);
    fill_columns(&head, columns.saturating_sub(display_width(&tail))) + &tail
}

fn rule_line(text: &str, columns: usize, theme: ColorTheme) -> Line<'static> {
    let text = format!("─ {} ", fit_entries(text, columns.saturating_sub(3)));
    let text = fit_to_columns(&text, columns).into_owned();
    let rest = "─".repeat(columns.saturating_sub(display_width(&text)));
    Line::styled(text + &rest, theme.dim_style())
}

fn fill_columns(text: &str, columns: usize) -> String {
    let text = fit_to_columns(text, columns);
    format!("{text}{}", " ".repeat(columns.saturating_sub(display_width(&text))))
}
