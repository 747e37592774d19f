//! Lists, lookups and whole journals.

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, params};
use serde::de::DeserializeOwned;

use super::failure;
use super::process::Census;
use crate::domain::cost::Usage;
use crate::domain::ids::{CallId, RunId, SnapshotId, Timestamp};
use crate::domain::journal::{Row, RowKind, RunHeader, RunProgress, RunStatus, RunSummary};
use crate::ports::run_store::StoreError;

/// Candidates that an ambiguous id shows.
const CANDIDATES: usize = 5;

const SUMMARY: &str = "SELECT id, workflow, definition_hash, input, project, started, status, path, prompt,
  completion, cached, reasoning, cost_usd, snapshot, output, error, updated, pid, process
  FROM runs JOIN progress ON run = key";

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

/// Newest first; `limit` 0 means all.
pub(super) fn list(connection: &Connection, limit: usize) -> rusqlite::Result<Vec<RunSummary>> {
    let limit = if limit == 0 { -1 } else { i64::try_from(limit).unwrap_or(-1) };
    let sql = format!("{SUMMARY} ORDER BY started DESC, key DESC LIMIT ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut census = Census::default();
    let found = statement.query_map([limit], |row| summary(row, &mut census))?;
    found.collect()
}

/// A whole id wins over the prefixes of others.
pub(super) fn find(connection: &Connection, id: &str) -> rusqlite::Result<Found> {
    let exact = format!("{SUMMARY} WHERE id = ?1");
    let mut census = Census::default();
    if let Some(run) =
        connection.prepare_cached(&exact)?.query_row([id], |row| summary(row, &mut census)).optional()?
    {
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
            let run =
                connection.prepare_cached(&exact)?.query_row([only], |row| summary(row, &mut census))?;
            Ok(Found::One(Box::new(run)))
        }
        several => Ok(Found::Several {
            newest: several.iter().take(CANDIDATES).cloned().collect(),
            total: several.len(),
        }),
    }
}

/// Header and rows as of one moment, though another process may be appending.
pub(super) fn load(connection: &Connection, run: &RunId) -> rusqlite::Result<Option<(RunHeader, Vec<Row>)>> {
    let moment = connection.unchecked_transaction()?;
    let header = moment
        .prepare_cached(
            "SELECT key, id, workflow, definition_hash, bytes, input, project, started, pid
             FROM runs JOIN progress ON run = key JOIN blobs ON hash = spec WHERE id = ?1",
        )?
        .query_row([run.as_str()], |row| Ok((row.get::<_, i64>(0)?, header(row)?)))
        .optional()?;
    let Some((key, header)) = header else { return Ok(None) };
    let mut statement = moment.prepare_cached(
        "SELECT kind, at, call, body, bytes, length FROM rows LEFT JOIN blobs ON hash = blob
         WHERE run = ?1 ORDER BY seq",
    )?;
    let rows = statement.query_map(params![key], journal_row)?.collect::<Result<_, _>>()?;
    Ok(Some((header, rows)))
}

fn header(row: &rusqlite::Row<'_>) -> rusqlite::Result<RunHeader> {
    Ok(RunHeader {
        id: RunId(row.get(1)?),
        workflow: row.get(2)?,
        definition_hash: row.get(3)?,
        spec: text(row, 4)?,
        input: row.get(5)?,
        project: row.get(6)?,
        started: Timestamp(row.get(7)?),
        pid: row.get(8)?,
    })
}

fn journal_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    let kind = match row.get_ref(0)?.as_str()? {
        "intent" => RowKind::Intent,
        "input" => RowKind::Input,
        other => return Err(unreadable(0, format!("unknown kind of row `{other}`"))),
    };
    let inline = row.get_ref(4)?.data_type() == Type::Null;
    let body = if inline { row.get(3)? } else { text(row, 4)? };
    if body.len() != usize::try_from(row.get::<_, i64>(5)?).unwrap_or(usize::MAX) {
        return Err(unreadable(3, "a stored text is not as long as it was written".to_owned()));
    }
    let call = row.get::<_, Option<i64>>(2)?.map(|call| CallId(call.cast_unsigned()));
    Ok(Row { kind, at: Timestamp(row.get(1)?), call, body })
}

fn summary(row: &rusqlite::Row<'_>, census: &mut Census) -> rusqlite::Result<RunSummary> {
    let mut status = status(row.get_ref(6)?.as_str()?)?;
    if status == RunStatus::Running {
        let process = row.get_ref(18)?.as_str()?;
        if !census.is_alive(row.get(17)?, process) {
            status = RunStatus::Interrupted;
        }
    }
    Ok(RunSummary {
        id: RunId(row.get(0)?),
        workflow: row.get(1)?,
        definition_hash: row.get(2)?,
        input: row.get(3)?,
        project: row.get(4)?,
        started: Timestamp(row.get(5)?),
        progress: RunProgress {
            status,
            path: json(row, 7)?.unwrap_or_default(),
            usage: Usage {
                prompt: count(row, 8)?,
                completion: count(row, 9)?,
                cached: count(row, 10)?,
                reasoning: count(row, 11)?,
            },
            cost_usd: row.get(12)?,
            snapshot: row.get::<_, Option<String>>(13)?.map(SnapshotId),
            output: json(row, 14)?,
            error: json(row, 15)?,
            updated: Timestamp(row.get(16)?),
            pauses: Vec::new(),
        },
    })
}

fn status(name: &str) -> rusqlite::Result<RunStatus> {
    const ALL: [RunStatus; 6] = [
        RunStatus::Running,
        RunStatus::Paused,
        RunStatus::Completed,
        RunStatus::Failed,
        RunStatus::Cancelled,
        RunStatus::Interrupted,
    ];
    let found = ALL.into_iter().find(|status| status.as_str() == name);
    found.ok_or_else(|| unreadable(6, format!("unknown status `{name}`")))
}

fn count(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}

fn text(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<String> {
    String::from_utf8(row.get(column)?).map_err(|error| unreadable(column, error.to_string()))
}

fn json<T: DeserializeOwned>(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Option<T>> {
    let Some(text) = row.get_ref(column)?.as_str_or_null()? else { return Ok(None) };
    serde_json::from_str(text).map(Some).map_err(|error| unreadable(column, error.to_string()))
}

fn unreadable(column: usize, reason: String) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, reason.into())
}
