//! What separates a stored tree from the present. Pure comparison: decides what a restore would do.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use git2::{Oid, Repository};
use ignore::gitignore::Gitignore;

use super::ignore_rules::IgnoreRules;
use super::snapshot_commit::SnapshotRecord;
use super::snapshot_entry::{FileStat, RelPath, TreeEntryKind, ancestor_paths, display_path, to_path};
use super::stat_cache::find_entry;
use super::tree::FlatTree;
use super::uncovered_files::UncoveredRecord;
use super::working_tree_scan::WorkingTreeScan;
use crate::ignore_files::parse_ignore_file as parse;
use synthdev_domain::snapshot::{ChangedFile, FileChange};

/// One path to bring back.
pub struct ProjectFileChange {
    pub path: RelPath,
    pub change: FileChange,
    /// What the snapshot holds; `None` for `FileChange::Added`.
    pub stored: Option<(TreeEntryKind, Oid)>,
    /// The file that was there when the present was saved.
    pub present_stat: Option<FileStat>,
    /// The content is a private copy, with these permissions.
    pub private: Option<u32>,
}

impl ProjectFileChange {
    pub fn to_changed_file(&self) -> ChangedFile {
        ChangedFile { path: display_path(&self.path), change: self.change }
    }
}

/// What to compare.
pub struct WorkingTreeDiffInput<'a> {
    pub repo: &'a Repository,
    pub record: &'a SnapshotRecord,
    pub stored: &'a FlatTree,
    /// `None`: what was left out then is not known.
    pub uncovered: Option<&'a UncoveredRecord>,
    pub present: &'a WorkingTreeScan,
    pub rules: &'a IgnoreRules,
}

/// Sorted by path. Left out: submodules, what the user excludes, and new files that may have been there
/// before: ignored by the snapshot's ignore files, excluded or skipped at that time.
pub fn diff_working_tree(pair: &WorkingTreeDiffInput<'_>) -> Vec<ProjectFileChange> {
    let mut changes: Vec<ProjectFileChange> = pair
        .stored
        .iter()
        .filter_map(|(path, (kind, blob))| stored_file_change(pair, path, *kind, *blob))
        .collect();
    changes.extend(private_copy_changes(pair));
    if !pair.record.partial {
        changes.extend(added_files(pair));
        changes.extend(private_added(pair));
    }
    changes.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    changes
}

fn stored_file_change(
    pair: &WorkingTreeDiffInput<'_>,
    path: &RelPath,
    kind: TreeEntryKind,
    blob: Oid,
) -> Option<ProjectFileChange> {
    if kind == TreeEntryKind::Submodule || pair.rules.is_excluded(path) {
        return None;
    }
    let now = find_entry(&pair.present.entries, path);
    let change = match now {
        Some(now) if now.blob == blob && now.stat.kind == kind => return None,
        Some(now) if now.stat.kind == TreeEntryKind::Submodule => return None,
        Some(now) if now.blob == blob => FileChange::Mode,
        Some(_) => FileChange::Modified,
        None if pair.present.opaque.contains(path) || pair.present.unreadable_paths.contains(path) => {
            FileChange::Modified
        }
        None => FileChange::Deleted,
    };
    let now = now.map(|entry| entry.stat);
    Some(ProjectFileChange {
        path: path.clone(),
        change,
        stored: Some((kind, blob)),
        present_stat: now,
        private: None,
    })
}

/// Excluded files that are not as their private copies. One that cannot be held now stays as it is: it would be lost.
fn private_copy_changes<'a>(
    pair: &'a WorkingTreeDiffInput<'a>,
) -> impl Iterator<Item = ProjectFileChange> + 'a {
    let copies = pair.uncovered.into_iter().flat_map(|kept| &kept.private_copies);
    copies.filter_map(|(path, then)| {
        let held = pair.present.uncovered.excluded_files.get(path);
        // it may be excluded no longer
        let covered = find_entry(&pair.present.entries, path);
        let now = held
            .map(|held| (held.stat, held.blob, held.mode))
            .or_else(|| covered.map(|entry| (entry.stat, entry.blob, then.mode)));
        let change = match now {
            _ if pair.present.uncovered.unread_excluded.contains(path) || pair.stored.contains_key(path) => {
                return None;
            }
            None => FileChange::Deleted,
            Some((stat, blob, _)) if blob != then.blob || is_link(stat.kind) != is_link(then.kind) => {
                FileChange::Modified
            }
            Some((stat, _, mode)) if !is_link(stat.kind) && mode != then.mode => FileChange::Mode,
            Some(_) => return None,
        };
        let stored = Some((then.kind, then.blob));
        let now = now.map(|(stat, ..)| stat);
        Some(ProjectFileChange {
            path: path.clone(),
            change,
            stored,
            present_stat: now,
            private: Some(then.mode),
        })
    })
}

/// Excluded files that were made since. Only what is held now can go: it could not come back.
fn private_added<'a>(pair: &'a WorkingTreeDiffInput<'a>) -> impl Iterator<Item = ProjectFileChange> + 'a {
    let kept = pair.uncovered.filter(|kept| !kept.is_truncated);
    let held = kept
        .into_iter()
        .flat_map(|kept| pair.present.uncovered.excluded_files.iter().map(move |held| (kept, held)));
    let new = held.filter(move |(kept, (path, _))| {
        !kept.private_copies.contains_key(*path)
            && !kept.contains_path(path)
            && !pair.stored.contains_key(*path)
            && !was_skipped(pair.record, path)
    });
    new.map(|(_, (path, held))| ProjectFileChange {
        path: path.clone(),
        change: FileChange::Added,
        stored: None,
        present_stat: Some(held.stat),
        private: Some(held.mode),
    })
}

fn is_link(kind: TreeEntryKind) -> bool {
    kind == TreeEntryKind::Link
}

fn added_files<'a>(pair: &'a WorkingTreeDiffInput<'a>) -> impl Iterator<Item = ProjectFileChange> + 'a {
    let ignore_files = stored_rules(pair);
    let excluded = parse(Path::new(""), pair.record.exclude.join("\n").as_bytes());
    let then = IgnoreRules { outer_rules: Vec::new(), exclude: excluded, prefix: pair.rules.prefix.clone() };
    pair.present
        .entries
        .iter()
        .filter(|now| now.stat.kind != TreeEntryKind::Submodule && !pair.stored.contains_key(&now.path))
        .filter(move |now| {
            pair.present.blocking_files.contains(&now.path)
                || !(pair.rules.ignored_by(&ignore_files, &now.path)
                    || then.is_excluded(&now.path) && may_have_existed(pair, &now.path)
                    || was_skipped(pair.record, &now.path))
        })
        .map(|now| ProjectFileChange {
            path: now.path.clone(),
            change: FileChange::Added,
            stored: None,
            present_stat: Some(now.stat),
            private: None,
        })
}

/// Whether an excluded file may have been there, as far as that was written down.
fn may_have_existed(pair: &WorkingTreeDiffInput<'_>, path: &RelPath) -> bool {
    pair.uncovered.is_none_or(|kept| {
        kept.is_truncated || kept.private_copies.contains_key(path) || kept.contains_path(path)
    })
}

fn was_skipped(record: &SnapshotRecord, path: &[u8]) -> bool {
    let is_recording = record.recording.as_ref().is_some_and(|recording| recording.covers(&to_path(path)));
    is_recording
        || record.skipped.iter().any(|skipped| {
            let skipped = skipped.path.as_bytes();
            skipped == display_path(path).as_bytes()
                || ancestor_paths(path).any(|dir| skipped == display_path(dir).as_bytes())
        })
}

/// The ignore files of the snapshot, by directory.
fn stored_rules(pair: &WorkingTreeDiffInput<'_>) -> BTreeMap<RelPath, Arc<Gitignore>> {
    let mut files = BTreeMap::new();
    for (path, (_, blob)) in pair.stored {
        let Some(dir) = path.strip_suffix(b".gitignore".as_slice()) else { continue };
        let Some(dir) = (if dir.is_empty() { Some(dir) } else { dir.strip_suffix(b"/") }) else { continue };
        if let Ok(blob) = pair.repo.find_blob(*blob) {
            files.insert(dir.to_vec(), pair.rules.parse_rules(dir, blob.content()));
        }
    }
    files
}
