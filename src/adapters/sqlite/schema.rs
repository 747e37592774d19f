//! The tables, and the step from an empty file to the present version.

use rusqlite::{Connection, TransactionBehavior};

/// `PRAGMA application_id`: "SynD". Tells our file from any other SQLite file.
pub(super) const APPLICATION_ID: i32 = 0x5379_6e44;
/// `PRAGMA user_version` of a file that this program writes.
pub(super) const VERSION: i32 = 1;

/// - `runs` never changes after the start; `progress` is small and rewritten at state boundaries, so a long
///   input is not written again with it.
/// - `progress.pid` and `process` name the process that wrote last: it drives the run, also after a resume.
/// - `rows` is append-only and clustered by run: reading a run is one range, appending touches its last page.
///   With a `blob`, `body` is only a preview and `length` the size of the whole.
const VERSION_1: &str = "
CREATE TABLE blobs(
  hash TEXT PRIMARY KEY NOT NULL,
  bytes BLOB NOT NULL
);
CREATE TABLE runs(
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  workflow TEXT NOT NULL,
  definition_hash TEXT NOT NULL,
  input TEXT NOT NULL,
  project TEXT NOT NULL,
  started INTEGER NOT NULL,
  spec TEXT NOT NULL REFERENCES blobs(hash)
);
CREATE INDEX runs_started ON runs(started);
CREATE TABLE progress(
  run INTEGER PRIMARY KEY REFERENCES runs(key) ON DELETE CASCADE,
  status TEXT NOT NULL,
  path TEXT NOT NULL,
  prompt INTEGER NOT NULL,
  completion INTEGER NOT NULL,
  cached INTEGER NOT NULL,
  reasoning INTEGER NOT NULL,
  cost_usd REAL,
  snapshot TEXT,
  output TEXT,
  error TEXT,
  updated INTEGER NOT NULL,
  pid INTEGER NOT NULL,
  process TEXT NOT NULL
);
CREATE TABLE rows(
  run INTEGER NOT NULL REFERENCES runs(key) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  kind TEXT NOT NULL,
  at INTEGER NOT NULL,
  call INTEGER,
  body TEXT NOT NULL,
  blob TEXT REFERENCES blobs(hash),
  length INTEGER NOT NULL,
  PRIMARY KEY(run, seq)
) WITHOUT ROWID;
";

/// Brings a file of an older version to the present one, in one transaction. Two processes may both try:
/// the second finds the work done.
pub(super) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if number(&transaction, "user_version")? == 0 {
        transaction.execute_batch(VERSION_1)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()
}

pub(super) fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, pragma, |row| row.get(0))
}
