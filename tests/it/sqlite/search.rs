//! Full-text search: what is found, in which order, and that nothing is left out after a crash.

use std::cell::Cell;
use std::process::{Command, Stdio};

use synthdev::domain::journal::{SearchHit, SearchQuery};

use super::*;

fn message_row(text: &str) -> JournalRow {
    JournalRow { words: Some(text.to_owned()), ..row(None, text) }
}

/// The bodies of these tests are their words, unless they are secret.
fn words(row: &JournalRow) -> Option<String> {
    (!row.body.starts_with("silent")).then(|| row.body.clone())
}

fn find_text(store: &SqliteStore, text: &str) -> Vec<SearchHit> {
    store.search(&SearchQuery { text: text.to_owned(), ..SearchQuery::default() }, &words).unwrap()
}

/// `run:seq` of each hit.
fn places(hits: &[SearchHit]) -> Vec<String> {
    hits.iter().map(|hit| format!("{}:{}", hit.run, hit.seq)).collect()
}

fn filled_store() -> (Place, SqliteStore) {
    let place = Place::new();
    let store = place.store();
    for (at, id, workflow, texts) in [
        (1, "r1", "coder", ["The quick brown fox", "jumps over the lazy dog"]),
        (2, "r2", "planner", ["a brown, quick dog", "Ein größerer Hund; naïve café"]),
        (3, "r3", "coder", ["review_count = 2", "foxtrot"]),
    ] {
        store
            .create(&RunHeader {
                workflow: workflow.to_owned(),
                input: format!("task of {id}"),
                ..header(id, at)
            })
            .unwrap();
        store.append(&RunId::from(id), &texts.map(message_row), None).unwrap();
    }
    (place, store)
}

#[test]
fn words_are_wanted_together_phrases_as_they_are_and_the_last_word_may_go_on() {
    let (_place, store) = filled_store();
    let rows: [(&str, &[&str]); 25] = [
        ("quick", &["r2:1", "r1:1"]),
        ("QUICK brown", &["r2:1", "r1:1"]),
        ("quick lazy", &[]),
        ("\"quick brown\"", &["r1:1"]),
        ("\"brown quick\"", &["r2:1"]),
        ("\"quick bro", &["r1:1"]),
        ("fox", &["r3:2", "r1:1"]),
        ("fox ", &["r1:1"]),
        ("fo", &["r3:2", "r1:1"]),
        ("f", &[]),
        ("grosserer", &[]),
        ("größ", &["r2:2"]),
        ("grö", &["r2:2"]),
        ("naive cafe", &["r2:2"]),
        ("review", &["r3:1"]),
        ("review_count", &["r3:1"]),
        ("planner", &["r2:0"]),
        ("task r3", &["r3:0"]),
        ("", &[]),
        ("  \t ", &[]),
        ("\"", &[]),
        ("* - ( ) : ^ \"\" +", &[]),
        ("text:fox", &[]),
        ("quick OR zebra", &[]),
        ("NEAR(quick brown, 5)", &[]),
    ];
    for (text, expected) in rows {
        assert_eq!(places(&find_text(&store, text)), expected, "{text}");
    }
}

#[test]
fn nothing_that_is_typed_is_an_error() {
    let (_place, store) = filled_store();
    let odd = [
        "\"", "'", "*", "^", "(", ")", "{", "}", ":", "-", "+", ",", ".", "\\", "\0", "AND", "OR", "NOT",
        "NEAR", "ü", "\u{300}", "\u{200d}", "🦊", "fox",
    ];
    for one in odd {
        for two in odd {
            for text in [
                format!("{one}{two}"),
                format!("{one} {two}"),
                format!("\"{one} fox{two}"),
                format!("fox\"{one}\"{two}"),
            ] {
                find_text(&store, &text);
            }
        }
    }
    assert_eq!(find_text(&store, &"\"fox ".repeat(3_000)).len(), 1);
}

#[test]
fn a_hit_shows_its_run_and_row() {
    let (_place, store) = filled_store();
    let hits = find_text(&store, "foxtrot");
    assert_eq!(
        hits,
        [SearchHit {
            run: RunId::from("r3"),
            workflow: "coder".to_owned(),
            started: Timestamp(3),
            seq: 2,
            row: message_row("foxtrot")
        }]
    );
    let hit = find_text(&store, "task planner").remove(0);
    assert_eq!((hit.seq, hit.row.body.as_str()), (0, "\"task of r2\""));
    assert_eq!(hit.row.words.as_deref(), Some("planner\ntask of r2"));
}

#[test]
fn a_search_can_be_narrowed() {
    let (_place, store) = filled_store();
    let query = |run: Option<&str>, workflow: Option<&str>, limit| SearchQuery {
        text: "the".to_owned(),
        limit,
        run: run.map(RunId::from),
        workflow: workflow.map(str::to_owned),
    };
    store.append(&RunId::from("r2"), &[message_row("the end")], None).unwrap();
    for (query, expected) in [
        (query(None, None, 0), vec!["r2:3", "r1:2", "r1:1"]),
        (query(None, None, 1), vec!["r2:3"]),
        (query(Some("r1"), None, 0), vec!["r1:2", "r1:1"]),
        (query(Some("r3"), None, 0), vec![]),
        (query(Some("nobody"), None, 0), vec![]),
        (query(None, Some("coder"), 0), vec!["r1:2", "r1:1"]),
        (query(None, Some("coder"), 1), vec!["r1:2"]),
        (query(Some("r2"), Some("coder"), 0), vec![]),
    ] {
        assert_eq!(places(&store.search(&query, &words).unwrap()), expected, "{query:?}");
    }
}

#[test]
fn nothing_is_found_where_nothing_is_stored() {
    let place = Place::new();
    assert_eq!(find_text(&place.store(), "fox"), []);
    assert!(!place.path.exists());
}

/// Words reach the index with `sync` and when the store is closed; no append waits for them.
#[test]
fn words_are_indexed_by_whoever_has_them() {
    let place = Place::new();
    let store = place.store();
    let run = header("r", 1);
    store.create(&run).unwrap();
    let indexed = || question(&place.path, "SELECT count(*) FROM words_docsize");
    store.append(&run.id, &[message_row("one"), row(None, "silent"), message_row("two")], None).unwrap();
    assert_eq!(indexed(), 0, "an append does not wait for the index");
    store.sync().unwrap();
    assert_eq!(indexed(), 3, "with the run's input");
    store.append(&run.id, &[message_row("three")], Some(&run_progress(RunStatus::Running))).unwrap();
    assert_eq!(indexed(), 3);
    store.append(&run.id, &[message_row("four")], Some(&run_progress(RunStatus::Paused))).unwrap();
    assert_eq!(indexed(), 3);
    store.sync().unwrap();
    assert_eq!(indexed(), 5);
    store.append(&run.id, &[message_row("five")], None).unwrap();
    drop(store);
    assert_eq!(indexed(), 6);
    let never = |_: &JournalRow| -> Option<String> { panic!("all words are in the index") };
    let query = SearchQuery { text: "fi".to_owned(), ..SearchQuery::default() };
    let found = std::panic::catch_unwind(|| {
        place.store().search(&SearchQuery { text: "none".to_owned(), ..query.clone() }, &never)
    });
    assert_eq!(found.unwrap().unwrap(), []);
    assert_eq!(places(&place.store().search(&query, &words).unwrap()), ["r:6"]);
}

/// Other writers wait for a transaction of the index.
#[test]
fn a_long_text_is_indexed_by_the_search_that_needs_it() {
    let place = Place::new();
    let store = place.store();
    let run = header("r", 1);
    store.create(&run).unwrap();
    let indexed = || question(&place.path, "SELECT count(*) FROM words_docsize");
    let long = message_row(&"pelican ".repeat(40_000));
    store.append(&run.id, &[message_row("one"), long, message_row("pelican")], None).unwrap();
    store.sync().unwrap();
    assert_eq!(indexed(), 2, "the run's input and what comes before the long text");
    assert_eq!(places(&find_text(&store, "pelican")), ["r:3", "r:2"]);
    assert_eq!(indexed(), 4);
}

#[test]
fn rows_of_another_process_and_of_a_run_that_goes_on_after_its_end_are_found() {
    let place = Place::new();
    let (one, other) = (place.store(), place.store());
    let run = header("r", 1);
    one.create(&run).unwrap();
    one.append(&run.id, &[message_row("alpha")], None).unwrap();
    assert_eq!(
        find_text(&other, "alpha").len(),
        1,
        "though the other process has not written it to the index"
    );
    one.append(&run.id, &[message_row("beta")], Some(&run_progress(RunStatus::Failed))).unwrap();
    one.sync().unwrap();
    assert_eq!(question(&place.path, "SELECT count(*) FROM behind"), 0, "an ended run is off the list");
    one.append(&run.id, &[message_row("gamma")], None).unwrap();
    assert_eq!(places(&find_text(&other, "gamma")), ["r:3"]);
    other.claim(&run.id).unwrap_or_else(|error| panic!("{error}"));
    other.append(&run.id, &[message_row("delta")], Some(&run_progress(RunStatus::Completed))).unwrap();
    for (text, place) in [("alpha", "r:1"), ("beta", "r:2"), ("gamma", "r:3"), ("delta", "r:4")] {
        assert_eq!(places(&find_text(&one, text)), [place], "once each");
    }
}

const WRITER: &str = "SEARCH_TEST_WRITER";

/// Not a test by itself: the child's part. It dies without closing its store.
#[test]
fn child_that_dies_before_its_words_are_indexed() {
    let Some(path) = std::env::var_os(WRITER) else { return };
    let store = SqliteStore::new(PathBuf::from(path));
    let run = header("victim", 1);
    store.create(&run).unwrap();
    for at in 0..5_000 {
        store
            .append(&run.id, &[message_row(&format!("pelican{at}")), row(None, "silent one")], None)
            .unwrap();
        if at == 100 {
            store.sync().unwrap();
        }
    }
    std::process::abort();
}

#[test]
fn what_a_killed_process_did_not_index_is_found_by_the_next_search() {
    let place = Place::new();
    let name = format!(
        "{}::child_that_dies_before_its_words_are_indexed",
        module_path!().split_once("::").unwrap().1
    );
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &name, "--test-threads=1"])
        .env(WRITER, &place.path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(!ended.success());
    let indexed = || question(&place.path, "SELECT count(*) FROM words_docsize");
    let before = indexed();
    assert!((100..5_000).contains(&before), "{before} rows were indexed before the end");
    let store = place.store();
    let asked = Cell::new(0);
    let counted = |row: &JournalRow| {
        asked.set(asked.get() + 1);
        words(row)
    };
    let query = SearchQuery { text: "pelican4999".to_owned(), ..SearchQuery::default() };
    assert_eq!(places(&store.search(&query, &counted).unwrap()), ["victim:9999"]);
    assert!(asked.get() < 10_000, "rows that were indexed are not read again: {}", asked.get());
    assert_eq!(indexed(), 5_001);
    asked.set(0);
    for text in ["pelican7 ", "pelican3000"] {
        assert_eq!(
            store.search(&SearchQuery { text: text.to_owned(), ..query.clone() }, &counted).unwrap().len(),
            1
        );
    }
    assert_eq!(asked.get(), 2, "only for the hits");
}

#[test]
fn a_damaged_row_hides_no_other() {
    let place = Place::new();
    let store = place.store();
    store.create(&header("r", 1)).unwrap();
    store.append(&RunId::from("r"), &[row(None, "alpha"), row(None, "beta alpha")], None).unwrap();
    tamper_database(&place.path, "UPDATE rows SET body = 'al' WHERE seq = 1; UPDATE behind SET next = 0");
    drop(store);
    tamper_database(&place.path, "DELETE FROM words; UPDATE behind SET next = 0");
    assert_eq!(places(&find_text(&place.store(), "alpha")), ["r:2"]);
}
