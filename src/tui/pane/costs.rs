//! What a run spent, by agent, model and state, against its budget, how what is left went down, and how fast models write.

use ratatui::text::{Line, Span};

use super::bar_text::{filled_curve, horizontal_bar, last_of_each_column, sparkline};
use super::body::PaneRow;
use super::chart_scale::ChartScale;
use crate::agent_identity::AgentRoster;
use crate::run_view::RunView;
use crate::run_view::run_costs::{CostCurvePoint, CostSubtotal, CostSubtotals};
use crate::text::{display_width, fit_to_columns, format_dollars, short_number};
use crate::theme::ColorTheme;
use synthdev_domain::cost::TokenUsage;
use synthdev_domain::workflow::Budget;

/// From here on a bar warns.
const NEARLY: f64 = 0.8;
/// Columns of a bar, at most and at least.
const BAR: usize = 24;
const LEAST_BAR: usize = 6;
/// Columns that a name keeps where there is a bar.
const NAME: usize = 14;
/// Rows of the curve of the budget, and columns of the words before it.
const CURVE_ROWS: usize = 4;
const CURVE_LABEL: usize = 6;

pub fn cost_rows(run: &RunView, columns: usize, theme: ColorTheme) -> Vec<PaneRow> {
    let usage = run.ledger.usage();
    if usage.total() == 0 && run.ledger.entries.is_empty() {
        return Vec::new();
    }
    let spent = format!(
        "{} · {} tokens in · {} tokens out",
        format_dollars(run.ledger.cost_usd()),
        short_number(usage.prompt),
        short_number(usage.completion)
    );
    let mut rows =
        vec![PaneRow::new(Line::styled(fit_to_columns(&spent, columns).into_owned(), theme.bold_style()))];
    rows.extend(cached_row(&usage, columns, theme));
    rows.extend(speed_row(run, columns, theme));
    rows.extend(budget_rows(run, columns, theme));
    rows.extend(budget_left_rows(run, columns, theme));
    let costs = &run.pane_data.run_costs;
    for (title, sums) in
        [("by agent", &costs.agents), ("by model", &costs.models), ("by state", &costs.states)]
    {
        rows.push(PaneRow::default());
        rows.push(PaneRow::new(Line::styled(title, theme.dim_style())));
        let agents = (title == "by agent").then_some(&run.roster);
        rows.extend(SubtotalTable { sums, agents, columns, theme }.rows());
    }
    rows
}

/// `cached  64 % of the tokens in  ███████░░░`
#[expect(clippy::cast_precision_loss, reason = "a share in percent")]
fn cached_row(usage: &TokenUsage, columns: usize, theme: ColorTheme) -> Option<PaneRow> {
    if usage.prompt == 0 {
        return None;
    }
    let part = usage.cached as f64 / usage.prompt as f64;
    let text = format!("cached  {:.0} % of the tokens in", part * 100.0);
    let room = columns.saturating_sub(display_width(&text) + 2).min(BAR);
    let bar = if room < LEAST_BAR { String::new() } else { format!("  {}", share_bar(part, room)) };
    let spans =
        vec![Span::raw(fit_to_columns(&text, columns).into_owned()), Span::styled(bar, theme.good_style())];
    Some(PaneRow::new(Line::from(spans)).with_copy_text(text))
}

/// `speed   ▂▅█▃  42 tokens/s last, 80 highest`
fn speed_row(run: &RunView, columns: usize, theme: ColorTheme) -> Option<PaneRow> {
    let rate = &run.pane_data.token_rate;
    let (last, highest) = rate.last_and_highest()?;
    let text = format!("{last:.0} tokens/s last answer, {highest:.0} highest");
    let room = columns.saturating_sub(display_width(&text) + 10).min(2 * BAR);
    let curve = if room < LEAST_BAR { String::new() } else { sparkline(&rate.per_second(room)) + "  " };
    let room = columns.saturating_sub(8 + display_width(&curve));
    let shown = fit_to_columns(&text, room).into_owned();
    let spans = vec![Span::raw("speed   "), Span::styled(curve, theme.accent_style()), Span::raw(shown)];
    Some(PaneRow::new(Line::from(spans)).with_copy_text(format!("speed: {text}")))
}

/// Sums by name with a bar for the share of each.
struct SubtotalTable<'t> {
    sums: &'t CostSubtotals,
    /// The names are those of agents.
    agents: Option<&'t AgentRoster>,
    columns: usize,
    theme: ColorTheme,
}

impl SubtotalTable<'_> {
    /// The one that cost most is first.
    fn rows(&self) -> Vec<PaneRow> {
        let mut sums: Vec<&CostSubtotal> = self.sums.iter().collect();
        let known: Option<f64> = sums.iter().map(|sum| sum.cost_usd).sum();
        let is_priced = known.is_some_and(|usd| usd > 0.0);
        sums.sort_by(|one, other| amount(other, is_priced).total_cmp(&amount(one, is_priced)));
        let total: f64 = sums.iter().map(|sum| amount(sum, is_priced)).sum();
        let share = |sum: &CostSubtotal| amount(sum, is_priced) / total;
        sums.into_iter().flat_map(|sum| self.sum_rows(sum, share(sum))).collect()
    }

    /// A row with the bar, or two where it has no room beside the sum.
    fn sum_rows(&self, sum: &CostSubtotal, share: f64) -> Vec<PaneRow> {
        let name = if sum.name.is_empty() { "(not said)" } else { &sum.name };
        let share = if share.is_finite() { share } else { 0.0 };
        let tail =
            format!("  {:>7} tokens  {:>9}", short_number(sum.usage.total()), format_dollars(sum.cost_usd));
        let percent = format!("  {:>3.0} %", share * 100.0);
        let room = self.columns.saturating_sub(display_width(&tail) + 3);
        let wide = room >= NAME + LEAST_BAR + display_width(&percent);
        let bar = if wide { (room - NAME - display_width(&percent)).min(BAR) } else { 0 };
        let room = if wide { room - bar - display_width(&percent) } else { room };
        let (mark, style) = match self.agents {
            Some(roster) => (roster.mark(name), roster.style(self.theme, name)),
            None => (" ", self.theme.text()),
        };
        let shown = fit_to_columns(name, room);
        let gap = " ".repeat(room.saturating_sub(display_width(&shown)) + 1);
        let mut spans = vec![Span::styled(format!("{mark} {shown}"), style), Span::raw(gap)];
        let bar_style = if self.agents.is_some() { style } else { self.theme.accent_style() };
        let bar_spans =
            |bar| [Span::styled(horizontal_bar(share, bar), bar_style), Span::raw(percent.clone())];
        if wide {
            spans.extend(bar_spans(bar));
        }
        spans.push(Span::raw(tail.clone()));
        let mut rows = vec![PaneRow::new(Line::from(spans)).with_copy_text(format!("{name}{percent}{tail}"))];
        let below = self.columns.saturating_sub(display_width(&percent) + 2).min(BAR);
        if !wide && below >= LEAST_BAR {
            let line = [Span::raw("  ")].into_iter().chain(bar_spans(below)).collect::<Vec<_>>();
            rows.push(PaneRow { is_continuation: true, ..PaneRow::new(Line::from(line)) });
        }
        rows
    }
}

/// What bars compare: dollars if they are known and there are any, else tokens.
#[expect(clippy::cast_precision_loss, reason = "a bar of a few columns")]
fn amount(sum: &CostSubtotal, is_priced: bool) -> f64 {
    if is_priced { sum.cost_usd.unwrap_or_default() } else { sum.usage.total() as f64 }
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

/// What was left of the budget over the time of the run, as a curve that goes down.
fn budget_left_rows(run: &RunView, columns: usize, theme: ColorTheme) -> Vec<PaneRow> {
    let Some(left_of) = budget_left_function(run) else { return Vec::new() };
    let points: Vec<CostCurvePoint> = run.pane_data.run_costs.curve_points().collect();
    let parts = left_over_time(run, &points, &left_of, columns.saturating_sub(CURVE_LABEL).max(1));
    let now = points.last().map_or(1.0, |point| left_of(*point));
    let style = if now < 1.0 - NEARLY { theme.bad_style() } else { theme.good_style() };
    let title = format!("left    {:.0} % of the budget, over time", (now * 100.0).max(0.0));
    let mut rows = vec![PaneRow::new(fit_to_columns(&title, columns).into_owned())];
    for (at, curve) in filled_curve(&parts, CURVE_ROWS).into_iter().enumerate() {
        let label = match at {
            0 => "100 % ",
            at if at + 1 == CURVE_ROWS => "  0 % ",
            _ => "      ",
        };
        let spans = vec![Span::styled(label, theme.dim_style()), Span::styled(curve, style)];
        rows.push(PaneRow { is_continuation: true, ..PaneRow::new(Line::from(spans)) });
    }
    rows
}

/// What is left at a point, from 1 to 0; less than 0: more was spent. `None`: there is no budget.
#[expect(clippy::cast_precision_loss, reason = "a curve of a few rows")]
fn budget_left_function(run: &RunView) -> Option<Box<dyn Fn(CostCurvePoint) -> f64>> {
    match (run.budget.cost_usd.hard, run.budget.tokens.hard) {
        (Some(end), _) => Some(Box::new(move |point: CostCurvePoint| 1.0 - point.cost_usd / end)),
        (None, Some(end)) => {
            Some(Box::new(move |point: CostCurvePoint| 1.0 - point.tokens as f64 / end as f64))
        }
        (None, None) => None,
    }
}

/// A value for each column. Calls of older runs, which stored no time, have a column each.
fn left_over_time(
    run: &RunView,
    points: &[CostCurvePoint],
    left_of: &dyn Fn(CostCurvePoint) -> f64,
    columns: usize,
) -> Vec<f64> {
    let begun = run.pane_data.timeline.start_time();
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return vec![1.0; columns] };
    if first.at < begun || begun.0 == 0 || last.at <= begun {
        return last_of_each_column(&points.iter().map(|point| left_of(*point)).collect::<Vec<_>>(), columns);
    }
    let span = u64::try_from(last.at.0 - begun.0).unwrap_or(1);
    let scale = ChartScale::new(span, columns, false);
    let left_at = |column: usize| {
        let end = scale.start_of(column + 1);
        let before = points.partition_point(|point| u64::try_from(point.at.0 - begun.0).unwrap_or(0) <= end);
        before.checked_sub(1).map_or(1.0, |at| left_of(points[at]))
    };
    (0..columns).map(left_at).collect()
}

/// A share as a bar of full and empty cells.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a few columns")]
#[expect(clippy::cast_precision_loss, reason = "a part of a few columns")]
fn share_bar(part: f64, columns: usize) -> String {
    let full = ((part.clamp(0.0, 1.0) * columns as f64).round() as usize).min(columns);
    "█".repeat(full) + &"░".repeat(columns - full)
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
