//! Large files, read and written piece by piece.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;

/// Opens a regular file of at most so many bytes.
///
/// # Errors
/// As the system says; no regular file (a pipe would wait for ever), or too large.
pub fn open_large(path: &Path, most: u64) -> io::Result<BufReader<File>> {
    let found = fs::metadata(path)?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if found.len() > most {
        return Err(io::Error::other(format!("it is larger than {} MiB", most >> 20)));
    }
    File::open(path).map(BufReader::new)
}

/// Makes a new file that only the user can read, whole or not at all. Gives what `fill` gave.
///
/// # Errors
/// The file exists, the system refused, or as `fill`; then there is no file.
pub fn create_large<T, E: From<io::Error>>(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<T, E>,
) -> Result<T, E> {
    let mut out = BufWriter::new(super::create_private(path)?);
    let written = fill(&mut out).and_then(|done| {
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_data()?;
        Ok(done)
    });
    if written.is_err() {
        // best effort: the first error is the one to report
        let _ = fs::remove_file(path);
    }
    written
}
