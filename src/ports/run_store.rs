//! The journal of every run, shared safely by several processes.
//!
//! A run has one owner at a time: the process that created it or claimed it last. Every claim gets a new number, and
//! the store refuses writes of an earlier owner, so two processes never write one run's journal together.

use std::ops::ControlFlow;

use futures_util::stream::BoxStream;
use tokio::sync::mpsc::UnboundedSender;

use synthdev_domain::ids::{CallId, RunId, Timestamp};
use synthdev_domain::journal::{
    HistoryStorageUsage, JournalRow, JournalRowKind, ReclaimedSpace, RunHeader, RunOutline, RunProgress,
    RunQuery, RunSummary, SearchHit, SearchQuery, TokenRecord, TokenRedeemOutcome,
};

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct StoreError {
    pub message: String,
    pub hint: Option<String>,
}

/// What a user wants with a run whose journal is at a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RemoteRunAction {
    Resume,
    Retry,
    Cancel,
    /// Everything that the server has no command for.
    Change,
}

/// A change of a run whose journal is at a server would be discarded.
pub fn remote_run_error(run: &RunId, server: &str, action: RemoteRunAction) -> StoreError {
    let resume = format!("synthdev resume {run} --backend restate");
    let cancel = format!("synthdev runs cancel {run} --backend restate");
    let next = match action {
        RemoteRunAction::Resume => format!("`{resume}` resumes it there"),
        RemoteRunAction::Retry => format!("`{resume}` tries it again there"),
        RemoteRunAction::Cancel => format!("`{cancel}` ends it there"),
        RemoteRunAction::Change => format!(
            "`synthdev runs fork {run} --at STEP` makes a run of it that is kept here; `{cancel}` ends it there"
        ),
    };
    StoreError {
        message: format!(
            "run {run} is kept by the Restate server at {server}: what is changed here would be discarded"
        ),
        hint: Some(format!(
            "{next}; --backend needs a program that was built with the cargo feature `restate`"
        )),
    }
}

/// Gives the words of a row: the store does not know what bodies mean. Must not call the store.
pub type SearchTextOfRow<'a> = &'a dyn Fn(&JournalRow) -> Option<String>;

/// A borrowed row: a long journal is read without a copy of its texts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JournalRowRef<'a> {
    pub kind: JournalRowKind,
    pub at: Timestamp,
    pub call: Option<CallId>,
    pub body: &'a str,
    pub digest: Option<u64>,
}

impl From<JournalRowRef<'_>> for JournalRow {
    fn from(row: JournalRowRef<'_>) -> Self {
        Self { digest: row.digest, ..Self::new(row.kind, row.at, row.call, row.body) }
    }
}

/// Reads the rows of a run until it has enough. Must not call the store.
pub trait RunReader {
    /// Comes first.
    fn header(&mut self, header: RunHeader) -> ControlFlow<()>;

    /// Every row in order.
    fn row(&mut self, row: JournalRowRef<'_>) -> ControlFlow<()>;
}

/// A run whose journal need not be read from its beginning.
#[derive(Clone, Debug)]
pub struct RunWithState {
    pub header: RunHeader,
    pub state: Option<String>,
    /// In order; without a state, all rows of the run.
    pub rows_since: Vec<JournalRow>,
}

/// A request of another process, and the channel for its replies; closed when that process does not wait any more.
#[derive(Debug)]
pub struct DriverRequest {
    pub text: String,
    pub answers: UnboundedSender<String>,
}

/// The process that owns a run was asked something.
pub struct DriverAnswers {
    pub pid: u32,
    /// The replies; empty if the owner cannot be reached.
    pub answers: BoxStream<'static, String>,
}

/// All methods are synchronous. Most take tens of microseconds; `load`, `load_with_state` and `read` take longer for a
/// long run, `list` and `outlines` for many runs. `sync`, `index_texts`, `search`, `import`, `delete`,
/// `measure_deletion` and `storage_usage` can take long: call them from a blocking thread.
pub trait RunStore: Send + Sync {
    /// Begins a run, owned by this process.
    ///
    /// # Errors
    /// The id exists, or the store cannot be written.
    fn create(&self, header: &RunHeader) -> Result<(), StoreError>;

    /// The same, for a run of which a server keeps the journal: this store has a copy, which only a worker of the server
    /// may change. `server` is its address, in words for people.
    ///
    /// # Errors
    /// As `create`.
    fn create_remote(&self, header: &RunHeader, server: &str) -> Result<(), StoreError> {
        let _ = server;
        self.create(header)
    }

    /// The server that keeps the journal of a run; `None`: it is kept here, or not known.
    ///
    /// # Errors
    /// The store cannot be read.
    fn keeper(&self, run: &RunId) -> Result<Option<String>, StoreError> {
        let _ = run;
        Ok(None)
    }

    /// `claim` by a worker of the server that keeps the run.
    ///
    /// # Errors
    /// As `claim`.
    fn claim_remote(&self, run: &RunId) -> Result<RunSummary, StoreError> {
        self.claim(run)
    }

    /// Makes this process the run's owner: the run's status is `running` from here on, and writes of an earlier owner
    /// are refused. Returns the run as it was before. The caller decides whether a run of that status may continue.
    ///
    /// # Errors
    /// A living process owns it (this one included), a server keeps its journal, its commands have not ended (`wait_for_commands`), the run is
    /// unknown, or the store cannot be written.
    fn claim(&self, run: &RunId) -> Result<RunSummary, StoreError>;

    /// Waits for the commands of a run whose owner was killed, three seconds at most; returns at once in all other cases.
    ///
    /// # Errors
    /// They have not ended by then, or the store cannot be read.
    fn wait_for_commands(&self, run: &RunId) -> Result<(), StoreError>;

    /// Whether the definition of a run is the one that was stored when it began. A missing run counts as intact.
    ///
    /// # Errors
    /// The store cannot be read.
    fn definition_is_intact(&self, run: &RunId) -> Result<bool, StoreError>;

    /// Appends rows in one transaction that survives a kill of this process, and the progress if given.
    ///
    /// # Errors
    /// Another process has claimed the run, this one never did, or the store cannot be written.
    fn append(
        &self,
        run: &RunId,
        rows: &[JournalRow],
        progress: Option<&RunProgress>,
    ) -> Result<(), StoreError>;

    /// The same, and deletes the run's unused tokens in the same transaction: their pauses do not wait any more. Used
    /// ones stay, so that a repeated answer gets its reply, except those that answered a call of `void`: a rewind
    /// discarded these. It discards the stored preview too: without a new `preview` the run has none.
    ///
    /// # Errors
    /// As `append`.
    fn append_and_end_tokens(
        &self,
        run: &RunId,
        rows: &[JournalRow],
        progress: Option<&RunProgress>,
        void: &[CallId],
        preview: Option<&str>,
    ) -> Result<(), StoreError>;

    /// The same as `append`, and stores the run's preview: a text that shows the end of the run as of these rows. The
    /// store does not interpret it. It replaces an earlier preview.
    ///
    /// # Errors
    /// As `append`.
    fn append_with_preview(
        &self,
        run: &RunId,
        rows: &[JournalRow],
        progress: Option<&RunProgress>,
        preview: &str,
    ) -> Result<(), StoreError>;

    /// The preview that was stored last, and how many rows the run has got since.
    ///
    /// # Errors
    /// The store cannot be read.
    fn preview(&self, run: &RunId) -> Result<Option<(String, u64)>, StoreError>;

    /// Keeps the state of a run as of its last row, in the place of an earlier one. The store does not know what it
    /// means, and gives it to no other build of the program. Without this process's claim on the run it keeps nothing.
    ///
    /// # Errors
    /// The store cannot be written.
    fn save_state(&self, run: &RunId, state: &str) -> Result<(), StoreError>;

    /// Removes what `save_state` kept. A run without one stays as it is.
    ///
    /// # Errors
    /// The store cannot be written.
    fn drop_state(&self, run: &RunId) -> Result<(), StoreError>;

    /// The run's header, its state if this build of the program saved one, and the rows that came after the state, or
    /// all of them. All of it is of one moment.
    ///
    /// # Errors
    /// Unknown id, unreadable store.
    fn load_with_state(&self, run: &RunId) -> Result<RunWithState, StoreError>;

    /// Whether this process still owns the run; called after an append was refused. `true` if the store cannot be read.
    fn is_driver_of(&self, run: &RunId) -> bool;

    /// The id of the living process that owns the run, this one included; `None`: it has no owner, or the store cannot be
    /// read.
    fn driver_pid(&self, run: &RunId) -> Option<u32>;

    /// Gives up ownership: sets the status from `running` to `interrupted`. Best effort: write errors are ignored.
    fn release(&self, run: &RunId);

    /// Requests of other processes about the runs that this process owns; the store does not interpret them. Other
    /// processes can send them from now on, until this is dropped. Ends where the system has no such channel. Needs the
    /// async runtime.
    fn requests(&self) -> BoxStream<'static, DriverRequest>;

    /// Sends a request to the living process that owns a run; `None`: no other process owns it. Waiting for the replies
    /// needs the async runtime.
    ///
    /// # Errors
    /// The run is unknown, or the store cannot be read.
    fn ask_driver(&self, run: &RunId, text: String) -> Result<Option<DriverAnswers>, StoreError>;

    /// Makes everything appended so far survive a power cut, and the words of it findable.
    ///
    /// # Errors
    /// The disk refused.
    fn sync(&self) -> Result<(), StoreError>;

    /// Makes the words of what this process appended findable. A process ends with it: words that only wait in memory
    /// are left to the next search, which reads the rows again.
    fn index_texts(&self);

    /// A number that changes with every write, by this process or another. It has no other meaning.
    ///
    /// # Errors
    /// The store cannot be read.
    fn change_counter(&self) -> Result<u64, StoreError>;

    /// Newest first.
    ///
    /// # Errors
    /// The store cannot be read.
    fn list(&self, query: &RunQuery) -> Result<Vec<RunSummary>, StoreError>;

    /// Every run, newest first, without inputs and outputs, for cleaning up old runs.
    ///
    /// # Errors
    /// The store cannot be read.
    fn outlines(&self) -> Result<Vec<RunOutline>, StoreError>;

    /// Accepts a unique prefix.
    ///
    /// # Errors
    /// Unknown or ambiguous id.
    fn find(&self, id: &str) -> Result<RunSummary, StoreError>;

    /// The run's header and all rows in order.
    ///
    /// # Errors
    /// Unknown id, unreadable store.
    fn load(&self, run: &RunId) -> Result<(RunHeader, Vec<JournalRow>), StoreError>;

    /// Rows of a run behind the first `known`, in order; about `most_bytes`, and at least one if there is one.
    ///
    /// # Errors
    /// Unknown id, unreadable store.
    fn rows_since(&self, run: &RunId, known: u64, most_bytes: usize) -> Result<Vec<JournalRow>, StoreError> {
        let (_, rows) = self.load(run)?;
        let mut bytes = 0;
        let is_within = |row: &JournalRow| {
            let fits = bytes < most_bytes;
            bytes += row.body.len();
            fits
        };
        Ok(rows
            .into_iter()
            .skip(usize::try_from(known).unwrap_or(usize::MAX))
            .take_while(is_within)
            .collect())
    }

    /// How many rows a run has.
    ///
    /// # Errors
    /// The store cannot be read.
    fn row_count(&self, run: &RunId) -> Result<u64, StoreError> {
        Ok(self.load(run)?.1.len() as u64)
    }

    /// `load`, handed on while it is read; all of it is of one moment.
    ///
    /// # Errors
    /// Unknown id, unreadable store. The reader may have seen a part by then.
    fn read(&self, run: &RunId, reader: &mut dyn RunReader) -> Result<(), StoreError>;

    /// Rows with the words, newest run first and its last row first. `words` is asked for rows that a
    /// killed process or an older version left without an index, and which get one before the answer; and for hits,
    /// to show them. The first search in a large history of an older version takes a while: up to 100 µs a row.
    ///
    /// # Errors
    /// The store cannot be read, or the missing part of the index cannot be written.
    fn search(&self, query: &SearchQuery, words: SearchTextOfRow<'_>) -> Result<Vec<SearchHit>, StoreError>;

    /// Keeps a new token of a paused run.
    ///
    /// # Errors
    /// Its run is unknown, the hash is taken, or the store cannot be written.
    fn issue_token(&self, token: &TokenRecord) -> Result<(), StoreError>;

    /// # Errors
    /// The store cannot be read.
    fn token(&self, hash: &str) -> Result<Option<TokenRecord>, StoreError>;

    /// Tokens of the run that were not used yet, oldest first; expired ones are among them.
    ///
    /// # Errors
    /// The store cannot be read.
    fn open_tokens(&self, run: &RunId) -> Result<Vec<TokenRecord>, StoreError>;

    /// One more answer that was not accepted; returns how many there were.
    ///
    /// # Errors
    /// The token is unknown, or the store cannot be written.
    fn count_failed_try(&self, hash: &str) -> Result<u32, StoreError>;

    /// Uses up the token and appends the rows, in one transaction. Other tokens of the same pause are used up
    /// with it: they get the same answer or a conflict. Makes this process the run's owner if it is not yet.
    ///
    /// # Errors
    /// The token is unknown or expired, another living process is running the run, a server keeps it, or the store cannot be written.
    fn redeem(
        &self,
        hash: &str,
        results_hash: &str,
        answer: &str,
        now: Timestamp,
        rows: &[JournalRow],
        progress: Option<&RunProgress>,
    ) -> Result<TokenRedeemOutcome, StoreError>;

    /// Stores a whole run of another machine, in one transaction, with its preview. It has no owner.
    ///
    /// # Errors
    /// The id exists, or the store cannot be written.
    fn import(
        &self,
        header: &RunHeader,
        rows: &[JournalRow],
        progress: &RunProgress,
        preview: Option<&str>,
    ) -> Result<(), StoreError>;

    /// Removes runs with all that belongs to them, after a look whether all of them can be removed: if not, none is.
    /// Many are removed in several transactions, so that other processes need not wait; whole runs each.
    ///
    /// # Errors
    /// One of them is unknown or running, or the store cannot be written.
    fn delete(&self, runs: &[RunId]) -> Result<ReclaimedSpace, StoreError>;

    /// What `delete` would free. Nothing is removed.
    ///
    /// # Errors
    /// As `delete`.
    fn measure_deletion(&self, runs: &[RunId]) -> Result<ReclaimedSpace, StoreError>;

    /// # Errors
    /// The store cannot be read.
    fn storage_usage(&self) -> Result<HistoryStorageUsage, StoreError>;
}
