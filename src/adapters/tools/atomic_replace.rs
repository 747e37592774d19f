//! Replaces a file's content in one step: readers see the old or the new text, never half.
//! Leaves no temporary file behind, and no directory it made for a file that could not be written. What a
//! killed process left is removed by the next write of the same file, or by `sweep`.

mod temporary;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use temporary::LockedTempFile;
pub(super) use temporary::remove_leftovers;
#[cfg(test)]
pub(super) use temporary::temporary_places;

/// Writes `bytes` to `path`, keeping the mode of the file that was there. `path` is an `open_beneath::AnchoredPath`, so
/// that its directory stays the same from the first step to the last.
///
/// # Errors
/// The system's error, or a link or a directory is in its place; the file is unchanged then.
pub(super) fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let existing = fs::symlink_metadata(path).ok();
    if existing.as_ref().is_some_and(fs::Metadata::is_symlink) {
        return Err(io::Error::other("a link has come in its place; try again"));
    }
    let permissions = existing.map(|existing| existing.permissions());
    let mut temporary = LockedTempFile::create_beside(path, permissions.is_some())?;
    temporary.fill_file(bytes, permissions)?;
    temporary.move_to(path)
}

/// The directories that do not exist yet, down to `directory`, outermost first.
pub(super) fn missing_directories(directory: &Path) -> Vec<PathBuf> {
    let missing = directory.ancestors().take_while(|path| !path.exists());
    let mut missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    missing.reverse();
    missing
}
