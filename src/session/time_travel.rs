//! Going back from the screen: what it would do first, then doing it. Blocking.

use std::path::Path;
use std::sync::Arc;

use super::error_text::to_slash_commands;
use super::isolated_runs::IsolatedRuns;
use super::past_runs::{list_error_text, store_error_text, with_hint};
use synthdev_bootstrap::wiring::WiredRuntime;
use synthdev_cli::snapshots;
use synthdev_domain::journal::{RunQuery, RunSummary};
use synthdev_domain::snapshot::{RunWorktree, SnapshotRestoreResult};
use synthdev_ports::snapshot::SnapshotPort;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_service::named_step::NamedStep;
use synthdev_service::run_list::find_runs;
use synthdev_service::run_place::{RunOperation, RunPlace, RunPlaceError};
use synthdev_service::run_reports::{explain_step_text, list_steps as list_run_steps};
use synthdev_service::session::{
    ActionPreview, RunRequest, RunStepList, TimeTravelOutcome, TimeTravelRequest,
};
use synthdev_service::time_travel::{
    DataAssignment, FileRestorePlan, FileScope, ForkChanges, ForkOutcome, RunSnapshots, StepFiles, StepPlan,
    TimeTravelError, TimeTravelNote, TimeTravelService, UndoPlan,
};

/// Runs that are looked through for the last one that could have changed files.
const LOOKED_THROUGH: usize = 50;

pub(crate) fn list_steps(
    handle: &RuntimeHandle,
    home: &str,
    run: Option<String>,
) -> Result<RunStepList, String> {
    let summary = find_run(handle, home, run.as_deref(), |_| true)?;
    let steps = list_run_steps(handle, &summary.id).map_err(|error| store_error_text(&error))?;
    let steps = steps.into_iter().map(|place| (place.step, place.state, place.files.is_some())).collect();
    Ok(RunStepList { run: summary.id, workflow: summary.workflow, steps })
}

/// Why a step was taken, with its run.
pub(crate) fn explain_step(
    handle: &RuntimeHandle,
    home: &str,
    run: Option<&str>,
    step: &NamedStep,
) -> Result<String, String> {
    let summary = find_run(handle, home, run, |_| true)?;
    let step = find_step(handle, &summary, step)?;
    let why = explain_step_text(handle, &summary.id, step).map_err(|error| store_error_text(&error))?;
    Ok(format!("{} {}\n{why}", summary.workflow, summary.id))
}

/// What would happen. Changes nothing.
pub(crate) fn plan_travel(
    elsewhere: &IsolatedRuns,
    home: &str,
    travel: TimeTravelRequest,
) -> Result<ActionPreview, String> {
    let summary = find_travelling_run(&elsewhere.current_runtime().handle, home, &travel)?;
    let snapshots = ScreenRunSnapshots::new(elsewhere, home, &summary);
    let wired = snapshots.runtime();
    let service = TimeTravelService::new(&wired.handle, &snapshots);
    match travel {
        TimeTravelRequest::Undo { .. } => Ok(preview_undo(&service.plan_undo(&summary).map_err(error_text)?)),
        TimeTravelRequest::Rewind { step, keep_files, .. } => {
            let step = find_step(&wired.handle, &summary, &step)?;
            match service.plan_rewind(&summary, step, FileScope::of_rewind(keep_files)) {
                Ok(plan) => Ok(preview_rewind(&plan, keep_files, None)),
                Err(refusal @ TimeTravelError::FilesNotRestorable { .. }) => {
                    let plan = service.plan_rewind(&summary, step, FileScope::Kept).map_err(error_text)?;
                    Ok(preview_rewind(&plan, true, Some(&refusal)))
                }
                Err(error) => Err(error_text(error)),
            }
        }
        TimeTravelRequest::Fork { step, set, restore_files, .. } => {
            let step = find_step(&wired.handle, &summary, &step)?;
            let changes = ForkChanges { set: set.clone(), program: None };
            let scope = FileScope::of_fork(restore_files);
            let plan = service.plan_fork(&summary, step, scope, changes).map_err(error_text)?;
            Ok(preview_fork(&plan, set, restore_files))
        }
    }
}

fn preview_undo(plan: &UndoPlan) -> ActionPreview {
    let (run, beyond) = (&plan.run.id, unrestored_lines(&plan.files));
    let files = &plan.files;
    let count = snapshots::file_count_text(files.changes.len());
    let title = format!("Undo {} {run}: {count}?", plan.run.workflow);
    if let Some(nothing) = plan.nothing_to_undo_text() {
        let body = format!("{}{beyond}", to_slash_commands(&nothing));
        return ActionPreview { title, body, request: None };
    }
    let others = snapshots::other_changes_text(&files.changes, files.run_changes.as_ref());
    let others = if others.is_empty() { others } else { format!("\n\nNote: {others}") };
    ActionPreview {
        title,
        body: format!("{}{others}{beyond}\n\n{SAFE}", list_file_changes(files)),
        request: travel_request(TimeTravelRequest::Undo { run: Some(run.to_string()) }),
    }
}

/// `refusal`: why the files cannot go back, so that keeping them is what the user agrees to.
fn preview_rewind(plan: &StepPlan, keep_files: bool, refusal: Option<&TimeTravelError>) -> ActionPreview {
    let (run, step, state) = (&plan.run.id, plan.step.step, &plan.step.state);
    let notes = note_paragraph(&plan.notes);
    let told = match refusal {
        Some(refusal) => format!("Note: {refusal}. If you agree, the present files stay as they are."),
        None => rewound_files(&plan.files),
    };
    let kept = if refusal.is_some() { " and keep the present files" } else { "" };
    let run_id = Some(run.to_string());
    ActionPreview {
        title: format!("Rewind {} {run} to before step {step}, {state}{kept}?", plan.run.workflow),
        body: format!(
            "Conversation and data go back to before `{state}`. Later steps are discarded, but their cost \
             remains.{notes}\n\n{told}"
        ),
        request: travel_request(TimeTravelRequest::Rewind { run: run_id, step: step.into(), keep_files }),
    }
}

fn preview_fork(plan: &StepPlan, set: Vec<DataAssignment>, restore_files: bool) -> ActionPreview {
    let (run, step, state) = (&plan.run.id, plan.step.step, &plan.step.state);
    let (notes, files) = (note_paragraph(&plan.notes), rewound_files(&plan.files));
    let run_id = Some(run.to_string());
    ActionPreview {
        title: format!("Fork {} {run} before step {step}, {state}?", plan.run.workflow),
        body: format!(
            "A new run begins with `{state}`{}; the other one stays.{notes}\n\n{files}",
            assignments_text(plan.assignments())
        ),
        request: travel_request(TimeTravelRequest::Fork {
            run: run_id,
            step: step.into(),
            set,
            restore_files,
        }),
    }
}

fn travel_request(travel: TimeTravelRequest) -> Option<RunRequest> {
    Some(RunRequest::Travel(travel))
}

/// What happens to the files when a run is rewound to a step.
fn rewound_files(files: &StepFiles) -> String {
    let files = match files {
        StepFiles::Restored(files) => files,
        StepFiles::Kept => return "The files stay as they are.".to_owned(),
    };
    let beyond = unrestored_lines(files);
    if files.changes.is_empty() {
        let but = if beyond.is_empty() { "" } else { ", but for this" };
        return format!("The files are as they were then{but}.{beyond}");
    }
    format!("The files, too:\n{}{beyond}\n\n{SAFE}", list_file_changes(files))
}

/// Does it.
pub(crate) fn travel_to_step(
    elsewhere: &IsolatedRuns,
    home: &str,
    travel: TimeTravelRequest,
) -> Result<TimeTravelOutcome, String> {
    let summary = find_travelling_run(&elsewhere.current_runtime().handle, home, &travel)?;
    let snapshots = ScreenRunSnapshots::new(elsewhere, home, &summary);
    let wired = snapshots.runtime();
    let service = TimeTravelService::new(&wired.handle, &snapshots);
    match travel {
        TimeTravelRequest::Undo { .. } => {
            let plan = service.plan_undo(&summary).map_err(error_text)?;
            let done = service.undo(&plan).map_err(error_text)?;
            let text = to_slash_commands(&snapshots::restored_text(&done));
            Ok(TimeTravelOutcome { text, resumable_run: None })
        }
        TimeTravelRequest::Rewind { step, keep_files, .. } => {
            let (scope, step) =
                (FileScope::of_rewind(keep_files), find_step(&wired.handle, &summary, &step)?);
            let plan = service.plan_rewind(&summary, step, scope).map_err(error_text)?;
            let restored = service.rewind(&plan).map_err(error_text)?;
            Ok(rewound_outcome(&plan, restored))
        }
        TimeTravelRequest::Fork { step, set, restore_files, .. } => {
            let step = find_step(&wired.handle, &summary, &step)?;
            let (scope, changes) = (FileScope::of_fork(restore_files), ForkChanges { set, program: None });
            let plan = service.plan_fork(&summary, step, scope, changes).map_err(error_text)?;
            let with = assignments_text(plan.assignments());
            let notes: String = plan.notes.iter().map(|note| fork_note(&plan, note)).collect();
            let (step, state) = (plan.step.step, plan.step.state.clone());
            let are_kept = plan.files.restore_plan().is_none();
            let ForkOutcome { run: fork, restored } = service.fork(plan).map_err(error_text)?;
            let files = files_text(are_kept, "the files stay as they are now", restored);
            let text = format!(
                "run {fork} starts before step {step}, {state}, of {}{with}\n{files}{notes}",
                summary.id
            );
            Ok(TimeTravelOutcome { text, resumable_run: Some(fork) })
        }
    }
}

pub(crate) const SAFE: &str = "A snapshot of the current files is taken first, so this can be undone.";

fn rewound_outcome(plan: &StepPlan, restored: Option<SnapshotRestoreResult>) -> TimeTravelOutcome {
    let (run, step) = (&plan.run.id, &plan.step);
    let are_kept = plan.files.restore_plan().is_none();
    let files = files_text(are_kept, "the files stay as they are", restored);
    let text = format!("run {run} is back before step {}, {}\n{files}", step.step, step.state);
    TimeTravelOutcome { text, resumable_run: Some(run.clone()) }
}

/// What has happened to the files; `kept`: that they stay.
fn files_text(are_kept: bool, kept: &str, restored: Option<SnapshotRestoreResult>) -> String {
    match restored.filter(|done| !done.files.is_empty() || !done.beyond.is_empty()) {
        Some(done) => to_slash_commands(&snapshots::restored_text(&done)),
        None if are_kept => kept.to_owned(),
        None => "no file had to change".to_owned(),
    }
}

/// A line on a fork that was made, with the way to other files.
fn fork_note(plan: &StepPlan, note: &TimeTravelNote) -> String {
    match note {
        TimeTravelNote::KeptFilesDiffer { step, .. } => {
            format!("\nnote: {note} (/fork {} {step} --restore-files makes one with those)", plan.run.id)
        }
        note => format!("\nnote: {note}"),
    }
}

/// ` with a.b = 1, c = 2`
fn assignments_text(set: &[DataAssignment]) -> String {
    let set: Vec<String> = set.iter().map(|(path, value)| format!("{} = {value}", path.join("."))).collect();
    if set.is_empty() { String::new() } else { format!(" with {}", set.join(", ")) }
}

/// The files of this project, and of the worktree in which the run works.
struct ScreenRunSnapshots<'e> {
    elsewhere: &'e IsolatedRuns,
    project: &'e str,
    /// Where the run works: an isolated run takes no lock on the project's files.
    wired: Result<Arc<WiredRuntime>, RunPlaceError>,
}

impl<'e> ScreenRunSnapshots<'e> {
    fn new(elsewhere: &'e IsolatedRuns, project: &'e str, run: &RunSummary) -> Self {
        Self { elsewhere, project, wired: elsewhere.runtime_for_run(run) }
    }

    /// Of a run whose worktree is gone that of the project: its history is there, too.
    fn runtime(&self) -> Arc<WiredRuntime> {
        self.wired.as_ref().map_or_else(|_| self.elsewhere.shared_runtime(), Arc::clone)
    }
}

impl RunSnapshots for ScreenRunSnapshots<'_> {
    fn project(&self) -> &str {
        self.project
    }

    fn of_project(&self) -> Arc<dyn SnapshotPort> {
        Arc::clone(&self.elsewhere.current_runtime().ports.snapshots)
    }

    fn of_worktree(&self, _: &RunWorktree) -> Result<Arc<dyn SnapshotPort>, TimeTravelError> {
        match &self.wired {
            Ok(wired) => Ok(Arc::clone(&wired.ports.snapshots)),
            Err(error) => Err(error.clone().into()),
        }
    }

    fn is_directory(&self, path: &str) -> bool {
        Path::new(path).is_dir()
    }
}

fn find_step(handle: &RuntimeHandle, run: &RunSummary, step: &NamedStep) -> Result<u32, String> {
    step.find(handle, &run.id).map_err(|error| store_error_text(&error))
}

fn error_text(error: TimeTravelError) -> String {
    to_slash_commands(&with_hint(&error.to_string(), error.hint().as_deref()))
}

/// The run that was named, or the newest one of this project that will do.
fn find_run(
    handle: &RuntimeHandle,
    home: &str,
    run: Option<&str>,
    will_do: impl Fn(&RunSummary) -> bool,
) -> Result<RunSummary, String> {
    if let Some(run) = run {
        return handle.summary(run).map_err(|error| store_error_text(&error));
    }
    let query = RunQuery { project: Some(home.to_owned()), ..RunQuery::newest(LOOKED_THROUGH) };
    let list = find_runs(handle, &query).map_err(|error| list_error_text(&error))?;
    let found = list.into_iter().find(|run| run.worktree.is_none() && will_do(run));
    found.ok_or_else(|| "there is no such run of this project — /runs lists all".to_owned())
}

/// The run of a request. The screen opens a run that went back, so it has to be one of this project.
fn find_travelling_run(
    handle: &RuntimeHandle,
    home: &str,
    travel: &TimeTravelRequest,
) -> Result<RunSummary, String> {
    let (run, operation) = match travel {
        TimeTravelRequest::Undo { run } => (run, RunOperation::Undo),
        TimeTravelRequest::Rewind { run, step, .. } => (run, RunOperation::Rewind { step: step.number() }),
        TimeTravelRequest::Fork { run, step, restore_files, .. } => {
            (run, RunOperation::Fork { step: step.number(), restores_files: *restore_files })
        }
    };
    let will_do = |run: &RunSummary| operation != RunOperation::Undo || run.progress.snapshot.is_some();
    let summary = find_run(handle, home, run.as_deref(), will_do)?;
    let refused = |error: RunPlaceError| error_text(error.into());
    let place = RunPlace::of_run(&summary, home).on_disk(|path| Path::new(path).is_dir());
    place.check_project(&summary.id, operation).map_err(refused)?;
    Ok(summary)
}

/// What would happen to the files; those that the run never changed are marked.
fn list_file_changes(files: &FileRestorePlan) -> String {
    snapshots::run_changes_text(&files.changes, files.run_changes.as_ref())
}

/// What does not come back, on lines of its own.
fn unrestored_lines(files: &FileRestorePlan) -> String {
    let lines = snapshots::unrestored_text(&files.unrestored);
    if lines.is_empty() { lines } else { format!("\n\n{lines}") }
}

/// A paragraph of sentences.
fn note_paragraph(notes: &[TimeTravelNote]) -> String {
    notes.iter().map(|note| format!("\n\nNote: {note}.")).collect()
}
