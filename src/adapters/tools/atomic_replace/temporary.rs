//! The temporary file beside a target in which its new content grows before it takes the target's place.
//!
//! Its name follows from the target's, so that a leftover of a killed process is found without reading the directory.
//! Its writer holds a lock on it, which ends with the process however it ends, so that only leftovers are removed.
//! Refuses to touch links and directories of such a name, and files whose writer lives. Where a file system has no
//! locks nothing is removed, because a living writer cannot be detected.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::open_beneath::open_unfollowed;

/// So many processes can write one file at the same moment.
const SLOTS: usize = 8;

/// A file of our own that is locked by us. Dropping it removes it, unless it has become the target.
pub(super) struct LockedTempFile {
    path: PathBuf,
    file: File,
    was_moved: bool,
}

impl Drop for LockedTempFile {
    fn drop(&mut self) {
        if !self.was_moved {
            // best effort: the error that led to this is the one that matters
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl LockedTempFile {
    /// A new, empty file in the target's directory, because a rename is atomic only within one file system. `private`:
    /// only its owner can read it until it is filled, because the target may be a secret.
    ///
    /// # Errors
    /// The system's error, or all names are taken.
    pub(super) fn create_beside(target: &Path, private: bool) -> io::Result<Self> {
        remove_leftovers(target);
        let mut options = OpenOptions::new();
        // "new": a link of that name is never followed
        options.write(true).create_new(true).mode(if private { 0o600 } else { 0o666 });
        for path in temporary_places(target) {
            match options.open(&path) {
                Ok(file) => {
                    if is_locked(&file, &path) {
                        return Ok(Self { path, file, was_moved: false });
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        let names = temporary_places(target).next().unwrap_or_default();
        let name = names.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Err(io::Error::other(format!(
            "{SLOTS} unfinished writes of it lie beside it ({name} and so on); if nothing writes there, remove them"
        )))
    }

    /// # Errors
    /// The system's error.
    pub(super) fn fill_file(&mut self, bytes: &[u8], permissions: Option<Permissions>) -> io::Result<()> {
        self.file.write_all(bytes)?;
        if let Some(permissions) = permissions {
            self.file.set_permissions(permissions)?;
        }
        self.file.sync_data()
    }

    /// # Errors
    /// The system's error; the target is as it was.
    pub(super) fn move_to(mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        self.was_moved = true;
        Ok(())
    }
}

/// Removes leftovers of killed writes of `target`. Best effort.
pub(in super::super) fn remove_leftovers(target: &Path) {
    for path in temporary_places(target) {
        // not followed: a link of that name is not ours
        if fs::symlink_metadata(&path).is_ok_and(|found| found.is_file())
            && let Ok(file) = open_unfollowed(&path)
        {
            remove_if_unlocked(&file, &path);
        }
    }
}

/// Directories that may have unfinished writes of `target`.
pub(in super::super) fn temporary_places(target: &Path) -> impl Iterator<Item = PathBuf> {
    // hashed, because a long name has no room for anything more
    let name = target.file_name().unwrap_or_default();
    let hash = Sha256::digest(name.as_encoded_bytes());
    let hash: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let directory = target.parent().unwrap_or(Path::new("/")).to_owned();
    (0..SLOTS).map(move |slot| directory.join(format!(".synthdev-{hash}.{slot}.tmp")))
}

/// Whether `file` is now safe from being swept away: locked, and still the one of that name. A file is born without its
/// lock, and may be taken for a left-over in that moment.
fn is_locked(file: &File, path: &Path) -> bool {
    match file.try_lock() {
        // without locks no process removes it
        Ok(()) | Err(TryLockError::Error(_)) => is_at(file, path),
        Err(TryLockError::WouldBlock) => false,
    }
}

/// `file`: the file that had this name a moment ago.
fn remove_if_unlocked(file: &File, path: &Path) {
    // its writer may have moved it into place since then, and another may have the name by now
    if file.try_lock().is_ok() && is_at(file, path) {
        let _ = fs::remove_file(path);
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let id = |found: fs::Metadata| (found.dev(), found.ino());
    let (Ok(file), Ok(there)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
    id(file) == id(there)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn names(directory: &Path) -> usize {
        fs::read_dir(directory).unwrap().count()
    }

    #[test]
    fn what_a_living_writer_holds_stays_and_what_a_dead_one_left_goes() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("a");
        let mut first = LockedTempFile::create_beside(&target, false).unwrap();
        first.fill_file(b"first", None).unwrap();
        for path in temporary_places(&target).skip(1).take(3) {
            fs::write(path, "left").unwrap();
        }
        remove_leftovers(&target);
        assert_eq!(names(directory.path()), 1, "only the living one is there");
        let mut second = LockedTempFile::create_beside(&target, false).unwrap();
        assert_ne!(first.path, second.path);
        second.fill_file(b"second", None).unwrap();
        first.move_to(&target).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"first");
        // the lock went with the file; its name is free, and the target is not taken for a left-over
        remove_leftovers(&target);
        second.move_to(&target).unwrap();
        assert_eq!((fs::read(&target).unwrap(), names(directory.path())), (b"second".to_vec(), 1));
        drop(LockedTempFile::create_beside(&target, false).unwrap());
        assert_eq!(names(directory.path()), 1, "a write that is given up leaves nothing");
    }

    #[test]
    fn a_name_that_changed_hands_while_it_was_looked_at_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("a");
        let first = LockedTempFile::create_beside(&target, false).unwrap();
        let (path, seen) = (first.path.clone(), File::open(&first.path).unwrap());
        first.move_to(&target).unwrap();
        let second = LockedTempFile::create_beside(&target, false).unwrap();
        assert_eq!(second.path, path);
        remove_if_unlocked(&seen, &path);
        second.move_to(&target).unwrap();
        // and a file that was born and not yet locked when it was swept is not used
        let file = File::create_new(&path).unwrap();
        let sweeper = File::open(&path).unwrap();
        sweeper.try_lock().unwrap();
        assert!(!is_locked(&file, &path), "another process is about to remove it");
        remove_if_unlocked(&sweeper, &path);
        drop(sweeper);
        assert!(!path.exists() && !is_locked(&file, &path), "it is gone");
    }

    #[test]
    fn left_overs_of_another_file_are_none_of_ours() {
        let directory = tempfile::tempdir().unwrap();
        let (one, other) = (directory.path().join("a"), directory.path().join("b"));
        let left = temporary_places(&other).next().unwrap();
        fs::write(&left, "left").unwrap();
        super::super::replace_file(&one, b"x").unwrap();
        assert!(left.exists());
        super::super::replace_file(&other, b"x").unwrap();
        assert!(!left.exists());
        // as long as a name may be
        super::super::replace_file(&directory.path().join("n".repeat(255)), b"x").unwrap();
        assert_eq!(names(directory.path()), 3);
    }

    #[test]
    fn links_and_directories_of_such_a_name_are_not_touched() {
        let directory = tempfile::tempdir().unwrap();
        let (target, prey) = (directory.path().join("a"), directory.path().join("prey"));
        fs::write(&prey, "prey").unwrap();
        let all: Vec<PathBuf> = temporary_places(&target).collect();
        symlink(&prey, &all[0]).unwrap();
        symlink("nowhere", &all[1]).unwrap();
        fs::create_dir(&all[2]).unwrap();
        super::super::replace_file(&target, b"new").unwrap();
        assert_eq!(
            (fs::read(&target).unwrap(), fs::read(&prey).unwrap()),
            (b"new".to_vec(), b"prey".to_vec())
        );
        assert!(all[0].is_symlink() && all[1].is_symlink() && all[2].is_dir());
        for path in &all[3..] {
            fs::create_dir(path).unwrap();
        }
        let error = super::super::replace_file(&target, b"newer").unwrap_err().to_string();
        assert!(error.starts_with("8 unfinished writes of it lie beside it (.synthdev-"), "{error}");
        assert_eq!(fs::read(&target).unwrap(), b"new");
    }

    #[test]
    fn a_private_file_is_never_readable_by_others_on_its_way() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("a");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let temporary = LockedTempFile::create_beside(&target, true).unwrap();
        assert_eq!(mode(&temporary.path), 0o600);
        drop(temporary);
        for wanted in [0o600, 0o640, 0o755] {
            fs::write(&target, "old").unwrap();
            fs::set_permissions(&target, Permissions::from_mode(wanted)).unwrap();
            super::super::replace_file(&target, b"new").unwrap();
            assert_eq!(mode(&target), wanted);
        }
    }

    /// Writers that are born, move and sweep at the same time never lose a file or leave one.
    #[test]
    fn many_writers_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("a");
        std::thread::scope(|scope| {
            for writer in 0..4_u8 {
                let target = &target;
                scope.spawn(move || {
                    for _ in 0..50 {
                        super::super::replace_file(target, &vec![writer; 5000]).unwrap();
                        let found = fs::read(target).unwrap();
                        assert!(found.len() == 5000 && found.iter().all(|byte| *byte == found[0]));
                        remove_leftovers(target);
                    }
                });
            }
        });
        assert_eq!(names(directory.path()), 1);
    }
}
