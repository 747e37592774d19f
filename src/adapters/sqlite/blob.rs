//! Long texts and definitions: stored once by content hash, removed with the last run that uses them.

use std::collections::HashSet;

use rusqlite::{Connection, params};
use sha2::{Digest, Sha256};

use synthdev_domain::ids::RunId;

/// Stores a text once; returns its hash.
pub(super) fn store_text(transaction: &Connection, text: &str) -> rusqlite::Result<String> {
    let hash = to_hex(&Sha256::digest(text.as_bytes()));
    transaction
        .prepare_cached("INSERT INTO blobs(hash, bytes) VALUES (?1, ?2) ON CONFLICT(hash) DO NOTHING")?
        .execute(params![hash, text.as_bytes()])?;
    Ok(hash)
}

/// Hashes of all texts that a run uses.
pub(super) fn hashes_used_by(transaction: &Connection, key: i64) -> rusqlite::Result<Vec<String>> {
    transaction
        .prepare_cached(
            "SELECT spec FROM runs WHERE key = ?1
             UNION SELECT blob FROM rows WHERE run = ?1 AND blob IS NOT NULL",
        )?
        .query_map([key], |row| row.get(0))?
        .collect()
}

/// Removes a text that no run and no row uses any more; returns its size in bytes.
pub(super) fn remove_orphan(transaction: &Connection, hash: &str) -> rusqlite::Result<u64> {
    let mut remove = transaction.prepare_cached(
        "DELETE FROM blobs WHERE hash = ?1
           AND NOT EXISTS (SELECT 1 FROM runs WHERE spec = ?1)
           AND NOT EXISTS (SELECT 1 FROM rows WHERE blob = ?1 AND blob IS NOT NULL)
         RETURNING length(bytes)",
    )?;
    let mut removed = remove.query([hash])?;
    let mut bytes = 0;
    while let Some(row) = removed.next()? {
        bytes = u64::try_from(row.get::<_, i64>(0)?).unwrap_or(0);
    }
    Ok(bytes)
}

/// The bytes of a text that only these runs use; 0 if others do.
pub(super) fn weigh_blob(connection: &Connection, hash: &str, runs: &HashSet<i64>) -> rusqlite::Result<u64> {
    let mut users = connection.prepare_cached(
        "SELECT key FROM runs WHERE spec = ?1 UNION SELECT run FROM rows WHERE blob = ?1 AND blob IS NOT NULL",
    )?;
    let mut users = users.query([hash])?;
    while let Some(row) = users.next()? {
        if !runs.contains(&row.get(0)?) {
            return Ok(0);
        }
    }
    let bytes: i64 = connection
        .prepare_cached("SELECT coalesce(sum(length(bytes)), 0) FROM blobs WHERE hash = ?1")?
        .query_row([hash], |row| row.get(0))?;
    Ok(u64::try_from(bytes).unwrap_or(0))
}

/// Whether a run's definition still has the hash under which it was stored.
pub(super) fn spec_is_intact(connection: &Connection, run: &RunId) -> rusqlite::Result<bool> {
    let mut spec = connection
        .prepare_cached("SELECT hash, bytes FROM blobs JOIN runs ON spec = hash WHERE runs.id = ?1")?;
    let mut found = spec.query([run.as_str()])?;
    let Some(row) = found.next()? else { return Ok(true) };
    Ok(to_hex(&Sha256::digest(row.get_ref(1)?.as_bytes()?)) == row.get_ref(0)?.as_str()?)
}

pub(super) fn to_hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
