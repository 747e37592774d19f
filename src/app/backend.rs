//! The terminal interface's way to everything else.

use anyhow::Result;

use super::world::World;

#[derive(Debug, Default)]
pub(super) struct Opening {
    pub(super) demo: bool,
    pub(super) start: Option<(String, String)>,
    pub(super) banner: Vec<String>,
}

pub(super) fn interactive(_world: &World, _opening: Opening) -> Result<u8> {
    anyhow::bail!("wip")
}
