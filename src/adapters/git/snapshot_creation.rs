//! Stores what a scan has found as a snapshot, or takes the one before: many runs of a project that nothing changes
//! share one.

use git2::Oid;

use super::repository_context::RepositoryContext;
use super::snapshot_commit::{
    SnapshotRecord, StoredSnapshot, create_commit, delete_snapshot, find_snapshot, snapshot_info,
};
use super::snapshot_error::SnapshotResult;
use super::uncovered_files;
use super::working_tree_scan::WorkingTreeScan;
use synthdev_domain::ids::SnapshotId;
use synthdev_domain::snapshot::SnapshotInfo;

/// Older ones are not reused: the age at which snapshots are deleted counts from when they were taken.
const MAX_AGE_MS: i64 = 86_400_000;

/// Writes the commit and what belongs to it and is not in git.
///
/// # Errors
/// The store or the data directory cannot be written; then there is no such snapshot.
pub fn create_snapshot(
    here: &RepositoryContext,
    tree: Oid,
    record: &SnapshotRecord,
    new: Vec<Oid>,
    scan: &WorkingTreeScan,
) -> SnapshotResult<SnapshotInfo> {
    let store = &here.store;
    let id = create_commit(store, tree, record, new, &scan.last_snapshot)?;
    let (left_out, skipped) = (&scan.uncovered, &scan.skipped_own_files);
    let kept = uncovered_files::write_record(&here.location, store.private, &id, left_out, skipped);
    if let Err(error) = kept {
        // without what belongs to it, it would promise too much; that it cannot go matters less than why
        let _ = delete_snapshot(store, &id);
        return Err(error);
    }
    Ok(snapshot_info(&id, record))
}

/// The snapshot before this one, if a run took it and a restore of either gives the same files.
pub fn find_reusable<'repo>(
    here: &'repo RepositoryContext,
    scan: &WorkingTreeScan,
    tree: Oid,
    record: &SnapshotRecord,
) -> Option<StoredSnapshot<'repo>> {
    let found = find_snapshot(&here.store, &scan.last_snapshot).ok()?;
    let same_files = found.commit.tree_id() == tree && describes_same(&found.record, record);
    let id = SnapshotId(scan.last_snapshot.clone());
    let is_same = same_files
        && uncovered_files::is_same_record(
            &here.location,
            here.store.private,
            &id,
            &scan.uncovered,
            &scan.skipped_own_files,
        );
    is_same.then_some(found)
}

fn describes_same(old: &SnapshotRecord, new: &SnapshotRecord) -> bool {
    let age = new.created.0 - old.created.0;
    old.run.is_some()
        && (0..MAX_AGE_MS).contains(&age)
        && !old.partial
        && !new.partial
        && old.scope == new.scope
        && old.skipped == new.skipped
        && old.empty_dirs == new.empty_dirs
        && old.exclude == new.exclude
        && old.head == new.head
}
