//! Lists, lookups and whole journals.

use rusqlite::types::Type;
use rusqlite::{Connection, Row as SqlRow};

use super::blobs;
use crate::domain::ids::{CallId, RunId, Timestamp};
use crate::domain::journal::{Row, RowKind, RunHeader, RunProgress, RunStatus, RunSummary};

const SUMMARY: &str =
    "SELECT id, workflow, definition_hash, input, project, started, pid, pid_started, progress FROM runs";

pub(super) fn list(connection: &Connection, limit: usize) -> rusqlite::Result<Vec<RunSummary>> {
    let most = if limit == 0 { -1 } else { i64::try_from(limit).unwrap_or(-1) };
    let mut statement =
        connection.prepare_cached(&format!("{SUMMARY} ORDER BY started DESC, id DESC LIMIT ?1"))?;
    statement.query_map([most], summary)?.collect()
}

pub(super) fn by_prefix(connection: &Connection, prefix: &str) -> rusqlite::Result<Vec<RunSummary>> {
    let mut statement = connection
        .prepare_cached(&format!("{SUMMARY} WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id LIMIT 20"))?;
    let found: Vec<RunSummary> = statement.query_map([prefix], summary)?.collect::<rusqlite::Result<_>>()?;
    // A whole id is never ambiguous.
    let exact = found.iter().position(|run| run.id.as_str() == prefix);
    Ok(exact.map_or_else(|| found.clone(), |at| vec![found[at].clone()]))
}

pub(super) fn load(connection: &Connection, run: &RunId) -> rusqlite::Result<(RunHeader, Vec<Row>)> {
    let mut header = connection.query_row(
        "SELECT id, workflow, definition_hash, spec, input, project, started, pid FROM runs WHERE id = ?1",
        [run.as_str()],
        |row| {
            Ok(RunHeader {
                id: RunId(row.get(0)?),
                workflow: row.get(1)?,
                definition_hash: row.get(2)?,
                spec: row.get(3)?,
                input: row.get(4)?,
                project: row.get(5)?,
                started: Timestamp(row.get(6)?),
                pid: row.get(7)?,
            })
        },
    )?;
    header.spec = blobs::get(connection, &header.spec)?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
    let mut statement = connection
        .prepare_cached("SELECT kind, at, call, body, blob FROM rows WHERE run = ?1 ORDER BY seq")?;
    let mut found = statement.query([run.as_str()])?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        let blob: Option<String> = row.get(4)?;
        let body = match blob {
            Some(hash) => blobs::get(connection, &hash)?.ok_or(rusqlite::Error::QueryReturnedNoRows)?,
            None => row.get(3)?,
        };
        let kind = if row.get::<_, i64>(0)? == 0 { RowKind::Intent } else { RowKind::Input };
        let call: Option<i64> = row.get(2)?;
        let call = call.map(|call| CallId(call.cast_unsigned()));
        rows.push(Row { kind, at: Timestamp(row.get(1)?), call, body });
    }
    Ok((header, rows))
}

fn summary(row: &SqlRow<'_>) -> rusqlite::Result<RunSummary> {
    let text: String = row.get(8)?;
    let mut progress: RunProgress = serde_json::from_str(&text)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(8, Type::Text, Box::new(error)))?;
    if progress.status == RunStatus::Running && !is_alive(row.get(6)?, row.get(7)?) {
        progress.status = RunStatus::Interrupted;
    }
    Ok(RunSummary {
        id: RunId(row.get(0)?),
        workflow: row.get(1)?,
        definition_hash: row.get(2)?,
        input: row.get(3)?,
        project: row.get(4)?,
        started: Timestamp(row.get(5)?),
        progress,
    })
}

/// A run whose process is gone was interrupted; a number that was given to another process does not count.
fn is_alive(pid: u32, started: i64) -> bool {
    let now = process_start(pid);
    now != GONE && (started == UNKNOWN || now == UNKNOWN || now == started)
}

const GONE: i64 = -1;
/// Systems without `/proc`: a running run is believed.
const UNKNOWN: i64 = 0;

/// When a process started, in the kernel's ticks since boot.
pub(super) fn process_start(pid: u32) -> i64 {
    if !std::path::Path::new("/proc/self/stat").exists() {
        return UNKNOWN;
    }
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return GONE };
    // The command's name is in parentheses and may hold anything; field 22 is the 20th after it.
    let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
    after.split_whitespace().nth(19).and_then(|ticks| ticks.parse().ok()).unwrap_or(UNKNOWN)
}
