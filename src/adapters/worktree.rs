//! Isolation of runs: linked git worktrees in the data directory, each on a branch of its own (SNAP-13).
//!
//! A worktree begins with the project's present files, byte for byte; its base is a commit of them above HEAD. The
//! user's index, HEAD, branches, stash and hooks are never touched; what is written beside them is the branch
//! `synthdev/RUN`, git's own record of the worktree, and one ref of ours that says what was merged.
//! Whole repositories are isolated, even if the project is a directory of one; only the project is compared and merged.

use std::collections::BTreeSet;
use std::fs;

use git2::{Oid, Repository, Tree};

use super::git::compare::Change;
use super::git::entry::{Kind, RelPath, to_bytes, to_path};
use super::git::fault::{self, Outcome, fault};
use super::git::here::Here;
use super::git::place::Store;
use super::git::scan::{Blobs, Scan};
use super::git::tree::{self, Stored};
use super::git::{GitSnapshots, Plan, between, stat_cache};
use crate::domain::ids::{RunId, SnapshotId};
use crate::domain::snapshot::{ChangedFile, Merged, Skipped, SnapshotRequest, Worktree};
use crate::ports::snapshot::SnapshotError;
use crate::ports::worktree::{MergeError, WorktreePort};

mod base;
mod create;
mod linked;
mod merged;
mod promise;
mod remove;
mod three_way;
mod tips;

use base::Base;
use linked::Linked;
use merged::Past;

/// The worktrees of one project.
pub struct GitWorktrees {
    snapshots: GitSnapshots,
}

impl GitWorktrees {
    /// Takes project, data directory and exclusions from the project's snapshots. Touches nothing until used.
    pub fn new(snapshots: GitSnapshots) -> Self {
        Self { snapshots }
    }

    /// The project's repository; isolation cannot do without.
    fn repository(&self) -> Outcome<Store> {
        let place = self.snapshots.place()?;
        place.own_repository().ok_or_else(|| linked::unusable(&place.project))
    }

    /// Compares the project's part of the base with the present, of which nothing is stored.
    fn compared<T>(
        &self,
        worktree: &Worktree,
        use_it: impl FnOnce(&Repository, &Tree<'_>, &Tree<'_>) -> Result<T, git2::Error>,
    ) -> Outcome<T> {
        let store = self.repository()?;
        let linked = Linked::locate(worktree, &store, self.snapshots.data())?;
        let here = linked.open(&self.snapshots, &store)?;
        let failed = |error: git2::Error| fault::git_read(store.location(), &error);
        let repo = &here.store.repo;
        let odb = repo.odb().map_err(failed)?;
        let _memory = odb.add_new_mempack_backend(1000).map_err(failed)?;
        let start = Base::load(repo, linked.base)?.tree;
        let present = present(&here, &tree::read(repo, &start).map_err(failed)?, Blobs::InMemory)?;
        let old = base::below(repo, start.id(), &linked.prefix).map_err(failed)?;
        let new = base::below(repo, present.tree, &linked.prefix).map_err(failed)?;
        use_it(repo, &old, &new).map_err(failed)
    }

    /// Applies what the merge of the three sides says, and says what was merged; with the lock held.
    fn bring(&self, worktree: &Worktree, here: &Here, side: &Side<'_>) -> Result<Merged, MergeError> {
        let failed = |error: git2::Error| fault::git_read(here.store.location(), &error);
        let (repo, linked) = (&here.store.repo, side.linked);
        let since = stat_cache::disk_time(&here.place);
        let past = Past::load(repo, linked, side.start).map_err(failed)?;
        let mut wanted = past.paths();
        wanted.extend(tree::read(repo, side.theirs).map_err(failed)?);
        let ours = present(here, &wanted, Blobs::Stored)?;
        let odb = repo.odb().map_err(failed)?;
        let base = tree::write_stored(&odb, &past.base(&tree::flat(&ours.scan.entries))).map_err(failed)?;
        let (base, before) =
            (repo.find_tree(base).map_err(failed)?, repo.find_tree(ours.tree).map_err(failed)?);
        let mut plan = three_way::merge(repo, &base, &before, side.theirs).map_err(failed)?;
        let (changes, files) = three_way::changes(&ours.scan, &plan.merged);
        plan.conflicts.extend(three_way::in_the_way(&ours.scan, &changes));
        if !plan.conflicts.is_empty() {
            return Err(MergeError::Conflicts(plan.conflicts));
        }
        let mut done = Merged { safety: None, files, skipped: Vec::new() };
        let after = tree::write_stored(&odb, &plan.merged).map_err(failed)?;
        if !changes.is_empty() {
            let request = SnapshotRequest {
                label: format!("Before merge of {}", worktree.branch),
                run: None,
                note: "Restore this one to undo the merge.".to_owned(),
            };
            done.safety = Some(self.apply(here, ours.scan, since, &changes, &request)?);
        }
        let merge = merged::Merge { base: base.id(), before: ours.tree, after, theirs: side.theirs.id() };
        merged::say(repo, linked, side.tip, &merge, self.snapshots.now())?;
        Ok(done)
    }

    /// What the worktree has, and if that is gone its branch; nothing of it is stored.
    fn theirs(&self, linked: &Linked, store: &Store, past: &Past) -> Outcome<Stored> {
        let failed = |error: git2::Error| fault::git_read(store.location(), &error);
        if fs::symlink_metadata(&linked.top).is_err() {
            return Ok(merged::on_branch(&store.repo, linked).map_err(failed)?.unwrap_or_default());
        }
        let inside = linked.open(&self.snapshots, store)?;
        let below = |path: &RelPath| [prefix_of(linked).as_slice(), path.as_slice()].concat();
        let wanted: Stored = past.paths().iter().map(|(path, what)| (below(path), *what)).collect();
        let scan = inside.scan(&wanted, Blobs::Named)?;
        let prefix = prefix_of(linked);
        let inner =
            |(path, what): (RelPath, (Kind, Oid))| Some((path.strip_prefix(&*prefix)?.to_vec(), what));
        Ok(tree::flat(&scan.entries).into_iter().filter_map(inner).collect())
    }

    fn apply(
        &self,
        here: &Here,
        scan: Scan,
        since: (i64, u32),
        changes: &[Change],
        request: &SnapshotRequest,
    ) -> Outcome<SnapshotId> {
        let none = BTreeSet::new();
        let plan = Plan { changes, empty_dirs: &none, hollow_now: &[], act: "merge", request };
        self.snapshots.save_and_apply(here, scan, since, &plan)
    }
}

impl WorktreePort for GitWorktrees {
    fn create(&self, run: &RunId, workflow: &str) -> Result<Worktree, SnapshotError> {
        create::create(&self.snapshots, &self.repository()?, run, workflow)
    }

    fn skipped(&self, worktree: &Worktree) -> Result<Vec<Skipped>, SnapshotError> {
        let store = self.repository()?;
        let linked = Linked::locate(worktree, &store, self.snapshots.data())?;
        Ok(Base::load(&store.repo, linked.base)?.note.skipped)
    }

    fn changes(&self, worktree: &Worktree) -> Result<Vec<ChangedFile>, SnapshotError> {
        self.compared(worktree, |repo, old, new| {
            Ok(between::listed(&between::changes(&tree::read(repo, old)?, &tree::read(repo, new)?)))
        })
    }

    fn unmerged(&self, worktree: &Worktree) -> Result<Option<Vec<ChangedFile>>, SnapshotError> {
        let store = self.repository()?;
        let linked = Linked::locate(worktree, &store, self.snapshots.data())?;
        if tips::is_gone(&linked, &store) {
            return Ok(None);
        }
        let failed = |error: git2::Error| fault::git_read(store.location(), &error);
        let start = Base::load(&store.repo, linked.base)?.tree.id();
        let start = base::below(&store.repo, start, &linked.prefix).map_err(failed)?;
        let past = Past::load(&store.repo, &linked, &start).map_err(failed)?;
        let theirs = self.theirs(&linked, &store, &past)?;
        let mut wanted = past.paths();
        wanted.extend(theirs.clone());
        let here = self.snapshots.here(self.snapshots.place()?, self.repository()?);
        let ours = tree::flat(&here.scan(&wanted, Blobs::Named)?.entries);
        let mut changes = between::changes(&past.base(&ours), &theirs);
        changes.retain(|(path, _)| ours.get(path) != theirs.get(path));
        Ok(Some(between::listed(&changes)))
    }

    fn diff(&self, worktree: &Worktree) -> Result<String, SnapshotError> {
        self.compared(worktree, |repo, old, new| {
            let changes = between::changes(&tree::read(repo, old)?, &tree::read(repo, new)?);
            between::print(repo, old, new, changes.iter().map(|(path, _)| path))
        })
    }

    fn merge(&self, worktree: &Worktree) -> Result<Merged, MergeError> {
        let place = self.snapshots.place()?;
        let _lock = place.lock()?;
        let store = self.repository()?;
        let linked = Linked::locate(worktree, &store, self.snapshots.data())?;
        let inside = linked.open(&self.snapshots, &store)?;
        let failed = |error: git2::Error| fault::git_read(store.location(), &error);
        let base = Base::load(&inside.store.repo, linked.base)?;
        let theirs =
            present(&inside, &tree::read(&inside.store.repo, &base.tree).map_err(failed)?, Blobs::Stored)?;
        if let Some(path) = theirs.scan.unreadable.first() {
            let path = linked.top.join(to_path(path));
            return Err(fault(
                format!("{} cannot be read; nothing was merged", path.display()),
                "Make it readable or delete it, then merge again.",
            )
            .into());
        }
        let tip = tips::keep(&inside.store.repo, &linked, theirs.tree, self.snapshots.now())?;
        let below = |id: Oid| base::below(&store.repo, id, &linked.prefix).map_err(failed);
        let (start, new) = (below(base.tree.id())?, below(theirs.tree)?);
        let here = self.snapshots.here(place, self.repository()?);
        let side = Side { linked: &linked, tip, start: &start, theirs: &new };
        let mut merged = self.bring(worktree, &here, &side)?;
        let known = |skipped: &Skipped| base.note.skipped.contains(skipped);
        merged.skipped = theirs.scan.skipped.into_iter().filter(|skipped| !known(skipped)).collect();
        Ok(merged)
    }

    fn discard(&self, worktree: &Worktree, force: bool) -> Result<(), SnapshotError> {
        let place = self.snapshots.place()?;
        let _lock = place.lock()?;
        let store = self.repository()?;
        let linked = Linked::locate(worktree, &store, self.snapshots.data())?;
        remove::discard(&linked, &store, self.snapshots.data(), force)
    }
}

/// The worktree's side of a merge; the other is the project's present.
struct Side<'a> {
    linked: &'a Linked,
    /// Where its files are committed.
    tip: Oid,
    /// Project's part of what it began with, and of what it has.
    start: &'a Tree<'a>,
    theirs: &'a Tree<'a>,
}

/// A directory as it is now.
struct Present {
    scan: Scan,
    tree: Oid,
}

/// Covers the paths in `wanted` even if they are ignored or large.
fn present(here: &Here, wanted: &Stored, blobs: Blobs) -> Outcome<Present> {
    let failed = |error: git2::Error| fault::git_write(here.store.location(), &error);
    let scan = here.scan(wanted, blobs)?;
    let odb = here.store.repo.odb().map_err(failed)?;
    let tree = tree::write(&odb, &scan.entries).map_err(failed)?;
    Ok(Present { scan, tree })
}

/// Where the project's files begin in paths of the worktree: empty, or with a slash at its end.
fn prefix_of(linked: &Linked) -> RelPath {
    let mut prefix = to_bytes(&linked.prefix);
    if !prefix.is_empty() {
        prefix.push(b'/');
    }
    prefix
}
