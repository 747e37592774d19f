//! Isolation of runs: linked git worktrees in the data directory, each on a branch of its own (SNAP-13).
//!
//! A worktree begins with the project's present files, byte for byte; its base is a commit of them above HEAD. The
//! user's index, HEAD, branches, stash and hooks are never touched; what is written beside them is the branch
//! `synthdev/RUN`, git's own record of the worktree, and one ref of ours that says what was merged.
//! Whole repositories are isolated, even if the project is a directory of one; only the project is compared and merged.

use std::collections::BTreeSet;
use std::fs;

use git2::{Oid, Repository, Tree};

use super::git::entry::{Kind, RelPath, to_bytes, to_path};
use super::git::fault::{self, Outcome, fault};
use super::git::here::Here;
use super::git::place::Store;
use super::git::scan::{Blobs, Scan};
use super::git::tree::{self, Stored};
use super::git::{GitSnapshots, Plan, between, cut_off, stat_cache};
use crate::domain::ids::RunId;
use crate::domain::snapshot::{
    ChangedFile, Goal, Kept, Merged, Skipped, SnapshotRequest, Unmerged, Worktree,
};
use crate::ports::snapshot::SnapshotError;
use crate::ports::worktree::{MergeError, WorktreePort};

mod base;
mod create;
mod left;
mod linked;
mod locks;
mod merged;
mod promise;
mod remove;
mod three_way;
mod tips;
mod unfinished;

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
        place.own_repository()?.ok_or_else(|| linked::unusable(&place))
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
        let earlier = unfinished::earlier(here, &side.goal)?;
        let since = stat_cache::disk_time(&here.place);
        let past = Past::load(repo, linked, &side.start).map_err(failed)?;
        let mut wanted = past.paths();
        wanted.extend(tree::read(repo, &side.theirs).map_err(failed)?);
        let ours = present(here, &wanted, Blobs::Stored)?;
        let before = earlier.as_ref().map_or(ours.tree, |earlier| earlier.tree);
        let (base, plan) = planned(repo, &past, &ours, &side.theirs).map_err(failed)?;
        if !plan.conflicts.is_empty() {
            return Err(MergeError::Conflicts(plan.conflicts));
        }
        let (changes, files) = three_way::changes(&ours.scan, &plan.merged);
        let mut done = Merged { safety: earlier.map(|earlier| earlier.safety), files, skipped: Vec::new() };
        let odb = repo.odb().map_err(failed)?;
        let after = tree::write_stored(&odb, &plan.merged).map_err(failed)?;
        if changes.is_empty() {
            cut_off::clear(&here.place)?;
        } else {
            let request = SnapshotRequest {
                label: before_merge(&worktree.branch),
                run: None,
                note: "Restore this one to undo the merge.".to_owned(),
            };
            let none = BTreeSet::new();
            let (changes, empty_dirs, act) = (&*changes, &none, "merge");
            let plan =
                Plan { changes, empty_dirs, hollow_now: &[], act, goal: &side.goal, request: &request };
            let saved = self.snapshots.save_and_apply(here, ours.scan, since, &plan, &mut |_| Ok(()))?;
            done.safety = Some(saved.safety);
        }
        let merge = merged::Merge { base, before, after, theirs: side.theirs.id() };
        merged::say(repo, linked, side.tip, &merge, self.snapshots.now())?;
        Ok(done)
    }

    /// The project's part of what the worktree has; nothing of it is stored but in memory that `store` has.
    fn theirs(&self, linked: &Linked, store: &Store, past: &Past) -> Outcome<Option<(Kept, Stored)>> {
        let failed = |error: git2::Error| fault::git_read(store.location(), &error);
        if fs::symlink_metadata(&linked.top).is_err() {
            let Some(left) = left::newest(linked, store)? else { return Ok(None) };
            let files = store.repo.find_tree(left.tree).and_then(|tree| tree::read(&store.repo, &tree));
            return Ok(Some((left.kept, files.map_err(failed)?)));
        }
        let inside = linked.open(&self.snapshots, store)?;
        store.repo.odb().and_then(|odb| inside.store.repo.set_odb(&odb)).map_err(failed)?;
        let below = |path: &RelPath| [prefix_of(linked).as_slice(), path.as_slice()].concat();
        let wanted: Stored = past.paths().iter().map(|(path, what)| (below(path), *what)).collect();
        let scan = inside.scan(&wanted, Blobs::InMemory)?;
        let prefix = prefix_of(linked);
        let inner =
            |(path, what): (RelPath, (Kind, Oid))| Some((path.strip_prefix(&*prefix)?.to_vec(), what));
        Ok(Some((Kept::Tree, tree::flat(&scan.entries).into_iter().filter_map(inner).collect())))
    }

    /// The worktree's side as it is committed now, or as it was kept if the worktree is gone.
    fn side<'s>(&self, linked: &'s Linked, store: &'s Store) -> Outcome<(Side<'s>, Vec<Skipped>)> {
        let failed = |error: git2::Error| fault::git_read(store.location(), &error);
        let base = Base::load(&store.repo, linked.base)?;
        let below = |id: Oid| base::below(&store.repo, id, &linked.prefix).map_err(failed);
        let start = below(base.tree.id())?;
        let run = base.note.run.clone().unwrap_or_else(|| RunId(linked.name.clone()));
        let goal = Goal::Merge { run, branch: linked.branch.clone() };
        if fs::symlink_metadata(&linked.top).is_err() {
            let left = left::newest(linked, store)?.filter(|left| left.kept != Kept::Nothing);
            let left = left.ok_or_else(|| linked.gone())?;
            let theirs = store.repo.find_tree(left.tree).map_err(failed)?;
            return Ok((Side { linked, tip: left.tip, start, theirs, goal }, Vec::new()));
        }
        let inside = linked.open(&self.snapshots, store)?;
        let wanted = tree::read(&store.repo, &base.tree).map_err(failed)?;
        let theirs = present(&inside, &wanted, Blobs::Stored)?;
        if let Some(path) = theirs.scan.unreadable.first() {
            let path = linked.top.join(to_path(path));
            return Err(fault(
                format!("{} cannot be read; nothing was merged", path.display()),
                "Make it readable or delete it, then merge again.",
            ));
        }
        let tip = tips::keep(&inside.store.repo, linked, theirs.tree, self.snapshots.now())?;
        let known = |skipped: &Skipped| base.note.skipped.contains(skipped);
        let skipped = theirs.scan.skipped.into_iter().filter(|skipped| !known(skipped)).collect();
        Ok((Side { linked, tip, start, theirs: below(theirs.tree)?, goal }, skipped))
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

    fn unmerged(&self, worktree: &Worktree) -> Result<Option<Unmerged>, SnapshotError> {
        let store = self.repository()?;
        let linked = Linked::locate(worktree, &store, self.snapshots.data())?;
        locks::clear(&self.snapshots.place()?, &store, &linked)?;
        if left::is_gone(&linked, &store)? {
            return Ok(None);
        }
        let failed = |error: git2::Error| fault::git_read(store.location(), &error);
        let odb = store.repo.odb().map_err(failed)?;
        let _memory = odb.add_new_mempack_backend(1000).map_err(failed)?;
        let start = Base::load(&store.repo, linked.base)?.tree.id();
        let start = base::below(&store.repo, start, &linked.prefix).map_err(failed)?;
        let past = Past::load(&store.repo, &linked, &start).map_err(failed)?;
        let Some((kept, theirs)) = self.theirs(&linked, &store, &past)? else {
            // git's record of it is all that is left
            return Ok(Some(Unmerged { kept: Kept::Nothing, files: Vec::new(), conflicts: Vec::new() }));
        };
        let mut wanted = past.paths();
        wanted.extend(theirs.clone());
        let here = self.snapshots.here(self.snapshots.place()?, self.repository()?);
        here.store.repo.set_odb(&odb).map_err(failed)?;
        let ours = present(&here, &wanted, Blobs::InMemory)?;
        let now = tree::flat(&ours.scan.entries);
        let mut changes = between::changes(&past.base(&now), &theirs);
        changes.retain(|(path, _)| now.get(path) != theirs.get(path));
        let tried = || {
            let theirs = store.repo.find_tree(tree::write_stored(&odb, &theirs)?)?;
            planned(&store.repo, &past, &ours, &theirs)
        };
        let conflicts = if changes.is_empty() { Vec::new() } else { tried().map_err(failed)?.1.conflicts };
        Ok(Some(Unmerged { kept, files: between::listed(&changes), conflicts }))
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
        let _moving = locks::begin(&place, &store, &linked)?;
        let (side, skipped) = self.side(&linked, &store)?;
        let here = self.snapshots.here(place, self.repository()?);
        let merged = self.bring(worktree, &here, &side)?;
        Ok(Merged { skipped, ..merged })
    }

    fn discard(&self, worktree: &Worktree, force: bool) -> Result<(), SnapshotError> {
        let place = self.snapshots.place()?;
        let _lock = place.lock()?;
        let store = self.repository()?;
        let linked = Linked::locate(worktree, &store, self.snapshots.data())?;
        let _moving = locks::begin(&place, &store, &linked)?;
        remove::discard(&linked, &store, self.snapshots.data(), force)
    }
}

/// How the snapshot is called that undoes a merge of a branch.
pub fn before_merge(branch: &str) -> String {
    format!("Before merge of {branch}")
}

/// The worktree's side of a merge; the other is the project's present.
struct Side<'a> {
    linked: &'a Linked,
    /// Where its files are committed.
    tip: Oid,
    /// Project's part of what it began with, and of what it has.
    start: Tree<'a>,
    theirs: Tree<'a>,
    goal: Goal,
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

/// From where a merge starts, and what it comes to with the project as it is now.
fn planned(
    repo: &Repository,
    past: &Past,
    ours: &Present,
    theirs: &Tree<'_>,
) -> Result<(Oid, three_way::Merge), git2::Error> {
    let base = tree::write_stored(&repo.odb()?, &past.base(&tree::flat(&ours.scan.entries)))?;
    let mut plan = three_way::merge(repo, &repo.find_tree(base)?, &repo.find_tree(ours.tree)?, theirs)?;
    let (changes, _) = three_way::changes(&ours.scan, &plan.merged);
    plan.conflicts.extend(three_way::in_the_way(&ours.scan, &changes));
    Ok((base, plan))
}

/// Where the project's files begin in paths of the worktree: empty, or with a slash at its end.
fn prefix_of(linked: &Linked) -> RelPath {
    let mut prefix = to_bytes(&linked.prefix);
    if !prefix.is_empty() {
        prefix.push(b'/');
    }
    prefix
}
