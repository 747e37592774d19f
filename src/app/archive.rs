//! The history as a whole: lists, search, comparison, moving runs between machines, tidying up.

use std::path::Path;

use anyhow::{Result, bail};

use super::past::{of_store, reader};
use super::world::World;
use crate::cli::args::{ExportFormat, ListArgs};
use crate::cli::{exit, past};

pub(super) fn list(world: &World, args: &ListArgs) -> Result<u8> {
    let runs = reader(world)?.handle.runs(args.limit).map_err(of_store)?;
    past::list(&runs, args.json, &mut std::io::stdout().lock())?;
    Ok(exit::COMPLETED)
}
pub(super) fn search(
    _: &World,
    _: &str,
    (_run, _workflow): (Option<String>, Option<String>),
    _: usize,
    _: bool,
) -> Result<u8> {
    bail!("not built yet")
}
pub(super) fn diff(_: &World, _: &str, _: &str, _: bool) -> Result<u8> {
    bail!("not built yet")
}
pub(super) fn export(_: &World, _: &str, _: Option<&Path>, _: ExportFormat) -> Result<u8> {
    bail!("not built yet")
}
pub(super) fn import(_: &World, _: &Path) -> Result<u8> {
    bail!("not built yet")
}
pub(super) fn gc(_: &World, (_older, _keep): (Option<u32>, Option<usize>), _: bool, _: bool) -> Result<u8> {
    bail!("not built yet")
}
pub(super) fn du(_: &World, _: bool) -> Result<u8> {
    bail!("not built yet")
}
