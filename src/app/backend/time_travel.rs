//! Going back from the screen: what it would do first, then doing it. Blocking.

use serde_json::Value;

use super::error_text::to_slash_commands;
use super::past_runs::{ensure_runs_in_project, ensure_same_project, store_error_text, with_hint};
use crate::bootstrap::WiredRuntime;
use crate::{files_changed_by_run, isolation};
use synthdev_cli::snapshots;
use synthdev_domain::ids::SnapshotId;
use synthdev_domain::journal::{RunQuery, RunSummary};
use synthdev_domain::snapshot::ChangedFile;
use synthdev_language::did_you_mean::suggestion_hint;
use synthdev_ports::snapshot::SnapshotError;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_runtime::time_travel::{RunStep, StepChanges};
use synthdev_tui::backend::{RunStepList, TimeTravelOutcome, TimeTravelPreview, TimeTravelRequest};

/// Runs that are looked through for the last one that could have changed files.
const LOOKED_THROUGH: usize = 50;

pub(super) fn list_steps(
    handle: &RuntimeHandle,
    home: &str,
    run: Option<String>,
) -> Result<RunStepList, String> {
    let summary = find_run(handle, home, run.as_deref(), |_| true)?;
    let steps = handle.steps(&summary.id).map_err(|error| store_error_text(&error))?;
    let steps = steps.into_iter().map(|place| (place.step, place.state, place.files.is_some())).collect();
    Ok(RunStepList { run: summary.id, workflow: summary.workflow, steps })
}

/// What would happen. Changes nothing.
pub(super) fn plan_travel(
    wired: &WiredRuntime,
    home: &str,
    travel: TimeTravelRequest,
) -> Result<TimeTravelPreview, String> {
    match travel {
        TimeTravelRequest::Undo { run } => {
            let (summary, snapshot) = find_undoable_run(wired, home, run.as_deref())?;
            let files = restore_changes(wired, &snapshot)?;
            let run = &summary.id;
            let beyond = unrestored_lines(wired, &snapshot)?;
            if files.is_empty() && wired.handle.interrupted_restore().is_none() {
                let but = if beyond.is_empty() { "" } else { ", but for this" };
                return Err(format!(
                    "nothing to undo: the files are as they were before run {run}{but}{beyond}"
                ));
            }
            Ok(TimeTravelPreview {
                title: format!(
                    "Undo {} {run}: {}?",
                    summary.workflow,
                    snapshots::file_count_text(files.len())
                ),
                body: format!("{}{beyond}\n\n{SAFE}", list_file_changes(wired, &summary, &files)),
                travel: TimeTravelRequest::Undo { run: Some(run.to_string()) },
            })
        }
        TimeTravelRequest::Rewind { run, step } => {
            let (summary, place) = find_step_with_files(&wired.handle, home, run.as_deref(), step)?;
            let run = &summary.id;
            let asked = step;
            let step = place.step;
            let inside = (step != asked).then(|| {
                format!(
                    "Step {asked} is in a branch of `{}`: to restore the files, the run goes back to \
                        before all its branches, and these run again.\n\n",
                    place.state
                )
            });
            let inside = inside.unwrap_or_default();
            let told = rewound_files(wired, &summary, &place)?;
            let state = &place.state;
            Ok(TimeTravelPreview {
                title: format!("Rewind {} {run} to before step {step}, {state}?", summary.workflow),
                body: format!(
                    "{inside}Conversation and data go back to before `{state}`. Later steps \
                        are discarded, but their cost remains.\n\n{told}"
                ),
                travel: TimeTravelRequest::Rewind { run: Some(run.to_string()), step },
            })
        }
        TimeTravelRequest::Fork { run, step, set } => {
            let (summary, place) = find_step(&wired.handle, home, run.as_deref(), step)?;
            let travel = TimeTravelRequest::Fork { run: Some(summary.id.to_string()), step, set };
            let title = format!("Fork {} {} before step {step}?", summary.workflow, summary.id);
            Ok(TimeTravelPreview { travel, title, body: format!("A new run begins with `{}`.", place.state) })
        }
    }
}

/// What happens to the files when a run is rewound to a step.
fn rewound_files(wired: &WiredRuntime, run: &RunSummary, place: &RunStep) -> Result<String, String> {
    let Some(snapshot) = &place.files else {
        return Ok("No files were stored by then: they stay as they are.".to_owned());
    };
    let (files, beyond) = (restore_changes(wired, snapshot)?, unrestored_lines(wired, snapshot)?);
    if files.is_empty() {
        let but = if beyond.is_empty() { "" } else { ", but for this" };
        return Ok(format!("The files are as they were then{but}.{beyond}"));
    }
    let note = step_files_note(place).map(|note| format!("{note}\n")).unwrap_or_default();
    Ok(format!("The files, too:\n{note}{}{beyond}\n\n{SAFE}", list_file_changes(wired, run, &files)))
}

/// Does it.
pub(super) fn travel_to_step(
    wired: &WiredRuntime,
    home: &str,
    travel: TimeTravelRequest,
) -> Result<TimeTravelOutcome, String> {
    match travel {
        TimeTravelRequest::Undo { run } => {
            let (summary, snapshot) = find_undoable_run(wired, home, run.as_deref())?;
            let snapshots = &*wired.ports.snapshots;
            let done = wired
                .handle
                .undo(&summary.id, &snapshot, snapshots)
                .map_err(|error| to_slash_commands(&store_error_text(&error)))?;
            Ok(TimeTravelOutcome {
                text: to_slash_commands(&snapshots::restored_text(&done)),
                resumable_run: None,
            })
        }
        TimeTravelRequest::Rewind { run, step } => {
            let (summary, place) = find_step_with_files(&wired.handle, home, run.as_deref(), step)?;
            rewind_run(wired, &summary, &place)
        }
        TimeTravelRequest::Fork { run, step, set } => {
            let (summary, place) = find_step(&wired.handle, home, run.as_deref(), step)?;
            fork_run(wired, &summary, &place, set)
        }
    }
}

const SAFE: &str = "A snapshot of the current files is taken first, so this can be undone.";

/// The run and its files, or neither.
fn rewind_run(
    wired: &WiredRuntime,
    summary: &RunSummary,
    place: &RunStep,
) -> Result<TimeTravelOutcome, String> {
    let run = &summary.id;
    let changes = StepChanges { files: place.files.clone(), ..StepChanges::default() };
    let done = wired.handle.rewind(run, place.step, changes, &*wired.ports.snapshots);
    let restored = done
        .map_err(|error| to_slash_commands(&store_error_text(&error)))?
        .filter(|done| !done.files.is_empty() || !done.beyond.is_empty());
    let files = restored.map_or_else(
        || "no file had to change".to_owned(),
        |done| to_slash_commands(&snapshots::restored_text(&done)),
    );
    let text = format!("run {run} is back before step {}, {}\n{files}", place.step, place.state);
    Ok(TimeTravelOutcome { text, resumable_run: Some(run.clone()) })
}

/// The other run stays, and so do the files.
fn fork_run(
    wired: &WiredRuntime,
    summary: &RunSummary,
    place: &RunStep,
    set: Vec<(Vec<String>, Value)>,
) -> Result<TimeTravelOutcome, String> {
    let known =
        wired.handle.data_before(&summary.id, place.step).map_err(|error| store_error_text(&error))?;
    let changed: Vec<String> =
        set.iter().map(|(path, value)| format!("{} = {value}", path.join("."))).collect();
    let keys = set.iter().filter_map(|(path, _)| path.first());
    let new: Vec<String> = keys
        .filter(|key| !known.contains_key(*key))
        .map(|key| {
            let hint = suggestion_hint(key, known.keys().map(String::as_str));
            let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            format!("\nnote: there was no `{key}` at that step: it is new{hint}")
        })
        .collect();
    let changes = StepChanges { set, ..StepChanges::default() };
    let snapshots = &*wired.ports.snapshots;
    let (fork, _) = wired
        .handle
        .fork(&summary.id, place.step, changes, snapshots)
        .map_err(|error| store_error_text(&error))?;
    let with = if changed.is_empty() { String::new() } else { format!(" with {}", changed.join(", ")) };
    let text = format!(
        "run {fork} starts before step {}, {}, of {}{with}\nthe files stay as they are now{}",
        place.step,
        place.state,
        summary.id,
        new.concat()
    );
    Ok(TimeTravelOutcome { text, resumable_run: Some(fork) })
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
    let list = handle.find_runs(&query).map_err(|error| store_error_text(&error))?;
    let found = list.into_iter().find(|run| run.worktree.is_none() && will_do(run));
    found.ok_or_else(|| "there is no such run of this project — /runs lists all".to_owned())
}

fn find_undoable_run(
    wired: &WiredRuntime,
    home: &str,
    run: Option<&str>,
) -> Result<(RunSummary, SnapshotId), String> {
    let summary = find_run(&wired.handle, home, run, |run| run.progress.snapshot.is_some())?;
    let id = &summary.id;
    ensure_same_project(&summary, home, &|project| format!("synthdev{project} runs undo {id}"))?;
    let taken = &*wired.ports.snapshots;
    if let Some(tree) = &summary.worktree {
        let (message, hint) = isolation::undo_refusal_reason(&summary, tree, Some(taken));
        return Err(with_hint(&message, Some(&to_slash_commands(&hint))));
    }
    let snapshot = files_changed_by_run::undo_snapshot(&wired.handle, taken, &summary)?;
    Ok((summary, snapshot))
}

fn find_step(
    handle: &RuntimeHandle,
    home: &str,
    run: Option<&str>,
    step: u32,
) -> Result<(RunSummary, RunStep), String> {
    let summary = find_run(handle, home, run, |_| true)?;
    let run = &summary.id;
    ensure_runs_in_project(&summary, home, &|project| {
        format!("synthdev{project} runs rewind {run} --to {step}")
    })?;
    let place = handle
        .find_step(run, step)
        .map_err(|error| with_hint(&error.message, Some(&format!("/rewind {run} lists its steps"))))?;
    Ok((summary, place))
}

/// With its files, as far as they were stored.
fn find_step_with_files(
    handle: &RuntimeHandle,
    home: &str,
    run: Option<&str>,
    step: u32,
) -> Result<(RunSummary, RunStep), String> {
    let (summary, place) = find_step(handle, home, run, step)?;
    let whole = match &place.files {
        Some(_) => handle.step_with_files(&summary.id, step).map_err(|error| store_error_text(&error))?,
        None => place,
    };
    Ok((summary, whole))
}

fn restore_changes(wired: &WiredRuntime, snapshot: &SnapshotId) -> Result<Vec<ChangedFile>, String> {
    wired.ports.snapshots.changes(snapshot, None).map_err(|error| snapshot_error_text(&error))
}

/// What would happen to the files; those that the run never changed are marked.
fn list_file_changes(wired: &WiredRuntime, run: &RunSummary, files: &[ChangedFile]) -> String {
    snapshots::run_changes_text(
        files,
        files_changed_by_run::changed_files(&wired.handle, &*wired.ports.snapshots, run).as_ref(),
    )
}

/// What does not come back, on lines of its own.
fn unrestored_lines(wired: &WiredRuntime, snapshot: &SnapshotId) -> Result<String, String> {
    let found =
        wired.ports.snapshots.unrestored_changes(snapshot).map_err(|error| snapshot_error_text(&error))?;
    let lines = snapshots::unrestored_text(&found);
    Ok(if lines.is_empty() { lines } else { format!("\n\n{lines}") })
}

/// A note for the user if a step has no snapshot of its own.
fn step_files_note(place: &RunStep) -> Option<String> {
    (!place.exact)
        .then(|| "the snapshot of that step could not be taken: they go back to an earlier one".to_owned())
}

fn snapshot_error_text(error: &SnapshotError) -> String {
    with_hint(&error.message, error.hint.as_deref())
}
