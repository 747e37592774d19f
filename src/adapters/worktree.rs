//! Isolation of runs: linked git worktrees in the data directory, each on a branch of its own.
//!
//! A worktree begins with the project's present files, byte for byte; its base is a commit of them above HEAD. The
//! user's index, HEAD, branches, stash and hooks are never touched; what is written beside them is the branch
//! `synthdev/RUN`, git's own record of the worktree, and one ref of ours that says what was merged.
//! Whole repositories are isolated, even if the project is a directory of one; only the project is compared and merged.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;

use git2::{Oid, Repository, Tree};

use super::git::repository_context::RepositoryContext;
use super::git::snapshot_entry::{RelPath, TreeEntryKind, to_bytes, to_path};
use super::git::snapshot_error::{self, SnapshotResult, snapshot_error};
use super::git::snapshot_location::SnapshotRepository;
use super::git::tree::{self, FlatTree};
use super::git::working_tree_scan::{BlobDestination, WorkingTreeScan};
use super::git::{FileChangePlan, GitSnapshots, restore_marker, stat_cache, tree_diff};
use synthdev_domain::file_progress::FileWorkCounter;
use synthdev_domain::ids::RunId;
use synthdev_domain::snapshot::{
    ChangedFile, RestoreTarget, RunWorktree, SkippedPath, SnapshotRequest, UnmergedChanges,
    WorktreeMergeResult, WorktreeSource, snapshot_label_before_merge,
};
use synthdev_ports::snapshot::SnapshotError;
use synthdev_ports::worktree::{MergeError, WorktreePort};

mod base_commit;
mod branch_refs;
mod create;
mod creation_marker;
mod interrupted_merge;
mod linked_worktree;
mod merge_history;
mod orphan;
mod ref_locks;
mod remove;
mod run_files;
mod three_way_merge;

use base_commit::WorktreeBase;
use create::WorktreeStart;
use linked_worktree::LinkedWorktree;
use merge_history::MergeHistory;
pub use run_files::PushedFiles;

/// The worktrees of one project.
pub struct GitWorktrees {
    snapshots: GitSnapshots,
}

impl GitWorktrees {
    /// Takes project, data directory and exclusions from the project's snapshots. Touches nothing until used.
    pub fn new(snapshots: GitSnapshots) -> Self {
        Self { snapshots }
    }

    /// Counts the files that are copied into a worktree.
    #[must_use]
    pub fn with_file_counter(self, file_counter: Arc<FileWorkCounter>) -> Self {
        Self { snapshots: self.snapshots.with_file_counter(file_counter) }
    }

    /// The project's repository; isolation cannot do without.
    fn repository(&self) -> SnapshotResult<SnapshotRepository> {
        let place = self.snapshots.resolve_location()?;
        place.open_project_repository()?.ok_or_else(|| linked_worktree::unusable_error(&place))
    }

    /// Compares the project's part of the base with the present, of which nothing is stored.
    fn with_base_and_present<T>(
        &self,
        worktree: &RunWorktree,
        use_it: impl FnOnce(&Repository, &Tree<'_>, &Tree<'_>) -> Result<T, git2::Error>,
    ) -> SnapshotResult<T> {
        let store = self.repository()?;
        let linked = LinkedWorktree::locate_worktree(worktree, &store, self.snapshots.data())?;
        let here = linked.open_snapshots(&self.snapshots, &store)?;
        let failed = |error: git2::Error| snapshot_error::git_read_error(store.location(), &error);
        let repo = &here.store.repo;
        let odb = repo.odb().map_err(failed)?;
        let _memory = odb.add_new_mempack_backend(1000).map_err(failed)?;
        let start = WorktreeBase::load_base(repo, linked.base)?.tree;
        let present =
            present_tree(&here, &tree::read_tree(repo, &start).map_err(failed)?, BlobDestination::InMemory)?;
        let old = base_commit::subtree_at(repo, start.id(), &linked.prefix).map_err(failed)?;
        let new = base_commit::subtree_at(repo, present.tree, &linked.prefix).map_err(failed)?;
        use_it(repo, &old, &new).map_err(failed)
    }

    /// Applies what the merge of the three sides says, and says what was merged; with the lock held.
    fn apply_merge(
        &self,
        worktree: &RunWorktree,
        here: &RepositoryContext,
        side: &WorktreeMergeSide<'_>,
    ) -> Result<WorktreeMergeResult, MergeError> {
        let failed = |error: git2::Error| snapshot_error::git_read_error(here.store.location(), &error);
        let (repo, linked) = (&here.store.repo, side.linked_worktree);
        let earlier = interrupted_merge::find_interrupted_merge(here, &side.target)?;
        let since = stat_cache::disk_time(&here.location.project_data);
        let past = MergeHistory::load_history(repo, linked, &side.start).map_err(failed)?;
        let mut wanted = past.paths();
        wanted.extend(tree::read_tree(repo, &side.worktree_tree).map_err(failed)?);
        let ours = present_tree(here, &wanted, BlobDestination::Stored)?;
        let before = earlier.as_ref().map_or(ours.tree, |earlier| earlier.tree);
        let (base, plan) = plan_merge(repo, &past, &ours, &side.worktree_tree).map_err(failed)?;
        if !plan.conflicts.is_empty() {
            return Err(MergeError::Conflicts(plan.conflicts));
        }
        let (changes, files) = three_way_merge::merge_changes(&ours.scan, &plan.merged);
        let mut done = WorktreeMergeResult {
            safety: earlier.map(|earlier| earlier.safety_snapshot),
            files,
            skipped: Vec::new(),
        };
        let odb = repo.odb().map_err(failed)?;
        let after = tree::write_stored(&odb, &plan.merged).map_err(failed)?;
        if changes.is_empty() {
            restore_marker::remove_marker(&here.location)?;
        } else {
            let request = SnapshotRequest {
                label: snapshot_label_before_merge(&worktree.branch),
                note: "Restore this one to undo the merge.".to_owned(),
                ..SnapshotRequest::default()
            };
            let none = BTreeSet::new();
            let (changes, empty_dirs, act) = (&*changes, &none, "merge");
            let plan = FileChangePlan {
                changes,
                empty_dirs,
                emptied_now: &[],
                action_name: act,
                target: &side.target,
                request: &request,
            };
            let saved = self.snapshots.save_and_apply(here, ours.scan, since, &plan, &mut |_| Ok(()))?;
            done.safety = Some(saved.safety_snapshot);
        }
        let merge = merge_history::MergeRecord {
            base,
            project_before: before,
            project_after: after,
            worktree_tree: side.worktree_tree.id(),
        };
        merge_history::write_merge_mark(
            repo,
            linked,
            side.tip_commit,
            &merge,
            self.snapshots.current_time(),
        )?;
        Ok(done)
    }

    /// The project's part of the worktree's files; new objects are stored in the memory of `store` only.
    fn worktree_part(
        &self,
        linked: &LinkedWorktree,
        store: &SnapshotRepository,
        past: &MergeHistory,
    ) -> SnapshotResult<Option<(WorktreeSource, FlatTree)>> {
        let failed = |error: git2::Error| snapshot_error::git_read_error(store.location(), &error);
        if fs::symlink_metadata(&linked.top_directory).is_err() {
            let Some(left) = orphan::newest_remains(linked, store)? else { return Ok(None) };
            let files = store.repo.find_tree(left.tree).and_then(|tree| tree::read_tree(&store.repo, &tree));
            return Ok(Some((left.worktree_source, files.map_err(failed)?)));
        }
        let inside = linked.open_snapshots(&self.snapshots, store)?;
        store.repo.odb().and_then(|odb| inside.store.repo.set_odb(&odb)).map_err(failed)?;
        let below = |path: &RelPath| [project_prefix(linked).as_slice(), path.as_slice()].concat();
        let wanted: FlatTree = past.paths().iter().map(|(path, what)| (below(path), *what)).collect();
        let scan = inside.scan_project(&wanted, BlobDestination::InMemory)?;
        let prefix = project_prefix(linked);
        let inner = |(path, what): (RelPath, (TreeEntryKind, Oid))| {
            Some((path.strip_prefix(&*prefix)?.to_vec(), what))
        };
        Ok(Some((
            WorktreeSource::Tree,
            tree::flat_tree(&scan.entries).into_iter().filter_map(inner).collect(),
        )))
    }

    /// The worktree's side as it is committed now, or as it was kept if the worktree is gone.
    fn worktree_side<'s>(
        &self,
        linked: &'s LinkedWorktree,
        store: &'s SnapshotRepository,
    ) -> SnapshotResult<(WorktreeMergeSide<'s>, Vec<SkippedPath>)> {
        let failed = |error: git2::Error| snapshot_error::git_read_error(store.location(), &error);
        let base = WorktreeBase::load_base(&store.repo, linked.base)?;
        base_commit::refuse_adopted(&base.note, &linked.project())?;
        let below = |id: Oid| base_commit::subtree_at(&store.repo, id, &linked.prefix).map_err(failed);
        let start = below(base.tree.id())?;
        let run = base.note.run.clone().unwrap_or_else(|| RunId(linked.name.clone()));
        let goal = RestoreTarget::Merge { run, branch: linked.branch.clone() };
        if fs::symlink_metadata(&linked.top_directory).is_err() {
            let left = orphan::newest_remains(linked, store)?
                .filter(|left| left.worktree_source != WorktreeSource::Nothing);
            let left = left.ok_or_else(|| linked.gone_error())?;
            let theirs = store.repo.find_tree(left.tree).map_err(failed)?;
            return Ok((
                WorktreeMergeSide {
                    linked_worktree: linked,
                    tip_commit: left.tip_commit,
                    start,
                    worktree_tree: theirs,
                    target: goal,
                },
                Vec::new(),
            ));
        }
        let inside = linked.open_snapshots(&self.snapshots, store)?;
        let wanted = tree::read_tree(&store.repo, &base.tree).map_err(failed)?;
        let theirs = present_tree(&inside, &wanted, BlobDestination::Stored)?;
        if let Some(path) = theirs.scan.unreadable_paths.first() {
            let path = linked.top_directory.join(to_path(path));
            return Err(snapshot_error(
                format!("{} cannot be read; nothing was merged", path.display()),
                "Make it readable or delete it, then merge again.",
            ));
        }
        let tip = branch_refs::commit_final_files(
            &inside.store.repo,
            linked,
            theirs.tree,
            self.snapshots.current_time(),
        )?;
        let known = |skipped: &SkippedPath| base.note.skipped.contains(skipped);
        let skipped = theirs.scan.skipped_paths.into_iter().filter(|skipped| !known(skipped)).collect();
        Ok((
            WorktreeMergeSide {
                linked_worktree: linked,
                tip_commit: tip,
                start,
                worktree_tree: below(theirs.tree)?,
                target: goal,
            },
            skipped,
        ))
    }
}

impl WorktreePort for GitWorktrees {
    fn create(&self, run: &RunId, workflow: &str) -> Result<RunWorktree, SnapshotError> {
        create::create_worktree(&self.snapshots, &self.repository()?, run, workflow, WorktreeStart::Here)
    }

    fn skipped(&self, worktree: &RunWorktree) -> Result<Vec<SkippedPath>, SnapshotError> {
        let store = self.repository()?;
        let linked = LinkedWorktree::locate_worktree(worktree, &store, self.snapshots.data())?;
        Ok(WorktreeBase::load_base(&store.repo, linked.base)?.note.skipped)
    }

    fn changes(&self, worktree: &RunWorktree) -> Result<Vec<ChangedFile>, SnapshotError> {
        self.with_base_and_present(worktree, |repo, old, new| {
            Ok(tree_diff::to_changed_files(&tree_diff::diff_trees(
                &tree::read_tree(repo, old)?,
                &tree::read_tree(repo, new)?,
            )))
        })
    }

    fn unmerged(&self, worktree: &RunWorktree) -> Result<Option<UnmergedChanges>, SnapshotError> {
        let store = self.repository()?;
        let linked = LinkedWorktree::locate_worktree(worktree, &store, self.snapshots.data())?;
        ref_locks::clear_stale_locks(&self.snapshots.resolve_location()?, &store, &linked)?;
        if orphan::is_gone(&linked, &store)? {
            return Ok(None);
        }
        let failed = |error: git2::Error| snapshot_error::git_read_error(store.location(), &error);
        let odb = store.repo.odb().map_err(failed)?;
        let _memory = odb.add_new_mempack_backend(1000).map_err(failed)?;
        let base = WorktreeBase::load_base(&store.repo, linked.base)?;
        base_commit::refuse_adopted(&base.note, &linked.project())?;
        let start = base_commit::subtree_at(&store.repo, base.tree.id(), &linked.prefix).map_err(failed)?;
        let past = MergeHistory::load_history(&store.repo, &linked, &start).map_err(failed)?;
        let Some((kept, theirs)) = self.worktree_part(&linked, &store, &past)? else {
            // git's record of it is all that is left
            return Ok(Some(UnmergedChanges {
                kept: WorktreeSource::Nothing,
                files: Vec::new(),
                conflicts: Vec::new(),
            }));
        };
        let mut wanted = past.paths();
        wanted.extend(theirs.clone());
        let here = self.snapshots.repository_context(self.snapshots.resolve_location()?, self.repository()?);
        here.store.repo.set_odb(&odb).map_err(failed)?;
        let ours = present_tree(&here, &wanted, BlobDestination::InMemory)?;
        let now = tree::flat_tree(&ours.scan.entries);
        let mut changes = tree_diff::diff_trees(&past.base(&now), &theirs);
        changes.retain(|(path, _)| now.get(path) != theirs.get(path));
        let tried = || {
            let theirs = store.repo.find_tree(tree::write_stored(&odb, &theirs)?)?;
            plan_merge(&store.repo, &past, &ours, &theirs)
        };
        let conflicts = if changes.is_empty() { Vec::new() } else { tried().map_err(failed)?.1.conflicts };
        Ok(Some(UnmergedChanges { kept, files: tree_diff::to_changed_files(&changes), conflicts }))
    }

    fn diff(&self, worktree: &RunWorktree) -> Result<String, SnapshotError> {
        self.with_base_and_present(worktree, |repo, old, new| {
            let changes = tree_diff::diff_trees(&tree::read_tree(repo, old)?, &tree::read_tree(repo, new)?);
            tree_diff::unified_diff(repo, old, new, changes.iter().map(|(path, _)| path))
        })
    }

    fn merge(&self, worktree: &RunWorktree) -> Result<WorktreeMergeResult, MergeError> {
        let place = self.snapshots.resolve_location()?;
        let _lock = place.lock_project()?;
        let store = self.repository()?;
        let linked = LinkedWorktree::locate_worktree(worktree, &store, self.snapshots.data())?;
        let _moving = ref_locks::begin_ref_change(&place, &store, &linked)?;
        let (side, skipped) = self.worktree_side(&linked, &store)?;
        let here = self.snapshots.repository_context(place, self.repository()?);
        let merged = self.apply_merge(worktree, &here, &side)?;
        Ok(WorktreeMergeResult { skipped, ..merged })
    }

    fn discard(&self, worktree: &RunWorktree, force: bool) -> Result<(), SnapshotError> {
        let place = self.snapshots.resolve_location()?;
        let _lock = place.lock_project()?;
        let store = self.repository()?;
        let linked = LinkedWorktree::locate_worktree(worktree, &store, self.snapshots.data())?;
        let _moving = ref_locks::begin_ref_change(&place, &store, &linked)?;
        remove::discard_worktree(&linked, &store, self.snapshots.data(), force)
    }
}

/// The worktree's side of a merge; the other is the project's present.
struct WorktreeMergeSide<'a> {
    linked_worktree: &'a LinkedWorktree,
    /// Where its files are committed.
    tip_commit: Oid,
    /// Project's part of what it began with, and of what it has.
    start: Tree<'a>,
    worktree_tree: Tree<'a>,
    target: RestoreTarget,
}

/// A directory as it is now.
struct WorkingTreeState {
    scan: WorkingTreeScan,
    tree: Oid,
}

/// Covers the paths in `wanted` even if they are ignored or large.
fn present_tree(
    here: &RepositoryContext,
    wanted: &FlatTree,
    blobs: BlobDestination,
) -> SnapshotResult<WorkingTreeState> {
    let failed = |error: git2::Error| snapshot_error::git_write_error(here.store.location(), &error);
    let scan = here.scan_project(wanted, blobs)?;
    let odb = here.store.repo.odb().map_err(failed)?;
    let tree = tree::write_trees(&odb, &scan.entries).map_err(failed)?;
    Ok(WorkingTreeState { scan, tree })
}

/// From where a merge starts, and what it comes to with the project as it is now.
fn plan_merge(
    repo: &Repository,
    past: &MergeHistory,
    ours: &WorkingTreeState,
    theirs: &Tree<'_>,
) -> Result<(Oid, three_way_merge::ThreeWayMerge), git2::Error> {
    let base = tree::write_stored(&repo.odb()?, &past.base(&tree::flat_tree(&ours.scan.entries)))?;
    let mut plan =
        three_way_merge::merge_trees(repo, &repo.find_tree(base)?, &repo.find_tree(ours.tree)?, theirs)?;
    let (changes, _) = three_way_merge::merge_changes(&ours.scan, &plan.merged);
    plan.conflicts.extend(three_way_merge::in_the_way(&ours.scan, &changes));
    Ok((base, plan))
}

/// Where the project's files begin in paths of the worktree: empty, or with a slash at its end.
fn project_prefix(linked: &LinkedWorktree) -> RelPath {
    let mut prefix = to_bytes(&linked.prefix);
    if !prefix.is_empty() {
        prefix.push(b'/');
    }
    prefix
}
