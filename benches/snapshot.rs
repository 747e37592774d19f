//! Snapshots of generated trees: first, repeated, with ten files changed, and seeded from the user's index.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark builds its own trees and may stop at the first surprise"
)]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use synthdev::adapters::git::GitSnapshots;
use synthdev::domain::ids::Timestamp;
use synthdev::domain::snapshot::SnapshotRequest;
use synthdev::ports::clock::ClockPort;
use synthdev::ports::snapshot::SnapshotPort;
use tempfile::TempDir;

struct Fixed;

impl ClockPort for Fixed {
    fn now(&self) -> Timestamp {
        Timestamp(1_700_000_000_000)
    }
}

/// Twenty files of about 2 kB in each directory, three levels deep.
fn tree(count: usize, committed: bool) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for n in 0..count {
        let place = dir.path().join(format!("project/m{}/p{}", n / 400, n / 20));
        fs::create_dir_all(&place).unwrap();
        fs::write(
            place.join(format!("file{n}.rs")),
            format!("// {n}\n{}", "let some = text;\n".repeat(n % 240)),
        )
        .unwrap();
    }
    git(dir.path(), &["init", "-q"]);
    if committed {
        git(dir.path(), &["add", "-A"]);
        git(dir.path(), &["-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-qm", "first"]);
    }
    dir
}

fn git(dir: &Path, arguments: &[&str]) {
    let done = Command::new("git").args(arguments).current_dir(dir.join("project")).status().unwrap();
    assert!(done.success());
}

fn store(dir: &TempDir, data: &str) -> GitSnapshots {
    GitSnapshots::open(dir.path().join("project"), dir.path().join(data), Vec::new(), Arc::new(Fixed))
}

fn change(dir: &TempDir, files: usize, round: &mut usize) {
    *round += 1;
    for n in (0..files).step_by(files / 10) {
        let place = dir.path().join(format!("project/m{}/p{}/file{n}.rs", n / 400, n / 20));
        fs::write(place, format!("changed in round {round}")).unwrap();
    }
}

fn take(store: &GitSnapshots) {
    store.take(&SnapshotRequest::default()).unwrap();
}

fn snapshot(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("snapshot");
    group.sample_size(10);
    group.bench_function("10000 files, first", |bench| {
        bench.iter_batched(
            || tree(10_000, false),
            |dir| {
                take(&store(&dir, "data"));
                dir
            },
            BatchSize::PerIteration,
        );
    });
    group.sample_size(30);
    for files in [5_000, 10_000] {
        let dir = tree(files, true);
        let (mut round, mut data) = (0, 0);
        take(&store(&dir, "data"));
        group.bench_function(format!("{files} files, repeated"), |bench| {
            bench.iter(|| take(&store(&dir, "data")))
        });
        group.bench_function(format!("{files} files, 10 changed"), |bench| {
            bench.iter_batched(
                || change(&dir, files, &mut round),
                |()| take(&store(&dir, "data")),
                BatchSize::PerIteration,
            );
        });
        group.bench_function(format!("{files} files, 10 changed, seeded"), |bench| {
            bench.iter_batched(
                || {
                    change(&dir, files, &mut round);
                    data += 1;
                    store(&dir, &format!("seeded{data}"))
                },
                |store| take(&store),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, snapshot);
criterion_main!(benches);
