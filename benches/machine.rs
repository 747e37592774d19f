//! What one transition costs (performance rows 11 and 12): the pure machine with its scripts, once by itself and
//! once with every input written to the journal as the runtime does it.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark makes its own files and may stop at the first surprise"
)]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use serde_json::Map;
use synthdev::adapters::javascript::{Limits, World};
use synthdev::adapters::sqlite::SqliteStore;
use synthdev::config::lower::{Surroundings, lower_file};
use synthdev::config::source::SourceFile;
use synthdev::domain::approval::ApprovalPolicy;
use synthdev::domain::ids::{RunId, Timestamp};
use synthdev::domain::journal::{Row, RowKind, RunHeader};
use synthdev::domain::place::Layer;
use synthdev::engine::effect::Effect;
use synthdev::engine::input::Input;
use synthdev::engine::machine::{Machine, Output};
use synthdev::engine::spec::{MACHINE_VERSION, RunSpec};
use synthdev::ports::run_store::RunStore;

/// Transitions per measured run: as many states as a run may visit by default.
const TRANSITIONS: u64 = 200;

/// Two states that hand over to each other; one condition and one `before` each time.
const LOOP: &str = r#"{
    "workflow_name": "ping_pong",
    "snapshot": "off",
    "limits": { "max_steps": 1000, "max_visits": 1000 },
    "variables": { "count": 0, "note": "" },
    "states": [
        { "name": "start", "transition": [
            { "target": "pong", "condition": "this.common_data.count < 100000",
              "before": "() => { this.common_data.count += 1; this.common_data.note = 'ping'; }" },
            { "target": "stop" } ] },
        { "name": "pong", "transition": [
            { "target": "start", "condition": "this.common_data.count < 100000",
              "before": "() => { this.common_data.count += 1; this.common_data.note = 'pong'; }" },
            { "target": "stop" } ] },
        { "name": "stop" }
    ]
}"#;

fn spec() -> Arc<RunSpec> {
    let surroundings = Surroundings {
        files: &[],
        role: &|name| Err((format!("no role {name}"), None)),
        choice: &|_| Err(("no model".to_owned(), None)),
        tools: &[],
        text: &|_, _| Ok(None),
        tools_for: &|_, _| (Vec::new(), Vec::new()),
    };
    let file = SourceFile::new(Layer::Project, "ping_pong.json", LOOP);
    let (programs, _) = lower_file(&file, &surroundings).unwrap();
    Arc::new(RunSpec {
        machine_version: MACHINE_VERSION,
        program: programs.into_iter().next().unwrap(),
        inputs: Map::new(),
        approvals: ApprovalPolicy::default(),
        interactive: false,
    })
}

/// One whole run of `TRANSITIONS` transitions. `seen` is given each input with what it led to.
fn run(machine: &mut Machine, world: &mut World, mut seen: impl FnMut(&Machine, &Input, &Output)) {
    let mut input = Input::Started { seed: 7 };
    for at in 0..=TRANSITIONS {
        let output = machine.handle(Timestamp(i64::try_from(at).unwrap()), input.clone());
        seen(machine, &input, &output);
        let job = output.effects.into_iter().find_map(|effect| match effect {
            Effect::Evaluate { call, job } => Some((call, job)),
            _ => None,
        });
        let (call, job) = job.unwrap();
        input = Input::Evaluated { call, outcome: world.evaluate(job).unwrap() };
    }
    assert!(!machine.is_over());
}

fn header(spec: &RunSpec, run: &RunId) -> RunHeader {
    RunHeader {
        id: run.clone(),
        workflow: "ping_pong".to_owned(),
        definition_hash: spec.program.hash.clone(),
        spec: serde_json::to_string(spec).unwrap(),
        input: String::new(),
        project: "bench".to_owned(),
        started: Timestamp(0),
        pid: std::process::id(),
    }
}

/// What the runtime writes for one input that led into another state: the input and the run's progress.
fn record(store: &SqliteStore, run: &RunId, machine: &Machine, input: &Input) {
    let row = Row {
        kind: RowKind::Input,
        at: Timestamp(0),
        call: None,
        body: serde_json::to_string(input).unwrap(),
    };
    store.append(run, &[row], Some(&machine.progress())).unwrap();
}

fn transitions(criterion: &mut Criterion) {
    let spec = spec();
    let mut world = World::new(Limits::default());
    let mut group = criterion.benchmark_group("transition");
    group.throughput(Throughput::Elements(TRANSITIONS));
    group.bench_function("machine and scripts", |bench| {
        bench.iter_batched(
            || Machine::new(Arc::clone(&spec)),
            |mut machine| {
                run(&mut machine, &mut world, |_, _, output| {
                    black_box(output);
                });
                machine
            },
            BatchSize::SmallInput,
        );
    });
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::at(directory.path().join("runs.sqlite"));
    let mut runs = 0_u32;
    group.bench_function("machine, scripts and journal", |bench| {
        bench.iter_batched(
            || {
                runs += 1;
                let id = RunId(format!("{runs:08}"));
                store.create(&header(&spec, &id)).unwrap();
                (id, Machine::new(Arc::clone(&spec)))
            },
            |(id, mut machine)| {
                run(&mut machine, &mut world, |machine, input, _| record(&store, &id, machine, input));
                machine
            },
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

criterion_group!(benches, transitions);
criterion_main!(benches);
