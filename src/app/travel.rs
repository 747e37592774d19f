//! Going back: steps, forks, rewinding, undo, replay, cancel, and why a step was taken.

use anyhow::{Result, bail};

use super::world::World;

pub(super) struct Fork {
    pub(super) run: String,
    pub(super) at: u32,
    pub(super) set: Vec<String>,
    pub(super) definition: Option<std::path::PathBuf>,
    pub(super) restore_files: bool,
    pub(super) yes: bool,
    pub(super) json: bool,
}

pub(super) fn steps(_: &World, _: &str, _: bool) -> Result<u8> {
    bail!("not built yet")
}
pub(super) fn fork(_: &World, _: &Fork) -> Result<u8> {
    bail!("not built yet")
}
pub(super) fn rewind(_: &World, _: &str, _: u32, (_keep_files, _yes): (bool, bool)) -> Result<u8> {
    bail!("not built yet")
}
pub(super) fn undo(_: &World, _: &str, _: bool) -> Result<u8> {
    bail!("not built yet")
}
pub(super) fn replay(_: &World, _: &str, _: bool) -> Result<u8> {
    bail!("not built yet")
}
pub(super) fn cancel(_: &World, _: &str) -> Result<u8> {
    bail!("not built yet")
}
pub(super) fn why(_: &World, _: &str, _: u32, _: bool) -> Result<u8> {
    bail!("not built yet")
}
