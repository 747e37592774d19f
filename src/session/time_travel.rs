//! Going back from the screen: what it would do first, then doing it. Blocking.

use std::sync::Arc;

use super::error_text::to_slash_commands;
use super::past_runs::{
    ensure_runs_in_project, ensure_same_project, list_error_text, store_error_text, with_hint,
};
use synthdev_bootstrap::wiring::WiredRuntime;
use synthdev_cli::snapshots;
use synthdev_domain::journal::{RunQuery, RunSummary};
use synthdev_domain::snapshot::SnapshotRestoreResult;
use synthdev_ports::snapshot::SnapshotPort;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_service::run_list::find_runs;
use synthdev_service::run_reports::explain_step_text;
use synthdev_service::session::{
    ActionPreview, RunRequest, RunStepList, TimeTravelOutcome, TimeTravelRequest,
};
use synthdev_service::time_travel::{
    DataAssignment, FileRestorePlan, FileScope, ForkChanges, RunSnapshots, StepFiles, StepPlan,
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
    let steps = handle.steps(&summary.id).map_err(|error| store_error_text(&error))?;
    let steps = steps.into_iter().map(|place| (place.step, place.state, place.files.is_some())).collect();
    Ok(RunStepList { run: summary.id, workflow: summary.workflow, steps })
}

/// Why a step was taken, with its run.
pub(crate) fn explain_step(
    handle: &RuntimeHandle,
    home: &str,
    run: Option<&str>,
    step: u32,
) -> Result<String, String> {
    let summary = find_run(handle, home, run, |_| true)?;
    let why = explain_step_text(handle, &summary.id, step).map_err(|error| {
        let steps = format!("/why {} lists its steps", summary.id);
        to_slash_commands(&with_hint(&error.message, Some(&steps)))
    })?;
    Ok(format!("{} {}\n{why}", summary.workflow, summary.id))
}

/// What would happen. Changes nothing.
pub(crate) fn plan_travel(
    wired: &WiredRuntime,
    home: &str,
    travel: TimeTravelRequest,
) -> Result<ActionPreview, String> {
    let snapshots = ScreenRunSnapshots(wired);
    let service = TimeTravelService::new(&wired.handle, &snapshots);
    match travel {
        TimeTravelRequest::Undo { run } => {
            let summary = find_undoable_run(wired, home, run.as_deref())?;
            Ok(preview_undo(&service.plan_undo(&summary).map_err(error_text)?))
        }
        TimeTravelRequest::Rewind { run, step } => {
            let summary = find_steppable_run(&wired.handle, home, run.as_deref(), step)?;
            let plan = service.plan_rewind(&summary, step, FileScope::Restored).map_err(error_text)?;
            Ok(preview_rewind(&plan))
        }
        TimeTravelRequest::Fork { run, step, set } => {
            let summary = find_steppable_run(&wired.handle, home, run.as_deref(), step)?;
            let changes = ForkChanges { set: set.clone(), program: None };
            let plan = service.plan_fork(&summary, step, FileScope::Kept, changes).map_err(error_text)?;
            Ok(ActionPreview {
                title: format!("Fork {} {} before step {step}?", summary.workflow, summary.id),
                body: format!("A new run begins with `{}`.{}", plan.step.state, note_paragraph(&plan.notes)),
                request: travel_request(TimeTravelRequest::Fork {
                    run: Some(summary.id.to_string()),
                    step,
                    set,
                }),
            })
        }
    }
}

fn preview_undo(plan: &UndoPlan) -> ActionPreview {
    let (run, beyond) = (&plan.run.id, unrestored_lines(&plan.files));
    let files = &plan.files;
    let count = snapshots::file_count_text(files.changes.len());
    let title = format!("Undo {} {run}: {count}?", plan.run.workflow);
    if plan.is_empty() {
        let but = if beyond.is_empty() { "" } else { ", but for this" };
        let body = format!("nothing to undo: the files are as they were before run {run}{but}{beyond}");
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

fn preview_rewind(plan: &StepPlan) -> ActionPreview {
    let (run, step, state) = (&plan.run.id, plan.step.step, &plan.step.state);
    let notes = note_paragraph(&plan.notes);
    let told = rewound_files(&plan.files);
    ActionPreview {
        title: format!("Rewind {} {run} to before step {step}, {state}?", plan.run.workflow),
        body: format!(
            "Conversation and data go back to before `{state}`. Later steps are discarded, but their cost \
             remains.{notes}\n\n{told}"
        ),
        request: travel_request(TimeTravelRequest::Rewind { run: Some(run.to_string()), step }),
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
        StepFiles::Unknown { reason } => {
            return format!("The files of this step cannot be restored: {reason}. They stay as they are.");
        }
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
    wired: &WiredRuntime,
    home: &str,
    travel: TimeTravelRequest,
) -> Result<TimeTravelOutcome, String> {
    let snapshots = ScreenRunSnapshots(wired);
    let service = TimeTravelService::new(&wired.handle, &snapshots);
    match travel {
        TimeTravelRequest::Undo { run } => {
            let summary = find_undoable_run(wired, home, run.as_deref())?;
            let plan = service.plan_undo(&summary).map_err(error_text)?;
            let done = service.undo(&plan).map_err(error_text)?;
            let text = to_slash_commands(&snapshots::restored_text(&done));
            Ok(TimeTravelOutcome { text, resumable_run: None })
        }
        TimeTravelRequest::Rewind { run, step } => {
            let summary = find_steppable_run(&wired.handle, home, run.as_deref(), step)?;
            let plan = service.plan_rewind(&summary, step, FileScope::Restored).map_err(error_text)?;
            let restored = service.rewind(&plan).map_err(error_text)?;
            Ok(rewound_outcome(&plan, restored))
        }
        TimeTravelRequest::Fork { run, step, set } => {
            let summary = find_steppable_run(&wired.handle, home, run.as_deref(), step)?;
            let with = assignments_text(&set);
            let changes = ForkChanges { set, program: None };
            let plan = service.plan_fork(&summary, step, FileScope::Kept, changes).map_err(error_text)?;
            let notes: String = plan.notes.iter().map(|note| format!("\nnote: {note}")).collect();
            let state = plan.step.state.clone();
            let fork = service.fork(plan).map_err(error_text)?.run;
            let text = format!(
                "run {fork} starts before step {step}, {state}, of {}{with}\nthe files stay as they are now{notes}",
                summary.id
            );
            Ok(TimeTravelOutcome { text, resumable_run: Some(fork) })
        }
    }
}

pub(crate) const SAFE: &str = "A snapshot of the current files is taken first, so this can be undone.";

fn rewound_outcome(plan: &StepPlan, restored: Option<SnapshotRestoreResult>) -> TimeTravelOutcome {
    let (run, step) = (&plan.run.id, &plan.step);
    let restored = restored.filter(|done| !done.files.is_empty() || !done.beyond.is_empty());
    let files = restored.map_or_else(
        || "no file had to change".to_owned(),
        |done| to_slash_commands(&snapshots::restored_text(&done)),
    );
    let text = format!("run {run} is back before step {}, {}\n{files}", step.step, step.state);
    TimeTravelOutcome { text, resumable_run: Some(run.clone()) }
}

/// ` with a.b = 1, c = 2`
fn assignments_text(set: &[DataAssignment]) -> String {
    let set: Vec<String> = set.iter().map(|(path, value)| format!("{} = {value}", path.join("."))).collect();
    if set.is_empty() { String::new() } else { format!(" with {}", set.join(", ")) }
}

/// The screen changes the files of its own project only.
struct ScreenRunSnapshots<'w>(&'w WiredRuntime);

impl RunSnapshots for ScreenRunSnapshots<'_> {
    fn of_run(&self, _: &RunSummary) -> Result<Arc<dyn SnapshotPort>, TimeTravelError> {
        Ok(self.of_project())
    }

    fn of_project(&self) -> Arc<dyn SnapshotPort> {
        Arc::clone(&self.0.ports.snapshots)
    }
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

fn find_undoable_run(wired: &WiredRuntime, home: &str, run: Option<&str>) -> Result<RunSummary, String> {
    let summary = find_run(&wired.handle, home, run, |run| run.progress.snapshot.is_some())?;
    let id = &summary.id;
    ensure_same_project(&summary, home, &|project| format!("synthdev{project} runs undo {id}"))?;
    Ok(summary)
}

fn find_steppable_run(
    handle: &RuntimeHandle,
    home: &str,
    run: Option<&str>,
    step: u32,
) -> Result<RunSummary, String> {
    let summary = find_run(handle, home, run, |_| true)?;
    let run = &summary.id;
    ensure_runs_in_project(&summary, home, &|project| {
        format!("synthdev{project} runs rewind {run} --to {step}")
    })?;
    handle
        .find_step(run, step)
        .map_err(|error| with_hint(&error.message, Some(&format!("/rewind {run} lists its steps"))))?;
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
