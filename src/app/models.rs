//! `models`: what can be had, from whom, at which price.

use std::io::Write;

use anyhow::{Result, bail};

use super::runs::{load, runtime};
use super::survey::{Ask, Survey};
use super::world::World;
use crate::cli::words::Clean;
use crate::cli::{data, exit, models};
use crate::config::suggest;

pub(super) fn models(world: &World, provider: Option<&str>, as_json: bool) -> Result<u8> {
    let (catalog, _) = load(world, world.overrides.clone(), None)?;
    let mut servers = catalog.servers();
    if let Some(wanted) = provider {
        let mut names: Vec<String> = servers.iter().map(|server| server.provider.clone()).collect();
        names.dedup();
        servers.retain(|server| server.provider == wanted);
        if servers.is_empty() {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let hint = suggest::or_list(wanted, "known providers", &names).unwrap_or_default();
            bail!("there is no provider `{wanted}`\nhint: {hint}");
        }
    }
    let survey = Survey::new(&catalog);
    let seen = runtime()?.block_on(survey.of(servers, Ask::Usable));
    let failed = seen.iter().any(|one| matches!(one.answer, Some(Err(_))));
    let report = models::report(seen, catalog.models());
    let mut stdout = std::io::stdout().lock();
    if as_json {
        data::pretty(&report, &mut stdout)?;
    } else {
        let text = models::text(&report, provider.is_some());
        Clean(&mut stdout).write_all(text.as_bytes())?;
    }
    Ok(if provider.is_some() && failed { exit::FAILED } else { exit::COMPLETED })
}
