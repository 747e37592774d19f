//! The content of files as blobs: read without following links, hashed, and stored by two threads.

use std::fs;
use std::path::Path;

use git2::{ObjectType, Odb, Oid};

use super::open_repository::{is_outside_lead_error, is_refusal};
use super::snapshot_entry::{FileStat, RelPath, TreeEntryKind, to_bytes, to_path};
use super::snapshot_error::{self, SnapshotResult};
use super::snapshot_location::{SnapshotLocation, SnapshotRepository};
use super::stat_cache::make_unmatchable;
use crate::open_beneath::{open_parent, open_unfollowed, read_open_file};
use synthdev_domain::file_progress::{FileWorkCounter, FileWorkStage};

/// Below this many paths a second thread costs more than it saves.
pub const WORTH_A_THREAD: usize = 512;

/// Where the bytes of changed files go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum BlobDestination {
    /// Nowhere: only their names are wanted.
    Named,
    /// Into the store, by two threads.
    Stored,
    /// Through the given handle only, which keeps them in memory.
    InMemory,
}

/// A file with what it holds, or why it cannot be read.
pub type HashedFile = (RelPath, std::io::Result<(FileStat, Oid)>);

type HashAttempt = (RelPath, Result<(FileStat, Oid), BlobHashError>);

enum BlobHashError {
    Unreadable(std::io::Error),
    Store(git2::Error),
}

/// What files are hashed with.
pub struct FileHasher<'a> {
    pub location: &'a SnapshotLocation,
    pub store: &'a SnapshotRepository,
    pub blobs: BlobDestination,
    /// Counts files that are stored.
    pub file_counter: &'a FileWorkCounter,
}

impl FileHasher<'_> {
    /// The content of these files, where `blobs` says so in the store.
    ///
    /// # Errors
    /// The store cannot be written; a file that cannot be read has an error of its own.
    pub fn hash_files(&self, work: &[(RelPath, FileStat)]) -> SnapshotResult<Vec<HashedFile>> {
        let (place, store, blobs) = (self.location, self.store, self.blobs);
        let root = place.project.as_path();
        let failed = |error: git2::Error| match is_refusal(&error) || is_outside_lead_error(&error) {
            true => snapshot_error::refused_repository_error(&place.project, &error),
            false => snapshot_error::git_write_error(store.location(), &error),
        };
        let keep = blobs != BlobDestination::Named;
        // what is only compared is not shown
        let counter = (blobs == BlobDestination::Stored).then_some(self.file_counter);
        let _working = counter.map(|counter| counter.begin_work(FileWorkStage::Reading, work.len()));
        let hashed = if work.len() < WORTH_A_THREAD / 8 || blobs == BlobDestination::InMemory {
            let odb = store.repo.odb().map_err(failed)?;
            hash_some(root, work, keep.then_some(&odb), counter)
        } else {
            let (left, right) = work.split_at(work.len() / 2);
            let is_private = store.private;
            let hash = |part| hash_apart(place, is_private, part, keep, counter);
            std::thread::scope(|scope| {
                let other = scope.spawn(|| hash(right));
                let mut hashed = hash(left)?;
                hashed.extend(other.join().unwrap_or_else(|_| hash(right))?);
                Ok(hashed)
            })
            .map_err(failed)?
        };
        let result = |(path, hashed): HashAttempt| match hashed {
            Ok(content) => Ok((path, Ok(content))),
            Err(BlobHashError::Unreadable(error)) => Ok((path, Err(error))),
            Err(BlobHashError::Store(error)) => Err(failed(error)),
        };
        hashed.into_iter().map(result).collect()
    }
}

/// With a handle of its own: libgit2's handles stay in their thread.
fn hash_apart(
    place: &SnapshotLocation,
    is_private: bool,
    work: &[(RelPath, FileStat)],
    keep: bool,
    counter: Option<&FileWorkCounter>,
) -> Result<Vec<HashAttempt>, git2::Error> {
    let repo = place.open_again(is_private)?;
    let odb = repo.odb()?;
    Ok(hash_some(&place.project, work, keep.then_some(&odb), counter))
}

fn hash_some(
    root: &Path,
    work: &[(RelPath, FileStat)],
    odb: Option<&Odb<'_>>,
    counter: Option<&FileWorkCounter>,
) -> Vec<HashAttempt> {
    let hash = |(path, stat): &(RelPath, FileStat)| {
        let hashed = hash_file(root, path, *stat, odb);
        counter.inspect(|counter| counter.add_file());
        (path.clone(), hashed)
    };
    work.iter().map(hash).collect()
}

/// No link is followed: a command can put one in the place of the file, or of its directory, and read the snapshot.
fn hash_file(
    root: &Path,
    path: &[u8],
    mut stat: FileStat,
    odb: Option<&Odb<'_>>,
) -> Result<(FileStat, Oid), BlobHashError> {
    let read = || {
        let parent = open_parent(root, &root.join(to_path(path)), false)?;
        let place = parent.entry();
        let bytes = if stat.kind == TreeEntryKind::Link {
            to_bytes(&fs::read_link(&place)?)
        } else {
            read_open_file(open_unfollowed(&place)?, u64::MAX)?
        };
        Ok((bytes, fs::symlink_metadata(&place).ok()))
    };
    let (bytes, now) = read().map_err(BlobHashError::Unreadable)?;
    // Written to while we read: this content is one of its states, but must be looked at again next time.
    if now.and_then(|meta| FileStat::from_metadata(&meta)) != Some(stat) {
        make_unmatchable(&mut stat);
    }
    let blob = match odb {
        Some(odb) => odb.write(ObjectType::Blob, &bytes),
        None => Oid::hash_object(ObjectType::Blob, &bytes),
    };
    Ok((stat, blob.map_err(BlobHashError::Store)?))
}
