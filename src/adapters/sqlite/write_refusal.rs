//! Calls that were understood and declined.

use rusqlite::{Connection, OptionalExtension};

use synthdev_domain::ids::RunId;
use synthdev_ports::run_store::RemoteRunAction;

/// Why nothing was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum StoreRefusal {
    Exists,
    Unknown,
    /// Another process claimed the run after this one.
    Lost {
        pid: u32,
    },
    /// This process never claimed the run.
    NotClaimed,
    /// A living process drives the run.
    Driven {
        pid: u32,
    },
    /// The commands of its killed driver have not ended.
    Ending {
        pid: u32,
    },
    /// A server keeps its journal.
    Remote {
        server: String,
        action: RemoteRunAction,
    },
    UnknownOf {
        run: RunId,
    },
    StillRunning {
        run: RunId,
        pid: u32,
    },
    UnknownToken,
    ExpiredToken,
    TokenExists,
}

/// What a call came to: the store's own trouble is outside, a refusal inside.
pub(super) type StoreWriteResult<T> = rusqlite::Result<Result<T, StoreRefusal>>;

/// Why an owner may no longer write.
pub(super) fn lost_claim_refusal(connection: &Connection, run: &RunId) -> rusqlite::Result<StoreRefusal> {
    let pid = connection
        .prepare_cached("SELECT pid FROM progress JOIN runs ON key = run WHERE id = ?1")?
        .query_row([run.as_str()], |row| row.get(0))
        .optional()?;
    Ok(pid.map_or(StoreRefusal::Unknown, |pid| StoreRefusal::Lost { pid }))
}
