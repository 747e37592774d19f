//! A stored database of an older version becomes the present one in place, whichever process opens it and whenever it
//! dies.

use std::process::{Command, Stdio};
use std::time::Duration;

use synthdev::domain::journal::{RunOriginKind, SearchQuery};

use super::*;

/// The same runs in a file of each older version.
const STORED: [&[u8]; 4] = [
    include_bytes!("../../data/stores/v1.db"),
    include_bytes!("../../data/stores/v2.db"),
    include_bytes!("../../data/stores/v3.db"),
    include_bytes!("../../data/stores/v4.db"),
];
const PRESENT: i64 = 5;

fn stored_version(version: usize) -> Place {
    let place = Place::new();
    std::fs::create_dir_all(place.path.parent().unwrap()).unwrap();
    std::fs::write(&place.path, STORED[version - 1]).unwrap();
    place
}

fn version_1() -> Place {
    stored_version(1)
}

fn version(path: &Path) -> i64 {
    question(path, "SELECT user_version FROM pragma_user_version")
}

/// Every row as text, from tables that all versions have.
fn content(path: &Path) -> Vec<String> {
    let connection = rusqlite::Connection::open(path).unwrap();
    let mut all = Vec::new();
    for sql in [
        "SELECT json_array(key, id, workflow, definition_hash, input, project, started, spec) FROM runs ORDER BY key",
        "SELECT json_array(run, status, path, prompt, completion, cached, reasoning, cost_usd, snapshot, output, error,
           updated, pid, process) FROM progress ORDER BY run",
        "SELECT json_array(run, seq, kind, at, call, body, blob, length) FROM rows ORDER BY run, seq",
        "SELECT json_array(hash, length(bytes), hex(substr(bytes, 1, 100))) FROM blobs ORDER BY hash",
    ] {
        let mut statement = connection.prepare(sql).unwrap();
        let rows: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        all.extend(rows);
    }
    all
}

/// Tables, indexes and their columns.
fn shape(path: &Path) -> Vec<String> {
    let connection = rusqlite::Connection::open(path).unwrap();
    let mut statement = connection
        .prepare(
            "SELECT s.name || ' ' || coalesce((SELECT group_concat(c.name || c.type || c.\"notnull\" || c.pk) FROM pragma_table_xinfo(s.name) c), '')
             FROM sqlite_schema s ORDER BY 1",
        )
        .unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn the_same_runs_are_there_after_it() {
    for version in [1, 2, 3, 4] {
        check_runs(&stored_version(version), version as i64);
    }
}

fn check_runs(place: &Place, old: i64) {
    let before = content(&place.path);
    assert_eq!(version(&place.path), old);
    let store = place.store();
    let runs = store.list(&RunQuery::default()).unwrap();
    let seen: Vec<_> = runs.iter().map(|run| (run.id.as_str(), run.progress.status)).collect();
    assert_eq!(
        seen,
        [
            ("2m6begun", RunStatus::Interrupted),
            ("2m5running", RunStatus::Interrupted),
            ("2m4cancelled", RunStatus::Cancelled),
            ("2m3paused", RunStatus::Paused),
            ("2m2failed", RunStatus::Failed),
            ("2m1completed", RunStatus::Completed),
        ]
    );
    assert_eq!(version(&place.path), PRESENT);
    assert_eq!(content(&place.path), before, "no value changed");
    let failed = &runs[4];
    assert_eq!((failed.input.as_str(), failed.progress.usage.prompt), ("größere Änderung am Parser", 1_201));
    assert_eq!(failed.progress.error.as_ref().unwrap().code, "no_transition");
    assert_eq!(runs[5].progress.output.as_ref().unwrap()["files"][0], "src/sum.rs");
    assert_eq!((&failed.origin, &failed.worktree, failed.progress.pauses.len()), (&None, &None, 0));
    let (header, rows) = store.load(&runs[5].id).unwrap();
    assert_eq!((rows.len(), rows[2].body.len(), rows[0].digest), (3, 140_038, None));
    assert!(header.spec.contains("machine_version"));
}

#[test]
fn a_file_that_was_migrated_is_as_one_that_was_made_new() {
    for old in [1, 2, 3, 4] {
        let (old, new) = (stored_version(old), Place::new());
        old.store().list(&RunQuery::default()).unwrap();
        new.store().create(&header("x", 1)).unwrap();
        assert_eq!(shape(&old.path), shape(&new.path));
        assert_eq!(version(&old.path), version(&new.path));
    }
}

#[test]
fn what_version_2_had_more_is_there_too() {
    let place = stored_version(2);
    let store = place.store();
    let (running, paused) = (RunId::from("2m5running"), RunId::from("2m3paused"));
    let origin = store.find("2m5running").unwrap().origin.unwrap();
    assert_eq!(
        (origin.run.as_str(), origin.kind, origin.step),
        ("2m1completed", RunOriginKind::Fork, Some(2))
    );
    assert_eq!(store.load(&running).unwrap().1[0].digest, Some(7_u64.wrapping_neg()));
    let tokens = store.open_tokens(&paused).unwrap();
    assert_eq!(tokens.iter().map(|token| (token.call, token.tries)).collect::<Vec<_>>(), [(CallId(4), 1)]);
    assert_eq!(store.preview(&running).unwrap(), None, "it was not stored then");
    store.claim(&running).unwrap();
    store.append_with_preview(&running, &[row(None, "{}")], None, "its end").unwrap();
    assert_eq!(store.preview(&running).unwrap(), Some(("its end".to_owned(), 0)));
}

#[test]
fn old_runs_go_on_and_are_found() {
    let place = version_1();
    let store = place.store();
    let words = |row: &JournalRow| Some(row.body.clone());
    let find = |text: &str| {
        let query = SearchQuery { text: text.to_owned(), ..SearchQuery::default() };
        store.search(&query, &words).unwrap().len()
    };
    assert_eq!(
        (find("\"short reply\""), find("\"long reply\""), find("ander"), find("parser")),
        (3, 2, 1, 1)
    );
    let run = RunId::from("2m5running");
    store.claim(&run).unwrap();
    store.append(&run, &[row(None, "{}")], Some(&run_progress(RunStatus::Completed))).unwrap();
    assert_eq!(store.load(&run).unwrap().1.len(), 4);
    store.create(&header("another", 1)).unwrap();
    assert_eq!(store.list(&RunQuery::default()).unwrap().len(), 7);
    assert_eq!(store.delete(&[RunId::from("2m1completed")]).unwrap().runs, 1);
    assert_eq!(
        store.load(&RunId::from("2m2failed")).unwrap().1[2].body.len(),
        140_038,
        "a shared text stays"
    );
}

#[test]
fn many_that_open_it_at_once_see_one_file() {
    let place = version_1();
    let before = content(&place.path);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let store = place.store();
            scope.spawn(move || {
                assert_eq!(store.list(&RunQuery::default()).unwrap().len(), 6);
                store.find("2m3").unwrap_or_else(|error| panic!("{number}: {error}"));
            });
        }
    });
    assert_eq!((version(&place.path), content(&place.path)), (PRESENT, before));
}

const OPENER: &str = "MIGRATION_TEST_OPENER";

/// Not a test by itself: the child's part, which is killed.
#[test]
fn child_that_opens_an_old_store() {
    let Some(path) = std::env::var_os(OPENER) else { return };
    println!("\nopening");
    SqliteStore::new(PathBuf::from(path)).list(&RunQuery::newest(1)).unwrap();
    println!("\nopened");
}

fn opener(place: &Place) -> Command {
    let name = format!("{}::child_that_opens_an_old_store", module_path!().split_once("::").unwrap().1);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", &name, "--nocapture", "--test-threads=1"])
        .env(OPENER, &place.path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command
}

#[test]
fn two_processes_open_it_at_once() {
    let place = version_1();
    let before = content(&place.path);
    let children: Vec<_> = (0..2).map(|_| opener(&place).spawn().unwrap()).collect();
    for child in children {
        let said = child.wait_with_output().unwrap();
        assert!(String::from_utf8_lossy(&said.stdout).contains("opened"), "{said:?}");
    }
    assert_eq!((version(&place.path), content(&place.path)), (PRESENT, before));
}

/// Wherever the kill falls, one of the two versions is there, whole. The file is long enough that some fall into it.
#[test]
fn a_kill_leaves_one_version_or_the_other() {
    use std::io::{BufRead, BufReader};
    let large = version_1();
    tamper_database(
        &large.path,
        "WITH RECURSIVE n(x) AS (SELECT 100 UNION ALL SELECT x + 1 FROM n WHERE x < 20000)
         INSERT INTO rows SELECT 1, x, 'input', 1, NULL, printf('%.200c', 'x'), NULL, 200 FROM n",
    );
    let before = content(&large.path);
    for wait in [0, 1, 2, 3, 5, 8, 12, 18, 25, 40] {
        let place = Place::new();
        std::fs::create_dir_all(place.path.parent().unwrap()).unwrap();
        std::fs::copy(&large.path, &place.path).unwrap();
        let mut child = opener(&place).spawn().unwrap();
        let said = BufReader::new(child.stdout.as_mut().unwrap()).lines().map_while(Result::ok);
        assert!(said.take_while(|line| line != "opening").count() < 20);
        std::thread::sleep(Duration::from_millis(wait));
        child.kill().unwrap();
        child.wait().unwrap();
        let version = version(&place.path);
        assert!(version == 1 || version == PRESENT, "{version}");
        assert_eq!(question(&place.path, "SELECT count(*) FROM sqlite_schema WHERE name = 'progress_2'"), 0);
        let claims = "SELECT count(*) FROM pragma_table_info('progress') WHERE name = 'claim'";
        assert_eq!(
            question(&place.path, claims),
            i64::from(version > 1),
            "tables and number belong together"
        );
        assert!(content(&place.path) == before, "after {wait} ms, version {version}");
        assert_eq!(
            place.store().list(&RunQuery::default()).unwrap().len(),
            6,
            "and the next one finishes it"
        );
    }
}
