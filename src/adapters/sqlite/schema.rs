//! Opening the database, and its shape by version.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::broken;
use crate::adapters::disk;
use crate::ports::run_store::StoreError;

/// `PRAGMA user_version` of this program.
const VERSION: i64 = 1;
/// Marks the file as ours ("synd").
const APPLICATION: i64 = 0x7379_6e64;

const TABLES: &str = "
    CREATE TABLE blobs (hash TEXT PRIMARY KEY, bytes BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE runs (
        id TEXT PRIMARY KEY, workflow TEXT NOT NULL, definition_hash TEXT NOT NULL, input TEXT NOT NULL,
        project TEXT NOT NULL, started INTEGER NOT NULL, pid INTEGER NOT NULL, pid_started INTEGER NOT NULL,
        spec TEXT NOT NULL REFERENCES blobs(hash), progress TEXT NOT NULL, next_seq INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX runs_by_time ON runs(started DESC);
    CREATE TABLE rows (
        run TEXT NOT NULL, seq INTEGER NOT NULL, kind INTEGER NOT NULL, at INTEGER NOT NULL, call INTEGER,
        body TEXT NOT NULL, blob TEXT, PRIMARY KEY (run, seq)
    ) WITHOUT ROWID;
";

/// Opens or makes the database, readable by the user only.
pub(super) fn open(path: &Path) -> Result<Connection, StoreError> {
    if let Some(directory) = path.parent() {
        disk::make_private(directory).map_err(|error| StoreError {
            message: format!("the directory {} cannot be made: {error}", directory.display()),
            hint: Some("make it writable for you, or set XDG_DATA_HOME".to_owned()),
        })?;
    }
    let fresh = !path.exists();
    if fresh {
        // Made closed to others before SQLite puts anything in; a failure shows again when it is opened.
        let _ = disk::create_private(path);
    }
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
    .map_err(|error| broken(path, &error))?;
    prepare(&connection).map_err(|error| broken(path, &error))?;
    let version: i64 =
        connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(|e| broken(path, &e))?;
    match version {
        0 => create(&connection).map_err(|error| broken(path, &error))?,
        VERSION => {}
        newer => {
            return Err(StoreError {
                message: format!(
                    "the history {} was made by a newer version (format {newer})",
                    path.display()
                ),
                hint: Some("update synthdev".to_owned()),
            });
        }
    }
    Ok(connection)
}

fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(())
}

/// Two processes may come here at once: the second finds the tables made.
fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let made = if version == 0 {
        connection.execute_batch(TABLES).and_then(|()| {
            connection.pragma_update(None, "application_id", APPLICATION)?;
            connection.pragma_update(None, "user_version", VERSION)
        })
    } else {
        Ok(())
    };
    connection.execute_batch(if made.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    made
}
