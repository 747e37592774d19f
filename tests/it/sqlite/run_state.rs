//! The state of a run is kept beside its journal, for the build of the program that wrote it.

use super::*;
use synthdev::domain::journal::ReclaimedSpace;

const RUN: &str = "2k7f9q3mx4tw";

/// Two rows, and the state as of the second.
fn run_with_state(place: &Place) -> (SqliteStore, RunId) {
    let store = place.store();
    let header = header(RUN, 1);
    store.create(&header).unwrap();
    store.append(&header.id, &[row(None, "1"), row(None, "2")], None).unwrap();
    store.save_state(&header.id, "as it was").unwrap();
    (store, header.id)
}

/// The state, and the bodies of the rows since.
fn loaded(store: &SqliteStore, run: &RunId) -> (Option<String>, Vec<String>) {
    let loaded = store.load_with_state(run).unwrap();
    assert_eq!(loaded.header.id, *run);
    (loaded.state, loaded.rows_since.into_iter().map(|row| row.body).collect())
}

#[test]
fn it_comes_with_the_rows_since() {
    let place = Place::new();
    let (store, run) = run_with_state(&place);
    let state = |text: &str| Some(text.to_owned());
    assert_eq!(loaded(&store, &run), (state("as it was"), vec![]));
    store.append(&run, &[row(None, "3")], None).unwrap();
    assert_eq!(loaded(&place.store(), &run), (state("as it was"), vec!["3".to_owned()]));
    store.save_state(&run, "later").unwrap();
    assert_eq!(loaded(&store, &run), (state("later"), vec![]));
    store.drop_state(&run).unwrap();
    assert_eq!(loaded(&store, &run), (None, ["1", "2", "3"].map(str::to_owned).to_vec()));
    assert!(store.load_with_state(&RunId::from("nobody")).is_err());
}

#[test]
fn one_of_another_build_or_without_sense_is_none() {
    for sql in [
        "UPDATE states SET build = build || '1'",
        "UPDATE states SET seq = 'two'",
        "UPDATE states SET body = x'00ff'",
        "UPDATE states SET body = CAST(x'c3' AS TEXT)",
        "DELETE FROM states",
    ] {
        let place = Place::new();
        let (store, run) = run_with_state(&place);
        tamper_database(&place.path, sql);
        assert_eq!(loaded(&store, &run), (None, ["1", "2"].map(str::to_owned).to_vec()), "{sql}");
    }
}

#[test]
fn a_driver_that_was_replaced_keeps_none() {
    let place = Place::new();
    let (store, run) = run_with_state(&place);
    let second = place.store();
    store.release(&run);
    second.claim(&run).unwrap();
    store.save_state(&run, "not mine any more").unwrap();
    assert_eq!(loaded(&second, &run).0, Some("as it was".to_owned()));
}

#[test]
fn it_takes_room_and_goes_with_its_run() {
    let place = Place::new();
    let (store, run) = run_with_state(&place);
    store.append(&run, &[], Some(&run_progress(RunStatus::Completed))).unwrap();
    let bytes = "as it was".len() as u64;
    assert_eq!(store.storage_usage().unwrap().states_bytes, bytes);
    let spec = header(RUN, 1).spec.len() as u64;
    let all = ReclaimedSpace { runs: 1, bytes: 2 + bytes + spec };
    assert_eq!(store.measure_deletion(std::slice::from_ref(&run)).unwrap(), all);
    assert_eq!(store.delete(&[run]).unwrap(), all);
    assert_eq!(store.storage_usage().unwrap().states_bytes, 0);
}
