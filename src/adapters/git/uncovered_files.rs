//! What a snapshot leaves out, stored beside it: private copies of the files that the settings exclude, and a list of
//! other existing files that were not stored. So a restore brings back the first and can report what else has changed.
//!
//! Stored in the data directory, for the user alone. Never in a git repository, which others read and push. Keeps no
//! file that git ignores, and no more than its limits.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use git2::{ObjectType, Oid};
use serde::{Deserialize, Serialize};

use super::project_walk::WalkedPaths;
use super::snapshot_entry::{FileStat, RelPath, TreeEntryKind, ancestor_paths, to_bytes, to_path};
use super::snapshot_error::{self, SnapshotResult};
use super::snapshot_location::SnapshotLocation;
use crate::open_beneath::{open_parent, open_unfollowed, read_open_file};
use synthdev_domain::ids::SnapshotId;
use synthdev_domain::snapshot::FileChange;

/// Larger files are left out of snapshots.
pub const MAX_FILE: u64 = 100 * 1024 * 1024;
/// Of one excluded file, and of all of one moment.
const MOST_BYTES: u64 = 1024 * 1024;
const MOST_IN_ALL: u64 = 16 * 1024 * 1024;
/// Paths that are listed because they are not stored.
const MOST_SEEN: usize = 5_000;

/// An excluded file as it is now.
pub struct ExcludedFile {
    pub stat: FileStat,
    /// Its permissions.
    pub mode: u32,
    pub blob: Oid,
    content: Vec<u8>,
}

/// What the present has beside the files that a snapshot covers.
#[derive(Default)]
pub struct UncoveredFiles {
    /// With their content.
    pub excluded_files: BTreeMap<RelPath, ExcludedFile>,
    /// Excluded, but too large, too many, or not to be read.
    pub unread_excluded: BTreeSet<RelPath>,
    pub ignored_paths: Vec<RelPath>,
    pub nested: Vec<RelPath>,
    /// Excluded directories that hold more than is listed.
    pub truncated_directories: Vec<RelPath>,
}

impl UncoveredFiles {
    /// Takes from a walk what it found. `wanted` files are held whatever the limits say: a restore would overwrite them.
    pub fn collect_from_walk(root: &Path, walked: &mut WalkedPaths, wanted: &BTreeSet<RelPath>) -> Self {
        let mut left_out = Self {
            ignored_paths: std::mem::take(&mut walked.ignored_paths),
            nested: std::mem::take(&mut walked.nested),
            truncated_directories: std::mem::take(&mut walked.truncated_directories),
            ..Self::default()
        };
        let mut left = MOST_IN_ALL;
        for path in std::mem::take(&mut walked.excluded) {
            let most = if wanted.contains(&path) { MAX_FILE } else { left.min(MOST_BYTES) };
            match read_excluded_file(root, &to_path(&path), most) {
                Ok(held) => {
                    left = left.saturating_sub(held.stat.size);
                    left_out.excluded_files.insert(path, held);
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(_) => drop(left_out.unread_excluded.insert(path)),
            }
        }
        left_out
    }
}

/// Metadata and content come from the same open file: a command can replace the file, or its directory, meanwhile.
fn read_excluded_file(root: &Path, path: &Path, most: u64) -> io::Result<ExcludedFile> {
    let parent = open_parent(root, &root.join(path), false)?;
    let place = parent.entry();
    let too_large = || io::Error::other("it is too large to keep");
    let fitting = |meta: &fs::Metadata| {
        FileStat::from_metadata(meta).filter(|stat| stat.size <= most).ok_or_else(too_large)
    };
    let mut meta = fs::symlink_metadata(&place)?;
    let mut stat = fitting(&meta)?;
    let content = if stat.kind == TreeEntryKind::Link {
        to_bytes(&fs::read_link(&place)?)
    } else {
        let file = open_unfollowed(&place)?;
        meta = file.metadata()?;
        stat = fitting(&meta)?;
        read_open_file(file, most)?
    };
    let blob = Oid::hash_object(ObjectType::Blob, &content).map_err(io::Error::other)?;
    Ok(ExcludedFile { stat, mode: meta.mode() & 0o777, blob, content })
}

/// A private copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PrivateCopy {
    pub kind: TreeEntryKind,
    pub mode: u32,
    pub blob: Oid,
}

/// Why something was not stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UncoveredReason {
    Excluded,
    Ignored,
    Nested,
    /// Over the limits of a snapshot, or not to be read.
    Skipped,
}

/// What is known of something that was not stored: its size and times.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UncoveredPath {
    pub reason: UncoveredReason,
    pub stamp: Option<UncoveredPathStamp>,
}

/// Mode, size, times and inode.
pub type UncoveredPathStamp = (u32, u64, i64, i64, i64, i64, u64);

pub fn path_stamp(place: &Path) -> Option<UncoveredPathStamp> {
    let meta = fs::symlink_metadata(place).ok()?;
    let (modified, changed) = ((meta.mtime(), meta.mtime_nsec()), (meta.ctime(), meta.ctime_nsec()));
    // a directory's size and times say nothing about its content
    let flat = meta.is_dir();
    let size = if flat { 0 } else { meta.size() };
    let times = if flat { ((0, 0), (0, 0)) } else { (modified, changed) };
    Some((meta.mode(), size, times.0.0, times.0.1, times.1.0, times.1.1, meta.ino()))
}

/// What was kept beside one snapshot.
#[derive(Debug, Default)]
pub struct UncoveredRecord {
    pub private_copies: BTreeMap<RelPath, PrivateCopy>,
    pub uncovered_paths: BTreeMap<RelPath, UncoveredPath>,
    /// More was there than is listed: what is not listed may have been there.
    pub is_truncated: bool,
}

impl UncoveredRecord {
    /// Whether something was there that was not stored, or was in such a directory.
    pub fn contains_path(&self, path: &[u8]) -> bool {
        self.uncovered_paths.contains_key(path)
            || ancestor_paths(path).any(|dir| self.uncovered_paths.contains_key(dir))
    }
}

#[derive(Serialize, Deserialize)]
struct UncoveredManifest {
    /// Whether the snapshot is in the private store.
    private: bool,
    copies: Vec<(ManifestPath, u32, u32, String)>,
    seen: Vec<(ManifestPath, UncoveredReason, Option<UncoveredPathStamp>)>,
    cut: bool,
}

impl UncoveredManifest {
    /// Of what is there now.
    fn describe(
        place: &SnapshotLocation,
        private: bool,
        left_out: &UncoveredFiles,
        skipped: &[RelPath],
    ) -> Self {
        let copy = |(path, held): (&RelPath, &ExcludedFile)| {
            (ManifestPath::from_path(path), held.stat.kind.mode(), held.mode, held.blob.to_string())
        };
        let lists = [
            (
                UncoveredReason::Excluded,
                left_out.unread_excluded.iter().chain(&left_out.truncated_directories).collect::<Vec<_>>(),
            ),
            (UncoveredReason::Nested, left_out.nested.iter().collect()),
            (UncoveredReason::Skipped, skipped.iter().collect()),
            (UncoveredReason::Ignored, left_out.ignored_paths.iter().collect()),
        ];
        let all = lists.iter().flat_map(|(why, paths)| paths.iter().map(|path| (*why, *path)));
        let seen = all.clone().take(MOST_SEEN).map(|(why, path)| {
            (ManifestPath::from_path(path), why, path_stamp(&place.project.join(to_path(path))))
        });
        Self {
            private,
            copies: left_out.excluded_files.iter().map(copy).collect(),
            seen: seen.collect(),
            cut: !left_out.truncated_directories.is_empty() || all.count() > MOST_SEEN,
        }
    }
}

/// A path as text, or as bytes where it is none.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum ManifestPath {
    Text(String),
    Bytes(Vec<u8>),
}

impl ManifestPath {
    fn from_path(path: &RelPath) -> Self {
        String::from_utf8(path.clone()).map_or_else(|error| Self::Bytes(error.into_bytes()), Self::Text)
    }

    fn path(self) -> RelPath {
        match self {
            Self::Text(text) => text.into_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// Keeps what is outside of a snapshot that was just taken; `skipped` is what it could not cover, by path. All of it is
/// on the disk when this returns.
///
/// # Errors
/// The data directory cannot be written.
pub fn write_record(
    place: &SnapshotLocation,
    private: bool,
    id: &SnapshotId,
    left_out: &UncoveredFiles,
    skipped: &[RelPath],
) -> SnapshotResult<()> {
    let dir = copies_directory(place);
    let written = || -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
        for held in left_out.excluded_files.values() {
            let file = dir.join(held.blob.to_string());
            if fs::symlink_metadata(&file).is_err() {
                write_private(&dir, &file, &held.content)?;
            }
        }
        let manifest = UncoveredManifest::describe(place, private, left_out, skipped);
        write_private(&dir, &manifest_file(place, id), &serde_json::to_vec(&manifest)?)?;
        fs::File::open(&dir)?.sync_all()
    };
    written().map_err(|error| snapshot_error::store_io_error(&dir, &error))
}

/// Whether `write_record` would write what is kept beside that snapshot already.
pub fn is_same_record(
    place: &SnapshotLocation,
    private: bool,
    id: &SnapshotId,
    left_out: &UncoveredFiles,
    skipped: &[RelPath],
) -> bool {
    let present = serde_json::to_vec(&UncoveredManifest::describe(place, private, left_out, skipped));
    let kept = fs::read(manifest_file(place, id));
    let is_there = |held: &ExcludedFile| fs::symlink_metadata(copy_file(place, held.blob)).is_ok();
    present.ok().is_some_and(|present| kept.is_ok_and(|kept| kept == present))
        && left_out.excluded_files.values().all(is_there)
}

/// Whole or not at all, for the user alone.
fn write_private(dir: &Path, file: &Path, content: &[u8]) -> io::Result<()> {
    let draft = dir.join(format!("new-{}", std::process::id()));
    // left by a process that died and had the same id
    let _ = fs::remove_file(&draft);
    let mut out = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    out.write_all(content)?;
    out.sync_all()?;
    fs::rename(&draft, file)
}

/// `None` where nothing is known: the snapshot is of an earlier version, or its list is gone. A copy that is gone counts
/// as never made.
pub fn read_record(place: &SnapshotLocation, id: &SnapshotId) -> Option<UncoveredRecord> {
    let manifest: UncoveredManifest =
        serde_json::from_slice(&fs::read(manifest_file(place, id)).ok()?).ok()?;
    let mut kept = UncoveredRecord { is_truncated: manifest.cut, ..UncoveredRecord::default() };
    for (path, why, stamp) in manifest.seen {
        kept.uncovered_paths.insert(path.path(), UncoveredPath { reason: why, stamp });
    }
    for (path, kind, mode, blob) in manifest.copies {
        let (kind, blob) = (TreeEntryKind::from_mode(kind)?, Oid::from_str(&blob).ok()?);
        let path = path.path();
        if leads_outside(&path) {
            return None;
        }
        if fs::symlink_metadata(copy_file(place, blob)).is_ok() {
            kept.private_copies.insert(path, PrivateCopy { kind, mode, blob });
        } else {
            kept.uncovered_paths
                .insert(path, UncoveredPath { reason: UncoveredReason::Excluded, stamp: None });
        }
    }
    Some(kept)
}

/// Out of the project or into git's own directory: nothing that we wrote.
fn leads_outside(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(|part| matches!(part, b"" | b"." | b".." | b".git"))
}

/// What differs between two moments, seen from `old`, by path.
pub fn diff_records(old: &UncoveredRecord, new: &UncoveredRecord) -> Vec<(RelPath, FileChange)> {
    let paths: BTreeSet<&RelPath> = old.private_copies.keys().chain(new.private_copies.keys()).collect();
    let change = |path: &&RelPath| match (old.private_copies.get(*path), new.private_copies.get(*path)) {
        (Some(old), Some(new)) if old == new => None,
        (Some(old), Some(new)) if old.blob == new.blob => Some(FileChange::Mode),
        (Some(_), Some(_)) => Some(FileChange::Modified),
        (Some(_), None) => (!new.is_truncated && !new.contains_path(path)).then_some(FileChange::Deleted),
        (None, _) => (!old.is_truncated && !old.contains_path(path)).then_some(FileChange::Added),
    };
    paths.into_iter().filter_map(|path| Some((path.clone(), change(&path)?))).collect()
}

/// The content of a copy, if it is the one that was kept.
///
/// # Errors
/// As the system says, or it was changed.
pub fn read_copy(place: &SnapshotLocation, blob: Oid) -> io::Result<Vec<u8>> {
    let content = fs::read(copy_file(place, blob))?;
    if Oid::hash_object(ObjectType::Blob, &content).ok() == Some(blob) {
        return Ok(content);
    }
    Err(io::Error::other("it is not what was kept"))
}

/// Forgets what belongs to snapshots that are gone, `there` in a store being those that are not. What belongs to a store
/// that cannot be asked stays.
///
/// # Errors
/// A file cannot be removed.
pub fn prune_records(place: &SnapshotLocation, there: &[(bool, BTreeSet<String>)]) -> SnapshotResult<()> {
    let dir = copies_directory(place);
    let (mut needed, mut files) = (BTreeSet::new(), Vec::new());
    for item in fs::read_dir(&dir).into_iter().flatten().flatten() {
        let name = item.file_name().to_string_lossy().into_owned();
        let Some(id) = name.strip_suffix(MANIFEST) else {
            files.push((name, item.path()));
            continue;
        };
        let manifest = fs::read(item.path())
            .ok()
            .and_then(|text| serde_json::from_slice::<UncoveredManifest>(&text).ok());
        let gone = |manifest: &UncoveredManifest| {
            there.iter().any(|(private, ids)| *private == manifest.private && !ids.contains(id))
        };
        match manifest {
            Some(manifest) if gone(&manifest) => remove_file(&item.path())?,
            Some(manifest) => needed.extend(manifest.copies.into_iter().map(|(_, _, _, blob)| blob)),
            None => remove_file(&item.path())?,
        }
    }
    files.iter().filter(|(name, _)| !needed.contains(name)).try_for_each(|(_, path)| remove_file(path))
}

fn remove_file(file: &Path) -> SnapshotResult<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(snapshot_error::store_io_error(file, &error))
        }
        _ => Ok(()),
    }
}

/// Writes a copy back: never readable by more than it was.
///
/// # Errors
/// As the system says.
pub fn write_copy(draft: &Path, content: &[u8], kind: TreeEntryKind, mode: u32) -> io::Result<()> {
    if kind == TreeEntryKind::Link {
        return std::os::unix::fs::symlink(to_path(content), draft);
    }
    let mut out = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft)?;
    out.write_all(content)?;
    out.set_permissions(fs::Permissions::from_mode(mode))
}

const MANIFEST: &str = ".snapshot";

fn copies_directory(place: &SnapshotLocation) -> PathBuf {
    place.project_data.join("kept")
}

fn manifest_file(place: &SnapshotLocation, id: &SnapshotId) -> PathBuf {
    copies_directory(place).join(format!("{id}{MANIFEST}"))
}

fn copy_file(place: &SnapshotLocation, blob: Oid) -> PathBuf {
    copies_directory(place).join(blob.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::snapshot_location::ProgramFiles;

    #[test]
    fn a_list_that_leads_out_of_the_project_is_no_list_of_ours() {
        let dir = tempfile::tempdir().unwrap();
        let place = SnapshotLocation {
            project: dir.path().to_owned(),
            project_data: dir.path().join("corner"),
            program_files: ProgramFiles::default(),
            outside_files: crate::git::OutsideFiles::Refused,
        };
        let id = SnapshotId::from("1");
        let rows = [
            (".env", true),
            ("a/b", true),
            ("../x", false),
            ("/x", false),
            ("a/../../x", false),
            (".git/config", false),
        ];
        for (path, ours) in rows {
            let held =
                read_excluded_file(Path::new(env!("CARGO_MANIFEST_DIR")), Path::new("Cargo.toml"), u64::MAX)
                    .unwrap();
            let left_out = UncoveredFiles {
                excluded_files: BTreeMap::from([(path.into(), held)]),
                ..UncoveredFiles::default()
            };
            write_record(&place, true, &id, &left_out, &[]).unwrap();
            assert_eq!(
                read_record(&place, &id).is_some_and(|kept| kept.private_copies.len() == 1),
                ours,
                "{path}"
            );
        }
        let blob = Oid::hash_object(ObjectType::Blob, b"as it was").unwrap();
        assert!(read_copy(&place, blob).is_err(), "gone");
        for (text, fits) in [("as it was", true), ("as others made it", false)] {
            fs::write(copy_file(&place, blob), text).unwrap();
            assert_eq!(read_copy(&place, blob).is_ok(), fits);
        }
    }
}
