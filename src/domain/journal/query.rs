//! What can be asked of the history: lists of runs, and words in their journals.

use super::{JournalRow, RunStatus};
use crate::ids::{RunId, Timestamp};

/// Which runs a list shows, newest first. The default is all of them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RunQuery {
    /// 0 means all.
    pub limit: usize,
    /// Runs left out before the first one that is shown.
    pub offset: usize,
    pub workflow: Option<String>,
    /// Runs of the workflow of this name are left out.
    pub without_workflow: Option<String>,
    /// Empty means any. A run whose process died is `Interrupted`, not `RunningProcess`.
    pub statuses: Vec<RunStatus>,
    /// Started at or after.
    pub since: Option<Timestamp>,
    /// Started at or before.
    pub until: Option<Timestamp>,
    /// US dollars. A run of unknown cost is in no range.
    pub min_cost: Option<f64>,
    pub max_cost: Option<f64>,
    /// Canonical path.
    pub project: Option<String>,
    /// A part of the id, the workflow's name or the input, in small or capital letters.
    pub words: Option<String>,
    /// Runs that came from this one.
    pub origin_run: Option<RunId>,
}

impl RunQuery {
    /// The newest ones; 0 means all.
    pub fn newest(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }
}

/// A search through all messages and actions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SearchQuery {
    /// Every word must be there; `"a phrase"` in quotes must be there as it is; of the last word the beginning is
    /// enough. Nothing in it is an operator.
    pub text: String,
    /// 0 means all.
    pub limit: usize,
    pub run: Option<RunId>,
    pub workflow: Option<String>,
}

/// One place where all words of a search were found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SearchHit {
    pub run: RunId,
    pub workflow: String,
    pub started: Timestamp,
    /// The row's number in its run, from 1; 0 is the run's input, whose `row.body` is that text as JSON.
    pub seq: u64,
    /// With its words.
    pub row: JournalRow,
}
