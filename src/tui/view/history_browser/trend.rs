//! Below the list: the last runs of the chosen run's workflow, each in a column, the newest on the right.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::super::draw_helpers::put_line;
use super::list::row_mark;
use crate::history_browser::HistoryBrowser;
use crate::history_browser::workflow_trend::{TrendRun, WorkflowTrend};
use crate::model::UiModel;
use crate::pane::bar_text::sparkline;
use crate::text::{
    display_width, fit_entries, fit_to_columns, format_count, format_dollars, format_duration,
};
use crate::theme::ColorTheme;
use synthdev_domain::journal::{LEFT, RunStatus};

/// A list of less rows has no trend, of less than the second number only its outcomes.
const LEAST: u16 = 10;
const WITH_CURVES: u16 = 14;
/// Columns of the words before a curve.
const LABEL: usize = 10;

/// Rows of the trend; the list has the others.
pub(super) fn trend_height(archive: &HistoryBrowser, area: Rect) -> u16 {
    match area.height {
        ..LEAST => 0,
        _ if archive.list.is_empty() => 0,
        LEAST..WITH_CURVES => 2,
        _ => 4,
    }
}

pub(super) fn draw_trend(model: &UiModel, archive: &HistoryBrowser, area: Rect, frame: &mut Frame<'_>) {
    let Some(row) = archive.list.chosen_run().filter(|_| area.height > 0) else { return };
    let (columns, theme) = (usize::from(area.width), model.theme);
    let lines = match archive.trends.get(&row.workflow) {
        Some(trend) if !trend.runs.is_empty() => trend_lines(trend, columns, theme),
        Some(_) => {
            vec![title_line(&format!("{}: its last runs cannot be read", row.workflow), columns, theme)]
        }
        None => {
            let waits = archive.trend_wait_text().map(|text| model.with_wait_time(&text));
            vec![title_line(&waits.unwrap_or_else(|| row.workflow.clone()), columns, theme)]
        }
    };
    for (y, line) in (area.y..area.bottom()).zip(&lines) {
        put_line(frame, area.x, y, line, area.width);
    }
}

/// A title with counts, then outcome, time and cost.
fn trend_lines(trend: &WorkflowTrend, columns: usize, theme: ColorTheme) -> Vec<Line<'static>> {
    let shown = trend.runs.len().min(columns.saturating_sub(LABEL + 1).max(1));
    let runs = &trend.runs[trend.runs.len() - shown..];
    let mut outcome = vec![Span::styled(format!("{:<LABEL$}", "  outcome"), theme.dim_style())];
    let marks = runs.iter().map(|run| row_mark(run.status, run.is_left, theme));
    let marks = marks.map(|(mark, style)| Span::styled(mark, style));
    outcome.extend(marks);
    #[expect(clippy::cast_precision_loss, reason = "a time of few digits")]
    let took = |run: &TrendRun| Some(run.took_ms as f64);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "milliseconds of a run")]
    let time_text = |ms: f64| format_duration(ms as u64);
    let cost_text = |usd: f64| format_dollars(Some(usd));
    vec![
        title_line(&counts_text(trend), columns, theme),
        Line::from(outcome),
        curve_line("  time", trend, runs, took, &time_text, columns, theme),
        curve_line("  cost", trend, runs, |run| run.cost_usd, &cost_text, columns, theme),
    ]
}

/// `coder_reviewer: last 50 runs · 41 completed · 6 failed · 3 paused`
fn counts_text(trend: &WorkflowTrend) -> String {
    const ALL: [RunStatus; 6] = [
        RunStatus::Completed,
        RunStatus::Failed,
        RunStatus::Paused,
        RunStatus::Interrupted,
        RunStatus::Running,
        RunStatus::Cancelled,
    ];
    let counts = ALL.map(|status| (status, trend.count(status)));
    let counts = counts.into_iter().filter(|(_, count)| *count > 0);
    let left = (trend.left_count() > 0).then(|| format!("{} {LEFT}", trend.left_count()));
    let counts = counts.map(|(status, count)| format!("{count} {}", status.as_str()));
    let counts: Vec<String> = counts.chain(left).collect();
    let runs = format_count(trend.runs.len() as u64, "run");
    format!("{}: last {runs} · {}", trend.workflow, counts.join(" · "))
}

fn curve_line(
    label: &str,
    trend: &WorkflowTrend,
    runs: &[TrendRun],
    value: impl Fn(&TrendRun) -> Option<f64> + Copy,
    words: &dyn Fn(f64) -> String,
    columns: usize,
    theme: ColorTheme,
) -> Line<'static> {
    let values: Vec<f64> = runs.iter().map(|run| value(run).unwrap_or(0.0)).collect();
    let text = match trend.typical_and_most(value) {
        Some((typical, most)) => {
            [format!("  typical {}", words(typical)), format!(" · most {}", words(most))].into()
        }
        None => vec!["  not known".to_owned()],
    };
    let room = columns.saturating_sub(LABEL + values.len());
    let text = fitting_parts(&text, room);
    Line::from(vec![
        Span::styled(format!("{label:<LABEL$}"), theme.dim_style()),
        Span::styled(sparkline(&values), theme.accent_style()),
        Span::styled(text, theme.text()),
    ])
}

/// As many of the first parts as there is room for: none is cut.
fn fitting_parts(parts: &[String], columns: usize) -> String {
    let mut text = String::new();
    for part in parts {
        if display_width(&text) + display_width(part) > columns {
            break;
        }
        text.push_str(part);
    }
    text
}

fn title_line(text: &str, columns: usize, theme: ColorTheme) -> Line<'static> {
    let text = format!("─ {} ", fit_entries(text, columns.saturating_sub(3)));
    let text = fit_to_columns(&text, columns).into_owned();
    let rest = "─".repeat(columns.saturating_sub(display_width(&text)));
    Line::styled(text + &rest, theme.dim_style())
}
