use anyhow::{Result, bail};

use super::world::World;

pub(super) fn merge(_: &World, _: &str, (_dry, _yes): (bool, bool)) -> Result<u8> {
    bail!("not built yet")
}
pub(super) fn discard(_: &World, _: &str, _: bool) -> Result<u8> {
    bail!("not built yet")
}
