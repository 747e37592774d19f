//! A run with a long history is opened as the product opens it (100,000 messages in 150 ms):
//!
//! - at a glance: from a store that was not opened before to the first screen, which shows the stored end of the run;
//! - to resume it: its machine, from the stored state;
//! - on the screen: all of it is read, parsed, replayed and folded into what the screen shows;
//! - as a record (`RuntimeHandle::run`): the same with every event kept.
//!
//! Each way and shape of a run has a process of its own, so that its memory can be told.
//!
//! `cargo bench --bench history` measures 100,000 messages; `HISTORY_MESSAGES=10000` fewer, `HISTORY_WAYS=glance,resume` only
//! these ways.
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

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use synthdev::adapters::sqlite::SqliteStore;
use synthdev::domain::ids::{RunId, Timestamp};
use synthdev::domain::journal::{JournalRowKind, RunStatus};
use synthdev::engine::replay::{parse_inputs, replay_inputs};
use synthdev::engine::run_spec::RunSpec;
use synthdev::ports::run_store::RunStore;
use synthdev::tui::display::DisplayResponse;
use synthdev::tui::model::UiModel;
use synthdev::tui::msg::UiMessage;
use synthdev::tui::update::past_run::{PastRunBuilder, from_preview};
use synthdev::tui::update::update_model;
use synthdev::tui::view;

use shape::Shape;

const MESSAGES: usize = 100_000;
/// Where `cargo test` only wants to see that it works.
const FEW: usize = 200;
/// Each is opened so often.
const TIMES: usize = 5;
/// A glance is short: so often, and the one in the middle counts.
const GLANCES: usize = 21;

/// Opens the run in a file; milliseconds.
type Way = (&'static str, fn(&Path) -> f64);
const WAYS: [Way; 4] = [("glance", glance), ("resume", resume), ("screen", screen), ("record", record)];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "open") {
        let file = Path::new(&arguments[at + 1]);
        return report(file, &arguments[at + 2], arguments[at + 3].parse().unwrap());
    }
    let measured = arguments.iter().any(|argument| argument == "--bench");
    let asked = std::env::var("HISTORY_MESSAGES").ok().map(|text| text.parse().unwrap());
    let messages = asked.unwrap_or(if measured { MESSAGES } else { FEW });
    let wanted = std::env::var("HISTORY_WAYS").ok();
    let is_wanted = |way: &str| wanted.as_ref().is_none_or(|ways| ways.split(',').any(|name| name == way));
    println!("{messages} messages; milliseconds");
    for shape in Shape::ALL {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("runs.db");
        let began = Instant::now();
        let steps = record::record(shape, messages, &file, "/somewhere");
        let took = milliseconds(began);
        println!("{shape:?}: driven and stored in {took:.0} ms; last tenth {steps:.2} of the first");
        for (way, _) in WAYS.into_iter().filter(|(way, _)| is_wanted(way)) {
            let times = if !measured {
                1
            } else if way == "glance" {
                GLANCES
            } else {
                TIMES
            };
            let status = Command::new(std::env::current_exe().unwrap())
                .args(["open", file.to_str().unwrap(), way, &times.to_string()])
                .status()
                .unwrap();
            assert!(status.success());
        }
    }
}

fn report(file: &Path, way: &str, times: usize) {
    let (_, open) = WAYS.into_iter().find(|(name, _)| *name == way).unwrap();
    let first = open(file);
    let once = peak_mb();
    let mut all: Vec<f64> = (1..times).map(|_| open(file)).chain([first]).collect();
    all.sort_by(f64::total_cmp);
    let (best, median) = (all[0], all[all.len() / 2]);
    println!("  {way}: first {first:.1}, median {median:.1}, best {best:.1} ms; peak {once} MB");
    if way == "record" {
        let (load, parse, replay) = parts(file);
        println!("  one after the other, once: load {load:.1} + parse {parse:.1} + replay {replay:.1} ms");
    }
}

/// To the first screen, in a store that was not opened before.
fn glance(file: &Path) -> f64 {
    let handle = nobody::handle(file);
    let mut terminal = Terminal::new(TestBackend::new(120, 40)).unwrap();
    let mut model = UiModel { size: (120, 40), panel: true, ..UiModel::default() };
    let began = Instant::now();
    let summary = handle.summary(record::RUN).unwrap();
    let seen = handle.load_preview(&summary.id);
    let known = seen.is_some();
    if let Some(seen) = seen {
        update_model(
            &mut model,
            UiMessage::Displayed(DisplayResponse::Preview(Box::new(from_preview(&summary, seen, &[])))),
        );
    }
    view::arrange_screen(&mut model);
    terminal.draw(|frame| view::draw_screen(&model, frame)).unwrap();
    let took = milliseconds(began);
    assert_eq!(known, model.transcript.len() > 10, "what was stored is shown");
    took
}

/// Its machine, as far as a resume needs it.
fn resume(file: &Path) -> f64 {
    let handle = nobody::handle(file);
    let began = Instant::now();
    let pauses = handle.open_pauses(&RunId::from(record::RUN), None).unwrap();
    let took = milliseconds(began);
    assert!(pauses.len() < 2);
    took
}

/// All that the screen shows once it has read the run.
fn screen(file: &Path) -> f64 {
    let handle = nobody::handle(file);
    let run = RunId::from(record::RUN);
    let begin = || PastRunBuilder::new(&run);
    let began = Instant::now();
    let (record, folding) = handle
        .replay_events(record::RUN, begin, |past, at, event| past.apply_event(at, event.event))
        .unwrap();
    let past = folding.into_past_run(record.ledger);
    let took = milliseconds(began);
    assert!(past.items.len() > 10 && past.view.ledger.usage().total() > 0);
    took
}

/// Every event. Closing what was opened is not counted.
fn record(file: &Path) -> f64 {
    let handle = nobody::handle(file);
    let began = Instant::now();
    let record = handle.load_record(record::RUN).unwrap();
    let took = milliseconds(began);
    assert!(
        record.events.len() > 10 && record.unanswered_intents.len() < 2 && !record.ledger.entries.is_empty()
    );
    took
}

/// The work of it without any overlap, with a replay after which the run could go on.
fn parts(file: &Path) -> (f64, f64, f64) {
    let began = Instant::now();
    let store = SqliteStore::new(file.to_owned());
    let (header, rows) = store.load(&RunId::from(record::RUN)).unwrap();
    let load = milliseconds(began);

    let began = Instant::now();
    let spec: RunSpec = serde_json::from_str(&header.spec).unwrap();
    let bodies: Vec<(Timestamp, &str)> = rows
        .iter()
        .filter(|row| row.kind == JournalRowKind::Input)
        .map(|row| (row.at, row.body.as_str()))
        .collect();
    let inputs = parse_inputs(&bodies).unwrap();
    let parse = milliseconds(began);

    let began = Instant::now();
    let replayed = replay_inputs(Arc::new(spec), inputs);
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
