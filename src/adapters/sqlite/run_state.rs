//! The state of a run, kept so that resuming it need not read its whole journal: a cache, which no other build of the
//! program gets.

use std::io::Read;
use std::sync::OnceLock;
use std::time::UNIX_EPOCH;

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, params};

use super::decode;
use super::read::{HeaderWithKey, ROWS_FROM, find_header};
use super::write::{DrivenRun, StoreWriter, begin_write};
use synthdev_domain::ids::RunId;
use synthdev_ports::run_store::RunWithState;

impl StoreWriter {
    /// Keeps it as of the last row, if this process still drives the run.
    pub(super) fn save_state(&mut self, run: &RunId, state: &str) -> rusqlite::Result<()> {
        let (Some(build), Some(DrivenRun { key, claim, .. })) = (build_identity(), self.driven_runs.get(run))
        else {
            return Ok(());
        };
        let transaction = begin_write(&mut self.connection)?;
        transaction
            .prepare_cached(
                "INSERT INTO states(run, build, seq, body)
                 SELECT run, ?3, (SELECT coalesce(max(seq), 0) FROM rows WHERE rows.run = ?1), ?4
                 FROM progress WHERE run = ?1 AND claim = ?2
                 ON CONFLICT(run) DO UPDATE SET build = excluded.build, seq = excluded.seq, body = excluded.body",
            )?
            .execute(params![key, claim, build, state])?;
        transaction.commit()
    }

    pub(super) fn drop_state(&mut self, run: &RunId) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached("DELETE FROM states WHERE run = (SELECT key FROM runs WHERE id = ?1)")?
            .execute([run.as_str()])
            .map(drop)
    }
}

/// `None`: there is no such run.
pub(super) fn load_with_state(
    connection: &Connection,
    run: &RunId,
) -> rusqlite::Result<Option<RunWithState>> {
    let moment = connection.unchecked_transaction()?;
    let Some(HeaderWithKey { key, header }) = find_header(&moment, run)? else { return Ok(None) };
    let seq: Option<i64> = moment
        .prepare_cached(
            "SELECT seq FROM states WHERE run = ?1 AND build = ?2 AND typeof(seq) = 'integer'
             AND typeof(body) = 'text'",
        )?
        .query_row(params![key, build_identity()], |row| row.get(0))
        .optional()?;
    let state = if seq.is_some() { read_state(&moment, key)? } else { None };
    let seq = seq.filter(|_| state.is_some()).unwrap_or(0);
    let mut statement = moment.prepare_cached(ROWS_FROM)?;
    let mut rows = statement.query([key, seq.saturating_add(1)])?;
    let mut rows_since = Vec::new();
    while let Some(row) = rows.next()? {
        rows_since.push(decode::row_ref(row)?.into());
    }
    Ok(Some(RunWithState { header, state, rows_since }))
}

/// Read piece by piece: a query would hold a second copy of it, which costs a large state a sixth of its time. What is no
/// text is damage, and the journal has all of it.
fn read_state(connection: &Connection, key: i64) -> rusqlite::Result<Option<String>> {
    let mut body = connection.blob_open("main", "states", "body", key, true)?;
    let mut state = vec![0; body.len()];
    body.read_exact(&mut state)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(1, Type::Text, Box::new(error)))?;
    Ok(String::from_utf8(state).ok())
}

/// Its bytes.
pub(super) fn weigh_state(connection: &Connection, key: i64) -> rusqlite::Result<u64> {
    let bytes: Option<i64> = connection
        .prepare_cached("SELECT octet_length(body) FROM states WHERE run = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()?;
    Ok(bytes.map_or(0, i64::unsigned_abs))
}

/// What distinguishes this build of the program from others: version, size and time of its file. `None` where the
/// system does not tell: then no state is kept, as one of another build could be read wrongly.
fn build_identity() -> Option<&'static str> {
    static IDENTITY: OnceLock<Option<String>> = OnceLock::new();
    IDENTITY.get_or_init(read_build_identity).as_deref()
}

fn read_build_identity() -> Option<String> {
    // the program that runs, also if its file was replaced meanwhile
    let own = ["/proc/self/exe".into(), std::env::current_exe().ok()?];
    let file = own.iter().find_map(|path| std::fs::metadata(path).ok())?;
    let written = file.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos();
    Some(format!("{} {} {written}", env!("CARGO_PKG_VERSION"), file.len()))
}
