//! Events of branches and items, and of errors that were dealt with: short lines, one each.

use super::run_end;
use crate::model::UiModel;
use crate::report;
use crate::run_view::BranchLine;
use crate::text::{format_count, format_dollars, format_duration, format_thousands, one_line};
use crate::transcript::item::{ItemTone, TranscriptItem};
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::run_error::RunError;
use synthdev_engine::event::RunEvent;

pub fn on_branch_event(model: &mut UiModel, run: &RunId, at: Timestamp, event: RunEvent) {
    match event {
        RunEvent::Forked { state, branches, total } => {
            let what =
                if branches.is_empty() { format_count(total as u64, "item") } else { branches.join(", ") };
            model.add_item(TranscriptItem::rule(&format!("{state}: {what}")));
        }
        RunEvent::BranchStarted { state, branch, .. } => {
            model.add_item(TranscriptItem::detail_item(&format!("{branch} of {state} begins")));
            if let Some(view) = model.run_mut(run) {
                view.branches.push(BranchLine { owner: one_line(&state), name: one_line(&branch) });
            }
        }
        RunEvent::BranchFinished { state, branch, error, .. } => {
            on_branch_over(model, run, &state, Some(&branch));
            let item = match error {
                Some(error) => TranscriptItem::line(
                    ItemTone::Bad,
                    &format!("✗ {branch} of {state}: {}", in_words(&error)),
                ),
                // ten thousand good items are no news
                None if branch.starts_with('[') => {
                    TranscriptItem::detail_item(&format!("✓ {branch} of {state}"))
                }
                None => TranscriptItem::note_item(&format!("✓ {branch} of {state}")),
            };
            model.add_item(item);
        }
        RunEvent::Joined { state, succeeded, failed, stopped } => {
            on_branch_over(model, run, &state, None);
            let mut parts = vec![format!("{succeeded} done")];
            parts.extend((failed > 0).then(|| format!("{failed} failed")));
            parts.extend((stopped > 0).then(|| format!("{stopped} stopped")));
            model.add_item(TranscriptItem::rule(&format!("{state}: {}", parts.join(", "))));
        }
        other => on_recovery_event(model, run, at, other),
    }
}

/// A branch, or all of a state's, is over: its questions need no answers.
pub fn on_branch_over(model: &mut UiModel, run: &RunId, owner: &str, branch: Option<&str>) {
    let (owner, branch) = (one_line(owner), branch.map(one_line));
    let Some(view) = model.run_mut(run) else { return };
    let ended = |line: &BranchLine| line.owner == owner && branch.as_ref().is_none_or(|b| line.name == *b);
    let prefixes: Vec<String> =
        view.branches.iter().filter(|line| ended(line)).map(BranchLine::state_prefix).collect();
    let gone = |state: &str| prefixes.iter().any(|prefix| state.starts_with(prefix.as_str()));
    view.branches.retain(|line| !ended(line) && !gone(&line.owner));
    if view.branches.is_empty() && !prefixes.is_empty() {
        // events of tools name no branch: what still runs is of one that was stopped
        let tools: Vec<usize> = view.tools.drain().map(|(_, at)| at).collect();
        tools.into_iter().for_each(|at| run_end::interrupt_tool(model, at));
    }
    if !prefixes.is_empty() {
        model.dialogs.retain(|dialog| dialog.run_id() != Some(run) || !gone(&one_line(&dialog.state)));
    }
}

/// What went wrong and was dealt with, and what waits.
fn on_recovery_event(model: &mut UiModel, run: &RunId, at: Timestamp, event: RunEvent) {
    let item = match event {
        RunEvent::Retrying { state, attempt, max_attempts, delay_ms, error } => {
            TranscriptItem::warning_item(&format!(
                "{state}: {}; attempt {attempt} of {max_attempts} in {}",
                in_words(&error),
                format_duration(delay_ms)
            ))
        }
        RunEvent::Caught { state, error, by, target } => {
            let target = target.map(|target| format!(" → {target}")).unwrap_or_default();
            TranscriptItem::warning_item(&format!("{state}: {}; taken by {by}{target}", in_words(&error)))
        }
        RunEvent::Stored { key, value, .. } => {
            TranscriptItem::detail_item(&one_line(&format!("{key} = {}", report::value_text(&value))))
        }
        RunEvent::BudgetWarning { scope, what, spent, soft, hard } => {
            let end = hard
                .map(|hard| format!(", it ends at {}", budget_amount_text(&what, hard)))
                .unwrap_or_default();
            let (spent, soft) = (budget_amount_text(&what, spent), budget_amount_text(&what, soft));
            TranscriptItem::warning_item(&format!("budget of {scope}: {spent} used, it warns at {soft}{end}"))
        }
        RunEvent::BudgetRaised { scope, what, hard } => {
            if let Some(view) = model.run_mut(run).filter(|_| scope == "run") {
                view.raise_budget(&what, hard);
            }
            TranscriptItem::note_item(&format!(
                "budget of {scope}: it ends at {} now",
                budget_amount_text(&what, hard)
            ))
        }
        RunEvent::Waiting { state, until } => {
            let left = u64::try_from(until.0.saturating_sub(at.0)).unwrap_or(0);
            TranscriptItem::note_item(&format!("{state} waits {}", format_duration(left)))
        }
        RunEvent::Queued { text } => {
            // a resumed run reports it again
            if let Some(view) = model.run_mut(run).filter(|view| !view.outbox.contains(&text)) {
                view.outbox.push_back(text);
            }
            TranscriptItem::note_item(
                "queued: the workflow reads it at its next pause; else it comes back when it ends · Up takes it back",
            )
        }
        _ => return,
    };
    model.add_item(item);
}

/// Title and detail in one line.
fn in_words(error: &RunError) -> String {
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
