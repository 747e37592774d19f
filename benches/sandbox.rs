//! What the sandbox costs a command: `true` through the terminal tool, with and without it. With it, at most 6 ms more.
//!
//! "one after the other" asks for the next command at once, when its sandbox is not ready yet; "with a pause" is what agents
//! do, whose model thinks between two commands.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark touches the real world and may stop at the first surprise"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::json;
use synthdev::adapters::sandbox::CommandSandbox;
use synthdev::adapters::sandbox::sandbox_places::SandboxPlaces;
use synthdev::adapters::tools::{ProjectTools, ToolSettings};
use synthdev::domain::sandbox::SandboxSettings;
use synthdev::domain::tool::ToolInvocation;
use synthdev::ports::tool::ToolPort;

/// A home with a cache and a file that commands must not read, as homes have them.
fn tools(place: &Path, sandboxed: bool) -> ProjectTools {
    let (home, project) = (place.join("home"), place.join("project"));
    for directory in
        [home.join(".ssh"), home.join(".cache"), home.join(".cargo/registry"), project.join(".git/hooks")]
    {
        std::fs::create_dir_all(directory).unwrap();
    }
    std::fs::write(project.join(".git/config"), "[core]\n").unwrap();
    let mut settings = ToolSettings::new(&project);
    if sandboxed {
        let places = SandboxPlaces {
            data: home.join(".local/share/synthdev"),
            home: Some(home),
            helper: env!("CARGO_BIN_EXE_synthdev").into(),
            ..SandboxPlaces::for_project(&project)
        };
        settings.sandbox = Arc::new(CommandSandbox::new(SandboxSettings::default(), places));
    }
    ProjectTools::new(settings)
}

fn cost(c: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let place = tempfile::tempdir().unwrap();
    let call = ToolInvocation {
        agent: "coder".to_owned(),
        tool: "execute_terminal".to_owned(),
        arguments: json!({"command": "true"}),
        reads_files: false,
        original: None,
        run: None,
        network: None,
        loopback_ports: std::collections::BTreeSet::new(),
    };
    for (name, sandboxed, pause) in [
        ("true, without a sandbox", false, Duration::ZERO),
        ("true in the sandbox, one after the other", true, Duration::ZERO),
        ("true in the sandbox, with a pause", true, Duration::from_millis(40)),
    ] {
        let tools = tools(&place.path().join(name), sandboxed);
        c.bench_function(name, |bench| {
            bench.iter_custom(|times| {
                let mut sum = Duration::ZERO;
                for _ in 0..times {
                    std::thread::sleep(pause);
                    let started = Instant::now();
                    let outcome = runtime.block_on(tools.run(&call));
                    sum += started.elapsed();
                    assert!(outcome.ok, "{}", outcome.content);
                }
                sum
            });
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(3));
    targets = cost
}
criterion_main!(benches);
