//! What ends a change of the project's files that was cut off, other than doing it again: going back to a snapshot, or
//! keeping the files as they are.

use crate::domain::ids::SnapshotId;
use crate::domain::snapshot::Restored;
use crate::ports::run_store::StoreError;
use crate::ports::snapshot::SnapshotError;
use crate::runtime::handle::Handle;
use crate::runtime::history::of_two_moments;

/// All files are those of the snapshot.
///
/// # Errors
/// They cannot be brought back, or that could not be noted.
pub(super) fn restore(handle: &Handle, id: &SnapshotId) -> Result<Restored, SnapshotError> {
    let found = handle.cut_off();
    let done = handle.ports().snapshots.restore(id)?;
    if let Some((found, _)) = found {
        handle.settle_cut_off(&found).map_err(of_store)?;
    }
    Ok(done)
}

/// Somebody stores the files by hand: they are what they are to be.
///
/// # Errors
/// It could not be noted.
pub(super) fn keep(handle: &Handle) -> Result<(), SnapshotError> {
    let Some((found, _)) = handle.cut_off() else { return Ok(()) };
    handle.ports().snapshots.accept()?;
    handle.settle_cut_off(&found).map_err(of_store)
}

/// What a person should know of the project's files, on two lines.
pub(super) fn told(handle: &Handle) -> Option<String> {
    let (found, finish) = handle.cut_off()?;
    let StoreError { message, hint } = of_two_moments(&found, &finish);
    Some(format!("{message}\nhint: {}", hint.unwrap_or_default()))
}

fn of_store(StoreError { message, hint }: StoreError) -> SnapshotError {
    SnapshotError { message, hint }
}
