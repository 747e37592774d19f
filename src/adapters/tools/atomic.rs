//! Replaces a file's content in one step: readers see the old or the new text, never half (TOOL-7).
//! Leaves no temporary file behind, and no directory it made for a file that could not be written (ERR-17). What a
//! killed process left is removed by the next write of the same file, or by `sweep`.

mod temporary;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use temporary::Temporary;
#[cfg(test)]
pub(super) use temporary::places;
pub(super) use temporary::sweep;

/// Writes `bytes` to `path`, keeping the mode of the file that was there. `path` must be free of links.
///
/// # Errors
/// Whatever the system says; then nothing has changed.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let permissions = fs::metadata(path).ok().map(|existing| existing.permissions());
    let mut temporary = Temporary::beside(path, permissions.is_some())?;
    temporary.fill(bytes, permissions)?;
    temporary.move_to(path)
}

/// The directories that do not exist yet, down to `directory`, outermost first.
pub(super) fn missing_directories(directory: &Path) -> Vec<PathBuf> {
    let missing = directory.ancestors().take_while(|path| !path.exists());
    let mut missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    missing.reverse();
    missing
}

/// Makes the missing directories down to `directory`, and tells which, outermost first.
///
/// # Errors
/// Whatever the system says; then the ones already made are gone again.
pub(super) fn make_directories(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let missing = missing_directories(directory);
    for (made, path) in missing.iter().enumerate() {
        if let Err(error) = fs::create_dir(path) {
            remove_directories(&missing[..made]);
            return Err(error);
        }
    }
    Ok(missing)
}

/// Takes back what `make_directories` made.
pub(super) fn remove_directories(made: &[PathBuf]) {
    for path in made.iter().rev() {
        // not empty any more: somebody else uses it by now
        let _ = fs::remove_dir(path);
    }
}
