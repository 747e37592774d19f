//! A merge that was cut off, and is done once more. Refuses to merge over anything else that was.

use git2::Oid;

use crate::git::repository_context::RepositoryContext;
use crate::git::restore_marker;
use crate::git::snapshot_commit::find_snapshot;
use crate::git::snapshot_error::{SnapshotResult, snapshot_error};
use synthdev_domain::ids::SnapshotId;
use synthdev_domain::snapshot::RestoreTarget;

/// The project before the merge that was cut off.
pub struct InterruptedMerge {
    pub safety_snapshot: SnapshotId,
    pub tree: Oid,
}

/// With the lock held. What was half written then is removed.
///
/// # Errors
/// The project's files are on their way somewhere else.
pub fn find_interrupted_merge(
    here: &RepositoryContext,
    goal: &RestoreTarget,
) -> SnapshotResult<Option<InterruptedMerge>> {
    let Some(found) = restore_marker::read_marker(&here.location) else { return Ok(None) };
    if found.goal != *goal {
        let rest = match &found.goal {
            RestoreTarget::Snapshot(to) => format!("synthdev snapshot restore {to}"),
            RestoreTarget::Merge { run, .. } => format!("synthdev runs merge {run}"),
        };
        return Err(snapshot_error(
            "another change of the project's files was cut off: they are of two moments; nothing was merged",
            format!(
                "Finish it: {rest}. Or go back to before it: synthdev snapshot restore {}. Or keep the files as they \
                 are: synthdev snapshot create.",
                found.safety
            ),
        ));
    }
    restore_marker::remove_drafts(&here.location, &here.rules);
    let Ok(safety) = find_snapshot(&here.store, found.safety.as_str()) else { return Ok(None) };
    Ok(Some(InterruptedMerge { safety_snapshot: found.safety, tree: safety.commit.tree_id() }))
}
