//! The journal of every run, in one SQLite database that several processes share safely (architecture §5).
//!
//! Rows are append-only. Every append is one transaction in the write-ahead log: it survives a kill of this
//! process without a sync; `sync` makes it survive a power cut. Nothing is ever replaced silently.

mod blobs;
mod read;
mod schema;
mod write;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use crate::domain::ids::RunId;
use crate::domain::journal::{Row, RunHeader, RunProgress, RunSummary};
use crate::ports::run_store::{RunStore, StoreError};

/// Opened at first use: a start that records nothing pays nothing.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    connection: Mutex<Option<Connection>>,
}

impl SqliteStore {
    /// The database at `path`; its directory is made when needed.
    pub fn at(path: PathBuf) -> Self {
        Self { path, connection: Mutex::new(None) }
    }

    fn with<T>(&self, work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let mut guard = self.lock();
        let connection = match guard.as_mut() {
            Some(connection) => connection,
            None => guard.insert(schema::open(&self.path)?),
        };
        work(connection).map_err(|error| broken(&self.path, &error))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Connection>> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunStore for SqliteStore {
    fn create(&self, header: &RunHeader) -> Result<(), StoreError> {
        self.with(|connection| write::create(connection, header))
    }

    fn append(&self, run: &RunId, rows: &[Row], progress: Option<&RunProgress>) -> Result<(), StoreError> {
        self.with(|connection| write::append(connection, run, rows, progress))
    }

    /// Any descriptor of the log flushes it, so appends go on meanwhile.
    fn sync(&self) -> Result<(), StoreError> {
        let mut name = self.path.clone().into_os_string();
        name.push("-wal");
        match File::open(PathBuf::from(name)) {
            Ok(log) => log.sync_data().map_err(|error| StoreError {
                message: format!("{} cannot be made durable: {error}", self.path.display()),
                hint: Some("check the disk".to_owned()),
            }),
            // Without a log everything is in the database already.
            Err(_) => Ok(()),
        }
    }

    fn list(&self, limit: usize) -> Result<Vec<RunSummary>, StoreError> {
        if !self.path.exists() {
            return Ok(Vec::new());
        }
        self.with(|connection| read::list(connection, limit))
    }

    fn find(&self, id: &str) -> Result<RunSummary, StoreError> {
        let found = if self.path.exists() { self.with(|c| read::by_prefix(c, id))? } else { Vec::new() };
        only_one(id, found)
    }

    fn load(&self, run: &RunId) -> Result<(RunHeader, Vec<Row>), StoreError> {
        self.with(|connection| read::load(connection, run))
    }
}

fn only_one(id: &str, mut found: Vec<RunSummary>) -> Result<RunSummary, StoreError> {
    if found.len() > 1 {
        let ids: Vec<&str> = found.iter().take(5).map(|run| run.id.as_str()).collect();
        return Err(StoreError {
            message: format!("`{id}` is the beginning of {} runs: {}", found.len(), ids.join(", ")),
            hint: Some("type more letters of the id".to_owned()),
        });
    }
    found.pop().ok_or_else(|| StoreError {
        message: format!("there is no run `{id}`"),
        hint: Some("`synthdev runs list` shows them".to_owned()),
    })
}

fn broken(path: &Path, error: &rusqlite::Error) -> StoreError {
    use rusqlite::ErrorCode as Code;
    let hint = match error.sqlite_error_code() {
        Some(Code::ReadOnly | Code::PermissionDenied | Code::CannotOpen) => {
            "make the file and its directory writable for you".to_owned()
        }
        Some(Code::DiskFull) => "free space on the disk".to_owned(),
        Some(Code::DatabaseCorrupt | Code::NotADatabase) => {
            format!("the file is damaged; move it away to start a new history: {}", path.display())
        }
        Some(Code::DatabaseBusy | Code::DatabaseLocked) => {
            "another process holds the history; try again".to_owned()
        }
        _ => "look at the file named above".to_owned(),
    };
    StoreError {
        message: format!("the history {} cannot be used: {error}", path.display()),
        hint: Some(hint),
    }
}
