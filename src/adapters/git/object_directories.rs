//! What is no regular file among the loose objects of a repository.
//!
//! Each look at a repository asks for it, and a store can hold a hundred thousand objects. So this remembers, as long as
//! the program runs, which directories hold regular files only. A directory in which anything is created, renamed or
//! replaced has a new change time, and no program can set that back.

use std::collections::BTreeMap;
use std::fs::{self, DirEntry, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use super::snapshot_entry::FileTime;

/// Change times of directories that hold regular files only, by device and inode.
static REGULAR: Mutex<BTreeMap<(u64, u64), FileTime>> = Mutex::new(BTreeMap::new());
/// The directories of sixteen repositories. All are forgotten above it.
const MOST_REMEMBERED: usize = 16 * 256;
/// In seconds. A directory that changed later could change again without a new change time: file systems keep coarse times.
const SETTLED_AFTER: i64 = 3;

/// Below this many directories a second thread costs more than it saves.
const WORTH_A_THREAD: usize = 32;

/// The entries of these directories that are no regular files. None of one that cannot be read.
pub fn irregular_entries(directories: &[PathBuf]) -> Vec<DirEntry> {
    let now = SystemTime::now();
    let find = |some: &[PathBuf]| {
        some.iter().flat_map(|directory| find_irregular(directory, now)).collect::<Vec<_>>()
    };
    if directories.len() < WORTH_A_THREAD {
        return find(directories);
    }
    let (left, right) = directories.split_at(directories.len() / 2);
    thread::scope(|scope| {
        let other = scope.spawn(|| find(right));
        let mut irregular = find(left);
        irregular.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        irregular
    })
}

fn find_irregular(directory: &Path, now: SystemTime) -> Vec<DirEntry> {
    // before it is listed: a change during the listing shows at the next look
    let before = fs::metadata(directory).ok();
    if before.as_ref().is_some_and(is_remembered) {
        return Vec::new();
    }
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let irregular: Vec<DirEntry> =
        entries.filter(|entry| !entry.file_type().is_ok_and(|kind| kind.is_file())).collect();
    let settled = before.filter(|known| irregular.is_empty() && is_settled(known, now));
    if let (Some(known), Ok(mut regular)) = (settled, REGULAR.lock()) {
        if regular.len() >= MOST_REMEMBERED {
            regular.clear();
        }
        regular.insert((known.dev(), known.ino()), FileTime::changed(&known));
    }
    irregular
}

fn is_remembered(known: &Metadata) -> bool {
    let regular = REGULAR.lock();
    regular.is_ok_and(|regular| regular.get(&(known.dev(), known.ino())) == Some(&FileTime::changed(known)))
}

fn is_settled(known: &Metadata, now: SystemTime) -> bool {
    let seconds = now.duration_since(UNIX_EPOCH).ok().and_then(|since| i64::try_from(since.as_secs()).ok());
    seconds.is_some_and(|now| known.ctime().saturating_add(SETTLED_AFTER) < now)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_directory_is_listed_again_once_it_changes() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path();
        let (today, tomorrow) = (SystemTime::now(), SystemTime::now() + Duration::from_secs(86_400));
        let check = |now: SystemTime, irregular: usize, remembered: bool| {
            assert_eq!(find_irregular(place, now).len(), irregular);
            assert_eq!(is_remembered(&fs::metadata(place).unwrap()), remembered);
        };
        fs::write(place.join("object"), "").unwrap();
        check(today, 0, false);
        check(tomorrow, 0, true);
        check(today, 0, true);
        symlink("object", place.join("link")).unwrap();
        check(tomorrow, 1, false);
        fs::remove_file(place.join("link")).unwrap();
        check(tomorrow, 0, true);
        // the name stays, and is no file any more
        fs::remove_file(place.join("object")).unwrap();
        fs::create_dir(place.join("object")).unwrap();
        check(tomorrow, 1, false);
        assert!(find_irregular(&place.join("gone"), tomorrow).is_empty());
    }

    #[test]
    fn two_threads_find_what_one_finds() {
        let directory = tempfile::tempdir().unwrap();
        for count in [1, WORTH_A_THREAD - 1, WORTH_A_THREAD, WORTH_A_THREAD + 1] {
            let root = directory.path().join(count.to_string());
            let places: Vec<PathBuf> = (0..count).map(|at| root.join(at.to_string())).collect();
            for place in &places {
                fs::create_dir_all(place).unwrap();
                symlink("nowhere", place.join("link")).unwrap();
                fs::write(place.join("object"), "").unwrap();
            }
            let found: Vec<PathBuf> = irregular_entries(&places).iter().map(DirEntry::path).collect();
            assert_eq!(found, places.iter().map(|place| place.join("link")).collect::<Vec<_>>());
        }
    }
}
