//! The configuration of this start.

use anyhow::Result;

use super::sources::{self, Gathered};
use super::trust;
use super::wiring;
use super::world::World;
use crate::cli::words::tell;
use crate::config::catalog::Catalog;
use crate::config::render::compact;
use crate::config::settings::layers::Overrides;
use crate::config::settings::project_may::NOT_TAKEN;
use crate::config::source::SourceFile;

/// The configuration of this start; broken settings are told and end the program.
pub(super) fn load(
    world: &World,
    overrides: Overrides,
    more: Option<SourceFile>,
) -> Result<(Catalog, Gathered)> {
    let mut gathered = sources::gather(world, overrides, world.trust)?;
    gathered.sources.workflows.extend(more);
    let specs = wiring::specs(&world.project);
    let catalog = Catalog::load(gathered.sources.clone(), specs);
    for line in gathered.not_read() {
        tell(format_args!("warning: not read: {line}"));
    }
    if let Some(notice) = trust::notice(&gathered.verdict) {
        tell(format_args!("warning: {notice}\n{}", trust::told_powers(world, &gathered.project)));
    }
    for finding in catalog.diagnostics().iter().filter(|finding| finding.code == NOT_TAKEN) {
        tell(compact(finding));
    }
    Ok((catalog, gathered))
}

/// The same without a word on stderr.
pub(super) fn load_quietly(world: &World, overrides: Overrides) -> Result<(Catalog, Gathered)> {
    let gathered = sources::gather(world, overrides, world.trust)?;
    let catalog = Catalog::load(gathered.sources.clone(), wiring::specs(&world.project));
    Ok((catalog, gathered))
}
