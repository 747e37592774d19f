//! Which files a run itself is known to have changed: what its stored states differ in.

use std::collections::BTreeSet;

use super::edits_beside::snapshot_spans;
use super::error::{NO_SNAPSHOT, TimeTravelError};
use synthdev_domain::ids::{SnapshotId, Timestamp};
use synthdev_domain::journal::{RunOrigin, RunSummary};
use synthdev_engine::event::{RunEvent, StepEvent};
use synthdev_ports::snapshot::SnapshotPort;
use synthdev_runtime::handle::RuntimeHandle;

/// What a run is known to have changed itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RunChangedFiles {
    pub files: BTreeSet<String>,
    /// Files that are not as the run stored them last: what was changed since is not its own.
    pub changed_since: BTreeSet<String>,
    /// It may have changed others, too: what it did last was stored nowhere.
    pub is_uncertain: bool,
}

/// `None` if this is unknown: a snapshot is missing, or the run cannot be read. Changes by others during the run count
/// as the run's, unless nothing that it did meanwhile can have made them.
pub(super) fn changed_files(
    handle: &RuntimeHandle,
    store: &dyn SnapshotPort,
    run: &RunSummary,
) -> Option<RunChangedFiles> {
    let before = run.progress.snapshot.as_ref()?;
    let mut files = BTreeSet::new();
    let mut last = before.clone();
    let mut last_created = Timestamp(i64::MIN);
    let mut taken_here = BTreeSet::new();
    for taken in store.list().ok()? {
        if taken.run.as_ref() == Some(&run.id) && taken.id != *before {
            files.extend(store.changes(before, Some(&taken.id)).ok()?.into_iter().map(|file| file.path));
            taken_here.insert(taken.id.clone());
            if taken.created >= last_created {
                (last, last_created) = (taken.id, taken.created);
            }
        }
    }
    let record = handle.load_record(run.id.as_str()).ok()?;
    // what a client or a sub-agent changes for the run leaves no event of a tool
    let own = own_files(handle, store, before, &taken_here, &record.events);
    if let Some(own) = own.filter(|_| !record.program.hands_out_work()) {
        files.retain(|file| own.contains(file));
    }
    let is_uncertain = has_unsnapshotted_changes(handle, &record.events);
    let since = store.changes(&last, None);
    let is_uncertain = is_uncertain || since.is_err();
    let changed_since = since.unwrap_or_default().into_iter().map(|file| file.path).collect();
    Some(RunChangedFiles { files, changed_since, is_uncertain })
}

/// The files that the run may have changed, span by span. `None`: the events do not tell of all its snapshots.
fn own_files(
    handle: &RuntimeHandle,
    store: &dyn SnapshotPort,
    first: &SnapshotId,
    taken: &BTreeSet<SnapshotId>,
    events: &[(Timestamp, StepEvent)],
) -> Option<BTreeSet<String>> {
    let events = events.iter().map(|(_, event)| &event.event);
    let spans = snapshot_spans(events, first, |tool| handle.is_read_only_tool(tool))?;
    if !taken.iter().all(|id| spans.iter().any(|span| span.after == *id)) {
        return None;
    }
    let mut own = BTreeSet::new();
    for span in spans.into_iter().filter(|span| span.before != span.after) {
        let differing = store.changes(&span.before, Some(&span.after)).ok()?;
        own.extend(span.own_files(differing.into_iter().map(|file| file.path).collect()));
    }
    Some(own)
}

/// The snapshot of this project's files before the run.
///
/// # Errors
/// There is none.
pub(super) fn snapshot_before(
    handle: &RuntimeHandle,
    store: &dyn SnapshotPort,
    run: &RunSummary,
) -> Result<SnapshotId, TimeTravelError> {
    let (id, taken) = (run.id.clone(), run.progress.snapshot.clone());
    let missing = taken.as_ref().and_then(|taken| store.find(taken.as_str()).err());
    let none_taken = || {
        let nothing = changes_nothing(handle, run);
        if nothing { "it has changed no file" } else { NO_SNAPSHOT }.to_owned()
    };
    Err(match (taken, missing) {
        (Some(taken), None) => return Ok(taken),
        (None, _) if is_before_first_step(handle, run) => TimeTravelError::NotBegun(id),
        _ if run.origin.as_ref().is_some_and(RunOrigin::is_imported) => {
            TimeTravelError::ImportedWithoutFiles(id)
        }
        (_, error) => TimeTravelError::NoSnapshot {
            run: id,
            reason: error.map_or_else(none_taken, |error| error.message),
        },
    })
}

/// Whether a run has stored no files because it has had no reason to: nothing that could change one has begun.
pub(super) fn changes_nothing(handle: &RuntimeHandle, run: &RunSummary) -> bool {
    run.progress.snapshot.is_none() && handle.definition(&run.id).is_ok_and(|spec| spec.defers_snapshot())
}

/// Whether it has run no step in this project: a fork, or a run that was recorded and never started.
fn is_before_first_step(handle: &RuntimeHandle, run: &RunSummary) -> bool {
    let Ok(record) = handle.load_record(run.id.as_str()) else { return false };
    let last = record.events.iter().rev().find(|(_, event)| {
        matches!(
            event.event,
            RunEvent::Rewound { .. } | RunEvent::Resumed { .. } | RunEvent::RunStarted { .. }
        )
    });
    last.is_none_or(|(_, event)| matches!(event.event, RunEvent::Rewound { fork_of: Some(_), .. }))
}

/// Whether something that may change files had begun since the last stored state: a run that was cut off, or waits in
/// the middle of a state.
fn has_unsnapshotted_changes(handle: &RuntimeHandle, events: &[(Timestamp, StepEvent)]) -> bool {
    let mut open = false;
    for (_, event) in events {
        match &event.event {
            RunEvent::SnapshotTaken { .. } => open = false,
            RunEvent::ToolStarted { tool, .. } if !handle.is_read_only_tool(tool) => open = true,
            // with files: they are those of a snapshot; without: the events do not show earlier changes any more
            RunEvent::Rewound { files, .. } => open = files.is_none(),
            _ => {}
        }
    }
    open
}
