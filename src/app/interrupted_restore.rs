//! The notice about an interrupted restore of the project's files.

use synthdev_ports::run_store::StoreError;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_runtime::history::inconsistent_files_error;

/// The notice for the user about the project's files, on two lines.
pub(super) fn interrupted_restore_notice(handle: &RuntimeHandle) -> Option<String> {
    let (found, finish) = handle.interrupted_restore()?;
    let StoreError { message, hint } = inconsistent_files_error(&found, &finish);
    Some(format!("{message}\nhint: {}", hint.unwrap_or_default()))
}
