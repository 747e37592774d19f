//! Runs that work in a git worktree on a branch of their own.

use super::snapshot::SnapshotError;
use synthdev_domain::ids::RunId;
use synthdev_domain::snapshot::{
    ChangedFile, MergeConflict, RunWorktree, SkippedPath, UnmergedChanges, WorktreeMergeResult,
};

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MergeError {
    /// The project and the run changed the same things; neither the project nor the worktree was changed.
    /// The run's files are on its branch.
    #[error("{} of the run cannot be merged: {}", conflict_count_text(.0.len()), first_conflict_text(.0))]
    Conflicts(Vec<MergeConflict>),
    #[error(transparent)]
    Failed(#[from] SnapshotError),
}

/// Blocking: callers use a blocking thread. One port serves one project directory. The user's index, HEAD,
/// branches, stash and hooks are never touched. Every function: `SnapshotError` says what could not be read or written.
pub trait WorktreePort: Send + Sync {
    /// Makes a worktree whose files equal the present ones of the project (uncommitted and untracked files too,
    /// ignored ones not), on a new branch that starts from a commit of them with HEAD as its parent.
    /// # Errors
    /// No git repository, a bare one, or one that cannot be used; the home directory; a full disk. Nothing is left.
    fn create(&self, run: &RunId, workflow: &str) -> Result<RunWorktree, SnapshotError>;

    /// What the worktree lacked from the start, such as submodules and very large files, and why.
    /// # Errors
    /// See the trait.
    fn skipped(&self, worktree: &RunWorktree) -> Result<Vec<SkippedPath>, SnapshotError>;

    /// Files that the run changed since the start: `FileChange::Added` is a file that was not there then.
    /// # Errors
    /// The worktree is gone or damaged; see the trait.
    fn changes(&self, worktree: &RunWorktree) -> Result<Vec<ChangedFile>, SnapshotError>;

    /// What a merge would bring, and a discard would throw away: files that differ from those of the start, or of the
    /// last merge as far as the project still has what that brought, and that the project does not have like this now.
    /// Without the worktree its last snapshot or its branch is looked at; `None` if nothing is left of any. Nothing is
    /// stored.
    /// # Errors
    /// The worktree is damaged; see the trait.
    fn unmerged(&self, worktree: &RunWorktree) -> Result<Option<UnmergedChanges>, SnapshotError>;

    /// Unified diff from the start to now.
    /// # Errors
    /// As `changes`.
    fn diff(&self, worktree: &RunWorktree) -> Result<String, SnapshotError>;

    /// Commits the worktree's files to its branch, then merges the changes that `unmerged` lists into the project's
    /// files by a three-way merge. The project is snapshotted first. The worktree and its branch stay. Calling it again
    /// finishes a merge that was cut off.
    ///
    /// # Errors
    /// Conflicts, or another change of the project's files was cut off (nothing was changed); or as `changes`.
    fn merge(&self, worktree: &RunWorktree) -> Result<WorktreeMergeResult, MergeError>;

    /// Removes the worktree with its files, its branch, its snapshots and git's records of it. What is already gone is
    /// no error. Files that were not merged are lost, too: callers ask first (`unmerged`). Without `force`, refuses if
    /// commits that others made on the branch are neither merged nor on another branch.
    ///
    /// # Errors
    /// Such commits; a locked worktree; a branch that is checked out elsewhere; see the trait.
    fn discard(&self, worktree: &RunWorktree, force: bool) -> Result<(), SnapshotError>;
}

fn conflict_count_text(conflicts: usize) -> String {
    format!("{conflicts} file{}", if conflicts == 1 { "" } else { "s" })
}

fn first_conflict_text(conflicts: &[MergeConflict]) -> String {
    let shown = conflicts.iter().take(3).map(|conflict| format!("{} ({})", conflict.path, conflict.reason));
    let more = conflicts.len().saturating_sub(3);
    let tail = if more == 0 { String::new() } else { format!(" and {more} more") };
    shown.collect::<Vec<_>>().join(", ") + &tail
}
