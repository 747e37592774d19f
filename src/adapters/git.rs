//! Snapshots in git: commits of our own beside the user's, from a private index.
//!
//! Objects go to the project's repository, refs to `refs/synthdev/snapshots/`; the user's index, HEAD, branches,
//! stash, reflog, hooks and filters are never touched. Without a repository, or with one libgit2 cannot serve,
//! a private one in the data directory is used. Bytes are stored and restored raw: no line-end conversion, no
//! filter. The project is the directory given, even if the repository's work tree is larger.
//! Covered: files that git tracks and files that no ignore file names. Not covered, but listed: other repositories
//! inside, submodules, pipes, files over the limits. Of permissions, only the executable bit is kept. Files that the
//! settings exclude never go to git: private copies of them are in the data directory (`uncovered_files`).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::hidden_recording::HiddenRecording;
use synthdev_domain::file_progress::{FileProgress, FileWorkCounter};
use synthdev_domain::ids::{SnapshotId, Timestamp};
use synthdev_domain::snapshot::{
    ChangedFile, InterruptedRestore, RestoreTarget, SnapshotInfo, SnapshotRequest, SnapshotRestoreResult,
    UnrestoredChanges,
};
use synthdev_ports::clock::ClockPort;
use synthdev_ports::snapshot::{RestoreStartHook, SnapshotChoice, SnapshotError, SnapshotPort};

pub(super) mod apply_changes;
mod disk_sync;
mod file_hashing;
mod ignore_rules;
mod index_summary;
mod object_directories;
pub(super) mod open_repository;
mod project_walk;
pub(super) mod repository_context;
pub(super) mod restore_marker;
pub(super) mod snapshot_commit;
mod snapshot_creation;
pub(super) mod snapshot_entry;
pub(super) mod snapshot_error;
mod snapshot_gc;
pub(super) mod snapshot_location;
mod snapshot_pair;
mod stale_locks;
pub(super) mod stat_cache;
pub(super) mod tree;
pub(super) mod tree_diff;
mod uncovered_changes;
mod uncovered_files;
mod user_index;
pub(super) mod working_tree_diff;
pub(super) mod working_tree_scan;

use apply_changes::FileChangeApplier;
pub use open_repository::OutsideFiles;
use repository_context::RepositoryContext;
use snapshot_commit::{StoredSnapshot, find_snapshot, store_holding, unknown_id_error};
use snapshot_entry::{FileTime, RelPath};
use snapshot_error::{SnapshotResult, snapshot_error};
use snapshot_location::{SnapshotLocation, SnapshotRepository};
use stale_locks::StaleLockSweep;
use working_tree_diff::ProjectFileChange;
use working_tree_scan::{BlobDestination, WorkingTreeScan};

/// A change of the project's files that is saved first.
pub(super) struct FileChangePlan<'a> {
    pub changes: &'a [ProjectFileChange],
    /// See [`FileChangeApplier`].
    pub empty_dirs: &'a BTreeSet<RelPath>,
    pub emptied_now: &'a [RelPath],
    pub action_name: &'static str,
    pub target: &'a RestoreTarget,
    /// The snapshot that undoes it.
    pub request: &'a SnapshotRequest,
}

/// How a change of the files can be taken back.
pub(super) struct UndoSnapshots {
    /// The files as they were before, or before an earlier attempt that was cut off.
    pub safety_snapshot: SnapshotId,
    /// The files as that had left them.
    pub halfway_snapshot: Option<SnapshotId>,
}

/// The snapshots of one project.
pub struct GitSnapshots {
    project: PathBuf,
    data: PathBuf,
    exclude: Vec<String>,
    home: Option<PathBuf>,
    recording: Option<HiddenRecording>,
    outside_files: OutsideFiles,
    clock: Arc<dyn ClockPort>,
    lock_sweep: StaleLockSweep,
    file_counter: Arc<FileWorkCounter>,
}

impl GitSnapshots {
    /// `data_dir` is the user's data directory; `exclude` holds lines as in an ignore file, and wins over git's
    /// tracking. Touches nothing until used.
    pub fn open(
        project: PathBuf,
        data_dir: PathBuf,
        exclude: Vec<String>,
        clock: Arc<dyn ClockPort>,
    ) -> Self {
        let (home, outside) = (std::env::home_dir(), OutsideFiles::Refused);
        let (lock_sweep, file_counter) = (StaleLockSweep::default(), Arc::default());
        let data = data_dir;
        Self {
            project,
            data,
            exclude,
            home,
            recording: None,
            outside_files: outside,
            clock,
            lock_sweep,
            file_counter,
        }
    }

    /// Whether the project's repository may open files outside of itself.
    #[must_use]
    pub fn with_outside_files(mut self, outside: OutsideFiles) -> Self {
        self.outside_files = outside;
        self
    }

    /// Another home directory than the environment's.
    #[must_use]
    pub fn with_home(mut self, home: PathBuf) -> Self {
        self.home = Some(home);
        self
    }

    /// Leaves out the recording that the run makes or plays.
    #[must_use]
    pub fn without_recording(mut self, recording: Option<HiddenRecording>) -> Self {
        self.recording = recording;
        self
    }

    /// The same settings for another directory.
    pub(super) fn for_directory(&self, project: &Path) -> Self {
        Self {
            project: project.to_owned(),
            data: self.data.clone(),
            exclude: self.exclude.clone(),
            home: self.home.clone(),
            recording: self.recording.clone(),
            outside_files: self.outside_files,
            clock: Arc::clone(&self.clock),
            lock_sweep: StaleLockSweep::default(),
            file_counter: Arc::clone(&self.file_counter),
        }
    }

    /// How many files are done of the work under way.
    pub(super) fn file_counter(&self) -> &FileWorkCounter {
        &self.file_counter
    }

    /// Counts what is done with files there.
    pub(super) fn with_file_counter(self, file_counter: Arc<FileWorkCounter>) -> Self {
        Self { file_counter, ..self }
    }

    pub(super) fn data(&self) -> &Path {
        &self.data
    }

    pub(super) fn current_time(&self) -> Timestamp {
        self.clock.now()
    }

    /// # Errors
    /// The project does not exist or is refused.
    pub(super) fn resolve_location(&self) -> SnapshotResult<SnapshotLocation> {
        let mut place = SnapshotLocation::resolve_project(&self.project, &self.data, self.home.as_deref())?;
        place.program_files.recording.clone_from(&self.recording);
        Ok(SnapshotLocation { outside_files: self.outside_files, ..place })
    }

    pub(super) fn repository_context(
        &self,
        place: SnapshotLocation,
        store: SnapshotRepository,
    ) -> RepositoryContext {
        let rules = place.rules(&store, &self.exclude);
        let file_counter = Arc::clone(&self.file_counter);
        RepositoryContext { location: place, store, rules, file_counter }
    }

    /// Takes a snapshot of the present files as scanned, then applies the changes; call with the lock held. `begin`
    /// gets the snapshot that reverts them after all checks, before the first change.
    pub(super) fn save_and_apply(
        &self,
        here: &RepositoryContext,
        scan: WorkingTreeScan,
        since: FileTime,
        plan: &FileChangePlan<'_>,
        begin: RestoreStartHook<'_>,
    ) -> SnapshotResult<UndoSnapshots> {
        let act = plan.action_name;
        if let Some(lost) = plan.changes.iter().find(|change| scan.unreadable_paths.contains(&change.path)) {
            let path = lost.to_changed_file().path;
            return Err(snapshot_error(
                format!("{path} cannot be read, so it could not be saved; nothing was changed"),
                format!("Make it readable or move it away, then {act} again."),
            ));
        }
        let earlier = restore_marker::read_marker(&here.location).filter(|earlier| {
            earlier.goal == *plan.target && find_snapshot(&here.store, earlier.safety.as_str()).is_ok()
        });
        let halfway =
            || SnapshotRequest { label: format!("Half of a {act} that was cut off"), ..plan.request.clone() };
        let request = if earlier.is_some() { &halfway() } else { plan.request };
        let present = self.record_snapshot(here, scan, since, request)?.id;
        let saved = match &earlier {
            Some(earlier) => {
                UndoSnapshots { safety_snapshot: earlier.safety.clone(), halfway_snapshot: Some(present) }
            }
            None => UndoSnapshots { safety_snapshot: present, halfway_snapshot: None },
        };
        let odb = here
            .store
            .repo
            .odb()
            .map_err(|error| snapshot_error::git_read_error(here.store.location(), &error))?;
        let place = &here.location;
        let (empty_dirs, hollow_now) = (plan.empty_dirs, plan.emptied_now);
        let restore = FileChangeApplier {
            location: place,
            odb,
            empty_dirs,
            emptied_now: hollow_now,
            action_name: act,
            file_counter: &here.file_counter,
        };
        let undone_by = |error: SnapshotError| SnapshotError {
            hint: Some(format!(
                "{} The state before is snapshot {}.",
                error.hint.as_deref().unwrap_or_default(),
                saved.safety_snapshot
            )),
            ..error
        };
        restore.check_obstacles(plan.changes).map_err(undone_by)?;
        let (goal, safety) = (plan.target.clone(), saved.safety_snapshot.clone());
        begin(Some(&saved.safety_snapshot))?;
        restore_marker::write_marker(
            &here.location,
            &InterruptedRestore { goal, safety, since: self.clock.now() },
        )?;
        restore
            .apply_changes(plan.changes)
            .and_then(|()| restore.sync_changes(plan.changes))
            .map_err(undone_by)?;
        restore_marker::remove_marker(&here.location)?;
        Ok(saved)
    }

    /// Compares a snapshot with the present without storing anything of it.
    fn with_working_tree_diff<T>(
        &self,
        id: &SnapshotId,
        blobs: BlobDestination,
        use_it: impl FnOnce(
            &RepositoryContext,
            &StoredSnapshot<'_>,
            &WorkingTreeScan,
            &[ProjectFileChange],
        ) -> SnapshotResult<T>,
    ) -> SnapshotResult<T> {
        let place = self.resolve_location()?;
        let store = store_holding(&place, id.as_str())?;
        let here = self.repository_context(place, store);
        let found = find_snapshot(&here.store, id.as_str())?;
        let stored = here.stored_tree(&found)?;
        let odb = here
            .store
            .repo
            .odb()
            .map_err(|error| snapshot_error::git_read_error(here.store.location(), &error))?;
        let memory = (blobs == BlobDestination::InMemory).then(|| odb.add_new_mempack_backend(1000));
        let _memory = memory
            .transpose()
            .map_err(|error| snapshot_error::git_read_error(here.store.location(), &error))?;
        let kept = here.uncovered_record(&found);
        let scan = here.scan_with(&stored, kept.as_ref(), blobs)?;
        let changes = here.changes(&found, &stored, kept.as_ref(), &scan);
        use_it(&here, &found, &scan, &changes)
    }
}

impl SnapshotPort for GitSnapshots {
    fn take(&self, request: &SnapshotRequest) -> Result<SnapshotInfo, SnapshotError> {
        let place = self.resolve_location()?;
        let _lock = place.lock_project()?;
        Ok(self.take_locked(place, request)?.1)
    }

    fn take_and_delete(
        &self,
        request: &SnapshotRequest,
        choose: SnapshotChoice<'_>,
    ) -> Result<(SnapshotInfo, usize), SnapshotError> {
        let place = self.resolve_location()?;
        let _lock = place.lock_project()?;
        let (RepositoryContext { location, store, .. }, info) = self.take_locked(place, request)?;
        // one opening for both: it inspects every file of the repository
        let gone = location
            .stores_beside(store)
            .and_then(|stores| snapshot_gc::delete_chosen(&location, &stores, choose));
        Ok((info, gone.map_or(0, |gone| gone.len())))
    }

    fn progress(&self) -> FileProgress {
        self.file_counter.progress()
    }

    fn list(&self) -> Result<Vec<SnapshotInfo>, SnapshotError> {
        snapshot_gc::list_newest_first(&self.resolve_location()?.all_stores()?)
    }

    fn find(&self, id: &str) -> Result<SnapshotInfo, SnapshotError> {
        let mut fitting: Vec<SnapshotInfo> = self
            .list()?
            .into_iter()
            .filter(|info| !id.is_empty() && info.id.as_str().starts_with(id))
            .collect();
        match fitting.len() {
            1 => Ok(fitting.remove(0)),
            0 => Err(unknown_id_error(id)),
            count => {
                let ids: Vec<&str> = fitting.iter().take(5).map(|info| info.id.as_str()).collect();
                Err(snapshot_error(
                    format!("`{id}` could be {count} snapshots: {}", ids.join(", ")),
                    "Type more of the id.",
                ))
            }
        }
    }

    fn changes(
        &self,
        id: &SnapshotId,
        other: Option<&SnapshotId>,
    ) -> Result<Vec<ChangedFile>, SnapshotError> {
        if let Some(other) = other {
            let place = self.resolve_location()?;
            let mut changes = snapshot_pair::with_snapshot_pair(&place, id, other, |pair| {
                Ok(tree_diff::diff_trees(&pair.old_tree, &pair.new_tree))
            })?;
            if let Some((old, new)) =
                uncovered_files::read_record(&place, id).zip(uncovered_files::read_record(&place, other))
            {
                changes.extend(uncovered_files::diff_records(&old, &new));
                changes.sort_by(|a, b| a.0.cmp(&b.0));
            }
            return Ok(tree_diff::to_changed_files(&changes));
        }
        self.with_working_tree_diff(id, BlobDestination::Named, |_, _, _, changes| {
            Ok(changes.iter().map(ProjectFileChange::to_changed_file).collect())
        })
    }

    fn diff(&self, id: &SnapshotId, other: Option<&SnapshotId>) -> Result<String, SnapshotError> {
        if let Some(other) = other {
            return snapshot_pair::with_snapshot_pair(&self.resolve_location()?, id, other, |pair| {
                pair.diff_text()
            });
        }
        self.with_working_tree_diff(id, BlobDestination::InMemory, |here, found, scan, changes| {
            here.diff_text(found, scan, changes)
                .map_err(|error| snapshot_error::git_read_error(here.store.location(), &error))
        })
    }

    fn restore_with_hook(
        &self,
        id: &SnapshotId,
        begin: RestoreStartHook<'_>,
    ) -> Result<SnapshotRestoreResult, SnapshotError> {
        let place = self.resolve_location()?;
        let _lock = place.lock_project()?;
        let store = store_holding(&place, id.as_str())?;
        let here = self.repository_context(place, store);
        if restore_marker::marker_exists(&here.location) {
            restore_marker::remove_drafts(&here.location, &here.rules);
        }
        let since = stat_cache::disk_time(&here.location.project_data);
        let found = find_snapshot(&here.store, id.as_str())?;
        let stored = here.stored_tree(&found)?;
        let kept = here.uncovered_record(&found);
        let scan = here.scan_with(&stored, kept.as_ref(), BlobDestination::Stored)?;
        let changes = here.changes(&found, &stored, kept.as_ref(), &scan);
        let beyond = uncovered_changes::find_changes_of_scan(&here, &found, &stored, kept.as_ref(), &scan);
        if changes.is_empty() && !here.empty_dirs_differ(&found, &scan) {
            begin(None)?;
            // they are those of one moment
            restore_marker::remove_marker(&here.location)?;
            return Ok(SnapshotRestoreResult { safety: None, files: Vec::new(), halfway: None, beyond });
        }
        let request = SnapshotRequest {
            label: format!("Before restore of {id}"),
            note: format!("Restore this one to undo the restore of `{}`.", found.record.label),
            ..SnapshotRequest::default()
        };
        let hollow_now = scan.empty_dirs.clone();
        let empty_dirs = found.record.empty_dirs.iter().map(|dir| dir.clone().into_bytes()).collect();
        let plan = FileChangePlan {
            changes: &changes,
            empty_dirs: &empty_dirs,
            emptied_now: &hollow_now,
            action_name: "restore",
            target: &RestoreTarget::Snapshot(id.clone()),
            request: &request,
        };
        let UndoSnapshots { safety_snapshot: safety, halfway_snapshot: halfway } =
            self.save_and_apply(&here, scan, since, &plan, begin)?;
        let files = changes.iter().map(ProjectFileChange::to_changed_file).collect();
        Ok(SnapshotRestoreResult { safety: Some(safety), files, halfway, beyond })
    }

    fn interrupted_restore(&self) -> Result<Option<InterruptedRestore>, SnapshotError> {
        let place = self.resolve_location()?;
        if !restore_marker::marker_exists(&place) {
            return Ok(None);
        }
        // the process that holds the lock removes it
        let _lock = place.lock_project()?;
        Ok(restore_marker::read_marker(&place))
    }

    fn accept_interrupted_restore(&self) -> Result<(), SnapshotError> {
        let place = self.resolve_location()?;
        if !restore_marker::marker_exists(&place) {
            return Ok(());
        }
        let _lock = place.lock_project()?;
        let store = place.store()?;
        restore_marker::remove_drafts(&place, &place.rules(&store, &self.exclude));
        restore_marker::remove_marker(&place)
    }

    fn unrestored_changes(&self, id: &SnapshotId) -> Result<UnrestoredChanges, SnapshotError> {
        let place = self.resolve_location()?;
        let store = store_holding(&place, id.as_str())?;
        let here = self.repository_context(place, store);
        let found = find_snapshot(&here.store, id.as_str())?;
        let stored = here.stored_tree(&found)?;
        let kept = here.uncovered_record(&found);
        uncovered_changes::find_changes_of_walk(&here, &found, &stored, kept.as_ref())
    }

    fn delete(&self, id: &SnapshotId) -> Result<(), SnapshotError> {
        let place = self.resolve_location()?;
        let _lock = place.lock_project()?;
        snapshot_commit::delete_snapshot(&store_holding(&place, id.as_str())?, id)?;
        snapshot_gc::prune_uncovered_records(&place)
    }

    fn delete_chosen(&self, choose: SnapshotChoice<'_>) -> Result<Vec<SnapshotInfo>, SnapshotError> {
        let place = self.resolve_location()?;
        let _lock = place.lock_project()?;
        snapshot_gc::delete_chosen(&place, &place.all_stores()?, choose)
    }
}
