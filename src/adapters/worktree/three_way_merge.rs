//! The merge of three trees, as a list of changes to the project or a list of conflicts. Changes no file.

use std::collections::BTreeSet;

use git2::{IndexConflict, MergeOptions, Repository, Tree};

use crate::git::snapshot_entry::{RelPath, TreeEntryKind, ancestor_paths, display_path};
use crate::git::stat_cache::find_entry;
use crate::git::tree::{self, FlatTree};
use crate::git::tree_diff;
use crate::git::working_tree_diff::ProjectFileChange;
use crate::git::working_tree_scan::WorkingTreeScan;
use synthdev_domain::snapshot::{ChangedFile, FileChange, MergeConflict};

const FILE_AND_DIRECTORY: &str = "a file on one side, a directory or another name on the other";

/// What a merge comes to; `merged` lacks the paths in conflict.
pub struct ThreeWayMerge {
    pub merged: FlatTree,
    pub conflicts: Vec<MergeConflict>,
}

/// # Errors
/// An object is missing or damaged.
pub fn merge_trees(
    repo: &Repository,
    base: &Tree<'_>,
    ours: &Tree<'_>,
    theirs: &Tree<'_>,
) -> Result<ThreeWayMerge, git2::Error> {
    let mut options = MergeOptions::new();
    options.find_renames(true);
    let index = repo.merge_trees(base, ours, theirs, Some(&options))?;
    let mut conflicts = Vec::new();
    for conflict in index.conflicts()? {
        conflicts.push(to_merge_conflict(&conflict?));
    }
    let clean = index.iter().filter(|entry| entry.flags >> 12 & 3 == 0);
    let merged = clean
        .filter_map(|entry| Some((entry.path, (TreeEntryKind::from_mode(entry.mode)?, entry.id))))
        .collect();
    conflicts.extend(overlapping_paths(&merged));
    conflicts.sort_by(|a: &MergeConflict, b| a.path.cmp(&b.path));
    conflicts.dedup();
    Ok(ThreeWayMerge { merged, conflicts })
}

/// What has to change in the project, for the disk and for display.
pub fn merge_changes(
    ours: &WorkingTreeScan,
    merged: &FlatTree,
) -> (Vec<ProjectFileChange>, Vec<ChangedFile>) {
    let found = tree_diff::diff_trees(&tree::flat_tree(&ours.entries), merged);
    let files = tree_diff::to_changed_files(&found);
    let change = |(path, change): (RelPath, FileChange)| {
        let now = find_entry(&ours.entries, &path).map(|entry| entry.stat);
        let stored = merged.get(&path).copied();
        // A restore looks from the other side: what it has to write is missing now.
        let change = match change {
            FileChange::Added => FileChange::Deleted,
            FileChange::Deleted => FileChange::Added,
            same @ (FileChange::Modified | FileChange::Mode) => same,
        };
        ProjectFileChange { path, change, stored, present_stat: now, private: None }
    };
    (found.into_iter().map(change).collect(), files)
}

/// Paths that the merge would write, but where the project has something that no snapshot can hold.
pub fn in_the_way(ours: &WorkingTreeScan, changes: &[ProjectFileChange]) -> Vec<MergeConflict> {
    let taken: BTreeSet<&RelPath> = ours.opaque.union(&ours.unreadable_paths).collect();
    let hit = changes.iter().filter(|change| {
        taken.contains(&change.path) || ancestor_paths(&change.path).any(|dir| taken.contains(&dir.to_vec()))
    });
    let told = |change: &ProjectFileChange| MergeConflict {
        path: display_path(&change.path),
        reason: "in the project something that is no readable file stands there".to_owned(),
    };
    hit.map(told).collect()
}

/// One side's file where the other has a directory of that name: the library does not see it if both are new.
fn overlapping_paths(merged: &FlatTree) -> Vec<MergeConflict> {
    let files: BTreeSet<&[u8]> =
        merged.keys().flat_map(|path| ancestor_paths(path).filter(|dir| merged.contains_key(*dir))).collect();
    let told =
        |file: &[u8]| MergeConflict { path: display_path(file), reason: FILE_AND_DIRECTORY.to_owned() };
    files.into_iter().map(told).collect()
}

fn to_merge_conflict(conflict: &IndexConflict) -> MergeConflict {
    let sides = (&conflict.ancestor, &conflict.our, &conflict.their);
    let reason = match sides {
        (Some(_), Some(_), Some(_)) => "changed in the project and by the run",
        (None, Some(_), Some(_)) => "new in the project and by the run, with different content",
        (Some(_), Some(_), None) => "changed in the project, deleted or renamed by the run",
        (Some(_), None, Some(_)) => "deleted or renamed in the project, changed by the run",
        (_, None, None) => "renamed differently in the project and by the run",
        (None, _, _) => FILE_AND_DIRECTORY,
    };
    let entry = [&conflict.our, &conflict.their, &conflict.ancestor].into_iter().flatten().next();
    let path = entry.map(|entry| display_path(&entry.path)).unwrap_or_default();
    MergeConflict { path, reason: reason.to_owned() }
}
