//! Bringing runs in, removing them, and how much room they take.

use synthdev::domain::journal::{HistoryStorageUsage, ReclaimedSpace, RunOrigin, RunOriginKind, SearchQuery};

use super::*;

fn words(row: &JournalRow) -> Option<String> {
    Some(row.body.clone())
}

fn count_hits(store: &SqliteStore, text: &str) -> usize {
    store.search(&SearchQuery { text: text.to_owned(), ..SearchQuery::default() }, &words).unwrap().len()
}

#[test]
fn a_run_from_elsewhere_is_whole_and_nobody_drives_it() {
    let place = Place::new();
    let store = place.store();
    let origin = Some(RunOrigin { run: RunId::from("there"), kind: RunOriginKind::Import, step: None });
    let run = RunHeader { origin, ..header("here", 5) };
    let large = format!("\"{}\"", "x".repeat(200_000));
    let rows = [
        JournalRow { digest: Some(7), ..row(Some(1), "a pelican") },
        JournalRow::new(JournalRowKind::Begun, Timestamp(1), Some(CallId(2)), large),
    ];
    store.import(&run, &rows, &run_progress(RunStatus::Running), None).unwrap();
    assert_eq!(store.load(&run.id).unwrap(), (run.clone(), rows.to_vec()));
    let seen = store.find("here").unwrap();
    assert_eq!(
        seen.progress,
        run_progress(RunStatus::Interrupted),
        "its process is not here, whoever has the number"
    );
    assert_eq!(count_hits(&store, "pelican"), 1);

    let error = store.import(&run, &[], &run_progress(RunStatus::Completed), None).unwrap_err();
    assert!(error.message.contains("already in"), "{error}");
    assert_eq!(store.load(&run.id).unwrap().1.len(), 2);
    store.append(&run.id, &[row(None, "1")], None).unwrap_err();
    store.claim(&run.id).unwrap();
    store
        .append(
            &run.id,
            &[JournalRow { words: Some("an ostrich".to_owned()), ..row(None, "an ostrich") }],
            None,
        )
        .unwrap();
    assert_eq!(count_hits(&store, "ostrich"), 1);
}

#[test]
fn removed_runs_leave_nothing_behind() {
    let place = Place::new();
    let store = place.store();
    let (shared, own) = ("s".repeat(200_000), "o".repeat(150_000));
    for (id, at) in [("keep", 1), ("gone", 2), ("gone too", 3)] {
        let run = RunHeader { spec: if id == "keep" { "k" } else { "g" }.to_owned(), ..header(id, at) };
        store.create(&run).unwrap();
        let text = JournalRow { words: Some("pelican".to_owned()), ..row(None, "a pelican") };
        store.append(&run.id, &[text, row(None, &*shared)], None).unwrap();
        if id == "gone" {
            store.append(&run.id, &[row(None, &*own)], None).unwrap();
        }
        store.append(&run.id, &[], Some(&run_progress(RunStatus::Completed))).unwrap();
    }
    assert_eq!(count_hits(&store, "pelican"), 3);
    let gone = [RunId::from("gone"), RunId::from("gone too"), RunId::from("gone")];
    let previews = 2 * 200 + 200;
    let freed = store.delete(&gone).unwrap();
    assert_eq!(freed, ReclaimedSpace { runs: 2, bytes: 2 * 9 + previews + 150_000 + 1 });
    assert_eq!(count_hits(&store, "pelican"), 1);
    assert_eq!(store.list(&RunQuery::default()).unwrap().len(), 1);
    assert_eq!(store.load(&RunId::from("keep")).unwrap().1[1].body, shared);
    for (table, left) in
        [("runs", 1), ("progress", 1), ("rows", 2), ("blobs", 2), ("behind", 0), ("words_docsize", 2)]
    {
        assert_eq!(question(&place.path, &format!("SELECT count(*) FROM {table}")), left, "{table}");
    }
    assert_eq!(
        question(&place.path, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"),
        1
    );
    assert_eq!(store.delete(&[]).unwrap(), ReclaimedSpace::default());
}

#[test]
fn one_that_cannot_be_removed_keeps_all() {
    let place = Place::new();
    let store = place.store();
    for (id, status) in [("over", RunStatus::Completed), ("live", RunStatus::Running)] {
        store.create(&header(id, 1)).unwrap();
        store.append(&RunId::from(id), &[], Some(&run_progress(status))).unwrap();
    }
    for (other, message) in [("live", "run live is running in process"), ("nobody", "no run `nobody`")] {
        let error = store.delete(&[RunId::from("over"), RunId::from(other)]).unwrap_err();
        assert!(error.message.contains(message), "{error}");
    }
    assert_eq!(store.list(&RunQuery::default()).unwrap().len(), 2);
    tamper_database(&place.path, "UPDATE progress SET process = 'an earlier boot 1'");
    assert_eq!(store.delete(&[RunId::from("live")]).unwrap().runs, 1, "an interrupted run can be removed");
}

fn many_words(row: usize) -> String {
    (0..50).map(|n| format!("word{row}x{n} ")).collect()
}

#[test]
fn room_is_told() {
    let place = Place::new();
    let store = place.store();
    assert_eq!(store.storage_usage().unwrap(), HistoryStorageUsage::default());
    for (id, at) in [("a", 30), ("b", 20)] {
        store.create(&RunHeader { spec: "s".repeat(1_000), ..header(id, at) }).unwrap();
        let rows: Vec<JournalRow> = (0..100)
            .map(|n| JournalRow { words: Some(many_words(n)), ..row(None, "x".repeat(1_000)) })
            .collect();
        store.append(&RunId::from(id), &rows, Some(&run_progress(RunStatus::Completed))).unwrap();
    }
    store.index_texts();
    let space = store.storage_usage().unwrap();
    assert_eq!(
        (space.runs, space.rows, space.blobs_bytes, space.oldest),
        (2, 200, 1_000, Some(Timestamp(20)))
    );
    assert!(
        space.file_bytes > 200_000 && space.index_bytes > 4_000 && space.free_bytes < 100_000,
        "{space:?}"
    );
    store.delete(&[RunId::from("a")]).unwrap();
    let less = store.storage_usage().unwrap();
    assert_eq!((less.runs, less.rows, less.oldest), (1, 100, Some(Timestamp(20))));
    assert!(less.free_bytes > space.free_bytes + 50_000, "{less:?}");
    assert!(less.index_bytes * 3 < space.index_bytes * 2, "{} of {}", less.index_bytes, space.index_bytes);
}

#[test]
fn many_are_removed_while_another_process_writes() {
    let place = Place::new();
    let (store, other) = (place.store(), place.store());
    let runs: Vec<RunId> = (0..130).map(|at| RunId(format!("r{at}"))).collect();
    for run in &runs {
        store.create(&header(run.as_str(), 1)).unwrap();
        store.append(run, &[row(None, "x")], Some(&run_progress(RunStatus::Completed))).unwrap();
    }
    other.create(&header("live", 2)).unwrap();
    let freed = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            (0..100).for_each(|_| other.append(&RunId::from("live"), &[row(None, "x")], None).unwrap());
        });
        let freed = store.delete(&runs).unwrap();
        writer.join().unwrap();
        freed
    });
    assert_eq!(freed.runs, 130);
    assert_eq!(store.list(&RunQuery::default()).unwrap().len(), 1);
    assert_eq!(store.load(&RunId::from("live")).unwrap().1.len(), 100);
}
