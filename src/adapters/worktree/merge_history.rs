//! What was merged of a worktree so far, and the base of its next merge. Moves no ref but our mark.
//!
//! A merge brings the changes of the run since the last one, so the files of the last merge are the base of the next:
//! with the files of the start, earlier changes would conflict with themselves. The present project decides: where it
//! again has the content from before a merge, from before the run or from the last commit before that, or no file at
//! all, the run's change was reverted, and the merge brings it again.

use std::collections::BTreeSet;

use git2::{Commit, ObjectType, Oid, Repository, Tree};

use super::base_commit;
use super::branch_refs::MERGED;
use super::linked_worktree::LinkedWorktree;
use crate::git::snapshot_commit;
use crate::git::snapshot_entry::RelPath;
use crate::git::snapshot_error::{self, SnapshotResult};
use crate::git::tree::{self, FlatTree};
use crate::git::tree_diff;
use synthdev_domain::ids::Timestamp;

/// One merge: trees of the project's part.
pub struct MergeRecord {
    /// From where it started.
    pub base: Oid,
    /// The project before and after it.
    pub project_before: Oid,
    pub project_after: Oid,
    /// The worktree.
    pub worktree_tree: Oid,
}

/// The same with all files.
struct LoadedMerge {
    base: FlatTree,
    project_before: FlatTree,
    project_after: FlatTree,
    worktree_tree: FlatTree,
}

/// All merges of a worktree so far.
pub struct MergeHistory {
    start: FlatTree,
    /// The last commit before the run.
    committed: FlatTree,
    /// Newest first.
    steps: Vec<LoadedMerge>,
}

impl MergeHistory {
    /// `start` is the project's part of the base.
    ///
    /// # Errors
    /// An object is missing or damaged.
    pub fn load_history(
        repo: &Repository,
        linked: &LinkedWorktree,
        start: &Tree<'_>,
    ) -> Result<Self, git2::Error> {
        let start = tree::read_tree(repo, start)?;
        let mut steps = Vec::new();
        let mut next = last_merge(repo, linked);
        while let Some(commit) = next {
            steps.push(apply_merge_step(repo, linked, &commit, &start)?);
            next = commit.parent(1).ok();
        }
        let before = repo.find_commit(linked.base).and_then(|base| base.parent(0)).ok();
        let committed = match before.filter(|_| !steps.is_empty()) {
            Some(commit) => {
                tree::read_tree(repo, &base_commit::subtree_at(repo, commit.tree_id(), &linked.prefix)?)?
            }
            None => FlatTree::new(),
        };
        Ok(Self { start, committed, steps })
    }

    /// Every path that matters for a comparison with the project.
    pub fn paths(&self) -> FlatTree {
        let mut all = self.start.clone();
        for step in &self.steps {
            all.extend(step.worktree_tree.iter().map(|(path, what)| (path.clone(), *what)));
        }
        all
    }

    /// What both sides had last, where the project is now as in `ours`.
    pub fn base(&self, ours: &FlatTree) -> FlatTree {
        let Some(newest) = self.steps.first() else { return self.start.clone() };
        let mut base = newest.worktree_tree.clone();
        let renamed = renamed_blobs(ours, &self.start, &newest.worktree_tree);
        let brought = |path: &RelPath| {
            let (now, brought) = (ours.get(path), newest.worktree_tree.get(path));
            now == brought || now.is_none() && brought.is_some_and(|(_, blob)| renamed.contains(blob))
        };
        // the oldest merge that was undone decides: all that came after it is gone with it
        for step in &self.steps {
            for (path, _) in tree_diff::diff_trees(&step.project_before, &step.project_after) {
                if ours.get(&path) == step.project_before.get(&path) && !brought(&path) {
                    set_from(&mut base, &path, &step.base);
                }
            }
        }
        // however it came there: a merge may have found it in the project
        for (path, _) in tree_diff::diff_trees(&self.start, &newest.worktree_tree) {
            match ours.get(&path) {
                _ if brought(&path) => {}
                now if now == self.start.get(&path) => set_from(&mut base, &path, &self.start),
                None => drop(base.remove(&path)),
                now if now == self.committed.get(&path) => set_from(&mut base, &path, &self.committed),
                Some(_) => {}
            }
        }
        base
    }
}

/// Content in the project under names that neither the project had before the run, nor the run created.
fn renamed_blobs(ours: &FlatTree, start: &FlatTree, theirs: &FlatTree) -> BTreeSet<Oid> {
    let empty = Oid::hash_object(ObjectType::Blob, b"").unwrap_or(Oid::ZERO_SHA1);
    let new = ours.iter().filter(|(path, (_, blob))| {
        *blob != empty && !start.contains_key(*path) && !theirs.contains_key(*path)
    });
    new.map(|(_, (_, blob))| *blob).collect()
}

/// Records what is merged now; `tip` is the commit with the worktree's files.
///
/// # Errors
/// The ref cannot be written.
pub fn write_merge_mark(
    repo: &Repository,
    linked: &LinkedWorktree,
    tip: Oid,
    merge: &MergeRecord,
    at: Timestamp,
) -> SnapshotResult<()> {
    let written = || {
        let who = snapshot_commit::commit_signature(at)?;
        let mut parts = repo.treebuilder(None)?;
        for (name, tree) in tree_names(merge) {
            parts.insert(name, tree, 0o040_000)?;
        }
        let files = repo.find_tree(parts.write()?)?;
        let last = last_merge(repo, linked);
        let tip = repo.find_commit(tip)?;
        let parents: Vec<&Commit<'_>> = std::iter::once(&tip).chain(&last).collect();
        let message = format!("Merged run {}\n", linked.name);
        let commit = repo.commit(None, &who, &who, &message, &files, &parents)?;
        repo.reference(&format!("{MERGED}{}", linked.name), commit, true, "").map(drop)
    };
    written().map_err(|error| snapshot_error::git_write_error(repo.path(), &error))
}

fn last_merge<'repo>(repo: &'repo Repository, linked: &LinkedWorktree) -> Option<Commit<'repo>> {
    repo.find_reference(&format!("{MERGED}{}", linked.name)).ok()?.peel_to_commit().ok()
}

fn tree_names(merge: &MergeRecord) -> [(&'static str, Oid); 4] {
    [
        ("after", merge.project_after),
        ("base", merge.base),
        ("before", merge.project_before),
        ("theirs", merge.worktree_tree),
    ]
}

fn apply_merge_step(
    repo: &Repository,
    linked: &LinkedWorktree,
    commit: &Commit<'_>,
    start: &FlatTree,
) -> Result<LoadedMerge, git2::Error> {
    if commit.parent_count() == 0 || !commit.message_bytes().starts_with(b"Merged run ") {
        // A mark of an earlier version: the worktree's own commit.
        let theirs =
            tree::read_tree(repo, &base_commit::subtree_at(repo, commit.tree_id(), &linked.prefix)?)?;
        let (before, after) = (FlatTree::new(), FlatTree::new());
        return Ok(LoadedMerge {
            base: start.clone(),
            project_before: before,
            project_after: after,
            worktree_tree: theirs,
        });
    }
    let parts = commit.tree()?;
    let part = |name: &str| match parts.get_name(name) {
        Some(entry) => tree::read_tree(repo, &repo.find_tree(entry.id())?),
        None => Ok(FlatTree::new()),
    };
    Ok(LoadedMerge {
        base: part("base")?,
        project_before: part("before")?,
        project_after: part("after")?,
        worktree_tree: part("theirs")?,
    })
}

fn set_from(base: &mut FlatTree, path: &[u8], from: &FlatTree) {
    match from.get(path) {
        Some(what) => drop(base.insert(path.to_vec(), *what)),
        None => drop(base.remove(path)),
    }
}
