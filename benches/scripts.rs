//! How long a transition's scripts take: one condition and its `before` over a small `common_data`.
//!
//! `world` is the synchronous core, `host` the round trip through the worker thread and back.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use serde_json::{Map, Value, json};
use synthdev::adapters::javascript::{ScriptIsolate, ScriptLimits, ScriptWorkerPool};
use synthdev::domain::ids::ScriptIx;
use synthdev::domain::message::ToolCall;
use synthdev::domain::script::{
    ScopeView, ScriptForm, ScriptJob, ScriptKind, ScriptTask, TransitionGuard, WorkflowScript,
};
use synthdev::domain::source_location::SourceLocation;
use synthdev::ports::script::ScriptPort;

const SCRIPTS: [&str; 4] = [
    "this.common_data.iteration_count < 5",
    "() => { this.common_data.current_task = 'New task: ' + this.common_data.user_input; this.common_data.iteration_count += 1; }",
    "__call(\"review_work\")?.arguments.improvement_needed === true",
    "() => { this.common_data.current_task = __call(\"review_work\")?.arguments.continue_message; }",
];

fn scripts() -> Arc<Vec<WorkflowScript>> {
    let script = |text: &&str| WorkflowScript {
        kind: ScriptKind::Condition,
        form: ScriptForm::Expression,
        source: (*text).to_owned(),
        prepared: (*text).to_owned(),
        offers: Vec::new(),
        place: SourceLocation::default(),
    };
    Arc::new(SCRIPTS.iter().map(script).collect())
}

/// About 130 bytes of JSON.
fn small() -> Arc<Map<String, Value>> {
    let data = json!({
        "user_input": "write a parser for the log files",
        "current_task": "first draft of the parser",
        "iteration_count": 1,
        "list": [1, 2, 3]
    });
    Arc::new(data.as_object().cloned().unwrap_or_default())
}

/// `copies` entries of `small` under one key.
fn large(copies: usize) -> Arc<Map<String, Value>> {
    let mut data = small().as_ref().clone();
    data.insert("history".to_owned(), Value::Array(vec![json!(small().as_ref()); copies]));
    Arc::new(data)
}

fn job(
    scripts: &Arc<Vec<WorkflowScript>>,
    data: &Arc<Map<String, Value>>,
    version: u64,
    guards: &[TransitionGuard],
) -> ScriptJob {
    let review = ToolCall {
        id: "call_1".to_owned(),
        name: "review_work".to_owned(),
        arguments: r#"{"improvement_needed": true, "continue_message": "handle empty lines"}"#.to_owned(),
        original: None,
    };
    let scope = ScopeView {
        version,
        common_data: Arc::clone(data),
        last_parsing_tool_calls: vec![review],
        ..ScopeView::default()
    };
    let task = ScriptTask::Choose { guards: guards.to_vec(), errors_are_false: false };
    ScriptJob { scripts: Arc::clone(scripts), scope: Box::new(scope), task }
}

fn guard(condition: usize, before: Option<usize>) -> TransitionGuard {
    TransitionGuard { condition: Some(ScriptIx(condition)), before: before.map(ScriptIx) }
}

fn evaluate(c: &mut Criterion) {
    let scripts = scripts();
    let (small, large) = (small(), large(100));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build();
    let host = ScriptWorkerPool::default();
    for (name, data, guards) in [
        ("condition + before", &small, vec![guard(0, Some(1))]),
        ("condition alone", &small, vec![guard(0, None)]),
        ("tool condition + before", &small, vec![guard(2, Some(3))]),
        ("condition + before, 15 KB of data", &large, vec![guard(0, Some(1))]),
    ] {
        let mut world = ScriptIsolate::new(ScriptLimits::default());
        let mut version = 0;
        let mut next = || {
            // A condition leaves the data as it was; a `before` makes a new version.
            version += u64::from(guards.iter().any(|guard| guard.before.is_some()));
            job(&scripts, data, version, &guards)
        };
        c.bench_function(&format!("world: {name}"), |b| {
            b.iter_batched(&mut next, |job| black_box(world.evaluate_job(job)), BatchSize::SmallInput);
        });
        if let Ok(runtime) = &runtime {
            c.bench_function(&format!("host: {name}"), |b| {
                b.iter_batched(
                    &mut next,
                    |job| black_box(runtime.block_on(host.evaluate(job))),
                    BatchSize::SmallInput,
                );
            });
        }
    }
    c.bench_function("world: start and first job", |b| {
        b.iter_batched(
            || job(&scripts, &small, 0, &[guard(0, Some(1))]),
            |job| black_box(ScriptIsolate::new(ScriptLimits::default()).evaluate_job(job)),
            BatchSize::SmallInput,
        );
    });
}

criterion_group!(benches, evaluate);
criterion_main!(benches);
