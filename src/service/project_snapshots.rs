//! Stored files of the project: taken, looked at, restored, deleted.
//!
//! Owns what a restore will do, and that no run works meanwhile. Refuses to change files under the hands of a run.

use std::sync::Arc;

use synthdev_domain::ids::RunId;
use synthdev_domain::snapshot::{
    ChangedFile, SnapshotInfo, SnapshotRequest, SnapshotRestoreResult, SnapshotStatistics, UnrestoredChanges,
};
use synthdev_ports::run_store::StoreError;
use synthdev_ports::snapshot::{SnapshotError, SnapshotPort};
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_runtime::history::inconsistent_files_error;

/// What a snapshot is called where the user gives no name.
const UNNAMED: &str = "manual";

/// Nothing was changed, unless the message says so.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProjectSnapshotError {
    #[error("{}", .0.message)]
    Store(#[from] StoreError),
    #[error("{}", .0.message)]
    Snapshot(#[from] SnapshotError),
}

impl ProjectSnapshotError {
    /// What to do instead.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Store(error) => error.hint.as_deref(),
            Self::Snapshot(error) => error.hint.as_deref(),
        }
    }
}

/// A snapshot that the user took.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreatedSnapshot {
    pub info: SnapshotInfo,
    /// So many old ones went, because the settings keep no more.
    pub deleted_count: usize,
}

/// What a restore will do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SnapshotRestorePlan {
    pub info: SnapshotInfo,
    pub changes: Vec<ChangedFile>,
    /// What does not come back.
    pub unrestored: UnrestoredChanges,
    /// An earlier restore was cut off: there is something to do even if no file differs.
    pub completes_restore: bool,
}

impl SnapshotRestorePlan {
    /// The files are as they were.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && !self.completes_restore
    }
}

/// The use cases. Ids may be unique prefixes.
pub struct SnapshotService<'s> {
    handle: &'s RuntimeHandle,
    store: Arc<dyn SnapshotPort>,
}

impl<'s> SnapshotService<'s> {
    pub fn new(handle: &'s RuntimeHandle, store: Arc<dyn SnapshotPort>) -> Self {
        Self { handle, store }
    }

    /// # Errors
    /// They cannot be read.
    pub fn list(&self) -> Result<Vec<SnapshotInfo>, ProjectSnapshotError> {
        Ok(self.store.list()?)
    }

    /// Why the project's files are of two moments, and what finishes that.
    pub fn interruption(&self) -> Option<ProjectSnapshotError> {
        let (found, finish) = self.handle.interrupted_restore()?;
        Some(inconsistent_files_error(&found, &finish).into())
    }

    /// # Errors
    /// They cannot be read.
    pub fn statistics(&self) -> Result<SnapshotStatistics, ProjectSnapshotError> {
        Ok(SnapshotStatistics::from_list(&self.store.list()?))
    }

    /// Takes one of the present files; they count as they are from now on. Old ones beyond the limits go.
    ///
    /// # Errors
    /// They cannot be stored.
    pub fn create(&self, label: &str) -> Result<CreatedSnapshot, ProjectSnapshotError> {
        self.handle.accept_present_files()?;
        let label = if label.is_empty() { UNNAMED } else { label }.to_owned();
        let request = SnapshotRequest { label, ..SnapshotRequest::default() };
        let (info, deleted_count) = self.handle.take_within_limits(&request)?;
        Ok(CreatedSnapshot { info, deleted_count })
    }

    /// # Errors
    /// There is none of this id.
    pub fn find(&self, id: &str) -> Result<SnapshotInfo, ProjectSnapshotError> {
        Ok(self.store.find(id)?)
    }

    /// A snapshot with what differs from it now.
    ///
    /// # Errors
    /// There is none, or the files cannot be read.
    pub fn show(&self, id: &str) -> Result<(SnapshotInfo, Vec<ChangedFile>), ProjectSnapshotError> {
        let info = self.store.find(id)?;
        let changes = self.store.changes(&info.id, None)?;
        Ok((info, changes))
    }

    /// The same as a patch; with `other`, from the snapshot to that one.
    ///
    /// # Errors
    /// As `show`.
    pub fn diff(&self, id: &str, other: Option<&str>) -> Result<String, ProjectSnapshotError> {
        let other = other.map(|other| self.store.find(other)).transpose()?;
        Ok(self.store.diff(&self.store.find(id)?.id, other.as_ref().map(|info| &info.id))?)
    }

    /// What a restore will do. Changes nothing.
    ///
    /// # Errors
    /// As `show`.
    pub fn plan_restore(&self, id: &str) -> Result<SnapshotRestorePlan, ProjectSnapshotError> {
        let (info, changes) = self.show(id)?;
        let unrestored = self.store.unrestored_changes(&info.id)?;
        let completes_restore = self.handle.interrupted_restore().is_some();
        Ok(SnapshotRestorePlan { info, changes, unrestored, completes_restore })
    }

    /// Restores the project's files.
    ///
    /// # Errors
    /// A run works in the project, or the files cannot be restored.
    pub fn restore(&self, id: &str) -> Result<SnapshotRestoreResult, ProjectSnapshotError> {
        let info = self.store.find(id)?;
        let run = info.run.unwrap_or_else(|| RunId::from(""));
        let _held = self.handle.lock_files(&run, "")?;
        Ok(self.handle.restore_snapshot(&info.id)?)
    }

    /// # Errors
    /// There is none, or it cannot be deleted.
    pub fn delete(&self, id: &str) -> Result<SnapshotInfo, ProjectSnapshotError> {
        let info = self.store.find(id)?;
        self.store.delete(&info.id)?;
        Ok(info)
    }
}
