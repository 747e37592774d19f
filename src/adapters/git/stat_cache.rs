//! The private index: which blob a file had when its stat looked like this. Kept between snapshots.
//! A lost or damaged cache costs time, never exactness: what it does not know is hashed.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use git2::{Oid, Repository};

use super::index_summary::IndexSummary;
use super::snapshot_entry::{FileStat, FileTime, RelPath, SnapshotEntry, TreeEntryKind};
use super::snapshot_error::{self, SnapshotResult};
use crate::file_io::private_file;

/// Its number grew when blobs of the user's index were first looked for before they were trusted.
/// It grew again when the summary of the index came, and when the name of the snapshot went to the end.
const HEADER: &[u8] = b"synthdev index 4\n";

/// Read and written in pieces of so many bytes: memory that is new to the process is what a large cache costs most.
const PIECE: usize = 64 * 1024;

/// Entries sorted by path.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct StatCache {
    pub entries: Vec<SnapshotEntry>,
    /// The snapshot whose objects these are; while its ref exists, git cannot prune them.
    pub snapshot: String,
    /// What the user's index said then.
    pub index: Option<IndexSummary>,
}

impl StatCache {
    /// What the last snapshot knew. Blobs that may be gone are forgotten.
    pub fn load_cache(file: &Path, repo: &Repository, reference: impl Fn(&str) -> String) -> Self {
        let file = fs::File::open(file).ok();
        let Some(mut cache) = file.and_then(|file| decode_cache(&mut BufReader::with_capacity(PIECE, file)))
        else {
            return Self::default();
        };
        if repo.find_reference(&reference(&cache.snapshot)).is_err() {
            let Ok(odb) = repo.odb() else { return Self::default() };
            cache.entries.retain(|entry| odb.exists(entry.blob));
            // it is of use only beside all of the entries
            cache.index = None;
        }
        cache
    }

    /// As [`StatCacheDraft::write_draft`] and [`StatCacheDraft::finish_draft`].
    pub fn save_cache(self, target: &Path, since: FileTime) -> SnapshotResult<()> {
        let Self { entries, snapshot, index } = self;
        StatCacheDraft::write_draft(entries, index, target, since)?.finish_draft(&snapshot)
    }
}

/// A cache that lacks the name of its snapshot, beside the one that it replaces.
pub struct StatCacheDraft {
    out: BufWriter<fs::File>,
    draft: PathBuf,
    target: PathBuf,
}

impl StatCacheDraft {
    /// Call with the lock held.
    /// Entries that could change unseen after `since` (racy git) are stored so that they never match.
    ///
    /// # Errors
    /// The data directory cannot be written.
    pub fn write_draft(
        mut entries: Vec<SnapshotEntry>,
        index: Option<IndexSummary>,
        target: &Path,
        since: FileTime,
    ) -> SnapshotResult<Self> {
        for entry in &mut entries {
            if entry.stat.is_racy(since) {
                make_unmatchable(&mut entry.stat);
            }
        }
        let index = index.filter(|index| !index.file.is_racy(since));
        let draft = target.with_extension("new");
        let written = private_file(&draft).and_then(|file| {
            let mut out = BufWriter::with_capacity(PIECE, file);
            encode_entries(&entries, index.as_ref(), &mut out)?;
            Ok(out)
        });
        let out = written.map_err(|error| snapshot_error::store_io_error(target, &error))?;
        Ok(Self { out, draft, target: target.to_owned() })
    }

    /// Adds the name and replaces the old cache, so that a reader never sees half of one.
    ///
    /// # Errors
    /// The data directory cannot be written.
    pub fn finish_draft(mut self, snapshot: &str) -> SnapshotResult<()> {
        write_bytes(&mut self.out, snapshot.as_bytes())
            .and_then(|()| self.out.flush())
            .and_then(|()| fs::rename(&self.draft, &self.target))
            .map_err(|error| snapshot_error::store_io_error(&self.target, &error))
    }

    /// Removes it: there is no such snapshot.
    pub fn discard_draft(self) {
        // the next one writes over it
        let _ = fs::remove_file(&self.draft);
    }
}

/// The time the disk's own clock shows now, read from a file just written: comparable with file times.
pub fn disk_time(project_data: &Path) -> FileTime {
    let path = project_data.join(format!("clock-{}", std::process::id()));
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

/// What the index said at the last snapshot, from a cache that is not read to its end.
pub fn load_index_summary(file: &Path) -> Option<IndexSummary> {
    let file = fs::File::open(file).ok()?;
    decode_start(&mut BufReader::with_capacity(PIECE, file))?
}

/// All but the name of the snapshot, which follows.
fn encode_entries(
    entries: &[SnapshotEntry],
    index: Option<&IndexSummary>,
    out: &mut impl Write,
) -> io::Result<()> {
    out.write_all(HEADER)?;
    write_count(out, usize::from(index.is_some()))?;
    if let Some(IndexSummary { file, tracked_elsewhere, submodules }) = index {
        write_stat(out, file)?;
        write_count(out, tracked_elsewhere.len())?;
        tracked_elsewhere.iter().try_for_each(|path| write_bytes(out, path))?;
        write_count(out, submodules.len())?;
        for (path, commit) in submodules {
            out.write_all(commit.as_bytes())?;
            write_bytes(out, path)?;
        }
    }
    write_count(out, entries.len())?;
    for SnapshotEntry { path, stat, blob } in entries {
        write_stat(out, stat)?;
        out.write_all(blob.as_bytes())?;
        write_bytes(out, path)?;
    }
    Ok(())
}

fn write_count(out: &mut impl Write, count: usize) -> io::Result<()> {
    out.write_all(&(count as u64).to_le_bytes())
}

fn write_bytes(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    write_count(out, bytes.len())?;
    out.write_all(bytes)
}

fn write_stat(out: &mut impl Write, stat: &FileStat) -> io::Result<()> {
    out.write_all(&stat.kind.mode().to_le_bytes())?;
    out.write_all(&stat.size.to_le_bytes())?;
    for FileTime { seconds, nanos } in [stat.modified, stat.changed] {
        out.write_all(&seconds.to_le_bytes())?;
        out.write_all(&nanos.to_le_bytes())?;
    }
    out.write_all(&stat.inode.to_le_bytes())
}

/// The summary, if there is one. `None` for anything but the start of a cache of this version.
#[expect(clippy::option_option, reason = "no such cache, and one without a summary")]
fn decode_start(source: &mut impl Read) -> Option<Option<IndexSummary>> {
    if read_bytes(source, HEADER.len() as u64)? != HEADER {
        return None;
    }
    match read_count(source)? {
        0 => Some(None),
        1 => Some(Some(decode_summary(source)?)),
        _ => None,
    }
}

/// `None` for anything but a whole, sorted cache of this version.
fn decode_cache(source: &mut impl BufRead) -> Option<StatCache> {
    let index = decode_start(source)?;
    let mut entries = Vec::new();
    for _ in 0..read_count(source)? {
        let stat = read_stat(source)?;
        let blob = read_oid(source)?;
        entries.push(SnapshotEntry { path: read_text(source)?, stat, blob });
    }
    let snapshot = String::from_utf8(read_text(source)?).ok()?;
    let is_whole = source.fill_buf().ok()?.is_empty();
    (is_whole && entries.is_sorted_by(|a, b| a.path < b.path)).then_some(StatCache {
        entries,
        snapshot,
        index,
    })
}

fn decode_summary(source: &mut impl Read) -> Option<IndexSummary> {
    let file = read_stat(source)?;
    let mut tracked_elsewhere = Vec::new();
    for _ in 0..read_count(source)? {
        tracked_elsewhere.push(read_text(source)?);
    }
    let mut submodules = BTreeMap::new();
    for _ in 0..read_count(source)? {
        let commit = read_oid(source)?;
        submodules.insert(read_text(source)?, commit);
    }
    tracked_elsewhere.is_sorted().then_some(IndexSummary { file, tracked_elsewhere, submodules })
}

fn read_stat(source: &mut impl Read) -> Option<FileStat> {
    let kind = TreeEntryKind::from_mode(u32::from_le_bytes(read_array(source)?))?;
    let size = u64::from_le_bytes(read_array(source)?);
    let (modified, changed) = (read_time(source)?, read_time(source)?);
    Some(FileStat { kind, size, modified, changed, inode: u32::from_le_bytes(read_array(source)?) })
}

fn read_time(source: &mut impl Read) -> Option<FileTime> {
    let seconds = i64::from_le_bytes(read_array(source)?);
    Some(FileTime { seconds, nanos: u32::from_le_bytes(read_array(source)?) })
}

fn read_oid(source: &mut impl Read) -> Option<Oid> {
    Oid::from_bytes(&read_array::<20>(source)?).ok()
}

fn read_count(source: &mut impl Read) -> Option<u64> {
    read_array(source).map(u64::from_le_bytes)
}

fn read_text(source: &mut impl Read) -> Option<Vec<u8>> {
    let length = read_count(source)?;
    read_bytes(source, length)
}

/// Reserves no more than a path needs: a damaged length must not.
fn read_bytes(source: &mut impl Read, length: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(length.min(4096)).ok()?);
    source.take(length).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 == length).then_some(bytes)
}

fn read_array<const N: usize>(source: &mut impl Read) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    source.read_exact(&mut bytes).ok()?;
    Some(bytes)
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
        let encoded = |cache: &StatCache| {
            let mut bytes = Vec::new();
            encode_entries(&cache.entries, cache.index.as_ref(), &mut bytes).unwrap();
            write_bytes(&mut bytes, cache.snapshot.as_bytes()).unwrap();
            bytes
        };
        let summary = IndexSummary {
            file: entry("index").stat,
            tracked_elsewhere: vec!["gone".into(), "ignored".into()],
            submodules: BTreeMap::from([("sub".into(), Oid::from_bytes(&[8; 20]).unwrap())]),
        };
        for index in [None, Some(summary)] {
            let entries = vec![entry("a"), entry("b/ü")];
            let cache = StatCache { entries, snapshot: "0abc".into(), index };
            let mut bytes = encoded(&cache);
            assert_eq!(decode_cache(&mut bytes.as_slice()).as_ref(), Some(&cache));
            for cut in 0..bytes.len() {
                assert_eq!(decode_cache(&mut &bytes[..cut]), None, "cut at {cut}");
            }
            bytes.push(0);
            assert_eq!(decode_cache(&mut bytes.as_slice()), None, "more than a cache");
        }
        let unsorted = StatCache { entries: vec![entry("b"), entry("a")], ..StatCache::default() };
        assert_eq!(decode_cache(&mut encoded(&unsorted).as_slice()), None);
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
