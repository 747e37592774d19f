//! Going back: steps, forks, rewinding, undo, replay, cancel, and why a step was taken.
//!
//! Refuses to change files anywhere but in the project that the run worked in, and before its files were shown.

mod restore_files;
mod set_data;

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};

use self::restore_files::{FileRestorePlan, elsewhere};
use super::cli_context::CliContext;
use super::diagnostics;
use super::isolation;
use super::pause_and_cancel;
use super::read_only::{reader, snapshot_error, store_error};
use super::run_command::{load, read_workflow};
use super::run_to_end::runtime;
use super::windows;
use synthdev_cli::output::{TerminalSafeWriter, name, print_stderr};
use synthdev_cli::time_travel::ForkReport;
use synthdev_cli::{exit, json_output, snapshots, time_travel};
use synthdev_config::catalog::windows::keep_windows;
use synthdev_domain::journal::{RunStatus, RunSummary};
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_engine::explain::lines;
use synthdev_runtime::command::ControlAction;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_runtime::time_travel::{ReplayVerdict, StepChanges};

pub(super) struct ForkArgs {
    pub(super) run: String,
    pub(super) at: u32,
    pub(super) set: Vec<String>,
    pub(super) definition: Option<PathBuf>,
    pub(super) restore_files: bool,
    pub(super) yes: bool,
    pub(super) json: bool,
}

pub(super) fn steps(world: &CliContext, run: &str, json: bool) -> Result<u8> {
    let (handle, run) = find(world, run)?;
    let steps = handle.steps(&run.id).map_err(store_error)?;
    time_travel::steps(&run, &steps, json, &mut std::io::stdout().lock())?;
    Ok(exit::COMPLETED)
}

pub(super) fn fork(world: &CliContext, fork: &ForkArgs) -> Result<u8> {
    let set = set_data::parsed(&fork.set)?;
    let (handle, run) = find(world, &fork.run)?;
    let (place, note) = restore_files::place(&handle, &run.id, fork.at, fork.restore_files)?;
    let known = handle.data_before(&run.id, place.step).map_err(store_error)?;
    let mut notes = set_data::unknown(&set, &known);
    notes.extend(note);
    let program = match &fork.definition {
        None => None,
        Some(file) => Some(definition(world, &handle, &run, file)?),
    };
    if let (true, Some(tree)) = (fork.restore_files, &run.worktree) {
        if !tree.is_known() {
            return Err(isolation::gone(&run, tree));
        }
        bail!(
            "run {} worked in a worktree of its own ({}), its fork works in the project: the files of one are not \
             those of the other\nhint: fork without --restore-files",
            run.id,
            name(&tree.path)
        );
    }
    let files = if fork.restore_files {
        let command = format!("runs fork {} --at {} --restore-files", run.id, fork.at);
        let files = FileRestorePlan::of_step(
            (world, &handle),
            &run,
            &place,
            &command,
            "fork without --restore-files",
        )?;
        notes.iter().for_each(|note| print_stderr(format_args!("note: {note}")));
        if !files.agreed(fork.yes, "not forked")? {
            return Ok(exit::CANCELLED);
        }
        Some(files)
    } else {
        notes.extend(restore_files::differ(world, &run, &place));
        None
    };
    let changes = StepChanges { set, program, files: files.as_ref().map(|files| files.snapshot.clone()) };
    let snapshots = files.as_ref().map_or(&handle.ports().snapshots, |files| &files.store);
    let (new, restored) = handle.fork(&run.id, place.step, changes, &**snapshots).map_err(store_error)?;
    if let (Some(restored), false) = (&restored, fork.json) {
        restore_files::print_restored(restored);
    }
    let forked = ForkReport {
        run: &new,
        of: &run.id,
        place: &place,
        restored: restored.as_ref(),
        notes: &notes,
        elsewhere: elsewhere(world, &run),
    };
    time_travel::forked(&forked, fork.json, &mut std::io::stdout().lock())?;
    Ok(exit::COMPLETED)
}

pub(super) fn rewind(world: &CliContext, run: &str, to: u32, (keep_files, yes): (bool, bool)) -> Result<u8> {
    let (handle, run) = find(world, run)?;
    let (place, note) = restore_files::place(&handle, &run.id, to, !keep_files)?;
    if run.progress.status == RunStatus::Running {
        bail!(
            "run {} is running: it cannot go back meanwhile\nhint: stop it first, or fork it: synthdev runs fork {} --at {to}",
            run.id,
            run.id
        );
    }
    let files = if keep_files {
        None
    } else {
        let command = format!("runs rewind {} --to {to}", run.id);
        Some(FileRestorePlan::of_step(
            (world, &handle),
            &run,
            &place,
            &command,
            "add --keep-files to leave the files as they are",
        )?)
    };
    if let Some(note) = note {
        print_stderr(format_args!("note: {note}"));
    }
    let agreed = match &files {
        Some(files) => files.agreed(yes, "not rewound")?,
        None => restore_files::confirmed(
            yes,
            "not rewound",
            &format!("go back before step {} ({})?", place.step, name(&place.state)),
        )?,
    };
    if !agreed {
        return Ok(exit::CANCELLED);
    }
    let changes =
        StepChanges { files: files.as_ref().map(|files| files.snapshot.clone()), ..StepChanges::default() };
    let snapshots = files.as_ref().map_or(&handle.ports().snapshots, |files| &files.store);
    let half = keep_files.then(|| restore_files::on_their_way(world, &handle, &run)).flatten();
    let restored = handle.rewind(&run.id, place.step, changes, &**snapshots).map_err(store_error)?;
    if let Some(half) = half {
        half.accept_interrupted_restore().map_err(snapshot_error)?;
    }
    restored.iter().for_each(restore_files::print_restored);
    time_travel::rewound(&run.id, &place, elsewhere(world, &run), &mut std::io::stdout().lock())?;
    Ok(exit::COMPLETED)
}

pub(super) fn undo(world: &CliContext, run: &str, yes: bool) -> Result<u8> {
    let (handle, run) = find(world, run)?;
    if run.progress.status == RunStatus::Running {
        bail!(
            "run {} is running: its files cannot be brought back under its hands\nhint: stop it first",
            run.id
        );
    }
    if let Some(worktree) = &run.worktree {
        return Err(isolation::not_undone(world, &run, worktree));
    }
    let files = FileRestorePlan::before((world, &handle), &run)?;
    let half = files.store.interrupted_restore().ok().flatten().is_some();
    if files.changes.is_empty() && !half {
        let but = snapshots::unrestored_suffix(&files.beyond);
        let snapshot = &files.snapshot;
        say(&format!("nothing to do: the files are as before run {} (snapshot {snapshot}){but}", run.id))?;
        files.tell_beyond();
        return Ok(exit::COMPLETED);
    }
    if !files.agreed(yes, "not undone")? {
        return Ok(exit::CANCELLED);
    }
    restore_files::print_restored(
        &handle.undo(&run.id, &files.snapshot, &*files.store).map_err(store_error)?,
    );
    let but = snapshots::unrestored_suffix(&files.beyond);
    say(&format!("the files are as before run {}{but}; what it said and did stays in the history", run.id))?;
    Ok(exit::COMPLETED)
}

pub(super) fn replay(world: &CliContext, run: &str, json: bool) -> Result<u8> {
    let (handle, run) = find(world, run)?;
    let verdict = handle.verify_replay(&run.id).map_err(store_error)?;
    time_travel::verdict(&run.id, &verdict, json, &mut std::io::stdout().lock())?;
    Ok(if matches!(verdict, ReplayVerdict::Same { .. }) { exit::COMPLETED } else { exit::FAILED })
}

pub(super) fn control(world: &CliContext, run: &str, wanted: ControlAction) -> Result<u8> {
    let (handle, run) = find(world, run)?;
    say(&runtime()?.block_on(pause_and_cancel::control(&handle, &run, wanted)).map_err(store_error)?)?;
    Ok(exit::COMPLETED)
}

pub(super) fn why(world: &CliContext, run: &str, step: u32, json: bool) -> Result<u8> {
    let (handle, run) = find(world, run)?;
    let why = handle.explain_step(&run.id, step).map_err(store_error)?;
    if json {
        json_output::pretty(&why, &mut std::io::stdout().lock())?;
    } else {
        say(&lines(&why).join("\n"))?;
    }
    Ok(exit::COMPLETED)
}

fn find(world: &CliContext, run: &str) -> Result<(RuntimeHandle, RunSummary)> {
    let handle = reader(world)?.handle;
    let run = handle.summary(run).map_err(store_error)?;
    // an isolated run has files of its own: nobody else works there
    Ok(if run.worktree.is_some() { (handle.without_project_lock(), run) } else { (handle, run) })
}

/// The workflow of the run as it is in a file, checked.
fn definition(
    world: &CliContext,
    handle: &RuntimeHandle,
    run: &RunSummary,
    file: &std::path::Path,
) -> Result<WorkflowProgram> {
    let record = handle.load_record(run.id.as_str()).map_err(store_error)?;
    let agents = record.program.workflows.iter().flat_map(|workflow| &workflow.agents);
    // a run on scripted replies needs no model, and neither does its fork
    let scripted = agents.into_iter().any(|agent| agent.choice.provider == "scripted");
    let overrides = if scripted { world.scripted("the run") } else { world.overrides.clone() };
    let file = read_workflow(file)?;
    let (catalog, _) = load(world, overrides, Some(file.clone()))?;
    diagnostics::sound(&catalog)?;
    let (heads, found) = synthdev_config::workflow_file::read_heads(&file);
    let Some(first) = heads.first() else {
        diagnostics::print_diagnostics(&catalog, &found);
        bail!("{} holds no workflow", file.name);
    };
    let same = heads.iter().find(|head| head.name == run.workflow).unwrap_or(first);
    match catalog.check(&same.name) {
        Ok((mut program, warnings)) => {
            diagnostics::print_diagnostics(&catalog, &warnings);
            windows::learn_first(&catalog, &mut program)?;
            keep_windows(&mut program, &record.program);
            Ok(program)
        }
        Err(found) => Err(diagnostics::refused(&catalog, &found)),
    }
}

fn say(text: &str) -> std::io::Result<()> {
    writeln!(TerminalSafeWriter(&mut std::io::stdout().lock()), "{text}")
}
