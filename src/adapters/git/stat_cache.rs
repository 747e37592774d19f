//! The private index: which blob a file had when its stat looked like this. Kept between snapshots.
//! A lost or damaged cache costs time, never exactness: what it does not know is hashed.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use git2::Oid;

use super::snapshot_entry::{FileStat, FileTime, RelPath, SnapshotEntry, TreeEntryKind};
use super::snapshot_error::{self, SnapshotResult};
use super::snapshot_location::{SnapshotLocation, SnapshotRepository, private_file};

/// Its number grew when blobs of the user's index were first looked for before they were trusted.
const HEADER: &[u8] = b"synthdev index 2\n";

/// Entries sorted by path.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct StatCache {
    pub entries: Vec<SnapshotEntry>,
    /// The snapshot whose objects these are; while its ref exists, git cannot prune them.
    pub snapshot: String,
}

impl StatCache {
    /// What the last snapshot knew. Blobs that may be gone are forgotten.
    pub fn load_cache(
        place: &SnapshotLocation,
        store: &SnapshotRepository,
        reference: impl Fn(&str) -> String,
    ) -> Self {
        let Some(mut cache) = fs::read(cache_file(place, store)).ok().and_then(|bytes| decode_cache(&bytes))
        else {
            return Self::default();
        };
        if store.repo.find_reference(&reference(&cache.snapshot)).is_err() {
            let Ok(odb) = store.repo.odb() else { return Self::default() };
            cache.entries.retain(|entry| odb.exists(entry.blob));
        }
        cache
    }

    /// Written beside and renamed, so that a reader never sees half of it. Call with the lock held.
    /// Entries that could change unseen after `since` (racy git) are stored so that they never match.
    pub fn save_cache(
        mut self,
        place: &SnapshotLocation,
        store: &SnapshotRepository,
        since: FileTime,
    ) -> SnapshotResult<()> {
        for entry in &mut self.entries {
            if entry.stat.is_racy(since) {
                make_unmatchable(&mut entry.stat);
            }
        }
        let target = cache_file(place, store);
        let draft = target.with_extension("new");
        let written = private_file(&draft).and_then(|mut out| out.write_all(&encode_cache(&self)));
        written
            .and_then(|()| fs::rename(&draft, &target))
            .map_err(|error| snapshot_error::store_io_error(&target, &error))
    }
}

/// The time the disk's own clock shows now, read from a file just written: comparable with file times.
pub fn disk_time(place: &SnapshotLocation) -> FileTime {
    let path = place.project_data.join(format!("clock-{}", std::process::id()));
    let stamp = private_file(&path).and_then(|file| file.metadata());
    let _ = fs::remove_file(&path);
    // Without a clock every entry is doubted: slow, still right.
    stamp.map_or(FileTime::NEVER, |meta| FileTime::modified(&meta))
}

/// Makes a stat that no file can have.
pub fn make_unmatchable(stat: &mut FileStat) {
    stat.modified = FileTime::NEVER;
}

/// Looks a path up in entries sorted by path.
pub fn find_entry<'a>(entries: &'a [SnapshotEntry], path: &[u8]) -> Option<&'a SnapshotEntry> {
    let at = entries.binary_search_by(|entry| entry.path.as_slice().cmp(path)).ok()?;
    entries.get(at)
}

/// Looks paths up that come in their order, in entries sorted by path: one pass over both.
pub struct EntryCursor<'a> {
    rest: &'a [SnapshotEntry],
}

impl<'a> EntryCursor<'a> {
    /// For paths from `first` on.
    pub fn before_path(entries: &'a [SnapshotEntry], first: Option<&RelPath>) -> Self {
        let start = first.map_or(0, |first| entries.partition_point(|entry| entry.path < *first));
        Self { rest: &entries[start..] }
    }

    /// The entry of a path that is not before the last one.
    pub fn find_next(&mut self, path: &[u8]) -> Option<&'a SnapshotEntry> {
        while self.rest.first().is_some_and(|entry| entry.path.as_slice() < path) {
            self.rest = &self.rest[1..];
        }
        self.rest.first().filter(|entry| entry.path == path)
    }
}

fn cache_file(place: &SnapshotLocation, store: &SnapshotRepository) -> PathBuf {
    place.project_data.join(Path::new(if store.private { "index-private" } else { "index-repository" }))
}

fn encode_cache(cache: &StatCache) -> Vec<u8> {
    let mut out = Vec::with_capacity(64 + cache.entries.len() * 120);
    out.extend_from_slice(HEADER);
    push_text(&mut out, cache.snapshot.as_bytes());
    out.extend_from_slice(&(cache.entries.len() as u64).to_le_bytes());
    for SnapshotEntry { path, stat, blob } in &cache.entries {
        out.extend_from_slice(&stat.kind.mode().to_le_bytes());
        out.extend_from_slice(&stat.size.to_le_bytes());
        for FileTime { seconds, nanos } in [stat.modified, stat.changed] {
            out.extend_from_slice(&seconds.to_le_bytes());
            out.extend_from_slice(&nanos.to_le_bytes());
        }
        out.extend_from_slice(&stat.inode.to_le_bytes());
        out.extend_from_slice(blob.as_bytes());
        push_text(&mut out, path);
    }
    out
}

fn push_text(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// `None` for anything but a whole, sorted cache of this version.
fn decode_cache(bytes: &[u8]) -> Option<StatCache> {
    let mut rest = bytes.strip_prefix(HEADER)?;
    let snapshot = String::from_utf8(take_text(&mut rest)?.to_vec()).ok()?;
    let count = u64::from_le_bytes(take_bytes(&mut rest)?);
    let mut entries = Vec::new();
    for _ in 0..count {
        let kind = TreeEntryKind::from_mode(u32::from_le_bytes(take_bytes(&mut rest)?))?;
        let size = u64::from_le_bytes(take_bytes(&mut rest)?);
        let modified = take_time(&mut rest)?;
        let changed = take_time(&mut rest)?;
        let inode = u32::from_le_bytes(take_bytes(&mut rest)?);
        let blob = Oid::from_bytes(&take_bytes::<20>(&mut rest)?).ok()?;
        let path = take_text(&mut rest)?.to_vec();
        entries.push(SnapshotEntry { path, stat: FileStat { kind, size, modified, changed, inode }, blob });
    }
    (rest.is_empty() && entries.is_sorted_by(|a, b| a.path < b.path))
        .then_some(StatCache { entries, snapshot })
}

fn take_bytes<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}

fn take_time(rest: &mut &[u8]) -> Option<FileTime> {
    let seconds = i64::from_le_bytes(take_bytes(rest)?);
    Some(FileTime { seconds, nanos: u32::from_le_bytes(take_bytes(rest)?) })
}

fn take_text<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(u64::from_le_bytes(take_bytes(rest)?)).ok()?;
    let (head, tail) = rest.split_at_checked(length)?;
    *rest = tail;
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str) -> SnapshotEntry {
        let (modified, changed) = (FileTime { seconds: 5, nanos: 6 }, FileTime { seconds: 7, nanos: 8 });
        let stat = FileStat { kind: TreeEntryKind::File, size: 3, modified, changed, inode: 9 };
        SnapshotEntry { path: path.into(), stat, blob: Oid::from_bytes(&[7; 20]).unwrap() }
    }

    #[test]
    fn reads_what_it_wrote_and_nothing_damaged() {
        let cache = StatCache { entries: vec![entry("a"), entry("b/ü")], snapshot: "0abc".into() };
        let bytes = encode_cache(&cache);
        assert_eq!(decode_cache(&bytes), Some(cache));
        for cut in 0..bytes.len() {
            assert_eq!(decode_cache(&bytes[..cut]), None, "cut at {cut}");
        }
        let unsorted = StatCache { entries: vec![entry("b"), entry("a")], snapshot: String::new() };
        assert_eq!(decode_cache(&encode_cache(&unsorted)), None);
    }

    #[test]
    fn a_cursor_finds_what_is_there_and_passes_over_the_rest() {
        let entries: Vec<SnapshotEntry> = ["b", "b/x", "c", "e"].map(entry).into();
        let check = |paths: &[&str], expected: &[&str]| {
            let paths: Vec<RelPath> = paths.iter().map(|path| path.as_bytes().to_vec()).collect();
            let mut cursor = EntryCursor::before_path(&entries, paths.first());
            let found: Vec<&[u8]> = paths
                .iter()
                .filter_map(|path| cursor.find_next(path))
                .map(|entry| entry.path.as_slice())
                .collect();
            assert_eq!(found, expected.iter().map(|path| path.as_bytes()).collect::<Vec<_>>());
        };
        check(&["a", "b", "b/x", "d", "e", "f"], &["b", "b/x", "e"]);
        check(&["b/x", "c"], &["b/x", "c"]);
        check(&["f"], &[]);
        check(&[], &[]);
    }

    #[test]
    fn a_doubted_stat_matches_nothing() {
        let mut stat = entry("a").stat;
        make_unmatchable(&mut stat);
        assert_ne!(stat, entry("a").stat);
    }
}
