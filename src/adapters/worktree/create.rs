//! Makes a worktree: base commit, branch, git's record, then the files as raw bytes, without filters or line-end
//! conversion. If any of that fails, all of it is taken back.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use git2::{ErrorCode, Oid, Repository, WorktreeAddOptions};

use super::base::{self, Note};
use super::linked::{self, Linked};
use super::promise;
use super::remove;
use super::tips;
use crate::adapters::git::GitSnapshots;
use crate::adapters::git::apply::Restore;
use crate::adapters::git::compare::Change;
use crate::adapters::git::entry::{Entry, Kind, RelPath, Stat, to_path};
use crate::adapters::git::fault::{self, NOT_UTF_8, Outcome, fault};
use crate::adapters::git::place::{Place, Store};
use crate::adapters::git::record;
use crate::adapters::git::scan::{Blobs, Scan};
use crate::adapters::git::stat_cache::{self, StatCache};
use crate::adapters::git::tree::{self, Stored};
use crate::domain::ids::{RunId, Timestamp};
use crate::domain::snapshot::{FileChange, Worktree};
use crate::ports::snapshot::SnapshotError;

/// See the port.
pub fn create(snapshots: &GitSnapshots, store: &Store, run: &RunId, workflow: &str) -> Outcome<Worktree> {
    let place = snapshots.place()?;
    if place.project.to_str().is_none() {
        return Err(fault(format!("{}: {}", place.project.display(), NOT_UTF_8.0), NOT_UTF_8.1));
    }
    let _lock = place.lock()?;
    let failed = |error: git2::Error| fault::git_write(store.location(), &error);
    let top = store.repo.workdir().unwrap_or(&place.project);
    let whole = snapshots.at(top);
    let whole_place = whole.place().map_err(|error| about_the_whole(error, &place.project, top))?;
    let whole_store = whole_place.own_repository()?.ok_or_else(|| linked::unusable(&whole_place))?;
    refuse_sparse(&store.repo)?;
    let here = whole.here(whole_place, whole_store);
    let scan = here.scan(&Stored::new(), Blobs::Stored)?;
    let odb = store.repo.odb().map_err(failed)?;
    let tree = tree::write(&odb, &scan.entries).map_err(failed)?;
    let note = Note { run: Some(run.clone()), workflow: workflow.to_owned(), skipped: scan.skipped.clone() };
    let base = base::write(&store.repo, tree, &note, snapshots.now()).map_err(failed)?;
    let room = room(snapshots.data())?;
    promise::clear(&place, store, &room, snapshots.data());
    let made = add(store, &place, &room, run, base)?;
    let filled = fill(snapshots, &made, &scan, tree);
    let worktree = Worktree {
        path: made.project().to_string_lossy().into_owned(),
        branch: made.branch.clone(),
        base: base.to_string(),
    };
    let ready = filled.and_then(|()| {
        // An empty project directory is in no tree, but the run needs it.
        fs::create_dir_all(made.project()).map_err(|error| fault::store(&made.top, &error))
    });
    if let Err(error) = ready {
        // What failed is what people must know; leftovers are found by name.
        let _ = remove::discard(&made, store, snapshots.data(), true);
        promise::keep(&place);
        return Err(error);
    }
    promise::keep(&place);
    Ok(worktree)
}

/// The user's home as the repository of a project would be copied as a whole.
fn about_the_whole(error: SnapshotError, project: &Path, top: &Path) -> SnapshotError {
    if project == top {
        return error;
    }
    fault(
        format!(
            "the git repository of {} is {}: it is too wide to isolate",
            project.display(),
            top.display()
        ),
        "Run `git init` in the project itself, or run without isolation.",
    )
}

/// A base without the files that a sparse checkout hides would look as if they were deleted.
fn refuse_sparse(repo: &Repository) -> Outcome<()> {
    let sparse = repo.config().and_then(|config| config.get_bool("core.sparseCheckout")).unwrap_or(false);
    if !sparse {
        return Ok(());
    }
    Err(fault(
        format!("{} is checked out sparsely, which isolation does not support", repo.path().display()),
        "Run without isolation, or `git sparse-checkout disable` first.",
    ))
}

/// `<data>/worktrees`, without symbolic links, for nobody else to read.
fn room(data: &Path) -> Outcome<PathBuf> {
    let room = data.join("worktrees");
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&room);
    made.and_then(|()| fs::canonicalize(&room)).map_err(|error| fault::store(&room, &error))
}

/// Branch and worktree under the first free name. The checkout is of an empty tree: the files are written by us.
fn add(store: &Store, place: &Place, room: &Path, run: &RunId, base: Oid) -> Outcome<Linked> {
    let repo = &store.repo;
    let failed = |error: git2::Error| fault::git_write(store.location(), &error);
    let empty = base::empty(repo).map_err(failed)?;
    let who = record::signature(Timestamp(0)).map_err(failed)?;
    let nothing = repo.commit(None, &who, &who, "nothing\n", &empty, &[]).map_err(failed)?;
    for (name, branch) in tips::names(run) {
        let top = room.join(&name);
        let taken = fs::symlink_metadata(&top).is_ok()
            || fs::symlink_metadata(repo.commondir().join("worktrees").join(&name)).is_ok()
            || repo.find_reference(&tips::full(&branch)).is_ok();
        if taken {
            continue;
        }
        promise::give(place, &name, &branch)?;
        let reference = match repo.reference(&tips::full(&branch), nothing, false, "synthdev: begin") {
            Ok(reference) => reference,
            Err(error) if error.code() == ErrorCode::Exists => continue,
            // A branch `synthdev` of the user's leaves no room below it.
            Err(_) if repo.find_reference("refs/heads/synthdev").is_ok() => continue,
            Err(error) => return Err(failed(error)),
        };
        let linked = Linked { top, prefix: store.prefix.clone(), name, branch, base };
        let mut options = WorktreeAddOptions::new();
        options.reference(Some(&reference));
        let added = repo.worktree(&linked.name, &linked.top, Some(&options)).and_then(|_| {
            repo.reference(&tips::full(&linked.branch), base, true, "synthdev: files before the run")
        });
        if let Err(error) = added {
            let _ = remove::erase(&linked, store);
            return Err(failed(error));
        }
        return Ok(linked);
    }
    Err(fault(
        format!("every name for a worktree of run {run} is taken"),
        "Discard worktrees of this run, or see `git worktree list` and `git branch --list 'synthdev*'`.",
    ))
}

/// Writes the files, the worktree's own index, and what we know of the files' stats.
fn fill(snapshots: &GitSnapshots, made: &Linked, scan: &Scan, tree: Oid) -> Outcome<()> {
    let failed = |error: git2::Error| fault::git_write(&made.top, &error);
    let inside = snapshots.at(&made.top);
    let place = inside.place()?;
    let _lock = place.lock()?;
    let store = place.own_repository()?.ok_or_else(|| linked::unusable(&place))?;
    let repo = &store.repo;
    let (modules, files): (Vec<&Entry>, Vec<&Entry>) =
        scan.entries.iter().partition(|entry| entry.stat.kind == Kind::Submodule);
    let changes: Vec<Change> = files.iter().map(|entry| new_file(entry)).collect();
    let hollow = scan.empty_dirs.iter().filter(|dir| std::str::from_utf8(dir).is_ok());
    let empty_dirs: BTreeSet<RelPath> =
        hollow.cloned().chain(modules.iter().map(|module| module.path.clone())).collect();
    let odb = repo.odb().map_err(failed)?;
    let restore = Restore { place: &place, odb, empty_dirs: &empty_dirs, hollow_now: &[], act: "create it" };
    restore.run(&changes)?;
    let mut index = repo.index().map_err(failed)?;
    let known = repo.find_tree(tree).and_then(|tree| index.read_tree(&tree)).and_then(|()| index.write());
    known.map_err(failed)?;
    let since = stat_cache::disk_time(&place);
    let entries = files.iter().filter_map(|entry| written(&made.top, entry)).collect();
    StatCache { entries, snapshot: String::new() }.save(&place, &store, since)
}

fn new_file(entry: &Entry) -> Change {
    Change {
        path: entry.path.clone(),
        change: FileChange::Deleted,
        stored: Some((entry.stat.kind, entry.blob)),
        now: None,
        private: None,
    }
}

fn written(top: &Path, entry: &Entry) -> Option<Entry> {
    let stat = Stat::of(&fs::symlink_metadata(top.join(to_path(&entry.path))).ok()?)?;
    Some(Entry { path: entry.path.clone(), stat, blob: entry.blob })
}
