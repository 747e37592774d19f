//! A stored state of the project's files, and what restoring it would do.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::ids::{RunId, SnapshotId, Timestamp};
use super::terminal_safe;

/// A request to the snapshot store.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SnapshotRequest {
    /// `Workflow: coder_reviewer` before a run.
    pub label: String,
    pub run: Option<RunId>,
    /// The run's input or another note, stored in the commit message.
    pub note: String,
    pub reuse: SnapshotReuse,
}

/// Whose snapshot may stand for a new one, where it is the newest, less than a day old, and nothing has changed since.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SnapshotReuse {
    #[default]
    None,
    /// That of any run: a run begins.
    AnyRun,
    /// One of the same run, or this one, which an earlier run took and this run shares: it stays as long as the run needs it.
    SameRun(Option<SnapshotId>),
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SnapshotInfo {
    pub id: SnapshotId,
    pub label: String,
    pub note: String,
    pub run: Option<RunId>,
    pub created: Timestamp,
    /// Files covered.
    pub files: usize,
    /// What it could not cover, and why; never silent.
    pub skipped: Vec<SkippedPath>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SkippedPath {
    pub path: String,
    pub reason: String,
    #[serde(default, skip_serializing_if = "SkipReason::is_outside_project")]
    pub lack: SkipReason,
}

/// Why a snapshot does not cover a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// Not the project's content: another repository, a submodule, a pipe.
    #[default]
    Foreign,
    /// A file over the limits of size and number.
    Limit,
    Unreadable,
}

impl SkipReason {
    pub fn is_outside_project(&self) -> bool {
        *self == Self::Foreign
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileChange {
    Modified,
    /// Is there now, is not in the snapshot.
    Added,
    /// Is in the snapshot, is not there now.
    Deleted,
    /// Only the executable bit or the kind differs.
    Mode,
}

/// A difference between a snapshot and the present (or another snapshot), seen from the snapshot.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ChangedFile {
    pub path: String,
    pub change: FileChange,
}

/// How many snapshots of a project stay, as the settings say.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SnapshotLimits {
    /// So many of the newest, with all others of their runs; 0: all of them.
    pub keep: usize,
    /// Those that were taken in so many days; 0: however old they are.
    pub keep_days: u32,
}

/// What there is of snapshots.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct SnapshotStatistics {
    pub count: usize,
    /// So many of them were taken by runs.
    pub of_runs: usize,
    /// The number of these runs.
    pub runs: usize,
    pub newest: Option<SnapshotInfo>,
    pub oldest: Option<SnapshotInfo>,
    /// Files in the largest one.
    pub most_files: usize,
}

impl SnapshotStatistics {
    /// Of snapshots as they are listed: newest first.
    pub fn from_list(list: &[SnapshotInfo]) -> Self {
        let runs = list.iter().filter_map(|info| info.run.as_ref());
        Self {
            count: list.len(),
            of_runs: runs.clone().count(),
            runs: runs.collect::<BTreeSet<_>>().len(),
            newest: list.first().cloned(),
            oldest: list.last().cloned(),
            most_files: list.iter().map(|info| info.files).max().unwrap_or_default(),
        }
    }
}

/// What a restore did; the present was snapshotted first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SnapshotRestoreResult {
    /// Undo of the restore; `None` when nothing had to change. If it finished one that was cut off, the files as they
    /// were before that.
    pub safety: Option<SnapshotId>,
    pub files: Vec<ChangedFile>,
    /// The files as the one that was cut off had left them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halfway: Option<SnapshotId>,
    /// What did not come back.
    #[serde(default, skip_serializing_if = "UnrestoredChanges::is_empty")]
    pub beyond: UnrestoredChanges,
}

/// What a change of the project's files as a whole is to come to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RestoreTarget {
    Snapshot(SnapshotId),
    /// What the run of a worktree changed, merged in.
    Merge {
        run: RunId,
        branch: String,
    },
}

/// A change of the project's files as a whole that was cut off: the files are of two moments.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InterruptedRestore {
    pub goal: RestoreTarget,
    /// The files as they were before it.
    pub safety: SnapshotId,
    pub since: Timestamp,
}

/// What changed since a snapshot and will not be restored, as far as the store can see it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct UnrestoredChanges {
    /// Ignored files, or directories that hold some.
    pub ignored: Vec<String>,
    /// Repositories and submodules inside the project.
    pub nested: Vec<String>,
    /// Files that the settings leave out of snapshots and of which no private copy was kept, or not all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<String>,
    /// Files over the limits of a snapshot, or that could not be read for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
    /// HEAD is at another commit.
    pub head: bool,
}

impl UnrestoredChanges {
    pub fn is_empty(&self) -> bool {
        let lists = [&self.ignored, &self.nested, &self.excluded, &self.skipped];
        lists.iter().all(|list| list.is_empty()) && !self.head
    }

    /// The changes that will not be restored, one line each.
    pub fn notes(&self) -> Vec<String> {
        let kinds = [
            ("ignored by git", &self.ignored),
            ("a repository of its own", &self.nested),
            ("left out by snapshots.exclude, no private copy", &self.excluded),
            ("over the limits of a snapshot, or not to be read", &self.skipped),
        ];
        let found = kinds.iter().filter(|(_, paths)| !paths.is_empty());
        let stay: Vec<String> =
            found.map(|(kind, paths)| format!("{} ({kind})", join_first_paths(paths))).collect();
        let mut lines = Vec::new();
        if !stay.is_empty() {
            let stay = stay.join("; ");
            lines.push(format!("changed since then, but never stored, so it stays as it is: {stay}"));
        }
        if self.head {
            lines.push("HEAD is at another commit than then: your commits stay".to_owned());
        }
        lines
    }
}

/// The first of them in one line: `a.txt, b.txt and 3 more`.
pub fn join_first_paths(paths: &[String]) -> String {
    const NAMED: usize = 5;
    let shown: Vec<_> = paths.iter().take(NAMED).map(|path| terminal_safe::escape_name(path)).collect();
    let more = paths.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{more}", shown.join(", "))
}

/// Label of the snapshot that is taken before the branch of a worktree is merged into the project.
pub fn snapshot_label_before_merge(branch: &str) -> String {
    format!("Before merge of {branch}")
}

/// A linked git worktree in which one run works apart from the project's own files.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RunWorktree {
    /// Absolute path of the project inside the worktree: where the run works. Empty if it was lost.
    pub path: String,
    /// Short name of its branch, such as `synthdev/6s1c9rk2m4tz`.
    pub branch: String,
    /// Name of the commit that holds the files it began with.
    pub base: String,
}

impl RunWorktree {
    /// A run may have worked in a worktree, but where is not known any more: its history was damaged.
    pub fn unknown() -> Self {
        Self { path: String::new(), branch: String::new(), base: String::new() }
    }

    pub fn is_known(&self) -> bool {
        !self.path.is_empty()
    }
}

/// Where the files of a worktree can be read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorktreeSource {
    /// It is there.
    Tree,
    /// It is gone: the last snapshot that was taken of it. What changed later is lost.
    Snapshot { id: SnapshotId, taken: Timestamp },
    /// The worktree is gone: what was committed to its branch. Later changes are lost.
    Branch,
    /// It is gone, and of what it changed nothing was kept.
    Nothing,
}

/// What of a run's work the project has not got.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct UnmergedChanges {
    pub kept: WorktreeSource,
    /// Compared with what was merged before: `Added` is new.
    pub files: Vec<ChangedFile>,
    /// Why a merge would be refused now.
    pub conflicts: Vec<MergeConflict>,
}

/// What a merge of a worktree into the project did.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WorktreeMergeResult {
    /// Undo of the merge; `None` when nothing had to change.
    pub safety: Option<SnapshotId>,
    /// Files of the project that changed, seen from before: `Added` is new.
    pub files: Vec<ChangedFile>,
    /// What the run left in the worktree that could not be merged, and why; never silent.
    pub skipped: Vec<SkippedPath>,
}

/// A path that was changed in the project and in the worktree, in ways that do not fit together.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MergeConflict {
    pub path: String,
    pub reason: String,
}
