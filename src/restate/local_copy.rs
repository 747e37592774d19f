//! Completes the worker's own store with the rows that the server has.

use std::thread;
use std::time::Duration;

use synthdev_domain::ids::RunId;
use synthdev_domain::journal::{JournalRow, RunHeader};
use synthdev_ports::run_store::{RunStore, StoreError};

const BETWEEN_CLAIMS: Duration = Duration::from_millis(10);
const CLAIM_LOOKS: u32 = 20;

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
    server: &str,
) -> Result<(), StoreError> {
    let mut completed = try_completing(store, header, rows, server);
    for _ in 0..CLAIM_LOOKS {
        // one that follows the run from this machine has it for a moment, while it copies rows
        if completed.is_ok() || store.driver_pid(&header.id).is_none() {
            break;
        }
        thread::sleep(BETWEEN_CLAIMS);
        completed = try_completing(store, header, rows, server);
    }
    completed
}

fn try_completing(
    store: &dyn RunStore,
    header: &RunHeader,
    rows: &[JournalRow],
    server: &str,
) -> Result<(), StoreError> {
    let run = &header.id;
    if is_known(store, run) {
        let (there, known) = store.load(run)?;
        let same_place = (&there.project, &there.worktree) == (&header.project, &header.worktree);
        if same_place && there.spec == header.spec && is_beginning(&known, rows) {
            let missing = &rows[known.len()..];
            if missing.is_empty() {
                return Ok(());
            }
            store.claim_remote(run)?;
            let written = store.append(run, missing, None);
            store.release(run);
            return written;
        }
        store.delete(std::slice::from_ref(run))?;
    }
    store.create_remote(header, server)?;
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

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use super::*;
    use synthdev_adapters::sqlite::SqliteStore;
    use synthdev_domain::ids::{CallId, Timestamp};
    use synthdev_domain::journal::{JournalRowKind, RunProgress};

    pub(crate) fn header(run: &str) -> RunHeader {
        RunHeader {
            id: RunId::from(run),
            workflow: "talk".to_owned(),
            definition_hash: "ab12".to_owned(),
            spec: "{\"machine_version\":1}".to_owned(),
            input: "go".to_owned(),
            project: "/project".to_owned(),
            started: Timestamp(1),
            pid: std::process::id(),
            origin: None,
            worktree: None,
        }
    }

    fn rows(bodies: &[&str]) -> Vec<JournalRow> {
        let row = |(at, body): (usize, &&str)| {
            JournalRow::new(JournalRowKind::Input, Timestamp(7), Some(CallId(at as u64)), (*body).to_owned())
        };
        bodies.iter().enumerate().map(row).collect()
    }

    #[test]
    fn the_store_gets_exactly_the_rows_of_the_server() {
        let directory = tempfile::tempdir().unwrap();
        let cases: &[(&[&str], &[&str])] = &[
            (&[], &["a", "b"]),
            (&["a"], &["a", "b"]),
            (&["a", "b"], &["a", "b"]),
            // never took effect
            (&["a", "b", "c"], &["a", "b"]),
            (&["a", "x"], &["a", "b"]),
        ];
        for (number, (known, at_server)) in cases.iter().enumerate() {
            let store = SqliteStore::new(directory.path().join(format!("{number}.sqlite")));
            let header = header("20260101-aaaa");
            if !known.is_empty() {
                store.create(&header).unwrap();
                store.append(&header.id, &rows(known), None).unwrap();
                store.release(&header.id);
            }
            complete_from_server(&store, &header, &rows(at_server), "there").unwrap();
            let (_, found) = store.load(&header.id).unwrap();
            assert_eq!(found, rows(at_server), "{known:?}");
            // the next driver can have it
            store.claim_remote(&header.id).unwrap();
            store.append(&header.id, &[], Some(&RunProgress::new(Timestamp(9)))).unwrap();
        }
    }

    #[test]
    fn a_copy_of_one_who_followed_the_run_becomes_that_of_the_worker() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.sqlite");
        let (copier, worker) = (Arc::new(SqliteStore::new(path.clone())), SqliteStore::new(path));
        let header = header("20260101-aaaa");
        // in the clone of the project here
        let copied = RunHeader { project: "/clone".to_owned(), ..header.clone() };
        copier.create_remote(&copied, "there").unwrap();
        copier.append(&header.id, &rows(&["a", "b"]), None).unwrap();
        // it lets go while the worker tries
        let (slow, run) = (Arc::clone(&copier), header.id.clone());
        let letting_go = thread::spawn(move || {
            thread::sleep(BETWEEN_CLAIMS * 3);
            slow.release(&run);
        });
        complete_from_server(&worker, &header, &rows(&["a", "b", "c"]), "there").unwrap();
        letting_go.join().unwrap();
        let (there, found) = worker.load(&header.id).unwrap();
        assert_eq!((there.project.as_str(), found), ("/project", rows(&["a", "b", "c"])));
        assert_eq!(worker.keeper(&header.id), Ok(Some("there".to_owned())));
        worker.claim_remote(&header.id).unwrap();
        assert!(copier.append(&header.id, &rows(&["x"]), None).is_err(), "it has lost the run");
    }

    #[test]
    fn what_the_server_does_not_know_is_discarded() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::new(directory.path().join("runs.sqlite"));
        let (lost, kept) = (header("20260101-aaaa"), header("20260101-bbbb"));
        discard_unjournaled(&store, &lost.id).unwrap();
        for header in [&lost, &kept] {
            store.create(header).unwrap();
            store.release(&header.id);
        }
        discard_unjournaled(&store, &lost.id).unwrap();
        assert!(!is_known(&store, &lost.id) && is_known(&store, &kept.id));
    }
}
