//! Which files a run itself is known to have changed: what its stored states differ in.

use std::collections::BTreeSet;

use crate::domain::journal::{RunStatus, RunSummary};
use crate::ports::snapshot::SnapshotPort;

/// `None` where nobody can tell: a run that stopped within a state left changes behind that are stored nowhere, and
/// a stored state may be missing. What others changed meanwhile counts as the run's.
pub(super) fn of(store: &dyn SnapshotPort, run: &RunSummary) -> Option<BTreeSet<String>> {
    let before = run.progress.snapshot.as_ref().filter(|_| run.progress.status == RunStatus::Completed)?;
    let mut own = BTreeSet::new();
    for taken in store.list().ok()? {
        if taken.run.as_ref() == Some(&run.id) && taken.id != *before {
            own.extend(store.changes(before, Some(&taken.id)).ok()?.into_iter().map(|file| file.path));
        }
    }
    Some(own)
}
