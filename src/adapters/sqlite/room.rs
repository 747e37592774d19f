//! Removing runs, and how much room the history takes.

use std::collections::HashSet;
use std::path::Path;

use rusqlite::{Connection, Transaction};

use super::claim::driver_of;
use super::refusal::{Outcome, Refusal};
use super::write::{Writer, begin, key_of};
use super::{blob, glance, sync, words};
use crate::domain::ids::{RunId, Timestamp};
use crate::domain::journal::{Freed, RunStatus, Space};

/// Runs that one transaction removes: other writers wait for it.
const BATCH: usize = 50;

impl Writer {
    /// Whether all of them can be removed; a refusal names the run it is about.
    pub(super) fn may_delete(&self, runs: &[RunId]) -> Outcome<()> {
        let moment = self.connection.unchecked_transaction()?;
        for run in runs {
            if let Err(refusal) = removable(&moment, run)? {
                return Ok(Err(refusal));
            }
        }
        Ok(Ok(()))
    }

    /// Removes the first ones of `runs`, and takes them off it.
    pub(super) fn delete_some(&mut self, runs: &mut Vec<RunId>) -> Outcome<Freed> {
        let transaction = begin(&mut self.connection)?;
        let mut freed = Freed::default();
        let batch: Vec<RunId> = runs.iter().take(BATCH).cloned().collect();
        for run in &batch {
            match removable(&transaction, run)? {
                Ok(key) => freed.bytes += remove(&transaction, key)?,
                Err(refusal) => return Ok(Err(refusal)),
            }
            freed.runs += 1;
        }
        transaction.commit()?;
        runs.drain(..batch.len());
        for run in &batch {
            self.desks.remove(run);
        }
        Ok(Ok(freed))
    }
}

/// What removing them would free; runs that are gone weigh nothing. Nobody waits for it.
pub(super) fn weigh(connection: &Connection, runs: &[RunId]) -> rusqlite::Result<Freed> {
    let moment = connection.unchecked_transaction()?;
    let mut keys = HashSet::new();
    for run in runs {
        keys.extend(key_of(&moment, run)?);
    }
    let mut freed = Freed { runs: keys.len(), bytes: 0 };
    let mut texts = HashSet::new();
    for key in &keys {
        freed.bytes += row_bytes(&moment, *key)? + glance::weigh(&moment, *key)?;
        texts.extend(blob::of_run(&moment, *key)?);
    }
    for text in &texts {
        freed.bytes += blob::weigh(&moment, text, &keys)?;
    }
    Ok(freed)
}

/// `space` of a database that exists.
pub(super) fn space(connection: &Connection, path: &Path) -> rusqlite::Result<Space> {
    let moment = connection.unchecked_transaction()?;
    let number = |sql: &str| moment.query_row(sql, [], |row| row.get::<_, i64>(0)).map(size);
    let page = number("PRAGMA page_size")?;
    let oldest = moment.query_row("SELECT min(started) FROM runs", [], |row| row.get::<_, Option<i64>>(0))?;
    Ok(Space {
        file_bytes: page * number("PRAGMA page_count")? + sync::log_bytes(path),
        free_bytes: page * number("PRAGMA freelist_count")?,
        runs: number("SELECT count(*) FROM runs")?,
        // rows are numbered without gaps
        rows: number("SELECT coalesce(sum((SELECT max(seq) FROM rows WHERE run = key)), 0) FROM runs")?,
        blobs_bytes: number("SELECT coalesce(sum(length(bytes)), 0) FROM blobs")?,
        index_bytes: number(
            "SELECT coalesce(sum(pgsize), 0) FROM dbstat WHERE aggregate = TRUE
             AND name IN ('words_data', 'words_idx', 'words_docsize', 'words_config')",
        )?,
        glances_bytes: number("SELECT coalesce(sum(octet_length(body)), 0) FROM glances")?,
        oldest: oldest.map(Timestamp),
    })
}

/// Its key, unless a living process is running it.
fn removable(transaction: &Transaction<'_>, run: &RunId) -> Outcome<i64> {
    Ok(match driver_of(transaction, run)? {
        None => Err(Refusal::UnknownOf { run: run.clone() }),
        Some((driver, summary)) if summary.progress.status == RunStatus::Running => {
            Err(Refusal::StillRunning { run: run.clone(), pid: driver.pid })
        }
        Some((driver, _)) => Ok(driver.key),
    })
}

/// The run with all that hangs on it; the bytes of its rows and of the texts that only it used.
fn remove(transaction: &Transaction<'_>, key: i64) -> rusqlite::Result<u64> {
    let texts = blob::of_run(transaction, key)?;
    let rows = row_bytes(transaction, key)? + glance::weigh(transaction, key)?;
    words::forget(transaction, key)?;
    // rows, progress, glance, tokens and the mark of the index go with it
    transaction.prepare_cached("DELETE FROM runs WHERE key = ?1")?.execute([key])?;
    let mut bytes = rows;
    for text in &texts {
        bytes += blob::remove_orphan(transaction, text)?;
    }
    Ok(bytes)
}

fn row_bytes(connection: &Connection, key: i64) -> rusqlite::Result<u64> {
    connection
        .prepare_cached("SELECT coalesce(sum(octet_length(body)), 0) FROM rows WHERE run = ?1")?
        .query_row([key], |row| row.get(0).map(size))
}

fn size(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
