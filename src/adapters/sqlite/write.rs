//! Creating a run and appending to it: one transaction each.

use rusqlite::{Connection, TransactionBehavior, params};

use super::blobs::{self, LARGE};
use super::read::process_start;
use crate::domain::cost::Usage;
use crate::domain::ids::RunId;
use crate::domain::journal::{Row, RowKind, RunHeader, RunProgress, RunStatus};

pub(super) fn create(connection: &mut Connection, header: &RunHeader) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let spec = blobs::put(&transaction, &header.spec)?;
    let progress = RunProgress {
        status: RunStatus::Running,
        path: Vec::new(),
        usage: Usage::default(),
        cost_usd: Some(0.0),
        snapshot: None,
        output: None,
        error: None,
        updated: header.started,
    };
    transaction.execute(
        "INSERT INTO runs (id, workflow, definition_hash, input, project, started, pid, pid_started, spec,
                           progress, next_seq) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 1)",
        params![
            header.id.as_str(),
            header.workflow,
            header.definition_hash,
            header.input,
            header.project,
            header.started.0,
            header.pid,
            process_start(header.pid),
            spec,
            json(&progress)?,
        ],
    )?;
    transaction.commit()
}

pub(super) fn append(
    connection: &mut Connection,
    run: &RunId,
    rows: &[Row],
    progress: Option<&RunProgress>,
) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let count = i64::try_from(rows.len()).unwrap_or(i64::MAX);
    let next: i64 = transaction
        .prepare_cached("UPDATE runs SET next_seq = next_seq + ?2 WHERE id = ?1 RETURNING next_seq")?
        .query_row(params![run.as_str(), count], |row| row.get(0))?;
    for (row, seq) in rows.iter().zip(next - count..) {
        let large = row.body.len() > LARGE;
        let blob = if large { Some(blobs::put(&transaction, &row.body)?) } else { None };
        let preview = large.then(|| blobs::preview(&row.body));
        transaction
            .prepare_cached(
                "INSERT INTO rows (run, seq, kind, at, call, body, blob) VALUES (?1,?2,?3,?4,?5,?6,?7)",
            )?
            .execute(params![
                run.as_str(),
                seq,
                kind_number(row.kind),
                row.at.0,
                row.call.map(|call| call.0.cast_signed()),
                preview.as_deref().unwrap_or(&row.body),
                blob,
            ])?;
    }
    if let Some(progress) = progress {
        transaction
            .prepare_cached("UPDATE runs SET progress = ?2 WHERE id = ?1")?
            .execute(params![run.as_str(), json(progress)?])?;
    }
    transaction.commit()
}

pub(super) fn kind_number(kind: RowKind) -> i64 {
    match kind {
        RowKind::Intent => 0,
        RowKind::Input => 1,
    }
}

fn json(progress: &RunProgress) -> rusqlite::Result<String> {
    serde_json::to_string(progress).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}
