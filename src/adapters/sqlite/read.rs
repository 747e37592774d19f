//! Lookups of one run and whole journals.

use std::ops::ControlFlow;

use rusqlite::{Connection, OptionalExtension};

use super::decode::{self, HEADER, SUMMARY};
use super::process_liveness::ProcessLivenessCache;
use super::store_errors;
use super::write::find_run_key;
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::{JournalRow, RunHeader, RunSummary};
use synthdev_ports::run_store::{JournalRowRef, RunReader, StoreError};

/// Candidates that an ambiguous id shows.
const CANDIDATES: usize = 5;

/// One row, by run key and number; what [`decode::journal_row`] reads.
pub(super) const ONE_ROW: &str =
    "SELECT kind, at, call, body, bytes, length, digest FROM rows LEFT JOIN blobs ON hash = blob
  WHERE run = ?1 AND seq = ?2";
/// The rows of a run key from a number on, in order; behind them their numbers.
pub(super) const ROWS_FROM: &str =
    "SELECT kind, at, call, body, bytes, length, digest, seq FROM rows LEFT JOIN blobs ON hash = blob
  WHERE run = ?1 AND seq >= ?2 ORDER BY seq";

/// What a prefix led to.
pub(super) enum RunLookup {
    Nothing,
    One(Box<RunSummary>),
    Several { newest_ids: Vec<String>, total: usize },
}

impl RunLookup {
    pub(super) fn into_result(self, id: &str) -> Result<RunSummary, StoreError> {
        match self {
            Self::Nothing => Err(store_errors::unknown_run(id)),
            Self::One(run) => Ok(*run),
            Self::Several { newest_ids: newest, total } => {
                Err(store_errors::ambiguous_error(id, &newest, total))
            }
        }
    }
}

/// A whole id.
pub(super) fn find_exact(
    connection: &Connection,
    id: &str,
    census: &mut ProcessLivenessCache<'_>,
) -> rusqlite::Result<Option<RunSummary>> {
    connection
        .prepare_cached(&format!("{SUMMARY} WHERE id = ?1"))?
        .query_row([id], |row| decode::decode_summary(row, census))
        .optional()
}

/// A whole id wins over the prefixes of others.
pub(super) fn find_run(connection: &Connection, id: &str) -> rusqlite::Result<RunLookup> {
    let mut census = ProcessLivenessCache::for_readers(connection);
    if let Some(run) = find_exact(connection, id, &mut census)? {
        return Ok(RunLookup::One(Box::new(run)));
    }
    if id.is_empty() {
        return Ok(RunLookup::Nothing);
    }
    let mut ids = connection.prepare_cached(
        "SELECT id FROM runs WHERE id >= ?1 AND substr(id, 1, length(?1)) = ?1 AND id < ?1 || char(1114111)
         ORDER BY started DESC, key DESC",
    )?;
    let ids: Vec<String> = ids.query_map([id], |row| row.get(0))?.collect::<Result<_, _>>()?;
    match ids.as_slice() {
        [] => Ok(RunLookup::Nothing),
        [only] => {
            let run = find_exact(connection, only, &mut census)?;
            Ok(run.map_or(RunLookup::Nothing, |run| RunLookup::One(Box::new(run))))
        }
        several => Ok(RunLookup::Several {
            newest_ids: several.iter().take(CANDIDATES).cloned().collect(),
            total: several.len(),
        }),
    }
}

/// Header and rows as of one moment, though another process may be appending.
pub(super) fn load_run(
    connection: &Connection,
    run: &RunId,
) -> rusqlite::Result<Option<(RunHeader, Vec<JournalRow>)>> {
    let mut all = JournalCollector::default();
    read_rows(connection, run, &mut all)?;
    Ok(all.header.map(|header| (header, all.rows)))
}

/// Rows behind the first `known`; `None`: there is no such run.
pub(super) fn load_rows_since(
    connection: &Connection,
    run: &RunId,
    known: u64,
    most_bytes: usize,
) -> rusqlite::Result<Option<Vec<JournalRow>>> {
    let moment = connection.unchecked_transaction()?;
    let Some(key) = find_run_key(&moment, run)? else { return Ok(None) };
    let mut statement = moment.prepare_cached(ROWS_FROM)?;
    // rows are counted from one
    let first = i64::try_from(known).unwrap_or(i64::MAX - 1) + 1;
    let mut found = statement.query((key, first))?;
    let (mut rows, mut bytes) = (Vec::new(), 0);
    while let Some(row) = found.next()? {
        let row = decode::journal_row(row)?;
        bytes += row.body.len();
        rows.push(row);
        if bytes >= most_bytes {
            break;
        }
    }
    Ok(Some(rows))
}

/// 0: there is none, or no such run.
pub(super) fn count_rows(connection: &Connection, run: &RunId) -> rusqlite::Result<u64> {
    let Some(key) = find_run_key(connection, run)? else { return Ok(0) };
    let last: i64 = connection
        .prepare_cached("SELECT coalesce(max(seq), 0) FROM rows WHERE run = ?1")?
        .query_row([key], |row| row.get(0))?;
    Ok(u64::try_from(last).unwrap_or(0))
}

pub(super) struct HeaderWithKey {
    pub(super) key: i64,
    pub(super) header: RunHeader,
}

/// `None`: there is no such run.
pub(super) fn find_header(connection: &Connection, run: &RunId) -> rusqlite::Result<Option<HeaderWithKey>> {
    connection
        .prepare_cached(&format!("{HEADER} WHERE id = ?1"))?
        .query_row([run.as_str()], decode::decode_header)
        .optional()
        .map(|found| found.map(|(key, header)| HeaderWithKey { key, header }))
}

/// The same, row by row; `false` if there is no such run.
pub(super) fn read_rows(
    connection: &Connection,
    run: &RunId,
    reader: &mut dyn RunReader,
) -> rusqlite::Result<bool> {
    let moment = connection.unchecked_transaction()?;
    let Some(HeaderWithKey { key, header }) = find_header(&moment, run)? else { return Ok(false) };
    if reader.header(header).is_break() {
        return Ok(true);
    }
    let mut statement = moment.prepare_cached(ROWS_FROM)?;
    let mut rows = statement.query([key, 0])?;
    while let Some(row) = rows.next()? {
        if reader.row(decode::row_ref(row)?).is_break() {
            break;
        }
    }
    Ok(true)
}

#[derive(Default)]
struct JournalCollector {
    header: Option<RunHeader>,
    rows: Vec<JournalRow>,
}

impl RunReader for JournalCollector {
    fn header(&mut self, header: RunHeader) -> ControlFlow<()> {
        self.header = Some(header);
        ControlFlow::Continue(())
    }

    fn row(&mut self, row: JournalRowRef<'_>) -> ControlFlow<()> {
        self.rows.push(row.into());
        ControlFlow::Continue(())
    }
}
