//! The journal of every run, in one SQLite file that several processes share (HIST-1, SNAP-16, ERR-12).
//!
//! Owns the file, its tables and how a dead run is recognised. Refuses to replace a file it cannot read,
//! to open a newer version's file, and to remove secrets: rows arrive already redacted.

mod failure;
mod open;
mod process;
mod read;
mod schema;
mod sync;
mod write;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use crate::domain::ids::RunId;
use crate::domain::journal::{Row, RunHeader, RunProgress, RunSummary};
use crate::ports::run_store::{RunStore, StoreError};

use write::Writer;

/// A store on one database file. Nothing is opened before the first call, and reading a store that was
/// never written creates nothing.
///
/// Writing and reading use a connection each, so a long list never holds up an append. One store serves
/// all threads of a process; other processes open their own on the same path.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    writer: Mutex<Option<Writer>>,
    reader: Mutex<Option<Connection>>,
    /// The directory entry of the write-ahead log has been made durable once.
    directory_synced: AtomicBool,
}

impl SqliteStore {
    /// The database at `path`; its directory is made when needed. Touches nothing yet.
    pub fn at(path: PathBuf) -> Self {
        Self {
            path,
            writer: Mutex::new(None),
            reader: Mutex::new(None),
            directory_synced: AtomicBool::new(false),
        }
    }

    fn with_writer<T>(
        &self,
        action: &str,
        work: impl FnOnce(&mut Writer) -> Result<T, rusqlite::Error>,
    ) -> Result<T, StoreError> {
        let mut slot = lock(&self.writer);
        let writer = match slot.as_mut() {
            Some(writer) => writer,
            None => slot.insert(Writer::new(open::open(&self.path)?)),
        };
        work(writer).map_err(|error| failure::explain(&self.path, action, &error))
    }

    /// `None` when there is no database yet.
    fn with_reader<T>(
        &self,
        action: &str,
        work: impl FnOnce(&Connection) -> Result<T, rusqlite::Error>,
    ) -> Result<Option<T>, StoreError> {
        let mut slot = lock(&self.reader);
        let reader = match slot.as_mut() {
            Some(reader) => reader,
            None if open::is_absent(&self.path) => return Ok(None),
            None => slot.insert(open::open(&self.path)?),
        };
        work(reader).map(Some).map_err(|error| failure::explain(&self.path, action, &error))
    }
}

impl RunStore for SqliteStore {
    fn create(&self, header: &RunHeader) -> Result<(), StoreError> {
        self.with_writer("start a run in", |writer| writer.create(header))
            .and_then(|done| done.map_err(|refusal| failure::refused(&self.path, &header.id, refusal)))
    }

    fn append(&self, run: &RunId, rows: &[Row], progress: Option<&RunProgress>) -> Result<(), StoreError> {
        self.with_writer("write to", |writer| writer.append(run, rows, progress))
            .and_then(|done| done.map_err(|refusal| failure::refused(&self.path, run, refusal)))
    }

    fn sync(&self) -> Result<(), StoreError> {
        if sync::flush(&self.path, &self.directory_synced)? {
            // on the reading connection, so that an append in this process does not wait for it
            self.with_reader("tidy", sync::fold)?;
        }
        Ok(())
    }

    fn list(&self, limit: usize) -> Result<Vec<RunSummary>, StoreError> {
        let found = self.with_reader("read", |reader| read::list(reader, limit))?;
        Ok(found.unwrap_or_default())
    }

    fn find(&self, id: &str) -> Result<RunSummary, StoreError> {
        let found = self.with_reader("read", |reader| read::find(reader, id))?;
        found.unwrap_or(read::Found::Nothing).into_result(id)
    }

    fn load(&self, run: &RunId) -> Result<(RunHeader, Vec<Row>), StoreError> {
        let found = self.with_reader("read", |reader| read::load(reader, run))?;
        found.flatten().ok_or_else(|| failure::unknown_run(run.as_str()))
    }
}

/// A panic elsewhere cannot leave a half-done transaction (it rolls back while unwinding), so a poisoned
/// lock is still good.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
