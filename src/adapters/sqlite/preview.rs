//! What a reader sees of a run first: one text a run, and up to which of its rows it goes.

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use synthdev_domain::ids::RunId;

/// Keeps it for the run as it is in this transaction, in the place of an earlier one.
pub(super) fn save_preview(transaction: &Transaction<'_>, key: i64, body: &str) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO glances(run, seq, body)
             VALUES (?1, (SELECT coalesce(max(seq), 0) FROM rows WHERE run = ?1), ?2)
             ON CONFLICT(run) DO UPDATE SET seq = excluded.seq, body = excluded.body",
        )?
        .execute(params![key, body])?;
    Ok(())
}

/// The same; `None` leaves no earlier one in its place.
pub(super) fn replace_preview(
    transaction: &Transaction<'_>,
    key: i64,
    body: Option<&str>,
) -> rusqlite::Result<()> {
    match body {
        Some(body) => save_preview(transaction, key, body),
        None => transaction.prepare_cached("DELETE FROM glances WHERE run = ?1")?.execute([key]).map(drop),
    }
}

/// With the number of rows that the run has got since; `None` if there is none, or if it makes no sense.
pub(super) fn load_preview(connection: &Connection, run: &RunId) -> rusqlite::Result<Option<(String, u64)>> {
    let found = connection
        .prepare_cached(
            "SELECT body, (SELECT max(rows.seq) FROM rows WHERE rows.run = key) - glances.seq
             FROM glances JOIN runs ON key = run WHERE id = ?1 AND typeof(glances.seq) = 'integer'",
        )?
        .query_row([run.as_str()], |row| {
            let body = row.get_ref(0)?.as_str().ok().map(str::to_owned);
            let since: Option<i64> = row.get(1)?;
            Ok(body.zip(since.and_then(|since| u64::try_from(since).ok())))
        })
        .optional()?;
    Ok(found.flatten())
}

/// Its bytes.
pub(super) fn weigh_preview(connection: &Connection, key: i64) -> rusqlite::Result<u64> {
    let bytes: Option<i64> = connection
        .prepare_cached("SELECT octet_length(body) FROM glances WHERE run = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()?;
    Ok(bytes.map_or(0, i64::unsigned_abs))
}
