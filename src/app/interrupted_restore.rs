//! Ends an interrupted restore without completing it: by restoring another snapshot, or by keeping the files as they
//! are.

use synthdev_domain::ids::SnapshotId;
use synthdev_domain::snapshot::SnapshotRestoreResult;
use synthdev_ports::run_store::StoreError;
use synthdev_ports::snapshot::SnapshotError;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_runtime::history::inconsistent_files_error;

/// All files are those of the snapshot.
///
/// # Errors
/// They cannot be brought back, or that could not be noted.
pub(super) fn restore_snapshot(
    handle: &RuntimeHandle,
    id: &SnapshotId,
) -> Result<SnapshotRestoreResult, SnapshotError> {
    let found = handle.interrupted_restore();
    let done = handle.ports().snapshots.restore(id)?;
    if let Some((found, _)) = found {
        handle.settle_interrupted_restore(&found).map_err(snapshot_error)?;
    }
    Ok(done)
}

/// The user stores a snapshot: the present files count as intended.
///
/// # Errors
/// The marker cannot be removed.
pub(super) fn clear_interrupted_restore(handle: &RuntimeHandle) -> Result<(), SnapshotError> {
    let Some((found, _)) = handle.interrupted_restore() else { return Ok(()) };
    handle.ports().snapshots.accept_interrupted_restore()?;
    handle.settle_interrupted_restore(&found).map_err(snapshot_error)
}

/// The notice for the user about the project's files, on two lines.
pub(super) fn interrupted_restore_notice(handle: &RuntimeHandle) -> Option<String> {
    let (found, finish) = handle.interrupted_restore()?;
    let StoreError { message, hint } = inconsistent_files_error(&found, &finish);
    Some(format!("{message}\nhint: {}", hint.unwrap_or_default()))
}

fn snapshot_error(StoreError { message, hint }: StoreError) -> SnapshotError {
    SnapshotError { message, hint }
}
