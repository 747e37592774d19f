//! Going back from the screen: what it would do first, then doing it (SNAP-4, HIST-5). Blocking.

use serde_json::Value;

use super::history::{at_home, of_here, of_store, told};
use super::told::here;
use crate::app::{isolation, own_files};
use crate::cli::snapshots;
use crate::config::suggest::did_you_mean;
use crate::domain::ids::SnapshotId;
use crate::domain::journal::{RunQuery, RunSummary};
use crate::domain::snapshot::ChangedFile;
use crate::ports::snapshot::SnapshotError;
use crate::runtime::handle::Handle;
use crate::runtime::travel::{Changes, StepPlace};
use crate::tui::backend::{Plan, Steps, Travel, Travelled};

/// Runs that are looked through for the last one that could have changed files.
const LOOKED_THROUGH: usize = 50;

pub(super) fn steps(handle: &Handle, home: &str, run: Option<String>) -> Result<Steps, String> {
    let summary = found(handle, home, run.as_deref(), |_| true)?;
    let steps = handle.steps(&summary.id).map_err(|error| of_store(&error))?;
    let steps = steps.into_iter().map(|place| (place.step, place.state, place.files.is_some())).collect();
    Ok(Steps { run: summary.id, workflow: summary.workflow, steps })
}

/// What would happen. Changes nothing.
pub(super) fn plan(handle: &Handle, home: &str, travel: Travel) -> Result<Plan, String> {
    match travel {
        Travel::Undo { run } => {
            let (summary, snapshot) = undoable(handle, home, run.as_deref())?;
            let files = changes(handle, &snapshot)?;
            let run = &summary.id;
            let beyond = beyond(handle, &snapshot)?;
            if files.is_empty() && handle.cut_off().is_none() {
                let but = if beyond.is_empty() { "" } else { ", but for this" };
                return Err(format!(
                    "nothing to undo: the files are as they were before run {run}{but}{beyond}"
                ));
            }
            Ok(Plan {
                title: format!("Undo {} {run}: {}?", summary.workflow, snapshots::counted(files.len())),
                body: format!("{}{beyond}\n\n{SAFE}", listed(handle, &summary, &files)),
                travel: Travel::Undo { run: Some(run.to_string()) },
            })
        }
        Travel::Rewind { run, step } => {
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
            Ok(Plan {
                title: format!("Rewind {} {run} to before step {step}, {state}?", summary.workflow),
                body: format!(
                    "{inside}Conversation and data go back to the moment before `{state}`. What came later no longer \
                     counts; it stays paid.\n\n{told}"
                ),
                travel: Travel::Rewind { run: Some(run.to_string()), step },
            })
        }
        Travel::Fork { run, step, set } => {
            let (summary, place) = returning(handle, home, run.as_deref(), step)?;
            let travel = Travel::Fork { run: Some(summary.id.to_string()), step, set };
            let title = format!("Fork {} {} before step {step}?", summary.workflow, summary.id);
            Ok(Plan { travel, title, body: format!("A new run begins with `{}`.", place.state) })
        }
    }
}

/// What becomes of the files when a run goes back to a step.
fn rewound_files(handle: &Handle, run: &RunSummary, place: &StepPlace) -> Result<String, String> {
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
pub(super) fn travel(handle: &Handle, home: &str, travel: Travel) -> Result<Travelled, String> {
    match travel {
        Travel::Undo { run } => {
            let (summary, snapshot) = undoable(handle, home, run.as_deref())?;
            let snapshots = &*handle.ports().snapshots;
            let done =
                handle.undo(&summary.id, &snapshot, snapshots).map_err(|error| here(&of_store(&error)))?;
            Ok(Travelled { text: here(&snapshots::restored(&done)), stands: None })
        }
        Travel::Rewind { run, step } => {
            let (summary, place) = going_back(handle, home, run.as_deref(), step)?;
            rewind(handle, &summary, &place)
        }
        Travel::Fork { run, step, set } => {
            let (summary, place) = returning(handle, home, run.as_deref(), step)?;
            fork(handle, &summary, &place, set)
        }
    }
}

const SAFE: &str = "The present is snapshotted first, so this can be undone.";

/// The run and its files, or neither.
fn rewind(handle: &Handle, summary: &RunSummary, place: &StepPlace) -> Result<Travelled, String> {
    let run = &summary.id;
    let changes = Changes { files: place.files.clone(), ..Changes::default() };
    let done = handle.rewind(run, place.step, changes, &*handle.ports().snapshots);
    let restored = done
        .map_err(|error| here(&of_store(&error)))?
        .filter(|done| !done.files.is_empty() || !done.beyond.is_empty());
    let files =
        restored.map_or_else(|| "no file had to change".to_owned(), |done| here(&snapshots::restored(&done)));
    let text = format!("run {run} stands before step {}, {}\n{files}", place.step, place.state);
    Ok(Travelled { text, stands: Some(run.clone()) })
}

/// The other run stays, and so do the files.
fn fork(
    handle: &Handle,
    summary: &RunSummary,
    place: &StepPlace,
    set: Vec<(Vec<String>, Value)>,
) -> Result<Travelled, String> {
    let known = handle.data_before(&summary.id, place.step).map_err(|error| of_store(&error))?;
    let changed: Vec<String> =
        set.iter().map(|(path, value)| format!("{} = {value}", path.join("."))).collect();
    let keys = set.iter().filter_map(|(path, _)| path.first());
    let new: Vec<String> = keys
        .filter(|key| !known.contains_key(*key))
        .map(|key| {
            let hint = did_you_mean(key, known.keys().map(String::as_str));
            let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            format!("\nnote: there was no `{key}` at that step: it is new{hint}")
        })
        .collect();
    let changes = Changes { set, ..Changes::default() };
    let snapshots = &*handle.ports().snapshots;
    let (fork, _) =
        handle.fork(&summary.id, place.step, changes, snapshots).map_err(|error| of_store(&error))?;
    let with = if changed.is_empty() { String::new() } else { format!(" with {}", changed.join(", ")) };
    let text = format!(
        "run {fork} stands before step {}, {}, of {}{with}\nthe files stay as they are now{}",
        place.step,
        place.state,
        summary.id,
        new.concat()
    );
    Ok(Travelled { text, stands: Some(fork) })
}

/// The run that was named, or the newest one of this project that will do.
fn found(
    handle: &Handle,
    home: &str,
    run: Option<&str>,
    will_do: impl Fn(&RunSummary) -> bool,
) -> Result<RunSummary, String> {
    if let Some(run) = run {
        return handle.summary(run).map_err(|error| of_store(&error));
    }
    let query = RunQuery { project: Some(home.to_owned()), ..RunQuery::newest(LOOKED_THROUGH) };
    let list = handle.ports().store.list(&query).map_err(|error| of_store(&error))?;
    let found = list.into_iter().find(|run| run.worktree.is_none() && will_do(run));
    found.ok_or_else(|| "there is no such run of this project — /runs lists all".to_owned())
}

fn undoable(handle: &Handle, home: &str, run: Option<&str>) -> Result<(RunSummary, SnapshotId), String> {
    let summary = found(handle, home, run, |run| run.progress.snapshot.is_some())?;
    let id = &summary.id;
    of_here(&summary, home, &|project| format!("synthdev{project} runs undo {id}"))?;
    let taken = &*handle.ports().snapshots;
    if let Some(tree) = &summary.worktree {
        let (message, hint) = isolation::why_not_undone(&summary, tree, Some(taken));
        return Err(told(&message, Some(&here(&hint))));
    }
    let snapshot = own_files::undone_to(handle, taken, &summary)?;
    Ok((summary, snapshot))
}

fn returning(
    handle: &Handle,
    home: &str,
    run: Option<&str>,
    step: u32,
) -> Result<(RunSummary, StepPlace), String> {
    let summary = found(handle, home, run, |_| true)?;
    let run = &summary.id;
    at_home(&summary, home, &|project| format!("synthdev{project} runs rewind {run} --to {step}"))?;
    let place = handle
        .step(run, step)
        .map_err(|error| told(&error.message, Some(&format!("/rewind {run} lists its steps"))))?;
    Ok((summary, place))
}

/// With its files, as far as they were stored.
fn going_back(
    handle: &Handle,
    home: &str,
    run: Option<&str>,
    step: u32,
) -> Result<(RunSummary, StepPlace), String> {
    let (summary, place) = returning(handle, home, run, step)?;
    let whole = match &place.files {
        Some(_) => handle.step_with_files(&summary.id, step).map_err(|error| of_store(&error))?,
        None => place,
    };
    Ok((summary, whole))
}

fn changes(handle: &Handle, snapshot: &SnapshotId) -> Result<Vec<ChangedFile>, String> {
    handle.ports().snapshots.changes(snapshot, None).map_err(|error| of_snapshot(&error))
}

/// What would happen to the files; those that the run never changed are marked.
fn listed(handle: &Handle, run: &RunSummary, files: &[ChangedFile]) -> String {
    snapshots::files_of_run(files, own_files::of(handle, &*handle.ports().snapshots, run).as_ref())
}

/// What does not come back, on lines of its own.
fn beyond(handle: &Handle, snapshot: &SnapshotId) -> Result<String, String> {
    let found = handle.ports().snapshots.beyond(snapshot).map_err(|error| of_snapshot(&error))?;
    let lines = snapshots::beyond(&found);
    Ok(if lines.is_empty() { lines } else { format!("\n\n{lines}") })
}

/// What the person should know of the files of a step.
fn note(place: &StepPlace) -> Option<String> {
    (!place.exact)
        .then(|| "the snapshot of that step could not be taken: they go back to an earlier one".to_owned())
}

fn of_snapshot(error: &SnapshotError) -> String {
    told(&error.message, error.hint.as_deref())
}
