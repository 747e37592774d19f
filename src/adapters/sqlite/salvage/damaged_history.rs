//! Ordinary queries on a damaged database. Each asks for one row, or walks from both ends to the first damaged page, so
//! that a damaged page costs only its own content and the pages below it.

use std::collections::{BTreeSet, HashMap};

use rusqlite::types::Value;
use rusqlite::{Connection, Params, Row};
use sha2::{Digest, Sha256};

use crate::sqlite::blob;

/// Without these there is no history.
pub(super) const TABLES: [&str; 4] = ["runs", "progress", "rows", "blobs"];

const RUN: &str = "key id workflow definition_hash input project started spec origin_run origin_kind origin_step \
                   worktree keeper";
const PROGRESS: &str = "run claim status pid process updated prompt completion cached reasoning cost_usd \
                        snapshot path pauses error output";
const JOURNAL_ROW: &str = "run seq kind at call body blob length digest";
const TOKEN: &str = "hash run call definition_hash created expires tries used results_hash answer";

/// A history of any version; what cannot be read of it is absent.
pub(super) struct DamagedHistory {
    connection: Connection,
    run: String,
    progress: String,
    journal_row: String,
    /// Row numbers of long texts, by their hashes.
    texts: HashMap<String, i64>,
    /// Rows of `tokens`.
    tokens: Vec<Vec<Value>>,
}

impl DamagedHistory {
    pub(super) fn new(connection: Connection) -> Self {
        let (run, progress) = (
            select(&connection, "runs", RUN, "key = ?1"),
            select(&connection, "progress", PROGRESS, "run = ?1"),
        );
        let journal_row = select(&connection, "rows", JOURNAL_ROW, "run = ?1 AND seq = ?2");
        let (texts, tokens) = (HashMap::new(), Vec::new());
        let mut history = Self { connection, run, progress, journal_row, texts, tokens };
        history.texts = history.find_texts();
        history.tokens = history.find_tokens();
        history
    }

    /// Keys of runs, from every table that has them; and whether these are all.
    pub(super) fn run_keys(&self) -> (BTreeSet<i64>, bool) {
        let (mut keys, complete) = self.keys_of("SELECT key FROM runs WHERE true", "key");
        let mut listed = false;
        if !complete {
            listed = self.scan_column("id", "sqlite_autoindex_runs_1", |key, _| {
                keys.insert(key);
            });
        }
        // the page of another table has other types
        let progress =
            "SELECT run FROM progress WHERE typeof(updated) = 'integer' AND typeof(status) = 'text'";
        keys.extend(self.keys_of(progress, "run").0);
        keys.extend(self.keys_of("SELECT run FROM rows WHERE typeof(run) = 'integer'", "run").0);
        (keys, complete || listed)
    }

    /// The columns of `runs`.
    pub(super) fn run(&self, key: i64) -> Option<Vec<Value>> {
        self.one_row(&self.run, [key])
    }

    /// The columns of `progress`.
    pub(super) fn progress(&self, key: i64) -> Option<Vec<Value>> {
        self.one_row(&self.progress, [key])
    }

    /// The columns of `rows`.
    pub(super) fn journal_row(&self, key: i64, seq: i64) -> Option<Vec<Value>> {
        self.one_row(&self.journal_row, [key, seq])
    }

    /// How many rows of a run behind `seq` can be read from its end, and the number of the last.
    pub(super) fn rows_behind(&self, key: i64, seq: i64) -> (usize, i64) {
        let (mut count, mut last) = (0, seq);
        // a walk that ends at a damaged page has counted what it met
        let _ = self.walk(
            "SELECT seq FROM rows WHERE run = ?1 AND seq > ?2 ORDER BY seq DESC",
            [key, seq],
            |row| {
                last = last.max(row.get(0)?);
                count += 1;
                Ok(())
            },
        );
        (count, last)
    }

    /// A text that is stored by its hash, if it is still what it was.
    pub(super) fn text(&self, hash: &str) -> Option<String> {
        let row = self.one_row("SELECT bytes FROM blobs WHERE rowid = ?1", [self.texts.get(hash)?])?;
        let [Value::Blob(bytes)] = <[Value; 1]>::try_from(row).ok()? else { return None };
        (blob::to_hex(&Sha256::digest(&bytes)) == hash).then(|| String::from_utf8(bytes).ok())?
    }

    pub(super) fn tokens(&self, key: i64) -> impl Iterator<Item = &Vec<Value>> {
        self.tokens.iter().filter(move |token| token[1] == Value::Integer(key))
    }

    /// Key and value of a column of `runs`, as an index repeats them; returns whether these are all.
    pub(super) fn scan_column(&self, column: &str, index: &str, mut take: impl FnMut(i64, Value)) -> bool {
        self.walk_both_ways(&format!("SELECT key, {column} FROM runs INDEXED BY {index}"), column, |row| {
            take(row.get(0)?, row.get(1)?);
            Ok(())
        })
    }

    fn find_texts(&self) -> HashMap<String, i64> {
        let mut found = HashMap::new();
        let index = "SELECT hash, rowid FROM blobs INDEXED BY sqlite_autoindex_blobs_1";
        for (sql, order) in [(index, "hash"), ("SELECT hash, rowid FROM blobs NOT INDEXED", "rowid")] {
            let complete = self.walk_both_ways(sql, order, |row| {
                found.insert(row.get(0)?, row.get(1)?);
                Ok(())
            });
            if complete {
                break;
            }
        }
        found
    }

    fn find_tokens(&self) -> Vec<Vec<Value>> {
        let mut found = Vec::new();
        self.walk_both_ways(&select(&self.connection, "tokens NOT INDEXED", TOKEN, "true"), "hash", |row| {
            found.push(read_values(row)?);
            Ok(())
        });
        found
    }

    /// The different numbers in a column that leads a tree: each is looked up by itself, so that a long run costs as
    /// much as a short one.
    fn keys_of(&self, sql: &str, column: &str) -> (BTreeSet<i64>, bool) {
        let mut keys = BTreeSet::new();
        for (beyond, order, mut last) in [(">", "ASC", i64::MIN), ("<", "DESC", i64::MAX)] {
            let sql = format!("{sql} AND {column} {beyond} ?1 ORDER BY {column} {order} LIMIT 1");
            loop {
                match self
                    .connection
                    .prepare_cached(&sql)
                    .and_then(|mut found| found.query_row([last], |row| row.get(0)))
                {
                    // out of order, damaged pages could lead in a circle
                    Ok(key) if keys.insert(key) => last = key,
                    Err(rusqlite::Error::QueryReturnedNoRows) if order == "ASC" => return (keys, true),
                    Ok(_) | Err(_) => break,
                }
            }
        }
        (keys, false)
    }

    fn one_row(&self, sql: &str, values: impl Params) -> Option<Vec<Value>> {
        self.connection.prepare_cached(sql).ok()?.query_row(values, read_values).ok()
    }

    /// From the beginning; if that does not reach the end, also from the end. Returns whether the first did.
    fn walk_both_ways(
        &self,
        sql: &str,
        order: &str,
        mut take: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
    ) -> bool {
        let complete = self.walk(&format!("{sql} ORDER BY {order} ASC"), [], &mut take).is_ok();
        if !complete {
            // what it meets before a damaged page counts
            let _ = self.walk(&format!("{sql} ORDER BY {order} DESC"), [], &mut take);
        }
        complete
    }

    fn walk(
        &self,
        sql: &str,
        values: impl Params,
        mut take: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(values)?;
        while let Some(row) = rows.next()? {
            take(row)?;
        }
        Ok(())
    }
}

/// All columns of a row.
pub(super) fn read_values(row: &Row<'_>) -> rusqlite::Result<Vec<Value>> {
    (0..row.as_ref().column_count()).map(|at| row.get(at)).collect()
}

/// A file of an older version lacks some columns.
fn select(connection: &Connection, table: &str, columns: &str, condition: &str) -> String {
    let there = |column: &str| connection.prepare(&format!("SELECT {column} FROM {table}")).is_ok();
    let list: Vec<&str> =
        columns.split(' ').map(|column| if there(column) { column } else { "NULL" }).collect();
    format!("SELECT {} FROM {table} WHERE {condition}", list.join(", "))
}
