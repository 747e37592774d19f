//! A run with a long history is opened as the product opens it (`Handle::run`): its rows are read, parsed, and replayed
//! (issue 4: 100,000 messages in 150 ms). Each shape of a run is opened in a process of its own, so that its memory can be told.
//!
//! `cargo bench --bench history` measures 100,000 messages; `HISTORY_MESSAGES=10000` fewer.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a benchmark makes its own files and may stop at the first surprise"
)]

#[path = "history/nobody.rs"]
mod nobody;
#[path = "history/record.rs"]
mod record;
#[path = "history/shape.rs"]
mod shape;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use synthdev::adapters::sqlite::SqliteStore;
use synthdev::domain::ids::{RunId, Timestamp};
use synthdev::domain::journal::{RowKind, RunStatus};
use synthdev::engine::replay::{parse, replay};
use synthdev::engine::spec::RunSpec;
use synthdev::ports::run_store::RunStore;

use shape::Shape;

const MESSAGES: usize = 100_000;
/// Where `cargo test` only wants to see that it works.
const FEW: usize = 200;
/// Each is opened so often; the fastest counts.
const TIMES: usize = 5;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "open") {
        return report(Path::new(&arguments[at + 1]), arguments[at + 2].parse().unwrap());
    }
    let measured = arguments.iter().any(|argument| argument == "--bench");
    let asked = std::env::var("HISTORY_MESSAGES").ok().map(|text| text.parse().unwrap());
    let messages = asked.unwrap_or(if measured { MESSAGES } else { FEW });
    let times = if measured { TIMES } else { 1 };
    println!("{messages} messages; milliseconds, the best of {times}");
    for shape in Shape::ALL {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("runs.db");
        let began = Instant::now();
        let steps = record::record(shape, messages, &file);
        let took = milliseconds(began);
        println!("{shape:?}: driven and stored in {took:.0} ms; last tenth {:.2} of the first", steps);
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["open", file.to_str().unwrap(), &times.to_string()])
            .status()
            .unwrap();
        assert!(status.success());
    }
}

fn report(file: &Path, times: usize) {
    let first = open(file);
    let once = peak_mb();
    let best = (1..times).map(|_| open(file)).fold(first, f64::min);
    println!("  first {first:.1} ms, best {best:.1} ms; peak {once} MB");
    let (load, parse, replay) = parts(file);
    println!("  one after the other, once: load {load:.1} + parse {parse:.1} + replay {replay:.1} ms");
}

/// What the product does, in a store that was not opened before. Closing what was opened is not counted.
fn open(file: &Path) -> f64 {
    let handle = nobody::handle(file);
    let began = Instant::now();
    let record = handle.run(record::RUN).unwrap();
    let took = milliseconds(began);
    assert!(record.events.len() > 10 && record.open.len() < 2 && !record.ledger.entries.is_empty());
    took
}

/// The work of it without any overlap, with a replay after which the run could go on.
fn parts(file: &Path) -> (f64, f64, f64) {
    let began = Instant::now();
    let store = SqliteStore::at(file.to_owned());
    let (header, rows) = store.load(&RunId::from(record::RUN)).unwrap();
    let load = milliseconds(began);

    let began = Instant::now();
    let spec: RunSpec = serde_json::from_str(&header.spec).unwrap();
    let bodies: Vec<(Timestamp, &str)> =
        rows.iter().filter(|row| row.kind == RowKind::Input).map(|row| (row.at, row.body.as_str())).collect();
    let inputs = parse(&bodies).unwrap();
    let parse = milliseconds(began);

    let began = Instant::now();
    let replayed = replay(Arc::new(spec), inputs);
    let replay = milliseconds(began);
    assert!(replayed.events.len() > 10 && replayed.machine.status() == RunStatus::Running);
    (load, parse, replay)
}

fn milliseconds(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1000.0
}

/// The most memory that this process has used.
fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) / 1024
}
