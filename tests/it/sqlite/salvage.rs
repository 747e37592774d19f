//! Damaged files: reported before anything is written, and salvaged as far as they can be read.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::sync::LazyLock;

use synthdev::adapters::sqlite::salvage::{self, SalvageReport};
use synthdev::domain::journal::{SearchQuery, TokenRecord};
use synthdev::domain::snapshot::RunWorktree;

use super::*;

const PAGE: u64 = 4096;
const RUNS: i64 = 6;
/// Rows of each run.
const ROWS: u64 = 12;

fn body(run: i64, seq: u64) -> String {
    // some rows need pages of their own, and one is stored by its hash
    let length = match seq {
        3 => 140_000,
        5 | 10 => 9_000,
        _ => 300,
    };
    format!("{{\"run\":{run},\"seq\":{seq},\"text\":\"word{run} {}\"}}", "x".repeat(length))
}

fn name(run: i64) -> String {
    format!("2k{run:02}")
}

/// Completed runs, folded into one file.
static SOUND: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let place = Place::new();
    fill_history(&place);
    fs::read(&place.path).unwrap()
});

/// The same as a killed process leaves it: a file and its log.
static KILLED: LazyLock<(Vec<u8>, Vec<u8>)> = LazyLock::new(|| {
    let place = Place::new();
    place.store().create(&header("2k00", 0)).unwrap();
    let connection = rusqlite::Connection::open(&place.path).unwrap();
    connection.execute_batch("DELETE FROM runs").unwrap();
    fill_history(&place);
    (fs::read(&place.path).unwrap(), fs::read(place.log()).unwrap())
});

fn place_with(bytes: &[u8]) -> Place {
    let place = Place::new();
    fs::create_dir_all(place.path.parent().unwrap()).unwrap();
    fs::write(&place.path, bytes).unwrap();
    place
}

fn filled_history() -> Place {
    place_with(&SOUND)
}

fn killed_history() -> Place {
    let place = place_with(&KILLED.0);
    fs::write(place.log(), &KILLED.1).unwrap();
    place
}

fn fill_history(place: &Place) {
    let store = place.store();
    for run in 1..=RUNS {
        let begun = RunHeader {
            spec: format!("{{\"spec\":{run},\"of\":\"{}\"}}", "s".repeat(20_000)),
            ..header(&name(run), run)
        };
        store.create(&begun).unwrap();
        let rows: Vec<JournalRow> = (1..=ROWS)
            .map(|seq| JournalRow {
                digest: Some(seq),
                words: Some(format!("word{run}")),
                ..JournalRow::new(
                    JournalRowKind::Input,
                    Timestamp(seq as i64),
                    Some(CallId(seq)),
                    body(run, seq),
                )
            })
            .collect();
        let done = RunProgress { updated: Timestamp(ROWS as i64), ..run_progress(RunStatus::Completed) };
        for part in rows.chunks(7) {
            store.append(&begun.id, part, Some(&done)).unwrap();
        }
    }
}

impl Place {
    fn new_file(&self) -> PathBuf {
        self.path.with_file_name("runs-salvaged.sqlite")
    }

    /// The file and its log stay as they are, and no copy of them is left.
    fn salvage(&self) -> SalvageReport {
        let before = self.bytes();
        let saved = salvage::salvage_store(&self.path, &self.new_file()).unwrap();
        assert!(self.bytes() == before, "the damaged history was changed");
        assert!(!self.path.with_file_name("runs.sqlite-salvage-copy").exists());
        saved
    }

    fn log(&self) -> PathBuf {
        self.path.with_extension("sqlite-wal")
    }

    fn size(&self) -> u64 {
        fs::metadata(&self.path).unwrap().len()
    }

    fn overwrite(&self, at: u64, bytes: &[u8]) {
        write_at(&self.path, at, bytes);
    }

    fn truncate(&self, length: u64) {
        fs::OpenOptions::new().write(true).open(&self.path).unwrap().set_len(length).unwrap();
    }

    fn bytes(&self) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        let log = fs::read(self.log()).ok().filter(|log| !log.is_empty());
        (fs::read(&self.path).ok(), log)
    }
}

fn write_at(path: &Path, at: u64, bytes: &[u8]) {
    let mut file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(bytes).unwrap();
}

/// What a reader finds in a history is a part of what was written: whole runs, or beginnings of runs that count as
/// interrupted. Returns how many rows each run has.
fn check_salvaged(path: &Path, saved: &SalvageReport) -> Vec<(String, usize)> {
    let store = SqliteStore::new(path.to_owned());
    let runs = store.list(&RunQuery::newest(0)).unwrap();
    assert_eq!(runs.len() as u64, saved.runs);
    let mut all = Vec::new();
    for run in runs {
        let number = run.started.0;
        assert_eq!(run.id.as_str(), name(number));
        assert!(run.input == "add ünicode" || run.input.is_empty());
        let (_, rows) = store.load(&run.id).unwrap();
        for (row, seq) in rows.iter().zip(1..) {
            assert_eq!(
                (row.body.as_str(), row.digest),
                (body(number, seq).as_str(), Some(seq)),
                "{}",
                run.id
            );
        }
        let told = saved.lost_items.iter().any(|line| line.contains(run.id.as_str()));
        let whole = rows.len() as u64 == ROWS && run.progress.status == RunStatus::Completed;
        assert!(whole || told, "{} has {} rows: {:?}", run.id, rows.len(), saved.lost_items);
        if (rows.len() as u64) < ROWS {
            assert_eq!(run.progress.status, RunStatus::Interrupted, "{}", run.id);
            assert_eq!(run.progress.output, None, "a cut run has no outcome");
        }
        all.push((run.id.0, rows.len()));
    }
    assert!(all.len() as i64 == RUNS || !saved.lost_items.is_empty(), "{all:?}");
    assert_eq!(all.iter().map(|(_, rows)| *rows as u64).sum::<u64>(), saved.rows);
    all
}

/// The first contact says what is wrong, nothing is written, and nothing new is made.
fn check_refused(place: &Place, words: &str) {
    let before = place.bytes();
    for error in [
        place.store().list(&RunQuery::newest(0)).unwrap_err(),
        place.store().create(&header("new", 1)).unwrap_err(),
        place.store().load(&RunId::from("2k01")).unwrap_err(),
    ] {
        assert!(error.message.contains("is damaged") && error.message.contains(words), "{error}");
        assert!(error.message.contains(place.path.to_str().unwrap()), "{error}");
        assert!(error.hint.as_deref().unwrap_or_default().contains("synthdev runs salvage"), "{error:?}");
    }
    assert!(place.bytes() == before, "{words}: the file or its log was changed");
}

#[test]
fn a_whole_history_loses_nothing() {
    let place = filled_history();
    let left = place.path.with_file_name("runs.sqlite-salvage-copy");
    fs::create_dir_all(&left).unwrap();
    fs::write(left.join("runs.sqlite-wal"), "what a killed salvage left").unwrap();
    let saved = place.salvage();
    let (runs, rows) = (RUNS as u64, RUNS as u64 * ROWS);
    assert_eq!(saved, SalvageReport { runs, rows, damage: Vec::new(), lost_items: Vec::new() });
    check_salvaged(&place.new_file(), &saved);
    let store = SqliteStore::new(place.new_file());
    let words = |row: &JournalRow| Some(row.body.chars().take(60).collect());
    let hits = store
        .search(&SearchQuery { text: "word5 ".into(), limit: 0, ..SearchQuery::default() }, &words)
        .unwrap();
    assert_eq!(hits.len() as u64, ROWS, "the index is made anew by the first search");
    let error = salvage::salvage_store(&place.path, &place.new_file()).unwrap_err();
    assert!(error.message.contains("is there already"), "{error}");
}

#[test]
fn what_was_removed_stays_removed() {
    let place = filled_history();
    let gone = [RunId::from("2k02"), RunId::from("2k03"), RunId::from("2k05")];
    place.store().delete(&gone).unwrap();
    let left = |place: &Place| {
        let saved = place.salvage();
        let runs = SqliteStore::new(place.new_file()).list(&RunQuery::newest(0)).unwrap();
        fs::remove_file(place.new_file()).unwrap();
        (runs.into_iter().map(|run| run.id.0).collect::<Vec<_>>(), saved.lost_items.len())
    };
    let expected = ["2k06", "2k04", "2k01"].map(str::to_owned).to_vec();
    assert_eq!(left(&place), (expected.clone(), 0));
    place.overwrite(0, &[0; PAGE as usize]);
    assert_eq!(left(&place), (expected, 1), "only the beginning of the file is told");
}

/// The first page holds the header and the schema.
#[test]
fn a_damaged_beginning_costs_nothing_but_itself() {
    for (at, bytes, words) in [
        (0, &b"garbage"[..], "not a database"),
        (16, &[0xff, 0xff], "not a database"),
        (0, &[0; 4096], "not a database"),
        (100, &[0xff; 3996], "malformed"),
    ] {
        let place = filled_history();
        place.overwrite(at, bytes);
        check_refused(&place, words);
        let saved = place.salvage();
        let runs = check_salvaged(&place.new_file(), &saved);
        assert_eq!(runs.len() as i64, RUNS, "{at}: {:?}", saved.lost_items);
        assert!(runs.iter().all(|(_, rows)| *rows as u64 == ROWS), "{at}: {:?}", saved.lost_items);
        assert!(saved.lost_items[0].contains("beginning of the file is damaged"), "{:?}", saved.lost_items);
        assert!(!saved.damage.is_empty());
    }
}

#[test]
fn a_truncated_file_is_refused_and_its_rest_is_saved() {
    let whole = SOUND.len() as u64;
    for (length, least) in
        [(1, 0), (100, 0), (PAGE, 0), (whole / 2 / PAGE * PAGE, 6), (whole / 2 + 1_000, 6), (whole - PAGE, 6)]
    {
        let place = filled_history();
        place.truncate(length);
        check_refused(&place, "");
        let saved = place.salvage();
        let runs = check_salvaged(&place.new_file(), &saved);
        assert!(runs.len() >= least, "{length} of {whole}: {runs:?} {:?}", saved.lost_items);
        assert!(!saved.lost_items.is_empty(), "{length} of {whole}: {runs:?}");
    }
}

#[test]
fn an_empty_file_is_no_new_history() {
    let place = filled_history();
    place.truncate(0);
    check_refused(&place, "it is empty");
    let saved = place.salvage();
    assert_eq!((saved.runs, saved.lost_items), (0, vec!["the file is empty".to_owned()]));
}

/// Whatever a page held, the rest is there, each loss is reported, and readers get whole runs or errors. Only an upper
/// page of a tree also costs what is below it.
#[test]
fn any_overwritten_page_costs_only_what_it_held() {
    let pages = SOUND.len() as u64 / PAGE;
    let noise: Vec<u8> = (0..PAGE as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let place = filled_history();
    for page in (16..pages).step_by(31).chain(0..16) {
        fs::write(&place.path, &*SOUND).unwrap();
        place.overwrite(page * PAGE, &noise);
        let _ = fs::remove_file(place.new_file());
        let saved = place.salvage();
        let runs = check_salvaged(&place.new_file(), &saved);
        let rows: u64 = runs.iter().map(|(_, rows)| *rows as u64).sum();
        let upper = matches!(SOUND[(page * PAGE) as usize], 0x02 | 0x05);
        assert!(
            upper || rows >= (RUNS as u64 - 3) * ROWS,
            "page {page}: {rows} rows, {:?}",
            saved.lost_items
        );
        // a store on the damaged file gives what is true or an error, and never panics
        let store = place.store();
        for run in 1..=RUNS {
            if let Ok((_, rows)) = store.load(&RunId::from(name(run).as_str())) {
                let all = rows.iter().zip(1..).all(|(row, seq)| row.body == body(run, seq));
                assert!(all && rows.len() as u64 == ROWS, "page {page}, run {run}: {} rows", rows.len());
            }
        }
        drop(store);
        let _ = (fs::remove_file(place.log()), fs::remove_file(place.path.with_extension("sqlite-shm")));
    }
}

#[test]
fn a_log_is_part_of_the_history() {
    let place = killed_history();
    assert!(KILLED.1.len() as u64 > 100 * PAGE);
    let saved = place.salvage();
    assert_eq!(
        (saved.runs, saved.rows, saved.lost_items.len()),
        (RUNS as u64, RUNS as u64 * ROWS, 0),
        "{:?}",
        saved.lost_items
    );
    check_salvaged(&place.new_file(), &saved);
    let runs = place.store().list(&RunQuery::newest(0)).unwrap();
    assert_eq!(runs.len() as i64, RUNS);
}

#[test]
fn a_log_without_its_file_is_not_thrown_away() {
    for empty in [false, true] {
        let place = killed_history();
        if empty {
            place.truncate(0)
        } else {
            fs::remove_file(&place.path).unwrap()
        }
        check_refused(&place, "though its log");
        let saved = place.salvage();
        let told = if empty { "the file is empty" } else { "the file is missing" };
        assert_eq!(saved.lost_items, [told]);
        assert_eq!(check_salvaged(&place.new_file(), &saved).len() as i64, RUNS, "{saved:?}");
    }
}

/// SQLite takes damage in a log for the end that a power cut tore off: what was committed before it is there.
#[test]
fn a_damaged_log_counts_up_to_its_damage() {
    for (at, least) in [(0, 0), (20, 0), (32 + 24 + 100, 0), (KILLED.1.len() as u64 / 2, 2)] {
        let place = killed_history();
        write_at(&place.log(), at, &[!KILLED.1[at as usize]]);
        let saved = place.salvage();
        let runs = SqliteStore::new(place.new_file()).list(&RunQuery::newest(0)).unwrap();
        assert!(runs.len() >= least && (runs.len() as i64) < RUNS, "{at}: {saved:?}");
        let unread = saved.lost_items.iter().any(|line| line == "nothing of its log can be read");
        let doubted = saved.damage.iter().any(|line| line.contains("pages of its log count"));
        assert_eq!((unread, doubted), (least == 0, least > 0), "{at}: {saved:?}");
        assert_eq!(place.store().list(&RunQuery::newest(0)).unwrap().len(), runs.len());
    }
}

/// The end of a log that a power cut tore off is no damage: what was synced is there.
#[test]
fn a_torn_end_of_a_log_is_taken_as_one() {
    let place = killed_history();
    let length = KILLED.1.len() as u64;
    fs::OpenOptions::new().write(true).open(place.log()).unwrap().set_len(length - 2_000).unwrap();
    assert!(place.store().list(&RunQuery::newest(0)).unwrap().len() as i64 >= RUNS - 1);
}

#[test]
fn a_damaged_index_file_of_the_log_is_made_anew() {
    let place = killed_history();
    fs::write(place.path.with_extension("sqlite-shm"), "nonsense".repeat(5_000)).unwrap();
    assert_eq!(place.store().list(&RunQuery::newest(0)).unwrap().len() as i64, RUNS);
}

#[test]
fn a_damaged_search_index_mends_itself() {
    let place = filled_history();
    let words = |row: &JournalRow| Some(row.body.chars().take(60).collect::<String>());
    let query = SearchQuery { text: "word5 ".into(), limit: 0, ..SearchQuery::default() };
    assert_eq!(place.store().search(&query, &words).unwrap().len() as u64, ROWS);
    tamper_database(&place.path, "UPDATE words_data SET block = x'00ff00ff00ff' WHERE id > 10");
    assert_eq!(
        place.store().search(&query, &words).unwrap().len() as u64,
        ROWS,
        "searched again with a new one"
    );
    tamper_database(&place.path, "UPDATE words_data SET block = x'00ff00ff00ff' WHERE id > 10");
    let freed = place.store().delete(&[RunId::from("2k05"), RunId::from("2k06")]).unwrap();
    assert_eq!(freed.runs, 2);
    assert_eq!(place.store().search(&query, &words).unwrap().len(), 0);
}

#[test]
fn once_damage_is_seen_nothing_more_is_written() {
    let place = filled_history();
    let store = place.store();
    let run = header("2k99", 99);
    store.create(&run).unwrap();
    drop(store);
    let pages = place.size() / PAGE;
    for page in pages / 2..pages {
        place.overwrite(page * PAGE, &[0xee; PAGE as usize]);
    }
    let before = place.bytes();
    let store = place.store();
    let seen = (1..=RUNS).filter_map(|at| store.load(&RunId::from(name(at).as_str())).err()).count();
    assert!(seen > 0);
    let error = store.claim(&RunId::from("2k01")).unwrap_err();
    assert!(error.message.contains("is damaged"), "{error}");
    assert!(store.sync().unwrap_err().message.contains("is damaged"));
    drop(store);
    assert!(fs::read(&place.path).unwrap() == before.0.unwrap(), "nothing was folded into it");
}

#[test]
fn a_token_of_a_paused_run_is_still_good() {
    let place = filled_history();
    let store = place.store();
    let run = header("2k50", 50);
    store.create(&run).unwrap();
    let waits = RunProgress { updated: Timestamp(7), ..run_progress(RunStatus::Paused) };
    store.append(&run.id, &[row(None, "{}")], Some(&waits)).unwrap();
    let token = TokenRecord {
        hash: "a".repeat(64),
        run: run.id.clone(),
        call: CallId(3),
        definition_hash: "ab12".into(),
        created: Timestamp(1),
        expires: Timestamp(2),
        tries: 1,
        used: None,
        results_hash: None,
        answer: None,
    };
    store.issue_token(&token).unwrap();
    drop(store);
    place.overwrite(0, &[0; 100]);
    place.salvage();
    let store = SqliteStore::new(place.new_file());
    assert_eq!(store.token(&token.hash).unwrap(), Some(token));
    assert_eq!(store.find("2k50").unwrap().progress, waits);
}

/// Every version made the tables of runs and rows in the same order, so these are found without the schema, too.
#[test]
fn a_version_1_file_is_salvaged_too() {
    for damaged in [false, true] {
        let place = place_with(include_bytes!("../../data/stores/v1.db"));
        if damaged {
            place.overwrite(0, &[0; 4096]);
        }
        let saved = place.salvage();
        let store = SqliteStore::new(place.new_file());
        let runs = store.list(&RunQuery::newest(0)).unwrap();
        let ids: Vec<_> = runs.iter().map(|run| run.id.as_str()).collect();
        assert_eq!(ids, ["2m6begun", "2m5running", "2m4cancelled", "2m3paused", "2m2failed", "2m1completed"]);
        assert_eq!(runs[4].input, "größere Änderung am Parser");
        let told = saved.lost_items.iter().filter(|line| line.contains("how far it had come")).count();
        if damaged {
            assert_eq!((told, runs[4].progress.status), (6, RunStatus::Interrupted), "{saved:?}");
        } else {
            assert_eq!((told, runs[4].progress.usage.prompt), (0, 1_201), "{saved:?}");
        }
    }
}

#[test]
fn what_is_not_ours_is_not_salvaged() {
    for (sql, words) in [
        ("CREATE TABLE theirs(x)", "of another program"),
        ("PRAGMA application_id = 0x53796e44; PRAGMA user_version = 99", "has version 99"),
    ] {
        let place = place_with(&[]);
        tamper_database(&place.path, sql);
        let error = salvage::salvage_store(&place.path, &place.new_file()).unwrap_err();
        assert!(error.message.contains(words), "{error}");
        assert_eq!(fs::read_dir(place.path.parent().unwrap()).unwrap().count(), 1, "{sql}");
    }
}

#[test]
fn the_damaged_history_is_kept_when_the_new_one_takes_its_place() {
    let place = killed_history();
    place.overwrite(0, &[0; 50]);
    let before = place.bytes();
    let saved = place.salvage();
    let away = place.path.with_file_name("runs.sqlite.damaged-1");
    salvage::replace_store(&place.path, &place.new_file(), &away).unwrap();
    check_salvaged(&place.path, &saved);
    assert!(fs::read(&away).unwrap() == before.0.unwrap());
    assert!(fs::read(place.path.with_file_name("runs.sqlite.damaged-1-wal")).unwrap() == before.1.unwrap());
    let none = Place::new();
    assert!(
        salvage::salvage_store(&none.path, &none.new_file())
            .unwrap_err()
            .message
            .contains("there is no run history")
    );
}

/// Every state in which a kill can leave a replacement.
#[test]
fn a_replacement_that_was_cut_off_makes_nothing_new_and_is_finished() {
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let with = |path: &Path, ending: &str| path.with_file_name(format!("{}{ending}", name(path)));
    for renamed in 0..=4 {
        let place = killed_history();
        fs::write(with(&place.path, "-shm"), "stale").unwrap();
        place.overwrite(0, &[0; 50]);
        let before = place.bytes();
        let (from, away) = (place.new_file(), place.path.with_file_name("runs.sqlite.damaged-1"));
        let saved = place.salvage();
        let note = with(&place.path, "-replacing");
        let text = format!("{{\"from\":\"{}\",\"away\":\"{}\"}}", name(&from), name(&away));
        fs::write(&note, text).unwrap();
        let steps = [
            (place.path.clone(), away.clone()),
            (place.log(), with(&away, "-wal")),
            (with(&place.path, "-shm"), with(&away, "-shm")),
            (from.clone(), place.path.clone()),
        ];
        for (from, to) in steps.iter().take(renamed) {
            fs::rename(from, to).unwrap();
        }
        let there = || fs::read_dir(place.path.parent().unwrap()).unwrap().count();
        let files = there();
        for error in [
            place.store().list(&RunQuery::newest(0)).unwrap_err(),
            place.store().create(&header("new", 1)).unwrap_err(),
            salvage::salvage_store(&place.path, &with(&from, "2")).unwrap_err(),
            salvage::replace_store(&place.path, &from, &with(&away, "2")).unwrap_err(),
        ] {
            assert!(error.message.contains("was cut off"), "{renamed}: {error}");
            assert!(error.hint.unwrap().contains("synthdev runs salvage --replace"));
        }
        assert_eq!(there(), files, "{renamed}: nothing was made");
        assert_eq!(salvage::finish_replacement(&place.path).unwrap(), Some(away.clone()), "{renamed}");
        assert!(!note.exists() && !from.exists());
        check_salvaged(&place.path, &saved);
        assert!(fs::read(&away).unwrap() == before.0.unwrap(), "{renamed}");
        assert!(fs::read(with(&away, "-wal")).unwrap() == before.1.unwrap(), "{renamed}");
        assert_eq!(salvage::finish_replacement(&place.path).unwrap(), None);
    }
    // nothing is overwritten, even by what was promised
    let place = killed_history();
    place.salvage();
    let away = place.path.with_file_name("runs.sqlite.damaged-1");
    let note = with(&place.path, "-replacing");
    fs::write(&note, format!("{{\"from\":\"{}\",\"away\":\"{}\"}}", name(&place.new_file()), name(&away)))
        .unwrap();
    fs::write(&away, "an older one").unwrap();
    let error = salvage::finish_replacement(&place.path).unwrap_err();
    assert!(error.message.contains("cannot be kept as"), "{error}");
    assert_eq!(fs::read(&away).unwrap(), b"an older one");
    assert!(place.new_file().exists() && note.exists());
}

/// The indexes do not say where a run worked: it must not go on as if that had been the project.
#[test]
fn a_run_that_was_pieced_together_works_nowhere() {
    let (place, bytes) = (filled_history(), &*SOUND);
    let mut pieced = 0;
    for page in 1..bytes.len() as u64 / PAGE {
        // a leaf of a table whose rows begin as those of `runs` do
        let at = usize::try_from(page * PAGE).unwrap();
        if bytes[at] != 0x0d || !bytes[at..at + PAGE as usize].windows(4).any(|part| part == b"2k01") {
            continue;
        }
        fs::write(&place.path, bytes).unwrap();
        place.overwrite(page * PAGE, &[0; PAGE as usize]);
        let _ = fs::remove_file(place.new_file());
        let saved = place.salvage();
        let store = SqliteStore::new(place.new_file());
        for run in store.list(&RunQuery::newest(0)).unwrap() {
            let told = |line: &String| line.contains(run.id.as_str()) && line.contains("where it worked");
            let lost = saved.lost_items.iter().any(told);
            assert_eq!(run.worktree, lost.then(RunWorktree::unknown), "{}: {:?}", run.id, saved.lost_items);
            pieced += usize::from(lost);
        }
    }
    assert!(pieced > 0, "no page held the rows of runs");
}
