//! The present state of a project as blobs: what is known by its stat is not read, the rest is hashed.
//! Limits are decided before anything is read; what cannot be covered is listed (SNAP-7).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use git2::{ObjectType, Odb, Oid, Repository};

use super::entry::{Entry, Kind, RelPath, Stat, ancestors, shown, to_bytes, to_path};
use super::fault::{self, Outcome};
use super::kept::{LeftOut, MAX_FILE};
use super::opening::{OutsideFiles, open_at};
use super::place::{Place, Store};
use super::rules::Rules;
use super::seed::{Seed, Trust};
use super::stat_cache::{StatCache, doubt, lookup};
use super::walk::walk;
use crate::adapters::beneath::{open_parent, open_unfollowed, read_held};
use crate::domain::snapshot::{Lack, Skipped};

const MAX_NEW_BYTES: u64 = 2 * 1024 * 1024 * 1024;
const MAX_FILES: usize = 200_000;
/// A longer list of skipped paths is cut; the cut is said.
const MAX_LISTED: usize = 1_000;
/// Below this many paths a second thread costs more than it saves.
const WORTH_A_THREAD: usize = 512;

/// Where the bytes of changed files go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Blobs {
    /// Nowhere: only their names are wanted.
    Named,
    /// Into the store, by two threads.
    Stored,
    /// Through the given handle only, which keeps them in memory.
    InMemory,
}

/// What to scan.
pub struct Target<'a> {
    pub place: &'a Place,
    pub store: &'a Store,
    pub rules: &'a Rules,
    /// Paths to cover even if ignored or large: a restore would overwrite them.
    pub wanted: &'a BTreeSet<RelPath>,
    /// The same of excluded files, which are held and never stored.
    pub private: &'a BTreeSet<RelPath>,
}

/// The present.
#[derive(Default)]
pub struct Scan {
    /// Sorted by path.
    pub entries: Vec<Entry>,
    pub skipped: Vec<Skipped>,
    /// More paths were skipped than `skipped` lists.
    pub partial: bool,
    pub empty_dirs: Vec<RelPath>,
    /// Files standing where a wanted path needs a directory.
    pub blocking: BTreeSet<RelPath>,
    /// Paths that are neither file nor link.
    pub opaque: BTreeSet<RelPath>,
    /// Paths whose content could not be saved.
    pub unreadable: BTreeSet<RelPath>,
    /// The project's own files that are in `skipped`.
    pub lost: Vec<RelPath>,
    /// What no snapshot covers.
    pub left_out: LeftOut,
    /// Objects that may be new in the store.
    pub written: Vec<Oid>,
}

impl Scan {
    fn unreadable(&mut self, path: RelPath, error: &std::io::Error) {
        let reason = format!("cannot be read: {error}");
        self.skipped.push(Skipped { path: shown(&path), reason, lack: Lack::Unreadable });
        self.lost.push(path.clone());
        self.unreadable.insert(path);
    }
}

enum State {
    Missing,
    Opaque,
    Unreadable(std::io::Error),
    Known(Stat, Oid),
    /// Unchanged since the user's index was written.
    Seeded(Stat, Oid),
    Unknown(Stat),
}

/// Reads the present.
/// # Errors
/// The store cannot be written; single files that cannot be read are listed instead.
pub fn scan(target: &Target<'_>, cache: &StatCache, blobs: Blobs) -> Outcome<Scan> {
    let seed = Seed::read(target.store)?;
    let root = target.place.project.as_path();
    let mut walked =
        walk(root, target.rules, &|path| seed.submodules.contains_key(path), target.place.fenced.as_deref());
    let mut scan = Scan {
        skipped: std::mem::take(&mut walked.skipped),
        empty_dirs: std::mem::take(&mut walked.empty_dirs),
        left_out: LeftOut::of(root, &mut walked, target.private),
        ..Scan::default()
    };
    let mut paths = walked.files;
    let more = unwalked(target, &seed, &paths, walked.dirs, &mut scan.blocking);
    if !more.is_empty() {
        paths.extend(more);
        paths.sort_unstable();
        paths.dedup();
    }
    let states = probe_all(root, &paths, cache, &seed);
    let hash = sort_out(target, &seed, paths, states, &mut scan);
    let hash = within_limits(target, hash, &mut scan);
    hash_all(target, hash, blobs, &mut scan)?;
    add_submodules(root, &seed.submodules, &mut scan);
    scan.entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    if scan.skipped.len() > MAX_LISTED {
        scan.partial = true;
        // what is the project's own comes first
        scan.skipped.sort_by_key(|skipped| skipped.lack.is_foreign());
        let rest = scan.skipped.split_off(MAX_LISTED);
        let lack = rest.first().map_or(Lack::Foreign, |skipped| skipped.lack);
        let reason = format!("{} more paths are not covered", rest.len());
        scan.skipped.push(Skipped { path: ".".to_owned(), reason, lack });
    }
    Ok(scan)
}

/// Tracked and wanted paths that the walk did not list, as far as real directories lead to them.
fn unwalked(
    target: &Target<'_>,
    seed: &Seed,
    walked: &[RelPath],
    mut real_dirs: BTreeSet<RelPath>,
    blocking: &mut BTreeSet<RelPath>,
) -> Vec<RelPath> {
    let mut more = BTreeSet::new();
    for (path, wanted) in
        seed.tracked.iter().map(|path| (path, false)).chain(target.wanted.iter().map(|path| (path, true)))
    {
        if walked.binary_search(path).is_ok() || target.rules.excluded(path) {
            continue;
        }
        let in_the_way = ancestors(path).find(|dir| {
            if real_dirs.contains(*dir) {
                return false;
            }
            let real =
                fs::symlink_metadata(target.place.project.join(to_path(dir))).is_ok_and(|meta| meta.is_dir());
            if real {
                real_dirs.insert(dir.to_vec());
            }
            !real
        });
        match in_the_way {
            None => {
                more.insert(path.clone());
            }
            Some(dir) if wanted && fs::symlink_metadata(target.place.project.join(to_path(dir))).is_ok() => {
                blocking.insert(dir.to_vec());
                more.insert(dir.to_vec());
            }
            Some(_) => {}
        }
    }
    more.into_iter().collect()
}

fn probe_all(root: &Path, paths: &[RelPath], cache: &StatCache, seed: &Seed) -> Vec<State> {
    let probe = |path: &RelPath| probe(root, path, cache, seed);
    if paths.len() < WORTH_A_THREAD {
        return paths.iter().map(probe).collect();
    }
    let (left, right) = paths.split_at(paths.len() / 2);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| right.iter().map(probe).collect::<Vec<_>>());
        let mut states: Vec<State> = left.iter().map(probe).collect();
        states.extend(other.join().unwrap_or_else(|_| right.iter().map(probe).collect()));
        states
    })
}

fn probe(root: &Path, path: &RelPath, cache: &StatCache, seed: &Seed) -> State {
    let meta = match fs::symlink_metadata(root.join(to_path(path))) {
        Ok(meta) => meta,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            return State::Unreadable(error);
        }
        Err(_) => return State::Missing,
    };
    if meta.is_dir() {
        return State::Missing;
    }
    let Some(stat) = Stat::of(&meta) else {
        return State::Opaque;
    };
    let fitting = |entries| lookup(entries, path).filter(|entry| entry.stat == stat);
    if let Some(known) = fitting(&cache.entries) {
        State::Known(stat, known.blob)
    } else if let Some(seeded) = fitting(&seed.entries) {
        State::Seeded(stat, seeded.blob)
    } else {
        State::Unknown(stat)
    }
}

/// Fills in what needs no reading and returns what does.
fn sort_out(
    target: &Target<'_>,
    seed: &Seed,
    paths: Vec<RelPath>,
    states: Vec<State>,
    scan: &mut Scan,
) -> Vec<(RelPath, Stat)> {
    let mut trust = None;
    let odb = target.store.repo.odb().ok();
    let mut unknown = Vec::new();
    scan.entries.reserve(paths.len());
    for (path, state) in paths.into_iter().zip(states) {
        match state {
            State::Missing => {}
            // The walk lists those that no ignore file names.
            State::Opaque => {
                scan.opaque.insert(path);
            }
            State::Unreadable(error) => scan.unreadable(path, &error),
            State::Known(stat, blob) => scan.entries.push(Entry { path, stat, blob }),
            State::Seeded(stat, blob) => {
                let trust =
                    trust.get_or_insert_with(|| Trust::new(target.store, seed, &target.place.project));
                if odb.as_ref().is_some_and(|odb| trust.holds(odb, &path, stat.size, blob)) {
                    scan.entries.push(Entry { path, stat, blob });
                } else {
                    unknown.push((path, stat));
                }
            }
            State::Unknown(stat) => unknown.push((path, stat)),
        }
    }
    unknown
}

fn within_limits(
    target: &Target<'_>,
    unknown: Vec<(RelPath, Stat)>,
    scan: &mut Scan,
) -> Vec<(RelPath, Stat)> {
    let mut total = 0;
    let mut count = scan.entries.len();
    let mut kept = Vec::with_capacity(unknown.len());
    for (path, stat) in unknown {
        let reason = if stat.size > MAX_FILE {
            "larger than 100 MB"
        } else if total + stat.size > MAX_NEW_BYTES {
            "more than 2 GB of new content"
        } else if count >= MAX_FILES {
            "more than 200,000 files"
        } else {
            ""
        };
        if reason.is_empty() || target.wanted.contains(&path) {
            total += stat.size;
            count += 1;
            kept.push((path, stat));
        } else {
            let lack = Lack::Limit;
            scan.skipped.push(Skipped { path: shown(&path), reason: reason.to_owned(), lack });
            scan.lost.push(path);
        }
    }
    kept
}

type Hashed = (RelPath, Result<(Stat, Oid), Unhashed>);

enum Unhashed {
    Unreadable(std::io::Error),
    Store(git2::Error),
}

fn hash_all(target: &Target<'_>, work: Vec<(RelPath, Stat)>, blobs: Blobs, scan: &mut Scan) -> Outcome<()> {
    let root = target.place.project.as_path();
    let failed = |error: git2::Error| fault::git_write(target.store.location(), &error);
    let keep = blobs != Blobs::Named;
    let hashed = if work.len() < WORTH_A_THREAD / 8 || blobs == Blobs::InMemory {
        let odb = target.store.repo.odb().map_err(failed)?;
        hash_some(root, &work, keep.then_some(&odb))
    } else {
        let (left, right) = work.split_at(work.len() / 2);
        let location = target.store.location();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| hash_apart(root, right, location, keep));
            let mut hashed = hash_apart(root, left, location, keep)?;
            hashed.extend(other.join().unwrap_or_else(|_| hash_apart(root, right, location, keep))?);
            Ok(hashed)
        })
        .map_err(failed)?
    };
    for (path, result) in hashed {
        match result {
            Ok((stat, blob)) => {
                scan.written.push(blob);
                scan.entries.push(Entry { path, stat, blob });
            }
            Err(Unhashed::Store(error)) => return Err(failed(error)),
            Err(Unhashed::Unreadable(error)) => scan.unreadable(path, &error),
        }
    }
    Ok(())
}

/// With a handle of its own: libgit2's handles stay in their thread.
fn hash_apart(
    root: &Path,
    work: &[(RelPath, Stat)],
    store: &Path,
    keep: bool,
) -> Result<Vec<Hashed>, git2::Error> {
    let repo = Repository::open(store)?;
    let odb = repo.odb()?;
    Ok(hash_some(root, work, keep.then_some(&odb)))
}

fn hash_some(root: &Path, work: &[(RelPath, Stat)], odb: Option<&Odb<'_>>) -> Vec<Hashed> {
    work.iter().map(|(path, stat)| (path.clone(), hash(root, path, *stat, odb))).collect()
}

/// No link is followed: a command can put one in the place of the file, or of its directory, and read the snapshot.
fn hash(root: &Path, path: &[u8], mut stat: Stat, odb: Option<&Odb<'_>>) -> Result<(Stat, Oid), Unhashed> {
    let read = || {
        let parent = open_parent(root, &root.join(to_path(path)), false)?;
        let place = parent.entry();
        let bytes = if stat.kind == Kind::Link {
            to_bytes(&fs::read_link(&place)?)
        } else {
            read_held(open_unfollowed(&place)?, u64::MAX)?
        };
        Ok((bytes, fs::symlink_metadata(&place).ok()))
    };
    let (bytes, now) = read().map_err(Unhashed::Unreadable)?;
    // Written to while we read: this content is one of its states, but must be looked at again next time.
    if now.and_then(|meta| Stat::of(&meta)) != Some(stat) {
        doubt(&mut stat);
    }
    let blob = match odb {
        Some(odb) => odb.write(ObjectType::Blob, &bytes),
        None => Oid::hash_object(ObjectType::Blob, &bytes),
    };
    Ok((stat, blob.map_err(Unhashed::Store)?))
}

/// A submodule's checked-out commit, or the one the index holds.
fn add_submodules(root: &Path, submodules: &BTreeMap<RelPath, Oid>, scan: &mut Scan) {
    for (path, indexed) in submodules {
        let place = root.join(to_path(path));
        if !fs::symlink_metadata(&place).is_ok_and(|meta| meta.is_dir()) {
            continue;
        }
        let head = open_at(&place, OutsideFiles::Refused).ok().and_then(|repo| repo.head().ok()?.target());
        let stat = Stat { kind: Kind::Submodule, size: 0, modified: (0, 0), changed: (0, 0), inode: 0 };
        scan.entries.push(Entry { path: path.clone(), stat, blob: head.unwrap_or(*indexed) });
    }
}
