//! What begins and ends with branches and items.

use super::super::withdrawn_dialog;
use super::run_end;
use crate::model::UiModel;
use crate::run_view::BranchLine;
use crate::text::one_line;
use synthdev_domain::ids::RunId;

pub(super) fn on_branch_started(model: &mut UiModel, run: &RunId, state: &str, branch: &str) {
    if let Some(view) = model.run_mut(run) {
        view.branches.push(BranchLine { owner: one_line(state), name: one_line(branch) });
    }
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
        withdrawn_dialog::remove_dialogs(model, |dialog| {
            dialog.run_id() == Some(run) && gone(&one_line(&dialog.state))
        });
    }
}
