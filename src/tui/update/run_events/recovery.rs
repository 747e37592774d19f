//! Items for what went wrong and was dealt with: retries, caught errors, budgets.

use crate::text::{format_dollars, format_duration, format_thousands, one_line};
use crate::transcript::item::TranscriptItem;
use synthdev_domain::run_error::RunError;

pub(super) fn retrying_item(
    state: &str,
    attempt: u32,
    max_attempts: u32,
    delay_ms: u64,
    error: &RunError,
) -> TranscriptItem {
    TranscriptItem::warning_item(&format!(
        "{state}: {}; attempt {attempt} of {max_attempts} in {}",
        error_line(error),
        format_duration(delay_ms)
    ))
}

pub(super) fn caught_item(state: &str, error: &RunError, by: &str, target: Option<&str>) -> TranscriptItem {
    let target = target.map(|target| format!(" → {target}")).unwrap_or_default();
    TranscriptItem::warning_item(&format!("{state}: {}; taken by {by}{target}", error_line(error)))
}

pub(super) fn budget_warning_item(
    scope: &str,
    what: &str,
    spent: f64,
    soft: f64,
    hard: Option<f64>,
) -> TranscriptItem {
    let end = hard.map(|hard| format!(", it ends at {}", budget_amount_text(what, hard))).unwrap_or_default();
    let (spent, soft) = (budget_amount_text(what, spent), budget_amount_text(what, soft));
    TranscriptItem::warning_item(&format!("budget of {scope}: {spent} used, it warns at {soft}{end}"))
}

pub(super) fn budget_raised_item(scope: &str, what: &str, hard: f64) -> TranscriptItem {
    let end = budget_amount_text(what, hard);
    TranscriptItem::note_item(&format!("budget of {scope}: it ends at {end} now"))
}

/// Title and detail in one line.
pub(super) fn error_line(error: &RunError) -> String {
    let detail = if error.detail.is_empty() { String::new() } else { format!(" — {}", error.detail) };
    one_line(&format!("{}{detail}", error.title))
}

/// An amount of a budget: tokens, dollars or milliseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "amounts are whole, positive and small"
)]
fn budget_amount_text(what: &str, amount: f64) -> String {
    match what {
        "cost_usd" => format_dollars(Some(amount)),
        "duration" => format_duration(amount.max(0.0) as u64),
        other => format!("{} {other}", format_thousands(amount.max(0.0) as u64)),
    }
}
