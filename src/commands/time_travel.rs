//! Time travel: steps, forks, rewinding, undo, replay, cancel, and why a step was taken.
//!
//! Changes files only in the project that the run worked in, and only after showing them.

mod restore_files;
mod run_snapshots;

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};

use self::restore_files::confirm_restore;
use self::run_snapshots::ProjectRunSnapshots;
use super::diagnostics;
use super::read_only::{error_with_hint, open_reader, store_error};
use super::run_command::{load_catalog, read_workflow};
use super::run_to_end::build_runtime;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring::WiredRuntime;
use synthdev_cli::output::{TerminalSafeWriter, print_stderr, safe_name};
use synthdev_cli::time_travel::ForkReport;
use synthdev_cli::{exit, json_output, snapshots, time_travel};
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::RunSummary;
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_service::conversations::is_conversation;
use synthdev_service::data_assignments::parse_assignment;
use synthdev_service::named_step::NamedStep;
use synthdev_service::run_control::{self, ControlAction};
use synthdev_service::run_place::{RunOperation, RunPlace};
use synthdev_service::run_reports::{self, ReplayVerdict, RunStep};
use synthdev_service::time_travel::{
    FileScope, ForkChanges, ForkOutcome, TimeTravelError, TimeTravelNote, TimeTravelService,
};
use synthdev_session::context_windows;
use synthdev_settings::catalog::context_windows::copy_known_windows;

pub(crate) struct ForkArgs {
    pub(crate) run: String,
    pub(crate) at: NamedStep,
    pub(crate) set: Vec<String>,
    pub(crate) definition: Option<PathBuf>,
    pub(crate) restore_files: bool,
    pub(crate) yes: bool,
    pub(crate) json: bool,
}

pub(crate) fn show_steps(context: &StartContext, run: &str, json: bool) -> Result<u8> {
    let (wired, run) = find_run(context, run)?;
    let steps = run_reports::list_steps(&wired.handle, &run.id).map_err(store_error)?;
    time_travel::write_steps(&run, &steps, json, &mut std::io::stdout().lock())?;
    Ok(exit::COMPLETED)
}

pub(crate) fn fork_run(context: &StartContext, fork: &ForkArgs) -> Result<u8> {
    let set = fork.set.iter().map(|given| parse_assignment(given).map_err(|error| anyhow!("--set {error}")));
    let set = set.collect::<Result<Vec<_>>>()?;
    let (wired, run) = find_run(context, &fork.run)?;
    let program = match &fork.definition {
        None => None,
        Some(file) => Some(current_definition(context, &wired.handle, &run, file)?),
    };
    let snapshots = ProjectRunSnapshots::new(context, &wired);
    let service = TimeTravelService::new(&wired.handle, &snapshots);
    let scope = FileScope::of_fork(fork.restore_files);
    let at = fork.at.find(&wired.handle, &run.id).map_err(store_error)?;
    let changes = ForkChanges { set, program };
    let plan = service.plan_fork(&run, at, scope, changes).map_err(time_travel_error)?;
    let notes: Vec<String> = plan.notes.iter().map(fork_note).collect();
    if let Some(files) = plan.files.restore_plan() {
        notes.iter().for_each(|note| print_stderr(format_args!("note: {note}")));
        if !confirm_restore(files, &step_moment(&plan.step), fork.yes, "not forked")? {
            return Ok(exit::CANCELLED);
        }
    }
    let step = plan.step.clone();
    let ForkOutcome { run: new, restored } = service.fork(plan).map_err(time_travel_error)?;
    if let (Some(restored), false) = (&restored, fork.json) {
        restore_files::print_restored(restored);
    }
    let resume_command = resume_command(context, &wired.handle, &run, &new);
    let forked = ForkReport {
        run: &new,
        forked_from: &run.id,
        step: &step,
        restored: restored.as_ref(),
        notes: &notes,
        resume_command: &resume_command,
    };
    time_travel::write_fork(&forked, fork.json, &mut std::io::stdout().lock())?;
    Ok(exit::COMPLETED)
}

pub(crate) fn rewind_run(
    context: &StartContext,
    run: &str,
    to: &NamedStep,
    keep_files: bool,
    yes: bool,
) -> Result<u8> {
    let (wired, run) = find_run(context, run)?;
    let snapshots = ProjectRunSnapshots::new(context, &wired);
    let service = TimeTravelService::new(&wired.handle, &snapshots);
    let scope = FileScope::of_rewind(keep_files);
    let to = to.find(&wired.handle, &run.id).map_err(store_error)?;
    let plan = service.plan_rewind(&run, to, scope).map_err(time_travel_error)?;
    plan.notes.iter().for_each(|note| print_stderr(format_args!("note: {note}")));
    let step = &plan.step;
    let agreed = match plan.files.restore_plan() {
        Some(files) => confirm_restore(files, &step_moment(step), yes, "not rewound")?,
        None => {
            let question = format!("go back {}?", step_moment(step));
            restore_files::ask_confirmation(yes, "not rewound", &question)?
        }
    };
    if !agreed {
        return Ok(exit::CANCELLED);
    }
    let restored = service.rewind(&plan).map_err(time_travel_error)?;
    restored.iter().for_each(restore_files::print_restored);
    let command = resume_command(context, &wired.handle, &run, &run.id);
    time_travel::write_rewind(&run.id, step, &command, &mut std::io::stdout().lock())?;
    Ok(exit::COMPLETED)
}

pub(crate) fn undo_run(context: &StartContext, run: &str, yes: bool) -> Result<u8> {
    let (wired, run) = find_run(context, run)?;
    let snapshots = ProjectRunSnapshots::new(context, &wired);
    let service = TimeTravelService::new(&wired.handle, &snapshots);
    let plan = service.plan_undo(&run).map_err(time_travel_error)?;
    let files = &plan.files;
    let but = snapshots::unrestored_suffix(&files.unrestored);
    if let Some(nothing) = plan.nothing_to_undo_text() {
        print_text(&nothing)?;
        restore_files::print_unrestored(files);
        return Ok(exit::COMPLETED);
    }
    let moment = if plan.is_imported() {
        format!("before run {} began to work here", run.id)
    } else {
        format!("before run {}", run.id)
    };
    if !confirm_restore(files, &moment, yes, "not undone")? {
        return Ok(exit::CANCELLED);
    }
    restore_files::print_restored(&service.undo(&plan).map_err(time_travel_error)?);
    print_text(&format!(
        "the files are as before run {}{but}; what it said and did stays in the history",
        run.id
    ))?;
    Ok(exit::COMPLETED)
}

/// What resumes a run, or a fork of it, from here.
fn resume_command(
    context: &StartContext,
    handle: &RuntimeHandle,
    run: &RunSummary,
    resumed: &RunId,
) -> String {
    let is_chat = is_conversation(handle, run);
    let operation = if is_chat { RunOperation::Reopen } else { RunOperation::Resume };
    RunPlace::of_run(run, &context.project.display().to_string()).command_line(resumed, operation)
}

/// `before step 3 (review)`
fn step_moment(step: &RunStep) -> String {
    format!("before step {} ({})", step.step, safe_name(&step.state))
}

/// The note, with the option that does otherwise.
fn fork_note(note: &TimeTravelNote) -> String {
    match note {
        TimeTravelNote::KeptFilesDiffer { .. } => format!("{note} (--restore-files brings them back)"),
        TimeTravelNote::AllBranchesRepeated { .. }
        | TimeTravelNote::OtherBranchesRepeated { .. }
        | TimeTravelNote::OlderFiles { .. }
        | TimeTravelNote::ForkLeavesWorktree
        | TimeTravelNote::KeptFilesUnknown { .. }
        | TimeTravelNote::NewKey { .. } => note.to_string(),
    }
}

fn time_travel_error(error: TimeTravelError) -> anyhow::Error {
    error_with_hint(&error.to_string(), error.hint().as_deref())
}

pub(crate) fn replay_run(context: &StartContext, run: &str, json: bool) -> Result<u8> {
    let (wired, run) = find_run(context, run)?;
    let verdict = run_reports::verify_replay(&wired.handle, &run.id).map_err(store_error)?;
    time_travel::write_replay_verdict(&run.id, &verdict, json, &mut std::io::stdout().lock())?;
    Ok(if matches!(verdict, ReplayVerdict::Same { .. }) { exit::COMPLETED } else { exit::FAILED })
}

pub(crate) fn control_run(context: &StartContext, run: &str, wanted: ControlAction) -> Result<u8> {
    let handle = open_reader(context)?.handle;
    let done = build_runtime()?.block_on(async {
        handle.refresh_from_server(run).await;
        let run = handle.summary(run).map_err(store_error)?;
        Ok::<_, anyhow::Error>(run_control::control_run(&handle, &run, wanted).await)
    })?;
    let done = done.map_err(|error| error_with_hint(&error.to_string(), error.hint()))?;
    print_text(&done.to_string())?;
    Ok(exit::COMPLETED)
}

pub(crate) fn explain_step(context: &StartContext, run: &str, step: &NamedStep, json: bool) -> Result<u8> {
    let (wired, run) = find_run(context, run)?;
    let step = step.find(&wired.handle, &run.id).map_err(store_error)?;
    if json {
        let why = run_reports::explain_step(&wired.handle, &run.id, step).map_err(store_error)?;
        json_output::write_pretty_json(&why, &mut std::io::stdout().lock())?;
    } else {
        let text = run_reports::explain_step_text(&wired.handle, &run.id, step).map_err(store_error)?;
        print_text(&text)?;
    }
    Ok(exit::COMPLETED)
}

fn find_run(context: &StartContext, run: &str) -> Result<(WiredRuntime, RunSummary)> {
    let wired = open_reader(context)?;
    let run = wired.handle.summary(run).map_err(store_error)?;
    // an isolated run has files of its own, so it needs no lock
    Ok(if run.worktree.is_some() { (wired.without_project_lock(), run) } else { (wired, run) })
}

/// The present definition of the run's workflow, checked.
fn current_definition(
    context: &StartContext,
    handle: &RuntimeHandle,
    run: &RunSummary,
    file: &std::path::Path,
) -> Result<WorkflowProgram> {
    let record = handle.load_record(run.id.as_str()).map_err(store_error)?;
    let agents = record.program.workflows.iter().flat_map(|workflow| &workflow.agents);
    // a run on scripted replies needs no model, and neither does its fork
    let scripted = agents.into_iter().any(|agent| agent.choice.provider == "scripted");
    let overrides = if scripted { context.scripted_overrides("the run") } else { context.overrides.clone() };
    let file = read_workflow(file)?;
    let (catalog, _) = load_catalog(context, overrides, Some(file.clone()))?;
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
            context_windows::ask_windows_before_recording(&catalog, &mut program)?;
            copy_known_windows(&mut program, &record.program);
            Ok(program)
        }
        Err(found) => Err(diagnostics::definition_error(&catalog, &found)),
    }
}

fn print_text(text: &str) -> std::io::Result<()> {
    writeln!(TerminalSafeWriter(&mut std::io::stdout().lock()), "{text}")
}
