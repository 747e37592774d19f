//! The run store: what a transition costs to survive a kill of the process (performance row 12), and what lists and
//! searches of a long history cost (row 15).
#![allow(clippy::unwrap_used, reason = "a benchmark stops at the first surprise")]
#![allow(clippy::disallowed_methods, reason = "it starts itself again to see how much memory a list takes")]

use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use criterion::{Criterion, criterion_group};
use synthdev::adapters::sqlite::SqliteStore;
use synthdev::domain::cost::TokenUsage;
use synthdev::domain::ids::{CallId, RunId, Timestamp};
use synthdev::domain::journal::{
    JournalRow, JournalRowKind, RunHeader, RunProgress, RunQuery, RunStatus, SearchQuery,
};
use synthdev::ports::run_store::RunStore;
use tempfile::TempDir;

const RUNS: i64 = 10_000;
const ROWS_PER_RUN: u64 = 100;
/// Rows are made of 2^15 words. Each octave of them is drawn equally often, so the n-th word 1/n as often as the
/// first, as in any language.
const OCTAVES: u32 = 15;
/// Followed by the path of a store: lists it and prints the most memory that this took.
const PEAK: &str = "--peak-of";

/// 10,000 runs with 1,000,000 rows, made when the first benchmark asks for it.
static HISTORY: LazyLock<(TempDir, SqliteStore)> = LazyLock::new(|| {
    let place = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(place.path().join("history.db"));
    let mut luck = Luck(88_172_645_463_325_252);
    for number in 0..RUNS {
        let run = header(number);
        store.create(&run).unwrap();
        let rows: Vec<JournalRow> = (0..ROWS_PER_RUN).map(|call| spoken(call, &luck.sentence())).collect();
        let ended = RunProgress { status: RunStatus::Completed, ..progress() };
        store.append(&run.id, &rows, Some(&ended)).unwrap();
    }
    store.sync().unwrap();
    let space = store.storage_usage().unwrap();
    println!(
        "{} rows, {} bytes each, index {}",
        space.rows,
        space.file_bytes / space.rows,
        space.index_bytes / space.rows
    );
    let path = place.path().join("history.db");
    let peak = Command::new(std::env::current_exe().unwrap()).arg(PEAK).arg(path).output().unwrap();
    print!("{}", String::from_utf8_lossy(&peak.stdout));
    (place, store)
});

struct Luck(u64);

impl Luck {
    fn draw(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        u32::try_from(self.0 >> 32).unwrap()
    }

    /// 10 to 49 words.
    fn sentence(&mut self) -> String {
        let words: Vec<String> = (0..10 + self.draw() % 40)
            .map(|_| {
                let half = 1 << (self.draw() % OCTAVES);
                word(half + self.draw() % half)
            })
            .collect();
        words.join(" ")
    }
}

/// The n-th word, of syllables.
fn word(mut number: u32) -> String {
    const SYLLABLES: [&str; 16] =
        ["ka", "lo", "mi", "ne", "ra", "si", "to", "ve", "du", "pa", "re", "in", "st", "or", "al", "ex"];
    let mut word = String::new();
    while number > 0 {
        word.push_str(SYLLABLES[(number % 16) as usize]);
        number /= 16;
    }
    word
}

fn header(number: i64) -> RunHeader {
    RunHeader {
        id: RunId(format!("run{number:08}")),
        workflow: ["coder_reviewer", "hierarchical_development", "planner"]
            [usize::try_from(number % 3).unwrap()]
        .to_owned(),
        definition_hash: "0".repeat(64),
        spec: "{\"machine_version\":1}".to_owned(),
        input: format!("write a function that adds {number} numbers"),
        project: "/home/someone/project".to_owned(),
        started: Timestamp(number),
        pid: std::process::id(),
        origin: None,
        worktree: None,
    }
}

fn progress() -> RunProgress {
    RunProgress {
        title: None,
        status: RunStatus::Running,
        path: ["start", "coding", "review", "coding", "review"].map(Into::into).to_vec(),
        usage: TokenUsage {
            prompt: 12_000,
            completion: 900,
            cached: 8_000,
            reasoning: 100,
            ..TokenUsage::default()
        },
        cost_usd: Some(0.0123),
        snapshot: None,
        output: None,
        error: None,
        updated: Timestamp(2),
        pauses: Vec::new(),
    }
}

fn small_row() -> JournalRow {
    let body =
        r#"{"input":"evaluated","call":7,"outcome":{"chosen":1,"set":{"review_count":2},"removed":[]}}"#;
    JournalRow::new(JournalRowKind::Input, Timestamp(1), Some(CallId(7)), body)
}

fn spoken(call: u64, text: &str) -> JournalRow {
    let body = format!(r#"{{"input":"replied","call":{call},"text":"{text}"}}"#);
    JournalRow {
        words: Some(text.to_owned()),
        ..JournalRow::new(JournalRowKind::Input, Timestamp(1), Some(CallId(call)), body)
    }
}

fn append(c: &mut Criterion) {
    let place = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(place.path().join("runs.db"));
    let first = header(0);
    store.create(&first).unwrap();
    let (rows, progress) = ([small_row()], progress());
    let told = [JournalRow { words: Some("review count two".to_owned()), ..small_row() }];
    c.bench_function("append one row", |b| {
        b.iter(|| store.append(&first.id, black_box(&rows), None).unwrap());
    });
    c.bench_function("append one row with progress", |b| {
        b.iter(|| store.append(&first.id, black_box(&rows), Some(&progress)).unwrap());
    });
    c.bench_function("append one row with words", |b| {
        b.iter(|| store.append(&first.id, black_box(&told), None).unwrap());
    });
    c.bench_function("sync after one append", |b| {
        b.iter(|| {
            store.append(&first.id, &told, None).unwrap();
            store.sync().unwrap();
        });
    });
}

fn lists(c: &mut Criterion) {
    let words = |words: &str| RunQuery { words: Some(words.to_owned()), ..RunQuery::newest(50) };
    let all = RunQuery::default();
    for (name, query) in [
        ("all 10,000 runs", all.clone()),
        ("newest 20", RunQuery::newest(20)),
        ("as typed, found", words("ADDS 77")),
        ("as typed, not found", words("nowhere")),
        ("paused", RunQuery { statuses: vec![RunStatus::Paused], ..all.clone() }),
        (
            "of a workflow and a cost",
            RunQuery { workflow: Some("planner".to_owned()), min_cost: Some(1.0), ..all },
        ),
    ] {
        c.bench_function(&format!("list: {name}"), |b| b.iter(|| HISTORY.1.list(&query).unwrap()));
    }
    c.bench_function("list: open and newest 20", |b| {
        let path = HISTORY.0.path().join("history.db");
        b.iter(|| SqliteStore::new(path.clone()).list(&RunQuery::newest(20)).unwrap());
    });
}

fn searches(c: &mut Criterion) {
    let none = |_: &JournalRow| None;
    for (name, text) in [
        ("a common word", format!("{} ", word(2))),
        ("a rare word", format!("{} ", word(29_000))),
        ("two common words", format!("{} {} ", word(2), word(3))),
        ("a phrase", format!("\"{} {}\"", word(2), word(300))),
        ("as typed, two letters", word(2)[..2].to_owned()),
        ("as typed, three letters", word(290)[..3].to_owned()),
        ("as typed, second word", format!("{} {}", word(5), &word(700)[..3])),
        ("nothing found", "nowhere".to_owned()),
    ] {
        let query = SearchQuery { text, limit: 50, ..SearchQuery::default() };
        c.bench_function(&format!("search 1,000,000 rows: {name}"), |b| {
            b.iter(|| HISTORY.1.search(&query, &none).unwrap());
        });
    }
}

fn print_peak(path: &Path) {
    let runs = SqliteStore::new(path.to_owned()).list(&RunQuery::default()).unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("unknown on this system");
    println!("memory while listing {} runs: {peak}", runs.len());
}

criterion_group!(benches, append, lists, searches);

fn main() {
    let mut arguments = std::env::args_os().skip_while(|argument| argument != PEAK);
    if let (Some(_), Some(path)) = (arguments.next(), arguments.next()) {
        return print_peak(Path::new(&path));
    }
    benches();
    Criterion::default().configure_from_args().final_summary();
}
