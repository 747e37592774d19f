//! `runs` and `snapshot`: what was, and going back to it.

use std::io::{IsTerminal, Write};

use anyhow::{Result, anyhow};

use super::runs::load;
use super::wiring;
use super::world::World;
use crate::cli::args::{RunsCommand, SnapshotCommand};
use crate::cli::words::{Clean, name, tell};
use crate::cli::{exit, past, snapshots};
use crate::domain::snapshot::SnapshotRequest;
use crate::ports::run_store::StoreError;
use crate::ports::snapshot::{SnapshotError, SnapshotPort};

pub(super) fn runs(world: &World, command: RunsCommand) -> Result<u8> {
    let (catalog, _) = load(world, world.overrides.clone(), None)?;
    let wired = wiring::wire(&world.project, &world.dirs.data, &catalog, None);
    let mut out = std::io::stdout().lock();
    match command {
        RunsCommand::List { limit, json } => {
            past::list(&wired.handle.runs(limit).map_err(of_store)?, json, &mut out)?;
        }
        RunsCommand::Show { id, json } => {
            past::show(&wired.handle.run(&id).map_err(of_store)?, json, &mut out)?;
        }
    }
    Ok(exit::COMPLETED)
}

pub(super) fn snapshot(world: &World, command: SnapshotCommand) -> Result<u8> {
    let (catalog, _) = load(world, world.overrides.clone(), None)?;
    let wired = wiring::wire(&world.project, &world.dirs.data, &catalog, None);
    let store = &wired.handle.ports().snapshots;
    let text = match command {
        SnapshotCommand::List { json: true } => {
            let list = serde_json::to_string_pretty(&store.list().map_err(of_snapshot)?)?;
            writeln!(std::io::stdout().lock(), "{list}")?;
            return Ok(exit::COMPLETED);
        }
        SnapshotCommand::Create { label } => {
            let label = if label.is_empty() { "by hand".to_owned() } else { label.join(" ") };
            snapshots::created(
                &store.take(&SnapshotRequest { label, ..Default::default() }).map_err(of_snapshot)?,
            )
        }
        SnapshotCommand::List { json: false } => snapshots::list(&store.list().map_err(of_snapshot)?),
        SnapshotCommand::Show { id } => {
            let info = store.find(&id).map_err(of_snapshot)?;
            let changes = store.changes(&info.id, None).map_err(of_snapshot)?;
            snapshots::show(&info, &changes)
        }
        SnapshotCommand::Diff { id } => {
            let info = store.find(&id).map_err(of_snapshot)?;
            let diff = store.diff(&info.id, None).map_err(of_snapshot)?;
            if !std::io::stdout().is_terminal() {
                // A patch is data: it must apply as it is.
                std::io::stdout().lock().write_all(diff.as_bytes())?;
                return Ok(exit::COMPLETED);
            }
            diff
        }
        SnapshotCommand::Restore { id, yes } => return restore(&**store, &id, yes),
        SnapshotCommand::Delete { id } => {
            let info = store.find(&id).map_err(of_snapshot)?;
            store.delete(&info.id).map_err(of_snapshot)?;
            format!("snapshot {} is forgotten", info.id)
        }
    };
    say(text.trim_end())?;
    Ok(exit::COMPLETED)
}

/// Shows the files first; at a terminal it asks, elsewhere `--yes` is needed (SNAP-4).
fn restore(store: &dyn SnapshotPort, id: &str, yes: bool) -> Result<u8> {
    let info = store.find(id).map_err(of_snapshot)?;
    let changes = store.changes(&info.id, None).map_err(of_snapshot)?;
    if changes.is_empty() {
        say(&format!("nothing to do: the files are as in snapshot {}", info.id))?;
        return Ok(exit::COMPLETED);
    }
    if !yes {
        tell(format_args!(
            "to go back to snapshot {} ({}):\n{}",
            info.id,
            name(&info.label),
            snapshots::files(&changes)
        ));
        if !std::io::stdin().is_terminal() {
            return Err(anyhow!("not restored: nobody can be asked here\nhint: add --yes"));
        }
        tell(format_args!("restore these {} files? [y/N]", changes.len()));
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer)?;
        if !matches!(answer.trim(), "y" | "Y" | "yes") {
            tell("nothing was changed");
            return Ok(exit::CANCELLED);
        }
    }
    let done = store.restore(&info.id).map_err(of_snapshot)?;
    say(&snapshots::restored(&done))?;
    Ok(exit::COMPLETED)
}

fn say(text: &str) -> std::io::Result<()> {
    writeln!(Clean(&mut std::io::stdout().lock()), "{text}")
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
