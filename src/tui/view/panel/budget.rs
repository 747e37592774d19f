//! How much of a run's budget is used: a line and a bar for each end that it has.

use ratatui::text::{Line, Span};

use crate::domain::workflow::Budget;
use crate::tui::run_view::RunView;
use crate::tui::text::{dollars, fit, short_number};
use crate::tui::theme::Theme;

/// From here on the bar warns.
const NEARLY: f64 = 0.8;

/// `$0.12 of $0.50` and `███░░░░░  24%`, for dollars and for tokens.
#[expect(clippy::cast_precision_loss, reason = "a bar of twenty columns")]
pub(super) fn lines(run: &RunView, columns: usize, theme: Theme) -> Vec<Line<'static>> {
    let Budget { tokens, cost_usd, .. } = run.budget;
    let used = run.ledger.usage().total();
    // calls without a price are not counted by the budget either
    let usd: f64 = run.ledger.entries.iter().filter_map(|entry| entry.cost_usd).sum();
    let money =
        cost_usd.hard.map(|end| (format!("{} of {}", dollars(Some(usd)), dollars(Some(end))), usd / end));
    let counted = tokens.hard.map(|end| {
        (format!("{} of {} tok", short_number(used), short_number(end)), used as f64 / end as f64)
    });
    let mut lines = Vec::new();
    for (text, part) in money.into_iter().chain(counted) {
        lines.push(Line::raw(fit(&text, columns).into_owned()));
        lines.push(bar(part, columns, theme));
    }
    if !lines.is_empty() {
        lines.insert(0, Line::styled("budget", theme.dim()));
        lines.insert(0, Line::default());
    }
    lines
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a few columns")]
#[expect(clippy::cast_precision_loss, reason = "a part of a few columns")]
fn bar(part: f64, columns: usize, theme: Theme) -> Line<'static> {
    let part = if part.is_finite() { part.max(0.0) } else { 1.0 };
    let share = format!(" {:>3.0}%", (part * 100.0).min(999.0));
    let room = columns.saturating_sub(share.len());
    let full = ((part.min(1.0) * room as f64).floor() as usize).min(room);
    let style = match part {
        ..NEARLY => theme.good(),
        ..1.0 => theme.warning(),
        _ => theme.bad(),
    };
    Line::from(vec![
        Span::styled("█".repeat(full), style),
        Span::styled("░".repeat(room - full), theme.dim()),
        Span::raw(share),
    ])
}
