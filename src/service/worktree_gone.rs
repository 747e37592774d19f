//! Why a run cannot work where it did, and what to do instead.

use synthdev_domain::ids::RunId;
use synthdev_domain::snapshot::RunWorktree;
use synthdev_domain::terminal_safe::escape_name;

pub(super) fn worktree_gone_text(run: &RunId, tree: &RunWorktree) -> String {
    if tree.is_known() {
        return format!("the worktree of run {run} is gone: {}", escape_name(&tree.path));
    }
    format!(
        "where run {run} worked was lost when the history was salvaged: it may have been a worktree of its own, so it \
         does not touch the project's files"
    )
}

pub(super) fn worktree_gone_hint(run: &RunId, tree: &RunWorktree) -> String {
    let fork = format!("synthdev runs fork {run} --at STEP makes a run of it that works in the project");
    if tree.is_known() {
        return format!("synthdev runs merge {run} brings what was kept of it into the project; {fork}");
    }
    fork
}
