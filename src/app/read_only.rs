//! A runtime to look at the past with, and the store's refusals as errors of the command line.

use anyhow::{Result, anyhow};

use super::bootstrap::{self, WiredRuntime};
use super::cli_context::CliContext;
use super::load_config::load_catalog;
use synthdev_ports::run_store::StoreError;

/// A runtime to look at the past with.
pub(super) fn open_reader(context: &CliContext) -> Result<WiredRuntime> {
    let (catalog, _) = load_catalog(context, context.overrides.clone(), None)?;
    Ok(bootstrap::wire_runtime(&context.project, &context.dirs.data, &catalog, None))
}

pub(super) fn store_error(error: StoreError) -> anyhow::Error {
    error_with_hint(&error.message, error.hint.as_deref())
}

pub(super) fn error_with_hint(message: &str, hint: Option<&str>) -> anyhow::Error {
    hint.map_or_else(|| anyhow!("{message}"), |hint| anyhow!("{message}\nhint: {hint}"))
}
