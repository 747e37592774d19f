//! Which snapshots are old enough to go, deleting them, and taking out of a private store what none of the others needs.
//! Never touches the objects of a repository that is the user's: git collects them.

use std::collections::HashSet;
use std::fs;

use git2::{ObjectType, Oid, Repository};

use super::restore_marker;
use super::snapshot_commit::{self, StoredSnapshot};
use super::snapshot_error::{self, SnapshotResult};
use super::snapshot_location::{SnapshotLocation, SnapshotRepository};
use super::uncovered_files;
use synthdev_domain::snapshot::SnapshotInfo;
use synthdev_ports::snapshot::SnapshotChoice;

/// Of all stores of a project.
pub fn list_newest_first(stores: &[SnapshotRepository]) -> SnapshotResult<Vec<SnapshotInfo>> {
    let mut all = Vec::new();
    for store in stores {
        all.extend(snapshot_commit::list_snapshots(store)?.iter().map(StoredSnapshot::to_info));
    }
    all.sort_by(|a, b| b.id.cmp(&a.id));
    Ok(all)
}

/// Deletes snapshots of all stores of a project and what belongs to them; none while a restore waits to be finished. Call
/// with the lock held.
///
/// # Errors
/// The stores cannot be read or written, or `choose` failed.
pub fn delete_chosen(
    place: &SnapshotLocation,
    stores: &[SnapshotRepository],
    choose: SnapshotChoice<'_>,
) -> SnapshotResult<Vec<SnapshotInfo>> {
    // a restore that was cut off needs its snapshots until it is finished
    if restore_marker::marker_exists(place) {
        return Ok(Vec::new());
    }
    let all = list_newest_first(stores)?;
    let chosen = choose(&all)?;
    let (gone, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|info| chosen.contains(&info.id));
    if gone.is_empty() {
        return Ok(gone);
    }
    let mut remaining = Vec::new();
    for store in stores {
        let is_stored = |info: &&SnapshotInfo| snapshot_commit::is_stored(store, &info.id);
        gone.iter()
            .filter(is_stored)
            .try_for_each(|info| snapshot_commit::delete_snapshot(store, &info.id))?;
        if store.private {
            prune_unreachable(store)?;
        }
        remaining
            .push((store.private, rest.iter().filter(is_stored).map(|info| info.id.0.clone()).collect()));
    }
    uncovered_files::prune_records(place, &remaining)?;
    Ok(gone)
}

/// Private copies of snapshots that are gone; call with the lock held.
///
/// # Errors
/// The stores cannot be read, or a copy cannot be removed.
pub fn prune_uncovered_records(place: &SnapshotLocation) -> SnapshotResult<()> {
    let mut there = Vec::new();
    for store in place.all_stores()? {
        let ids = snapshot_commit::list_snapshots(&store)?.into_iter().map(|found| found.id.0);
        there.push((store.private, ids.collect()));
    }
    uncovered_files::prune_records(place, &there)
}

/// Deletes loose objects that no ref reaches; call with the lock held, so that no snapshot is about to refer to one.
/// # Errors
/// An object of a remaining snapshot cannot be read; then nothing is deleted.
pub fn prune_unreachable(store: &SnapshotRepository) -> SnapshotResult<()> {
    let needed = reachable_objects(&store.repo)
        .map_err(|error| snapshot_error::git_read_error(store.location(), &error))?;
    let objects = store.location().join("objects");
    let Ok(fans) = fs::read_dir(&objects) else { return Ok(()) };
    for fan in fans.flatten() {
        let start = fan.file_name().to_string_lossy().into_owned();
        if start.len() != 2 {
            continue;
        }
        for file in fs::read_dir(fan.path()).into_iter().flatten().flatten() {
            let name = format!("{start}{}", file.file_name().to_string_lossy());
            if name.len() == 40 && Oid::from_str(&name).is_ok_and(|id| !needed.contains(&id)) {
                fs::remove_file(file.path())
                    .map_err(|error| snapshot_error::store_io_error(&file.path(), &error))?;
            }
        }
        // Only an empty one goes.
        let _ = fs::remove_dir(fan.path());
    }
    Ok(())
}

fn reachable_objects(repo: &Repository) -> Result<HashSet<Oid>, git2::Error> {
    let mut needed = HashSet::new();
    let mut trees = Vec::new();
    for reference in repo.references()? {
        let commit = reference?.peel_to_commit()?;
        needed.insert(commit.id());
        trees.push(commit.tree_id());
    }
    while let Some(id) = trees.pop() {
        if !needed.insert(id) {
            continue;
        }
        for item in repo.find_tree(id)?.iter() {
            if item.kind() == Some(ObjectType::Tree) {
                trees.push(item.id());
            } else {
                needed.insert(item.id());
            }
        }
    }
    Ok(needed)
}
