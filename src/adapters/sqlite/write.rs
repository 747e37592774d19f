//! Starting a run and appending to it: one transaction each.

use std::collections::HashMap;

use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior, params};
use sha2::{Digest, Sha256};

use super::process;
use crate::domain::ids::RunId;
use crate::domain::journal::{Row, RowKind, RunHeader, RunProgress};

/// Longer bodies are stored once by content hash (architecture §7).
const INLINE_LIMIT: usize = 128 * 1024;
/// Characters of a long body that stay in its row.
const PREVIEW: usize = 200;

/// The writing connection with what it needs not look up again.
#[derive(Debug)]
pub(super) struct Writer {
    connection: Connection,
    keys: HashMap<RunId, i64>,
    pid: u32,
    process: String,
}

/// A call that was understood and declined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refusal {
    Exists,
    Unknown,
}

impl Writer {
    pub(super) fn new(connection: Connection) -> Self {
        let pid = std::process::id();
        Self { connection, keys: HashMap::new(), pid, process: process::identity(pid) }
    }

    pub(super) fn create(&mut self, header: &RunHeader) -> rusqlite::Result<Result<(), Refusal>> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let spec = store_blob(&transaction, &header.spec)?;
        let inserted = transaction
            .prepare_cached(
                "INSERT INTO runs(id, workflow, definition_hash, input, project, started, spec)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![
                header.id.0,
                header.workflow,
                header.definition_hash,
                header.input,
                header.project,
                header.started.0,
                spec
            ]);
        match inserted {
            Ok(_) => {}
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
                return Ok(Err(Refusal::Exists));
            }
            Err(error) => return Err(error),
        }
        let key = transaction.last_insert_rowid();
        let process =
            if header.pid == self.pid { self.process.clone() } else { process::identity(header.pid) };
        write_progress(&transaction, key, &RunProgress::begun(header.started), header.pid, &process)?;
        transaction.commit()?;
        self.keys.insert(header.id.clone(), key);
        Ok(Ok(()))
    }

    /// All rows and the progress, or nothing.
    pub(super) fn append(
        &mut self,
        run: &RunId,
        rows: &[Row],
        progress: Option<&RunProgress>,
    ) -> rusqlite::Result<Result<(), Refusal>> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let key = match self.keys.get(run) {
            Some(key) => *key,
            None => match key_of(&transaction, run)? {
                Some(key) => *self.keys.entry(run.clone()).or_insert(key),
                None => return Ok(Err(Refusal::Unknown)),
            },
        };
        append_rows(&transaction, key, rows)?;
        if let Some(progress) = progress {
            write_progress(&transaction, key, progress, self.pid, &self.process)?;
        }
        transaction.commit()?;
        Ok(Ok(()))
    }
}

fn key_of(transaction: &Transaction<'_>, run: &RunId) -> rusqlite::Result<Option<i64>> {
    transaction
        .prepare_cached("SELECT key FROM runs WHERE id = ?1")?
        .query_row([run.as_str()], |row| row.get(0))
        .optional()
}

/// Numbers are given inside the transaction, so two processes never give the same one.
fn append_rows(transaction: &Transaction<'_>, key: i64, rows: &[Row]) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(
        "INSERT INTO rows(run, seq, kind, at, call, body, blob, length)
         VALUES (?1, (SELECT coalesce(max(seq), 0) + 1 FROM rows WHERE run = ?1), ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for row in rows {
        let kind = match row.kind {
            RowKind::Intent => "intent",
            RowKind::Input => "input",
        };
        let long = row.body.len() > INLINE_LIMIT;
        let blob = if long { Some(store_blob(transaction, &row.body)?) } else { None };
        let body = if long { preview(&row.body) } else { row.body.as_str() };
        // call ids are counted from zero: they stay far below 2^63
        let call = row.call.map(|call| call.0.cast_signed());
        insert.execute(params![key, kind, row.at.0, call, body, blob, count(row.body.len() as u64)])?;
    }
    Ok(())
}

fn write_progress(
    transaction: &Transaction<'_>,
    key: i64,
    progress: &RunProgress,
    pid: u32,
    process: &str,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO progress(run, status, path, prompt, completion, cached, reasoning,
               cost_usd, snapshot, output, error, updated, pid, process)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        )?
        .execute(params![
            key,
            progress.status.as_str(),
            json(&progress.path)?,
            count(progress.usage.prompt),
            count(progress.usage.completion),
            count(progress.usage.cached),
            count(progress.usage.reasoning),
            progress.cost_usd,
            progress.snapshot.as_ref().map(|id| id.as_str()),
            progress.output.as_ref().map(json).transpose()?,
            progress.error.as_ref().map(json).transpose()?,
            progress.updated.0,
            pid,
            process,
        ])?;
    Ok(())
}

/// Stores a text once; returns its hash.
fn store_blob(transaction: &Transaction<'_>, text: &str) -> rusqlite::Result<String> {
    let hash = hex(&Sha256::digest(text.as_bytes()));
    transaction
        .prepare_cached("INSERT INTO blobs(hash, bytes) VALUES (?1, ?2) ON CONFLICT(hash) DO NOTHING")?
        .execute(params![hash, text.as_bytes()])?;
    Ok(hash)
}

fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn preview(text: &str) -> &str {
    text.char_indices().nth(PREVIEW).map_or(text, |(end, _)| &text[..end])
}

/// SQLite's integers are signed; a count that large is not real.
fn count(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn json(value: &impl serde::Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}
