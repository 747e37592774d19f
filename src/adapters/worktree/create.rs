//! Makes a worktree: base commit, branch, git's record, then the files as raw bytes, without filters or line-end
//! conversion. If any of that fails, all of it is taken back.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use git2::{ErrorCode, Oid, Repository, WorktreeAddOptions};

use super::base_commit::{self, BaseCommitNote};
use super::branch_refs;
use super::creation_marker;
use super::linked_worktree::{self, LinkedWorktree};
use super::remove;
use crate::git::GitSnapshots;
use crate::git::apply_changes::FileChangeApplier;
use crate::git::snapshot_commit;
use crate::git::snapshot_entry::{FileStat, RelPath, SnapshotEntry, TreeEntryKind, to_path};
use crate::git::snapshot_error::{self, NOT_UTF_8, SnapshotResult, snapshot_error};
use crate::git::snapshot_location::{SnapshotLocation, SnapshotRepository};
use crate::git::stat_cache::{self, StatCache};
use crate::git::tree::{self, FlatTree};
use crate::git::working_tree_diff::ProjectFileChange;
use crate::git::working_tree_scan::{BlobDestination, WorkingTreeScan};
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::snapshot::{FileChange, RunWorktree};
use synthdev_ports::snapshot::SnapshotError;

/// Where the run of a worktree began.
#[derive(Clone, Copy)]
pub enum WorktreeStart {
    /// Here, with the present files of the project.
    Here,
    /// With these files of the project at another host, if they are known. Its present ones are filled in later.
    OtherHost { first: Option<Oid> },
}

/// See the port.
pub fn create_worktree(
    snapshots: &GitSnapshots,
    store: &SnapshotRepository,
    run: &RunId,
    workflow: &str,
    begun: WorktreeStart,
) -> SnapshotResult<RunWorktree> {
    let place = snapshots.resolve_location()?;
    if place.project.to_str().is_none() {
        return Err(snapshot_error(format!("{}: {}", place.project.display(), NOT_UTF_8.0), NOT_UTF_8.1));
    }
    let _lock = place.lock_project()?;
    let failed = |error: git2::Error| snapshot_error::git_write_error(store.location(), &error);
    let top = store.repo.workdir().unwrap_or(&place.project);
    let whole = snapshots.for_directory(top);
    let whole_place =
        whole.resolve_location().map_err(|error| whole_repository_error(error, &place.project, top))?;
    let whole_store = whole_place
        .open_project_repository()?
        .ok_or_else(|| linked_worktree::unusable_error(&whole_place))?;
    refuse_sparse(&store.repo)?;
    let here = whole.repository_context(whole_place, whole_store);
    let scan = here.scan_project(&FlatTree::new(), BlobDestination::Stored)?;
    let odb = store.repo.odb().map_err(failed)?;
    let tree = tree::write_trees(&odb, &scan.entries).map_err(failed)?;
    let note = BaseCommitNote {
        run: Some(run.clone()),
        workflow: workflow.to_owned(),
        skipped: scan.skipped_paths.clone(),
        is_adopted: matches!(begun, WorktreeStart::OtherHost { first: None }),
    };
    let first = match begun {
        WorktreeStart::OtherHost { first: Some(first) } => {
            base_commit::with_subtree(&store.repo, tree, &store.prefix, first).map_err(failed)?
        }
        WorktreeStart::Here | WorktreeStart::OtherHost { first: None } => tree,
    };
    let base = base_commit::write_base_commit(&store.repo, first, &note, snapshots.current_time())
        .map_err(failed)?;
    let room = worktrees_directory(snapshots.data())?;
    creation_marker::remove_abandoned_worktree(&place, store, &room, snapshots.data());
    let made = add_worktree(store, &place, &room, run, base)?;
    let filled = fill_worktree(snapshots, &made, &scan, tree);
    let worktree = RunWorktree {
        path: made.project().to_string_lossy().into_owned(),
        branch: made.branch.clone(),
        base: base.to_string(),
    };
    let ready = filled.and_then(|()| {
        // An empty project directory is in no tree, but the run needs it.
        fs::create_dir_all(made.project())
            .map_err(|error| snapshot_error::store_io_error(&made.top_directory, &error))
    });
    if let Err(error) = ready {
        // The user needs the first error; leftovers are found by name.
        let _ = remove::discard_worktree(&made, store, snapshots.data(), true);
        creation_marker::remove_creation_marker(&place);
        return Err(error);
    }
    creation_marker::remove_creation_marker(&place);
    Ok(worktree)
}

/// The user's home as the repository of a project would be copied as a whole.
fn whole_repository_error(error: SnapshotError, project: &Path, top: &Path) -> SnapshotError {
    if project == top {
        return error;
    }
    snapshot_error(
        format!(
            "the git repository of {} is {}: it is too wide to isolate",
            project.display(),
            top.display()
        ),
        "Run `git init` in the project itself, or run without isolation.",
    )
}

/// A base without the files that a sparse checkout hides would look as if they were deleted.
fn refuse_sparse(repo: &Repository) -> SnapshotResult<()> {
    let sparse = repo.config().and_then(|config| config.get_bool("core.sparseCheckout")).unwrap_or(false);
    if !sparse {
        return Ok(());
    }
    Err(snapshot_error(
        format!("{} is checked out sparsely, which isolation does not support", repo.path().display()),
        "Run without isolation, or `git sparse-checkout disable` first.",
    ))
}

/// `<data>/worktrees`, without symbolic links, readable by its owner only.
fn worktrees_directory(data: &Path) -> SnapshotResult<PathBuf> {
    let room = data.join("worktrees");
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&room);
    made.and_then(|()| fs::canonicalize(&room)).map_err(|error| snapshot_error::store_io_error(&room, &error))
}

/// Branch and worktree under the first free name. The checkout is of an empty tree: the files are written by us.
fn add_worktree(
    store: &SnapshotRepository,
    place: &SnapshotLocation,
    room: &Path,
    run: &RunId,
    base: Oid,
) -> SnapshotResult<LinkedWorktree> {
    let repo = &store.repo;
    let failed = |error: git2::Error| snapshot_error::git_write_error(store.location(), &error);
    let empty = base_commit::empty_tree(repo).map_err(failed)?;
    let who = snapshot_commit::commit_signature(Timestamp(0)).map_err(failed)?;
    let nothing = repo.commit(None, &who, &who, "nothing\n", &empty, &[]).map_err(failed)?;
    for (name, branch) in branch_refs::candidate_names(run) {
        let top = room.join(&name);
        let taken = fs::symlink_metadata(&top).is_ok()
            || fs::symlink_metadata(repo.commondir().join("worktrees").join(&name)).is_ok()
            || repo.find_reference(&branch_refs::full_ref_name(&branch)).is_ok();
        if taken {
            continue;
        }
        creation_marker::write_creation_marker(place, &name, &branch)?;
        let reference =
            match repo.reference(&branch_refs::full_ref_name(&branch), nothing, false, "synthdev: begin") {
                Ok(reference) => reference,
                Err(error) if error.code() == ErrorCode::Exists => continue,
                // A branch `synthdev` of the user's leaves no room below it.
                Err(_) if repo.find_reference("refs/heads/synthdev").is_ok() => continue,
                Err(error) => return Err(failed(error)),
            };
        let linked = LinkedWorktree { top_directory: top, prefix: store.prefix.clone(), name, branch, base };
        let mut options = WorktreeAddOptions::new();
        options.reference(Some(&reference));
        let added = repo.worktree(&linked.name, &linked.top_directory, Some(&options)).and_then(|_| {
            repo.reference(
                &branch_refs::full_ref_name(&linked.branch),
                base,
                true,
                "synthdev: files before the run",
            )
        });
        if let Err(error) = added {
            let _ = remove::erase_worktree(&linked, store);
            return Err(failed(error));
        }
        return Ok(linked);
    }
    Err(snapshot_error(
        format!("every name for a worktree of run {run} is taken"),
        "Discard worktrees of this run, or see `git worktree list` and `git branch --list 'synthdev*'`.",
    ))
}

/// Writes the files, the worktree's own index, and what we know of the files' stats.
fn fill_worktree(
    snapshots: &GitSnapshots,
    made: &LinkedWorktree,
    scan: &WorkingTreeScan,
    tree: Oid,
) -> SnapshotResult<()> {
    let failed = |error: git2::Error| snapshot_error::git_write_error(&made.top_directory, &error);
    let inside = snapshots.for_directory(&made.top_directory);
    let place = inside.resolve_location()?;
    let _lock = place.lock_project()?;
    let store = place.open_project_repository()?.ok_or_else(|| linked_worktree::unusable_error(&place))?;
    let repo = &store.repo;
    let (modules, files): (Vec<&SnapshotEntry>, Vec<&SnapshotEntry>) =
        scan.entries.iter().partition(|entry| entry.stat.kind == TreeEntryKind::Submodule);
    let changes: Vec<ProjectFileChange> = files.iter().map(|entry| new_file(entry)).collect();
    let hollow = scan.empty_dirs.iter().filter(|dir| std::str::from_utf8(dir).is_ok());
    let empty_dirs: BTreeSet<RelPath> =
        hollow.cloned().chain(modules.iter().map(|module| module.path.clone())).collect();
    let odb = repo.odb().map_err(failed)?;
    let restore = FileChangeApplier {
        location: &place,
        odb,
        empty_dirs: &empty_dirs,
        emptied_now: &[],
        action_name: "create it",
        file_counter: inside.file_counter(),
    };
    restore.apply_changes(&changes)?;
    let mut index = repo.index().map_err(failed)?;
    let known = repo.find_tree(tree).and_then(|tree| index.read_tree(&tree)).and_then(|()| index.write());
    known.map_err(failed)?;
    let since = stat_cache::disk_time(&place.project_data);
    let entries = files.iter().filter_map(|entry| written_index_entry(&made.top_directory, entry)).collect();
    StatCache { entries, ..StatCache::default() }.save_cache(&place.stat_cache_file(store.private), since)
}

fn new_file(entry: &SnapshotEntry) -> ProjectFileChange {
    ProjectFileChange {
        path: entry.path.clone(),
        change: FileChange::Deleted,
        stored: Some((entry.stat.kind, entry.blob)),
        present_stat: None,
        private: None,
    }
}

fn written_index_entry(top: &Path, entry: &SnapshotEntry) -> Option<SnapshotEntry> {
    let stat = FileStat::from_metadata(&fs::symlink_metadata(top.join(to_path(&entry.path))).ok()?)?;
    Some(SnapshotEntry { path: entry.path.clone(), stat, blob: entry.blob })
}
