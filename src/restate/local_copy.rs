//! Completes the worker's own store with the rows that the server has.

use synthdev_domain::ids::RunId;
use synthdev_domain::journal::{JournalRow, RunHeader};
use synthdev_ports::run_store::{RunStore, StoreError};

/// Removes what a killed worker left of a run of which the server has no rows.
///
/// # Errors
/// The store cannot be written, or a living process drives the run.
pub(crate) fn discard_unjournaled(store: &dyn RunStore, run: &RunId) -> Result<(), StoreError> {
    if is_known(store, run) {
        store.delete(std::slice::from_ref(run))?;
    }
    Ok(())
}

/// Afterwards the store has these rows of the run, and no process owns it. The server's journal is the truth: what the
/// store has beyond it never took effect, so it is discarded.
///
/// # Errors
/// The store cannot be written, or a living process drives the run.
pub(crate) fn complete_from_server(
    store: &dyn RunStore,
    header: &RunHeader,
    rows: &[JournalRow],
) -> Result<(), StoreError> {
    let run = &header.id;
    if is_known(store, run) {
        let (there, known) = store.load(run)?;
        if there.spec == header.spec && is_beginning(&known, rows) {
            let missing = &rows[known.len()..];
            if missing.is_empty() {
                return Ok(());
            }
            store.claim(run)?;
            let written = store.append(run, missing, None);
            store.release(run);
            return written;
        }
        store.delete(std::slice::from_ref(run))?;
    }
    store.create(header)?;
    let written = store.append(run, rows, None);
    store.release(run);
    written
}

fn is_known(store: &dyn RunStore, run: &RunId) -> bool {
    store.find(run.as_str()).is_ok_and(|found| found.id == *run)
}

fn is_beginning(known: &[JournalRow], rows: &[JournalRow]) -> bool {
    // words are kept in the index only
    let same = |one: &JournalRow, other: &JournalRow| {
        (one.kind, one.at, one.call, &one.body, one.digest)
            == (other.kind, other.at, other.call, &other.body, other.digest)
    };
    known.len() <= rows.len() && known.iter().zip(rows).all(|(one, other)| same(one, other))
}
