//! What was changed since a snapshot and does not come back with it: ignored files, other repositories inside, files over
//! the limits, excluded ones without a private copy, HEAD.
//! Looks at names and times, at so many files at most; changes none.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use git2::{ObjectType, Oid, Repository};

use super::project_walk::walk_project;
use super::repository_context::RepositoryContext;
use super::snapshot_commit::{SnapshotRecord, StoredSnapshot};
use super::snapshot_entry::{RelPath, display_path, missing_paths, to_path};
use super::snapshot_error::SnapshotResult;
use super::stat_cache::find_entry;
use super::tree::FlatTree;
use super::uncovered_files::{MAX_FILE, UncoveredFiles, UncoveredReason, UncoveredRecord, path_stamp};
use super::user_index::UserIndex;
use super::working_tree_scan::WorkingTreeScan;
use synthdev_domain::snapshot::UnrestoredChanges;

/// Files that are looked at; in a directory of build results there are many.
const MOST: usize = 50_000;
/// That are named.
const NAMED: usize = 20;

/// What is there now.
pub struct PresentPaths<'a> {
    uncovered: &'a UncoveredFiles,
    /// Files of the project that the snapshot does not hold.
    unstored: Vec<&'a RelPath>,
    is_tracked: &'a dyn Fn(&RelPath) -> bool,
}

/// After a scan with the private copies of `kept`.
pub fn find_changes_of_scan(
    here: &RepositoryContext,
    found: &StoredSnapshot<'_>,
    stored: &FlatTree,
    kept: Option<&UncoveredRecord>,
    scan: &WorkingTreeScan,
) -> UnrestoredChanges {
    let covered = scan.entries.iter().map(|entry| entry.path.as_slice());
    let new: BTreeSet<&[u8]> = missing_paths(covered, stored.keys().map(Vec::as_slice)).collect();
    let new = scan.entries.iter().map(|entry| &entry.path).filter(|path| new.contains(path.as_slice()));
    let present = PresentPaths {
        uncovered: &scan.uncovered,
        unstored: new.chain(&scan.skipped_own_files).collect(),
        // a tracked file that is ignored is covered, or skipped
        is_tracked: &|path| {
            find_entry(&scan.entries, path).is_some() || scan.skipped_own_files.contains(path)
        },
    };
    find_uncovered_changes(here, &found.record, stored, kept, &present)
}

/// With a look at the project's names.
///
/// # Errors
/// The user's index cannot be read.
pub fn find_changes_of_walk(
    here: &RepositoryContext,
    found: &StoredSnapshot<'_>,
    stored: &FlatTree,
    kept: Option<&UncoveredRecord>,
) -> SnapshotResult<UnrestoredChanges> {
    let seed = UserIndex::read_index(&here.store)?;
    let is_submodule = |path: &[u8]| seed.submodules.contains_key(path);
    let root = &here.location.project;
    let mut walked = walk_project(root, &here.rules, &is_submodule, &here.location.program_files);
    let copied = kept.map(|kept| kept.private_copies.keys().cloned().collect()).unwrap_or_default();
    let uncovered = UncoveredFiles::collect_from_walk(root, &mut walked, &copied);
    let present = PresentPaths {
        uncovered: &uncovered,
        unstored: walked.files.iter().filter(|path| !stored.contains_key(*path)).collect(),
        is_tracked: &|path| seed.tracked.binary_search(path).is_ok(),
    };
    Ok(find_uncovered_changes(here, &found.record, stored, kept, &present))
}

/// `stored` and the private copies come back, although some may be ignored.
fn find_uncovered_changes(
    here: &RepositoryContext,
    record: &SnapshotRecord,
    stored: &FlatTree,
    kept: Option<&UncoveredRecord>,
    present: &PresentPaths<'_>,
) -> UnrestoredChanges {
    let millis = u64::try_from(record.created.0).unwrap_or(0);
    let since = UNIX_EPOCH + Duration::from_millis(millis);
    let root = &here.location.project;
    let mut look = UncoveredChangeScan { root, since, remaining: MOST, uncovered: kept };
    let ignored = &present.uncovered.ignored_paths;
    let ignored = ignored.iter().filter(|path| !stored.contains_key(*path) && !(present.is_tracked)(path));
    let ignored = look.changed_paths(UncoveredReason::Ignored, ignored);
    let nested = look.changed_paths(UncoveredReason::Nested, present.uncovered.nested.iter());
    let excluded = excluded_changes(here, &mut look, stored, present.uncovered);
    let skipped = skipped_changes(&mut look, record, &present.unstored);
    let moved = |then: &String| !here.store.private && *then != head_commit_id(&here.store.repo);
    UnrestoredChanges { ignored, nested, excluded, skipped, head: record.head.as_ref().is_some_and(moved) }
}

/// Files that the settings exclude, now or then, and that no copy can bring back or take away.
fn excluded_changes(
    here: &RepositoryContext,
    look: &mut UncoveredChangeScan<'_>,
    stored: &FlatTree,
    left_out: &UncoveredFiles,
) -> Vec<String> {
    let known = look.uncovered.filter(|kept| !kept.is_truncated);
    let new = |path: &&RelPath| {
        let copied = look.uncovered.is_some_and(|kept| kept.private_copies.contains_key(*path));
        // what is known to be new is held, and goes
        let stays = known.is_none_or(|kept| kept.contains_path(path));
        stays && !copied && !stored.contains_key(*path)
    };
    let held: Vec<&RelPath> = left_out.excluded_files.keys().filter(new).collect();
    let now = held.into_iter().chain(&left_out.unread_excluded).chain(&left_out.truncated_directories);
    let mut names = look.changed_paths(UncoveredReason::Excluded, now);
    // covered then, excluded now: it stays as it is
    for (path, (_, blob)) in stored.iter().filter(|(path, _)| here.rules.is_excluded(path)) {
        let place = here.location.project.join(to_path(path));
        let hash = |bytes: Vec<u8>| Oid::hash_object(ObjectType::Blob, &bytes).ok();
        if names.len() < NAMED && fs::read(place).ok().and_then(hash) != Some(*blob) {
            names.push(display_path(path));
        }
    }
    names
}

/// Files of the project's own that are too large, or could not be read.
fn skipped_changes(
    look: &mut UncoveredChangeScan<'_>,
    record: &SnapshotRecord,
    unstored: &[&RelPath],
) -> Vec<String> {
    let then: BTreeSet<&str> = record
        .skipped
        .iter()
        .filter(|lost| !lost.lack.is_outside_project())
        .map(|lost| lost.path.as_str())
        .collect();
    let large = |path: &&RelPath| {
        then.contains(display_path(path).as_str())
            || fs::symlink_metadata(look.root.join(to_path(path))).is_ok_and(|meta| meta.size() > MAX_FILE)
    };
    let now: Vec<&RelPath> = unstored.iter().copied().filter(large).collect();
    let mut names = look.changed_paths(UncoveredReason::Skipped, now.into_iter());
    if then.contains(".") {
        names.push("perhaps others of a project that is over the limits".to_owned());
    }
    names
}

/// The commit at which HEAD is; empty before the first one.
pub fn head_commit_id(repo: &Repository) -> String {
    let at = repo.head().ok().and_then(|head| head.peel_to_commit().ok());
    at.map(|commit| commit.id().to_string()).unwrap_or_default()
}

struct UncoveredChangeScan<'a> {
    root: &'a Path,
    since: SystemTime,
    remaining: usize,
    uncovered: Option<&'a UncoveredRecord>,
}

impl UncoveredChangeScan<'_> {
    /// What was written since, made or removed; `now` is what is there.
    fn changed_paths<'p>(
        &mut self,
        why: UncoveredReason,
        now: impl Iterator<Item = &'p RelPath>,
    ) -> Vec<String> {
        let now: BTreeSet<&RelPath> = now.collect();
        let seen = self
            .uncovered
            .into_iter()
            .flat_map(|kept| &kept.uncovered_paths)
            .filter(|(_, seen)| seen.reason == why);
        let gone = |path: &RelPath| fs::symlink_metadata(self.root.join(to_path(path))).is_err();
        let gone = seen.filter(|(path, seen)| seen.stamp.is_some() && !now.contains(path) && gone(path));
        let mut names: Vec<String> = gone.take(NAMED).map(|(path, _)| display_path(path)).collect();
        for path in now {
            if names.len() < NAMED && self.is_changed(path) {
                names.push(display_path(path));
            }
        }
        names
    }

    fn is_changed(&mut self, path: &RelPath) -> bool {
        let place = self.root.join(to_path(path));
        let seen = self.uncovered.and_then(|kept| kept.uncovered_paths.get(path));
        let now = path_stamp(&place);
        match seen {
            Some(seen) if seen.stamp != now => true,
            // a directory's own stamp does not show changes of its content
            Some(_) => place.is_dir() && self.is_newer(&place),
            // a list that is whole knows what is new, whatever its times say
            None => {
                self.uncovered.is_some_and(|kept| !kept.is_truncated && !kept.contains_path(path))
                    || self.is_newer(&place)
            }
        }
    }

    /// Whether it, or something in it, was written since. A directory's own time shows added and removed entries.
    fn is_newer(&mut self, place: &Path) -> bool {
        self.remaining = self.remaining.saturating_sub(1);
        let Ok(meta) = fs::symlink_metadata(place) else { return false };
        if meta.modified().is_ok_and(|at| at >= self.since) {
            return true;
        }
        if !meta.is_dir() {
            return false;
        }
        let items = fs::read_dir(place).into_iter().flatten().flatten();
        items.into_iter().any(|item| self.remaining > 0 && self.is_newer(&item.path()))
    }
}
