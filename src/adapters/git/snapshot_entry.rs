//! What one covered path is: its kind, its stat data and its blob. No IO.

use std::fs::Metadata;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use git2::Oid;

/// Relative to the project, separated by `/`, any bytes but NUL. Ordered as bytes.
pub type RelPath = Vec<u8>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TreeEntryKind {
    File,
    Executable,
    Link,
    /// A commit of another repository; recorded, never entered.
    Submodule,
}

impl TreeEntryKind {
    /// The mode git writes into a tree.
    pub fn mode(self) -> u32 {
        match self {
            Self::File => 0o100_644,
            Self::Executable => 0o100_755,
            Self::Link => 0o120_000,
            Self::Submodule => 0o160_000,
        }
    }

    /// Reads the mode of a tree or index entry; `None` for directories and unknown kinds.
    pub fn from_mode(mode: u32) -> Option<Self> {
        match mode & 0o170_000 {
            0o100_000 if mode & 0o100 != 0 => Some(Self::Executable),
            0o100_000 => Some(Self::File),
            0o120_000 => Some(Self::Link),
            0o160_000 => Some(Self::Submodule),
            _ => None,
        }
    }
}

/// When a file was changed, as the file system says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct FileTime {
    pub seconds: i64,
    pub nanos: u32,
}

impl FileTime {
    /// No file has this time, so an entry that carries it is always hashed again.
    pub const NEVER: Self = Self { seconds: i64::MIN, nanos: 0 };

    pub fn modified(meta: &Metadata) -> Self {
        Self { seconds: meta.mtime(), nanos: clamp_nanos(meta.mtime_nsec()) }
    }

    fn changed(meta: &Metadata) -> Self {
        Self { seconds: meta.ctime(), nanos: clamp_nanos(meta.ctime_nsec()) }
    }
}

/// What `lstat` says; equal stats mean equal content, unless the stat is racy (see `StatCache`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileStat {
    pub kind: TreeEntryKind,
    pub size: u64,
    pub modified: FileTime,
    pub changed: FileTime,
    /// Cut to 32 bits, as git's index does, so that both can be compared.
    pub inode: u32,
}

impl FileStat {
    /// `None` when the path is neither a file nor a symbolic link.
    pub fn from_metadata(meta: &Metadata) -> Option<Self> {
        let kind = TreeEntryKind::from_mode(meta.mode())?;
        Some(Self {
            kind,
            size: meta.size(),
            modified: FileTime::modified(meta),
            changed: FileTime::changed(meta),
            inode: truncate_to_u32(meta.ino()),
        })
    }

    /// Whether the file could have changed after `since` without its stat showing it (racy git).
    /// File systems that keep whole seconds only get two seconds of doubt.
    pub fn is_racy(&self, since: FileTime) -> bool {
        let newest = self.modified.max(self.changed);
        let coarse = self.changed.nanos == 0 && self.modified.nanos == 0;
        newest >= since || (coarse && newest.seconds + 2 >= since.seconds)
    }
}

/// A path with its content as stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SnapshotEntry {
    pub path: RelPath,
    pub stat: FileStat,
    pub blob: Oid,
}

pub fn to_path(path: &[u8]) -> PathBuf {
    PathBuf::from(std::ffi::OsString::from_vec(path.to_vec()))
}

pub fn to_bytes(path: &Path) -> RelPath {
    path.as_os_str().as_bytes().to_vec()
}

/// For display; bytes that are not text are replaced.
pub fn display_path(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

/// Every directory above a path, outermost first: `a/b/c` gives `a`, `a/b`.
pub fn ancestor_paths(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at])
}

fn clamp_nanos(value: i64) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

fn truncate_to_u32(value: u64) -> u32 {
    u32::try_from(value & u64::from(u32::MAX)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ancestors_are_listed_outermost_first() {
        let all: Vec<&[u8]> = ancestor_paths(b"a/bc/d").collect();
        assert_eq!(all, [b"a".as_slice(), b"a/bc".as_slice()]);
        assert_eq!(ancestor_paths(b"a").count(), 0);
    }

    #[test]
    fn racy_means_not_older_than_the_scan() {
        let is_racy = |modified: (i64, u32), scanned: (i64, u32)| {
            let [modified, since] = [modified, scanned].map(|(seconds, nanos)| FileTime { seconds, nanos });
            let stat = FileStat { kind: TreeEntryKind::File, size: 1, modified, changed: modified, inode: 1 };
            stat.is_racy(since)
        };
        assert!(!is_racy((9, 5), (9, 6)));
        assert!(is_racy((9, 6), (9, 6)));
        assert!(is_racy((8, 0), (10, 0)), "whole seconds are doubted longer");
        assert!(!is_racy((7, 0), (10, 0)));
    }
}
