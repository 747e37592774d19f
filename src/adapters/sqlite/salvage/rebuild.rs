//! Writes salvaged rows into a new history, run by run, and reads it back as any reader would.
//!
//! A run is its inputs in order: of a journal with a hole only the part before the hole is kept.

use std::collections::BTreeSet;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Transaction, params, params_from_iter};
use serde::de::IgnoredAny;

use super::damaged_history::DamagedHistory;
use super::indexes;
use crate::sqlite::process_liveness::ProcessLivenessCache;
use crate::sqlite::{blob, decode, read};
use synthdev_domain::journal::{JournalRow, RunStatus};

/// Totals of the new file so far.
#[derive(Default)]
pub(super) struct RescueTotals {
    pub(super) runs: u64,
    pub(super) rows: u64,
    pub(super) lost_items: Vec<String>,
}

/// One run on its way.
struct RunRescue<'a> {
    damaged: &'a DamagedHistory,
    transaction: &'a Transaction<'a>,
    /// Its key in both files.
    key: i64,
    id: String,
}

/// # Errors
/// The new file cannot be written.
pub(super) fn write_rescued(
    connection: &mut Connection,
    damaged: &DamagedHistory,
) -> rusqlite::Result<RescueTotals> {
    let mut saved = RescueTotals::default();
    let (keys, complete) = damaged.run_keys();
    if !complete {
        saved.lost_items.push("runs of which nothing can be read any more, if there are any".to_owned());
    }
    let mut missing = BTreeSet::new();
    for key in keys {
        match damaged.run(key) {
            Some(columns) => rescue_run(connection, damaged, (key, &columns), false, &mut saved)?,
            None => {
                missing.insert(key);
            }
        }
    }
    for (key, columns) in indexes::piece_together(damaged, &missing) {
        missing.remove(&key);
        rescue_run(connection, damaged, (key, &columns), true, &mut saved)?;
    }
    saved.lost_items.extend(missing.into_iter().map(|key| {
        let (rows, _) = damaged.rows_behind(key, 0);
        format!("a run whose beginning cannot be read (number {key}), with {rows} rows")
    }));
    connection
        .execute_batch("UPDATE counters SET runs = (SELECT coalesce(max(key), 0) FROM runs), claims = 0")?;
    Ok(saved)
}

/// A run by its key and columns; `pieced` if they come from indexes.
fn rescue_run(
    connection: &mut Connection,
    damaged: &DamagedHistory,
    (key, columns): (i64, &[Value]),
    pieced: bool,
    saved: &mut RescueTotals,
) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    let id = text_column(columns, 1).to_owned();
    let case = RunRescue { damaged, transaction: &transaction, key, id };
    if case.insert_run(columns, saved)? {
        if pieced {
            let what =
                "its input as lists show it, where it came from, and where it worked: it cannot be resumed";
            case.note_loss(saved, what);
        }
        case.insert_rows(saved)?;
        saved.runs += 1;
    }
    transaction.commit()
}

impl RunRescue<'_> {
    fn note_loss(&self, saved: &mut RescueTotals, what: &str) {
        saved.lost_items.push(format!("run {}: {what}", self.id));
    }

    /// The run and its progress; `false` if it makes no sense at all.
    fn insert_run(&self, columns: &[Value], saved: &mut RescueTotals) -> rusqlite::Result<bool> {
        let spec = match self.damaged.text(text_column(columns, 7)) {
            Some(spec) => spec,
            None => {
                self.note_loss(saved, "its definition: it can be found and searched, not shown or resumed");
                String::new()
            }
        };
        let spec = blob::store_text(self.transaction, &spec)?;
        let started = integer_column(columns, 6);
        let mut columns = columns.to_vec();
        columns[0] = Value::Integer(self.key);
        columns[7] = Value::Text(spec);
        let put = "INSERT OR IGNORE INTO runs VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13)";
        if self.transaction.execute(put, params_from_iter(&columns))? == 0 {
            self.note_loss(saved, "all of it: its values make no sense");
            return Ok(false);
        }
        if !self.insert_progress()? {
            self.note_loss(saved, "how far it had come; its rows tell it");
            self.insert_neutral_progress(started)?;
        }
        if !self.is_readable()? {
            // a run with a worktree keeps that fact, so that it does not continue in the project's files
            let plain = "UPDATE runs SET origin_run = NULL, origin_kind = NULL, origin_step = NULL,
                         worktree = CASE WHEN worktree IS NULL THEN NULL ELSE ?2 END WHERE key = ?1";
            self.transaction.execute(plain, params![self.key, indexes::unknown_worktree()])?;
            self.note_loss(saved, "where it came from and where it worked");
        }
        self.transaction.execute("INSERT INTO behind VALUES (?1, 0)", [self.key])?;
        if !self.is_readable()? {
            self.note_loss(saved, "all of it: its values make no sense");
            self.transaction.execute("DELETE FROM runs WHERE key = ?1", [self.key])?;
            return Ok(false);
        }
        Ok(true)
    }

    fn insert_progress(&self) -> rusqlite::Result<bool> {
        let Some(mut columns) = self.damaged.progress(self.key) else { return Ok(false) };
        // the run has no owner
        columns[1] = Value::Integer(0);
        let put =
            "INSERT OR IGNORE INTO progress VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16)";
        if self.transaction.execute(put, params_from_iter(&columns))? > 0 && self.is_readable()? {
            return Ok(true);
        }
        self.transaction.execute("DELETE FROM progress WHERE run = ?1", [self.key])?;
        Ok(false)
    }

    fn insert_neutral_progress(&self, at: i64) -> rusqlite::Result<()> {
        let put = "INSERT INTO progress(run, status, pid, process, updated, prompt, completion, cached, reasoning, path)
                   VALUES (?1, 'interrupted', 0, 'salvaged', ?2, 0, 0, 0, 0, '[]')";
        self.transaction.execute(put, params![self.key, at]).map(|_| ())
    }

    /// As lists read it.
    fn is_readable(&self) -> rusqlite::Result<bool> {
        let sql = format!("{} WHERE key = ?1", decode::SUMMARY);
        let mut statement = self.transaction.prepare_cached(&sql)?;
        let mut census = ProcessLivenessCache::default();
        let found = statement.query_row([self.key], |row| decode::decode_summary(row, &mut census));
        Ok(decode::if_readable(found.optional())?.flatten().is_some())
    }

    /// The rows before the first hole.
    fn insert_rows(&self, saved: &mut RescueTotals) -> rusqlite::Result<()> {
        let (mut kept, mut newest) = (0, i64::MIN);
        for seq in 1.. {
            let Some(row) = self.insert_row(seq)? else { break };
            newest = newest.max(row.at.0);
            kept = seq;
        }
        saved.rows += kept.unsigned_abs();
        let (read, last) = self.damaged.rows_behind(self.key, kept);
        let reached = self.last_updated()?;
        if last > kept {
            let more = if read == 0 {
                String::new()
            } else {
                format!(" ({read} of them can be read, but do not follow)")
            };
            self.note_loss(saved, &format!("its rows from {} to {last}{more}; {kept} are kept", kept + 1));
            self.cut_run(newest)
        } else if newest < reached && !self.ended_by_a_bug()? {
            self.note_loss(saved, &format!("its rows after the first {kept}"));
            self.cut_run(newest)
        } else {
            self.insert_tokens()
        }
    }

    /// Puts a row into the new file; `None` if it is not there or makes no sense.
    fn insert_row(&self, seq: i64) -> rusqlite::Result<Option<JournalRow>> {
        let Some(mut columns) = self.damaged.journal_row(self.key, seq) else { return Ok(None) };
        columns[6] = match &columns[6] {
            Value::Null => Value::Null,
            Value::Text(hash) => match self.damaged.text(hash) {
                Some(long) => Value::Text(blob::store_text(self.transaction, &long)?),
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        let mut put = self
            .transaction
            .prepare_cached("INSERT OR IGNORE INTO rows VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9)")?;
        if put.execute(params_from_iter(&columns))? == 0 {
            return Ok(None);
        }
        let mut look = self.transaction.prepare_cached(read::ONE_ROW)?;
        let row = look.query_row([self.key, seq], decode::journal_row);
        let row =
            decode::if_readable(row)?.filter(|row| serde_json::from_str::<IgnoredAny>(&row.body).is_ok());
        if row.is_none() {
            self.transaction.execute("DELETE FROM rows WHERE run = ?1 AND seq = ?2", [self.key, seq])?;
        }
        Ok(row)
    }

    fn last_updated(&self) -> rusqlite::Result<i64> {
        let sql = "SELECT updated FROM progress WHERE run = ?1";
        self.transaction.query_row(sql, [self.key], |row| row.get(0))
    }

    /// Such an end is the only one that no row shows.
    fn ended_by_a_bug(&self) -> rusqlite::Result<bool> {
        let sql = "SELECT error LIKE '{\"code\":\"bug\"%' FROM progress WHERE run = ?1";
        let bug: Option<bool> = self.transaction.query_row(sql, [self.key], |row| row.get(0))?;
        Ok(bug.unwrap_or(false))
    }

    /// It ends earlier than it did: what its end was is no longer true.
    fn cut_run(&self, newest: i64) -> rusqlite::Result<()> {
        let sql =
            "UPDATE progress SET status = ?2, updated = max(?3, (SELECT started FROM runs WHERE key = ?1)),
                     pauses = NULL, error = NULL, output = NULL WHERE run = ?1";
        let status = RunStatus::Interrupted.as_str();
        self.transaction.execute(sql, params![self.key, status, newest]).map(|_| ())
    }

    fn insert_tokens(&self) -> rusqlite::Result<()> {
        let put = "INSERT OR IGNORE INTO tokens VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)";
        for token in self.damaged.tokens(self.key) {
            self.transaction.execute(put, params_from_iter(token))?;
        }
        Ok(())
    }
}

fn text_column(columns: &[Value], at: usize) -> &str {
    match columns.get(at) {
        Some(Value::Text(text)) => text,
        _ => "",
    }
}

fn integer_column(columns: &[Value], at: usize) -> i64 {
    match columns.get(at) {
        Some(Value::Integer(number)) => *number,
        _ => 0,
    }
}
