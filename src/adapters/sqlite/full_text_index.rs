//! The search index: which words occur in which row. It has no texts and can always be rebuilt from the rows.
//!
//! Appending costs nothing for it: words wait in memory until `sync`, a search or the end of the store. A kill loses only
//! the queue; `behind` has the first row that is not indexed, and the next search catches up.

use std::borrow::Cow;

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::write::{StoreWriter, begin_write, input_words};
use super::{decode, read, schema};
use synthdev_domain::word_boundaries::is_cjk_letter;
use synthdev_ports::run_store::SearchTextOfRow;

/// One transaction of the index at most: other writers wait for it.
const BATCH_ROWS: usize = 500;
const BATCH_BYTES: usize = 1 << 20;

/// Number of a row in the index. A run has fewer than 2^32 rows: at one a millisecond that is seven weeks.
pub(super) fn join_row_id(key: i64, seq: i64) -> i64 {
    key << 32 | seq
}

/// The run's key and the row's `seq`.
pub(super) fn split_row_id(number: i64) -> (i64, i64) {
    (number >> 32, number & 0xffff_ffff)
}

impl StoreWriter {
    /// Writes a part of what waits; `false` when nothing does. What cannot be written is left to the next search.
    pub(super) fn index_waiting(&mut self) -> rusqlite::Result<bool> {
        let Some(waiting) = self.queue.take_batch() else { return Ok(false) };
        let transaction = begin_write(&mut self.connection)?;
        // the mark is gone when the run was removed
        let Some(next) = indexed_upto(&transaction, waiting.key)? else { return Ok(true) };
        if next < waiting.from {
            return Ok(true);
        }
        for (seq, text) in &waiting.texts {
            if *seq >= next {
                insert_text(&transaction, waiting.key, *seq, text)?;
            }
        }
        set_indexed_upto(&transaction, waiting.key, waiting.upto)?;
        transaction.commit()?;
        Ok(true)
    }

    /// Indexes a part of the missing rows; `false` when none are left.
    pub(super) fn index_missing(&mut self, words: SearchTextOfRow<'_>) -> rusqlite::Result<bool> {
        let transaction = begin_write(&mut self.connection)?;
        let late = runs_behind(&transaction, BATCH_ROWS)?;
        let mut batch = SearchIndexBatch { transaction: &transaction, rows: 0, bytes: 0 };
        let mut runs = late.iter();
        while !batch.is_full()
            && let Some((key, next)) = runs.next()
        {
            batch.index_run(*key, *next, words)?;
        }
        let more = batch.is_full();
        transaction.commit()?;
        Ok(more)
    }
}

/// Pages of the index that one transaction merges.
const MERGED_PAGES: i64 = 500;

impl StoreWriter {
    /// Frees a part of what removed runs still take in the index; `false` when nothing is left to free. `begins`: it is
    /// the first of these calls.
    pub(super) fn shrink_index(&mut self, begins: bool) -> rusqlite::Result<bool> {
        let pages = if begins { -MERGED_PAGES } else { MERGED_PAGES };
        let transaction = begin_write(&mut self.connection)?;
        let changes = || transaction.query_row("SELECT total_changes()", [], |row| row.get::<_, i64>(0));
        let before = changes()?;
        transaction.execute("INSERT INTO words(words, rank) VALUES('merge', ?1)", [pages])?;
        // the insertion itself counts as one
        let merged = changes()? - before > 1;
        transaction.commit()?;
        Ok(merged)
    }
}

/// One transaction's share of the missing rows.
struct SearchIndexBatch<'a> {
    transaction: &'a Transaction<'a>,
    rows: usize,
    bytes: usize,
}

impl SearchIndexBatch<'_> {
    fn is_full(&self) -> bool {
        self.rows >= BATCH_ROWS || self.bytes > BATCH_BYTES
    }

    /// From `next` on, as far as the batch goes.
    fn index_run(&mut self, key: i64, mut next: i64, words: SearchTextOfRow<'_>) -> rusqlite::Result<()> {
        if next == 0 {
            insert_text(self.transaction, key, 0, &run_words(self.transaction, key)?)?;
            self.rows += 1;
            next = 1;
        }
        let mut statement = self.transaction.prepare_cached(read::ROWS_FROM)?;
        let mut found = statement.query([key, next])?;
        while !self.is_full()
            && let Some(row) = found.next()?
        {
            let seq = row.get(7)?;
            let journaled = decode::if_readable(decode::journal_row(row))?;
            self.bytes += journaled.as_ref().map_or(0, |row| row.body.len());
            if let Some(text) = journaled.and_then(|row| words(&row)) {
                insert_text(self.transaction, key, seq, &text)?;
            }
            self.rows += 1;
            next = seq + 1;
        }
        drop(found);
        set_indexed_upto(self.transaction, key, next)
    }
}

/// An empty index in the place of a damaged one; the rows wait for it.
pub(super) fn recreate_index(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = begin_write(connection)?;
    schema::renew_words(&transaction)?;
    transaction.commit()
}

/// Whether some rows are not in the index, queued or not.
pub(super) fn is_behind(connection: &Connection) -> rusqlite::Result<bool> {
    runs_behind(connection, 1).map(|late| !late.is_empty())
}

/// Removes a run from the index.
pub(super) fn remove_run(transaction: &Transaction<'_>, key: i64) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("DELETE FROM words WHERE rowid >= ?1 AND rowid < ?2")?
        .execute([join_row_id(key, 0), join_row_id(key + 1, 0)])?;
    Ok(())
}

/// Key and first missing `seq` of runs whose index ends before their rows.
fn runs_behind(connection: &Connection, limit: usize) -> rusqlite::Result<Vec<(i64, i64)>> {
    connection
        .prepare_cached(
            "SELECT run, next FROM behind
             WHERE next = 0 OR EXISTS (SELECT 1 FROM rows WHERE rows.run = behind.run AND seq >= next)
             ORDER BY run DESC LIMIT ?1",
        )?
        .query_map([i64::try_from(limit).unwrap_or(-1)], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

fn indexed_upto(transaction: &Transaction<'_>, key: i64) -> rusqlite::Result<Option<i64>> {
    transaction
        .prepare_cached("SELECT next FROM behind WHERE run = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()
}

/// Rows before `upto` are indexed. The mark of a run that is over and has no more rows is not needed.
fn set_indexed_upto(transaction: &Transaction<'_>, key: i64, upto: i64) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("UPDATE behind SET next = max(next, ?2) WHERE run = ?1")?
        .execute([key, upto])?;
    transaction
        .prepare_cached(
            "DELETE FROM behind WHERE run = ?1
               AND (SELECT status FROM progress WHERE run = ?1) IN ('completed', 'failed', 'cancelled')
               AND next > (SELECT coalesce(max(seq), 0) FROM rows WHERE run = ?1)",
        )?
        .execute([key])?;
    Ok(())
}

/// Puts spaces around characters that are words: the index splits words at separators.
pub(super) fn separate_words(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || !text.contains(is_cjk_letter) {
        return Cow::Borrowed(text);
    }
    let mut parted = String::with_capacity(text.len() * 4 / 3);
    let mut alone = false;
    for c in text.chars() {
        let before = std::mem::replace(&mut alone, is_cjk_letter(c));
        if (before || alone)
            && !parted.is_empty()
            && !parted.ends_with(char::is_whitespace)
            && !c.is_whitespace()
        {
            parted.push(' ');
        }
        parted.push(c);
    }
    Cow::Owned(parted)
}

fn insert_text(transaction: &Transaction<'_>, key: i64, seq: i64, text: &str) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("INSERT INTO words(rowid, text) VALUES (?1, ?2)")?
        .execute(params![join_row_id(key, seq), separate_words(text)])?;
    Ok(())
}

fn run_words(transaction: &Transaction<'_>, key: i64) -> rusqlite::Result<String> {
    transaction
        .prepare_cached("SELECT workflow, input FROM runs WHERE key = ?1")?
        .query_row([key], |row| Ok(input_words(row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?)))
}
