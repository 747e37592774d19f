//! Surviving a power cut: one `fdatasync` of the write-ahead log, with no lock held.

use std::ffi::OsString;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;

use super::store_errors;
use synthdev_ports::run_store::StoreError;

/// A log above this size is copied back into the database at a time when no caller waits.
const FOLD_ABOVE: u64 = 4 << 20;

/// Every commit is either in the log (synced here) or was copied to the database by a checkpoint, which
/// syncs both files itself. Appends continue meanwhile; those after the start of the call may be covered or not.
/// `directory` remembers that the log's name was made durable. Returns whether the log is worth folding.
pub(super) fn flush_wal(database: &Path, directory: &AtomicBool) -> Result<bool, StoreError> {
    let log = wal_path(database);
    // The descriptor is of the log only: SQLite locks the database and its index file, never the log.
    let file = match File::open(&log) {
        Ok(file) => file,
        // nothing was written yet, or the last connection folded it into the database
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(store_errors::io_error(&log, "open", &error)),
    };
    file.sync_data().map_err(|error| store_errors::io_error(&log, "sync", &error))?;
    sync_directory_once(database, directory)?;
    Ok(file.metadata().is_ok_and(|metadata| metadata.len() > FOLD_ABOVE))
}

/// Copies the log into the database. `PASSIVE` never waits for readers or writers, nor makes them wait.
pub(super) fn checkpoint_wal(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
}

/// Size of the log; 0 when there is none.
pub(super) fn log_bytes(database: &Path) -> u64 {
    std::fs::metadata(wal_path(database)).map_or(0, |metadata| metadata.len())
}

/// The log's name in its directory must be durable, too. It does not change while the store is open.
fn sync_directory_once(database: &Path, done: &AtomicBool) -> Result<(), StoreError> {
    if done.load(Ordering::Relaxed) || cfg!(not(unix)) {
        return Ok(());
    }
    let parent = database.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    File::open(parent)
        .and_then(|directory| directory.sync_all())
        .map_err(|error| store_errors::io_error(parent, "sync", &error))?;
    done.store(true, Ordering::Relaxed);
    Ok(())
}

pub(super) fn wal_path(path: &Path) -> PathBuf {
    with_suffix(path, "-wal")
}

/// The name of a file that belongs to a database.
pub(super) fn with_suffix(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    PathBuf::from(name)
}
