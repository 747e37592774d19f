//! The real store, with somebody who looks on: what is done right after a run was claimed or its end
//! was written, and how much is read.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::stream::BoxStream;
use synthdev::adapters::sqlite::SqliteStore;
use synthdev::domain::ids::{CallId, RunId, Timestamp};
use synthdev::domain::journal::{
    HistoryStorageUsage, JournalRow, ReclaimedSpace, RunHeader, RunOutline, RunProgress, RunQuery,
    RunSummary, SearchHit, SearchQuery, TokenRecord, TokenRedeemOutcome,
};
use synthdev::ports::run_store::{
    DriverAnswers, DriverRequest, JournalRowRef, RunReader, RunStore, RunWithState, SearchTextOfRow,
    StoreError,
};

type Look = Box<dyn Fn() + Send>;

pub struct Watched {
    inner: SqliteStore,
    at_end: Mutex<Option<Look>>,
    at_claim: Mutex<Option<Look>>,
    rows: AtomicUsize,
}

impl Watched {
    pub fn new(inner: SqliteStore) -> Self {
        Self { inner, at_end: Mutex::new(None), at_claim: Mutex::new(None), rows: AtomicUsize::new(0) }
    }

    /// Called when the end of a run has just been written, before its writer continues.
    pub fn at_end(&self, look: impl Fn() + Send + 'static) {
        *self.at_end.lock().unwrap() = Some(Box::new(look));
    }

    /// Called once, when a run has just been claimed for this process, before the claimant continues.
    pub fn at_claim(&self, look: impl Fn() + Send + 'static) {
        *self.at_claim.lock().unwrap() = Some(Box::new(look));
    }

    /// Rows of journals that were read so far.
    pub fn rows(&self) -> usize {
        self.rows.load(Ordering::SeqCst)
    }

    fn on_written(&self, progress: Option<&RunProgress>) {
        if progress.is_some_and(|progress| progress.status.is_over())
            && let Some(look) = &*self.at_end.lock().unwrap()
        {
            look();
        }
    }
}

struct Counting<'c> {
    reader: &'c mut dyn RunReader,
    rows: &'c AtomicUsize,
}

impl RunReader for Counting<'_> {
    fn header(&mut self, header: RunHeader) -> ControlFlow<()> {
        self.reader.header(header)
    }

    fn row(&mut self, row: JournalRowRef<'_>) -> ControlFlow<()> {
        self.rows.fetch_add(1, Ordering::SeqCst);
        self.reader.row(row)
    }
}

impl RunStore for Watched {
    fn create(&self, header: &RunHeader) -> Result<(), StoreError> {
        self.inner.create(header)
    }

    fn claim(&self, run: &RunId) -> Result<RunSummary, StoreError> {
        let claimed = self.inner.claim(run)?;
        let look = self.at_claim.lock().unwrap().take();
        if let Some(look) = look {
            look();
        }
        Ok(claimed)
    }

    fn index_texts(&self) {
        self.inner.index_texts();
    }

    fn definition_is_intact(&self, run: &RunId) -> Result<bool, StoreError> {
        self.inner.definition_is_intact(run)
    }

    fn append(
        &self,
        run: &RunId,
        rows: &[JournalRow],
        progress: Option<&RunProgress>,
    ) -> Result<(), StoreError> {
        self.inner.append(run, rows, progress)?;
        self.on_written(progress);
        Ok(())
    }

    fn append_and_end_tokens(
        &self,
        run: &RunId,
        rows: &[JournalRow],
        progress: Option<&RunProgress>,
        void: &[CallId],
        preview: Option<&str>,
    ) -> Result<(), StoreError> {
        self.inner.append_and_end_tokens(run, rows, progress, void, preview)?;
        self.on_written(progress);
        Ok(())
    }

    fn append_with_preview(
        &self,
        run: &RunId,
        rows: &[JournalRow],
        progress: Option<&RunProgress>,
        preview: &str,
    ) -> Result<(), StoreError> {
        self.inner.append_with_preview(run, rows, progress, preview)?;
        self.on_written(progress);
        Ok(())
    }

    fn preview(&self, run: &RunId) -> Result<Option<(String, u64)>, StoreError> {
        self.inner.preview(run)
    }

    fn save_state(&self, run: &RunId, state: &str) -> Result<(), StoreError> {
        self.inner.save_state(run, state)
    }

    fn drop_state(&self, run: &RunId) -> Result<(), StoreError> {
        self.inner.drop_state(run)
    }

    fn load_with_state(&self, run: &RunId) -> Result<RunWithState, StoreError> {
        let loaded = self.inner.load_with_state(run)?;
        self.rows.fetch_add(loaded.rows_since.len(), Ordering::SeqCst);
        Ok(loaded)
    }

    fn requests(&self) -> BoxStream<'static, DriverRequest> {
        self.inner.requests()
    }

    fn ask_driver(&self, run: &RunId, text: String) -> Result<Option<DriverAnswers>, StoreError> {
        self.inner.ask_driver(run, text)
    }

    fn is_driver_of(&self, run: &RunId) -> bool {
        self.inner.is_driver_of(run)
    }

    fn wait_for_commands(&self, run: &RunId) -> Result<(), StoreError> {
        self.inner.wait_for_commands(run)
    }

    fn driver_pid(&self, run: &RunId) -> Option<u32> {
        self.inner.driver_pid(run)
    }

    fn release(&self, run: &RunId) {
        self.inner.release(run)
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.inner.sync()
    }

    fn change_counter(&self) -> Result<u64, StoreError> {
        self.inner.change_counter()
    }

    fn list(&self, query: &RunQuery) -> Result<Vec<RunSummary>, StoreError> {
        self.inner.list(query)
    }

    fn outlines(&self) -> Result<Vec<RunOutline>, StoreError> {
        self.inner.outlines()
    }

    fn find(&self, id: &str) -> Result<RunSummary, StoreError> {
        self.inner.find(id)
    }

    fn load(&self, run: &RunId) -> Result<(RunHeader, Vec<JournalRow>), StoreError> {
        let (header, rows) = self.inner.load(run)?;
        self.rows.fetch_add(rows.len(), Ordering::SeqCst);
        Ok((header, rows))
    }

    fn read(&self, run: &RunId, reader: &mut dyn RunReader) -> Result<(), StoreError> {
        self.inner.read(run, &mut Counting { reader, rows: &self.rows })
    }

    fn search(&self, query: &SearchQuery, words: SearchTextOfRow<'_>) -> Result<Vec<SearchHit>, StoreError> {
        self.inner.search(query, words)
    }

    fn issue_token(&self, token: &TokenRecord) -> Result<(), StoreError> {
        self.inner.issue_token(token)
    }

    fn token(&self, hash: &str) -> Result<Option<TokenRecord>, StoreError> {
        self.inner.token(hash)
    }

    fn open_tokens(&self, run: &RunId) -> Result<Vec<TokenRecord>, StoreError> {
        self.inner.open_tokens(run)
    }

    fn count_failed_try(&self, hash: &str) -> Result<u32, StoreError> {
        self.inner.count_failed_try(hash)
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
        self.inner.redeem(hash, results_hash, answer, now, rows, progress)
    }

    fn import(
        &self,
        header: &RunHeader,
        rows: &[JournalRow],
        progress: &RunProgress,
        preview: Option<&str>,
    ) -> Result<(), StoreError> {
        self.inner.import(header, rows, progress, preview)
    }

    fn delete(&self, runs: &[RunId]) -> Result<ReclaimedSpace, StoreError> {
        self.inner.delete(runs)
    }

    fn measure_deletion(&self, runs: &[RunId]) -> Result<ReclaimedSpace, StoreError> {
        self.inner.measure_deletion(runs)
    }

    fn storage_usage(&self) -> Result<HistoryStorageUsage, StoreError> {
        self.inner.storage_usage()
    }
}
