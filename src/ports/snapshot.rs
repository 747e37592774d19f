//! Stored states of the project's files.

use std::collections::HashSet;

use synthdev_domain::file_progress::FileProgress;
use synthdev_domain::ids::SnapshotId;
use synthdev_domain::snapshot::{
    ChangedFile, InterruptedRestore, SnapshotInfo, SnapshotRequest, SnapshotRestoreResult, UnrestoredChanges,
};

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct SnapshotError {
    pub message: String,
    pub hint: Option<String>,
}

/// Gets the snapshot that undoes the restore: of the present, or of the files before an earlier attempt that was cut
/// off. `None`: the files are as they should be, none will change.
pub type RestoreStartHook<'a> = &'a mut dyn FnMut(Option<&SnapshotId>) -> Result<(), SnapshotError>;

/// Which of the snapshots are meant.
pub type SnapshotChoice<'a> = &'a dyn Fn(&[SnapshotInfo]) -> Result<HashSet<SnapshotId>, SnapshotError>;

/// Blocking: callers use a blocking thread. One store serves one project directory.
/// Every function: `SnapshotError` says what could not be read or written.
pub trait SnapshotPort: Send + Sync {
    /// # Errors
    /// The home directory or filesystem root (refused), an unreadable repository, a read-only store.
    fn take(&self, request: &SnapshotRequest) -> Result<SnapshotInfo, SnapshotError>;

    /// How far a snapshot is that is being taken. Never blocks.
    fn progress(&self) -> FileProgress {
        FileProgress::default()
    }

    /// Newest first.
    /// # Errors
    /// See the trait.
    fn list(&self) -> Result<Vec<SnapshotInfo>, SnapshotError>;

    /// Accepts a unique prefix of an id.
    /// # Errors
    /// Unknown or ambiguous id.
    fn find(&self, id: &str) -> Result<SnapshotInfo, SnapshotError>;

    /// Files that a restore would change; with `other`, what differs there, seen from `id`.
    /// # Errors
    /// See the trait.
    fn changes(&self, id: &SnapshotId, other: Option<&SnapshotId>)
    -> Result<Vec<ChangedFile>, SnapshotError>;

    /// Unified diff from the snapshot to now, or to `other`.
    /// # Errors
    /// See the trait.
    fn diff(&self, id: &SnapshotId, other: Option<&SnapshotId>) -> Result<String, SnapshotError>;

    /// Snapshots the present, then makes the tree equal to the snapshot: modified and deleted files return,
    /// files created since are deleted; ignored files stay.
    /// `begin` is called once, when all was checked that can be, before the first file changes: what it writes down is
    /// true if the process dies in the middle, and if it fails, so does this. Doing it again finishes it.
    /// # Errors
    /// See the trait, or `begin` failed. Nothing was changed if `begin` was not called, or failed.
    fn restore_with_hook(
        &self,
        id: &SnapshotId,
        begin: RestoreStartHook<'_>,
    ) -> Result<SnapshotRestoreResult, SnapshotError>;

    /// The same, with nothing to write down.
    /// # Errors
    /// See the trait; nothing was changed if the safety snapshot could not be taken.
    fn restore(&self, id: &SnapshotId) -> Result<SnapshotRestoreResult, SnapshotError> {
        self.restore_with_hook(id, &mut |_| Ok(()))
    }

    /// A change of the files as a whole that a process began here and did not finish. Waits for one that is under way.
    /// # Errors
    /// See the trait.
    fn interrupted_restore(&self) -> Result<Option<InterruptedRestore>, SnapshotError> {
        Ok(None)
    }

    /// The files are to stay as such a change left them.
    /// # Errors
    /// See the trait.
    fn accept_interrupted_restore(&self) -> Result<(), SnapshotError> {
        Ok(())
    }

    /// What a restore would leave as it is although it was changed since. What cannot be seen is left out.
    /// # Errors
    /// See the trait.
    fn unrestored_changes(&self, _id: &SnapshotId) -> Result<UnrestoredChanges, SnapshotError> {
        Ok(UnrestoredChanges::default())
    }

    /// # Errors
    /// See the trait.
    fn delete(&self, id: &SnapshotId) -> Result<(), SnapshotError>;

    /// Deletes those that `choose` names among all, which it gets newest first; returns them. No other snapshot of the
    /// project is taken meanwhile. None goes while a restore waits to be finished. A private store drops their content at once, a repository of the user drops it when
    /// git next collects garbage there.
    ///
    /// # Errors
    /// See the trait, or `choose` failed; the snapshots before the failing one are deleted.
    fn delete_chosen(&self, choose: SnapshotChoice<'_>) -> Result<Vec<SnapshotInfo>, SnapshotError>;

    /// Takes one, then deletes those that `choose` names, as `delete_chosen` does; how many went. The snapshot is there
    /// even if none could be deleted: that is no error.
    /// # Errors
    /// As `take`.
    fn take_and_delete(
        &self,
        request: &SnapshotRequest,
        choose: SnapshotChoice<'_>,
    ) -> Result<(SnapshotInfo, usize), SnapshotError> {
        let info = self.take(request)?;
        Ok((info, self.delete_chosen(choose).map_or(0, |gone| gone.len())))
    }
}
