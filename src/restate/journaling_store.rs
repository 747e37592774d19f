//! A store whose rows are at the Restate server before they are written.
//!
//! Owns the order of both, for one run. Everything that is read, and every other write, is the worker's own store's.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::stream::BoxStream;

use super::journaled_step::SharedFiles;
use super::run_outbox::RunOutbox;
use synthdev_domain::ids::{CallId, RunId, Timestamp};
use synthdev_domain::journal::{
    HistoryStorageUsage, JournalRow, ReclaimedSpace, RunHeader, RunOutline, RunProgress, RunQuery,
    RunSummary, SearchHit, SearchQuery, TokenRecord, TokenRedeemOutcome,
};
use synthdev_ports::run_store::{
    DriverAnswers, DriverRequest, RunReader, RunStore, RunWithState, SearchTextOfRow, StoreError,
};

/// Shares the files of one run with other hosts, if the rows that come next say that they may have changed; where they
/// are then. An error holds the rows back.
pub type FilesKeeper = Box<dyn FnMut(&[JournalRow]) -> Result<Option<SharedFiles>, StoreError> + Send>;

pub(crate) struct JournalingStore {
    inner: Arc<dyn RunStore>,
    outbox: Arc<RunOutbox>,
    /// Where the journal is, for the words of a refusal.
    server: String,
    /// Locked while rows are on their way: both journals have one order.
    keep_files: Mutex<FilesKeeper>,
}

impl JournalingStore {
    /// For the run of this outbox alone.
    pub(crate) fn new(
        inner: Arc<dyn RunStore>,
        outbox: Arc<RunOutbox>,
        server: String,
        keep_files: FilesKeeper,
    ) -> Self {
        Self { inner, outbox, server, keep_files: Mutex::new(keep_files) }
    }

    /// The driver waits for the server as it waits for a disk. Rows that the server has and this store refuses end the
    /// work here: the next attempt completes the store first.
    fn write_after_server<T>(
        &self,
        rows: &[JournalRow],
        write: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        tokio::task::block_in_place(|| {
            let mut keep_files = self.keep_files.lock().unwrap_or_else(PoisonError::into_inner);
            if rows.is_empty() {
                return write();
            }
            // first: who goes on from these rows elsewhere needs the files that they speak of
            let files = keep_files(rows)?;
            self.outbox.journal_rows(rows, files)?;
            let written = write();
            match &written {
                Ok(_) => self.outbox.mark_written(),
                Err(_) => self.outbox.close(),
            }
            written
        })
    }
}

impl RunStore for JournalingStore {
    fn create(&self, header: &RunHeader) -> Result<(), StoreError> {
        self.inner.create_remote(header, &self.server)?;
        self.outbox.set_header(header.clone());
        Ok(())
    }

    fn claim(&self, run: &RunId) -> Result<RunSummary, StoreError> {
        self.inner.claim_remote(run)
    }

    fn wait_for_commands(&self, run: &RunId) -> Result<(), StoreError> {
        self.inner.wait_for_commands(run)
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
        self.write_after_server(rows, || self.inner.append(run, rows, progress))
    }

    fn append_and_end_tokens(
        &self,
        run: &RunId,
        rows: &[JournalRow],
        progress: Option<&RunProgress>,
        void: &[CallId],
        preview: Option<&str>,
    ) -> Result<(), StoreError> {
        self.write_after_server(rows, || self.inner.append_and_end_tokens(run, rows, progress, void, preview))
    }

    fn append_with_preview(
        &self,
        run: &RunId,
        rows: &[JournalRow],
        progress: Option<&RunProgress>,
        preview: &str,
    ) -> Result<(), StoreError> {
        self.write_after_server(rows, || self.inner.append_with_preview(run, rows, progress, preview))
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
        self.inner.load_with_state(run)
    }

    fn is_driver_of(&self, run: &RunId) -> bool {
        self.inner.is_driver_of(run)
    }

    fn driver_pid(&self, run: &RunId) -> Option<u32> {
        self.inner.driver_pid(run)
    }

    fn release(&self, run: &RunId) {
        self.inner.release(run)
    }

    fn requests(&self) -> BoxStream<'static, DriverRequest> {
        self.inner.requests()
    }

    fn ask_driver(&self, run: &RunId, text: String) -> Result<Option<DriverAnswers>, StoreError> {
        self.inner.ask_driver(run, text)
    }

    /// The rows survive a power cut at the server.
    fn sync(&self) -> Result<(), StoreError> {
        self.inner.index_texts();
        Ok(())
    }

    fn index_texts(&self) {
        self.inner.index_texts()
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
        self.inner.load(run)
    }

    fn read(&self, run: &RunId, reader: &mut dyn RunReader) -> Result<(), StoreError> {
        self.inner.read(run, reader)
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
        self.write_after_server(rows, || self.inner.redeem(hash, results_hash, answer, now, rows, progress))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journaled_step::JournaledStep;
    use crate::local_copy::tests::header;
    use synthdev_adapters::sqlite::SqliteStore;
    use synthdev_domain::journal::JournalRowKind;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn rows_are_at_the_server_before_they_are_written() {
        let directory = tempfile::tempdir().unwrap();
        let inner: Arc<dyn RunStore> = Arc::new(SqliteStore::new(directory.path().join("runs.sqlite")));
        let outbox = Arc::new(RunOutbox::new("here".to_owned(), String::new(), 0));
        let store = Arc::new(JournalingStore::new(
            Arc::clone(&inner),
            Arc::clone(&outbox),
            "there".to_owned(),
            Box::new(|_| Ok(None)),
        ));
        let header = header("20260101-aaaa");
        store.create(&header).unwrap();
        let append = |body: &'static str| {
            let (store, run) = (Arc::clone(&store), header.id.clone());
            let row = JournalRow::new(JournalRowKind::Input, Timestamp(7), None, body);
            tokio::spawn(async move { store.append(&run, &[row], None) })
        };
        let count = || inner.load(&header.id).unwrap().1.len();

        let first = append("a");
        let step = outbox.step(0).await;
        assert!(matches!(step, Some(JournaledStep::Rows { header: Some(_), .. })), "{step:?}");
        assert_eq!((count(), outbox.version()), (0, 0));
        assert!(outbox.mark_journaled(0, &step.unwrap()));
        first.await.unwrap().unwrap();
        assert_eq!((count(), outbox.version()), (1, 1));

        let second = append("b");
        let step = outbox.step(1).await;
        assert!(matches!(step, Some(JournaledStep::Rows { header: None, .. })), "{step:?}");
        outbox.close();
        assert!(second.await.unwrap().is_err(), "the worker has given the run up");
        assert_eq!(count(), 1);
        store.release(&header.id);
        let refused = inner.claim(&header.id).unwrap_err();
        assert!(refused.message.contains("is kept by the Restate server at there"), "{refused}");
        assert!(store.claim(&header.id).is_ok(), "its worker goes on");
    }
}
