//! Starting a run and appending to it: one transaction each, by the run's owner only.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior, params};

use super::index_queue::SearchIndexQueue;
use super::liveness_lock::{self, LivenessLock};
use super::remote_runs::mark_remote;
use super::write_refusal::{self, StoreRefusal, StoreWriteResult};
use super::{blob, preview, process_liveness};
use crate::liveness_handle::LivenessLockHandle;
use synthdev_domain::ids::{CallId, RunId};
use synthdev_domain::journal::{JournalRow, RunHeader, RunProgress};

/// Longer bodies are stored once by content hash.
const INLINE_LIMIT: usize = 128 * 1024;
/// Characters of a long body that stay in its row.
const PREVIEW: usize = 200;

/// The writing connection with what it needs not look up again.
#[derive(Debug)]
pub(super) struct StoreWriter {
    pub(super) connection: Connection,
    /// Runs that this process drives, or did until another one claimed them.
    pub(super) driven_runs: HashMap<RunId, DrivenRun>,
    pub(super) queue: SearchIndexQueue,
    pub(super) own_identity: OwnProcessIdentity,
    /// Until a run was driven there is none.
    pub(super) liveness_lock: Option<LivenessLock>,
    /// Shares it.
    liveness: LivenessLockHandle,
}

/// This process, as the store knows it.
#[derive(Clone, Debug)]
pub(super) struct OwnProcessIdentity {
    pub(super) pid: u32,
    pub(super) identity: String,
}

/// The owner's view of its run. Valid as long as the claim: no other process writes rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct DrivenRun {
    pub(super) key: i64,
    pub(super) claim: i64,
    /// Number of the next row.
    pub(super) next_row: i64,
    /// The end of the run was written: its index may have been closed.
    pub(super) is_over: bool,
    /// An append failed, so `next` must be looked up: a commit can be on the disk although it was reported as failed.
    pub(super) must_recheck: bool,
}

/// What is done in the same transaction as an append.
#[derive(Clone, Copy, Debug)]
pub(super) enum AppendExtra<'a> {
    Nothing,
    /// Deletes the run's unused tokens and those that answered one of these calls; replaces the preview by this one, or
    /// removes it (`None`).
    EndTokens(&'a [CallId], Option<&'a str>),
    /// Replaces the preview.
    Preview(&'a str),
}

impl StoreWriter {
    pub(super) fn new(connection: Connection, liveness: LivenessLockHandle) -> Self {
        let pid = std::process::id();
        let me = OwnProcessIdentity { pid, identity: process_liveness::process_identity(pid) };
        Self {
            connection,
            driven_runs: HashMap::new(),
            queue: SearchIndexQueue::default(),
            own_identity: me,
            liveness_lock: None,
            liveness,
        }
    }

    /// Before a run is claimed: other processes must see that its owner lives.
    pub(super) fn hold_liveness_lock(&mut self) {
        if self.liveness_lock.is_none() {
            self.liveness_lock =
                self.connection.path().and_then(|path| LivenessLock::acquire_lock(Path::new(path)));
            if let Some(presence) = &self.liveness_lock {
                self.liveness.share_lock(&presence.locked_file);
                self.own_identity.identity =
                    process_liveness::identity_with_lock(&self.own_identity.identity, presence);
            }
        }
    }

    /// Where this process listens to others.
    pub(super) fn control_socket_path(&mut self) -> Option<PathBuf> {
        self.hold_liveness_lock();
        let presence = self.liveness_lock.as_ref()?;
        liveness_lock::control_socket_path(Path::new(self.connection.path()?), &presence.name)
    }

    /// `keeper`: the server that keeps its journal, if one does.
    pub(super) fn create_run(&mut self, header: &RunHeader, keeper: Option<&str>) -> StoreWriteResult<()> {
        self.hold_liveness_lock();
        let transaction = begin_write(&mut self.connection)?;
        let (key, claim) = next_numbers(&transaction)?;
        if !insert_run(&transaction, key, header)? {
            return Ok(Err(StoreRefusal::Exists));
        }
        let identity = match header.pid {
            pid if pid == self.own_identity.pid => self.own_identity.identity.clone(),
            pid => process_liveness::process_identity(pid),
        };
        let owner = OwnProcessIdentity { pid: header.pid, identity };
        insert_progress(&transaction, key, claim, &RunProgress::new(header.started), &owner)?;
        keeper.map_or(Ok(()), |server| mark_remote(&transaction, key, server))?;
        transaction.commit()?;
        self.driven_runs.insert(header.id.clone(), DrivenRun::new(key, claim, 1));
        self.queue.push(key, 0, std::iter::once(Some(input_words(&header.workflow, &header.input))));
        Ok(Ok(()))
    }

    /// All rows, the progress and what comes with them, or nothing.
    pub(super) fn append_rows(
        &mut self,
        run: &RunId,
        rows: &[JournalRow],
        progress: Option<&RunProgress>,
        also: AppendExtra<'_>,
    ) -> StoreWriteResult<()> {
        let Some(driven) = self.driven_runs.get_mut(run) else {
            return Ok(Err(match find_run_key(&self.connection, run)? {
                Some(_) => StoreRefusal::NotClaimed,
                None => StoreRefusal::Unknown,
            }));
        };
        let unsure = std::mem::replace(&mut driven.must_recheck, true);
        let transaction = begin_write(&mut self.connection)?;
        if unsure {
            driven.next_row = next_seq(&transaction, driven.key)?;
        }
        if !write_rows(&transaction, driven, rows, progress, &self.own_identity)? {
            return write_refusal::lost_claim_refusal(&transaction, run).map(Err);
        }
        match also {
            AppendExtra::Nothing => {}
            AppendExtra::EndTokens(void, preview) => {
                void_tokens(&transaction, driven.key, void)?;
                preview::replace_preview(&transaction, driven.key, preview)?;
            }
            AppendExtra::Preview(body) => preview::save_preview(&transaction, driven.key, body)?,
        }
        transaction.commit()?;
        driven.must_recheck = false;
        driven.on_rows_written(rows, progress, &mut self.queue);
        Ok(Ok(()))
    }

    /// A run that was made elsewhere. Its words are found by the first search.
    pub(super) fn import_run(
        &mut self,
        header: &RunHeader,
        rows: &[JournalRow],
        progress: &RunProgress,
        preview: Option<&str>,
    ) -> StoreWriteResult<()> {
        let transaction = begin_write(&mut self.connection)?;
        let (key, _) = next_numbers(&transaction)?;
        if !insert_run(&transaction, key, header)? {
            return Ok(Err(StoreRefusal::Exists));
        }
        // no process has this identity: a run that was running becomes interrupted
        let importer = OwnProcessIdentity { pid: header.pid, identity: "imported".to_owned() };
        insert_progress(&transaction, key, 0, progress, &importer)?;
        write_rows(&transaction, &DrivenRun::new(key, 0, 1), rows, None, &importer)?;
        preview::replace_preview(&transaction, key, preview)?;
        transaction.commit()?;
        Ok(Ok(()))
    }
}

impl DrivenRun {
    pub(super) fn new(key: i64, claim: i64, next: i64) -> Self {
        Self { key, claim, next_row: next, is_over: false, must_recheck: false }
    }

    /// After the commit: the numbers that were given, and the words that wait for the index.
    pub(super) fn on_rows_written(
        &mut self,
        rows: &[JournalRow],
        progress: Option<&RunProgress>,
        queue: &mut SearchIndexQueue,
    ) {
        queue.push(self.key, self.next_row, rows.iter().map(|row| row.words.clone()));
        self.next_row += i64::try_from(rows.len()).unwrap_or(0);
        if let Some(progress) = progress {
            self.is_over = progress.status.is_over();
        }
    }
}

pub(super) fn begin_write(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

pub(super) fn find_run_key(connection: &Connection, run: &RunId) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached("SELECT key FROM runs WHERE id = ?1")?
        .query_row([run.as_str()], |row| row.get(0))
        .optional()
}

/// A run key and a claim that were never given before.
pub(super) fn next_numbers(transaction: &Transaction<'_>) -> rusqlite::Result<(i64, i64)> {
    transaction
        .prepare_cached(
            "UPDATE counters SET claims = claims + 1, runs = 1 + max(runs, (SELECT coalesce(max(key), 0) FROM runs))
             RETURNING runs, claims",
        )?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Number of a run's next row.
pub(super) fn next_seq(transaction: &Transaction<'_>, key: i64) -> rusqlite::Result<i64> {
    transaction
        .prepare_cached("SELECT coalesce(max(seq), 0) + 1 FROM rows WHERE run = ?1")?
        .query_row([key], |row| row.get(0))
}

/// Inside a transaction: rows and progress, if the owner's claim still holds; `false` if not.
pub(super) fn write_rows(
    transaction: &Transaction<'_>,
    driven: &DrivenRun,
    rows: &[JournalRow],
    progress: Option<&RunProgress>,
    me: &OwnProcessIdentity,
) -> rusqlite::Result<bool> {
    if driven.is_over && !rows.is_empty() {
        mark_behind(transaction, driven.key, driven.next_row)?;
    }
    let mut insert = transaction.prepare_cached(
        "INSERT INTO rows(run, seq, kind, at, call, body, blob, length, digest)
         SELECT run, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 FROM progress WHERE run = ?1 AND claim = ?2",
    )?;
    for (row, seq) in rows.iter().zip(driven.next_row..) {
        let long = row.body.len() > INLINE_LIMIT;
        let blob = if long { Some(blob::store_text(transaction, &row.body)?) } else { None };
        let body = if long { preview_prefix(&row.body) } else { row.body.as_str() };
        // call ids are counted from zero: they stay far below 2^63
        let call = row.call.map(|call| call.0.cast_signed());
        let digest = row.digest.map(u64::cast_signed);
        let length = saturate_to_i64(row.body.len() as u64);
        let (key, claim) = (driven.key, driven.claim);
        let kind = row.kind.as_str();
        if insert.execute(params![key, claim, seq, kind, row.at.0, call, body, blob, length, digest])? == 0 {
            return Ok(false);
        }
    }
    match progress {
        Some(progress) => {
            update_title(transaction, driven, progress)?;
            update_progress(transaction, driven, progress, me)
        }
        None if rows.is_empty() => claim_holds(transaction, driven),
        None => Ok(true),
    }
}

/// Whether the run exists and no other process has claimed it since.
pub(super) fn claim_holds(connection: &Connection, driven: &DrivenRun) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM progress WHERE run = ?1 AND claim = ?2")?
        .exists([driven.key, driven.claim])
}

/// Used ones stay: a repeated answer gets its reply, unless a rewind has discarded the answered call.
fn void_tokens(transaction: &Transaction<'_>, key: i64, void: &[CallId]) -> rusqlite::Result<()> {
    transaction.prepare_cached("DELETE FROM tokens WHERE used IS NULL AND run = ?1")?.execute([key])?;
    let mut one = transaction.prepare_cached("DELETE FROM tokens WHERE run = ?1 AND call = ?2")?;
    for call in void {
        one.execute([key, call.0.cast_signed()])?;
    }
    Ok(())
}

/// The run may have rows from `next` on that are not in the index.
pub(super) fn mark_behind(transaction: &Transaction<'_>, key: i64, next: i64) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("INSERT INTO behind(run, next) VALUES (?1, ?2) ON CONFLICT(run) DO NOTHING")?
        .execute([key, next])?;
    Ok(())
}

/// What a search finds of the run itself.
pub(super) fn input_words(workflow: &str, input: &str) -> String {
    format!("{workflow}\n{input}")
}

/// `false` if the id is taken.
fn insert_run(transaction: &Transaction<'_>, key: i64, header: &RunHeader) -> rusqlite::Result<bool> {
    let spec = blob::store_text(transaction, &header.spec)?;
    let origin = header.origin.as_ref();
    let inserted = transaction
        .prepare_cached(
            "INSERT INTO runs(key, id, workflow, definition_hash, input, project, started, spec, origin_run,
               origin_kind, origin_step, worktree)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?
        .execute(params![
            key,
            header.id.0,
            header.workflow,
            header.definition_hash,
            header.input,
            header.project,
            header.started.0,
            spec,
            origin.map(|origin| origin.run.as_str()),
            origin.map(|origin| origin.kind.as_str()),
            origin.and_then(|origin| origin.step),
            header.worktree.as_ref().map(to_json).transpose()?,
        ]);
    match inserted {
        Ok(_) => {}
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => return Ok(false),
        Err(error) => return Err(error),
    }
    mark_behind(transaction, key, 0)?;
    Ok(true)
}

fn insert_progress(
    transaction: &Transaction<'_>,
    key: i64,
    claim: i64,
    progress: &RunProgress,
    owner: &OwnProcessIdentity,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO progress(run, claim, status, pid, process, updated, prompt, completion, cached, reasoning,
               path) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, 0, 0, 0, '[]')",
        )?
        .execute(params![
            key,
            claim,
            progress.status.as_str(),
            owner.pid,
            owner.identity,
            progress.updated.0
        ])?;
    update_progress(transaction, &DrivenRun::new(key, claim, 1), progress, owner)?;
    Ok(())
}

/// The status is written only when it changes: it is in an index, and each page that a commit touches costs a write.
const UPDATE_SAME_STATUS: &str = "UPDATE progress SET pid = ?4, process = ?5, updated = ?6, prompt = ?7,
   completion = ?8, cached = ?9, reasoning = ?10, cost_usd = ?11, snapshot = ?12, path = ?13, pauses = ?14, error = ?15,
   output = ?16
 WHERE run = ?1 AND claim = ?2 AND status = ?3";
const UPDATE_NEW_STATUS: &str = "UPDATE progress SET status = ?3, pid = ?4, process = ?5, updated = ?6, prompt = ?7,
   completion = ?8, cached = ?9, reasoning = ?10, cost_usd = ?11, snapshot = ?12, path = ?13, pauses = ?14, error = ?15,
   output = ?16
 WHERE run = ?1 AND claim = ?2";

/// The title of a conversation is kept as its input: it has no other, and every list shows and searches that.
fn update_title(
    transaction: &Transaction<'_>,
    driven: &DrivenRun,
    progress: &RunProgress,
) -> rusqlite::Result<()> {
    let Some(title) = &progress.title else { return Ok(()) };
    transaction
        .prepare_cached(
            "UPDATE runs SET input = ?3 WHERE key = ?1 AND input <> ?3
               AND EXISTS(SELECT 1 FROM progress WHERE run = ?1 AND claim = ?2)",
        )?
        .execute(params![driven.key, driven.claim, title])?;
    Ok(())
}

/// `false` if the owner's claim no longer holds.
fn update_progress(
    transaction: &Transaction<'_>,
    driven: &DrivenRun,
    progress: &RunProgress,
    me: &OwnProcessIdentity,
) -> rusqlite::Result<bool> {
    let pauses = if progress.pauses.is_empty() { None } else { Some(to_json(&progress.pauses)?) };
    let path = to_json(&progress.path)?;
    let error = progress.error.as_ref().map(to_json).transpose()?;
    let output = progress.output.as_ref().map(to_json).transpose()?;
    for sql in [UPDATE_SAME_STATUS, UPDATE_NEW_STATUS] {
        let changed = transaction.prepare_cached(sql)?.execute(params![
            driven.key,
            driven.claim,
            progress.status.as_str(),
            me.pid,
            me.identity,
            progress.updated.0,
            saturate_to_i64(progress.usage.prompt),
            saturate_to_i64(progress.usage.completion),
            saturate_to_i64(progress.usage.cached),
            saturate_to_i64(progress.usage.reasoning),
            progress.cost_usd,
            progress.snapshot.as_ref().map(|id| id.as_str()),
            path,
            pauses,
            error,
            output,
        ])?;
        if changed > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

fn preview_prefix(text: &str) -> &str {
    text.char_indices().nth(PREVIEW).map_or(text, |(end, _)| &text[..end])
}

/// SQLite's integers are signed; a count that large is not real.
fn saturate_to_i64(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn to_json(value: &impl serde::Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}
