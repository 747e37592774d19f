//! The present state of a project as blobs: what is known by its stat is not read, the rest is hashed.
//! Limits are decided before anything is read; what cannot be covered is listed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::Path;

use git2::Oid;

pub use super::file_hashing::BlobDestination;
use super::file_hashing::{FileHasher, WORTH_A_THREAD};
use super::ignore_rules::IgnoreRules;
use super::index_summary::{IndexSummary, byte_slices};
use super::open_repository::{OutsideFiles, open_at};
use super::project_walk::{WalkedPaths, walk_project};
use super::snapshot_commit;
use super::snapshot_entry::{
    FileStat, FileTime, RelPath, SnapshotEntry, StatProbe, StatReader, TreeEntryKind, ancestor_paths,
    display_path, missing_paths, to_path,
};
use super::snapshot_error::{self, SnapshotResult};
use super::snapshot_location::{SnapshotLocation, SnapshotRepository};
use super::stat_cache::{EntryCursor, StatCache};
use super::uncovered_files::{MAX_FILE, UncoveredFiles};
use super::user_index::{IndexBlobTrust, UserIndex};
use synthdev_domain::file_progress::FileWorkCounter;
use synthdev_domain::snapshot::{SkipReason, SkippedPath};

const MAX_NEW_BYTES: u64 = 2 * 1024 * 1024 * 1024;
const MAX_FILES: usize = 200_000;
/// A longer list of skipped paths is cut; the list says so.
const MAX_LISTED: usize = 1_000;

/// What to scan.
pub struct WorkingTreeScanTarget<'a> {
    pub location: &'a SnapshotLocation,
    pub store: &'a SnapshotRepository,
    pub rules: &'a IgnoreRules,
    /// Paths to cover even if ignored or large: a restore would overwrite them.
    pub wanted_paths: &'a BTreeSet<RelPath>,
    /// The same of excluded files, which are held and never stored.
    pub private: &'a BTreeSet<RelPath>,
    /// Counts the files that are stored.
    pub file_counter: &'a FileWorkCounter,
}

/// The present.
#[derive(Default)]
pub struct WorkingTreeScan {
    /// Sorted by path.
    pub entries: Vec<SnapshotEntry>,
    pub skipped_paths: Vec<SkippedPath>,
    /// More paths were skipped than `skipped` lists.
    pub is_partial: bool,
    pub empty_dirs: Vec<RelPath>,
    /// Files at a path where a wanted path needs a directory.
    pub blocking_files: BTreeSet<RelPath>,
    /// Paths that are neither file nor link.
    pub opaque: BTreeSet<RelPath>,
    /// Paths whose content could not be saved.
    pub unreadable_paths: BTreeSet<RelPath>,
    /// The project's own files that are in `skipped`.
    pub skipped_own_files: Vec<RelPath>,
    /// What no snapshot covers.
    pub uncovered: UncoveredFiles,
    /// Objects that may be new in the store.
    pub written_objects: Vec<Oid>,
    /// What the user's index says, for the next scan.
    pub index: Option<IndexSummary>,
    /// The snapshot whose stats were known; empty if there is none.
    pub last_snapshot: String,
    /// What that snapshot holds.
    pub last_entries: Vec<SnapshotEntry>,
}

impl WorkingTreeScan {
    fn add_unreadable(&mut self, path: RelPath, error: &std::io::Error) {
        let reason = format!("cannot be read: {error}");
        self.skipped_paths.push(SkippedPath {
            path: display_path(&path),
            reason,
            lack: SkipReason::Unreadable,
        });
        self.skipped_own_files.push(path.clone());
        self.unreadable_paths.insert(path);
    }
}

/// What the stats of some paths say.
#[derive(Default)]
struct ProbedPaths {
    /// Known from the last snapshot.
    known: Vec<SnapshotEntry>,
    /// Unchanged since the user's index was written.
    seeded: Vec<SnapshotEntry>,
    unknown: Vec<(RelPath, FileStat)>,
    opaque: Vec<RelPath>,
    unreadable: Vec<(RelPath, std::io::Error)>,
}

/// Reads the present.
/// # Errors
/// The store cannot be written; single files that cannot be read are listed instead.
pub fn scan_working_tree(
    target: &WorkingTreeScanTarget<'_>,
    blobs: BlobDestination,
) -> SnapshotResult<WorkingTreeScan> {
    let root = target.location.project.as_path();
    let ScanBasis { cache, seed, mut walked } = walk_beside_index(target)?;
    let mut scan = WorkingTreeScan {
        skipped_paths: std::mem::take(&mut walked.skipped_paths),
        empty_dirs: std::mem::take(&mut walked.empty_dirs),
        uncovered: UncoveredFiles::collect_from_walk(root, &mut walked, target.private),
        ..WorkingTreeScan::default()
    };
    let mut paths = walked.files;
    let unwalked: Vec<RelPath> =
        missing_paths(byte_slices(&seed.tracked), byte_slices(&paths)).map(<[u8]>::to_vec).collect();
    let more = reachable_paths(target, &unwalked, &paths, walked.dirs, &mut scan.blocking_files);
    if !more.is_empty() {
        paths.extend(more);
        paths.sort_unstable();
        paths.dedup();
    }
    let probed = probe_all(root, paths, &cache, &seed)
        .map_err(|error| snapshot_error::project_io_error(root, &error))?;
    let hash = sort_out(target, &seed, probed, &mut scan);
    let hash = within_limits(target, hash, &mut scan);
    let (location, store, file_counter) = (target.location, target.store, target.file_counter);
    for (path, content) in (FileHasher { location, store, blobs, file_counter }).hash_files(&hash)? {
        match content {
            Ok((stat, blob)) => {
                scan.written_objects.push(blob);
                scan.entries.push(SnapshotEntry { path, stat, blob });
            }
            Err(error) => scan.add_unreadable(path, &error),
        }
    }
    add_submodules(root, &seed.submodules, &mut scan);
    // two sorted parts: a stable sort only merges them
    scan.entries.sort_by(|a, b| a.path.cmp(&b.path));
    scan.index = seed.summarize(&cache.entries, unwalked, &scan.entries);
    scan.last_snapshot = cache.snapshot;
    scan.last_entries = cache.entries;
    if scan.skipped_paths.len() > MAX_LISTED {
        scan.is_partial = true;
        // what is the project's own comes first
        scan.skipped_paths.sort_by_key(|skipped| skipped.lack.is_outside_project());
        let rest = scan.skipped_paths.split_off(MAX_LISTED);
        let lack = rest.first().map_or(SkipReason::Foreign, |skipped| skipped.lack);
        let reason = format!("{} more paths are not covered", rest.len());
        scan.skipped_paths.push(SkippedPath { path: ".".to_owned(), reason, lack });
    }
    Ok(scan)
}

/// What is known before the first stat.
struct ScanBasis {
    cache: StatCache,
    seed: UserIndex,
    walked: WalkedPaths,
}

/// Walks the project while the last snapshot's stats are read, and the user's index, if it changed since: in a large
/// project each takes a good part of the time. This walk does not know the submodules; where there are some, it is
/// done again.
fn walk_beside_index(target: &WorkingTreeScanTarget<'_>) -> SnapshotResult<ScanBasis> {
    // the store stays in this thread
    let (place, rules, store) = (target.location, target.rules, target.store);
    let walk = |is_submodule: &dyn Fn(&[u8]) -> bool| {
        walk_project(&place.project, rules, is_submodule, &place.program_files)
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| walk(&|_| false));
        let cache = StatCache::load_cache(
            &place.stat_cache_file(store.private),
            &store.repo,
            snapshot_commit::reference_name,
        );
        let summary = cache.index.as_ref().filter(|summary| summary.is_current(&store.repo));
        let seed =
            summary.map_or_else(|| UserIndex::read_index(store), |known| Ok(UserIndex::from_summary(known)));
        let mut seed = seed?;
        let walked = other.join().ok().filter(|_| seed.submodules.is_empty());
        let walked = walked.unwrap_or_else(|| walk(&|path| seed.submodules.contains_key(path)));
        if summary.is_some_and(|summary| !summary.accounts_for(&cache.entries, &walked.files)) {
            seed = UserIndex::read_index(store)?;
        }
        Ok(ScanBasis { cache, seed, walked })
    })
}

/// Of tracked and wanted paths that the walk did not list, those that real directories lead to.
fn reachable_paths(
    target: &WorkingTreeScanTarget<'_>,
    unwalked: &[RelPath],
    walked: &[RelPath],
    mut real_dirs: BTreeSet<RelPath>,
    blocking: &mut BTreeSet<RelPath>,
) -> Vec<RelPath> {
    let mut more = BTreeSet::new();
    let wanted = missing_paths(target.wanted_paths.iter().map(Vec::as_slice), byte_slices(walked));
    for (path, wanted) in
        byte_slices(unwalked).map(|path| (path, false)).chain(wanted.map(|path| (path, true)))
    {
        let recording = target.location.program_files.recording.as_ref();
        let is_recording = recording.is_some_and(|recording| recording.covers(&to_path(path)));
        if target.rules.is_excluded(path) || is_recording && !wanted {
            continue;
        }
        let in_the_way = ancestor_paths(path).find(|dir| {
            if real_dirs.contains(*dir) {
                return false;
            }
            let real = fs::symlink_metadata(target.location.project.join(to_path(dir)))
                .is_ok_and(|meta| meta.is_dir());
            if real {
                real_dirs.insert(dir.to_vec());
            }
            !real
        });
        match in_the_way {
            None => {
                more.insert(path.to_vec());
            }
            Some(dir)
                if wanted && fs::symlink_metadata(target.location.project.join(to_path(dir))).is_ok() =>
            {
                blocking.insert(dir.to_vec());
                more.insert(dir.to_vec());
            }
            Some(_) => {}
        }
    }
    more.into_iter().collect()
}

fn probe_all(
    root: &Path,
    mut paths: Vec<RelPath>,
    cache: &StatCache,
    seed: &UserIndex,
) -> std::io::Result<ProbedPaths> {
    let root = File::open(root)?;
    let probe_some = |paths: Vec<RelPath>| {
        let mut cached = EntryCursor::before_path(&cache.entries, paths.first());
        let mut seeded = EntryCursor::before_path(&seed.entries, paths.first());
        let mut stats = StatReader::below_directory(&root);
        let mut probed = ProbedPaths::default();
        probed.known.reserve(paths.len());
        for path in paths {
            probed.add_path(&mut stats, path, &mut cached, &mut seeded);
        }
        probed
    };
    if paths.len() < WORTH_A_THREAD {
        return Ok(probe_some(paths));
    }
    let right = paths.split_off(paths.len() / 2);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| probe_some(right));
        let mut probed = probe_some(paths);
        let right = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        probed.known.extend(right.known);
        probed.seeded.extend(right.seeded);
        probed.unknown.extend(right.unknown);
        probed.opaque.extend(right.opaque);
        probed.unreadable.extend(right.unreadable);
        Ok(probed)
    })
}

impl ProbedPaths {
    /// Adds one that comes after the others.
    fn add_path(
        &mut self,
        stats: &mut StatReader<'_>,
        path: RelPath,
        cached: &mut EntryCursor<'_>,
        seeded: &mut EntryCursor<'_>,
    ) {
        let stat = match stats.read_stat(&path) {
            Ok(StatProbe::Covered(stat)) => stat,
            // The walk lists those that no ignore file names.
            Ok(StatProbe::Opaque) => return self.opaque.push(path),
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                return self.unreadable.push((path, error));
            }
            Ok(StatProbe::Directory) | Err(_) => return,
        };
        let fits = |entry: &&SnapshotEntry| entry.stat == stat;
        if let Some(known) = cached.find_next(&path).filter(fits) {
            self.known.push(SnapshotEntry { path, stat, blob: known.blob });
        } else if let Some(seeded) = seeded.find_next(&path).filter(fits) {
            self.seeded.push(SnapshotEntry { path, stat, blob: seeded.blob });
        } else {
            self.unknown.push((path, stat));
        }
    }
}

/// Fills in what needs no reading and returns what does.
fn sort_out(
    target: &WorkingTreeScanTarget<'_>,
    seed: &UserIndex,
    probed: ProbedPaths,
    scan: &mut WorkingTreeScan,
) -> Vec<(RelPath, FileStat)> {
    let ProbedPaths { known, seeded, mut unknown, opaque, unreadable } = probed;
    scan.entries = known;
    scan.opaque.extend(opaque);
    unreadable.into_iter().for_each(|(path, error)| scan.add_unreadable(path, &error));
    if seeded.is_empty() {
        return unknown;
    }
    let trust = IndexBlobTrust::new(target.store, seed, &target.location.project);
    let odb = target.store.repo.odb().ok();
    for entry in seeded {
        let SnapshotEntry { path, stat, blob } = &entry;
        if odb.as_ref().is_some_and(|odb| trust.is_raw_content(odb, path, stat.size, *blob)) {
            scan.entries.push(entry);
        } else {
            unknown.push((entry.path, entry.stat));
        }
    }
    unknown.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    unknown
}

fn within_limits(
    target: &WorkingTreeScanTarget<'_>,
    unknown: Vec<(RelPath, FileStat)>,
    scan: &mut WorkingTreeScan,
) -> Vec<(RelPath, FileStat)> {
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
        if reason.is_empty() || target.wanted_paths.contains(&path) {
            total += stat.size;
            count += 1;
            kept.push((path, stat));
        } else {
            let lack = SkipReason::Limit;
            scan.skipped_paths.push(SkippedPath {
                path: display_path(&path),
                reason: reason.to_owned(),
                lack,
            });
            scan.skipped_own_files.push(path);
        }
    }
    kept
}

/// A submodule's checked-out commit, or the one the index holds.
fn add_submodules(root: &Path, submodules: &BTreeMap<RelPath, Oid>, scan: &mut WorkingTreeScan) {
    for (path, indexed) in submodules {
        let place = root.join(to_path(path));
        if !fs::symlink_metadata(&place).is_ok_and(|meta| meta.is_dir()) {
            continue;
        }
        let head = open_at(&place, OutsideFiles::Refused).ok().and_then(|repo| repo.head().ok()?.target());
        let stat = FileStat {
            kind: TreeEntryKind::Submodule,
            size: 0,
            modified: FileTime::default(),
            changed: FileTime::default(),
            inode: 0,
        };
        scan.entries.push(SnapshotEntry { path: path.clone(), stat, blob: head.unwrap_or(*indexed) });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use git2::Repository;
    use synthdev_domain::ids::Timestamp;
    use synthdev_domain::snapshot::SnapshotRequest;
    use synthdev_ports::clock::ClockPort;
    use synthdev_ports::snapshot::SnapshotPort;

    use super::super::GitSnapshots;
    use super::super::snapshot_entry::FileTime;
    use super::*;

    #[test]
    fn a_link_that_takes_the_place_of_the_objects_is_not_written_through() {
        let directory = tempfile::tempdir().unwrap();
        let (project, out) = (directory.path().join("project"), directory.path().join("out"));
        Repository::init(&project).unwrap();
        fs::create_dir(&out).unwrap();
        for at in 0..WORTH_A_THREAD {
            fs::write(project.join(at.to_string()), at.to_string()).unwrap();
        }
        let place =
            SnapshotLocation::resolve_project(&project, &directory.path().join("data"), None).unwrap();
        let store = place.store().unwrap();
        let rules = place.rules(&store, &[]);
        let (wanted, private) = (BTreeSet::new(), BTreeSet::new());
        let target = WorkingTreeScanTarget {
            location: &place,
            store: &store,
            rules: &rules,
            wanted_paths: &wanted,
            private: &private,
            file_counter: &FileWorkCounter::default(),
        };
        let scanned = || scan_working_tree(&target, BlobDestination::Stored);
        assert_eq!(scanned().unwrap().written_objects.len(), WORTH_A_THREAD);
        // after the store was opened
        fs::remove_dir_all(project.join(".git/objects")).unwrap();
        std::os::unix::fs::symlink(&out, project.join(".git/objects")).unwrap();
        let error = scanned().map(|scan| scan.written_objects.len()).unwrap_err();
        assert!(error.message.contains("is not used") && error.message.contains("objects"), "{error:?}");
        assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
    }

    /// A project in git whose index is older than the next snapshot.
    struct IndexedProject {
        directory: tempfile::TempDir,
        snapshots: GitSnapshots,
    }

    impl IndexedProject {
        fn new(tracked: &[&str]) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let project = directory.path().join("project");
            Repository::init(&project).unwrap();
            let data = directory.path().join("data");
            let snapshots = GitSnapshots::open(project, data, Vec::new(), Arc::new(FixedTime));
            let made = Self { directory, snapshots };
            tracked.iter().for_each(|path| made.write(path, "first"));
            made.track(tracked);
            made
        }

        fn write(&self, path: &str, text: &str) {
            fs::write(self.directory.path().join("project").join(path), text).unwrap();
        }

        fn remove(&self, path: &str) {
            fs::remove_file(self.directory.path().join("project").join(path)).unwrap();
        }

        /// Adds paths to the index, and waits until a file written next has a later time.
        fn track(&self, paths: &[&str]) {
            let repo = Repository::open(self.directory.path().join("project")).unwrap();
            let mut index = repo.index().unwrap();
            paths.iter().for_each(|path| index.add_path(Path::new(path)).unwrap());
            index.write().unwrap();
            let time = |path: &Path| FileTime::modified(&fs::metadata(path).unwrap());
            let (index, probe) = (repo.path().join("index"), self.directory.path().join("probe"));
            loop {
                fs::write(&probe, "").unwrap();
                if time(&probe) > time(&index) {
                    break;
                }
            }
        }

        /// Takes a snapshot: what it covers, and whether the index was read for it.
        fn take(&self) -> (Vec<String>, bool) {
            let place = self.snapshots.resolve_location().unwrap();
            let here = self.snapshots.repository_context(place, self.place_store());
            let (wanted, private) = (BTreeSet::new(), BTreeSet::new());
            let basis = walk_beside_index(&WorkingTreeScanTarget {
                location: &here.location,
                store: &here.store,
                rules: &here.rules,
                wanted_paths: &wanted,
                private: &private,
                file_counter: &here.file_counter,
            });
            let was_read = !basis.unwrap().seed.is_summary;
            let id = self.snapshots.take(&SnapshotRequest::default()).unwrap().id;
            let found = snapshot_commit::find_snapshot(&here.store, id.as_str()).unwrap();
            let tree = here.stored_tree(&found).unwrap();
            (tree.keys().map(|path| display_path(path)).collect(), was_read)
        }

        fn place_store(&self) -> SnapshotRepository {
            self.snapshots.resolve_location().unwrap().store().unwrap()
        }
    }

    struct FixedTime;

    impl ClockPort for FixedTime {
        fn now(&self) -> Timestamp {
            Timestamp(1_700_000_000_000)
        }
    }

    #[test]
    fn an_unchanged_index_is_not_read_again() {
        let check = |project: &IndexedProject, was_read: bool, covered: &[&str]| {
            let covered = covered.iter().map(|path| (*path).to_owned()).collect();
            assert_eq!(project.take(), (covered, was_read));
        };
        let project = IndexedProject::new(&["a", "b", "c"]);
        project.write("loose", "untracked");
        check(&project, true, &["a", "b", "c", "loose"]);
        check(&project, false, &["a", "b", "c", "loose"]);
        project.write("more", "untracked");
        check(&project, false, &["a", "b", "c", "loose", "more"]);

        // paths that are no longer listed: only the index says which are tracked
        project.write(".gitignore", "b\nloose\n");
        check(&project, true, &[".gitignore", "a", "b", "c", "more"]);
        check(&project, false, &[".gitignore", "a", "b", "c", "more"]);

        project.remove("c");
        check(&project, true, &[".gitignore", "a", "b", "more"]);
        check(&project, false, &[".gitignore", "a", "b", "more"]);
        // tracked, gone, and ignored when it is back
        project.write(".gitignore", "b\nc\nloose\n");
        project.write("c", "back");
        check(&project, false, &[".gitignore", "a", "b", "c", "more"]);

        project.track(&["loose"]);
        check(&project, true, &[".gitignore", "a", "b", "c", "loose", "more"]);
        check(&project, false, &[".gitignore", "a", "b", "c", "loose", "more"]);
    }

    #[test]
    fn an_index_that_changed_after_its_repository_was_opened_is_read_as_it_is() {
        let project = IndexedProject::new(&["a"]);
        project.write("b", "first");
        let store = project.place_store();
        project.track(&["b"]);
        let index = UserIndex::read_index(&store).unwrap();
        assert_eq!(index.tracked, [b"a", b"b"]);
    }

    #[test]
    fn an_index_as_new_as_the_snapshot_is_read_again() {
        let project = IndexedProject::new(&["a"]);
        let future = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
        let index = File::options().write(true).open(project.directory.path().join("project/.git/index"));
        index.unwrap().set_modified(future).unwrap();
        assert_eq!(project.take(), (vec!["a".to_owned()], true));
        assert_eq!(project.take(), (vec!["a".to_owned()], true));
    }
}
