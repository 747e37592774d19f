//! Removing runs, and how much room the history takes.

use std::collections::HashSet;
use std::path::Path;
use std::thread;
use std::time::Instant;

use rusqlite::{Connection, Transaction};

use super::run_ownership::{check_commands_ended, find_owner};
use super::write::{StoreWriter, begin_write, find_run_key};
use super::write_refusal::{StoreRefusal, StoreWriteResult};
use super::{blob, full_text_index, preview, run_state, wal_sync};
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::{HistoryStorageUsage, ReclaimedSpace, RunStatus};
use synthdev_ports::run_store::StoreError;

/// Runs that one transaction removes: other writers wait for it.
const BATCH: usize = 50;

impl StoreWriter {
    /// Whether all of them can be removed; a refusal names the run it is about.
    pub(super) fn may_delete(&self, runs: &[RunId]) -> StoreWriteResult<()> {
        let moment = self.connection.unchecked_transaction()?;
        for run in runs {
            if let Err(refusal) = removable_key(&moment, run)? {
                return Ok(Err(refusal));
            }
        }
        Ok(Ok(()))
    }

    /// Removes the first ones of `runs`, and takes them off it.
    pub(super) fn delete_some(&mut self, runs: &mut Vec<RunId>) -> StoreWriteResult<ReclaimedSpace> {
        let transaction = begin_write(&mut self.connection)?;
        let mut freed = ReclaimedSpace::default();
        let batch: Vec<RunId> = runs.iter().take(BATCH).cloned().collect();
        for run in &batch {
            match removable_key(&transaction, run)? {
                Ok(key) => freed.bytes += remove_run(&transaction, key)?,
                Err(refusal) => return Ok(Err(refusal)),
            }
            freed.runs += 1;
        }
        transaction.commit()?;
        runs.drain(..batch.len());
        for run in &batch {
            self.driven_runs.remove(run);
        }
        Ok(Ok(freed))
    }
}

/// The space that removing these runs would free; unknown runs count as zero. A read transaction, so no writer waits.
pub(super) fn weigh_runs(connection: &Connection, runs: &[RunId]) -> rusqlite::Result<ReclaimedSpace> {
    let moment = connection.unchecked_transaction()?;
    let mut keys = HashSet::new();
    for run in runs {
        keys.extend(find_run_key(&moment, run)?);
    }
    let mut freed = ReclaimedSpace { runs: keys.len(), bytes: 0 };
    let mut texts = HashSet::new();
    for key in &keys {
        freed.bytes += own_bytes(&moment, *key)?;
        texts.extend(blob::hashes_used_by(&moment, *key)?);
    }
    for text in &texts {
        freed.bytes += blob::weigh_blob(&moment, text, &keys)?;
    }
    Ok(freed)
}

pub(super) fn count_runs(connection: &Connection) -> rusqlite::Result<u64> {
    connection.query_row("SELECT count(*) FROM runs", [], |row| row.get(0)).map(saturate_to_u64)
}

/// `read_space` of a database that exists.
pub(super) fn read_space(connection: &Connection, path: &Path) -> rusqlite::Result<HistoryStorageUsage> {
    let moment = connection.unchecked_transaction()?;
    let number = |sql: &str| moment.query_row(sql, [], |row| row.get::<_, i64>(0)).map(saturate_to_u64);
    let page = number("PRAGMA page_size")?;
    let oldest = moment.query_row("SELECT min(started) FROM runs", [], |row| row.get::<_, Option<i64>>(0))?;
    Ok(HistoryStorageUsage {
        file_bytes: page * number("PRAGMA page_count")? + wal_sync::log_bytes(path),
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
        states_bytes: number("SELECT coalesce(sum(octet_length(body)), 0) FROM states")?,
        oldest: oldest.map(Timestamp),
    })
}

/// The index forgets removed runs only in time, and counts in the history's size until then. What cannot be done now is
/// done when the index grows. `shrink` does a part, the first one with `true`; `false`: there is no more.
pub(super) fn shrink_gradually(shrink: impl Fn(bool) -> Result<bool, StoreError>) {
    let mut begins = true;
    loop {
        let start = Instant::now();
        if !shrink(begins).is_ok_and(|more| more) {
            return;
        }
        begins = false;
        thread::sleep(start.elapsed() / 2);
    }
}

/// Its key, unless a living process is running it.
fn removable_key(transaction: &Transaction<'_>, run: &RunId) -> StoreWriteResult<i64> {
    Ok(match find_owner(transaction, run)? {
        None => Err(StoreRefusal::UnknownOf { run: run.clone() }),
        Some((owner, summary)) if summary.progress.status == RunStatus::Running => {
            Err(StoreRefusal::StillRunning { run: run.clone(), pid: owner.pid })
        }
        Some((owner, _)) => check_commands_ended(transaction, &owner)?.map(|()| owner.key),
    })
}

/// The run with all that hangs on it; the bytes of its rows and of the texts that only it used.
fn remove_run(transaction: &Transaction<'_>, key: i64) -> rusqlite::Result<u64> {
    let texts = blob::hashes_used_by(transaction, key)?;
    let own = own_bytes(transaction, key)?;
    full_text_index::remove_run(transaction, key)?;
    // rows, progress, preview, state, tokens and the mark of the index are deleted with it
    transaction.prepare_cached("DELETE FROM runs WHERE key = ?1")?.execute([key])?;
    let mut bytes = own;
    for text in &texts {
        bytes += blob::remove_orphan(transaction, text)?;
    }
    Ok(bytes)
}

/// Of its rows, preview and state.
fn own_bytes(connection: &Connection, key: i64) -> rusqlite::Result<u64> {
    let rows = connection
        .prepare_cached("SELECT coalesce(sum(octet_length(body)), 0) FROM rows WHERE run = ?1")?
        .query_row([key], |row| row.get(0).map(saturate_to_u64))?;
    Ok(rows + preview::weigh_preview(connection, key)? + run_state::weigh_state(connection, key)?)
}

fn saturate_to_u64(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
