//! What is no regular file among the loose objects of a repository.
//!
//! Each look at a repository asks for it, and a store can hold a hundred thousand objects. So this remembers, as long as
//! the program runs, which directories hold regular files only. A directory in which anything is created, renamed or
//! replaced has a new change time. Remembers nothing of a directory that could not be listed to its end or changed
//! meanwhile.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, fstat, openat};

/// Directories that hold regular files only.
static REGULAR: Mutex<BTreeMap<DirectoryId, ChangeTime>> = Mutex::new(BTreeMap::new());
/// The directories of sixteen repositories. All are forgotten above it.
const MOST_REMEMBERED: usize = 16 * 256;
/// In seconds. A directory that changed later could change again without a new change time: file systems keep coarse times.
const SETTLED_AFTER: i64 = 3;
/// Below this many directories a second thread costs more than it saves.
const WORTH_A_THREAD: usize = 32;

/// The device and the inode.
type DirectoryId = (u64, u64);
/// Seconds and nanoseconds.
type ChangeTime = (i64, i64);

/// The entries of these directories that are no regular files. A directory that cannot be opened, such as a link in its
/// place, stands for itself.
pub fn irregular_entries(directories: &[PathBuf]) -> Vec<PathBuf> {
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

fn find_irregular(directory: &Path, now: SystemTime) -> Vec<PathBuf> {
    // one handle for all that follows: another directory could take the place of this one
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat(CWD, directory, flags, Mode::empty()).map_err(io::Error::from);
    let Ok((handle, (id, changed))) =
        opened.and_then(|handle| identify(&handle).map(|known| (handle, known)))
    else {
        return vec![directory.to_owned()];
    };
    if REGULAR.lock().is_ok_and(|regular| regular.get(&id) == Some(&changed)) {
        return Vec::new();
    }
    let mut irregular = Vec::new();
    let is_whole = list_irregular(&handle, directory, &mut irregular).is_ok();
    let is_same = identify(&handle).is_ok_and(|after| after == (id, changed));
    if is_whole && is_same && irregular.is_empty() && is_settled(changed, now) {
        remember(id, changed);
    }
    irregular
}

fn list_irregular(handle: &OwnedFd, directory: &Path, irregular: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in Dir::read_from(handle)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if entry.file_type() != FileType::RegularFile && name != b"." && name != b".." {
            irregular.push(directory.join(OsStr::from_bytes(name)));
        }
    }
    Ok(())
}

#[expect(clippy::useless_conversion, reason = "the types of the numbers differ between systems")]
fn identify(handle: &OwnedFd) -> io::Result<(DirectoryId, ChangeTime)> {
    let found = fstat(handle)?;
    let nanoseconds = i64::try_from(found.st_ctime_nsec).unwrap_or(0);
    Ok(((u64::from(found.st_dev), u64::from(found.st_ino)), (i64::from(found.st_ctime), nanoseconds)))
}

fn remember(id: DirectoryId, changed: ChangeTime) {
    let Ok(mut regular) = REGULAR.lock() else { return };
    if regular.len() >= MOST_REMEMBERED {
        regular.clear();
    }
    regular.insert(id, changed);
}

fn is_settled((seconds, _): ChangeTime, now: SystemTime) -> bool {
    let now = now.duration_since(UNIX_EPOCH).ok().and_then(|since| i64::try_from(since.as_secs()).ok());
    now.is_some_and(|now| seconds.saturating_add(SETTLED_AFTER) < now)
}

#[cfg(test)]
mod tests {
    use std::fs;
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
            let (id, changed) = identify(&fs::File::open(place).unwrap().into()).unwrap();
            assert_eq!(REGULAR.lock().unwrap().get(&id) == Some(&changed), remembered);
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
        // what a link leads to is not looked at
        symlink(place, place.join("object/link")).unwrap();
        for unopened in ["gone", "object/link"].map(|name| place.join(name)) {
            assert_eq!(find_irregular(&unopened, tomorrow), [unopened]);
        }
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
            assert_eq!(
                irregular_entries(&places),
                places.iter().map(|place| place.join("link")).collect::<Vec<_>>()
            );
        }
    }
}
