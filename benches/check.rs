//! How long a workflow takes from text to something that can run: read, checked, lowered; and its cost estimate.
//!
//! `json` is the plain parser over the same text, for a ratio. 8,000 states shall take about 8 times as long as 1,000, at
//! most 10 times: also in one line, as programs write it, and in drawings.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use synthdev::domain::ids::WorkflowIx;
use synthdev::domain::source_location::ConfigLayer;
use synthdev::domain::system_context::SystemContext;
use synthdev::language::cost_estimate::estimate_cost;
use synthdev::language::graph::terminal::draw_terminal;
use synthdev::language::graph::{WorkflowGraph, mermaid};
use synthdev::language::source::SourceFile;
use synthdev::settings::catalog::{ConfigCatalog, ConfigSources};

const SHIPPED: &str = include_str!("../workflows/coder_reviewer.json");
const SETTINGS: &str = include_str!("../config/settings.json");
const MODELS: &str = include_str!("../config/models.json");
const ROLES: &str = include_str!("../roles/core.json");

/// A chain of states with a loop back at each: an input, a condition, a decision and a `before` everywhere.
fn long(count: usize) -> String {
    let states: Vec<String> = (0..count)
        .map(|at| {
            let name = if at == 0 { "start".to_owned() } else { format!("s{at}") };
            let next = if at + 1 == count { "stop".to_owned() } else { format!("s{}", at + 1) };
            format!(
                r#"{{"name": "{name}", "agent": "reviewer", "input": "'Step {at}: ' + common_data.task",
"transition": [{{"target": "{name}", "condition": "function.review_work.arguments.improvement_needed === true",
"before": "() => {{ this.common_data.task = function.review_work.arguments.continue_message ?? 'again'; }}"}},
{{"target": "{next}", "condition": "function.review_work.arguments.improvement_needed === false"}}]}}"#
            )
        })
        .collect();
    format!(
        r#"{{"workflow_name": "w", "input": {{"name": "task", "type": "string"}}, "contexts": [{{"name": "talk"}}],
"agents": [{{"agent_role": "reviewer", "context": "talk", "role": "user"}}], "states": [{}]}}"#,
        states.join(",\n")
    )
}

fn catalog() -> ConfigCatalog {
    let file = |name: &str, text: &str| SourceFile::new(ConfigLayer::BuiltIn, name, text);
    let environment = [("SYNTHDEV_BASE_MODEL", "m"), ("SYNTHDEV_BASE_URL", "http://127.0.0.1:1/v1")];
    let sources = ConfigSources {
        settings: vec![file("settings.json", SETTINGS)],
        models: vec![file("models.json", MODELS)],
        roles: vec![file("roles.json", ROLES)],
        environment: environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        ..ConfigSources::default()
    };
    ConfigCatalog::load(sources, Vec::new())
}

fn check(c: &mut Criterion) {
    let catalog = catalog();
    let rows = [
        ("shipped", SHIPPED.to_owned()),
        ("200 states", long(200)),
        ("1,000 states", long(1_000)),
        ("8,000 states", long(8_000)),
        ("1,000 states in one line", long(1_000).replace('\n', " ")),
        ("8,000 states in one line", long(8_000).replace('\n', " ")),
    ];
    for (name, text) in rows {
        let file = SourceFile::new(ConfigLayer::CommandLine, name, text.as_str());
        c.bench_function(&format!("check: {name}"), |b| {
            b.iter(|| black_box(catalog.check_file(&file).is_ok()));
        });
        c.bench_function(&format!("json: {name}"), |b| {
            b.iter(|| black_box(serde_json::from_str::<serde_json::Value>(&text).is_ok()));
        });
        if let Ok((programs, _)) = catalog.check_file(&file) {
            c.bench_function(&format!("envelope: {name}"), |b| {
                b.iter(|| black_box(estimate_cost(&programs[0], &SystemContext::default())))
            });
            c.bench_function(&format!("draw: {name}"), |b| {
                b.iter(|| {
                    let graph = WorkflowGraph::from_program(&programs[0], WorkflowIx(0));
                    black_box(graph.as_ref().map(|graph| draw_terminal(graph, 80)));
                    black_box(graph.map(|graph| mermaid::draw_mermaid(&[(0, graph)])))
                })
            });
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = check
}
criterion_main!(benches);
