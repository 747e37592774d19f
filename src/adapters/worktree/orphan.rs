//! What is left of a worktree whose directory is gone: the snapshots that were taken of it, and its branch. Changes no file
//! and no ref.

use std::fs;

use git2::Oid;

use super::base_commit;
use super::branch_refs;
use super::linked_worktree::LinkedWorktree;
use crate::git::snapshot_commit::{self, ADDRESS, StoredSnapshot};
use crate::git::snapshot_entry::to_path;
use crate::git::snapshot_error::{self, SnapshotResult};
use crate::git::snapshot_location::SnapshotRepository;
use crate::git::tree;
use synthdev_domain::snapshot::WorktreeSource;

/// The newest of them.
pub struct OrphanWorktree {
    pub worktree_source: WorktreeSource,
    /// The project's part of its files.
    pub tree: Oid,
    /// What a merge of it descends from.
    pub tip_commit: Oid,
}

/// # Errors
/// An object is missing or damaged.
pub fn newest_remains(
    linked: &LinkedWorktree,
    store: &SnapshotRepository,
) -> SnapshotResult<Option<OrphanWorktree>> {
    let failed = |error: git2::Error| snapshot_error::git_read_error(store.location(), &error);
    let snapshot = last_snapshot(linked, store)?;
    let tip = branch_refs::branch_tip(&store.repo, linked)
        .map(|id| store.repo.find_commit(id))
        .transpose()
        .map_err(failed)?;
    let later = |found: &StoredSnapshot<'_>| {
        tip.as_ref().is_none_or(|tip| {
            let (committed, taken) =
                (tip.committer().when().seconds(), found.record.created.0.div_euclid(1000));
            // our commits are made when the run pauses, after its last snapshot
            let ours = tip.committer().email_bytes() == ADDRESS.as_bytes();
            tip.id() == linked.base || committed < taken || (committed == taken && !ours)
        })
    };
    if let Some(found) = snapshot.filter(later) {
        let kept = WorktreeSource::Snapshot { id: found.id.clone(), taken: found.record.created };
        let tip = tip.map_or(linked.base, |tip| tip.id());
        return Ok(Some(OrphanWorktree {
            worktree_source: kept,
            tree: tree_with_recording(linked, store, &found).map_err(failed)?,
            tip_commit: tip,
        }));
    }
    let Some(tip) = tip else { return Ok(None) };
    let tree = base_commit::subtree_at(&store.repo, tip.tree_id(), &linked.prefix).map_err(failed)?.id();
    let kept = if tip.id() == linked.base { WorktreeSource::Nothing } else { WorktreeSource::Branch };
    Ok(Some(OrphanWorktree { worktree_source: kept, tree, tip_commit: tip.id() }))
}

/// The files of a snapshot, and the recording that it leaves out as it was when the worktree was made: no merge removes it.
fn tree_with_recording(
    linked: &LinkedWorktree,
    store: &SnapshotRepository,
    found: &StoredSnapshot<'_>,
) -> Result<Oid, git2::Error> {
    let repo = &store.repo;
    let Some(recording) = &found.record.recording else { return Ok(found.commit.tree_id()) };
    let base = repo.find_commit(linked.base)?.tree_id();
    let before = tree::read_tree(repo, &base_commit::subtree_at(repo, base, &linked.prefix)?)?;
    let mut files = tree::read_tree(repo, &found.commit.tree()?)?;
    files.extend(before.into_iter().filter(|(path, _)| recording.covers(&to_path(path))));
    tree::write_stored(&repo.odb()?, &files)
}

/// Whether there is nothing: neither directory, record, branch nor snapshot.
///
/// # Errors
/// A ref cannot be read.
pub fn is_gone(linked: &LinkedWorktree, store: &SnapshotRepository) -> SnapshotResult<bool> {
    Ok(fs::symlink_metadata(&linked.top_directory).is_err()
        && linked.metadata(store).is_none()
        && branch_refs::branch_tip(&store.repo, linked).is_none()
        && last_snapshot(linked, store)?.is_none())
}

/// Of the project's part: others may have been taken further up or down.
fn last_snapshot<'repo>(
    linked: &LinkedWorktree,
    store: &'repo SnapshotRepository,
) -> SnapshotResult<Option<StoredSnapshot<'repo>>> {
    let scope = format!("{}:{}", linked.name, linked.prefix.display());
    Ok(snapshot_commit::list_worktree_snapshots(store, &linked.name)?
        .into_iter()
        .rfind(|found| found.record.scope == scope))
}
