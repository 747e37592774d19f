//! What a reader sees of a run first: kept with the rows that it belongs to, and worth nothing without them.

use synthdev::adapters::sqlite::salvage;
use synthdev::domain::journal::ReclaimedSpace;

use super::*;

const RUN: &str = "2k7f9q3mx4tz";

/// A run that stopped after two rows.
fn stopped_run(place: &Place) -> (SqliteStore, RunId) {
    let store = place.store();
    let run = RunId::from(RUN);
    store.create(&header(RUN, 1)).unwrap();
    store.append(&run, &[row(None, "1")], None).unwrap();
    let paused = run_progress(RunStatus::Paused);
    store.append_with_preview(&run, &[row(None, "2")], Some(&paused), "as it stood").unwrap();
    (store, run)
}

fn stored_preview(store: &SqliteStore, run: &RunId) -> Option<String> {
    store.preview(run).unwrap().filter(|(_, since)| *since == 0).map(|(text, _)| text)
}

/// As it stood so many rows ago.
fn rows_since_preview(store: &SqliteStore, run: &RunId) -> Option<u64> {
    store.preview(run).unwrap().map(|(_, since)| since)
}

#[test]
fn it_comes_and_goes_with_the_rows() {
    let place = Place::new();
    assert_eq!(stored_preview(&place.store(), &RunId::from(RUN)), None, "nothing was ever written");
    let (store, run) = stopped_run(&place);
    let other = place.store();
    assert_eq!(stored_preview(&other, &run).as_deref(), Some("as it stood"));
    assert_eq!(other.find(RUN).unwrap().progress, run_progress(RunStatus::Paused));
    assert_eq!(store.load(&run).unwrap().1.len(), 2);
    assert_eq!(stored_preview(&other, &RunId::from("2k7f")), None, "only whole ids");

    // a new status without a row adds nothing to the preview
    store.append(&run, &[], Some(&run_progress(RunStatus::Failed))).unwrap();
    assert_eq!(stored_preview(&other, &run).as_deref(), Some("as it stood"));
    store.append(&run, &[row(None, "3")], None).unwrap();
    assert_eq!(
        (stored_preview(&other, &run), rows_since_preview(&other, &run)),
        (None, Some(1)),
        "the run went on"
    );
    store.append(&run, &[row(None, "4"), row(None, "5")], None).unwrap();
    assert_eq!(rows_since_preview(&other, &run), Some(3));
    // also without rows of its own
    store.append_with_preview(&run, &[], None, "as it stands now").unwrap();
    assert_eq!(stored_preview(&other, &run).as_deref(), Some("as it stands now"));
    assert_eq!(question(&place.path, "SELECT count(*) FROM glances"), 1, "one a run");
    // which may go with rows that make earlier ones void
    store.append_and_end_tokens(&run, &[row(None, "6")], None, &[], Some("further back")).unwrap();
    assert_eq!(stored_preview(&other, &run).as_deref(), Some("further back"));
    store.append_and_end_tokens(&run, &[row(None, "7")], None, &[], None).unwrap();
    assert_eq!(rows_since_preview(&other, &run), None);
    let elsewhere = header("2k7f9q3mx4tv", 1);
    store
        .import(&elsewhere, &[row(None, "1")], &run_progress(RunStatus::Completed), Some("over there"))
        .unwrap();
    assert_eq!(stored_preview(&other, &elsewhere.id).as_deref(), Some("over there"));
}

#[test]
fn a_driver_that_was_replaced_writes_none() {
    let place = Place::new();
    let (store, run) = stopped_run(&place);
    let second = place.store();
    second.claim(&run).unwrap();
    store.append_with_preview(&run, &[], None, "not mine any more").unwrap_err();
    assert_eq!(
        stored_preview(&second, &run).as_deref(),
        Some("as it stood"),
        "claiming it changes nothing yet"
    );
    place.store().append_with_preview(&RunId::from("nobody"), &[], None, "x").unwrap_err();
}

#[test]
fn one_that_makes_no_sense_is_none() {
    for sql in [
        "UPDATE glances SET body = x'00ff'",
        "UPDATE glances SET body = CAST(x'c3' AS TEXT)",
        "UPDATE glances SET seq = 9",
        "UPDATE glances SET seq = 'two'",
        "DELETE FROM glances",
    ] {
        let place = Place::new();
        let (store, run) = stopped_run(&place);
        tamper_database(&place.path, sql);
        assert_eq!(rows_since_preview(&store, &run), None, "{sql}");
        store.append(&run, &[row(None, "3")], None).unwrap();
        assert_eq!(store.load(&run).unwrap().1.len(), 3, "the store goes on after {sql}");
    }
}

#[test]
fn it_takes_room_and_goes_with_its_run() {
    let place = Place::new();
    let (store, run) = stopped_run(&place);
    let bytes = "as it stood".len() as u64;
    assert_eq!(store.storage_usage().unwrap().glances_bytes, bytes);
    let spec = header(RUN, 1).spec.len() as u64;
    let all = ReclaimedSpace { runs: 1, bytes: 2 + bytes + spec };
    assert_eq!(store.measure_deletion(std::slice::from_ref(&run)).unwrap(), all);
    assert_eq!(store.delete(&[run]).unwrap(), all);
    assert_eq!(question(&place.path, "SELECT count(*) FROM glances"), 0);
    assert_eq!(store.storage_usage().unwrap().glances_bytes, 0);
}

#[test]
fn salvage_leaves_it_out() {
    let place = Place::new();
    let (store, run) = stopped_run(&place);
    drop(store);
    let to = place.path.with_file_name("salvaged.sqlite");
    let saved = salvage::salvage_store(&place.path, &to).unwrap();
    assert_eq!((saved.runs, saved.rows), (1, 2));
    let store = SqliteStore::new(to);
    assert_eq!((stored_preview(&store, &run), store.load(&run).unwrap().1.len()), (None, 2));
}
