//! Decodes columns into values. A value that makes no sense is damage, with an error that says so.

use rusqlite::types::{Type, ValueRef};
use serde::de::DeserializeOwned;

use super::process_liveness::ProcessLivenessCache;
use synthdev_domain::cost::TokenUsage;
use synthdev_domain::ids::{CallId, RunId, SnapshotId, Timestamp};
use synthdev_domain::journal::{
    JournalRow, JournalRowKind, RunHeader, RunOrigin, RunOriginKind, RunOutline, RunProgress, RunStatus,
    RunSummary,
};
use synthdev_domain::snapshot::RunWorktree;
use synthdev_ports::run_store::JournalRowRef;

/// What [`decode_summary`] reads.
pub(super) const SUMMARY: &str =
    "SELECT id, workflow, definition_hash, input, project, started, origin_run, origin_kind, origin_step, worktree,
  status, pid, process, updated, prompt, completion, cached, reasoning, cost_usd, snapshot, path, pauses, error, output
  FROM runs JOIN progress ON run = key";

/// What [`decode_outline`] reads.
pub(super) const OUTLINE: &str =
    "SELECT id, started, status, pid, process, updated, worktree FROM runs JOIN progress ON run = key";

/// What [`decode_header`] reads.
pub(super) const HEADER: &str =
    "SELECT id, workflow, definition_hash, input, project, started, origin_run, origin_kind, origin_step, worktree,
  bytes, pid, key FROM runs JOIN progress ON run = key JOIN blobs ON hash = spec";

pub(super) fn decode_header(row: &rusqlite::Row<'_>) -> rusqlite::Result<(i64, RunHeader)> {
    let header = RunHeader {
        id: RunId(row.get(0)?),
        workflow: row.get(1)?,
        definition_hash: row.get(2)?,
        input: row.get(3)?,
        project: row.get(4)?,
        started: Timestamp(row.get(5)?),
        origin: decode_origin(row, 6)?,
        worktree: decode_json::<RunWorktree>(row, 9)?,
        spec: decode_text(row, 10)?,
        pid: row.get(11)?,
    };
    Ok((row.get(12)?, header))
}

/// Columns kind, at, call, body, bytes of the blob, length, digest.
pub(super) fn journal_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<JournalRow> {
    row_ref(row).map(JournalRow::from)
}

/// The same without a copy of the body.
pub(super) fn row_ref<'a>(row: &'a rusqlite::Row<'_>) -> rusqlite::Result<JournalRowRef<'a>> {
    let kind = match row.get_ref(0)?.as_str()? {
        "intent" => JournalRowKind::Intent,
        "begun" => JournalRowKind::Begun,
        "input" => JournalRowKind::Input,
        other => return Err(unreadable_error(0, format!("unknown kind of row `{other}`"))),
    };
    let column = if row.get_ref(4)?.data_type() == Type::Null { 3 } else { 4 };
    let body = match row.get_ref(column)? {
        ValueRef::Text(bytes) if column == 3 => bytes,
        ValueRef::Blob(bytes) if column == 4 => bytes,
        other => return Err(unreadable_error(column, format!("a body cannot be {}", other.data_type()))),
    };
    let body = str::from_utf8(body).map_err(|error| unreadable_error(column, error.to_string()))?;
    if body.len() != usize::try_from(row.get::<_, i64>(5)?).unwrap_or(usize::MAX) {
        return Err(unreadable_error(3, "a stored text is not as long as it was written".to_owned()));
    }
    let call = row.get::<_, Option<i64>>(2)?.map(|call| CallId(call.cast_unsigned()));
    let digest = row.get::<_, Option<i64>>(6)?.map(i64::cast_unsigned);
    Ok(JournalRowRef { kind, at: Timestamp(row.get(1)?), call, body, digest })
}

pub(super) fn decode_summary(
    row: &rusqlite::Row<'_>,
    census: &mut ProcessLivenessCache<'_>,
) -> rusqlite::Result<RunSummary> {
    Ok(RunSummary {
        id: RunId(row.get(0)?),
        workflow: row.get(1)?,
        definition_hash: row.get(2)?,
        input: row.get(3)?,
        project: row.get(4)?,
        started: Timestamp(row.get(5)?),
        origin: decode_origin(row, 6)?,
        worktree: decode_json(row, 9)?,
        progress: RunProgress {
            // the row has it as its input
            title: None,
            status: seen_status(row, (0, 10), census)?,
            updated: Timestamp(row.get(13)?),
            usage: TokenUsage {
                prompt: decode_count(row, 14)?,
                completion: decode_count(row, 15)?,
                cached: decode_count(row, 16)?,
                reasoning: decode_count(row, 17)?,
                // kept in the journal only: `runs cost` has it
                ..TokenUsage::default()
            },
            cost_usd: row.get(18)?,
            snapshot: row.get::<_, Option<String>>(19)?.map(SnapshotId),
            path: decode_json(row, 20)?.unwrap_or_default(),
            pauses: decode_json(row, 21)?.unwrap_or_default(),
            error: decode_json(row, 22)?,
            output: decode_json(row, 23)?,
        },
    })
}

pub(super) fn decode_outline(
    row: &rusqlite::Row<'_>,
    census: &mut ProcessLivenessCache<'_>,
) -> rusqlite::Result<RunOutline> {
    Ok(RunOutline {
        id: RunId(row.get(0)?),
        started: Timestamp(row.get(1)?),
        status: seen_status(row, (0, 2), census)?,
        updated: Timestamp(row.get(5)?),
        worktree: decode_json(row, 6)?,
    })
}

/// The id, and status, pid and process from `first` on, as a reader sees them: a dead process runs nothing, and a server
/// needs none.
pub(super) fn seen_status(
    row: &rusqlite::Row<'_>,
    (id, first): (usize, usize),
    census: &mut ProcessLivenessCache<'_>,
) -> rusqlite::Result<RunStatus> {
    let name = row.get_ref(first)?.as_str()?;
    let found = RunStatus::ALL.into_iter().find(|status| status.as_str() == name);
    let status = found.ok_or_else(|| unreadable_error(first, format!("unknown status `{name}`")))?;
    if !matches!(status, RunStatus::Running | RunStatus::Interrupted) {
        return Ok(status);
    }
    if status == RunStatus::Running && census.is_alive(row.get(first + 1)?, row.get_ref(first + 2)?.as_str()?)
    {
        return Ok(RunStatus::Running);
    }
    let goes_on = census.is_remote(row.get_ref(id)?.as_str()?)?;
    Ok(if goes_on { RunStatus::Running } else { RunStatus::Interrupted })
}

/// `None` for a value that makes no sense, where one damaged row must not hide all others.
pub(super) fn if_readable<T>(read: rusqlite::Result<T>) -> rusqlite::Result<Option<T>> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(rusqlite::Error::FromSqlConversionFailure(..) | rusqlite::Error::InvalidColumnType(..)) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Columns run, kind and step.
fn decode_origin(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<Option<RunOrigin>> {
    let Some(run) = row.get::<_, Option<String>>(first)? else { return Ok(None) };
    let name = row.get_ref(first + 1)?.as_str()?;
    let kind = RunOriginKind::ALL.into_iter().find(|kind| kind.as_str() == name);
    let kind = kind.ok_or_else(|| unreadable_error(first + 1, format!("unknown origin `{name}`")))?;
    Ok(Some(RunOrigin { run: RunId(run), kind, step: row.get(first + 2)? }))
}

fn decode_count(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}

fn decode_text(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<String> {
    String::from_utf8(row.get(column)?).map_err(|error| unreadable_error(column, error.to_string()))
}

fn decode_json<T: DeserializeOwned>(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Option<T>> {
    let Some(text) = row.get_ref(column)?.as_str_or_null()? else { return Ok(None) };
    serde_json::from_str(text).map(Some).map_err(|error| unreadable_error(column, error.to_string()))
}

fn unreadable_error(column: usize, reason: String) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, reason.into())
}
