//! A runtime to look at the past with, and the store's refusals as errors of the command line.

use anyhow::Result;

use super::load_config::load_catalog;
use super::run_servers::with_run_server;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring::{self, RunModels, WiredRuntime};
pub(crate) use synthdev_session::hinted_error::{error_with_hint, store_error};

/// A runtime to look at the past with.
pub(crate) fn open_reader(context: &StartContext) -> Result<WiredRuntime> {
    let (catalog, _) = load_catalog(context, context.overrides.clone(), None)?;
    let wired = wiring::wire_runtime(&context.project, &context.dirs.data, &catalog, RunModels::default());
    Ok(with_run_server(context, &catalog, wired))
}
