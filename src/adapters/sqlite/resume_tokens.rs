//! Resume tokens by their hash: issued, tried, used once.

use rusqlite::{Connection, ErrorCode, OptionalExtension, params};

use super::remote_runs::{RunClaimant, check_not_remote};
use super::run_ownership::{check_commands_ended, find_owner, take_over};
use super::write::{StoreWriter, begin_write, find_run_key, write_rows};
use super::write_refusal::{StoreRefusal, StoreWriteResult};
use synthdev_domain::ids::{CallId, RunId, Timestamp};
use synthdev_domain::journal::{JournalRow, RunProgress, RunStatus, TokenRecord, TokenRedeemOutcome};
use synthdev_ports::run_store::RemoteRunAction;

const TOKEN: &str =
    "SELECT hash, id, call, tokens.definition_hash, created, expires, tries, used, results_hash, answer
  FROM tokens JOIN runs ON key = run";

/// A token's answer to results.
pub(super) struct TokenRedemption<'a> {
    pub(super) hash: &'a str,
    pub(super) results_hash: &'a str,
    pub(super) answer: &'a str,
    pub(super) now: Timestamp,
}

impl StoreWriter {
    pub(super) fn issue_token(&mut self, token: &TokenRecord) -> StoreWriteResult<()> {
        let transaction = begin_write(&mut self.connection)?;
        let Some(key) = find_run_key(&transaction, &token.run)? else {
            return Ok(Err(StoreRefusal::Unknown));
        };
        let inserted = transaction
            .prepare_cached(
                "INSERT INTO tokens(hash, run, call, definition_hash, created, expires, tries, used, results_hash,
                   answer) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            )?
            .execute(params![
                token.hash,
                key,
                token.call.0.cast_signed(),
                token.definition_hash,
                token.created.0,
                token.expires.0,
                token.tries,
                token.used.map(|used| used.0),
                token.results_hash,
                token.answer,
            ]);
        match inserted {
            Ok(_) => transaction.commit().map(Ok),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
                Ok(Err(StoreRefusal::TokenExists))
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn count_try(&mut self, hash: &str) -> StoreWriteResult<u32> {
        let tries = self
            .connection
            .prepare_cached("UPDATE tokens SET tries = tries + 1 WHERE hash = ?1 RETURNING tries")?
            .query_row([hash], |row| row.get(0))
            .optional()?;
        Ok(tries.ok_or(StoreRefusal::UnknownToken))
    }

    /// Uses the token up and appends, or neither.
    pub(super) fn redeem_token(
        &mut self,
        usage: &TokenRedemption<'_>,
        rows: &[JournalRow],
        progress: Option<&RunProgress>,
    ) -> StoreWriteResult<TokenRedeemOutcome> {
        self.hold_liveness_lock();
        let transaction = begin_write(&mut self.connection)?;
        let Some(token) = by_hash(&transaction, usage.hash)? else {
            return Ok(Err(StoreRefusal::UnknownToken));
        };
        if token.used.is_some() {
            return Ok(Ok(used_before(token, usage.results_hash)));
        }
        if token.expires <= usage.now {
            return Ok(Err(StoreRefusal::ExpiredToken));
        }
        let Some((owner, run)) = find_owner(&transaction, &token.run)? else {
            return Ok(Err(StoreRefusal::Unknown));
        };
        if let Err(refusal) =
            check_not_remote(&transaction, &token.run, RunClaimant::User(RemoteRunAction::Resume))?
        {
            return Ok(Err(refusal));
        }
        let mine = self.driven_runs.get(&token.run).filter(|driven| driven.claim == owner.claim).copied();
        let mut driven = match mine {
            Some(driven) => driven,
            None if run.progress.status == RunStatus::Running => {
                return Ok(Err(StoreRefusal::Driven { pid: owner.pid }));
            }
            None => {
                if let Err(refusal) = check_commands_ended(&transaction, &owner)? {
                    return Ok(Err(refusal));
                }
                take_over(&transaction, owner.key, &self.own_identity)?
            }
        };
        write_rows(&transaction, &driven, rows, progress, &self.own_identity)?;
        transaction
            .prepare_cached(
                "UPDATE tokens SET used = ?3, results_hash = ?4, answer = ?5
                 WHERE run = ?1 AND call = ?2 AND used IS NULL",
            )?
            .execute(params![
                driven.key,
                token.call.0.cast_signed(),
                usage.now.0,
                usage.results_hash,
                usage.answer
            ])?;
        transaction.commit()?;
        driven.on_rows_written(rows, progress, &mut self.queue);
        self.driven_runs.insert(token.run, driven);
        Ok(Ok(TokenRedeemOutcome::Accepted))
    }
}

pub(super) fn by_hash(connection: &Connection, hash: &str) -> rusqlite::Result<Option<TokenRecord>> {
    connection.prepare_cached(&format!("{TOKEN} WHERE hash = ?1"))?.query_row([hash], decode_token).optional()
}

/// Unused ones, oldest first.
pub(super) fn open_tokens(connection: &Connection, run: &RunId) -> rusqlite::Result<Vec<TokenRecord>> {
    let sql = format!("{TOKEN} WHERE id = ?1 AND used IS NULL ORDER BY created, hash");
    connection.prepare_cached(&sql)?.query_map([run.as_str()], decode_token)?.collect()
}

fn used_before(token: TokenRecord, results_hash: &str) -> TokenRedeemOutcome {
    if token.results_hash.as_deref() == Some(results_hash) {
        TokenRedeemOutcome::Duplicate { answer: token.answer.unwrap_or_default() }
    } else {
        TokenRedeemOutcome::Conflict
    }
}

fn decode_token(row: &rusqlite::Row<'_>) -> rusqlite::Result<TokenRecord> {
    Ok(TokenRecord {
        hash: row.get(0)?,
        run: RunId(row.get(1)?),
        call: CallId(row.get::<_, i64>(2)?.cast_unsigned()),
        definition_hash: row.get(3)?,
        created: Timestamp(row.get(4)?),
        expires: Timestamp(row.get(5)?),
        tries: row.get(6)?,
        used: row.get::<_, Option<i64>>(7)?.map(Timestamp),
        results_hash: row.get(8)?,
        answer: row.get(9)?,
    })
}
