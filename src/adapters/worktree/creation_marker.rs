//! A marker file for a worktree that is being created. If its process is killed, the next creation for the project
//! removes the worktree: git would complain about it, and no run refers to it. Refuses to name what existed before.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use git2::Oid;
use serde::{Deserialize, Serialize};

use super::linked_worktree::LinkedWorktree;
use super::remove;
use crate::file_io::private_file;
use crate::git::snapshot_error::{self, SnapshotResult};
use crate::git::snapshot_location::{SnapshotLocation, SnapshotRepository};

#[derive(Serialize, Deserialize)]
struct WorktreeCreationMarker {
    name: String,
    branch: String,
}

/// Before anything of it is made; with the project's lock held, as for the others.
pub fn write_creation_marker(place: &SnapshotLocation, name: &str, branch: &str) -> SnapshotResult<()> {
    let file = marker_file(place);
    let promise = WorktreeCreationMarker { name: name.to_owned(), branch: branch.to_owned() };
    let text = serde_json::to_vec(&promise).unwrap_or_default();
    private_file(&file)
        .and_then(|mut to| to.write_all(&text))
        .map_err(|error| snapshot_error::store_io_error(&file, &error))
}

/// All of it is there, or nothing.
pub fn remove_creation_marker(place: &SnapshotLocation) {
    let _ = fs::remove_file(marker_file(place));
}

/// Takes away what was promised and never finished. What cannot be removed is no reason to make nothing.
pub fn remove_abandoned_worktree(
    place: &SnapshotLocation,
    store: &SnapshotRepository,
    room: &Path,
    data: &Path,
) {
    let Ok(text) = fs::read(marker_file(place)) else { return };
    // half a promise: it was given before anything was made
    if let Ok(WorktreeCreationMarker { name, branch }) = serde_json::from_slice(&text) {
        let top = room.join(&name);
        let base = Oid::ZERO_SHA1;
        let half = LinkedWorktree { top_directory: top, prefix: store.prefix.clone(), name, branch, base };
        let lock = store.repo.commondir().join(format!("refs/heads/{}.lock", half.branch));
        let _ = fs::remove_file(lock);
        let _ = remove::discard_worktree(&half, store, data, true);
    }
    remove_creation_marker(place);
}

fn marker_file(place: &SnapshotLocation) -> PathBuf {
    place.project_data.join("making")
}
