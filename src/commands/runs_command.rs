//! `runs` and `snapshot`: what was, and going back to it.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};

use super::file_progress::with_progress_lines;
use super::history_commands::RunSearchArgs;
use super::read_only::{error_with_hint, open_reader, store_error};
use super::run_command::load_catalog;
#[cfg(feature = "restate")]
use super::server_runs;
use super::{history_commands, isolation, resume_command, salvage, time_travel};
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring::{self, RunModels};
use synthdev_cli as cli;
use synthdev_cli::args::{ModelRequestSelector, RunsCommand, SnapshotSubcommand};
use synthdev_cli::output::{TerminalSafeWriter, print_stderr};
use synthdev_cli::{exit, json_output, show_run, snapshots};
use synthdev_service::history_cleanup::CleanupLimits;
use synthdev_service::project_snapshots::{ProjectSnapshotError, SnapshotRestorePlan, SnapshotService};
use synthdev_service::run_control::ControlAction;
use synthdev_service::run_files::RunFiles;
use synthdev_service::run_reports::{ModelCallSelector, inspect_call};

pub(crate) fn run_runs_command(context: &StartContext, command: RunsCommand) -> Result<u8> {
    match command {
        #[cfg(feature = "restate")]
        RunsCommand::List(args) if args.backend.is_some() => server_runs::list_runs(context, &args),
        RunsCommand::List(args) => history_commands::list_runs(context, &args),
        #[cfg(feature = "restate")]
        RunsCommand::Show { id, json, request, agent, backend: Some(_) } => {
            server_runs::fetch_run(context, &id)?;
            run_runs_command(context, RunsCommand::Show { id, json, request, agent, backend: None })
        }
        RunsCommand::Show { id, json, request: None, .. } => show_run(context, &id, json),
        RunsCommand::Show { id, json, request: Some(of), agent, .. } => {
            review_call(context, &id, &of, agent, json)
        }
        RunsCommand::Cost(args) => history_commands::show_costs(context, &args),
        RunsCommand::Contexts { run, json } => history_commands::show_contexts(context, &run, json),
        RunsCommand::Steps { run, json } => time_travel::show_steps(context, &run, json),
        RunsCommand::Search { words, run, workflow, limit, json } => {
            let search = RunSearchArgs { words: words.join(" "), run, workflow, limit, json };
            history_commands::search_runs(context, search)
        }
        RunsCommand::Diff { first, second, json } => {
            history_commands::diff_runs(context, &first, &second, json)
        }
        RunsCommand::Fork { run, at, set, definition, restore_files, yes, json } => {
            let fork = time_travel::ForkArgs { run, at, set, definition, restore_files, yes, json };
            time_travel::fork_run(context, &fork)
        }
        RunsCommand::Rewind { run, to, keep_files, yes } => {
            time_travel::rewind_run(context, &run, &to, keep_files, yes)
        }
        RunsCommand::Undo { run, yes } => time_travel::undo_run(context, &run, yes),
        RunsCommand::Replay { run, json } => time_travel::replay_run(context, &run, json),
        RunsCommand::Pause { run } => time_travel::control_run(context, &run, ControlAction::Pause),
        #[cfg(feature = "restate")]
        RunsCommand::Cancel { run, backend: Some(_) } => server_runs::cancel_run(context, &run),
        RunsCommand::Cancel { run, .. } => time_travel::control_run(context, &run, ControlAction::Cancel),
        RunsCommand::Retry(args) => resume_command::retry_run(context, &args),
        RunsCommand::Merge { run, dry_run, yes } => isolation::merge_worktree(context, &run, dry_run, yes),
        RunsCommand::Discard { run, force, yes } => isolation::discard_worktree(context, &run, force, yes),
        RunsCommand::Export { run, to, format } => {
            history_commands::export_run(context, &run, to.as_deref(), format)
        }
        RunsCommand::Import { file } => history_commands::import_run(context, &file),
        RunsCommand::Delete { run, yes } => history_commands::delete_run(context, &run, yes),
        RunsCommand::Gc { older_than, keep, max_size, snapshots, yes, json } => {
            let limits = CleanupLimits {
                older_than_days: older_than,
                keep,
                max_megabytes: max_size,
                with_snapshots: snapshots,
            };
            history_commands::collect_garbage(context, limits, yes, json)
        }
        RunsCommand::Du { json } => history_commands::show_disk_usage(context, json),
        RunsCommand::Salvage { replace, json } => salvage::run_salvage_command(context, replace, json),
    }
}

fn show_run(context: &StartContext, id: &str, json: bool) -> Result<u8> {
    let wired = open_reader(context)?;
    let record = wired.handle.load_record(id).map_err(store_error)?;
    let project = context.project.display().to_string();
    let files = RunFiles { handle: &wired.handle, snapshots: &*wired.ports.snapshots, project: &project };
    let ground = files.status(&record.summary, |path| Path::new(path).is_dir());
    show_run::write_run(&record, &ground, json, &mut std::io::stdout().lock())?;
    Ok(exit::COMPLETED)
}

/// One request with its answer.
fn review_call(
    context: &StartContext,
    id: &str,
    of: &ModelRequestSelector,
    agent: Option<String>,
    json: bool,
) -> Result<u8> {
    let handle = &open_reader(context)?.handle;
    let step = match of {
        ModelRequestSelector::Last => None,
        ModelRequestSelector::Step(step) => {
            let run = handle.summary(id).map_err(store_error)?.id;
            Some(step.find(handle, &run).map_err(store_error)?)
        }
    };
    let found = inspect_call(handle, id, &ModelCallSelector { step, agent }).map_err(store_error)?;
    if json {
        json_output::write_pretty_json(&cli::inspect_call::call_json(&found), &mut std::io::stdout().lock())?;
    } else {
        print_text(cli::inspect_call::call_text(&found).trim_end())?;
    }
    Ok(exit::COMPLETED)
}

pub(crate) fn run_snapshot_subcommand(context: &StartContext, command: SnapshotSubcommand) -> Result<u8> {
    let (catalog, _) = load_catalog(context, context.overrides.clone(), None)?;
    let wired = wiring::wire_runtime(&context.project, &context.dirs.data, &catalog, RunModels::default());
    let service = SnapshotService::new(&wired.handle, Arc::clone(&wired.ports.snapshots));
    let text = match command {
        SnapshotSubcommand::List { json } => {
            let list = service.list().map_err(refused)?;
            if json {
                json_output::write_pretty_json(&list, &mut std::io::stdout().lock())?;
                return Ok(exit::COMPLETED);
            }
            service.interruption().iter().for_each(|error| print_stderr(refused_text(error)));
            snapshots::snapshot_lines(&list)
        }
        SnapshotSubcommand::Stats { json } => {
            let all = service.statistics().map_err(refused)?;
            if json {
                json_output::write_pretty_json(&all, &mut std::io::stdout().lock())?;
                return Ok(exit::COMPLETED);
            }
            snapshots::statistics_text(&all)
        }
        SnapshotSubcommand::Create { label } => {
            let store = &wired.ports.snapshots;
            let create = || service.create(&label.join(" "));
            let created = with_progress_lines("snapshot", || store.progress(), create);
            snapshots::created_text(&created.map_err(refused)?)
        }
        SnapshotSubcommand::Show { id } => {
            let (info, changes) = service.show(&id).map_err(refused)?;
            snapshots::snapshot_text(&info, &changes)
        }
        SnapshotSubcommand::Diff { id, other } => {
            let diff = service.diff(&id, other.as_deref()).map_err(refused)?;
            if !std::io::stdout().is_terminal() {
                // A patch is data: it must apply as it is.
                std::io::stdout().lock().write_all(diff.as_bytes())?;
                return Ok(exit::COMPLETED);
            }
            diff
        }
        SnapshotSubcommand::Restore { id, yes } => return restore_snapshot(&service, &id, yes),
        SnapshotSubcommand::Delete { id, yes } => return delete_snapshot(&service, &id, yes),
    };
    print_text(text.trim_end())?;
    Ok(exit::COMPLETED)
}

fn refused(error: ProjectSnapshotError) -> anyhow::Error {
    error_with_hint(&error.to_string(), error.hint())
}

fn refused_text(error: &ProjectSnapshotError) -> String {
    format!("{error}\nhint: {}", error.hint().unwrap_or_default())
}

/// Shows the files first; at a terminal it asks, elsewhere `--yes` is needed.
fn restore_snapshot(service: &SnapshotService<'_>, id: &str, yes: bool) -> Result<u8> {
    if yes {
        return restore_without_question(service, id);
    }
    let plan = service.plan_restore(id).map_err(refused)?;
    if plan.is_empty() {
        print_text(&snapshots::restore_plan_text(&plan))?;
        return Ok(exit::COMPLETED);
    }
    print_stderr(format_args!("{}", snapshots::restore_plan_text(&plan)));
    let question = format!("restore {}?", snapshots::file_count_text(plan.changes.len()));
    if !isolation::ask_confirmation(&question).context("not restored")? {
        print_stderr("nothing was changed");
        return Ok(exit::CANCELLED);
    }
    let done = service.restore(plan.info.id.as_str()).map_err(refused)?;
    print_text(&snapshots::restored_as_shown(&done))?;
    Ok(exit::COMPLETED)
}

/// Without a plan: finding what differs costs as much as restoring it.
fn restore_without_question(service: &SnapshotService<'_>, id: &str) -> Result<u8> {
    let completes_restore = service.interruption().is_some();
    let info = service.find(id).map_err(refused)?;
    let done = service.restore(info.id.as_str()).map_err(refused)?;
    let plan = SnapshotRestorePlan {
        info,
        changes: done.files.clone(),
        unrestored: done.beyond.clone(),
        completes_restore,
    };
    let was_empty = plan.is_empty();
    print_text(&if was_empty {
        snapshots::restore_plan_text(&plan)
    } else {
        snapshots::restored_text(&done)
    })?;
    Ok(exit::COMPLETED)
}

/// At a terminal it asks; elsewhere `--yes` is needed. A deleted snapshot does not come back.
fn delete_snapshot(service: &SnapshotService<'_>, id: &str, yes: bool) -> Result<u8> {
    let info = service.find(id).map_err(refused)?;
    if !yes {
        print_stderr(snapshots::snapshot_lines(std::slice::from_ref(&info)).trim_end());
        let question = "delete this snapshot for good? The files of the project stay as they are.";
        if !isolation::ask_confirmation(question).context("not deleted")? {
            print_stderr("nothing was deleted");
            return Ok(exit::CANCELLED);
        }
    }
    let deleted = service.delete(info.id.as_str()).map_err(refused)?;
    print_text(&format!("snapshot {} was deleted", deleted.id))?;
    Ok(exit::COMPLETED)
}

fn print_text(text: &str) -> std::io::Result<()> {
    writeln!(TerminalSafeWriter(&mut std::io::stdout().lock()), "{text}")
}
