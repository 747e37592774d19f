//! Going back from the screen: what it would do first, then doing it. Blocking.

use serde_json::Value;

use super::error_text::to_slash_commands;
use super::past_runs::{ensure_runs_in_project, ensure_same_project, store_error_text, with_hint};
use crate::{files_changed_by_run, isolation};
use synthdev_cli::snapshots;
use synthdev_config::did_you_mean::suggestion_hint;
use synthdev_domain::ids::SnapshotId;
use synthdev_domain::journal::{RunQuery, RunSummary};
use synthdev_domain::snapshot::ChangedFile;
use synthdev_ports::snapshot::SnapshotError;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_runtime::time_travel::{RunStep, StepChanges};
use synthdev_tui::backend::{RunStepList, TimeTravelOutcome, TimeTravelPreview, TimeTravelRequest};

/// Runs that are looked through for the last one that could have changed files.
const LOOKED_THROUGH: usize = 50;

pub(super) fn steps(handle: &RuntimeHandle, home: &str, run: Option<String>) -> Result<RunStepList, String> {
    let summary = found(handle, home, run.as_deref(), |_| true)?;
    let steps = handle.steps(&summary.id).map_err(|error| store_error_text(&error))?;
    let steps = steps.into_iter().map(|place| (place.step, place.state, place.files.is_some())).collect();
    Ok(RunStepList { run: summary.id, workflow: summary.workflow, steps })
}

/// What would happen. Changes nothing.
pub(super) fn plan(
    handle: &RuntimeHandle,
    home: &str,
    travel: TimeTravelRequest,
) -> Result<TimeTravelPreview, String> {
    match travel {
        TimeTravelRequest::Undo { run } => {
            let (summary, snapshot) = undoable(handle, home, run.as_deref())?;
            let files = changes(handle, &snapshot)?;
            let run = &summary.id;
            let beyond = beyond(handle, &snapshot)?;
            if files.is_empty() && handle.interrupted_restore().is_none() {
                let but = if beyond.is_empty() { "" } else { ", but for this" };
                return Err(format!(
                    "nothing to undo: the files are as they were before run {run}{but}{beyond}"
                ));
            }
            Ok(TimeTravelPreview {
                title: format!("Undo {} {run}: {}?", summary.workflow, snapshots::counted(files.len())),
                body: format!("{}{beyond}\n\n{SAFE}", listed(handle, &summary, &files)),
                travel: TimeTravelRequest::Undo { run: Some(run.to_string()) },
            })
        }
        TimeTravelRequest::Rewind { run, step } => {
            let (summary, place) = going_back(handle, home, run.as_deref(), step)?;
            let run = &summary.id;
            let asked = step;
            let step = place.step;
            let inside = (step != asked).then(|| {
                format!(
                    "Step {asked} is in a branch of `{}`: with its files the run goes back to before all its \
                     branches, and they are done again.\n\n",
                    place.state
                )
            });
            let inside = inside.unwrap_or_default();
            let told = rewound_files(handle, &summary, &place)?;
            let state = &place.state;
            Ok(TimeTravelPreview {
                title: format!("Rewind {} {run} to before step {step}, {state}?", summary.workflow),
                body: format!(
                    "{inside}Conversation and data go back to the moment before `{state}`. What came later no longer \
                     counts; it stays paid.\n\n{told}"
                ),
                travel: TimeTravelRequest::Rewind { run: Some(run.to_string()), step },
            })
        }
        TimeTravelRequest::Fork { run, step, set } => {
            let (summary, place) = returning(handle, home, run.as_deref(), step)?;
            let travel = TimeTravelRequest::Fork { run: Some(summary.id.to_string()), step, set };
            let title = format!("Fork {} {} before step {step}?", summary.workflow, summary.id);
            Ok(TimeTravelPreview { travel, title, body: format!("A new run begins with `{}`.", place.state) })
        }
    }
}

/// What becomes of the files when a run goes back to a step.
fn rewound_files(handle: &RuntimeHandle, run: &RunSummary, place: &RunStep) -> Result<String, String> {
    let Some(snapshot) = &place.files else {
        return Ok("No files were stored by then: they stay as they are.".to_owned());
    };
    let (files, beyond) = (changes(handle, snapshot)?, beyond(handle, snapshot)?);
    if files.is_empty() {
        let but = if beyond.is_empty() { "" } else { ", but for this" };
        return Ok(format!("The files are as they were then{but}.{beyond}"));
    }
    let note = note(place).map(|note| format!("{note}\n")).unwrap_or_default();
    Ok(format!("The files, too:\n{note}{}{beyond}\n\n{SAFE}", listed(handle, run, &files)))
}

/// Does it.
pub(super) fn travel(
    handle: &RuntimeHandle,
    home: &str,
    travel: TimeTravelRequest,
) -> Result<TimeTravelOutcome, String> {
    match travel {
        TimeTravelRequest::Undo { run } => {
            let (summary, snapshot) = undoable(handle, home, run.as_deref())?;
            let snapshots = &*handle.ports().snapshots;
            let done = handle
                .undo(&summary.id, &snapshot, snapshots)
                .map_err(|error| to_slash_commands(&store_error_text(&error)))?;
            Ok(TimeTravelOutcome { text: to_slash_commands(&snapshots::restored(&done)), stands: None })
        }
        TimeTravelRequest::Rewind { run, step } => {
            let (summary, place) = going_back(handle, home, run.as_deref(), step)?;
            rewind(handle, &summary, &place)
        }
        TimeTravelRequest::Fork { run, step, set } => {
            let (summary, place) = returning(handle, home, run.as_deref(), step)?;
            fork(handle, &summary, &place, set)
        }
    }
}

const SAFE: &str = "The present is snapshotted first, so this can be undone.";

/// The run and its files, or neither.
fn rewind(
    handle: &RuntimeHandle,
    summary: &RunSummary,
    place: &RunStep,
) -> Result<TimeTravelOutcome, String> {
    let run = &summary.id;
    let changes = StepChanges { files: place.files.clone(), ..StepChanges::default() };
    let done = handle.rewind(run, place.step, changes, &*handle.ports().snapshots);
    let restored = done
        .map_err(|error| to_slash_commands(&store_error_text(&error)))?
        .filter(|done| !done.files.is_empty() || !done.beyond.is_empty());
    let files = restored.map_or_else(
        || "no file had to change".to_owned(),
        |done| to_slash_commands(&snapshots::restored(&done)),
    );
    let text = format!("run {run} stands before step {}, {}\n{files}", place.step, place.state);
    Ok(TimeTravelOutcome { text, stands: Some(run.clone()) })
}

/// The other run stays, and so do the files.
fn fork(
    handle: &RuntimeHandle,
    summary: &RunSummary,
    place: &RunStep,
    set: Vec<(Vec<String>, Value)>,
) -> Result<TimeTravelOutcome, String> {
    let known = handle.data_before(&summary.id, place.step).map_err(|error| store_error_text(&error))?;
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
    let snapshots = &*handle.ports().snapshots;
    let (fork, _) =
        handle.fork(&summary.id, place.step, changes, snapshots).map_err(|error| store_error_text(&error))?;
    let with = if changed.is_empty() { String::new() } else { format!(" with {}", changed.join(", ")) };
    let text = format!(
        "run {fork} stands before step {}, {}, of {}{with}\nthe files stay as they are now{}",
        place.step,
        place.state,
        summary.id,
        new.concat()
    );
    Ok(TimeTravelOutcome { text, stands: Some(fork) })
}

/// The run that was named, or the newest one of this project that will do.
fn found(
    handle: &RuntimeHandle,
    home: &str,
    run: Option<&str>,
    will_do: impl Fn(&RunSummary) -> bool,
) -> Result<RunSummary, String> {
    if let Some(run) = run {
        return handle.summary(run).map_err(|error| store_error_text(&error));
    }
    let query = RunQuery { project: Some(home.to_owned()), ..RunQuery::newest(LOOKED_THROUGH) };
    let list = handle.ports().store.list(&query).map_err(|error| store_error_text(&error))?;
    let found = list.into_iter().find(|run| run.worktree.is_none() && will_do(run));
    found.ok_or_else(|| "there is no such run of this project — /runs lists all".to_owned())
}

fn undoable(
    handle: &RuntimeHandle,
    home: &str,
    run: Option<&str>,
) -> Result<(RunSummary, SnapshotId), String> {
    let summary = found(handle, home, run, |run| run.progress.snapshot.is_some())?;
    let id = &summary.id;
    ensure_same_project(&summary, home, &|project| format!("synthdev{project} runs undo {id}"))?;
    let taken = &*handle.ports().snapshots;
    if let Some(tree) = &summary.worktree {
        let (message, hint) = isolation::why_not_undone(&summary, tree, Some(taken));
        return Err(with_hint(&message, Some(&to_slash_commands(&hint))));
    }
    let snapshot = files_changed_by_run::undone_to(handle, taken, &summary)?;
    Ok((summary, snapshot))
}

fn returning(
    handle: &RuntimeHandle,
    home: &str,
    run: Option<&str>,
    step: u32,
) -> Result<(RunSummary, RunStep), String> {
    let summary = found(handle, home, run, |_| true)?;
    let run = &summary.id;
    ensure_runs_in_project(&summary, home, &|project| {
        format!("synthdev{project} runs rewind {run} --to {step}")
    })?;
    let place = handle
        .step(run, step)
        .map_err(|error| with_hint(&error.message, Some(&format!("/rewind {run} lists its steps"))))?;
    Ok((summary, place))
}

/// With its files, as far as they were stored.
fn going_back(
    handle: &RuntimeHandle,
    home: &str,
    run: Option<&str>,
    step: u32,
) -> Result<(RunSummary, RunStep), String> {
    let (summary, place) = returning(handle, home, run, step)?;
    let whole = match &place.files {
        Some(_) => handle.step_with_files(&summary.id, step).map_err(|error| store_error_text(&error))?,
        None => place,
    };
    Ok((summary, whole))
}

fn changes(handle: &RuntimeHandle, snapshot: &SnapshotId) -> Result<Vec<ChangedFile>, String> {
    handle.ports().snapshots.changes(snapshot, None).map_err(|error| of_snapshot(&error))
}

/// What would happen to the files; those that the run never changed are marked.
fn listed(handle: &RuntimeHandle, run: &RunSummary, files: &[ChangedFile]) -> String {
    snapshots::files_of_run(
        files,
        files_changed_by_run::changed_files(handle, &*handle.ports().snapshots, run).as_ref(),
    )
}

/// What does not come back, on lines of its own.
fn beyond(handle: &RuntimeHandle, snapshot: &SnapshotId) -> Result<String, String> {
    let found = handle.ports().snapshots.unrestored_changes(snapshot).map_err(|error| of_snapshot(&error))?;
    let lines = snapshots::unrestored_text(&found);
    Ok(if lines.is_empty() { lines } else { format!("\n\n{lines}") })
}

/// What the person should know of the files of a step.
fn note(place: &RunStep) -> Option<String> {
    (!place.exact)
        .then(|| "the snapshot of that step could not be taken: they go back to an earlier one".to_owned())
}

fn of_snapshot(error: &SnapshotError) -> String {
    with_hint(&error.message, error.hint.as_deref())
}
