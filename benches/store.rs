//! One journal append: what a transition costs to survive a kill of the process (performance row 12).
#![allow(clippy::unwrap_used, reason = "a benchmark stops at the first surprise")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use synthdev::adapters::sqlite::SqliteStore;
use synthdev::domain::cost::Usage;
use synthdev::domain::ids::{CallId, RunId, Timestamp};
use synthdev::domain::journal::{Row, RowKind, RunHeader, RunProgress, RunQuery, RunStatus};
use synthdev::ports::run_store::RunStore;

fn header(number: i64) -> RunHeader {
    RunHeader {
        id: RunId(format!("run{number:08}")),
        workflow: "coder_reviewer".to_owned(),
        definition_hash: "0".repeat(64),
        spec: "{\"machine_version\":1}".to_owned(),
        input: "write a function that adds two numbers".to_owned(),
        project: "/home/someone/project".to_owned(),
        started: Timestamp(number),
        pid: std::process::id(),
        origin: None,
        worktree: None,
    }
}

fn progress() -> RunProgress {
    RunProgress {
        status: RunStatus::Running,
        path: ["start", "coding", "review", "coding", "review"].map(str::to_owned).to_vec(),
        usage: Usage { prompt: 12_000, completion: 900, cached: 8_000, reasoning: 100 },
        cost_usd: Some(0.0123),
        snapshot: None,
        output: None,
        error: None,
        updated: Timestamp(2),
        pauses: Vec::new(),
    }
}

fn small_row() -> Row {
    let body =
        r#"{"input":"evaluated","call":7,"outcome":{"chosen":1,"set":{"review_count":2},"removed":[]}}"#;
    Row::new(RowKind::Input, Timestamp(1), Some(CallId(7)), body)
}

fn store(c: &mut Criterion) {
    let place = tempfile::tempdir().unwrap();
    let store = SqliteStore::at(place.path().join("runs.db"));
    let first = header(0);
    store.create(&first).unwrap();
    let (rows, progress) = ([small_row()], progress());
    c.bench_function("append one row", |b| {
        b.iter(|| store.append(&first.id, black_box(&rows), None).unwrap());
    });
    c.bench_function("append one row with progress", |b| {
        b.iter(|| store.append(&first.id, black_box(&rows), Some(&progress)).unwrap());
    });
    c.bench_function("sync after one append", |b| {
        b.iter(|| {
            store.append(&first.id, &rows, None).unwrap();
            store.sync().unwrap();
        });
    });

    let history = SqliteStore::at(place.path().join("history.db"));
    for number in 0..10_000 {
        history.create(&header(number)).unwrap();
        let ended = RunProgress { status: RunStatus::Completed, ..progress.clone() };
        history.append(&header(number).id, &rows, Some(&ended)).unwrap();
    }
    c.bench_function("list 10,000 runs", |b| b.iter(|| history.list(&RunQuery::newest(0)).unwrap()));
    c.bench_function("open and list the newest 50", |b| {
        b.iter(|| SqliteStore::at(place.path().join("history.db")).list(&RunQuery::newest(50)).unwrap());
    });
    c.bench_function("list the newest 50 of 10,000", |b| {
        b.iter(|| history.list(&RunQuery::newest(50)).unwrap())
    });
}

criterion_group!(benches, store);
criterion_main!(benches);
