//! Branches and items on screen: short lines, one each.

use super::recovery::error_line;
use super::run_end;
use crate::model::UiModel;
use crate::run_view::BranchLine;
use crate::text::{format_count, one_line};
use crate::transcript::item::{ItemTone, TranscriptItem};
use synthdev_domain::ids::RunId;
use synthdev_domain::run_error::RunError;

pub(super) fn forked_item(state: &str, branches: &[String], total: usize) -> TranscriptItem {
    let what = if branches.is_empty() { format_count(total as u64, "item") } else { branches.join(", ") };
    TranscriptItem::rule(&format!("{state}: {what}"))
}

pub(super) fn on_branch_started(model: &mut UiModel, run: &RunId, state: &str, branch: &str) {
    model.add_item(TranscriptItem::detail_item(&format!("{branch} of {state} begins")));
    if let Some(view) = model.run_mut(run) {
        view.branches.push(BranchLine { owner: one_line(state), name: one_line(branch) });
    }
}

pub(super) fn on_branch_finished(
    model: &mut UiModel,
    run: &RunId,
    state: &str,
    branch: &str,
    error: Option<&RunError>,
) {
    on_branch_over(model, run, state, Some(branch));
    let item = match error {
        Some(error) => {
            TranscriptItem::line(ItemTone::Bad, &format!("✗ {branch} of {state}: {}", error_line(error)))
        }
        // ten thousand good items are no news
        None if branch.starts_with('[') => TranscriptItem::detail_item(&format!("✓ {branch} of {state}")),
        None => TranscriptItem::note_item(&format!("✓ {branch} of {state}")),
    };
    model.add_item(item);
}

pub(super) fn joined_item(state: &str, succeeded: usize, failed: usize, stopped: usize) -> TranscriptItem {
    let mut parts = vec![format!("{succeeded} done")];
    parts.extend((failed > 0).then(|| format!("{failed} failed")));
    parts.extend((stopped > 0).then(|| format!("{stopped} stopped")));
    TranscriptItem::rule(&format!("{state}: {}", parts.join(", ")))
}

/// A branch, or all of a state's, is over: its questions need no answers.
pub(super) fn on_branch_over(model: &mut UiModel, run: &RunId, owner: &str, branch: Option<&str>) {
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
