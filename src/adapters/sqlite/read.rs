//! Lookups of one run and whole journals.

use std::ops::ControlFlow;

use rusqlite::{Connection, OptionalExtension};

use super::decode::{self, HEADER, SUMMARY};
use super::failure;
use super::process::Census;
use crate::domain::ids::RunId;
use crate::domain::journal::{Row, RunHeader, RunSummary};
use crate::ports::run_store::{RowRef, RunReader, StoreError};

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
pub(super) enum Found {
    Nothing,
    One(Box<RunSummary>),
    Several { newest: Vec<String>, total: usize },
}

impl Found {
    pub(super) fn into_result(self, id: &str) -> Result<RunSummary, StoreError> {
        match self {
            Self::Nothing => Err(failure::unknown_run(id)),
            Self::One(run) => Ok(*run),
            Self::Several { newest, total } => Err(failure::ambiguous(id, &newest, total)),
        }
    }
}

/// A whole id.
pub(super) fn exact(
    connection: &Connection,
    id: &str,
    census: &mut Census,
) -> rusqlite::Result<Option<RunSummary>> {
    connection
        .prepare_cached(&format!("{SUMMARY} WHERE id = ?1"))?
        .query_row([id], |row| decode::summary(row, census))
        .optional()
}

/// A whole id wins over the prefixes of others.
pub(super) fn find(connection: &Connection, id: &str) -> rusqlite::Result<Found> {
    let mut census = Census::of(connection);
    if let Some(run) = exact(connection, id, &mut census)? {
        return Ok(Found::One(Box::new(run)));
    }
    if id.is_empty() {
        return Ok(Found::Nothing);
    }
    let mut ids = connection.prepare_cached(
        "SELECT id FROM runs WHERE id >= ?1 AND substr(id, 1, length(?1)) = ?1 AND id < ?1 || char(1114111)
         ORDER BY started DESC, key DESC",
    )?;
    let ids: Vec<String> = ids.query_map([id], |row| row.get(0))?.collect::<Result<_, _>>()?;
    match ids.as_slice() {
        [] => Ok(Found::Nothing),
        [only] => {
            let run = exact(connection, only, &mut census)?;
            Ok(run.map_or(Found::Nothing, |run| Found::One(Box::new(run))))
        }
        several => Ok(Found::Several {
            newest: several.iter().take(CANDIDATES).cloned().collect(),
            total: several.len(),
        }),
    }
}

/// Header and rows as of one moment, though another process may be appending.
pub(super) fn load(connection: &Connection, run: &RunId) -> rusqlite::Result<Option<(RunHeader, Vec<Row>)>> {
    let mut all = All::default();
    visit(connection, run, &mut all)?;
    Ok(all.header.map(|header| (header, all.rows)))
}

/// The same, row by row; `false` if there is no such run.
pub(super) fn visit(
    connection: &Connection,
    run: &RunId,
    reader: &mut dyn RunReader,
) -> rusqlite::Result<bool> {
    let moment = connection.unchecked_transaction()?;
    let header = moment
        .prepare_cached(&format!("{HEADER} WHERE id = ?1"))?
        .query_row([run.as_str()], decode::header)
        .optional()?;
    let Some((key, header)) = header else { return Ok(false) };
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
struct All {
    header: Option<RunHeader>,
    rows: Vec<Row>,
}

impl RunReader for All {
    fn header(&mut self, header: RunHeader) -> ControlFlow<()> {
        self.header = Some(header);
        ControlFlow::Continue(())
    }

    fn row(&mut self, row: RowRef<'_>) -> ControlFlow<()> {
        self.rows.push(row.into());
        ControlFlow::Continue(())
    }
}
