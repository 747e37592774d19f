//! Time travel: steps, forks, rewinding, undo, replay, cancel, and why a step was taken.
//!
//! Changes files only in the project that the run worked in, and only after showing them.

mod restore_files;
mod set_data;

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};

use self::restore_files::{FileRestorePlan, other_project};
use super::bootstrap::WiredRuntime;
use super::cli_context::CliContext;
use super::read_only::{open_reader, snapshot_error, store_error};
use super::run_command::{load_catalog, read_workflow};
use super::run_to_end::build_runtime;
use super::{diagnostics, isolation, pause_and_cancel, windows};
use synthdev_cli::output::{TerminalSafeWriter, print_stderr, safe_name};
use synthdev_cli::time_travel::ForkReport;
use synthdev_cli::{exit, json_output, snapshots, time_travel};
use synthdev_domain::journal::{RunStatus, RunSummary};
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_engine::explain::report_lines;
use synthdev_runtime::command::ControlAction;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_runtime::time_travel::{ReplayVerdict, StepChanges};
use synthdev_settings::catalog::windows::copy_known_windows;

pub(super) struct ForkArgs {
    pub(super) run: String,
    pub(super) at: u32,
    pub(super) set: Vec<String>,
    pub(super) definition: Option<PathBuf>,
    pub(super) restore_files: bool,
    pub(super) yes: bool,
    pub(super) json: bool,
}

pub(super) fn show_steps(world: &CliContext, run: &str, json: bool) -> Result<u8> {
    let (wired, run) = find_run(world, run)?;
    let steps = wired.handle.steps(&run.id).map_err(store_error)?;
    time_travel::write_steps(&run, &steps, json, &mut std::io::stdout().lock())?;
    Ok(exit::COMPLETED)
}

pub(super) fn fork_run(world: &CliContext, fork: &ForkArgs) -> Result<u8> {
    let set = set_data::parse_assignments(&fork.set)?;
    let (wired, run) = find_run(world, &fork.run)?;
    let handle = &wired.handle;
    let (place, note) = restore_files::travel_target(handle, &run.id, fork.at, fork.restore_files)?;
    let known = handle.data_before(&run.id, place.step).map_err(store_error)?;
    let mut notes = set_data::unknown_key_notes(&set, &known);
    notes.extend(note);
    let program = match &fork.definition {
        None => None,
        Some(file) => Some(current_definition(world, handle, &run, file)?),
    };
    if let (true, Some(tree)) = (fork.restore_files, &run.worktree) {
        if !tree.is_known() {
            return Err(isolation::worktree_gone_error(&run, tree));
        }
        bail!(
            "run {} worked in a worktree of its own ({}), its fork works in the project: the files of one are not \
             those of the other\nhint: fork without --restore-files",
            run.id,
            safe_name(&tree.path)
        );
    }
    let files = if fork.restore_files {
        let command = format!("runs fork {} --at {} --restore-files", run.id, fork.at);
        let files =
            FileRestorePlan::at_step(world, handle, &run, &place, &command, "fork without --restore-files")?;
        notes.iter().for_each(|note| print_stderr(format_args!("note: {note}")));
        if !files.confirm_restore(fork.yes, "not forked")? {
            return Ok(exit::CANCELLED);
        }
        Some(files)
    } else {
        notes.extend(restore_files::file_difference_text(world, &run, &place));
        None
    };
    let changes = StepChanges { set, program, files: files.as_ref().map(|files| files.snapshot.clone()) };
    let snapshots = files.as_ref().map_or(&wired.ports.snapshots, |files| &files.store);
    let (new, restored) = handle.fork(&run.id, place.step, changes, &**snapshots).map_err(store_error)?;
    if let (Some(restored), false) = (&restored, fork.json) {
        restore_files::print_restored(restored);
    }
    let forked = ForkReport {
        run: &new,
        forked_from: &run.id,
        step: &place,
        restored: restored.as_ref(),
        notes: &notes,
        other_project: other_project(world, &run),
    };
    time_travel::write_fork(&forked, fork.json, &mut std::io::stdout().lock())?;
    Ok(exit::COMPLETED)
}

pub(super) fn rewind_run(world: &CliContext, run: &str, to: u32, keep_files: bool, yes: bool) -> Result<u8> {
    let (wired, run) = find_run(world, run)?;
    let handle = &wired.handle;
    let (place, note) = restore_files::travel_target(handle, &run.id, to, !keep_files)?;
    if run.progress.status == RunStatus::Running {
        bail!(
            "run {} is running and cannot be rewound meanwhile\nhint: stop it first, or fork it: synthdev \
                runs fork {} --at {to}",
            run.id,
            run.id
        );
    }
    let files = if keep_files {
        None
    } else {
        let command = format!("runs rewind {} --to {to}", run.id);
        Some(FileRestorePlan::at_step(
            world,
            handle,
            &run,
            &place,
            &command,
            "add --keep-files to leave the files unchanged",
        )?)
    };
    if let Some(note) = note {
        print_stderr(format_args!("note: {note}"));
    }
    let agreed = match &files {
        Some(files) => files.confirm_restore(yes, "not rewound")?,
        None => restore_files::ask_confirmation(
            yes,
            "not rewound",
            &format!("go back before step {} ({})?", place.step, safe_name(&place.state)),
        )?,
    };
    if !agreed {
        return Ok(exit::CANCELLED);
    }
    let changes =
        StepChanges { files: files.as_ref().map(|files| files.snapshot.clone()), ..StepChanges::default() };
    let snapshots = files.as_ref().map_or(&wired.ports.snapshots, |files| &files.store);
    let half = keep_files.then(|| restore_files::interrupted_restore_store(world, handle, &run)).flatten();
    let restored = handle.rewind(&run.id, place.step, changes, &**snapshots).map_err(store_error)?;
    if let Some(half) = half {
        half.accept_interrupted_restore().map_err(snapshot_error)?;
    }
    restored.iter().for_each(restore_files::print_restored);
    time_travel::write_rewind(&run.id, &place, other_project(world, &run), &mut std::io::stdout().lock())?;
    Ok(exit::COMPLETED)
}

pub(super) fn undo_run(world: &CliContext, run: &str, yes: bool) -> Result<u8> {
    let (wired, run) = find_run(world, run)?;
    if run.progress.status == RunStatus::Running {
        bail!("run {} is running: its files cannot be restored meanwhile\nhint: stop it first", run.id);
    }
    if let Some(worktree) = &run.worktree {
        return Err(isolation::not_undone(world, &run, worktree));
    }
    let files = FileRestorePlan::before_run(world, &wired.handle, &run)?;
    let half = files.store.interrupted_restore().ok().flatten().is_some();
    if files.changes.is_empty() && !half {
        let but = snapshots::unrestored_suffix(&files.unrestored);
        let snapshot = &files.snapshot;
        print_text(&format!(
            "nothing to do: the files are as before run {} (snapshot {snapshot}){but}",
            run.id
        ))?;
        files.print_unrestored();
        return Ok(exit::COMPLETED);
    }
    if !files.confirm_restore(yes, "not undone")? {
        return Ok(exit::CANCELLED);
    }
    restore_files::print_restored(
        &wired.handle.undo(&run.id, &files.snapshot, &*files.store).map_err(store_error)?,
    );
    let but = snapshots::unrestored_suffix(&files.unrestored);
    print_text(&format!(
        "the files are as before run {}{but}; what it said and did stays in the history",
        run.id
    ))?;
    Ok(exit::COMPLETED)
}

pub(super) fn replay_run(world: &CliContext, run: &str, json: bool) -> Result<u8> {
    let (wired, run) = find_run(world, run)?;
    let verdict = wired.handle.verify_replay(&run.id).map_err(store_error)?;
    time_travel::write_replay_verdict(&run.id, &verdict, json, &mut std::io::stdout().lock())?;
    Ok(if matches!(verdict, ReplayVerdict::Same { .. }) { exit::COMPLETED } else { exit::FAILED })
}

pub(super) fn control_run(world: &CliContext, run: &str, wanted: ControlAction) -> Result<u8> {
    let (wired, run) = find_run(world, run)?;
    print_text(
        &build_runtime()?
            .block_on(pause_and_cancel::control_run(&wired.handle, &run, wanted))
            .map_err(store_error)?,
    )?;
    Ok(exit::COMPLETED)
}

pub(super) fn explain_step(world: &CliContext, run: &str, step: u32, json: bool) -> Result<u8> {
    let (wired, run) = find_run(world, run)?;
    let why = wired.handle.explain_step(&run.id, step).map_err(store_error)?;
    if json {
        json_output::write_pretty_json(&why, &mut std::io::stdout().lock())?;
    } else {
        print_text(&report_lines(&why).join("\n"))?;
    }
    Ok(exit::COMPLETED)
}

fn find_run(world: &CliContext, run: &str) -> Result<(WiredRuntime, RunSummary)> {
    let wired = open_reader(world)?;
    let run = wired.handle.summary(run).map_err(store_error)?;
    // an isolated run has files of its own, so it needs no lock
    Ok(if run.worktree.is_some() { (wired.without_project_lock(), run) } else { (wired, run) })
}

/// The present definition of the run's workflow, checked.
fn current_definition(
    world: &CliContext,
    handle: &RuntimeHandle,
    run: &RunSummary,
    file: &std::path::Path,
) -> Result<WorkflowProgram> {
    let record = handle.load_record(run.id.as_str()).map_err(store_error)?;
    let agents = record.program.workflows.iter().flat_map(|workflow| &workflow.agents);
    // a run on scripted replies needs no model, and neither does its fork
    let scripted = agents.into_iter().any(|agent| agent.choice.provider == "scripted");
    let overrides = if scripted { world.scripted_overrides("the run") } else { world.overrides.clone() };
    let file = read_workflow(file)?;
    let (catalog, _) = load_catalog(world, overrides, Some(file.clone()))?;
    diagnostics::ensure_sound(&catalog)?;
    let (heads, found) = synthdev_language::workflow_file::read_heads(&file);
    let Some(first) = heads.first() else {
        diagnostics::print_diagnostics(&catalog, &found);
        bail!("{} holds no workflow", file.name);
    };
    let same = heads.iter().find(|head| head.name == run.workflow).unwrap_or(first);
    match catalog.check_workflow(&same.name) {
        Ok((mut program, warnings)) => {
            diagnostics::print_diagnostics(&catalog, &warnings);
            windows::ask_windows_before_recording(&catalog, &mut program)?;
            copy_known_windows(&mut program, &record.program);
            Ok(program)
        }
        Err(found) => Err(diagnostics::definition_error(&catalog, &found)),
    }
}

fn print_text(text: &str) -> std::io::Result<()> {
    writeln!(TerminalSafeWriter(&mut std::io::stdout().lock()), "{text}")
}
