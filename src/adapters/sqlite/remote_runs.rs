//! Runs of which a server keeps the journal: this store has a copy, which only the worker of that server changes.

use rusqlite::{Connection, OptionalExtension, Transaction};

use super::schema;
use super::write_refusal::StoreRefusal;
use synthdev_domain::ids::RunId;
use synthdev_ports::run_store::RemoteRunAction;

/// Who wants to change a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RunClaimant {
    /// This process, for its user, who wants this.
    User(RemoteRunAction),
    /// The worker of the server that keeps the run.
    Worker,
}

/// With the address of its server, for the words of a refusal.
pub(super) fn mark_remote(transaction: &Transaction<'_>, key: i64, server: &str) -> rusqlite::Result<()> {
    transaction.prepare_cached("UPDATE runs SET keeper = ?2 WHERE key = ?1")?.execute((key, server))?;
    Ok(())
}

/// `None`: the run is kept here.
pub(super) fn find_keeper(connection: &Connection, run: &str) -> rusqlite::Result<Option<String>> {
    if has_keepers(connection)? { find_stored_keeper(connection, run) } else { Ok(None) }
}

/// A history of an older version has no place for them.
pub(super) fn has_keepers(connection: &Connection) -> rusqlite::Result<bool> {
    Ok(schema::read_pragma(connection, "user_version")? >= schema::KEEPER_SINCE)
}

/// In a history that has a place for it.
pub(super) fn find_stored_keeper(connection: &Connection, run: &str) -> rusqlite::Result<Option<String>> {
    let found = connection
        .prepare_cached("SELECT keeper FROM runs WHERE id = ?1")?
        .query_row([run], |row| row.get(0))
        .optional()?;
    Ok(found.flatten())
}

/// A change for a user would be discarded when the server next calls its worker.
pub(super) fn check_not_remote(
    connection: &Connection,
    run: &RunId,
    claimant: RunClaimant,
) -> rusqlite::Result<Result<(), StoreRefusal>> {
    let RunClaimant::User(action) = claimant else { return Ok(Ok(())) };
    let keeper = find_keeper(connection, run.as_str())?;
    Ok(keeper.map_or(Ok(()), |server| Err(StoreRefusal::Remote { server, action })))
}
