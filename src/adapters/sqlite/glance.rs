//! What a reader sees of a run first: one text a run, good until there is another row.

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::domain::ids::RunId;

/// Keeps it for the run as it is in this transaction, in the place of an earlier one.
pub(super) fn keep(transaction: &Transaction<'_>, key: i64, body: &str) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO glances(run, seq, body)
             VALUES (?1, (SELECT coalesce(max(seq), 0) FROM rows WHERE run = ?1), ?2)
             ON CONFLICT(run) DO UPDATE SET seq = excluded.seq, body = excluded.body",
        )?
        .execute(params![key, body])?;
    Ok(())
}

/// `None` if there is none, if it makes no sense, or if the run has got rows since.
pub(super) fn of(connection: &Connection, run: &RunId) -> rusqlite::Result<Option<String>> {
    let found = connection
        .prepare_cached(
            "SELECT body FROM glances JOIN runs ON key = run
             WHERE id = ?1 AND seq = (SELECT max(seq) FROM rows WHERE run = key)",
        )?
        .query_row([run.as_str()], |row| Ok(row.get_ref(0)?.as_str().ok().map(str::to_owned)))
        .optional()?;
    Ok(found.flatten())
}

/// Its bytes.
pub(super) fn weigh(connection: &Connection, key: i64) -> rusqlite::Result<u64> {
    let bytes: Option<i64> = connection
        .prepare_cached("SELECT octet_length(body) FROM glances WHERE run = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()?;
    Ok(bytes.map_or(0, i64::unsigned_abs))
}
