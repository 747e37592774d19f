use anyhow::{Result, bail};

use super::world::World;
use crate::cli::args::ResumeArgs;

pub(super) fn resume(_: &World, _: &ResumeArgs) -> Result<u8> {
    bail!("not built yet")
}
pub(super) fn retry(_: &World, _: &ResumeArgs) -> Result<u8> {
    bail!("not built yet")
}
