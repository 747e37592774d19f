//! The run store on real files: round trips, several writers, kills, and files that must not be touched.

mod claims;
mod crash;
mod glance;
mod migration;
mod narrowing;
mod refusal;
mod room;
mod run_state;
mod salvage;
mod search;
mod tokens;

use std::path::{Path, PathBuf};

use synthdev::adapters::sqlite::SqliteStore;
use synthdev::domain::cost::TokenUsage;
use synthdev::domain::ids::{CallId, RunId, SnapshotId, Timestamp};
use synthdev::domain::journal::{JournalRow, JournalRowKind, RunHeader, RunProgress, RunQuery, RunStatus};
use synthdev::domain::run_error::RunError;
use synthdev::ports::run_store::RunStore;
use tempfile::TempDir;

struct Place {
    _directory: TempDir,
    path: PathBuf,
}

impl Place {
    fn new() -> Self {
        let directory = crate::support::temporary::temp_directory();
        let path = directory.path().join("data/runs.sqlite");
        Self { _directory: directory, path }
    }

    /// A store of its own, as another process would have.
    fn store(&self) -> SqliteStore {
        SqliteStore::new(self.path.clone())
    }
}

fn header(id: &str, started: i64) -> RunHeader {
    RunHeader {
        id: RunId::from(id),
        workflow: "coder_reviewer".to_owned(),
        definition_hash: "ab12".to_owned(),
        spec: "{\"machine_version\":1}".to_owned(),
        input: "add ünicode".to_owned(),
        project: "/home/someone/project".to_owned(),
        started: Timestamp(started),
        pid: std::process::id(),
        origin: None,
        worktree: None,
    }
}

fn row(call: Option<u64>, body: impl Into<String>) -> JournalRow {
    JournalRow::new(JournalRowKind::Input, Timestamp(7), call.map(CallId), body)
}

fn run_progress(status: RunStatus) -> RunProgress {
    RunProgress {
        title: None,
        status,
        path: vec!["start".into(), "child/review".into()],
        usage: TokenUsage { prompt: 10, completion: 5, cached: 3, reasoning: 2, ..TokenUsage::default() },
        cost_usd: None,
        snapshot: Some(SnapshotId::from("c0ffee")),
        output: Some(serde_json::json!({"text": "done", "n": [1, 2]})),
        error: Some(
            RunError::new("no_transition", "no way on", "state `review`").with_hint("add a transition"),
        ),
        updated: Timestamp(99),
        pauses: Vec::new(),
    }
}

/// Changes the file as another program would.
fn tamper_database(path: &Path, sql: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

fn question(path: &Path, sql: &str) -> i64 {
    rusqlite::Connection::open(path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn what_is_written_is_read_by_another_process_while_the_run_goes_on() {
    let place = Place::new();
    let store = place.store();
    let begun = header("2k7f9q3mx4tz", 5);
    store.create(&begun).unwrap();
    let first = [
        row(None, "{\"input\":\"started\",\"seed\":1}"),
        JournalRow::new(JournalRowKind::Intent, Timestamp(8), Some(CallId(3)), "{}"),
        JournalRow {
            digest: Some(u64::MAX - 1),
            ..JournalRow::new(JournalRowKind::Begun, Timestamp(8), Some(CallId(3)), "{}")
        },
    ];
    store.append(&begun.id, &first, None).unwrap();

    let other = place.store();
    let seen = other.find("2k7f9q3mx4tz").unwrap();
    assert_eq!((seen.progress.status, seen.progress.cost_usd), (RunStatus::Running, Some(0.0)));
    assert_eq!(other.load(&begun.id).unwrap(), (begun.clone(), first.to_vec()));

    let failed = run_progress(RunStatus::Failed);
    store.append(&begun.id, &[row(Some(3), "\"ü\"")], Some(&failed)).unwrap();
    let seen = other.find("2k7f9q3mx4tz").unwrap();
    assert_eq!(seen.progress, failed, "a failed run keeps its path, costs and error");
    assert_eq!((seen.input, seen.project, seen.started), (begun.input, begun.project, Timestamp(5)));
    assert_eq!(other.load(&begun.id).unwrap().1.len(), 4);
}

#[test]
fn every_status_comes_back() {
    let place = Place::new();
    let store = place.store();
    let all = [
        RunStatus::Running,
        RunStatus::Paused,
        RunStatus::Completed,
        RunStatus::Failed,
        RunStatus::Cancelled,
        RunStatus::Interrupted,
    ];
    for (at, status) in (1..).zip(all) {
        let run = header(status.as_str(), at);
        store.create(&run).unwrap();
        store.append(&run.id, &[], Some(&run_progress(status))).unwrap();
        assert_eq!(store.find(status.as_str()).unwrap().progress.status, status);
    }
}

#[test]
fn reading_before_the_first_run_creates_nothing() {
    let place = Place::new();
    let store = place.store();
    assert_eq!(store.list(&RunQuery::newest(0)).unwrap(), []);
    assert!(store.find("x").unwrap_err().message.contains("no run `x`"));
    assert!(store.load(&RunId::from("x")).unwrap_err().message.contains("no run `x`"));
    store.sync().unwrap();
    assert!(!place.path.parent().unwrap().exists());
}

#[test]
fn large_texts_are_stored_once() {
    let place = Place::new();
    let store = place.store();
    let large = format!("\"{}\"", "ü".repeat(100_000));
    let limit = "x".repeat(128 * 1024);
    let spec = "s".repeat(300_000);
    for (id, at) in [("a", 1), ("b", 2)] {
        let run = RunHeader { spec: spec.clone(), ..header(id, at) };
        store.create(&run).unwrap();
        store
            .append(&run.id, &[row(Some(1), &large), row(Some(2), &limit), row(None, &large)], None)
            .unwrap();
        let (found, rows) = store.load(&run.id).unwrap();
        assert_eq!(found.spec, spec);
        assert!(rows[0].body == large && rows[1].body == limit && rows[2].body == large);
    }
    assert_eq!(question(&place.path, "SELECT count(*) FROM blobs"), 2, "the spec and one large body");
    assert_eq!(question(&place.path, "SELECT count(*) FROM rows WHERE blob IS NULL"), 2, "128 KiB is inline");
    assert_eq!(question(&place.path, "SELECT max(length(body)) FROM rows WHERE blob NOT NULL"), 200);
    assert_eq!(question(&place.path, "SELECT max(length) FROM rows WHERE blob NOT NULL"), large.len() as i64);
}

#[test]
fn lists_are_newest_first_and_prefixes_are_enough() {
    let place = Place::new();
    let store = place.store();
    for (id, at) in [("k1", 10), ("k3", 30), ("k2", 20), ("m", 5), ("k", 1), ("K9", 2), ("k10", 30)] {
        store.create(&header(id, at)).unwrap();
    }
    let ids = |limit| -> Vec<String> {
        store.list(&RunQuery::newest(limit)).unwrap().into_iter().map(|run| run.id.0).collect()
    };
    assert_eq!(ids(0), ["k10", "k3", "k2", "k1", "m", "K9", "k"]);
    assert_eq!(ids(2), ["k10", "k3"]);
    for (typed, found) in [("k", "k"), ("k3", "k3"), ("m", "m"), ("K", "K9"), ("k10", "k10"), ("k1", "k1")] {
        assert_eq!(store.find(typed).unwrap().id.0, found, "{typed}");
    }
    for missing in ["", "x", "k33", "%", "k_", "'"] {
        assert!(store.find(missing).unwrap_err().message.contains("no run"), "{missing}");
    }
}

#[test]
fn an_ambiguous_prefix_shows_the_newest_five() {
    let place = Place::new();
    let store = place.store();
    for at in 1..=7 {
        store.create(&header(&format!("2k{at}"), at)).unwrap();
    }
    let error = store.find("2").unwrap_err();
    assert_eq!(error.message, "`2` could be any of 7 runs: 2k7, 2k6, 2k5, 2k4, 2k3 and 2 more");
    assert_eq!(error.hint.as_deref(), Some("type more characters of the id"));
}

#[test]
fn two_writers_in_many_threads_lose_nothing() {
    let place = Place::new();
    let (one, other) = (place.store(), place.store());
    one.create(&header("shared one", 1)).unwrap();
    other.create(&header("shared other", 1)).unwrap();
    let shared = |store| RunId::from(if std::ptr::eq(store, &one) { "shared one" } else { "shared other" });
    std::thread::scope(|scope| {
        for (number, store) in [&one, &other, &one, &other].into_iter().enumerate() {
            let shared = shared(store);
            scope.spawn(move || {
                let own = header(&format!("own{number}"), 2);
                store.create(&own).unwrap();
                for at in 0..50 {
                    let rows = [row(Some(at), format!("{number}")), row(None, "second of the pair")];
                    store.append(&shared, &rows, None).unwrap();
                    store.append(&own.id, &rows[..1], Some(&run_progress(RunStatus::Running))).unwrap();
                }
            });
        }
        scope.spawn(|| (0..20).for_each(|_| one.sync().unwrap()));
        scope.spawn(|| (0..20).for_each(|_| assert!(!other.list(&RunQuery::newest(0)).unwrap().is_empty())));
    });
    for (run, writers) in [("shared one", [0, 2]), ("shared other", [1, 3_u64])] {
        let (_, rows) = one.load(&RunId::from(run)).unwrap();
        assert_eq!(rows.len(), 2 * 50 * 2);
        assert!(rows.chunks(2).all(|pair| pair[1].body == "second of the pair"), "an append is never split");
        for number in writers {
            let calls =
                rows.iter().filter(|row| row.body == number.to_string()).map(|row| row.call.unwrap().0);
            assert!(calls.eq(0..50), "each writer's rows are in its order");
            assert_eq!(other.load(&RunId(format!("own{number}"))).unwrap().1.len(), 50);
        }
    }
}

#[test]
fn twenty_stores_made_at_once_are_one() {
    // the file appears between any two steps of the others: one round meets only some of the orders
    for _ in 0..20 {
        let place = Place::new();
        let together = std::sync::Barrier::new(20);
        std::thread::scope(|scope| {
            for number in 0..20 {
                let (store, together) = (place.store(), &together);
                scope.spawn(move || {
                    together.wait();
                    store.create(&header(&format!("r{number}"), number)).unwrap();
                });
            }
        });
        assert_eq!(place.store().list(&RunQuery::newest(0)).unwrap().len(), 20);
    }
}

#[test]
fn sync_folds_a_long_log_into_the_database() {
    let place = Place::new();
    let store = place.store();
    let run = header("long", 1);
    store.create(&run).unwrap();
    for at in 0..60 {
        store.append(&run.id, &[row(Some(at), "x".repeat(100_000))], None).unwrap();
    }
    let size = || std::fs::metadata(&place.path).unwrap().len();
    assert!(size() < 1 << 20, "appends leave the database alone");
    store.sync().unwrap();
    assert!(size() > 6_000_000, "the log was copied: {}", size());
    assert_eq!(store.load(&run.id).unwrap().1.len(), 60);
}

#[cfg(unix)]
#[test]
fn only_the_user_can_read_the_history() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let store = place.store();
    store.create(&header("x", 1)).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(place.path.parent().unwrap()), 0o700);
    assert_eq!(mode(&place.path), 0o600);
    assert_eq!(mode(&place.path.with_extension("sqlite-wal")), 0o600);
}
