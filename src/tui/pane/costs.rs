//! What a run spent, by agent, model and state, against its budget, and how what is left went down.

use ratatui::text::{Line, Span};

use super::body::PaneRow;
use crate::run_view::RunView;
use crate::run_view::run_costs::{CostCurvePoint, CostSubtotals};
use crate::text::{display_width, fit_to_columns, format_dollars, short_number};
use crate::theme::ColorTheme;
use synthdev_domain::workflow::Budget;

/// From here on a bar warns.
const NEARLY: f64 = 0.8;
/// Heights of a curve.
const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

pub fn cost_rows(run: &RunView, columns: usize, theme: ColorTheme) -> Vec<PaneRow> {
    let usage = run.ledger.usage();
    if usage.total() == 0 && run.ledger.entries.is_empty() {
        return Vec::new();
    }
    let spent = format!(
        "{} · {} in · {} out",
        format_dollars(run.ledger.cost_usd()),
        short_number(usage.prompt),
        short_number(usage.completion)
    );
    let mut rows =
        vec![PaneRow::new(Line::styled(fit_to_columns(&spent, columns).into_owned(), theme.bold_style()))];
    rows.extend(budget_rows(run, columns, theme));
    rows.extend(budget_left_rows(run, columns, theme));
    for (title, sums) in [
        ("by agent", &run.pane_data.run_costs.agents),
        ("by model", &run.pane_data.run_costs.models),
        ("by state", &run.pane_data.run_costs.states),
    ] {
        rows.push(PaneRow::default());
        rows.push(PaneRow::new(Line::styled(title, theme.dim_style())));
        rows.extend(subtotal_rows(sums, columns));
    }
    rows
}

fn subtotal_rows(sums: &CostSubtotals, columns: usize) -> Vec<PaneRow> {
    let row = |name: &str, tokens: u64, cost: Option<f64>| {
        let tail = format!("  {:>7}  {:>9}", short_number(tokens), format_dollars(cost));
        let room = columns.saturating_sub(display_width(&tail) + 1);
        let name = if name.is_empty() { "(not said)" } else { name };
        let shown = fit_to_columns(name, room);
        let gap = " ".repeat(room.saturating_sub(display_width(&shown)));
        PaneRow::new(format!(" {shown}{gap}{tail}")).with_copy_text(format!("{name}{tail}"))
    };
    sums.iter().map(|sum| row(&sum.name, sum.usage.total(), sum.cost_usd)).collect()
}

/// `$0.12 of $0.50` and `███░░░░░  24%`, for dollars and for tokens.
#[expect(clippy::cast_precision_loss, reason = "a bar of a few columns")]
pub fn budget_rows(run: &RunView, columns: usize, theme: ColorTheme) -> Vec<PaneRow> {
    let Budget { tokens, cost_usd, .. } = run.budget;
    let used = run.ledger.usage().total();
    let usd = run.pane_data.run_costs.known_cost_usd();
    let money = cost_usd
        .hard
        .map(|end| (format!("{} of {}", format_dollars(Some(usd)), format_dollars(Some(end))), usd / end));
    let counted = tokens.hard.map(|end| {
        (format!("{} of {} tok", short_number(used), short_number(end)), used as f64 / end as f64)
    });
    let mut rows = Vec::new();
    for (text, part) in money.into_iter().chain(counted) {
        rows.push(PaneRow::new(fit_to_columns(&text, columns).into_owned()));
        rows.push(PaneRow::new(bar_line(part, columns, theme)));
    }
    if !rows.is_empty() {
        rows.splice(0..0, [PaneRow::default(), PaneRow::new(Line::styled("budget", theme.dim_style()))]);
    }
    rows
}

/// `left  █▇▆▅▃▂▁`: what was left of the budget after each call, the first on the left.
#[expect(clippy::cast_precision_loss, reason = "a curve of eight steps")]
fn budget_left_rows(run: &RunView, columns: usize, theme: ColorTheme) -> Vec<PaneRow> {
    let left: Box<dyn Fn(CostCurvePoint) -> f64> = match (run.budget.cost_usd.hard, run.budget.tokens.hard) {
        (Some(end), _) => Box::new(move |point: CostCurvePoint| 1.0 - point.cost_usd / end),
        (None, Some(end)) => Box::new(move |point: CostCurvePoint| 1.0 - point.tokens as f64 / end as f64),
        (None, None) => return Vec::new(),
    };
    let parts: Vec<f64> = run.pane_data.run_costs.curve_points().map(left).collect();
    let room = columns.saturating_sub(6).max(1);
    let each = parts.len().div_ceil(room).max(1);
    let curve: String =
        parts.chunks(each).filter_map(|chunk| chunk.last()).map(|part| bar_step(*part)).collect();
    let style = if parts.last().is_some_and(|left| *left < 1.0 - NEARLY) {
        theme.bad_style()
    } else {
        theme.good_style()
    };
    vec![PaneRow::new(Line::from(vec![
        Span::styled("left  ", theme.dim_style()),
        Span::styled(curve, style),
    ]))]
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of eight steps")]
fn bar_step(part: f64) -> char {
    let at = if part.is_finite() { (part.clamp(0.0, 1.0) * 7.99).floor() as usize } else { 0 };
    STEPS[at.min(7)]
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a few columns")]
#[expect(clippy::cast_precision_loss, reason = "a part of a few columns")]
fn bar_line(part: f64, columns: usize, theme: ColorTheme) -> Line<'static> {
    let part = if part.is_finite() { part.max(0.0) } else { 1.0 };
    let share = if part > 9.99 { ">999%".to_owned() } else { format!(" {:>3.0}%", part * 100.0) };
    let room = columns.saturating_sub(share.len());
    let full = ((part.min(1.0) * room as f64).floor() as usize).min(room);
    let style = match part {
        ..NEARLY => theme.good_style(),
        ..1.0 => theme.warning_style(),
        _ => theme.bad_style(),
    };
    Line::from(vec![
        Span::styled("█".repeat(full), style),
        Span::styled("░".repeat(room - full), theme.dim_style()),
        Span::raw(share),
    ])
}
