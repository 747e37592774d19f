//! A process that is killed loses nothing it had appended, and its runs are seen as interrupted.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::*;

/// Set for the copy of this test binary that writes until it is killed.
const WRITER: &str = "STORE_TEST_WRITER";

/// Not a test by itself: the child's part. Prints each number after its append came back.
#[test]
fn child_that_appends_until_killed() {
    let Some(path) = std::env::var_os(WRITER) else { return };
    let store = SqliteStore::new(PathBuf::from(path));
    let run = header("victim", 1);
    if store.find("victim").is_err() {
        store.create(&run).unwrap();
    } else {
        store.claim(&run.id).unwrap();
    }
    for number in 0_u64.. {
        let state = run_progress(RunStatus::Running);
        store
            .append(&run.id, &[row(Some(number), format!("{number}")), row(None, "pair")], Some(&state))
            .unwrap();
        println!("\nappended {number}");
    }
}

fn start_writer(place: &Place) -> Child {
    let name = format!("{}::child_that_appends_until_killed", module_path!().split_once("::").unwrap().1);
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &name, "--nocapture", "--test-threads=1"])
        .env(WRITER, &place.path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Reads what the child says until it has said `count` numbers; returns the last one.
fn wait_for(child: &mut Child, count: usize) -> u64 {
    let said = BufReader::new(child.stdout.as_mut().unwrap()).lines().map_while(Result::ok);
    let numbers = said.filter_map(|line| line.strip_prefix("appended ")?.parse().ok());
    numbers.take(count).last().expect("the child appends")
}

#[test]
fn a_killed_writer_loses_nothing_and_its_run_is_interrupted() {
    let place = Place::new();
    let mut before = 0;
    for kill in 1..=15 {
        let mut child = start_writer(&place);
        let last = wait_for(&mut child, kill);
        if kill == 1 {
            let running = place.store().find("victim").unwrap();
            assert_eq!(running.progress.status, RunStatus::Running, "its process lives");
        }
        child.kill().unwrap();
        child.wait().unwrap();

        let store = place.store();
        let found = store.list(&RunQuery::newest(0)).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].progress.status, RunStatus::Interrupted);
        let (_, rows) = store.load(&found[0].id).unwrap();
        let mine = &rows[before..];
        assert!(mine.len() as u64 >= 2 * (last + 1), "kill {kill}: told {last}, found {}", mine.len());
        for (number, pair) in mine.chunks(2).enumerate() {
            assert_eq!((pair[0].body.as_str(), pair[1].body.as_str()), (&*number.to_string(), "pair"));
        }
        before = rows.len();
    }
}

#[test]
fn a_run_resumed_by_another_process_runs_again() {
    let place = Place::new();
    let store = place.store();
    let mut ended = Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    let run = RunHeader { pid: ended.id(), ..header("resumed", 1) };
    store.create(&run).unwrap();
    let status = || store.find("resumed").unwrap().progress.status;
    assert_eq!(status(), RunStatus::Interrupted);
    let other = place.store();
    let before = other.claim(&run.id).unwrap();
    assert_eq!(before.progress.status, RunStatus::Interrupted);
    assert_eq!(status(), RunStatus::Running, "whoever claimed last drives it");
    assert_eq!(store.load(&run.id).unwrap().0.pid, std::process::id());
}

#[test]
fn a_process_id_given_to_another_process_does_not_revive_a_run() {
    let place = Place::new();
    let store = place.store();
    store.create(&header("old", 1)).unwrap();
    tamper_database(&place.path, "UPDATE progress SET process = 'an earlier boot 12345'");
    assert_eq!(store.list(&RunQuery::newest(1)).unwrap()[0].progress.status, RunStatus::Interrupted);
}
