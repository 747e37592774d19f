//! Lists of runs, and searches in what they said and did.
//!
//! Owns which queries make sense and how a long list is read. Refuses those that no run can answer.

mod pages;
mod word_search;

use synthdev_domain::journal::{RunQuery, RunStatus, RunSummary, SearchQuery};
use synthdev_domain::terminal_safe::escape_name;
use synthdev_ports::run_store::StoreError;
use synthdev_runtime::handle::RuntimeHandle;

pub use pages::{ListErrorSlot, RunPages};
pub use synthdev_runtime::search::{SearchMatch, SearchSnippet, SearchTextKind};
pub use word_search::{FoundRun, FoundRuns, WordSearch, find_runs_by_words};

/// What a search says that finds nothing.
pub const NOTHING_FOUND: &str = "nothing found";

/// Why nothing is listed. Options are named as on the command line.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RunListError {
    #[error("there is no status `{}`", escape_name(.0))]
    UnknownStatus(String),
    #[error("--since is later than --until: no run can be between them")]
    EmptyPeriod,
    #[error("{0}: expected an amount of dollars, such as 0.50")]
    NoAmount(&'static str),
    #[error("--min-cost is above --max-cost: no run can be between them")]
    EmptyCostRange,
    #[error("nothing to look for: name a word")]
    NoWord,
    #[error("{}", .0.message)]
    Store(StoreError),
}

impl RunListError {
    /// What to do instead.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownStatus(_) => {
                Some(format!("one of {}", RunStatus::ALL.map(RunStatus::as_str).join(", ")))
            }
            Self::Store(error) => error.hint.clone(),
            Self::EmptyPeriod | Self::NoAmount(_) | Self::EmptyCostRange | Self::NoWord => None,
        }
    }
}

impl From<StoreError> for RunListError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A status as it was typed, in small or capital letters.
///
/// # Errors
/// There is none of that name.
pub fn parse_status(typed: &str) -> Result<RunStatus, RunListError> {
    let word = typed.trim().to_lowercase();
    let found = RunStatus::ALL.into_iter().find(|status| status.as_str() == word);
    found.ok_or_else(|| RunListError::UnknownStatus(typed.to_owned()))
}

/// Whether a run can be in the list.
///
/// # Errors
/// None can; or an amount is none.
pub fn check_query(query: &RunQuery) -> Result<(), RunListError> {
    if query.until.is_some_and(|until| query.since.is_some_and(|since| since > until)) {
        return Err(RunListError::EmptyPeriod);
    }
    for (option, usd) in [("--min-cost", query.min_cost), ("--max-cost", query.max_cost)] {
        if usd.is_some_and(|usd| !usd.is_finite() || usd < 0.0) {
            return Err(RunListError::NoAmount(option));
        }
    }
    if query.min_cost.zip(query.max_cost).is_some_and(|(min, max)| min > max) {
        return Err(RunListError::EmptyCostRange);
    }
    Ok(())
}

/// The runs that a query asks for, newest first.
///
/// # Errors
/// No run can be in the list, or the history cannot be read.
pub fn find_runs(handle: &RuntimeHandle, query: &RunQuery) -> Result<Vec<RunSummary>, RunListError> {
    check_query(query)?;
    Ok(handle.find_runs(query)?)
}

/// Places where all words were found, in the newest run first. `width`: characters around them.
///
/// # Errors
/// There is no word to look for, or the history cannot be read.
pub fn search_texts(
    handle: &RuntimeHandle,
    query: &SearchQuery,
    width: usize,
) -> Result<Vec<SearchMatch>, RunListError> {
    if !query.text.chars().any(char::is_alphanumeric) {
        return Err(RunListError::NoWord);
    }
    Ok(handle.search(query, width)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_domain::ids::Timestamp;

    #[test]
    fn a_status_is_read_in_any_letters() {
        for (typed, expected) in
            [("failed", Some(RunStatus::Failed)), (" PAUSED ", Some(RunStatus::Paused)), ("odd", None)]
        {
            assert_eq!(parse_status(typed).ok(), expected, "{typed}");
        }
    }

    #[test]
    fn what_no_run_can_answer_is_refused() {
        let at = |ms: i64| Some(Timestamp(ms));
        let rows = [
            (RunQuery::default(), None),
            (RunQuery { since: at(1), until: at(1), ..RunQuery::default() }, None),
            (RunQuery { since: at(2), until: at(1), ..RunQuery::default() }, Some(RunListError::EmptyPeriod)),
            (RunQuery { since: at(2), ..RunQuery::default() }, None),
            (
                RunQuery { min_cost: Some(f64::NAN), ..RunQuery::default() },
                Some(RunListError::NoAmount("--min-cost")),
            ),
            (
                RunQuery { max_cost: Some(-1.0), ..RunQuery::default() },
                Some(RunListError::NoAmount("--max-cost")),
            ),
            (
                RunQuery { min_cost: Some(2.0), max_cost: Some(1.0), ..RunQuery::default() },
                Some(RunListError::EmptyCostRange),
            ),
        ];
        for (query, expected) in rows {
            assert_eq!(check_query(&query).err(), expected, "{query:?}");
        }
    }
}
