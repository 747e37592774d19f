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
use serde_json::{Map, Value};
use synthdev::adapters::javascript::{ScriptIsolate, ScriptLimits};
use synthdev::adapters::sqlite::SqliteStore;
use synthdev::domain::approval::ApprovalPolicy;
use synthdev::domain::ids::{RunId, StateIx, Timestamp};
use synthdev::domain::journal::{JournalRow, JournalRowKind, RunHeader};
use synthdev::domain::source_location::ConfigLayer;
use synthdev::domain::workflow::{
    self, ForEachSpec, SnapshotPolicy, StateBody, StateSpec, Transition, Workflow, WorkflowProgram,
};
use synthdev::engine::effect::Effect;
use synthdev::engine::input::Input;
use synthdev::engine::machine::{Machine, MachineOutput};
use synthdev::engine::run_spec::{MACHINE_VERSION, RunSpec};
use synthdev::language::lower::{LinkContext, lower_file};
use synthdev::language::source::SourceFile;
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
    let surroundings = LinkContext {
        files: &[],
        unreadable_rival: &|_| None,
        role: &|name| Err((format!("no role {name}"), None)),
        choice: &|_| Err(("no model".to_owned(), None)),
        stated_model: None,
        role_names: &[],
        agent_limits: Default::default(),
        tools: &[],
        mcp_servers: &[],
        text: &|_, _| Ok(None),
        resolve_role_tools: &|_, _| (Vec::new(), Vec::new()),
    };
    let file = SourceFile::new(ConfigLayer::Project, "ping_pong.json", LOOP);
    let (programs, _) = lower_file(&file, &surroundings).unwrap();
    Arc::new(RunSpec {
        machine_version: MACHINE_VERSION,
        program: programs.into_iter().next().unwrap(),
        inputs: Map::new(),
        approvals: ApprovalPolicy::default(),
        brief: Default::default(),
        stops: Default::default(),
        interactive: false,
    })
}

/// One whole run of `TRANSITIONS` transitions. `seen` is given each input with what it led to.
fn run(
    machine: &mut Machine,
    world: &mut ScriptIsolate,
    mut seen: impl FnMut(&Machine, &Input, &MachineOutput),
) {
    let mut input = Input::Started { seed: 7 };
    for at in 0..=TRANSITIONS {
        let output = machine.handle_input(Timestamp(i64::try_from(at).unwrap()), input.clone());
        seen(machine, &input, &output);
        let job = output.effects.into_iter().find_map(|effect| match effect {
            Effect::Evaluate { call, job } => Some((call, job)),
            _ => None,
        });
        let (call, job) = job.unwrap();
        input = Input::Evaluated { call, outcome: world.evaluate_job(job).unwrap() };
    }
    assert!(!machine.is_over_or_suspended());
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
        origin: None,
        worktree: None,
    }
}

/// What the runtime writes for one input that led into another state: the input and the run's progress.
fn record(store: &SqliteStore, run: &RunId, machine: &Machine, input: &Input) {
    let row =
        JournalRow::new(JournalRowKind::Input, Timestamp(0), None, serde_json::to_string(input).unwrap());
    store.append(run, &[row], Some(&machine.progress())).unwrap();
}

fn transitions(criterion: &mut Criterion) {
    let spec = spec();
    let mut world = ScriptIsolate::new(ScriptLimits::default());
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
    let store = SqliteStore::new(directory.path().join("runs.sqlite"));
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

/// Branches of a measured fork.
const BRANCHES: u64 = 100;

/// A fork of items that do nothing: what one lane costs from its beginning to its place in the result.
fn forked() -> Arc<RunSpec> {
    let state = |name: &str| StateSpec { name: name.to_owned(), ..StateSpec::default() };
    let to = |target| Transition { target: StateIx(target), condition: None, before: None };
    let items: Vec<Value> = (0..BRANCHES).map(Value::from).collect();
    let body = ForEachSpec {
        items: workflow::ValueSource::Value(items.into()),
        each: "item".to_owned(),
        at: "index".to_owned(),
        start: StateIx(1),
        needs: Vec::new(),
        max_concurrency: None,
        tolerated_failures: 0,
        tolerated_percent: 0.0,
        handed_out: None,
        sub_agent: None,
    };
    let states = vec![
        StateSpec { work: StateBody::ForEach(body), transitions: vec![to(3)], ..state("start") },
        StateSpec { transitions: vec![to(2)], ..state("start/start") },
        StateSpec { terminal: true, ..state("start/stop") },
        StateSpec { terminal: true, ..state("stop") },
    ];
    let workflow = Workflow {
        name: "forked".to_owned(),
        states,
        stop: StateIx(3),
        snapshot: SnapshotPolicy::Off,
        ..Workflow::default()
    };
    Arc::new(RunSpec {
        machine_version: MACHINE_VERSION,
        program: WorkflowProgram {
            workflows: vec![Arc::new(workflow)],
            hash: String::new(),
            start_warnings: Vec::new(),
        },
        inputs: Map::new(),
        approvals: ApprovalPolicy::default(),
        brief: Default::default(),
        stops: Default::default(),
        interactive: false,
    })
}

fn branches(criterion: &mut Criterion) {
    let spec = forked();
    let mut group = criterion.benchmark_group("branch");
    group.throughput(Throughput::Elements(BRANCHES));
    group.bench_function("begin, one state, join", |bench| {
        bench.iter_batched(
            || Machine::new(Arc::clone(&spec)),
            |mut machine| {
                black_box(machine.handle_input(Timestamp(0), Input::Started { seed: 7 }));
                assert!(machine.is_over_or_suspended());
            },
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

/// What the others are measured against: one row into SQLite, and one call of JavaScript that does nothing.
fn references(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("reference");
    let directory = tempfile::tempdir().unwrap();
    let database = rusqlite::Connection::open(directory.path().join("plain.sqlite")).unwrap();
    database
        .execute_batch(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; CREATE TABLE t (a INTEGER, b TEXT)",
        )
        .unwrap();
    let body = "x".repeat(200);
    group.bench_function("plain insert", |bench| {
        bench.iter(|| {
            let mut insert = database.prepare_cached("INSERT INTO t VALUES (?1, ?2)").unwrap();
            insert.execute((1, &body)).unwrap()
        });
    });
    let runtime = rquickjs::Runtime::new().unwrap();
    let context = rquickjs::Context::full(&runtime).unwrap();
    context.with(|ctx| {
        let empty: rquickjs::Function<'_> = ctx.eval("(function(){})").unwrap();
        group.bench_function("empty call of JavaScript", |bench| {
            bench.iter(|| empty.call::<_, ()>(()).unwrap());
        });
    });
    group.finish();
}

criterion_group!(benches, references, transitions, branches);
criterion_main!(benches);
