//! Refusals as errors with the hint in a line of its own, as the command line prints them.

use anyhow::anyhow;
use synthdev_ports::run_store::StoreError;
use synthdev_service::run_export::RunExportError;

/// Why the history could not do it.
pub fn store_error(error: StoreError) -> anyhow::Error {
    error_with_hint(&error.message, error.hint.as_deref())
}

/// The message, then what to do next.
pub fn error_with_hint(message: &str, hint: Option<&str>) -> anyhow::Error {
    hint.map_or_else(|| anyhow!("{message}"), |hint| anyhow!("{message}\nhint: {hint}"))
}

/// Why a run is not written.
pub fn export_error(error: RunExportError) -> anyhow::Error {
    error_with_hint(&error.to_string(), error.hint().as_deref())
}
