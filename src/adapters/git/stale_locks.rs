//! What a killed process left in a repository while it stored a snapshot: locks of our own refs, and objects that were
//! being written. Harmless, but no other program removes such locks. Touches no ref, and no lock of another program.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::snapshot_location::SnapshotRepository;
use crate::open_beneath::open_directory;

/// Another work tree of the same repository may be writing a ref; that takes milliseconds.
const LOCK_IS_DEAD: Duration = Duration::from_secs(10);
/// A large file takes its time.
const OBJECT_IS_DEAD: Duration = Duration::from_secs(3600);

/// When locks were last looked for. That reads the names of all snapshots, so it is not done for each new one.
#[derive(Default)]
pub struct StaleLockSweep {
    last: Mutex<Option<Instant>>,
}

impl StaleLockSweep {
    /// Removes what is too old to be in use, unless it was done just before.
    pub fn sweep(&self, store: &SnapshotRepository, namespace: &str) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_none_or(|last| last.elapsed() > LOCK_IS_DEAD) {
            remove_stale_locks(store, namespace);
            *last = Some(Instant::now());
        }
    }
}

/// Failing to is no reason to fail.
fn remove_stale_locks(store: &SnapshotRepository, namespace: &str) {
    let common = store.repo.commondir();
    remove_if_stale(common, namespace, LOCK_IS_DEAD, |name| name.ends_with(".lock"));
    remove_if_stale(common, "objects", OBJECT_IS_DEAD, |name| name.starts_with("tmp_object_git2_"));
}

fn remove_if_stale(common: &Path, name: &str, age: Duration, is_ours: impl Fn(&str) -> bool) {
    // an agent can put a link there, which would lead to files of other programs
    let Ok(directory) = open_directory(common, &common.join(name)) else { return };
    for entry in fs::read_dir(directory.stable_path()).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_str().is_some_and(&is_ours);
        // a clock that went backwards makes nothing old
        let old = || entry.metadata().ok()?.modified().ok()?.elapsed().ok().filter(|found| *found > age);
        if ours && old().is_some() {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_in_the_place_of_the_refs_leads_the_sweep_nowhere() {
        let directory = tempfile::tempdir().unwrap();
        let (git, other) = (directory.path().join("git"), directory.path().join("other"));
        for place in [git.join("refs/synthdev/snapshots"), other.join("snapshots")] {
            fs::create_dir_all(&place).unwrap();
            fs::write(place.join("a.lock"), "").unwrap();
        }
        let sweep =
            || remove_if_stale(&git, super::super::snapshot_commit::NAMESPACE, Duration::ZERO, |_| true);
        sweep();
        assert!(!git.join("refs/synthdev/snapshots/a.lock").exists());
        fs::remove_dir_all(git.join("refs/synthdev")).unwrap();
        std::os::unix::fs::symlink(&other, git.join("refs/synthdev")).unwrap();
        sweep();
        assert!(other.join("snapshots/a.lock").exists());
    }
}
