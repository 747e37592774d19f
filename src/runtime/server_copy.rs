//! The copy of a run in the history of a machine that does not drive it: the rows that its server has.
//!
//! A process writes only while it holds the claim of the run, and only what is missing then: several may follow one run, and
//! a worker of this machine may take it over at any time.

use std::time::Duration;

use tokio::time::sleep;

use synthdev_domain::ids::RunId;
use synthdev_domain::journal::RunProgress;
use synthdev_ports::run_server::{FollowCursor, RunNews, RunServer};
use synthdev_ports::run_store::{RunStore, StoreError};

/// Another process that writes the copy holds its claim for moments.
const BETWEEN_CLAIMS: Duration = Duration::from_millis(20);
pub(super) const CLAIMS: u32 = 50;

/// What a copy has of the news.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CopyState {
    Complete,
    /// Another process has the claim, or earlier rows are missing.
    Behind,
}

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
) -> Result<CopyState, StoreError> {
    if news.is_same_history {
        return Ok(CopyState::Complete);
    }
    let copy = store.find(run.as_str()).ok().filter(|copy| copy.id == *run);
    let before = match (copy, &news.header) {
        (None, Some(header)) => {
            store.create_remote(header, server)?;
            None
        }
        (None, None) => return Ok(CopyState::Complete),
        (Some(copy), _) => {
            let is_told = told_progress(news).is_none_or(|told| told.status == copy.progress.status);
            if news.rows.is_empty() && is_told {
                return Ok(CopyState::Complete);
            }
            let Ok(claimed) = store.claim_remote(run) else { return Ok(CopyState::Behind) };
            Some(claimed.progress)
        }
    };
    let written = write_missing(store, run, known, news, before.as_ref());
    store.release(run);
    written
}

/// `before`: as the copy was before it was claimed, for the claim sets it going.
fn write_missing(
    store: &dyn RunStore,
    run: &RunId,
    known: u64,
    news: &RunNews,
    before: Option<&RunProgress>,
) -> Result<CopyState, StoreError> {
    let Some(skipped) = store.row_count(run)?.checked_sub(known) else {
        store.append(run, &[], before)?;
        return Ok(CopyState::Behind);
    };
    let missing = usize::try_from(skipped).ok().and_then(|skipped| news.rows.get(skipped..));
    let told = told_progress(news);
    match missing {
        // the copy is further
        None => store.append(run, &[], before)?,
        Some([]) => {
            let newer = told.filter(|told| before.is_none_or(|before| before.updated <= told.updated));
            store.append(run, &[], newer.or(before))?;
        }
        Some(missing) => store.append(run, missing, told)?,
    }
    Ok(CopyState::Complete)
}

/// A copy that says how its run ended is not asked for again: it must have all rows by then.
fn told_progress(news: &RunNews) -> Option<&RunProgress> {
    news.progress.as_ref().filter(|_| !news.has_more)
}

/// Completes the copy of a run, from where it stands. One that another process holds still after so many `claims` more
/// stays as it is.
///
/// # Errors
/// The server does not know the run or cannot be reached, or the store cannot be written. The run has not begun: `None`.
pub(super) async fn complete_copy(
    store: &dyn RunStore,
    server: &dyn RunServer,
    run: &RunId,
    mut claims: u32,
) -> Result<Option<CopyState>, StoreError> {
    let known_rows = || {
        let is_known = store.find(run.as_str()).is_ok_and(|copy| copy.id == *run);
        if is_known { store.row_count(run).map(Some) } else { Ok(None) }
    };
    let known = known_rows()?;
    let mut cursor = FollowCursor { rows: known.unwrap_or(0), ..FollowCursor::default() };
    loop {
        let news = server.look(run, cursor).await?;
        if known.is_none() && news.header.is_none() && cursor.rows == 0 {
            return Ok(None);
        }
        match write_news(store, run, server.address(), cursor.rows, &news)? {
            CopyState::Complete if news.has_more => cursor = news.cursor,
            CopyState::Behind if claims > 0 => {
                claims -= 1;
                sleep(BETWEEN_CLAIMS).await;
                cursor = FollowCursor { rows: known_rows()?.unwrap_or(0), ..FollowCursor::default() };
            }
            state => return Ok(Some(state)),
        }
    }
}
