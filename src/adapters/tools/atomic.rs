//! Replaces a file's content in one step: readers see the old or the new text, never half (TOOL-7).
//! Leaves no temporary file behind, and no directory it made for a file that could not be written (ERR-17).

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use uuid::Uuid;

/// Writes `bytes` to `path`, keeping the mode of the file that was there. `path` must be free of links.
///
/// # Errors
/// Whatever the system says; then nothing has changed.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().ok_or(io::ErrorKind::InvalidFilename)?;
    // beside the target, because a rename is atomic only within one file system
    let temporary = directory.join(format!(".{}.tmp", Uuid::new_v4().simple()));
    let result = fill(&temporary, path, bytes).and_then(|()| fs::rename(&temporary, path));
    if result.is_err() {
        // best effort: the first error is the one that matters
        let _ = fs::remove_file(&temporary);
    }
    result
}

/// Makes the missing directories down to `directory`, and tells which, outermost first.
///
/// # Errors
/// Whatever the system says; then the ones already made are gone again.
pub(super) fn make_directories(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let missing = directory.ancestors().take_while(|path| !path.exists());
    let mut missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    missing.reverse();
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

fn fill(temporary: &Path, target: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::File::create_new(temporary)?;
    file.write_all(bytes)?;
    if let Ok(existing) = fs::metadata(target) {
        file.set_permissions(existing.permissions())?;
    }
    file.sync_data()
}
