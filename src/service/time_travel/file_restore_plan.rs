//! Which files a restore changes.

use std::sync::Arc;

use super::changed_files::{RunChangedFiles, changed_files};
use super::error::TimeTravelError;
use synthdev_domain::ids::SnapshotId;
use synthdev_domain::journal::RunSummary;
use synthdev_domain::snapshot::{ChangedFile, UnrestoredChanges};
use synthdev_ports::snapshot::SnapshotPort;
use synthdev_runtime::handle::RuntimeHandle;

/// A snapshot to restore.
pub struct FileRestorePlan {
    pub store: Arc<dyn SnapshotPort>,
    pub snapshot: SnapshotId,
    pub changes: Vec<ChangedFile>,
    /// What the run is known to have changed itself.
    pub run_changes: Option<RunChangedFiles>,
    /// What does not come back.
    pub unrestored: UnrestoredChanges,
}

/// What becomes of the files of a step.
pub enum StepFiles {
    Restored(Box<FileRestorePlan>),
    /// They stay as they are.
    Kept,
}

impl StepFiles {
    pub fn restore_plan(&self) -> Option<&FileRestorePlan> {
        match self {
            Self::Restored(plan) => Some(plan),
            Self::Kept => None,
        }
    }
}

impl FileRestorePlan {
    /// # Errors
    /// The files or their snapshots cannot be read.
    pub(super) fn new(
        handle: &RuntimeHandle,
        store: Arc<dyn SnapshotPort>,
        run: &RunSummary,
        snapshot: SnapshotId,
    ) -> Result<Self, TimeTravelError> {
        let changes = store.changes(&snapshot, None)?;
        let run_changes = if changes.is_empty() { None } else { changed_files(handle, &*store, run) };
        let unrestored = store.unrestored_changes(&snapshot)?;
        Ok(Self { store, snapshot, changes, run_changes, unrestored })
    }
}
