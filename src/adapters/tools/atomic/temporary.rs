//! The file beside a target in which its new content grows before it takes the target's place.
//!
//! Its name follows from the target's, so that what a killed process left is found without reading the directory; its
//! writer holds a lock on it, which ends with the process however it ends, so that only what is left over is removed.
//! Refuses to touch links and directories of such a name, and files whose writer lives. Where a file system knows no
//! locks nothing is removed, because nobody can tell.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// So many processes can write one file at the same moment.
const SLOTS: usize = 8;

/// A file of our own that is locked by us. Dropping it removes it, unless it has become the target.
pub(super) struct Temporary {
    path: PathBuf,
    file: File,
    moved: bool,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.moved {
            // best effort: the error that led here is the one that matters
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Temporary {
    /// A new, empty file in the target's directory, because a rename is atomic only within one file system.
    /// `private`: until it is filled nobody else may read it, for the target may be a secret.
    ///
    /// # Errors
    /// Whatever the system says, or that all names are taken.
    pub(super) fn beside(target: &Path, private: bool) -> io::Result<Self> {
        sweep(target);
        let mut options = OpenOptions::new();
        // "new": a link of that name is never followed
        options.write(true).create_new(true).mode(if private { 0o600 } else { 0o666 });
        for path in places(target) {
            match options.open(&path) {
                Ok(file) => {
                    if held(&file, &path) {
                        return Ok(Self { path, file, moved: false });
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        let names = places(target).next().unwrap_or_default();
        let name = names.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Err(io::Error::other(format!(
            "{SLOTS} unfinished writes of it lie beside it ({name} and so on); if nothing writes there, remove them"
        )))
    }

    /// # Errors
    /// Whatever the system says.
    pub(super) fn fill(&mut self, bytes: &[u8], permissions: Option<Permissions>) -> io::Result<()> {
        self.file.write_all(bytes)?;
        if let Some(permissions) = permissions {
            self.file.set_permissions(permissions)?;
        }
        self.file.sync_data()
    }

    /// # Errors
    /// Whatever the system says; then the target is as it was.
    pub(super) fn move_to(mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        self.moved = true;
        Ok(())
    }
}

/// Removes what killed writes of `target` left behind. Best effort: what cannot be removed stays.
pub(in super::super) fn sweep(target: &Path) {
    for path in places(target) {
        // not followed: a link of that name is not ours
        if fs::symlink_metadata(&path).is_ok_and(|found| found.is_file()) {
            remove_if_left(&path);
        }
    }
}

/// Where unfinished writes of `target` can lie.
pub(in super::super) fn places(target: &Path) -> impl Iterator<Item = PathBuf> {
    // hashed, because a long name has no room for anything more
    let name = target.file_name().unwrap_or_default();
    let hash = Sha256::digest(name.as_encoded_bytes());
    let hash: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let directory = target.parent().unwrap_or(Path::new("/")).to_owned();
    (0..SLOTS).map(move |slot| directory.join(format!(".synthdev-{hash}.{slot}.tmp")))
}

/// Whether `file` is now safe from being swept away: locked, and still the one of that name. A file is born without its
/// lock, and may be taken for a left-over in that moment.
fn held(file: &File, path: &Path) -> bool {
    match file.try_lock() {
        // without locks nobody sweeps
        Ok(()) | Err(TryLockError::Error(_)) => is_at(file, path),
        Err(TryLockError::WouldBlock) => false,
    }
}

fn remove_if_left(path: &Path) {
    let Ok(file) = File::open(path) else { return };
    // its writer may have moved it into place since we opened it, and another may have the name by now
    if file.try_lock().is_ok() && is_at(&file, path) {
        let _ = fs::remove_file(path);
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let id = |found: fs::Metadata| (found.dev(), found.ino());
    let (Ok(file), Ok(there)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
    id(file) == id(there)
}
