//! Large texts are stored once by content hash; rows keep a preview (architecture §7).

use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

/// Bodies above this many bytes become blobs.
pub(super) const LARGE: usize = 128 * 1024;
const PREVIEW: usize = 256;

/// Stores a text and gives its hash.
pub(super) fn put(connection: &Connection, text: &str) -> rusqlite::Result<String> {
    let hash = hex(text);
    connection
        .prepare_cached("INSERT OR IGNORE INTO blobs (hash, bytes) VALUES (?1, ?2)")?
        .execute(params![hash, text.as_bytes()])?;
    Ok(hash)
}

pub(super) fn get(connection: &Connection, hash: &str) -> rusqlite::Result<Option<String>> {
    let bytes: Option<Vec<u8>> = connection
        .prepare_cached("SELECT bytes FROM blobs WHERE hash = ?1")?
        .query_row([hash], |row| row.get(0))
        .optional()?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

pub(super) fn preview(text: &str) -> String {
    let start: String = text.chars().take(PREVIEW).collect();
    format!("{} bytes: {start}…", text.len())
}

fn hex(text: &str) -> String {
    use std::fmt::Write;
    Sha256::digest(text.as_bytes()).iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
