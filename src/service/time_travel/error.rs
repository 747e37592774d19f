//! Why a run is not undone, rewound or forked.

use crate::worktree_gone::{worktree_gone_hint, worktree_gone_text};
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::RunSummary;
use synthdev_domain::snapshot::{RunWorktree, SnapshotInfo};
use synthdev_domain::terminal_safe::escape_name;
use synthdev_ports::run_store::StoreError;
use synthdev_ports::snapshot::SnapshotError;

/// Nothing was changed, unless the message of `Store` says so.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum TimeTravelError {
    #[error("run {run} is running and cannot be rewound meanwhile")]
    RewindOfRunning { run: RunId, step: u32 },
    #[error("run {0} is running: its files cannot be restored meanwhile")]
    UndoOfRunning(RunId),
    /// `is_present`: that project is on this machine.
    #[error("{}", other_project_text(.run, .project, *.is_present))]
    OtherProject { run: RunId, project: String, is_present: bool, command: String },
    /// The run worked in a worktree of its own, which is there.
    #[error("run {run} works in a worktree of its own, {}", escape_name(&.tree.path))]
    InWorktree { run: RunId, tree: RunWorktree, command: String },
    #[error("{}", worktree_gone_text(.run, .tree))]
    WorktreeGone { run: RunId, tree: RunWorktree },
    #[error(
        "run {run} worked in a worktree of its own ({}), its fork works in the project: the files of one are not those \
         of the other",
        escape_name(&.tree.path)
    )]
    ForkOfWorktree { run: RunId, tree: RunWorktree },
    /// `merge`: the snapshot before its files were merged into the project.
    #[error("{}", undo_of_worktree_text(.run, .tree, .merge.as_deref()))]
    UndoOfWorktree { run: RunId, tree: RunWorktree, merge: Option<Box<SnapshotInfo>> },
    #[error("there is nothing to undo: run {0} has not begun yet")]
    NotBegun(RunId),
    #[error("there is nothing to undo: run {0} was imported, and it has no snapshots of the files here")]
    ImportedWithoutFiles(RunId),
    #[error("run {run} cannot be undone: {reason}")]
    NoSnapshot { run: RunId, reason: String },
    #[error("{}", .0.message)]
    Store(StoreError),
    #[error("{}", .0.message)]
    Snapshot(SnapshotError),
}

impl TimeTravelError {
    /// What to do instead.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::RewindOfRunning { run, step } => {
                format!("stop it first, or fork it: synthdev runs fork {run} --at {step}")
            }
            Self::UndoOfRunning(_) => "stop it first; /clear leaves a conversation on the screen".to_owned(),
            Self::OtherProject { is_present: false, .. } => {
                "its conversations and data can go back without them".to_owned()
            }
            Self::OtherProject { project, command, .. } => {
                format!("synthdev -C {} {command}", escape_name(project))
            }
            Self::InWorktree { command, .. } => format!("synthdev {command}"),
            Self::WorktreeGone { run, tree } => worktree_gone_hint(run, tree),
            Self::ForkOfWorktree { .. } => "fork without --restore-files".to_owned(),
            Self::UndoOfWorktree { merge: Some(merge), .. } => {
                format!("undo that merge with: synthdev snapshot restore {}", merge.id)
            }
            Self::UndoOfWorktree { run, merge: None, .. } => {
                format!("discard its files with: synthdev runs discard {run}")
            }
            Self::NotBegun(_) | Self::ImportedWithoutFiles(_) | Self::NoSnapshot { .. } => return None,
            Self::Store(error) => return error.hint.clone(),
            Self::Snapshot(error) => return error.hint.clone(),
        })
    }

    /// A run whose files can be changed only from within its project; `command` does that there.
    pub fn other_project(run: &RunSummary, is_present: bool, command: String) -> Self {
        Self::OtherProject { run: run.id.clone(), project: run.project.clone(), is_present, command }
    }
}

impl From<StoreError> for TimeTravelError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<SnapshotError> for TimeTravelError {
    fn from(error: SnapshotError) -> Self {
        Self::Snapshot(error)
    }
}

fn other_project_text(run: &RunId, project: &str, is_present: bool) -> String {
    let project = escape_name(project);
    if is_present {
        format!("run {run} worked in {project}, not here: its files are not restored")
    } else {
        format!("run {run} worked in {project}, which is not on this machine: there are no files to restore")
    }
}

fn undo_of_worktree_text(run: &RunId, tree: &RunWorktree, merge: Option<&SnapshotInfo>) -> String {
    let apart = format!("run {run} worked in a worktree of its own ({})", escape_name(&tree.path));
    match merge {
        Some(merge) => {
            let at = merge.created.format_utc();
            format!("{apart}, and was merged into the project at {at} UTC")
        }
        None => format!("{apart}: the project's files are untouched by it"),
    }
}
