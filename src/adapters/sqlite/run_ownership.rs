//! The run lock, also called the claim: which process owns a run, that is drives it and may write its journal, one
//! process at a time. `process_liveness.rs` says whether the owner lives. It is not the project lock (`project_lock.rs`).
//! A new run gets its first claim in `create_run` (`write.rs`), and each write checks it with `claim_holds` there.

use std::thread;
use std::time::Duration;

use rusqlite::{Connection, Transaction, params};

use super::process_liveness::{OwnerState, ProcessLivenessCache};
use super::read;
use super::remote_runs::{RunClaimant, check_not_remote};
use super::write::{
    DrivenRun, OwnProcessIdentity, StoreWriter, begin_write, claim_holds, mark_behind, next_seq,
};
use super::write_refusal::{StoreRefusal, StoreWriteResult};
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::{RunStatus, RunSummary};
use synthdev_ports::run_store::StoreError;

/// The commands of a killed process end within milliseconds. A claim waits longer for them than their watcher does.
const ENDING_LOOK: Duration = Duration::from_millis(5);
const ENDING_LOOKS: u32 = 600;

impl StoreWriter {
    /// Takes the run over, unless a living process is running it. Returns the run as it was.
    pub(super) fn claim_run(&mut self, run: &RunId, claimant: RunClaimant) -> StoreWriteResult<RunSummary> {
        self.hold_liveness_lock();
        let transaction = begin_write(&mut self.connection)?;
        let Some((owner, before)) = find_owner(&transaction, run)? else {
            return Ok(Err(StoreRefusal::Unknown));
        };
        if let Err(refusal) = check_not_remote(&transaction, run, claimant)? {
            return Ok(Err(refusal));
        }
        // only a lock distinguishes two stores of one process
        let mine = self.liveness_lock.is_some() && owner.process == self.own_identity.identity;
        let let_go = mine && !self.driven_runs.contains_key(run);
        if before.progress.status == RunStatus::Running && !let_go {
            return Ok(Err(StoreRefusal::Driven { pid: owner.pid }));
        }
        if let Err(refusal) = check_commands_ended(&transaction, &owner)? {
            return Ok(Err(refusal));
        }
        let driven = take_over(&transaction, owner.key, &self.own_identity)?;
        transaction
            .prepare_cached("UPDATE progress SET status = 'running' WHERE run = ?1")?
            .execute([owner.key])?;
        transaction.commit()?;
        self.driven_runs.insert(run.clone(), driven);
        Ok(Ok(before))
    }

    /// Whether the claim still holds.
    pub(super) fn drives_run(&self, run: &RunId) -> rusqlite::Result<bool> {
        let Some(driven) = self.driven_runs.get(run) else { return Ok(false) };
        claim_holds(&self.connection, driven)
    }

    /// Releases the run as it is: its status is `interrupted`. If that cannot be written, at least this process may
    /// claim it again.
    pub(super) fn release_run(&mut self, run: &RunId) -> rusqlite::Result<()> {
        let Some(driven) = self.driven_runs.remove(run) else { return Ok(()) };
        self.connection
            .prepare_cached(
                "UPDATE progress SET status = 'interrupted' WHERE run = ?1 AND claim = ?2 AND status = 'running'",
            )?
            .execute([driven.key, driven.claim])?;
        Ok(())
    }
}

/// Tries again while the commands of a run's killed owner have not ended.
pub(super) fn retry_after_commands<T>(
    work: &mut dyn FnMut() -> Result<Result<T, StoreRefusal>, StoreError>,
) -> Result<Result<T, StoreRefusal>, StoreError> {
    let mut looks = 0;
    loop {
        match work()? {
            Err(StoreRefusal::Ending { .. }) if looks < ENDING_LOOKS => {
                looks += 1;
                thread::sleep(ENDING_LOOK);
            }
            done => return Ok(done),
        }
    }
}

/// The last writer of a run's progress.
pub(super) struct RunOwner {
    pub(super) key: i64,
    pub(super) claim: i64,
    pub(super) pid: u32,
    pub(super) process: String,
}

/// The living process that owns a run, this one included; `None`: the run has no owner.
pub(super) fn living_owner(connection: &Connection, run: &RunId) -> rusqlite::Result<Option<RunOwner>> {
    let found = find_owner(connection, run)?;
    Ok(found.filter(|(_, run)| run.progress.status == RunStatus::Running).map(|(owner, _)| owner))
}

/// Refuses where the owner was killed while it drove the run, and its commands have not ended yet.
pub(super) fn check_commands_ended(
    connection: &Connection,
    owner: &RunOwner,
) -> rusqlite::Result<Result<(), StoreRefusal>> {
    let drives = connection
        .prepare_cached("SELECT status = 'running' FROM progress WHERE run = ?1")?
        .query_row([owner.key], |row| row.get::<_, bool>(0))?;
    let state = ProcessLivenessCache::for_store(connection).owner_state(owner.pid, &owner.process);
    let is_ending = drives && state == OwnerState::Ending;
    Ok(if is_ending { Err(StoreRefusal::Ending { pid: owner.pid }) } else { Ok(()) })
}

/// The process that owned the run last, and the run as readers see it; `None` if there is no such run.
pub(super) fn find_owner(
    connection: &Connection,
    run: &RunId,
) -> rusqlite::Result<Option<(RunOwner, RunSummary)>> {
    let Some(summary) =
        read::find_exact(connection, run.as_str(), &mut ProcessLivenessCache::for_store(connection))?
    else {
        return Ok(None);
    };
    let owner = connection
        .prepare_cached("SELECT run, claim, pid, process FROM progress JOIN runs ON key = run WHERE id = ?1")?
        .query_row([run.as_str()], |row| {
            Ok(RunOwner { key: row.get(0)?, claim: row.get(1)?, pid: row.get(2)?, process: row.get(3)? })
        })?;
    Ok(Some((owner, summary)))
}

/// A new claim for this process; the status is unchanged.
pub(super) fn take_over(
    transaction: &Transaction<'_>,
    key: i64,
    me: &OwnProcessIdentity,
) -> rusqlite::Result<DrivenRun> {
    let claim = transaction
        .prepare_cached("UPDATE counters SET claims = claims + 1 RETURNING claims")?
        .query_row([], |row| row.get(0))?;
    transaction
        .prepare_cached("UPDATE progress SET claim = ?2, pid = ?3, process = ?4 WHERE run = ?1")?
        .execute(params![key, claim, me.pid, me.identity])?;
    let next = next_seq(transaction, key)?;
    mark_behind(transaction, key, next)?;
    Ok(DrivenRun::new(key, claim, next))
}
