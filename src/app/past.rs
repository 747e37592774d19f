//! `runs` and `snapshot`: what was, and going back to it.

use std::io::{IsTerminal, Write};

use anyhow::{Result, anyhow};

use super::reading::{of_snapshot, of_store, reader};
use super::runs::load;
use super::wiring;
use super::world::World;
use super::{archive, cut_off, going, isolation, salvage, travel};
use crate::cli;
use crate::cli::args::{RequestOf, RunsCommand, SnapshotCommand};
use crate::cli::words::{Clean, name, tell};
use crate::cli::{data, exit, past, snapshots};
use crate::domain::ids::RunId;
use crate::domain::snapshot::SnapshotRequest;
use crate::runtime::command::Control;
use crate::runtime::handle::Handle;
use crate::runtime::review::Which;

pub(super) fn runs(world: &World, command: RunsCommand) -> Result<u8> {
    match command {
        RunsCommand::List(args) => archive::list(world, &args),
        RunsCommand::Show { id, json, request: None, .. } => show(world, &id, json),
        RunsCommand::Show { id, json, request: Some(of), agent } => {
            let step = match of {
                RequestOf::Last => None,
                RequestOf::Step(step) => Some(step),
            };
            review(world, &id, &Which { step, agent }, json)
        }
        RunsCommand::Cost(args) => archive::cost(world, &args),
        RunsCommand::Steps { run, json } => travel::steps(world, &run, json),
        RunsCommand::Search { words, run, workflow, limit, json } => {
            archive::search(world, &words.join(" "), (run, workflow), limit, json)
        }
        RunsCommand::Diff { first, second, json } => archive::diff(world, &first, &second, json),
        RunsCommand::Fork { run, at, set, definition, restore_files, yes, json } => {
            let fork = travel::Fork { run, at, set, definition, restore_files, yes, json };
            travel::fork(world, &fork)
        }
        RunsCommand::Rewind { run, to, keep_files, yes } => {
            travel::rewind(world, &run, to, (keep_files, yes))
        }
        RunsCommand::Undo { run, yes } => travel::undo(world, &run, yes),
        RunsCommand::Replay { run, json } => travel::replay(world, &run, json),
        RunsCommand::Pause { run } => travel::control(world, &run, Control::Pause),
        RunsCommand::Cancel { run } => travel::control(world, &run, Control::Cancel),
        RunsCommand::Retry(args) => going::retry(world, &args),
        RunsCommand::Merge { run, dry_run, yes } => isolation::merge(world, &run, (dry_run, yes)),
        RunsCommand::Discard { run, force, yes } => isolation::discard(world, &run, (force, yes)),
        RunsCommand::Export { run, to, format } => archive::export(world, &run, to.as_deref(), format),
        RunsCommand::Import { file } => archive::import(world, &file),
        RunsCommand::Gc { older_than, keep, yes, json } => archive::gc(world, (older_than, keep), yes, json),
        RunsCommand::Du { json } => archive::du(world, json),
        RunsCommand::Salvage { replace, json } => salvage::salvage(world, replace, json),
    }
}

fn show(world: &World, id: &str, json: bool) -> Result<u8> {
    let wired = reader(world)?;
    let record = wired.handle.run(id).map_err(of_store)?;
    let ground = isolation::ground(world, &wired.handle, &record.summary);
    past::show(&record, &ground, json, &mut std::io::stdout().lock())?;
    Ok(exit::COMPLETED)
}

/// One request with its answer (MODEL-13).
fn review(world: &World, id: &str, which: &Which, json: bool) -> Result<u8> {
    let found = reader(world)?.handle.review(id, which).map_err(of_store)?;
    if json {
        data::pretty(&cli::review::data(&found), &mut std::io::stdout().lock())?;
    } else {
        say(cli::review::text(&found).trim_end())?;
    }
    Ok(exit::COMPLETED)
}

pub(super) fn snapshot(world: &World, command: SnapshotCommand) -> Result<u8> {
    let (catalog, _) = load(world, world.overrides.clone(), None)?;
    let wired = wiring::wire(&world.project, &world.dirs.data, &catalog, None);
    let store = &wired.handle.ports().snapshots;
    let text = match command {
        SnapshotCommand::List { json: true } => {
            data::pretty(&store.list().map_err(of_snapshot)?, &mut std::io::stdout().lock())?;
            return Ok(exit::COMPLETED);
        }
        SnapshotCommand::Create { label } => {
            cut_off::keep(&wired.handle).map_err(of_snapshot)?;
            let label = if label.is_empty() { "by hand".to_owned() } else { label.join(" ") };
            snapshots::created(
                &store.take(&SnapshotRequest { label, ..Default::default() }).map_err(of_snapshot)?,
            )
        }
        SnapshotCommand::List { json: false } => {
            let list = snapshots::list(&store.list().map_err(of_snapshot)?);
            cut_off::told(&wired.handle).iter().for_each(tell);
            list
        }
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
        SnapshotCommand::Restore { id, yes } => return restore(&wired.handle, &id, yes),
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
fn restore(handle: &Handle, id: &str, yes: bool) -> Result<u8> {
    let store = &handle.ports().snapshots;
    let info = store.find(id).map_err(of_snapshot)?;
    let changes = store.changes(&info.id, None).map_err(of_snapshot)?;
    let beyond = store.beyond(&info.id).map_err(of_snapshot)?;
    let tell_beyond =
        || snapshots::beyond(&beyond).lines().for_each(|line| tell(format_args!("note: {line}")));
    if changes.is_empty() && handle.cut_off().is_none() {
        let but = snapshots::but(&beyond);
        say(&format!("nothing to do: the files are as in snapshot {}{but}", info.id))?;
        tell_beyond();
        return Ok(exit::COMPLETED);
    }
    if !yes {
        tell(format_args!(
            "to go back to snapshot {} ({}):\n{}",
            info.id,
            name(&info.label),
            snapshots::files(&changes)
        ));
        tell_beyond();
        if !std::io::stdin().is_terminal() {
            return Err(anyhow!("not restored: nobody can be asked here\nhint: add --yes"));
        }
        tell(format_args!("restore {}? [y/N]", snapshots::counted(changes.len())));
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer)?;
        if !matches!(answer.trim(), "y" | "Y" | "yes") {
            tell("nothing was changed");
            return Ok(exit::CANCELLED);
        }
    }
    let run = info.run.clone().unwrap_or_else(|| RunId::from(""));
    let _held = handle.hold_files(&run, "").map_err(of_store)?;
    let done = cut_off::restore(handle, &info.id).map_err(of_snapshot)?;
    say(&if yes { snapshots::restored(&done) } else { snapshots::restored_as_shown(&done) })?;
    Ok(exit::COMPLETED)
}

fn say(text: &str) -> std::io::Result<()> {
    writeln!(Clean(&mut std::io::stdout().lock()), "{text}")
}
