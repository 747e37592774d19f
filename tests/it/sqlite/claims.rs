//! One driver a run: claims, and what is refused to a former driver.

use super::*;

/// The run as another process left it: its number is not of a living one.
fn insert_dead_run(place: &Place, id: &str, status: RunStatus) -> RunId {
    let run = RunHeader { pid: u32::MAX - 1, ..header(id, 1) };
    place.store().create(&run).unwrap();
    tamper_database(&place.path, &format!("UPDATE progress SET status = '{}'", status.as_str()));
    run.id
}

#[test]
fn a_claim_shows_what_was_and_lets_the_run_go_on() {
    for status in RunStatus::ALL {
        let place = Place::new();
        let run = insert_dead_run(&place, "r", status);
        let store = place.store();
        let seen = if status == RunStatus::Running { RunStatus::Interrupted } else { status };
        assert_eq!(store.claim(&run).unwrap().progress.status, seen);
        assert_eq!(place.store().find("r").unwrap().progress.status, RunStatus::Running);
        store.append(&run, &[row(None, "1")], Some(&run_progress(RunStatus::Paused))).unwrap();
        store.append(&run, &[row(None, "2")], None).unwrap();
        let (found, rows) = place.store().load(&run).unwrap();
        assert_eq!((found.pid, rows.len()), (std::process::id(), 2));
    }
}

#[test]
fn a_run_that_a_living_process_runs_is_not_given_away() {
    let place = Place::new();
    let (one, other) = (place.store(), place.store());
    let run = header("r", 1);
    one.create(&run).unwrap();
    for store in [&one, &other] {
        let error = store.claim(&run.id).unwrap_err();
        let pid = std::process::id();
        assert_eq!(error.message, format!("run r is running in process {pid}, this process"));
        assert!(error.hint.is_some());
    }
    one.append(&run.id, &[row(None, "1")], None).unwrap();
    assert!(one.claim(&RunId::from("nobody")).unwrap_err().message.contains("no run `nobody`"));
}

#[test]
fn a_former_driver_writes_nothing_more() {
    let place = Place::new();
    let (one, other) = (place.store(), place.store());
    let run = header("r", 1);
    one.create(&run).unwrap();
    one.append(&run.id, &[row(None, "1")], Some(&run_progress(RunStatus::Paused))).unwrap();
    other.claim(&run.id).unwrap();
    let done = run_progress(RunStatus::Completed);
    for (rows, progress) in
        [(vec![row(None, "lost")], None), (vec![], Some(&done)), (vec![row(None, "lost")], Some(&done))]
    {
        let error = one.append(&run.id, &rows, progress).unwrap_err();
        assert!(error.message.contains("run r is now driven by process"), "{error}");
    }
    other.append(&run.id, &[row(None, "2")], None).unwrap();
    let bodies: Vec<_> = one.load(&run.id).unwrap().1.into_iter().map(|row| row.body).collect();
    assert_eq!(bodies, ["1", "2"]);
    assert_eq!(one.find("r").unwrap().progress.status, RunStatus::Running);

    other.append(&run.id, &[], Some(&run_progress(RunStatus::Failed))).unwrap();
    one.claim(&run.id).unwrap();
    one.append(&run.id, &[row(None, "3")], None).unwrap();
    assert_eq!(other.load(&run.id).unwrap().1.len(), 3);
}

#[test]
fn who_never_claimed_a_run_writes_nothing_to_it() {
    let place = Place::new();
    place.store().create(&header("r", 1)).unwrap();
    let error = place.store().append(&RunId::from("r"), &[row(None, "1")], None).unwrap_err();
    assert!(error.message.contains("not driven by this process"), "{error}");
    assert_eq!(question(&place.path, "SELECT count(*) FROM rows"), 0);
}

#[test]
fn of_many_that_claim_at_once_one_gets_the_run() {
    let place = Place::new();
    let run = insert_dead_run(&place, "r", RunStatus::Running);
    // a store that is gone drives nothing, so all of them stay to the end
    let stores: Vec<SqliteStore> = (0..8).map(|_| place.store()).collect();
    let claimed: Vec<bool> = std::thread::scope(|scope| {
        let all: Vec<_> = stores
            .iter()
            .map(|store| {
                let run = &run;
                scope.spawn(move || {
                    let claimed = store.claim(run).is_ok();
                    assert_eq!(store.append(run, &[row(None, "mine")], None).is_ok(), claimed);
                    claimed
                })
            })
            .collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(claimed.iter().filter(|claimed| **claimed).count(), 1);
    assert_eq!(place.store().load(&run).unwrap().1.len(), 1);
}

#[test]
fn a_driver_learns_of_a_stolen_claim_also_with_nothing_to_write() {
    let place = Place::new();
    let (one, other) = (place.store(), place.store());
    let run = header("r", 1);
    one.create(&run).unwrap();
    assert!(one.is_driver_of(&run.id) && !other.is_driver_of(&run.id));
    // as if its driver could not be seen
    tamper_database(&place.path, "UPDATE progress SET process = 'an earlier boot 1'");
    other.claim(&run.id).unwrap();
    assert!(other.is_driver_of(&run.id) && !one.is_driver_of(&run.id));
    for end in [one.append(&run.id, &[], None), one.append_and_end_tokens(&run.id, &[], None, &[], None)] {
        assert!(end.unwrap_err().message.contains("run r is now driven by process"));
    }
    one.release(&run.id);
    assert_eq!(one.find("r").unwrap().progress.status, RunStatus::Running, "it is not this one's any more");
}

/// A process id of another namespace means nothing here: the lock decides. In the same one, the process was killed, and
/// the watchers of its commands hold the lock: the next claim waits for them.
#[test]
fn a_driver_that_holds_its_lock_lives_unless_it_is_known_to_be_gone() {
    for (namespace, status) in [
        (Some("pid:[1]"), RunStatus::Running),
        (Some(""), RunStatus::Running),
        (None, RunStatus::Interrupted),
    ] {
        let place = Place::new();
        let (one, other) = (place.store(), place.store());
        let run = header("r", 1);
        one.create(&run).unwrap();
        tamper_database(
            &place.path,
            "UPDATE progress SET pid = 4294967294, process = 'elsewhere 1' || substr(process, instr(process, '|'))",
        );
        if let Some(namespace) = namespace {
            let locks = std::fs::read_dir(place.path.with_file_name("drivers")).unwrap();
            locks.for_each(|lock| std::fs::write(lock.unwrap().path(), namespace).unwrap());
        }
        assert_eq!(other.find("r").unwrap().progress.status, status, "{namespace:?}");
        if status == RunStatus::Running {
            assert!(other.claim(&run.id).unwrap_err().message.contains("is running in process 4294967294"));
            drop(one);
            assert_eq!(other.find("r").unwrap().progress.status, RunStatus::Interrupted);
            other.claim(&run.id).unwrap();
            continue;
        }
        let claiming = std::thread::scope(|scope| {
            let claiming = scope.spawn(|| other.claim(&run.id));
            std::thread::sleep(std::time::Duration::from_millis(100));
            assert!(!claiming.is_finished(), "it waits");
            drop(one);
            claiming.join().unwrap()
        });
        claiming.unwrap();
    }
}

#[test]
fn a_run_that_was_let_go_can_be_claimed_again_also_where_that_could_not_be_written() {
    let place = Place::new();
    let store = place.store();
    let run = header("r", 1);
    store.create(&run).unwrap();
    store.release(&run.id);
    assert_eq!(place.store().find("r").unwrap().progress.status, RunStatus::Interrupted);
    assert!(!store.is_driver_of(&run.id));
    store.claim(&run.id).unwrap();
    tamper_database(
        &place.path,
        "CREATE TRIGGER no BEFORE UPDATE ON progress BEGIN SELECT raise(ABORT, 'no'); END",
    );
    store.release(&run.id);
    tamper_database(&place.path, "DROP TRIGGER no");
    assert!(place.store().claim(&run.id).is_err(), "others wait until this process ends");
    store.claim(&run.id).unwrap();
}

/// The numbers that a driver remembers must not lead into a later run.
#[test]
fn a_removed_runs_driver_does_not_write_into_the_next_run() {
    let place = Place::new();
    let (one, other) = (place.store(), place.store());
    let run = header("old", 1);
    one.create(&run).unwrap();
    one.append(&run.id, &[row(None, "1")], Some(&run_progress(RunStatus::Paused))).unwrap();
    other.delete(std::slice::from_ref(&run.id)).unwrap();
    other.create(&header("new", 2)).unwrap();
    let error = one.append(&run.id, &[row(None, "2")], None).unwrap_err();
    assert!(error.message.contains("no run `old`"), "{error}");
    assert_eq!(other.load(&RunId::from("new")).unwrap().1, []);
}

#[test]
fn an_append_that_failed_leaves_no_gap() {
    let place = Place::new();
    let store = place.store();
    let run = header("r", 1);
    store.create(&run).unwrap();
    store.append(&run.id, &[row(None, "1")], None).unwrap();
    tamper_database(
        &place.path,
        "CREATE TRIGGER no BEFORE INSERT ON rows BEGIN SELECT raise(ABORT, 'no'); END",
    );
    assert!(store.append(&run.id, &[row(None, "2")], None).is_err());
    tamper_database(&place.path, "DROP TRIGGER no");
    // as if the failed one had reached the disk after all
    tamper_database(
        &place.path,
        "INSERT INTO rows(run, seq, kind, at, body, length) SELECT run, 2, kind, at, '2', 1 FROM rows",
    );
    store.append(&run.id, &[row(None, "3")], None).unwrap();
    let bodies: Vec<_> = store.load(&run.id).unwrap().1.into_iter().map(|row| row.body).collect();
    assert_eq!(bodies, ["1", "2", "3"]);
}

#[test]
fn a_run_that_a_server_keeps_is_changed_by_its_worker_only() {
    let place = Place::new();
    let (worker, user) = (place.store(), place.store());
    let run = header("r", 1);
    worker.create_remote(&run, "http://server:8080").unwrap();
    worker.append(&run.id, &[row(None, "1")], Some(&run_progress(RunStatus::Paused))).unwrap();
    let refused = user.claim(&run.id).unwrap_err();
    assert_eq!(
        refused.message,
        "run r is kept by the Restate server at http://server:8080: what is changed here would be discarded"
    );
    let hint = refused.hint.unwrap();
    assert!(hint.contains("runs cancel r --backend restate") && hint.contains("cargo feature"), "{hint}");
    assert_eq!(user.keeper(&run.id).unwrap().as_deref(), Some("http://server:8080"));
    assert_eq!(user.find("r").unwrap().progress.status, RunStatus::Paused, "nothing was changed");
    user.claim_remote(&run.id).unwrap();
    user.append(&run.id, &[row(None, "2")], None).unwrap();
    let own = header("own", 1);
    worker.create(&own).unwrap();
    worker.release(&own.id);
    assert_eq!(user.keeper(&own.id).unwrap(), None);
    user.claim(&own.id).unwrap();
}
