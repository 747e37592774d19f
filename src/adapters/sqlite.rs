//! The journal of every run, in one SQLite file that several processes share.
//!
//! Owns the file, its tables and how a dead run is recognised. Refuses to replace a file it cannot read, to write to
//! one that is damaged, to open a newer version's file, and to remove secrets: rows arrive already redacted.

mod blob;
mod decode;
mod disk_usage;
mod full_text_index;
mod index_queue;
mod list;
mod liveness_lock;
mod open;
mod preview;
mod process_liveness;
mod read;
mod remote_runs;
mod resume_tokens;
mod run_ownership;
mod run_state;
pub mod salvage;
mod schema;
mod search;
mod store_errors;
mod wal_sync;
mod write;
mod write_refusal;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Instant;

use futures_util::stream::{self, BoxStream, StreamExt};
use rusqlite::Connection;

use crate::control_socket;
use crate::liveness_handle::LivenessLockHandle;
use synthdev_domain::ids::{CallId, RunId, Timestamp};
use synthdev_domain::journal::{
    HistoryStorageUsage, JournalRow, ReclaimedSpace, RunHeader, RunOutline, RunProgress, RunQuery,
    RunSummary, SearchHit, SearchQuery, TokenRecord, TokenRedeemOutcome,
};
use synthdev_ports::run_store::{
    DriverAnswers, DriverRequest, RemoteRunAction, RunReader, RunStore, RunWithState, SearchTextOfRow,
    StoreError,
};

use remote_runs::RunClaimant;
use run_ownership::RunOwner;
use write::{AppendExtra, StoreWriter};
use write_refusal::{StoreRefusal, StoreWriteResult};

/// The index is shrunk when one run in so many of those that are left has gone.
const SHRINKS_FROM: u64 = 10;

/// A store on one database file. Nothing is opened before the first call, and reading a store that was
/// never written creates nothing.
///
/// Writing and reading use a connection each, so a long list never holds up an append. One store serves
/// all threads of a process; other processes open their own on the same path.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    /// For the watchers of this process's commands.
    liveness: LivenessLockHandle,
    writer: Mutex<Option<StoreWriter>>,
    reader: Mutex<Option<Connection>>,
    /// The directory entry of the write-ahead log has been made durable once.
    wal_entry_synced: AtomicBool,
    /// The file turned out damaged: it is not written to any more.
    damage: OnceLock<StoreError>,
    /// The search index did not make sense when it was last used.
    index_broken: AtomicBool,
}

impl SqliteStore {
    /// The version of the file that this program writes.
    pub const VERSION: i32 = schema::VERSION;

    /// The database at `path`; its directory is made when needed. Touches nothing yet.
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            liveness: LivenessLockHandle::default(),
            writer: Mutex::new(None),
            reader: Mutex::new(None),
            wal_entry_synced: AtomicBool::new(false),
            damage: OnceLock::new(),
            index_broken: AtomicBool::new(false),
        }
    }

    /// Shows others by the lock of `liveness` that its owner lives.
    #[must_use]
    pub fn with_liveness(mut self, liveness: LivenessLockHandle) -> Self {
        self.liveness = liveness;
        self
    }

    fn with_writer<T>(
        &self,
        action: &str,
        work: impl FnOnce(&mut StoreWriter) -> Result<T, rusqlite::Error>,
    ) -> Result<T, StoreError> {
        if let Some(damage) = self.damage.get() {
            return Err(damage.clone());
        }
        let mut slot = lock_mutex(&self.writer);
        let writer = match slot.as_mut() {
            Some(writer) => writer,
            None => {
                let connection = open::open_store(&self.path).map_err(|refused| refused.error)?;
                slot.insert(StoreWriter::new(connection, self.liveness.clone()))
            }
        };
        work(writer).map_err(|error| self.store_error(action, &error))
    }

    /// Trouble in words; remembers damage.
    fn store_error(&self, action: &str, error: &rusqlite::Error) -> StoreError {
        let told = store_errors::explain_error(&self.path, action, error);
        if store_errors::is_damage(error) {
            let _ = self.damage.set(told.clone());
        }
        if store_errors::is_index_damage(error) {
            self.index_broken.store(true, Ordering::Relaxed);
        }
        told
    }

    /// Does `work`; once more with a new index if the old one is what failed.
    fn with_index_repair<T>(&self, mut work: impl FnMut() -> Result<T, StoreError>) -> Result<T, StoreError> {
        let first = work();
        if first.is_ok() || !self.index_broken.swap(false, Ordering::Relaxed) {
            return first;
        }
        self.with_writer("mend the index of", |writer| {
            full_text_index::recreate_index(&mut writer.connection)
        })?;
        work()
    }

    /// A write that can be declined; `run` is what the words are about.
    fn write_or_refuse<T>(
        &self,
        action: &str,
        run: &RunId,
        work: impl FnOnce(&mut StoreWriter) -> StoreWriteResult<T>,
    ) -> Result<T, StoreError> {
        self.with_writer(action, work)?
            .map_err(|refusal| store_errors::refused_error(&self.path, run, refusal))
    }

    /// Tries again while the commands of the run's killed owner have not ended: they could still change what the next
    /// owner looks at.
    fn retry_after_commands<T>(
        &self,
        run: &RunId,
        mut work: impl FnMut() -> Result<Result<T, StoreRefusal>, StoreError>,
    ) -> Result<T, StoreError> {
        run_ownership::retry_after_commands(&mut work)?
            .map_err(|refusal| store_errors::refused_error(&self.path, run, refusal))
    }

    /// Indexes rows that are neither indexed nor queued. Leaves time to other writers, in this process and others: they
    /// must not wait until a long history is done.
    fn index_missing(&self, words: SearchTextOfRow<'_>) -> Result<(), StoreError> {
        loop {
            let start = Instant::now();
            if !self.with_writer("index", |writer| writer.index_missing(words))? {
                return Ok(());
            }
            thread::sleep(start.elapsed() / 2);
        }
    }

    /// `None` when there is no database yet.
    fn with_reader<T>(
        &self,
        action: &str,
        work: impl FnOnce(&Connection) -> Result<T, rusqlite::Error>,
    ) -> Result<Option<T>, StoreError> {
        let mut slot = lock_mutex(&self.reader);
        let reader = match slot.as_mut() {
            Some(reader) => reader,
            None if open::is_untouched(&self.path) => return Ok(None),
            None => slot.insert(open::open_to_read(&self.path)?),
        };
        work(reader).map(Some).map_err(|error| self.store_error(action, &error))
    }
}

impl RunStore for SqliteStore {
    fn create(&self, header: &RunHeader) -> Result<(), StoreError> {
        self.write_or_refuse("start a run in", &header.id, |writer| writer.create_run(header, None))
    }

    fn create_remote(&self, header: &RunHeader, server: &str) -> Result<(), StoreError> {
        self.write_or_refuse("start a run in", &header.id, |writer| writer.create_run(header, Some(server)))
    }

    fn keeper(&self, run: &RunId) -> Result<Option<String>, StoreError> {
        Ok(self.with_reader("read", |reader| remote_runs::find_keeper(reader, run.as_str()))?.flatten())
    }

    fn claim(&self, run: &RunId) -> Result<RunSummary, StoreError> {
        self.claim_as(run, RunClaimant::User(RemoteRunAction::Change))
    }

    fn claim_remote(&self, run: &RunId) -> Result<RunSummary, StoreError> {
        self.claim_as(run, RunClaimant::Worker)
    }

    fn wait_for_commands(&self, run: &RunId) -> Result<(), StoreError> {
        self.retry_after_commands(run, || {
            let look = |reader: &Connection| match run_ownership::find_owner(reader, run)? {
                Some((owner, _)) => run_ownership::check_commands_ended(reader, &owner),
                None => Ok(Ok(())),
            };
            Ok(self.with_reader("read", look)?.unwrap_or(Ok(())))
        })
    }

    fn definition_is_intact(&self, run: &RunId) -> Result<bool, StoreError> {
        Ok(self.with_reader("read", |reader| blob::spec_is_intact(reader, run))?.unwrap_or(true))
    }

    fn append(
        &self,
        run: &RunId,
        rows: &[JournalRow],
        progress: Option<&RunProgress>,
    ) -> Result<(), StoreError> {
        self.write_or_refuse("write to", run, |writer| {
            writer.append_rows(run, rows, progress, AppendExtra::Nothing)
        })
    }

    fn append_and_end_tokens(
        &self,
        run: &RunId,
        rows: &[JournalRow],
        progress: Option<&RunProgress>,
        void: &[CallId],
        preview: Option<&str>,
    ) -> Result<(), StoreError> {
        let also = AppendExtra::EndTokens(void, preview);
        self.write_or_refuse("write to", run, |writer| writer.append_rows(run, rows, progress, also))
    }

    fn append_with_preview(
        &self,
        run: &RunId,
        rows: &[JournalRow],
        progress: Option<&RunProgress>,
        preview: &str,
    ) -> Result<(), StoreError> {
        self.write_or_refuse("write to", run, |writer| {
            writer.append_rows(run, rows, progress, AppendExtra::Preview(preview))
        })
    }

    fn preview(&self, run: &RunId) -> Result<Option<(String, u64)>, StoreError> {
        Ok(self.with_reader("read", |reader| preview::load_preview(reader, run))?.flatten())
    }

    fn save_state(&self, run: &RunId, state: &str) -> Result<(), StoreError> {
        self.with_writer("write to", |writer| writer.save_state(run, state))
    }

    fn drop_state(&self, run: &RunId) -> Result<(), StoreError> {
        self.with_writer("write to", |writer| writer.drop_state(run))
    }

    fn load_with_state(&self, run: &RunId) -> Result<RunWithState, StoreError> {
        let found = self.with_reader("read", |reader| run_state::load_with_state(reader, run))?;
        found.flatten().ok_or_else(|| store_errors::unknown_run(run.as_str()))
    }

    fn is_driver_of(&self, run: &RunId) -> bool {
        // a store that cannot be read does not know the owner
        self.with_writer("ask", |writer| writer.drives_run(run)).unwrap_or(true)
    }

    fn driver_pid(&self, run: &RunId) -> Option<u32> {
        let owner = self.with_reader("read", |reader| run_ownership::living_owner(reader, run));
        owner.ok().flatten().flatten().map(|owner| owner.pid)
    }

    fn release(&self, run: &RunId) {
        // a store that cannot be written keeps what it has: the run is interrupted when this process ends
        let _ = self.with_writer("write to", |writer| writer.release_run(run));
    }

    fn requests(&self) -> BoxStream<'static, DriverRequest> {
        let own = self.with_writer("ask", |writer| Ok(writer.control_socket_path()));
        own.ok().flatten().map_or_else(|| stream::empty().boxed(), control_socket::listen_for_requests)
    }

    fn ask_driver(&self, run: &RunId, text: String) -> Result<Option<DriverAnswers>, StoreError> {
        let owner = self.with_reader("read", |reader| run_ownership::living_owner(reader, run))?.flatten();
        let me = lock_mutex(&self.writer).as_ref().map(|writer| writer.own_identity.identity.clone());
        let other = owner.filter(|owner| me.as_ref() != Some(&owner.process));
        Ok(other.map(|RunOwner { pid, process, .. }| {
            let place = liveness_lock::control_socket_path(&self.path, process_liveness::lock_name(&process));
            let answers = place
                .map_or_else(|| stream::empty().boxed(), |place| control_socket::send_request(place, text));
            DriverAnswers { pid, answers }
        }))
    }

    fn sync(&self) -> Result<(), StoreError> {
        if let Some(damage) = self.damage.get() {
            return Err(damage.clone());
        }
        let worth_folding = wal_sync::flush_wal(&self.path, &self.wal_entry_synced)?;
        self.index_texts();
        if worth_folding {
            // on the reading connection, so that an append in this process does not wait for it
            self.with_reader("tidy", wal_sync::checkpoint_wal)?;
        }
        Ok(())
    }

    /// In small steps between which others may write. An error loses nothing: the rows have the texts, and the next search
    /// reports an error that persists.
    fn index_texts(&self) {
        while self.damage.get().is_none()
            && let Some(writer) = lock_mutex(&self.writer).as_mut()
            && writer.index_waiting().is_ok_and(|more| more)
        {}
    }

    fn change_counter(&self) -> Result<u64, StoreError> {
        let count =
            |reader: &Connection| reader.query_row("PRAGMA data_version", [], |row| row.get::<_, i64>(0));
        Ok(self.with_reader("read", count)?.map_or(0, i64::unsigned_abs))
    }

    fn list(&self, query: &RunQuery) -> Result<Vec<RunSummary>, StoreError> {
        let found = self.with_reader("read", |reader| list::list_runs(reader, query))?;
        Ok(found.unwrap_or_default())
    }

    fn outlines(&self) -> Result<Vec<RunOutline>, StoreError> {
        Ok(self.with_reader("read", list::list_outlines)?.unwrap_or_default())
    }

    fn find(&self, id: &str) -> Result<RunSummary, StoreError> {
        let found = self.with_reader("read", |reader| read::find_run(reader, id))?;
        found.unwrap_or(read::RunLookup::Nothing).into_result(id)
    }

    fn load(&self, run: &RunId) -> Result<(RunHeader, Vec<JournalRow>), StoreError> {
        let found = self.with_reader("read", |reader| read::load_run(reader, run))?;
        found.flatten().ok_or_else(|| store_errors::unknown_run(run.as_str()))
    }

    fn rows_since(&self, run: &RunId, known: u64, most_bytes: usize) -> Result<Vec<JournalRow>, StoreError> {
        let found =
            self.with_reader("read", |reader| read::load_rows_since(reader, run, known, most_bytes))?;
        found.flatten().ok_or_else(|| store_errors::unknown_run(run.as_str()))
    }

    fn row_count(&self, run: &RunId) -> Result<u64, StoreError> {
        Ok(self.with_reader("read", |reader| read::count_rows(reader, run))?.unwrap_or_default())
    }

    fn read(&self, run: &RunId, reader: &mut dyn RunReader) -> Result<(), StoreError> {
        let found = self.with_reader("read", |connection| read::read_rows(connection, run, reader))?;
        if found == Some(true) { Ok(()) } else { Err(store_errors::unknown_run(run.as_str())) }
    }

    fn search(&self, query: &SearchQuery, words: SearchTextOfRow<'_>) -> Result<Vec<SearchHit>, StoreError> {
        self.with_index_repair(|| {
            self.index_texts();
            if self.with_reader("read", full_text_index::is_behind)?.unwrap_or(false) {
                self.index_missing(words)?;
            }
            let found = self.with_reader("search", |reader| search::search_runs(reader, query, words))?;
            Ok(found.unwrap_or_default())
        })
    }

    fn issue_token(&self, token: &TokenRecord) -> Result<(), StoreError> {
        self.write_or_refuse("write to", &token.run, |writer| writer.issue_token(token))
    }

    fn token(&self, hash: &str) -> Result<Option<TokenRecord>, StoreError> {
        Ok(self.with_reader("read", |reader| resume_tokens::by_hash(reader, hash))?.flatten())
    }

    fn open_tokens(&self, run: &RunId) -> Result<Vec<TokenRecord>, StoreError> {
        Ok(self.with_reader("read", |reader| resume_tokens::open_tokens(reader, run))?.unwrap_or_default())
    }

    fn count_failed_try(&self, hash: &str) -> Result<u32, StoreError> {
        self.write_or_refuse("write to", &RunId::from(""), |writer| writer.count_try(hash))
    }

    fn redeem(
        &self,
        hash: &str,
        results_hash: &str,
        answer: &str,
        now: Timestamp,
        rows: &[JournalRow],
        progress: Option<&RunProgress>,
    ) -> Result<TokenRedeemOutcome, StoreError> {
        let run = self.token(hash)?.map_or_else(|| RunId::from(""), |token| token.run);
        let usage = resume_tokens::TokenRedemption { hash, results_hash, answer, now };
        self.retry_after_commands(&run, || {
            self.with_writer("write to", |writer| writer.redeem_token(&usage, rows, progress))
        })
    }

    fn import(
        &self,
        header: &RunHeader,
        rows: &[JournalRow],
        progress: &RunProgress,
        preview: Option<&str>,
    ) -> Result<(), StoreError> {
        self.write_or_refuse("import into", &header.id, |writer| {
            writer.import_run(header, rows, progress, preview)
        })
    }

    fn delete(&self, runs: &[RunId]) -> Result<ReclaimedSpace, StoreError> {
        let mut left: Vec<RunId> = runs.to_vec();
        left.sort();
        left.dedup();
        let Some(first) = left.first().cloned() else { return Ok(ReclaimedSpace::default()) };
        self.write_or_refuse("remove from", &first, |writer| writer.may_delete(&left))?;
        let mut freed = ReclaimedSpace::default();
        while !left.is_empty() {
            let start = Instant::now();
            let some = self.with_index_repair(|| {
                self.write_or_refuse("remove from", &first, |writer| writer.delete_some(&mut left))
            })?;
            freed.runs += some.runs;
            freed.bytes += some.bytes;
            if !left.is_empty() {
                thread::sleep(start.elapsed() / 2);
            }
        }
        let left_runs =
            self.with_reader("measure", disk_usage::count_runs).ok().flatten().unwrap_or_default();
        if u64::try_from(freed.runs).is_ok_and(|gone| gone.saturating_mul(SHRINKS_FROM) >= left_runs) {
            disk_usage::shrink_gradually(|begins| {
                self.with_writer("index", |writer| writer.shrink_index(begins))
            });
        }
        Ok(freed)
    }

    fn measure_deletion(&self, runs: &[RunId]) -> Result<ReclaimedSpace, StoreError> {
        Ok(self.with_reader("measure", |reader| disk_usage::weigh_runs(reader, runs))?.unwrap_or_default())
    }

    fn storage_usage(&self) -> Result<HistoryStorageUsage, StoreError> {
        Ok(self
            .with_reader("measure", |reader| disk_usage::read_space(reader, &self.path))?
            .unwrap_or_default())
    }
}

impl SqliteStore {
    fn claim_as(&self, run: &RunId, claimant: RunClaimant) -> Result<RunSummary, StoreError> {
        self.retry_after_commands(run, || {
            self.with_writer("write to", |writer| writer.claim_run(run, claimant))
        })
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.index_texts();
        if self.damage.get().is_some() {
            // the last connection would fold the log into the damaged file
            lock_mutex(&self.reader).as_ref().into_iter().for_each(|reader| open::set_keep_wal(reader, true));
            lock_mutex(&self.writer)
                .as_ref()
                .into_iter()
                .for_each(|writer| open::set_keep_wal(&writer.connection, true));
        }
    }
}

/// A panic elsewhere cannot leave a half-done transaction (it rolls back while unwinding), so a poisoned
/// lock is still good.
fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
