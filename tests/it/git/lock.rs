//! The lock of a project, against a second process that really exists.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::fixture::Project;
use synthdev::adapters::project_lock::FileLock;
use synthdev::domain::ids::{RunId, Timestamp};
use synthdev::domain::lock::Holder;
use synthdev::ports::lock::{LockError, ProjectLock};

/// Set for the copy of this test binary that holds the lock; the project and the data directory.
const PROJECT: &str = "LOCK_TEST_PROJECT";
const DATA: &str = "LOCK_TEST_DATA";

fn holder(run: &str) -> Holder {
    Holder { run: RunId::from(run), workflow: "w".into(), pid: std::process::id(), since: Timestamp(5) }
}

fn lock(project: &Project) -> FileLock {
    FileLock::open(project.at(""), &project.data())
}

/// Not a test by itself: the child's part. Holds the lock until it is killed.
#[test]
fn child_that_holds_the_lock() {
    let (Some(project), Some(data)) = (std::env::var_os(PROJECT), std::env::var_os(DATA)) else { return };
    let lock = FileLock::open(PathBuf::from(project), &PathBuf::from(data));
    let _guard = lock.try_lock(&holder("child")).unwrap();
    println!("\nlocked");
    loop {
        std::thread::park();
    }
}

fn start_holder(project: &Project) -> Child {
    let name = format!("{}::child_that_holds_the_lock", module_path!().split_once("::").unwrap().1);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &name, "--nocapture", "--test-threads=1"])
        .env(PROJECT, project.at(""))
        .env(DATA, project.data())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines().map_while(Result::ok);
    assert!(lines.into_iter().any(|line| line == "locked"), "the child says so");
    child
}

#[test]
fn a_second_process_is_told_who_works_and_gets_the_lock_when_that_one_is_killed() {
    let project = Project::plain();
    let mut child = start_holder(&project);
    let Err(LockError::Held(found)) = lock(&project).try_lock(&holder("second")) else {
        panic!("the lock is held")
    };
    assert_eq!((found.run.as_str(), found.pid, found.since), ("child", child.id(), Timestamp(5)));
    let said = LockError::Held(found).to_string();
    assert!(said.contains("child") && said.contains(&child.id().to_string()), "{said}");
    child.kill().unwrap();
    child.wait().unwrap();
    let _guard = lock(&project).try_lock(&holder("second")).unwrap();
    let Err(LockError::Held(found)) = lock(&project).try_lock(&holder("third")) else {
        panic!("the lock is held again")
    };
    assert_eq!(found, holder("second"), "not the one that died");
}

#[test]
fn a_dropped_guard_frees_the_lock_and_other_projects_have_their_own() {
    let project = Project::plain();
    let guard = lock(&project).try_lock(&holder("one")).unwrap();
    assert!(matches!(lock(&project).try_lock(&holder("two")), Err(LockError::Held(_))));
    fs::create_dir(project.at("below")).unwrap();
    let other = FileLock::open(project.at("below"), &project.data());
    let _other = other.try_lock(&holder("other")).unwrap();
    std::os::unix::fs::symlink(project.at(""), project.outside().join("link")).unwrap();
    let linked = FileLock::open(project.outside().join("link"), &project.data());
    assert!(matches!(linked.try_lock(&holder("two")), Err(LockError::Held(_))), "the same project");
    drop(guard);
    drop(lock(&project).try_lock(&holder("two")).unwrap());
    assert!(linked.try_lock(&holder("three")).is_ok());
}

#[test]
fn of_many_at_once_one_gets_it() {
    let project = Project::plain();
    let barrier = std::sync::Barrier::new(8);
    let got: Vec<_> = std::thread::scope(|scope| {
        let one = |n: usize| {
            let (project, barrier) = (&project, &barrier);
            scope.spawn(move || {
                barrier.wait();
                let got = lock(project).try_lock(&holder(&format!("r{n}")));
                barrier.wait();
                got
            })
        };
        let all: Vec<_> = (0..8).map(one).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(got.iter().filter(|got| got.is_ok()).count(), 1);
    let winner = got.iter().position(Result::is_ok).unwrap();
    for held in got.iter().filter_map(|got| got.as_ref().err()) {
        assert_eq!(*held, LockError::Held(holder(&format!("r{winner}"))));
    }
}

#[test]
fn what_cannot_be_locked_says_so() {
    let project = Project::plain();
    project.write("file", "");
    let gone = FileLock::open(project.at("gone"), &project.data());
    let blocked = FileLock::open(project.at(""), &project.at("file"));
    for (lock, part) in [(gone, "gone"), (blocked, "file/locks")] {
        let Err(LockError::Io { message, hint }) = lock.try_lock(&holder("x")) else { panic!("{part}") };
        assert!(message.contains(part) && hint.is_some(), "{message}");
    }
}
