//! A server that keeps the journals of runs, as those see it who are no worker of it: they follow a run, answer it, end it.
//!
//! Refuses to know what rows mean, and where the server is: its implementation does.

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::run_store::StoreError;
use synthdev_domain::approval::ApprovalDecision;
use synthdev_domain::ids::{CallId, RunId};
use synthdev_domain::journal::{JournalRow, RunHeader, RunProgress};

/// How much of a run is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FollowCursor {
    /// The first rows, so many.
    pub rows: u64,
    /// As the last news said: while it stays the same there are no further rows.
    pub version: Option<u64>,
    /// Of the events that are in no journal, so many; `None`: they are not wanted.
    pub transient: Option<u64>,
}

/// What is known of a run beyond a cursor.
#[derive(Clone, Debug, Default)]
pub struct RunNews {
    /// What is known then.
    pub cursor: FollowCursor,
    /// With the first rows, as the run belongs into the history of this machine. Absent: it has not begun.
    pub header: Option<RunHeader>,
    pub rows: Vec<JournalRow>,
    /// Further rows can be had at once.
    pub has_more: bool,
    /// What lists show of the run after these rows; absent while there are more.
    pub progress: Option<RunProgress>,
    /// Events that are in no journal, such as pieces of an answer that is being written; JSON.
    pub transient: Vec<Value>,
    /// The worker writes its rows into the history of this machine: they are there already.
    pub is_same_history: bool,
    /// The last answer that the run did not take, by its number.
    pub refused: Option<(u64, StoreError)>,
    /// The run is over at the server.
    pub is_over: bool,
}

/// Answers to questions of a run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ServerAnswers {
    /// As the run records them; the server only hands them on.
    pub answers: Vec<(CallId, Value)>,
    pub decisions: Vec<(CallId, ApprovalDecision)>,
    /// Every call is approved from now on.
    pub approves_all: bool,
}

impl ServerAnswers {
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty() && self.decisions.is_empty()
    }
}

/// One server, and the place of this machine from which it is asked.
pub trait RunServer: Send + Sync {
    /// Its address, for people.
    fn address(&self) -> &str;

    /// Whether it refused because it has no such run.
    fn is_unknown_run(&self, refused: &StoreError) -> bool {
        let _ = refused;
        false
    }

    /// What there is of a run now.
    ///
    /// # Errors
    /// As `follow`.
    fn look<'a>(&'a self, run: &'a RunId, known: FollowCursor) -> BoxFuture<'a, Result<RunNews, StoreError>>;

    /// The same, when there is something new, or after a while. Dropping it loses nothing.
    ///
    /// # Errors
    /// The server does not know the run, cannot be reached, or has ended the run before it began.
    fn follow<'a>(
        &'a self,
        run: &'a RunId,
        known: FollowCursor,
    ) -> BoxFuture<'a, Result<RunNews, StoreError>>;

    /// Answers a run that waits; the number of the answer. It may still turn out not to fit: then news say so.
    ///
    /// # Errors
    /// It does not wait, or the server cannot be reached.
    fn answer<'a>(
        &'a self,
        run: &'a RunId,
        given: &'a ServerAnswers,
    ) -> BoxFuture<'a, Result<u64, StoreError>>;

    /// Ends a run for good; `false`: it was told to end, and works on.
    ///
    /// # Errors
    /// It has ended, or the server cannot be reached.
    fn cancel<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<bool, StoreError>>;
}
