//! Opening the file: its modes, its settings, and whether it is ours.
//!
//! The main database file is never opened here other than through SQLite: closing another descriptor of it
//! would drop the locks that SQLite holds for this process.

use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{failure, schema};
use crate::adapters::disk;
use crate::ports::run_store::StoreError;

/// How long a call waits for another process's write.
const PATIENCE: Duration = Duration::from_secs(5);
const RETRY: Duration = Duration::from_millis(10);

/// Older versions can lose a commit when two connections reset the write-ahead log at once.
const NEWER_THAN: i32 = 3_051_002;
const _: () = assert!(rusqlite::ffi::SQLITE_VERSION_NUMBER > NEWER_THAN, "SQLite must be newer than 3.51.2");

pub(super) fn is_absent(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// Opens the store, creating it and its directory if there is none.
pub(super) fn open(path: &Path) -> Result<Connection, StoreError> {
    create_private(path)?;
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let told = |error: rusqlite::Error| failure::explain(path, "open", &error);
    let mut connection = Connection::open_with_flags(path, flags).map_err(told)?;
    connection.busy_timeout(PATIENCE).map_err(told)?;
    if is_new(&connection, path)? {
        enter_wal(&connection).map_err(told)?;
        schema::migrate(&mut connection).map_err(told)?;
    }
    configure(&connection).map_err(told)?;
    Ok(connection)
}

/// Looks before anything is changed: a foreign or newer file stays as it is.
fn is_new(connection: &Connection, path: &Path) -> Result<bool, StoreError> {
    let told = |error: rusqlite::Error| failure::explain(path, "open", &error);
    let (version, application, tables) = marks(connection).map_err(told)?;
    let file = path.display();
    if version == 0 && application == 0 && tables == 0 {
        return Ok(true);
    }
    if application != schema::APPLICATION_ID {
        return Err(StoreError {
            message: format!("{file} is a database of another program, not a run history"),
            hint: Some("it was left as it is; move it away or choose another data directory".to_owned()),
        });
    }
    if version > schema::VERSION {
        return Err(StoreError {
            message: format!(
                "the run history {file} has version {version}; this program knows versions up to {}",
                schema::VERSION
            ),
            hint: Some("it was written by a newer synthdev: update this one".to_owned()),
        });
    }
    Ok(version < schema::VERSION)
}

/// Version, application and number of tables, all of one moment: another process may be making them.
fn marks(connection: &Connection) -> rusqlite::Result<(i32, i32, i64)> {
    let moment = connection.unchecked_transaction()?;
    let tables = moment.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let version = schema::number(&moment, "user_version")?;
    let application = schema::number(&moment, "application_id")?;
    moment.commit()?;
    Ok((version, application, tables))
}

/// Switching to the write-ahead log needs the file alone for a moment and does not always wait by itself,
/// so two processes that create the store at once take turns here.
fn enter_wal(connection: &Connection) -> rusqlite::Result<()> {
    let mut tries = PATIENCE.as_millis() / RETRY.as_millis();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if tries > 0 && error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                tries -= 1;
                thread::sleep(RETRY);
            }
            other => return other,
        }
    }
}

/// `synchronous=NORMAL`: a commit survives a kill of the process; `sync` makes it survive a power cut.
/// The automatic checkpoint is only a safety net of 32 MiB, as it would sync the disk inside an append;
/// `sync` checkpoints earlier, off the run's path.
fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON; PRAGMA wal_autocheckpoint=8192;
         PRAGMA temp_store=MEMORY; PRAGMA trusted_schema=OFF;",
    )?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(())
}

/// Makes the directory (0700) and an empty file (0600) before SQLite does; the log gets the file's mode.
fn create_private(path: &Path) -> Result<(), StoreError> {
    if !is_absent(path) {
        return Ok(());
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        disk::make_private(parent).map_err(|error| failure::io(parent, "create", &error))?;
    }
    match disk::create_private(path) {
        Ok(()) => Ok(()),
        // another process was faster
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(failure::io(path, "create", &error)),
    }
}
