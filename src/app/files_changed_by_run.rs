//! Which files a run itself is known to have changed: what its stored states differ in.

use std::collections::BTreeSet;

use synthdev_cli::snapshots::RunChangedFiles;
use synthdev_domain::ids::{SnapshotId, Timestamp};
use synthdev_domain::journal::{RunOrigin, RunSummary};
use synthdev_engine::event::RunEvent;
use synthdev_ports::snapshot::SnapshotPort;
use synthdev_runtime::handle::RuntimeHandle;

/// `None` if this is unknown: a snapshot is missing, or the run cannot be read. Changes by others during the run count
/// as the run's.
pub(super) fn changed_files(
    handle: &RuntimeHandle,
    store: &dyn SnapshotPort,
    run: &RunSummary,
) -> Option<RunChangedFiles> {
    let before = run.progress.snapshot.as_ref()?;
    let mut files = BTreeSet::new();
    for taken in store.list().ok()? {
        if taken.run.as_ref() == Some(&run.id) && taken.id != *before {
            files.extend(store.changes(before, Some(&taken.id)).ok()?.into_iter().map(|file| file.path));
        }
    }
    let record = handle.load_record(run.id.as_str()).ok()?;
    Some(RunChangedFiles { files, is_uncertain: has_unsnapshotted_changes(handle, &record.events) })
}

/// The snapshot of this project's files before the run.
///
/// # Errors
/// Why there is none, as text for the user.
pub(super) fn undo_snapshot(
    handle: &RuntimeHandle,
    store: &dyn SnapshotPort,
    run: &RunSummary,
) -> Result<SnapshotId, String> {
    let (id, taken) = (&run.id, run.progress.snapshot.clone());
    let missing = taken.as_ref().and_then(|taken| store.find(taken.as_str()).err());
    match (taken, missing) {
        (Some(taken), None) => Ok(taken),
        (None, _) if is_before_first_step(handle, run) => {
            Err(format!("there is nothing to undo: run {id} has not begun yet"))
        }
        _ if run.origin.as_ref().is_some_and(RunOrigin::is_imported) => Err(format!(
            "there is nothing to undo: run {id} was imported, and it has no snapshots of the files here"
        )),
        (None, _) => Err(format!("run {id} cannot be undone: no snapshot was taken before it started")),
        (Some(_), Some(error)) => Err(format!("run {id} cannot be undone: {}", error.message)),
    }
}

/// Whether it has run no step in this project: a fork, or a run that was recorded and never started.
fn is_before_first_step(handle: &RuntimeHandle, run: &RunSummary) -> bool {
    let Ok(record) = handle.load_record(run.id.as_str()) else { return false };
    let last = record.events.iter().rev().find(|(_, event)| {
        matches!(event, RunEvent::Returned { .. } | RunEvent::Resumed { .. } | RunEvent::RunStarted { .. })
    });
    last.is_none_or(|(_, event)| matches!(event, RunEvent::Returned { fork_of: Some(_), .. }))
}

/// Whether something that may change files had begun since the last stored state: a run that was cut off, or waits in
/// the middle of a state.
fn has_unsnapshotted_changes(handle: &RuntimeHandle, events: &[(Timestamp, RunEvent)]) -> bool {
    let mut open = false;
    for (_, event) in events {
        match event {
            RunEvent::SnapshotTaken { .. } => open = false,
            RunEvent::ToolStarted { tool, .. } if !handle.is_read_only_tool(tool) => open = true,
            // with files: they are those of a snapshot; without: the events do not show earlier changes any more
            RunEvent::Returned { files, .. } => open = files.is_none(),
            _ => {}
        }
    }
    open
}
