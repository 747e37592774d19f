//! Stores what a scan has found as a snapshot, or takes the one before: runs, and states of a run, between which nothing
//! has changed share one.

use git2::Oid;

use super::GitSnapshots;
use super::repository_context::RepositoryContext;
use super::snapshot_commit::{
    NAMESPACE, SnapshotRecord, StoredSnapshot, create_commit, delete_snapshot, find_snapshot, snapshot_info,
};
use super::snapshot_entry::{FileTime, RelPath, TreeEntryKind};
use super::snapshot_error::{SnapshotResult, git_write_error};
use super::snapshot_location::SnapshotLocation;
use super::stat_cache::{StatCacheDraft, disk_time};
use super::tree::{FlatTree, StoredEntries, write_changed};
use super::working_tree_scan::{BlobDestination, WorkingTreeScan};
use super::{uncovered_changes, uncovered_files};
use synthdev_domain::ids::SnapshotId;
use synthdev_domain::snapshot::{SnapshotInfo, SnapshotRequest, SnapshotReuse};

/// Older ones are not reused: the age at which snapshots are deleted counts from when they were taken.
const MAX_AGE_MS: i64 = 86_400_000;

impl GitSnapshots {
    /// Takes one with the lock held; gives back where, too.
    pub(super) fn take_locked(
        &self,
        place: SnapshotLocation,
        request: &SnapshotRequest,
    ) -> SnapshotResult<(RepositoryContext, SnapshotInfo)> {
        let store = place.store()?;
        self.lock_sweep.sweep(&store, NAMESPACE);
        let here = self.repository_context(place, store);
        let since = disk_time(&here.location.project_data);
        let scan = here.scan_project(&FlatTree::new(), BlobDestination::Stored)?;
        let info = self.record_snapshot(&here, scan, since, request)?;
        Ok((here, info))
    }

    /// Scans, writes and records; call with the lock held.
    pub(super) fn record_snapshot(
        &self,
        here: &RepositoryContext,
        mut scan: WorkingTreeScan,
        since: FileTime,
        request: &SnapshotRequest,
    ) -> SnapshotResult<SnapshotInfo> {
        let store = &here.store;
        let failed = |error: git2::Error| git_write_error(store.location(), &error);
        let mut new = std::mem::take(&mut scan.written_objects);
        let last = find_snapshot(store, &scan.last_snapshot).ok();
        let older =
            last.map(|last| StoredEntries { tree: last.commit.tree_id(), entries: &scan.last_entries });
        let tree = write_changed(&store.repo, &scan.entries, older, &mut new).map_err(failed)?;
        let text = |dir: RelPath| String::from_utf8(dir).ok();
        let record = SnapshotRecord {
            label: request.label.clone(),
            note: request.note.clone(),
            run: request.run.clone(),
            created: self.clock.now(),
            files: scan.entries.iter().filter(|entry| entry.stat.kind != TreeEntryKind::Submodule).count(),
            skipped: std::mem::take(&mut scan.skipped_paths),
            scope: store.scope_name(),
            empty_dirs: std::mem::take(&mut scan.empty_dirs).into_iter().filter_map(text).collect(),
            exclude: self.exclude.clone(),
            partial: scan.is_partial,
            recording: here.location.program_files.recording.clone(),
            head: (!store.private).then(|| uncovered_changes::head_commit_id(&store.repo)),
        };
        let target = here.location.stat_cache_file(store.private);
        let (entries, index) = (std::mem::take(&mut scan.entries), scan.index.take());
        // the objects wait for the disk meanwhile
        let (info, draft) = std::thread::scope(|scope| {
            let draft = scope.spawn(|| StatCacheDraft::write_draft(entries, index, &target, since));
            let info = match find_reusable(here, &scan, tree, &record, request) {
                Some(same) => Ok(same.to_info()),
                None => create_snapshot(here, tree, &record, new, &scan),
            };
            (info, draft.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        let info = match info {
            Ok(info) => info,
            Err(error) => {
                let _ = draft.map(StatCacheDraft::discard_draft);
                return Err(error);
            }
        };
        draft?.finish_draft(&info.id.0)?;
        Ok(info)
    }
}

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
    request: &SnapshotRequest,
) -> Option<StoredSnapshot<'repo>> {
    let found = find_snapshot(&here.store, &scan.last_snapshot).ok()?;
    let same_files = is_allowed(&found, request)
        && found.commit.tree_id() == tree
        && describes_same(&found.record, record);
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

fn is_allowed(found: &StoredSnapshot<'_>, request: &SnapshotRequest) -> bool {
    match &request.reuse {
        SnapshotReuse::None => false,
        SnapshotReuse::AnyRun => true,
        SnapshotReuse::SameRun(shared) => {
            found.record.run == request.run || shared.as_ref() == Some(&found.id)
        }
    }
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
        && old.recording == new.recording
}
