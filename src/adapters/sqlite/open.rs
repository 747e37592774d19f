//! Opening the file: its modes, its settings, and whether it is ours and whole.
//!
//! Never opens the main database file other than through SQLite: closing another descriptor of it would drop the locks
//! that SQLite holds for this process. A file with damage that a cheap check finds is refused before anything is
//! written, and no new one is created in its place.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{schema, store_errors, wal_sync};
use crate::file_io;
use synthdev_ports::run_store::StoreError;

/// How long a call waits for another process's write.
const PATIENCE: Duration = Duration::from_secs(5);
const RETRY: Duration = Duration::from_millis(10);

/// Older versions can lose a commit when two connections reset the write-ahead log at once.
const NEWER_THAN: i32 = 3_051_002;
const _: () = assert!(rusqlite::ffi::SQLITE_VERSION_NUMBER > NEWER_THAN, "SQLite must be newer than 3.51.2");

/// Bytes of the header: no database is shorter.
const SHORTEST: u64 = 100;

/// Distinguishes the new files of one process.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// Why a file was not opened.
pub(super) struct OpenStoreError {
    pub(super) error: StoreError,
    /// Nothing can be written at the place; reading may still work.
    writability: StoreWritability,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StoreWritability {
    Writable,
    /// The place is read-only.
    ReadOnly,
    /// There is no room left.
    Full,
}

impl From<StoreError> for OpenStoreError {
    fn from(error: StoreError) -> Self {
        Self { error, writability: StoreWritability::Writable }
    }
}

pub(super) fn is_absent(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// Whether SQLite would take what is at the place for a new file.
pub(super) fn is_too_short(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|known| known.len() < SHORTEST)
}

/// Neither the file, nor a log that was left without it, nor the pieces of a replacement that was cut off.
pub(super) fn is_untouched(path: &Path) -> bool {
    is_absent(path) && wal_sync::log_bytes(path) == 0 && !is_unfinished(path)
}

/// The note of a replacement that is under way: see `salvage::replace`.
pub(super) fn replacement_note_path(path: &Path) -> PathBuf {
    wal_sync::with_suffix(path, "-replacing")
}

/// Whether a replacement of this history was cut off.
pub(super) fn is_unfinished(path: &Path) -> bool {
    std::fs::symlink_metadata(replacement_note_path(path)).is_ok()
}

/// # Errors
/// A replacement was interrupted: the message says how to complete it.
pub(super) fn refuse_unfinished(path: &Path) -> Result<(), StoreError> {
    if !is_unfinished(path) {
        return Ok(());
    }
    Err(StoreError {
        message: format!(
            "the run history {} was being replaced by what was salvaged, and that was cut off",
            path.display()
        ),
        hint: Some("nothing was lost; `synthdev runs salvage --replace` finishes it".to_owned()),
    })
}

/// Opens the store, creating it and its directory if there is none.
pub(super) fn open_store(path: &Path) -> Result<Connection, OpenStoreError> {
    refuse_unfinished(path)?;
    if is_absent(path) {
        // another process may have created the file since, and its log after it: a log is alone if the file is still absent
        if wal_sync::log_bytes(path) > 0 && is_absent(path) {
            return Err(lone_log_error(path, "is missing").into());
        }
        create_store(path)?;
    } else if is_too_short(path) {
        return Err(match wal_sync::log_bytes(path) {
            0 => store_errors::damaged_error(path, "it is empty"),
            _ => lone_log_error(path, "is empty"),
        }
        .into());
    }
    let connection = connect_file(path)?;
    // a damaged store stays unchanged: its log is not checkpointed into it
    set_keep_wal(&connection, true);
    let told = |error: rusqlite::Error| refused_error(path, &error);
    let mut connection = connection;
    if is_new(&connection, path)? {
        enter_wal(&connection).map_err(told)?;
        schema::migrate_schema(&mut connection).map_err(told)?;
    }
    configure_connection(&connection).map_err(told)?;
    set_keep_wal(&connection, false);
    Ok(connection)
}

/// Opens a store that is there for reading, also where nothing can be written.
pub(super) fn open_to_read(path: &Path) -> Result<Connection, StoreError> {
    let refused = match open_store(path) {
        Ok(connection) => return Ok(connection),
        Err(refused) => refused,
    };
    if refused.writability != StoreWritability::Writable
        && let Some(connection) = connect_older(path)
    {
        return Ok(connection);
    }
    let told = |error: rusqlite::Error| store_errors::explain_error(path, "read", &error);
    let connection = match refused.writability {
        // the file cannot change, and it has no log: it is read without locks
        StoreWritability::ReadOnly if wal_sync::log_bytes(path) == 0 => {
            connect_immutable(path).map_err(told)?
        }
        StoreWritability::Full => connect_exclusive(path).map_err(|_| refused.error.clone())?,
        StoreWritability::ReadOnly | StoreWritability::Writable => return Err(refused.error),
    };
    if is_readable(&connection).map_err(told)? { Ok(connection) } else { Err(refused.error) }
}

/// A file of an older version, if the step to the present one is all that cannot be written.
fn connect_older(path: &Path) -> Option<Connection> {
    let connection = connect_file(path).ok()?;
    set_keep_wal(&connection, true);
    is_readable(&connection).is_ok_and(|readable| readable).then_some(connection)
}

/// Whether its tables can be read as they are.
fn is_readable(connection: &Connection) -> rusqlite::Result<bool> {
    let (version, application, _) = read_file_marks(connection)?;
    let known = (schema::READABLE_SINCE..=schema::VERSION).contains(&version);
    Ok(known && application == schema::APPLICATION_ID)
}

/// Whether the log is left beside the file when this connection, the last one, is closed.
pub(super) fn set_keep_wal(connection: &Connection, keep: bool) {
    // fails on a broken connection only, which folds nothing
    let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep);
}

fn connect_file(path: &Path) -> Result<Connection, OpenStoreError> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|error| refused_error(path, &error))?;
    connection.busy_timeout(PATIENCE).map_err(|error| refused_error(path, &error))?;
    Ok(connection)
}

/// Without the file beside it that processes share: there is no room for one. Others wait as long as this one reads.
fn connect_exclusive(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    set_keep_wal(&connection, true);
    Ok(connection)
}

fn connect_immutable(path: &Path) -> rusqlite::Result<Connection> {
    let name: String = path.to_string_lossy().bytes().fold(String::from("file:"), |mut name, byte| {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                name.push(char::from(byte))
            }
            other => name.push_str(&format!("%{other:02x}")),
        }
        name
    });
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(format!("{name}?immutable=1"), flags)
}

fn refused_error(path: &Path, error: &rusqlite::Error) -> OpenStoreError {
    let place = match error.sqlite_error_code() {
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            StoreWritability::ReadOnly
        }
        Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure) => StoreWritability::Full,
        _ => StoreWritability::Writable,
    };
    OpenStoreError { error: store_errors::explain_error(path, "open", error), writability: place }
}

/// A log without its file holds rows that SQLite would throw away with the first touch.
fn lone_log_error(path: &Path, what: &str) -> StoreError {
    let log = wal_sync::wal_path(path);
    store_errors::damaged_error(path, &format!("it {what}, though its log {} is there", log.display()))
}

/// Checks before any change: a foreign or newer file stays as it is.
fn is_new(connection: &Connection, path: &Path) -> Result<bool, OpenStoreError> {
    let marks = read_file_marks(connection).map_err(|error| refused_error(path, &error))?;
    Ok(judge_marks(path, marks)?)
}

/// Whether the file needs tables; an error if it is foreign or newer.
pub(super) fn judge_marks(
    path: &Path,
    (version, application, tables): (i32, i32, i64),
) -> Result<bool, StoreError> {
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
pub(super) fn read_file_marks(connection: &Connection) -> rusqlite::Result<(i32, i32, i64)> {
    let moment = connection.unchecked_transaction()?;
    let tables = moment.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let version = schema::read_pragma(&moment, "user_version")?;
    let application = schema::read_pragma(&moment, "application_id")?;
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
fn configure_connection(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON; PRAGMA wal_autocheckpoint=8192;
         PRAGMA temp_store=MEMORY; PRAGMA trusted_schema=OFF;",
    )?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(())
}

/// Creates the directory (0700), and a whole new file (0600) under another name before it gets its own: so an empty
/// file is always an interrupted one, never one that another process is about to fill. The log gets the file's mode.
fn create_store(path: &Path) -> Result<(), OpenStoreError> {
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        file_io::ensure_private_directory(parent)
            .map_err(|error| store_errors::io_error(parent, "create", &error))?;
    }
    let fresh = fresh_name(path);
    file_io::create_private(&fresh).map_err(|error| store_errors::io_error(path, "create", &error))?;
    let named = fill_new_store(&fresh).map_err(|error| refused_error(path, &error)).and_then(|()| {
        let named = match std::fs::hard_link(&fresh, path) {
            // another process was faster
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            // a file system without links
            Err(_) => std::fs::rename(&fresh, path),
            Ok(()) => Ok(()),
        };
        named.map_err(|error| store_errors::io_error(path, "create", &error).into())
    });
    for file in [&fresh, &wal_sync::wal_path(&fresh)] {
        // best effort: a leftover is small and harmless
        let _ = std::fs::remove_file(file);
    }
    named
}

fn fill_new_store(fresh: &Path) -> rusqlite::Result<()> {
    let mut connection = Connection::open(fresh)?;
    enter_wal(&connection)?;
    schema::migrate_schema(&mut connection)?;
    connection.close().map_err(|(_, error)| error)
}

fn fresh_name(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".new-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
    PathBuf::from(name)
}
