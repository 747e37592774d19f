//! Replaces the damaged history by the salvaged one. A kill at any moment leaves the old state, the new one, or a note
//! of the replacement: while the note exists no process opens the history or creates an empty one in its place, and
//! `finish_replacement` completes it. Deletes only the index file of the log, which SQLite rebuilds.
//!
//! The damaged file cannot be replaced in one step: its log is a separate file, and SQLite would apply it to any
//! database of that name.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::file_holders::ensure_unused;
use crate::sqlite::open::{self, is_unfinished, refuse_unfinished, replacement_note_path};
use crate::sqlite::store_errors;
use crate::sqlite::wal_sync::{self, with_suffix};
use synthdev_ports::run_store::StoreError;

/// A note is two paths.
const LONGEST: u64 = 64 * 1024;

/// A replacement in progress. Names of files beside the history: the directory may be moved as a whole.
#[derive(Serialize, Deserialize)]
struct ReplacementNote {
    from: PathBuf,
    away: PathBuf,
}

/// Puts the new history `from` in the place of the damaged one, which is renamed to `away`, its log with it. All three
/// are in one directory.
///
/// # Errors
/// Another process has `path` open, something is at `away`, a replacement was not finished, or a file cannot be
/// written or renamed: `finish_replacement` does the rest if the note was written.
pub fn replace_store(path: &Path, from: &Path, away: &Path) -> Result<(), StoreError> {
    ensure_unused(path)?;
    refuse_unfinished(path)?;
    if !open::is_absent(away) || wal_sync::log_bytes(away) > 0 {
        let message = format!("{} is there already", away.display());
        return Err(StoreError { message, hint: Some("nothing is overwritten: move it away".to_owned()) });
    }
    // what takes the place must be on the disk before anything gives way to it
    File::open(from)
        .and_then(|file| file.sync_all())
        .map_err(|error| store_errors::io_error(from, "sync", &error))?;
    let name = |path: &Path| path.file_name().map(PathBuf::from).unwrap_or_default();
    let note = ReplacementNote { from: name(from), away: name(away) };
    write_note(path, &note)
        .map_err(|error| store_errors::io_error(&replacement_note_path(path), "write", &error))?;
    complete_replacement(path, &note)
}

/// Finishes a replacement that was cut off; `None` if none was. Gives the name under which the damaged history is kept.
///
/// # Errors
/// As `replace_store`, or the note cannot be read.
pub fn finish_replacement(path: &Path) -> Result<Option<PathBuf>, StoreError> {
    if !is_unfinished(path) {
        return Ok(None);
    }
    ensure_unused(path)?;
    let place = replacement_note_path(path);
    let note = read_note(&place).map_err(|error| store_errors::io_error(&place, "read", &error))?;
    complete_replacement(path, &note)?;
    Ok(Some(path.with_file_name(note.away)))
}

/// Each step may be done already.
fn complete_replacement(path: &Path, note: &ReplacementNote) -> Result<(), StoreError> {
    let (from, away) = (path.with_file_name(&note.from), path.with_file_name(&note.away));
    if !open::is_absent(&from) {
        move_damaged_away(path, &away)?;
        rename_file(&from, path)?;
    } else if open::is_absent(path) {
        return Err(StoreError {
            message: format!("what should take the place of {} is gone: {}", path.display(), from.display()),
            hint: Some(format!(
                "the damaged history is {}; to salvage it again, rename it to {} and remove {}",
                away.display(),
                path.display(),
                replacement_note_path(path).display()
            )),
        });
    }
    let place = replacement_note_path(path);
    fs::remove_file(&place).map_err(|error| store_errors::io_error(&place, "remove", &error))?;
    sync_names(path)
}

/// The damaged file first, then its log: while the new file is not in place, every file of these names is a damaged
/// one.
fn move_damaged_away(path: &Path, away: &Path) -> Result<(), StoreError> {
    for ending in ["", "-wal", "-shm"] {
        let (old, kept) = (with_suffix(path, ending), with_suffix(away, ending));
        if open::is_absent(&old) {
            continue;
        }
        if !open::is_absent(&kept) {
            return Err(StoreError {
                message: format!("{} cannot be kept as {}: that is there", old.display(), kept.display()),
                hint: Some("nothing is overwritten: move one of them away, then try again".to_owned()),
            });
        }
        rename_file(&old, &kept)?;
    }
    Ok(())
}

fn rename_file(from: &Path, to: &Path) -> Result<(), StoreError> {
    fs::rename(from, to)
        .map_err(|error| store_errors::io_error(from, &format!("rename to {}", to.display()), &error))?;
    sync_names(to)
}

/// Names survive a power cut in the order in which they were given.
fn sync_names(path: &Path) -> Result<(), StoreError> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    synced.map_err(|error| store_errors::io_error(directory, "sync", &error))
}

/// As a whole or not at all.
fn write_note(path: &Path, note: &ReplacementNote) -> io::Result<()> {
    let (place, fresh) = (replacement_note_path(path), with_suffix(path, "-replacing.new"));
    let mut file = File::create(&fresh)?;
    file.write_all(&serde_json::to_vec(note)?)?;
    file.sync_all()?;
    fs::rename(&fresh, &place)?;
    sync_names(path).map_err(|error| io::Error::other(error.message))
}

fn read_note(place: &Path) -> io::Result<ReplacementNote> {
    let mut text = Vec::new();
    File::open(place)?.take(LONGEST).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}
