//! A runtime to look at the past with, and the store's refusals as errors of the command line.

use anyhow::{Result, anyhow};

use super::loading::load;
use super::wiring::{self, Wired};
use super::world::World;
use crate::ports::run_store::StoreError;
use crate::ports::snapshot::SnapshotError;

/// A runtime to look at the past with.
pub(super) fn reader(world: &World) -> Result<Wired> {
    let (catalog, _) = load(world, world.overrides.clone(), None)?;
    Ok(wiring::wire(&world.project, &world.dirs.data, &catalog, None))
}

pub(super) fn of_store(error: StoreError) -> anyhow::Error {
    told(&error.message, error.hint.as_deref())
}

pub(super) fn of_snapshot(error: SnapshotError) -> anyhow::Error {
    told(&error.message, error.hint.as_deref())
}

fn told(message: &str, hint: Option<&str>) -> anyhow::Error {
    hint.map_or_else(|| anyhow!("{message}"), |hint| anyhow!("{message}\nhint: {hint}"))
}
