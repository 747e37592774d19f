//! What the cache of a snapshot keeps of the user's index, and whether that still holds.
//! Reads the stat of the index file, not its content.

use std::collections::BTreeMap;
use std::fs;

use git2::{Oid, Repository};

use super::snapshot_entry::{FileStat, RelPath, SnapshotEntry, TreeEntryKind, missing_paths};

/// What an index says that the snapshot taken with it does not: with it, an unchanged index is not read again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexSummary {
    /// The index file, before it was read.
    pub file: FileStat,
    /// Tracked paths that the walk did not list or the snapshot did not cover; sorted.
    pub tracked_elsewhere: Vec<RelPath>,
    pub submodules: BTreeMap<RelPath, Oid>,
}

impl IndexSummary {
    /// Whether the index of the repository is still the same file.
    pub fn is_current(&self, repo: &Repository) -> bool {
        index_file_stat(repo) == Some(self.file)
    }

    /// Whether every tracked path is walked or in `tracked_elsewhere`: all that the last snapshot covered is.
    pub fn accounts_for(&self, last: &[SnapshotEntry], walked: &[RelPath]) -> bool {
        let files = last.iter().filter(|entry| entry.stat.kind != TreeEntryKind::Submodule);
        let gone = missing_paths(entry_paths(files), byte_slices(walked));
        missing_paths(gone, byte_slices(&self.tracked_elsewhere)).next().is_none()
    }
}

/// The index file of a repository; `None` for a link: its stat says nothing of what it leads to.
pub fn index_file_stat(repo: &Repository) -> Option<FileStat> {
    let meta = fs::symlink_metadata(repo.path().join("index")).ok()?;
    FileStat::from_metadata(&meta).filter(|stat| stat.kind != TreeEntryKind::Link)
}

pub fn entry_paths<'a>(entries: impl Iterator<Item = &'a SnapshotEntry>) -> impl Iterator<Item = &'a [u8]> {
    entries.map(|entry| entry.path.as_slice())
}

pub fn byte_slices(paths: &[RelPath]) -> impl Iterator<Item = &[u8]> {
    paths.iter().map(Vec::as_slice)
}
