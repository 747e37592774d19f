//! The lock of a project, against a second process that really exists.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::fixture::Project;
use synthdev::adapters::project_lock::FileLock;
use synthdev::domain::ids::{RunId, Timestamp};
use synthdev::domain::project_lock::{LockHolder, LockMode};
use synthdev::ports::lock::{LockError, ProjectLock};

/// Set for the copy of this test binary that holds the lock; the project and the data directory.
const PROJECT: &str = "LOCK_TEST_PROJECT";
const DATA: &str = "LOCK_TEST_DATA";

fn holder(run: &str) -> LockHolder {
    let project = "/somewhere".to_owned();
    let pid = std::process::id();
    LockHolder {
        run: RunId::from(run),
        workflow: "w".into(),
        pid,
        since: Timestamp(5),
        project,
        hold: LockMode::Run,
    }
}

fn as_holder(hold: LockMode) -> LockHolder {
    LockHolder { hold, ..holder(&format!("{hold:?}")) }
}

fn lock(project: &Project) -> FileLock {
    FileLock::open(project.path_of(""), &project.data())
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
        .env(PROJECT, project.path_of(""))
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
    let project = Project::without_git();
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
    let project = Project::without_git();
    let guard = lock(&project).try_lock(&holder("one")).unwrap();
    assert!(matches!(lock(&project).try_lock(&holder("two")), Err(LockError::Held(_))));
    let other = FileLock::open(project.outside(), &project.data());
    let _other = other.try_lock(&holder("other")).unwrap();
    let between = crate::support::temporary::temp_directory();
    let link = between.path().join("link");
    std::os::unix::fs::symlink(project.path_of(""), &link).unwrap();
    let linked = FileLock::open(link, &project.data());
    assert!(matches!(linked.try_lock(&holder("two")), Err(LockError::Held(_))), "the same project");
    drop(guard);
    drop(lock(&project).try_lock(&holder("two")).unwrap());
    assert!(linked.try_lock(&holder("three")).is_ok());
}

#[test]
fn runs_share_knowingly_and_whoever_changes_all_files_is_alone() {
    let project = Project::without_git();
    for (there, comes, fits) in [
        (LockMode::Run, LockMode::Run, false),
        (LockMode::Run, LockMode::Share, true),
        (LockMode::Run, LockMode::Files, false),
        (LockMode::Share, LockMode::Run, true),
        (LockMode::Share, LockMode::Share, true),
        (LockMode::Share, LockMode::Files, false),
        (LockMode::Files, LockMode::Run, false),
        (LockMode::Files, LockMode::Share, false),
        (LockMode::Files, LockMode::Files, false),
    ] {
        let guard = lock(&project).try_lock(&as_holder(there)).unwrap();
        match lock(&project).try_lock(&as_holder(comes)) {
            Ok(_) => assert!(fits, "{comes:?} beside {there:?}"),
            Err(LockError::Held(found)) => {
                assert!(!fits, "{comes:?} beside {there:?}");
                assert_eq!(found, as_holder(there));
                assert!(LockError::Held(found).to_string().contains("/somewhere"));
            }
            Err(error) => panic!("{error}"),
        }
        drop(guard);
    }
    // of several sharers each one counts, not only the first or the last
    let one = lock(&project).try_lock(&as_holder(LockMode::Share)).unwrap();
    let two = lock(&project).try_lock(&as_holder(LockMode::Share)).unwrap();
    drop(one);
    assert!(lock(&project).try_lock(&as_holder(LockMode::Files)).is_err());
    drop(two);
    drop(lock(&project).try_lock(&as_holder(LockMode::Files)).unwrap());
    let left: Vec<_> = fs::read_dir(project.data().join("locks")).unwrap().collect();
    assert_eq!(left.len(), 1, "only the gate stays: {left:?}");
}

#[test]
fn a_repository_is_one_project_and_so_are_directories_in_each_other() {
    let repository = Project::repository();
    let plain = Project::without_git();
    for project in [&repository, &plain] {
        for place in ["a/deep", "b", "own/.git"] {
            fs::create_dir_all(project.path_of(place)).unwrap();
        }
    }
    let rows = [
        (&repository, "", "a/deep", false),
        (&repository, "a/deep", "", false),
        (&repository, "a", "b", false),
        // another repository inside
        (&repository, "", "own", false),
        (&repository, "own", "", false),
        (&plain, "", "a/deep", false),
        (&plain, "a/deep", "a", false),
        (&plain, "a", "b", true),
        (&plain, "a", "own", true),
    ];
    for (project, one, other, both) in rows {
        let at = |place: &str| FileLock::open(project.path_of(place), &project.data());
        let _one = at(one).try_lock(&holder("one")).unwrap();
        assert_eq!(at(other).try_lock(&holder("other")).is_ok(), both, "`{one}` and `{other}`");
    }
    // all of a home under git is not one project
    let at = |place: &str| {
        FileLock::open(repository.path_of(place), &repository.data()).with_home(repository.path_of(""))
    };
    let _one = at("a").try_lock(&holder("one")).unwrap();
    drop(at("b").try_lock(&holder("other")).unwrap());
    assert!(at("").try_lock(&holder("other")).is_err(), "but who works in the home works in all of it");
}

#[test]
fn of_many_at_once_one_gets_it() {
    let project = Project::without_git();
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
    let project = Project::without_git();
    project.write_file("file", "");
    let gone = FileLock::open(project.path_of("gone"), &project.data());
    let blocked = FileLock::open(project.path_of(""), &project.path_of("file"));
    for (lock, part) in [(gone, "gone"), (blocked, "file/locks")] {
        let Err(LockError::Io { message, hint }) = lock.try_lock(&holder("x")) else { panic!("{part}") };
        assert!(message.contains(part) && hint.is_some(), "{message}");
    }
}

#[test]
fn a_project_whose_path_is_no_text_is_refused_for_that() {
    use std::os::unix::ffi::OsStrExt;
    let project = Project::repository();
    let place = project.path_of("").join(std::ffi::OsStr::from_bytes(b"project\xff"));
    std::fs::create_dir(&place).unwrap();
    let bare = std::process::Command::new("git").arg("init").arg("-q").arg(&place).status().unwrap();
    assert!(bare.success());
    let locked = FileLock::open(place.clone(), &project.data()).try_lock(&holder("x"));
    let Err(LockError::Io { message, hint }) = locked else { panic!("it is locked") };
    let trees =
        synthdev::adapters::worktree::GitWorktrees::new(super::fixture::store_at(place, project.data(), &[]));
    let error = synthdev::ports::worktree::WorktreePort::create(&trees, &RunId::from("r"), "w").unwrap_err();
    for (message, hint) in [(message, hint), (error.message, error.hint)] {
        assert!(
            message.contains("not UTF-8") && hint.is_some_and(|hint| hint.contains("Rename")),
            "{message}"
        );
    }
}
