//! Takes a worktree away: its files, git's record of it, its branch, our snapshots and cache of it.
//! Each part may already be gone. Removes nothing outside of the worktree's own directory and records.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::branch_refs;
use super::linked_worktree::LinkedWorktree;
use crate::git::snapshot_commit;
use crate::git::snapshot_error::{self, SnapshotResult, snapshot_error};
use crate::git::snapshot_location::{SnapshotLocation, SnapshotRepository};
use synthdev_ports::snapshot::SnapshotError;

/// See the port.
pub fn discard_worktree(
    linked: &LinkedWorktree,
    store: &SnapshotRepository,
    data: &Path,
    force: bool,
) -> SnapshotResult<()> {
    let failed = |error: git2::Error| snapshot_error::git_read_error(store.location(), &error);
    let branch = &linked.branch;
    let current = store.repo.find_reference("HEAD").ok();
    let current = current.as_ref().and_then(|head| head.symbolic_target().ok().flatten());
    if current == Some(branch_refs::full_ref_name(branch).as_str()) {
        return Err(snapshot_error(
            format!("you are on branch {branch}, which belongs to the worktree"),
            "Switch to another branch, then discard again.",
        ));
    }
    let lock = linked.metadata(store).map(|place| place.join("locked"));
    if !force && lock.is_some_and(|lock| fs::symlink_metadata(lock).is_ok()) {
        return Err(snapshot_error(
            format!("the worktree {} is locked", linked.top_directory.display()),
            format!("`git worktree unlock {}`, or discard it by force.", linked.top_directory.display()),
        ));
    }
    let unmerged =
        if force { 0 } else { branch_refs::unmerged_commit_count(&store.repo, linked).map_err(failed)? };
    if unmerged > 0 {
        let (commits, are) = if unmerged == 1 { ("commit", "is") } else { ("commits", "are") };
        return Err(snapshot_error(
            format!("{unmerged} {commits} on {branch} {are} neither merged nor on another branch"),
            "Merge the run first, keep them by `git branch`, or discard it by force.",
        ));
    }
    erase_worktree(linked, store)?;
    remove_snapshot_data(linked, store, data)
}

/// Files, record and branch.
pub fn erase_worktree(linked: &LinkedWorktree, store: &SnapshotRepository) -> SnapshotResult<()> {
    let metadata = linked.metadata(store);
    remove_tree(&linked.top_directory).map_err(|error| removal_error(&linked.top_directory, &error))?;
    if let Some(place) = metadata {
        remove_tree(&place).map_err(|error| removal_error(&place, &error))?;
        // Git keeps this directory only while there are worktrees.
        let _ = place.parent().map(fs::remove_dir);
    }
    branch_refs::delete_branch(&store.repo, linked)
        .map_err(|error| snapshot_error::git_write_error(store.location(), &error))
}

/// What we knew of it.
fn remove_snapshot_data(
    linked: &LinkedWorktree,
    store: &SnapshotRepository,
    data: &Path,
) -> SnapshotResult<()> {
    snapshot_commit::delete_worktree_snapshots(store, &linked.name)?;
    let data = fs::canonicalize(data).unwrap_or_else(|_| data.to_owned());
    for project in [linked.top_directory.clone(), linked.project()] {
        let corner = SnapshotLocation::project_data_directory(&data, &project);
        remove_tree(&corner).map_err(|error| removal_error(&corner, &error))?;
    }
    Ok(())
}

/// Never follows a link. Directories that a program made read-only are opened first.
fn remove_tree(place: &Path) -> io::Result<()> {
    match fs::remove_dir_all(place) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            make_removable(place)?;
            fs::remove_dir_all(place)
        }
        other => other,
    }
}

fn make_removable(dir: &Path) -> io::Result<()> {
    let meta = fs::symlink_metadata(dir)?;
    if !meta.is_dir() {
        return Ok(());
    }
    fs::set_permissions(dir, fs::Permissions::from_mode(meta.permissions().mode() | 0o700))?;
    for item in fs::read_dir(dir)? {
        let item = item?;
        if item.file_type()?.is_dir() {
            make_removable(&item.path())?;
        }
    }
    Ok(())
}

fn removal_error(place: &Path, error: &io::Error) -> SnapshotError {
    snapshot_error(
        format!("cannot remove {}: {error}", place.display()),
        "Stop what uses this directory or remove it by hand, then discard again.",
    )
}
