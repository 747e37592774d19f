//! A run with a long history is opened: its rows are read, parsed, and replayed (issue 4: 100,000 messages in
//! 150 ms). Each shape of a run is opened in a process of its own, so that its memory can be told.
//!
//! `cargo bench --bench history` measures 100,000 messages; `HISTORY_MESSAGES=10000` fewer.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a benchmark makes its own files and may stop at the first surprise"
)]

#[path = "history/record.rs"]
mod record;
#[path = "history/shape.rs"]
mod shape;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;
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

/// Milliseconds of each part.
#[derive(Clone, Copy)]
struct Opened {
    load: f64,
    parse: f64,
    replay: f64,
}

impl Opened {
    fn total(self) -> f64 {
        self.load + self.parse + self.replay
    }
}

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
    let best = (1..times)
        .map(|_| open(file))
        .fold(first, |best, next| if next.total() < best.total() { next } else { best });
    println!(
        "  load {:.1} + parse {:.1} + replay {:.1} = {:.1} ms (first {:.1}); peak {once} MB",
        best.load,
        best.parse,
        best.replay,
        best.total(),
        first.total()
    );
}

/// What `Handle::run` does.
fn open(file: &Path) -> Opened {
    let began = Instant::now();
    let store = SqliteStore::at(file.to_owned());
    let (header, rows) = store.load(&RunId::from(record::RUN)).unwrap();
    let load = milliseconds(began);

    let began = Instant::now();
    let spec: RunSpec = serde_json::from_str(&header.spec).unwrap();
    let bodies: Vec<(Timestamp, &str)> =
        rows.iter().filter(|row| row.kind == RowKind::Input).map(|row| (row.at, row.body.as_str())).collect();
    let (first, second) = bodies.split_at(bodies.len() / 2);
    let inputs = thread::scope(|scope| {
        let second = scope.spawn(|| parse(second).unwrap());
        let mut inputs = parse(first).unwrap();
        inputs.extend(second.join().unwrap());
        inputs
    });
    drop(bodies);
    drop(rows);
    let parse = milliseconds(began);

    let began = Instant::now();
    let replayed = replay(Arc::new(spec), inputs);
    let replay = milliseconds(began);
    assert!(replayed.events.len() > 10 && replayed.machine.status() == RunStatus::Running);
    Opened { load, parse, replay }
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
