//! What one covered path is: its kind, its stat data and its blob. Reads stats, nothing else.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use git2::Oid;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};

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

    /// The same of `lstat` below a directory, without a walk through what is above it.
    ///
    /// # Errors
    /// The system's error.
    pub fn read_below(directory: &File, path: &[u8]) -> io::Result<StatProbe> {
        let found = rustix::fs::statat(directory, path, AtFlags::SYMLINK_NOFOLLOW)?;
        let Some(kind) = TreeEntryKind::from_mode(found.st_mode) else {
            let is_directory = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
            return Ok(if is_directory { StatProbe::Directory } else { StatProbe::Opaque });
        };
        let time = |seconds: i64, nanos: u64| FileTime { seconds, nanos: u32::try_from(nanos).unwrap_or(0) };
        Ok(StatProbe::Covered(Self {
            kind,
            size: u64::try_from(found.st_size).unwrap_or(0),
            modified: time(found.st_mtime, found.st_mtime_nsec),
            changed: time(found.st_ctime, found.st_ctime_nsec),
            inode: truncate_to_u32(found.st_ino),
        }))
    }

    /// Whether the file could have changed after `since` without its stat showing it (racy git).
    /// File systems that keep whole seconds only get two seconds of doubt.
    pub fn is_racy(&self, since: FileTime) -> bool {
        let newest = self.modified.max(self.changed);
        let coarse = self.changed.nanos == 0 && self.modified.nanos == 0;
        newest >= since || (coarse && newest.seconds + 2 >= since.seconds)
    }
}

/// Reads stats of paths that come in their order: the directory of the last one stays open, so that the system looks
/// up one name for each.
pub struct StatReader<'a> {
    root: &'a File,
    directory: RelPath,
    open: Option<File>,
}

impl<'a> StatReader<'a> {
    pub fn below_directory(root: &'a File) -> Self {
        Self { root, directory: RelPath::new(), open: None }
    }

    /// # Errors
    /// The system's error.
    pub fn read_stat(&mut self, path: &[u8]) -> io::Result<StatProbe> {
        let Some(end) = path.iter().rposition(|byte| *byte == b'/') else {
            return FileStat::read_below(self.root, path);
        };
        if self.directory != path[..end] {
            self.directory.clear();
            self.directory.extend_from_slice(&path[..end]);
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let open = rustix::fs::openat(self.root, self.directory.as_slice(), flags, Mode::empty());
            self.open = open.ok().map(File::from);
        }
        match &self.open {
            Some(directory) => FileStat::read_below(directory, &path[end + 1..]),
            // its names may be secret while its files are not
            None => FileStat::read_below(self.root, path),
        }
    }
}

/// What a path is now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StatProbe {
    Covered(FileStat),
    Directory,
    /// Neither file, link nor directory.
    Opaque,
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

/// Those of `paths` that are not in `known`; both in the order of their bytes.
pub fn missing_paths<'a>(
    paths: impl Iterator<Item = &'a [u8]>,
    known: impl Iterator<Item = &'a [u8]>,
) -> impl Iterator<Item = &'a [u8]> {
    let mut known = known.peekable();
    paths.filter(move |path| {
        while known.next_if(|other| other < path).is_some() {}
        known.peek() != Some(path)
    })
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
    fn missing_paths_are_those_that_the_other_list_lacks() {
        let check = |paths: &[&str], known: &[&str], expected: &[&str]| {
            let bytes = |list: &[&str]| list.iter().map(|path| path.as_bytes().to_vec()).collect::<Vec<_>>();
            let (paths, known) = (bytes(paths), bytes(known));
            let missing: Vec<&[u8]> =
                missing_paths(paths.iter().map(Vec::as_slice), known.iter().map(Vec::as_slice)).collect();
            assert_eq!(missing, bytes(expected));
        };
        check(&["a", "b", "d"], &["a", "c", "d", "e"], &["b"]);
        check(&["a", "b"], &[], &["a", "b"]);
        check(&[], &["a"], &[]);
        check(&["b/x", "b0"], &["b", "b0"], &["b/x"]);
    }

    #[test]
    fn a_stat_below_a_directory_is_that_of_its_path() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("d")).unwrap();
        std::fs::write(directory.path().join("d/file"), "text").unwrap();
        std::os::unix::fs::symlink("nowhere", directory.path().join("d/link")).unwrap();
        let root = File::open(directory.path()).unwrap();
        for path in ["d/file", "d/link"] {
            let meta = std::fs::symlink_metadata(directory.path().join(path)).unwrap();
            let probe = FileStat::read_below(&root, path.as_bytes()).unwrap();
            assert_eq!(probe, StatProbe::Covered(FileStat::from_metadata(&meta).unwrap()), "{path}");
        }
        assert_eq!(FileStat::read_below(&root, b"d").unwrap(), StatProbe::Directory);
        assert_eq!(FileStat::read_below(&root, b"d/none").unwrap_err().kind(), io::ErrorKind::NotFound);
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
