//! The tables, and the steps from an empty or older file to the present version.
//!
//! A step is never changed once it was released: files of its version exist.

use rusqlite::{Connection, Transaction, TransactionBehavior};

/// `PRAGMA application_id`: "SynD". Distinguishes our file from other SQLite files.
pub(super) const APPLICATION_ID: i32 = 0x5379_6e44;
/// `PRAGMA user_version` of a file that this program writes.
pub(super) const VERSION: i32 = 5;
/// Files from this version on can be read as they are, where the step to the present version cannot be written.
pub(super) const READABLE_SINCE: i32 = 4;
/// `runs.keeper` is there.
pub(super) const KEEPER_SINCE: i32 = 5;

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

/// - `runs.key` comes from `counters` and is never reused, so an old process cannot take a new run for a removed one.
/// - `progress` has the fields of lists first, and long ones last. `claim` is the number of the owner's claim; 0 is a
///   run without an owner. Its default lets a program of version 1 that has this file open continue.
/// - `words` is the search index: no texts, only positions of words. A row's number in it is `run << 32 | seq`; `seq` 0
///   is the run's input.
/// - `behind` has the runs whose index may end before their rows; `next` is the first `seq` that is not indexed.
/// - `tokens` of pauses, by hash; `used` ones keep their answer.
const VERSION_2: &str = "
ALTER TABLE runs ADD COLUMN origin_run TEXT;
ALTER TABLE runs ADD COLUMN origin_kind TEXT;
ALTER TABLE runs ADD COLUMN origin_step INTEGER;
ALTER TABLE runs ADD COLUMN worktree TEXT;
CREATE INDEX runs_workflow ON runs(workflow, started);
CREATE INDEX runs_project ON runs(project, started);
CREATE INDEX runs_origin ON runs(origin_run) WHERE origin_run IS NOT NULL;
CREATE INDEX runs_spec ON runs(spec);
CREATE TABLE progress_2(
  run INTEGER PRIMARY KEY REFERENCES runs(key) ON DELETE CASCADE,
  claim INTEGER NOT NULL DEFAULT 0,
  status TEXT NOT NULL,
  pid INTEGER NOT NULL,
  process TEXT NOT NULL,
  updated INTEGER NOT NULL,
  prompt INTEGER NOT NULL,
  completion INTEGER NOT NULL,
  cached INTEGER NOT NULL,
  reasoning INTEGER NOT NULL,
  cost_usd REAL,
  snapshot TEXT,
  path TEXT NOT NULL,
  pauses TEXT,
  error TEXT,
  output TEXT
);
INSERT INTO progress_2(run, status, pid, process, updated, prompt, completion, cached, reasoning, cost_usd,
    snapshot, path, error, output)
  SELECT run, status, pid, process, updated, prompt, completion, cached, reasoning, cost_usd,
    snapshot, path, error, output FROM progress;
DROP TABLE progress;
ALTER TABLE progress_2 RENAME TO progress;
CREATE INDEX progress_status ON progress(status);
ALTER TABLE rows ADD COLUMN digest INTEGER;
CREATE INDEX rows_blob ON rows(blob) WHERE blob IS NOT NULL;
CREATE TABLE counters(
  one INTEGER PRIMARY KEY CHECK(one = 1),
  runs INTEGER NOT NULL,
  claims INTEGER NOT NULL
);
INSERT INTO counters SELECT 1, coalesce(max(key), 0), 0 FROM runs;
CREATE TABLE tokens(
  hash TEXT PRIMARY KEY NOT NULL,
  run INTEGER NOT NULL REFERENCES runs(key) ON DELETE CASCADE,
  call INTEGER NOT NULL,
  definition_hash TEXT NOT NULL,
  created INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  tries INTEGER NOT NULL,
  used INTEGER,
  results_hash TEXT,
  answer TEXT
) WITHOUT ROWID;
CREATE INDEX tokens_run ON tokens(run);
CREATE TABLE behind(
  run INTEGER PRIMARY KEY REFERENCES runs(key) ON DELETE CASCADE,
  next INTEGER NOT NULL
);
INSERT INTO behind SELECT key, 0 FROM runs;
";

/// `glances` has the preview of a run, written periodically while it is driven and when it stops; `seq` is its last row
/// at that time. It has no information that the rows lack.
const VERSION_3: &str = "
CREATE TABLE glances(
  run INTEGER PRIMARY KEY REFERENCES runs(key) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  body TEXT NOT NULL
);
";

/// `states` has what a resume needs of a run up to row `seq`, for the build of the program that wrote it. It has no
/// information that the rows lack.
const VERSION_4: &str = "
CREATE TABLE states(
  run INTEGER PRIMARY KEY REFERENCES runs(key) ON DELETE CASCADE,
  build TEXT NOT NULL,
  seq INTEGER NOT NULL,
  body TEXT NOT NULL
);
";

/// `keeper` is the address of the server that keeps the journal of the run. Here is a copy, which only its worker changes.
const VERSION_5: &str = "
ALTER TABLE runs ADD COLUMN keeper TEXT;
";

/// The search index, since version 2.
pub(super) const WORDS: &str = "CREATE VIRTUAL TABLE words USING fts5(
  text, content='', contentless_delete=1, detail=full, prefix='2 3', tokenize='unicode61 remove_diacritics 2'
)";

/// Brings a file of an older version to the present one, in one transaction: a kill leaves the old version or the
/// new one. Two processes may both try: the second finds the work done.
pub(super) fn migrate_schema(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = read_pragma(&transaction, "user_version")?;
    if found < 1 {
        transaction.execute_batch(VERSION_1)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    if found < 2 {
        transaction.execute_batch(VERSION_2)?;
        transaction.execute_batch(WORDS)?;
    }
    if found < 3 {
        transaction.execute_batch(VERSION_3)?;
    }
    if found < 4 {
        transaction.execute_batch(VERSION_4)?;
    }
    if found < 5 {
        transaction.execute_batch(VERSION_5)?;
    }
    if found == 2 {
        // its index took the end of a line for a letter, and a Chinese sentence for a word
        renew_words(&transaction)?;
    }
    if found < VERSION {
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()
}

/// An empty index in the place of the old one; the rows wait for it.
pub(super) fn renew_words(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute_batch(&format!(
        "DROP TABLE words; {WORDS}; DELETE FROM behind; INSERT INTO behind SELECT key, 0 FROM runs;"
    ))
}

pub(super) fn read_pragma(connection: &Connection, pragma: &str) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, pragma, |row| row.get(0))
}
