//! Puts what was just written on the disk, so that it is there after a power cut: few files each, by some threads, many
//! with one call for their whole file system. Writes nothing itself.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;

use git2::{Oid, Repository};

/// Above this, one call for the file system is cheaper, however much others have written to it.
const FEW: usize = 100;
/// Threads that wait for the disk at once.
const AT_ONCE: usize = 8;
/// Places for which a further thread is worth it.
const FEWEST: usize = 3;

/// Files below `root`, with the directories that name them. A file that is gone again is no error.
///
/// # Errors
/// The disk cannot take it.
pub fn sync_files(root: &Path, files: &[PathBuf]) -> io::Result<()> {
    if files.len() > FEW && sync_file_system(root)? {
        return Ok(());
    }
    let mut places: BTreeSet<&Path> = files.iter().filter_map(|file| file.parent()).collect();
    let is_file = |file: &&Path| fs::symlink_metadata(file).is_ok_and(|meta| meta.is_file());
    places.extend(files.iter().map(PathBuf::as_path).filter(is_file));
    // one that its owner cannot read has no other way
    if !sync_each(&places.into_iter().collect::<Vec<_>>())? {
        sync_file_system(root)?;
    }
    Ok(())
}

/// By several threads: each waits for the disk, and the disk takes what waits together. `false`: one cannot be opened.
fn sync_each(places: &[&Path]) -> io::Result<bool> {
    let sync_some = |some: &[&Path]| {
        some.iter().try_fold(true, |all, place| Ok::<_, io::Error>(sync_path(place)? && all))
    };
    let share = places.len().div_ceil(AT_ONCE).max(FEWEST);
    let opened = thread::scope(|scope| {
        let workers: Vec<_> = places.chunks(share).map(|some| scope.spawn(move || sync_some(some))).collect();
        workers.into_iter().try_fold(true, |all, worker| {
            let opened = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            Ok::<_, io::Error>(opened && all)
        })
    })?;
    #[cfg(test)]
    places.iter().for_each(|place| tests::on_synced(place, false));
    Ok(opened)
}

/// Objects of a repository, with their directories; objects in packs are on disk already.
///
/// # Errors
/// The disk cannot take it.
pub fn sync_objects(repo: &Repository, ids: &[Oid]) -> io::Result<()> {
    let root = repo.commondir().join("objects");
    let mut places = BTreeSet::new();
    for id in ids {
        let name = id.to_string();
        let (fan, rest) = name.split_at(2);
        let fan = root.join(fan);
        places.insert(fan.join(rest));
        // the directory that names this one
        places.insert(fan);
    }
    sync_files(&root, &places.into_iter().collect::<Vec<_>>())
}

/// A ref of ours that is a file.
///
/// # Errors
/// The disk cannot take it.
pub fn sync_reference(repo: &Repository, name: &str) -> io::Result<()> {
    let top = repo.commondir();
    let mut places: Vec<PathBuf> = Path::new(name).ancestors().map(|part| top.join(part)).collect();
    // the repository itself is not new
    places.truncate(places.len().saturating_sub(2));
    sync_files(top, &places)
}

/// A file or a directory; `false` if it cannot be opened.
fn sync_path(place: &Path) -> io::Result<bool> {
    match File::open(place) {
        Ok(file) => {
            file.sync_all()?;
            Ok(true)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(_) => Ok(false),
    }
}

/// The file system of a directory as a whole; `false` where the system has no such call.
#[cfg(target_os = "linux")]
fn sync_file_system(root: &Path) -> io::Result<bool> {
    rustix::fs::syncfs(&File::open(root)?)?;
    #[cfg(test)]
    tests::on_synced(root, true);
    Ok(true)
}

#[cfg(not(target_os = "linux"))]
fn sync_file_system(_: &Path) -> io::Result<bool> {
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;
    use std::sync::Arc;

    use super::super::GitSnapshots;
    use super::super::restore_marker;
    use super::*;
    use synthdev_domain::ids::Timestamp;
    use synthdev_domain::snapshot::SnapshotRequest;
    use synthdev_ports::clock::ClockPort;
    use synthdev_ports::snapshot::SnapshotPort;

    type SyncListener = Box<dyn Fn(&Path, bool)>;

    thread_local! {
        static LISTENER: RefCell<Option<SyncListener>> = const { RefCell::new(None) };
    }

    /// Called for each path right after it was synced; `whole`: with everything below it.
    pub(super) fn on_synced(place: &Path, whole: bool) {
        LISTENER.with_borrow(|listener| {
            if let Some(listener) = listener {
                listener(place, whole);
            }
        });
    }

    struct StoppedClock;

    impl ClockPort for StoppedClock {
        fn now(&self) -> Timestamp {
            Timestamp(1_700_000_000_000)
        }
    }

    /// One that was synced, as it was by then.
    struct SyncedPath {
        path: PathBuf,
        is_recursive: bool,
        /// Of a file system, that of the first file.
        content: Option<Vec<u8>>,
        /// The note that files are on their way back was still there.
        marker_present: bool,
    }

    struct DurabilityFixture {
        dir: tempfile::TempDir,
        store: Rc<GitSnapshots>,
        synced_paths: Rc<RefCell<Vec<SyncedPath>>>,
    }

    impl DurabilityFixture {
        /// A project with so many files, in a repository or not.
        fn new(repository: bool, count: usize) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let project = dir.path().join("project");
            fs::create_dir_all(project.join("deep/down")).unwrap();
            if repository {
                Repository::init(&project).unwrap();
            }
            for at in 0..count {
                fs::write(project.join(format!("deep/down/{at}")), format!("old {at}")).unwrap();
            }
            let store =
                GitSnapshots::open(project, dir.path().join("data"), Vec::new(), Arc::new(StoppedClock));
            let (store, synced) = (Rc::new(store), Rc::<RefCell<Vec<SyncedPath>>>::default());
            let (asked, list) = (Rc::clone(&store), Rc::clone(&synced));
            let listener = move |place: &Path, whole: bool| {
                let noted = asked.resolve_location().is_ok_and(|place| restore_marker::marker_exists(&place));
                let read = if whole { place.join("deep/down/0") } else { place.to_owned() };
                let content = fs::read(read).ok();
                list.borrow_mut().push(SyncedPath {
                    path: place.to_owned(),
                    is_recursive: whole,
                    content,
                    marker_present: noted,
                });
            };
            LISTENER.with_borrow_mut(|known| *known = Some(Box::new(listener)));
            Self { dir, store, synced_paths: synced }
        }

        fn path_of(&self, path: &str) -> PathBuf {
            self.dir.path().join("project").join(path)
        }

        /// When a place was synced first, by itself or with its file system.
        fn sync_position(&self, place: &Path) -> Option<usize> {
            let covers = |synced: &SyncedPath| {
                synced.path == place || synced.is_recursive && place.starts_with(&synced.path)
            };
            self.synced_paths.borrow().iter().position(covers)
        }

        fn request() -> SnapshotRequest {
            SnapshotRequest { label: "now".to_owned(), ..SnapshotRequest::default() }
        }
    }

    impl Drop for DurabilityFixture {
        fn drop(&mut self) {
            LISTENER.with_borrow_mut(|known| *known = None);
        }
    }

    fn collect_below(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => collect_below(&entry.path(), found),
                false => found.push(entry.path()),
            }
        }
    }

    fn is_object(place: &Path) -> bool {
        let parts: Vec<_> = place.iter().rev().filter_map(|part| part.to_str()).take(3).collect();
        matches!(parts[..], [name, fan, "objects"] if name.len() == 38 && fan.len() == 2)
    }

    #[test]
    fn a_snapshot_is_on_the_disk_when_it_is_told_of() {
        for (repository, count) in [(true, 3), (false, 3), (true, FEW + 50), (false, FEW + 50)] {
            let scene = DurabilityFixture::new(repository, count);
            let id = scene.store.take(&DurabilityFixture::request()).unwrap().id;
            let mut all = Vec::new();
            collect_below(scene.dir.path(), &mut all);
            let objects: Vec<_> = all.iter().filter(|place| is_object(place)).collect();
            // the files, a tree for each directory, the commit
            assert_eq!(objects.len(), count + 4, "{repository} {count}");
            let named = |place: &&PathBuf| {
                place.ends_with(format!("{}{id}", super::super::snapshot_commit::NAMESPACE))
            };
            let reference = all.iter().find(named).unwrap();
            let told = scene.sync_position(reference).expect("the ref is synced");
            for object in objects {
                for place in [object.as_path(), object.parent().unwrap()] {
                    let when = scene.sync_position(place);
                    assert!(
                        when.is_some_and(|when| when < told),
                        "{repository} {count}: {}",
                        place.display()
                    );
                }
            }
        }
    }

    #[test]
    fn restored_files_are_on_the_disk_before_the_note_of_them_goes() {
        for count in [3, FEW + 50] {
            let scene = DurabilityFixture::new(true, count);
            let id = scene.store.take(&DurabilityFixture::request()).unwrap().id;
            for at in 0..count {
                fs::write(scene.path_of(&format!("deep/down/{at}")), "new").unwrap();
            }
            fs::create_dir(scene.path_of("made")).unwrap();
            fs::write(scene.path_of("made/since"), "new").unwrap();
            scene.synced_paths.borrow_mut().clear();
            let done = scene.store.restore(&id).unwrap();
            assert_eq!(done.files.len(), count + 1);
            let synced = scene.synced_paths.borrow();
            let back: Vec<&SyncedPath> = synced.iter().filter(|one| one.marker_present).collect();
            if let Some(whole) = back.iter().find(|one| one.is_recursive) {
                assert!(count > FEW);
                assert_eq!(whole.content.as_deref(), Some(&b"old 0"[..]), "after it was written");
                continue;
            }
            for at in 0..count {
                let (place, old) = (scene.path_of(&format!("deep/down/{at}")), format!("old {at}"));
                let found = back.iter().find(|one| one.path == place).expect("it is synced");
                assert_eq!(found.content.as_deref(), Some(old.as_bytes()), "after it was written");
            }
            assert!(back.iter().any(|one| one.path == scene.path_of("deep/down")), "the names of new files");
        }
    }
}
