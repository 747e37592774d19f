//! Why a run is not undone, rewound or forked.

use super::notes::NEW_SIGN;
use crate::run_place::{RunOperation, RunPlaceError};
use synthdev_domain::ids::RunId;
use synthdev_domain::snapshot::{RunWorktree, SnapshotInfo};
use synthdev_domain::terminal_safe::escape_name;
use synthdev_ports::run_store::StoreError;
use synthdev_ports::snapshot::SnapshotError;

pub(super) const NO_SNAPSHOT: &str = "no snapshot was taken before it started";

/// Nothing was changed, unless the message of `Store` says so.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum TimeTravelError {
    #[error("run {run} is running and cannot be rewound meanwhile")]
    RewindOfRunning { run: RunId, step: Option<u32> },
    #[error("run {0} is running: its files cannot be restored meanwhile")]
    UndoOfRunning(RunId),
    #[error(transparent)]
    Place(#[from] RunPlaceError),
    #[error(
        "run {run} worked in a worktree of its own ({}), its fork works in the project: the files of one are not those \
         of the other",
        escape_name(&.tree.path)
    )]
    ForkOfWorktree { run: RunId, tree: RunWorktree },
    /// `merge` is the snapshot before the files of its worktree were merged into the project.
    #[error(
        "run {run} worked in a worktree of its own ({}), and was merged into the project at {} UTC",
        escape_name(&.tree.path),
        .merge.created.format_utc()
    )]
    UndoOfMerged { run: RunId, tree: RunWorktree, merge: Box<SnapshotInfo> },
    /// The files of a step were not stored, or cannot be read any more. `operation` is the one that wanted them.
    #[error("the files of step {step} of run {run} cannot be restored: {reason}")]
    FilesNotRestorable { run: RunId, step: u32, reason: String, operation: RunOperation },
    #[error("there is nothing to undo: run {0} has not begun yet")]
    NotBegun(RunId),
    #[error("there is nothing to undo: run {0} was imported, and it has no snapshots of the files here")]
    ImportedWithoutFiles(RunId),
    #[error("run {run} cannot be undone: {reason}")]
    NoSnapshot { run: RunId, reason: String },
    /// A name that is nearly one of those that the run has: a value under it would be read by nothing.
    #[error("common_data has no `{}` at step {step} of run {run}", escape_name(.key))]
    MisspelledKey { run: RunId, step: u32, key: String, known: String },
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
                let fork = RunOperation::Fork { step: *step, restores_files: false };
                format!("stop it first, or fork it: synthdev {}", fork.command(run))
            }
            Self::UndoOfRunning(_) => "stop it first; /clear leaves a conversation on the screen".to_owned(),
            Self::Place(error) => error.hint(),
            Self::ForkOfWorktree { .. } => "fork without --restore-files".to_owned(),
            Self::UndoOfMerged { merge, .. } => {
                format!("undo that merge with: synthdev snapshot restore {}", merge.id)
            }
            Self::FilesNotRestorable { operation: RunOperation::Fork { .. }, .. } => {
                "fork without --restore-files".to_owned()
            }
            Self::FilesNotRestorable { .. } => "add --keep-files to leave the files unchanged".to_owned(),
            Self::MisspelledKey { key, known, .. } => {
                let (key, known) = (escape_name(key), escape_name(known));
                format!(
                    "did you mean `{known}`? If `{key}` is new, write {NEW_SIGN}{key} for it. Nothing was forked"
                )
            }
            Self::NotBegun(_) | Self::ImportedWithoutFiles(_) | Self::NoSnapshot { .. } => return None,
            Self::Store(error) => return error.hint.clone(),
            Self::Snapshot(error) => return error.hint.clone(),
        })
    }

    /// A run before which the files were not stored.
    pub fn no_snapshot_before(run: &RunId) -> Self {
        Self::NoSnapshot { run: run.clone(), reason: NO_SNAPSHOT.to_owned() }
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
