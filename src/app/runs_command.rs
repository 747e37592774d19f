//! `runs` and `snapshot`: what was, and going back to it.

use std::io::{IsTerminal, Write};

use anyhow::{Result, anyhow};

use super::bootstrap::{self, WiredRuntime};
use super::cli_context::CliContext;
use super::history_commands::RunSearchArgs;
use super::read_only::{open_reader, snapshot_error, store_error};
use super::run_command::load_catalog;
use super::{history_commands, interrupted_restore, isolation, resume_command, salvage, time_travel};
use synthdev_cli as cli;
use synthdev_cli::args::{ModelRequestSelector, RunsCommand, SnapshotSubcommand};
use synthdev_cli::output::{TerminalSafeWriter, print_stderr, safe_name};
use synthdev_cli::{exit, json_output, show_run, snapshots};
use synthdev_domain::ids::RunId;
use synthdev_domain::snapshot::SnapshotRequest;
use synthdev_runtime::command::ControlAction;
use synthdev_runtime::inspect_call::ModelCallSelector;

pub(super) fn run_runs_command(world: &CliContext, command: RunsCommand) -> Result<u8> {
    match command {
        RunsCommand::List(args) => history_commands::list_runs(world, &args),
        RunsCommand::Show { id, json, request: None, .. } => show_run(world, &id, json),
        RunsCommand::Show { id, json, request: Some(of), agent } => {
            let step = match of {
                ModelRequestSelector::Last => None,
                ModelRequestSelector::Step(step) => Some(step),
            };
            review_call(world, &id, &ModelCallSelector { step, agent }, json)
        }
        RunsCommand::Cost(args) => history_commands::show_costs(world, &args),
        RunsCommand::Steps { run, json } => time_travel::show_steps(world, &run, json),
        RunsCommand::Search { words, run, workflow, limit, json } => {
            let search = RunSearchArgs { words: words.join(" "), run, workflow, limit, json };
            history_commands::search_runs(world, search)
        }
        RunsCommand::Diff { first, second, json } => {
            history_commands::diff_runs(world, &first, &second, json)
        }
        RunsCommand::Fork { run, at, set, definition, restore_files, yes, json } => {
            let fork = time_travel::ForkArgs { run, at, set, definition, restore_files, yes, json };
            time_travel::fork_run(world, &fork)
        }
        RunsCommand::Rewind { run, to, keep_files, yes } => {
            time_travel::rewind_run(world, &run, to, keep_files, yes)
        }
        RunsCommand::Undo { run, yes } => time_travel::undo_run(world, &run, yes),
        RunsCommand::Replay { run, json } => time_travel::replay_run(world, &run, json),
        RunsCommand::Pause { run } => time_travel::control_run(world, &run, ControlAction::Pause),
        RunsCommand::Cancel { run } => time_travel::control_run(world, &run, ControlAction::Cancel),
        RunsCommand::Retry(args) => resume_command::retry_run(world, &args),
        RunsCommand::Merge { run, dry_run, yes } => isolation::merge_worktree(world, &run, dry_run, yes),
        RunsCommand::Discard { run, force, yes } => isolation::discard_worktree(world, &run, force, yes),
        RunsCommand::Export { run, to, format } => {
            history_commands::export_run(world, &run, to.as_deref(), format)
        }
        RunsCommand::Import { file } => history_commands::import_run(world, &file),
        RunsCommand::Gc { older_than, keep, yes, json } => {
            history_commands::collect_garbage(world, older_than, keep, yes, json)
        }
        RunsCommand::Du { json } => history_commands::show_disk_usage(world, json),
        RunsCommand::Salvage { replace, json } => salvage::run_salvage_command(world, replace, json),
    }
}

fn show_run(world: &CliContext, id: &str, json: bool) -> Result<u8> {
    let wired = open_reader(world)?;
    let record = wired.handle.load_record(id).map_err(store_error)?;
    let ground = isolation::run_files_status(world, &wired, &record.summary);
    show_run::write_run(&record, &ground, json, &mut std::io::stdout().lock())?;
    Ok(exit::COMPLETED)
}

/// One request with its answer.
fn review_call(world: &CliContext, id: &str, which: &ModelCallSelector, json: bool) -> Result<u8> {
    let found = open_reader(world)?.handle.inspect_call(id, which).map_err(store_error)?;
    if json {
        json_output::write_pretty_json(&cli::inspect_call::call_json(&found), &mut std::io::stdout().lock())?;
    } else {
        print_text(cli::inspect_call::call_text(&found).trim_end())?;
    }
    Ok(exit::COMPLETED)
}

pub(super) fn run_snapshot_subcommand(world: &CliContext, command: SnapshotSubcommand) -> Result<u8> {
    let (catalog, _) = load_catalog(world, world.overrides.clone(), None)?;
    let wired = bootstrap::wire_runtime(&world.project, &world.dirs.data, &catalog, None);
    let store = &wired.ports.snapshots;
    let text = match command {
        SnapshotSubcommand::List { json: true } => {
            json_output::write_pretty_json(
                &store.list().map_err(snapshot_error)?,
                &mut std::io::stdout().lock(),
            )?;
            return Ok(exit::COMPLETED);
        }
        SnapshotSubcommand::Create { label } => {
            wired.handle.accept_present_files().map_err(snapshot_error)?;
            let label = if label.is_empty() { "manual".to_owned() } else { label.join(" ") };
            snapshots::created_text(
                &store.take(&SnapshotRequest { label, ..Default::default() }).map_err(snapshot_error)?,
            )
        }
        SnapshotSubcommand::List { json: false } => {
            let list = snapshots::snapshot_lines(&store.list().map_err(snapshot_error)?);
            interrupted_restore::interrupted_restore_notice(&wired.handle).iter().for_each(print_stderr);
            list
        }
        SnapshotSubcommand::Show { id } => {
            let info = store.find(&id).map_err(snapshot_error)?;
            let changes = store.changes(&info.id, None).map_err(snapshot_error)?;
            snapshots::snapshot_text(&info, &changes)
        }
        SnapshotSubcommand::Diff { id } => {
            let info = store.find(&id).map_err(snapshot_error)?;
            let diff = store.diff(&info.id, None).map_err(snapshot_error)?;
            if !std::io::stdout().is_terminal() {
                // A patch is data: it must apply as it is.
                std::io::stdout().lock().write_all(diff.as_bytes())?;
                return Ok(exit::COMPLETED);
            }
            diff
        }
        SnapshotSubcommand::Restore { id, yes } => return undo_run(&wired, &id, yes),
        SnapshotSubcommand::Delete { id } => {
            let info = store.find(&id).map_err(snapshot_error)?;
            store.delete(&info.id).map_err(snapshot_error)?;
            format!("snapshot {} was deleted", info.id)
        }
    };
    print_text(text.trim_end())?;
    Ok(exit::COMPLETED)
}

/// Shows the files first; at a terminal it asks, elsewhere `--yes` is needed.
fn undo_run(wired: &WiredRuntime, id: &str, yes: bool) -> Result<u8> {
    let (handle, store) = (&wired.handle, &wired.ports.snapshots);
    let info = store.find(id).map_err(snapshot_error)?;
    let changes = store.changes(&info.id, None).map_err(snapshot_error)?;
    let beyond = store.unrestored_changes(&info.id).map_err(snapshot_error)?;
    let tell_beyond = || {
        snapshots::unrestored_text(&beyond)
            .lines()
            .for_each(|line| print_stderr(format_args!("note: {line}")))
    };
    if changes.is_empty() && handle.interrupted_restore().is_none() {
        let but = snapshots::unrestored_suffix(&beyond);
        print_text(&format!("nothing to do: the files are as in snapshot {}{but}", info.id))?;
        tell_beyond();
        return Ok(exit::COMPLETED);
    }
    if !yes {
        print_stderr(format_args!(
            "to go back to snapshot {} ({}):\n{}",
            info.id,
            safe_name(&info.label),
            snapshots::restore_lines(&changes)
        ));
        tell_beyond();
        if !std::io::stdin().is_terminal() {
            return Err(anyhow!("not restored: no terminal is attached for the question\nhint: add --yes"));
        }
        print_stderr(format_args!("restore {}? [y/N]", snapshots::file_count_text(changes.len())));
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer)?;
        if !matches!(answer.trim(), "y" | "Y" | "yes") {
            print_stderr("nothing was changed");
            return Ok(exit::CANCELLED);
        }
    }
    let run = info.run.clone().unwrap_or_else(|| RunId::from(""));
    let _held = handle.lock_files(&run, "").map_err(store_error)?;
    let done = handle.restore_snapshot(&info.id).map_err(snapshot_error)?;
    print_text(&if yes { snapshots::restored_text(&done) } else { snapshots::restored_as_shown(&done) })?;
    Ok(exit::COMPLETED)
}

fn print_text(text: &str) -> std::io::Result<()> {
    writeln!(TerminalSafeWriter(&mut std::io::stdout().lock()), "{text}")
}
