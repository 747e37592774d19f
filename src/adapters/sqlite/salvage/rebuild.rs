//! Writes salvaged rows into a new history, run by run, and reads it back as any reader would.
//!
//! A run is its inputs in order: of a journal with a hole only the part before the hole is kept.

use std::collections::BTreeMap;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, ToSql, Transaction, params, params_from_iter};
use serde::de::IgnoredAny;
use sha2::{Digest, Sha256};

use super::indexes;
use super::pages::DatabasePages;
use super::record_format::SqliteColumnValue;
use super::salvaged_rows::{self, SalvagedRows};
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
    pages: &'a DatabasePages,
    salvaged: &'a SalvagedRows,
    transaction: &'a Transaction<'a>,
    /// Its key in both files.
    key: i64,
    id: String,
}

impl ToSql for SqliteColumnValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// # Errors
/// The new file cannot be written.
pub(super) fn write_rescued(
    connection: &mut Connection,
    pages: &DatabasePages,
    mut found: SalvagedRows,
) -> rusqlite::Result<RescueTotals> {
    let mut saved = RescueTotals { lost_items: pages.notes.clone(), ..RescueTotals::default() };
    let pieced = indexes::restore_indexes(pages, &mut found);
    let found = &found;
    for (key, fields) in &found.runs {
        let transaction = connection.transaction()?;
        let id = text_field(fields, 1).unwrap_or_default().to_owned();
        let case = RunRescue { pages, salvaged: found, transaction: &transaction, key: *key, id };
        if case.insert_run(fields, &mut saved)? {
            if pieced.contains(key) {
                case.note_loss(&mut saved, "its input as lists show it, where it came from, and where it worked: it cannot be resumed");
            }
            case.insert_rows(&mut saved)?;
            saved.runs += 1;
        }
        transaction.commit()?;
    }
    saved.lost_items.extend(runs_without_header(found));
    connection
        .execute_batch("UPDATE counters SET runs = (SELECT coalesce(max(key), 0) FROM runs), claims = 0")?;
    Ok(saved)
}

/// The salvaged parts of runs without a header.
fn runs_without_header(found: &SalvagedRows) -> Vec<String> {
    let mut rows: BTreeMap<i64, u64> = found.progress.keys().map(|key| (*key, 0)).collect();
    found.rows.keys().for_each(|(key, _)| *rows.entry(*key).or_default() += 1);
    rows.retain(|key, _| !found.runs.contains_key(key));
    let line = |(key, rows)| format!("a run whose beginning cannot be read (number {key}), with {rows} rows");
    rows.into_iter().map(line).collect()
}

impl RunRescue<'_> {
    fn note_loss(&self, saved: &mut RescueTotals, what: &str) {
        saved.lost_items.push(format!("run {}: {what}", self.id));
    }

    /// The run and its progress; `false` if it makes no sense at all.
    fn insert_run(&self, fields: &[SqliteColumnValue], saved: &mut RescueTotals) -> rusqlite::Result<bool> {
        let spec = match self.stored_text(text_field(fields, 7).unwrap_or_default()) {
            Some(spec) => spec,
            None => {
                self.note_loss(saved, "its definition: it can be found and searched, not shown or resumed");
                String::new()
            }
        };
        let spec = blob::store_text(self.transaction, &spec)?;
        let mut columns = fields.to_vec();
        columns.resize(12, SqliteColumnValue::Null);
        columns[0] = SqliteColumnValue::Integer(self.key);
        columns[7] = SqliteColumnValue::Text(spec);
        // a second run of the same id is from an unused page
        let put = "INSERT OR IGNORE INTO runs VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12)";
        if self.transaction.execute(put, params_from_iter(&columns))? == 0 {
            return Ok(false);
        }
        if !self.insert_progress()? {
            self.note_loss(saved, "how far it had come; its rows tell it");
            self.insert_neutral_progress(text_time(fields))?;
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
        let Some(fields) = self.salvaged.progress.get(&self.key) else { return Ok(false) };
        let mut columns = fields.clone();
        columns[0] = SqliteColumnValue::Integer(self.key);
        // the run has no driver
        columns[1] = SqliteColumnValue::Integer(0);
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
        let there = self.salvaged.rows.range((self.key, 0)..(self.key + 1, 0)).count();
        let (mut kept, mut newest) = (0, i64::MIN);
        for seq in 1.. {
            let Some(row) = self.insert_row(seq)? else { break };
            newest = newest.max(row.at.0);
            kept = seq;
        }
        saved.rows += kept.unsigned_abs();
        let last = self.salvaged.rows.range((self.key, 0)..(self.key + 1, 0)).next_back();
        let last = last.map_or(0, |((_, seq), _)| *seq);
        let reached = self.last_updated()?;
        if last > kept {
            let read = there.saturating_sub(usize::try_from(kept).unwrap_or(0));
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
        let spot = self.salvaged.rows.get(&(self.key, seq));
        let Some(mut columns) = spot.and_then(|spot| salvaged_rows::read_cell(self.pages, *spot)) else {
            return Ok(None);
        };
        columns.resize(9, SqliteColumnValue::Null);
        if let SqliteColumnValue::Text(hash) = &columns[6] {
            let Some(long) = self.stored_text(hash) else { return Ok(None) };
            columns[6] = SqliteColumnValue::Text(blob::store_text(self.transaction, &long)?);
        }
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

    /// A text that is stored by its hash, if it is still what it was.
    fn stored_text(&self, hash: &str) -> Option<String> {
        let fields = salvaged_rows::read_cell(self.pages, *self.salvaged.blobs.get(hash)?)?;
        let Some(SqliteColumnValue::Blob(bytes)) = fields.into_iter().nth(1) else { return None };
        (blob::to_hex(&Sha256::digest(&bytes)) == hash).then(|| String::from_utf8(bytes).ok())?
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
        for token in
            self.salvaged.tokens.iter().filter(|token| token[1] == SqliteColumnValue::Integer(self.key))
        {
            self.transaction.execute(put, params_from_iter(token))?;
        }
        Ok(())
    }
}

fn text_field(fields: &[SqliteColumnValue], at: usize) -> Option<&str> {
    match fields.get(at) {
        Some(SqliteColumnValue::Text(text)) => Some(text),
        _ => None,
    }
}

/// When the run began.
fn text_time(fields: &[SqliteColumnValue]) -> i64 {
    match fields.get(6) {
        Some(SqliteColumnValue::Integer(at)) => *at,
        _ => 0,
    }
}
