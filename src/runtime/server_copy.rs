//! The copy of a run in the history of a machine that does not drive it: the rows that its server has.
//!
//! A process writes only while it holds the claim of the run, and only what is missing then: several may follow one run, and
//! a worker of this machine may take it over at any time.

use synthdev_domain::ids::RunId;
use synthdev_ports::run_server::RunNews;
use synthdev_ports::run_store::{RunStore, StoreError};

/// Adds what the copy lacks of the news; `known`: so many rows were known before them. `server` is its address, for people.
///
/// # Errors
/// The store cannot be written.
pub(super) fn write_news(
    store: &dyn RunStore,
    run: &RunId,
    server: &str,
    known: u64,
    news: &RunNews,
) -> Result<(), StoreError> {
    if news.is_same_history {
        return Ok(());
    }
    let copy = store.find(run.as_str()).ok().filter(|copy| copy.id == *run);
    match (&copy, &news.header) {
        (None, Some(header)) => store.create_remote(header, server)?,
        (None, None) => return Ok(()),
        (Some(copy), _) => {
            let is_told =
                news.progress.as_ref().is_none_or(|progress| progress.status == copy.progress.status);
            // one that is claimed is written by its worker, or by another process that follows it
            if news.rows.is_empty() && is_told || store.claim_remote(run).is_err() {
                return Ok(());
            }
        }
    }
    let written = write_missing(store, run, known, news);
    store.release(run);
    written
}

fn write_missing(store: &dyn RunStore, run: &RunId, known: u64, news: &RunNews) -> Result<(), StoreError> {
    let there = store.row_count(run)?;
    // the copy is further, or was made anew in between
    let Some(skipped) = there.checked_sub(known) else { return Ok(()) };
    let Some(missing) = usize::try_from(skipped).ok().and_then(|skipped| news.rows.get(skipped..)) else {
        return Ok(());
    };
    store.append(run, missing, news.progress.as_ref())
}
