//! A runtime to look at the past with, and the store's refusals as errors of the command line.

use anyhow::{Result, anyhow};

use super::bootstrap::{self, WiredRuntime};
use super::cli_context::CliContext;
use super::load_config::load;
use synthdev_ports::run_store::StoreError;
use synthdev_ports::snapshot::SnapshotError;

/// A runtime to look at the past with.
pub(super) fn reader(world: &CliContext) -> Result<WiredRuntime> {
    let (catalog, _) = load(world, world.overrides.clone(), None)?;
    Ok(bootstrap::wire(&world.project, &world.dirs.data, &catalog, None))
}

pub(super) fn store_error(error: StoreError) -> anyhow::Error {
    told(&error.message, error.hint.as_deref())
}

pub(super) fn snapshot_error(error: SnapshotError) -> anyhow::Error {
    told(&error.message, error.hint.as_deref())
}

fn told(message: &str, hint: Option<&str>) -> anyhow::Error {
    hint.map_or_else(|| anyhow!("{message}"), |hint| anyhow!("{message}\nhint: {hint}"))
}
