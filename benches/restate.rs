//! Runs on a Restate server beside runs of one process, with the program as it is released:
//!
//! - what a step costs on top: a run of 100 states without work, alone, at the server and in this process;
//! - many at once: 1,000 runs of 5 steps that wait 50 ms, with one worker, with two, and in this process;
//! - waiting: what a worker needs while 10,000 runs wait for an answer, beside what it needed before.
//!
//! Each figure is the median of three rounds, but for the last one. The server is that of the npm package, which the tests of
//! the Restate tier install (`just restate`). `cargo bench --features restate --bench restate`; `-- --gate` also fails if one
//! is worse than its gate, `PROGRAM=/path/to/synthdev` measures another build of the worker.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a benchmark touches the real world and may stop at the first surprise"
)]

#[allow(dead_code, reason = "its other user needs the rest")]
#[path = "terminal/figures.rs"]
mod figures;
#[path = "restate/stage.rs"]
mod stage;

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use synthdev::bootstrap::wiring::{self, RunModels};
use synthdev::engine::run_spec::RunSpec;
use synthdev::service::run_events::RunEvent;
use synthdev::service::run_start::start_run_as;
use synthdev::settings::catalog::{ConfigCatalog, ConfigSources};

use figures::{Figures, median};
use stage::{RunningProgram, Stage, memory_mb};

const ROUNDS: usize = 3;
/// Of the run without work.
const STATES: usize = 100;
const RUNS: usize = 1_000;
const STEPS: usize = 5;
const STEP: Duration = Duration::from_millis(50);
const WAITING: usize = 10_000;
/// The server lets a handler that waits go after a minute.
const UNTIL_SUSPENDED: Duration = Duration::from_secs(75);

/// States one after the other.
fn workflow(count: usize, state: &Value) -> Value {
    let mut states: Vec<Value> = (0..count)
        .map(|at| {
            let mut state = state.clone();
            state["name"] = json!(if at == 0 { "start".to_owned() } else { format!("s{at}") });
            let next = if at + 1 < count { format!("s{}", at + 1) } else { "stop".to_owned() };
            state["transition"] = json!([{"target": next}]);
            state
        })
        .collect();
    states.push(json!({"name": "stop", "input": "'done'"}));
    json!({
        "workflow_name": "many", "description": "for a measurement", "snapshot": "off",
        "input": {"name": "task", "type": "string", "description": "none"},
        "output": {"name": "result", "type": "string"},
        "states": states,
    })
}

fn steps_that_wait() -> Value {
    workflow(STEPS, &json!({"type": "wait", "duration": STEP.as_secs_f64()}))
}

fn steps_without_work() -> Value {
    workflow(STATES, &json!({"action": {"script": "this.common_data.count = 1;"}}))
}

/// Seconds that so many runs of one process take, all at once.
fn embedded(place: &Path, spec: &RunSpec, count: usize) -> f64 {
    let project = place.join("embedded");
    std::fs::create_dir_all(&project).unwrap();
    let catalog = ConfigCatalog::load(ConfigSources::default(), wiring::tool_specs(&project));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let took = runtime.block_on(async {
        let wired =
            wiring::wire_runtime(&project, &place.join("embedded-data"), &catalog, RunModels::default());
        let mut events = wired.handle.subscribe(false);
        let began = Instant::now();
        for _ in 0..count {
            start_run_as(&wired.handle, wired.handle.draw_run_id(), spec.clone()).unwrap();
        }
        let mut open = count;
        while open > 0 {
            let published = events.recv().await.unwrap();
            open -= usize::from(matches!(published.event, RunEvent::Finished { .. }));
        }
        began.elapsed().as_secs_f64()
    });
    runtime.shutdown_background();
    took
}

fn step_overhead(stage: &Stage, figures: &mut Figures) {
    let spec = stage.spec_of(&steps_without_work());
    let here = median((0..ROUNDS).map(|_| embedded(stage.root(), &spec, 1)).collect());
    let there = median((0..ROUNDS).map(|_| stage.run_many(&spec, 1)).collect());
    let each = |seconds: f64| seconds * 1_000.0 / STATES as f64;
    figures.say("a state without work, in one process", each(here), "ms", None);
    figures.say("a state without work, at the server", each(there), "ms", None);
    figures.say("  more at the server", each(there - here), "ms", Some((1.0, 0.6)));
}

fn many_at_once(stage: &Stage, hosts: &[RunningProgram], figures: &mut Figures, workers: &str) {
    let spec = stage.spec_of(&steps_that_wait());
    let here = median((0..ROUNDS).map(|_| embedded(stage.root(), &spec, RUNS)).collect());
    let there = median((0..ROUNDS).map(|_| stage.run_many(&spec, RUNS)).collect());
    let steps = (RUNS * STEPS) as f64;
    let bare = STEP.as_secs_f64() * STEPS as f64;
    figures.say(&format!("{RUNS} runs in one process"), here, "s", None);
    figures.say(&format!("{RUNS} runs at the server, {workers}"), there, "s", None);
    figures.say("  runs in a second", RUNS as f64 / there, "", None);
    figures.say("  steps in a second", steps / there, "", None);
    let more = (there - bare) * 1_000.0 / steps;
    figures.say("  more than its waiting, for each step", more, "ms", Some((1.0, 0.6)));
    figures.say("  memory of the server", memory_mb(stage.server.0.id()), "MB", None);
    for host in hosts {
        figures.say("  memory of a worker", memory_mb(host.0.id()), "MB", None);
    }
}

fn waiting_runs(stage: &Stage, host: &RunningProgram, figures: &mut Figures) {
    let question = json!({"type": "pause", "kind": "number", "message": {"text": "How many?"}});
    let spec = stage.spec_of(&workflow(1, &question));
    // what it needs for having driven some
    stage.suspend_many(&spec, WAITING / 10);
    std::thread::sleep(UNTIL_SUSPENDED);
    let before = memory_mb(host.0.id());
    let took = stage.suspend_many(&spec, WAITING - WAITING / 10);
    let peak = memory_mb(host.0.id());
    std::thread::sleep(UNTIL_SUSPENDED);
    let after = memory_mb(host.0.id());
    figures.say(&format!("memory of a worker while {} runs wait", WAITING / 10), before, "MB", None);
    figures.say(&format!("memory of a worker while {WAITING} runs wait"), after, "MB", None);
    figures.say("  when the last of them began to wait", peak, "MB", None);
    figures.say("  until all of them waited", took, "s", None);
    let each = (after - before) * 1024.0 / (WAITING - WAITING / 10) as f64;
    figures.say("  for each of them", each, "KB", Some((1.0, 0.1)));
}

fn main() {
    let has = |flag: &str| std::env::args().any(|argument| argument == flag);
    if has("--test") {
        return;
    }
    let only = |part: &str| {
        std::env::args().all(|argument| !argument.starts_with("only=") || argument[5..] == *part)
    };
    let mut figures = Figures::default();
    let stage = Stage::open();
    let mut hosts = vec![stage.start_host("one")];
    if only("steps") {
        step_overhead(&stage, &mut figures);
    }
    if only("many") {
        many_at_once(&stage, &hosts, &mut figures, "one worker");
        hosts.push(stage.start_host("two"));
        many_at_once(&stage, &hosts, &mut figures, "two workers");
    }
    if only("waiting") {
        hosts.truncate(1);
        waiting_runs(&stage, &hosts[0], &mut figures);
    }
    if has("--gate") && figures.missed() > 0 {
        println!("{} of the gates missed", figures.missed());
        std::process::exit(1);
    }
}
