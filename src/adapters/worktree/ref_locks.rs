//! Locks of refs that a killed process left: git refuses to move a branch whose lock is there, for ever. Removes those of
//! a run's own branch, mark and worktree, once no process can be at work on them. Touches no lock of the user's branches.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::branch_refs::{MERGED, full_ref_name};
use super::linked_worktree::LinkedWorktree;
use crate::file_io::private_file;
use crate::git::snapshot_error::{self, SnapshotResult};
use crate::git::snapshot_location::{SnapshotLocation, SnapshotRepository};
use crate::open_beneath::open_parent;

/// Git holds such a lock for milliseconds.
const LOCK_IS_DEAD: Duration = Duration::from_secs(10);

/// Word that a process moves the refs of a run; it goes with the guard. One that is found was left by a killed process.
pub struct RefUpdateGuard {
    note_path: PathBuf,
}

impl Drop for RefUpdateGuard {
    fn drop(&mut self) {
        // one that stays names no lock of the living: those are younger than the next one's note
        let _ = fs::remove_file(&self.note_path);
    }
}

/// Clears up after a process that was killed meanwhile, if there was one.
///
/// # Errors
/// The data directory cannot be written.
pub fn clear_stale_locks(
    place: &SnapshotLocation,
    store: &SnapshotRepository,
    linked: &LinkedWorktree,
) -> SnapshotResult<()> {
    if fs::symlink_metadata(note_path(place, linked)).is_err() {
        return Ok(());
    }
    // one that lives holds it, and takes its note away
    let _lock = place.lock_project()?;
    begin_ref_change(place, store, linked).map(drop)
}

fn note_path(place: &SnapshotLocation, linked: &LinkedWorktree) -> PathBuf {
    place.project_data.join(format!("moving-{}", linked.name))
}

/// Clears the way for a change of the run's refs; with the project's lock held, so that no other process of ours is at it.
///
/// # Errors
/// The data directory cannot be written.
pub fn begin_ref_change(
    place: &SnapshotLocation,
    store: &SnapshotRepository,
    linked: &LinkedWorktree,
) -> SnapshotResult<RefUpdateGuard> {
    let note = note_path(place, linked);
    let common = store.repo.commondir();
    let died = fs::metadata(&note).and_then(|meta| meta.modified()).ok();
    // an agent can put a link on the way, which would lead to files of other programs
    let lock = |name: String| open_parent(common, &common.join(format!("{name}.lock")), false).ok();
    let record = format!("worktrees/{}", linked.name);
    let own = [
        full_ref_name(&linked.branch),
        format!("{MERGED}{}", linked.name),
        format!("{record}/HEAD"),
        format!("{record}/index"),
    ];
    for held in own.map(lock).into_iter().flatten() {
        let lock = held.entry();
        if died.is_some_and(|died| is_since(&lock, died)) || is_old(&lock) {
            let _ = fs::remove_file(lock);
        }
    }
    // shared with git: only if our process died meanwhile, and git would be done with it
    if let Some(held) = lock("packed-refs".to_owned()) {
        let packed = held.entry();
        if died.is_some_and(|died| is_since(&packed, died)) && is_old(&packed) {
            let _ = fs::remove_file(packed);
        }
    }
    private_file(&note)
        .and_then(|file| file.sync_all())
        .map_err(|error| snapshot_error::store_io_error(&note, &error))?;
    Ok(RefUpdateGuard { note_path: note })
}

fn modified_time(lock: &Path) -> Option<SystemTime> {
    fs::symlink_metadata(lock).ok()?.modified().ok()
}

fn is_since(lock: &Path, died: SystemTime) -> bool {
    modified_time(lock).is_some_and(|at| at >= died)
}

/// A clock that went backwards makes nothing old.
fn is_old(lock: &Path) -> bool {
    modified_time(lock).and_then(|at| at.elapsed().ok()).is_some_and(|age| age > LOCK_IS_DEAD)
}
