//! Runs of a project that nothing changes share one snapshot.

use std::fs;

use synthdev::adapters::git::GitSnapshots;
use synthdev::domain::ids::{RunId, SnapshotId};
use synthdev::domain::snapshot::{SnapshotRequest, SnapshotReuse};
use synthdev::ports::snapshot::SnapshotPort;

use super::fixture::{Project, store_from};
use super::request;

const EXCLUDED: &[&str] = &["private/"];

fn reusing(label: &str) -> SnapshotRequest {
    SnapshotRequest { reuse: SnapshotReuse::AnyRun, ..request(label) }
}

fn sample_project() -> Project {
    let project = Project::repository();
    project.write_file("src/a.rs", "a\n");
    project.write_file("private/key", "k\n");
    project.write_file("build.log", "1\n");
    project.write_file(".gitignore", "*.log\n");
    project.git(&["add", "."]);
    project.git(&["commit", "-q", "-m", "one"]);
    project
}

/// Whether a run that starts after `change` shares the snapshot of the one before.
fn check(name: &str, shares: bool, change: impl FnOnce(&Project, &GitSnapshots)) {
    let project = sample_project();
    let store = project.store_with(EXCLUDED, &project.data());
    let first = store.take(&reusing("first")).unwrap();
    change(&project, &store);
    let count = store.list().unwrap().len();
    let files = project.fingerprint();
    let second = store.take(&reusing("second")).unwrap();
    assert_eq!(second.id == first.id, shares, "{name}");
    assert_eq!(store.list().unwrap().len(), if shares { count } else { count + 1 }, "{name}");
    project.write_file("src/a.rs", "changed\n");
    project.write_file("private/key", "changed\n");
    store.restore(&second.id).unwrap();
    assert_eq!(project.fingerprint(), files, "{name}: it brings back what was there");
}

#[test]
fn a_run_shares_the_snapshot_of_the_last_one_only_if_nothing_has_changed() {
    check("nothing", true, |_, _| {});
    check("the same content, written again", true, |project, _| project.write_file("src/a.rs", "a\n"));
    check("another start", true, |_, store| drop(store.take(&reusing("between")).unwrap()));
    check("content", false, |project, _| project.write_file("src/a.rs", "b\n"));
    check("permission", false, |project, _| project.write_executable("src/a.rs"));
    check("a new file", false, |project, _| project.write_file("src/b.rs", "b\n"));
    check("a new directory", false, |project, _| fs::create_dir(project.path_of("empty")).unwrap());
    check("an ignored file", false, |project, _| project.write_file("build.log", "two\n"));
    check("an excluded file", false, |project, _| project.write_file("private/key", "l\n"));
    check("a commit", false, |project, _| {
        project.git(&["commit", "-q", "--allow-empty", "-m", "two"]);
    });
    check("a snapshot that shares nothing", false, |_, store| {
        store.take(&SnapshotRequest::default()).unwrap();
    });
    check("it was deleted", false, |_, store| {
        let newest = store.list().unwrap().remove(0);
        store.delete(&newest.id).unwrap();
    });
}

/// `known`: the snapshot that the run has, of an older and the newest one.
fn check_later_state(name: &str, run: &str, shares: bool, known: fn([SnapshotId; 2]) -> Option<SnapshotId>) {
    let project = sample_project();
    let store = project.store_with(EXCLUDED, &project.data());
    let older = store.take(&reusing("older")).unwrap().id;
    project.write_file("src/a.rs", "b\n");
    let newest = store.take(&reusing("newest")).unwrap().id;
    let reuse = SnapshotReuse::SameRun(known([older, newest.clone()]));
    let later = SnapshotRequest { run: Some(RunId::from(run)), reuse, ..request("later") };
    assert_eq!(store.take(&later).unwrap().id == newest, shares, "{name}");
    assert_eq!(store.list().unwrap().len(), if shares { 2 } else { 3 }, "{name}");
}

#[test]
fn a_later_state_shares_only_a_snapshot_of_its_run_or_the_one_that_the_run_has() {
    check_later_state("own", "r1", true, |_| None);
    check_later_state("own, and the run has an older one", "r1", true, |[older, _]| Some(older));
    check_later_state("of another run", "r2", false, |_| None);
    check_later_state("of another run, and the run has it", "r2", true, |[_, newest]| Some(newest));
    check_later_state("of another run, and the run has an older one", "r2", false, |[older, _]| Some(older));
}

#[test]
fn other_settings_and_a_day_later_make_a_snapshot_of_its_own() {
    let project = sample_project();
    let store = project.store_with(EXCLUDED, &project.data());
    let first = store.take(&reusing("first")).unwrap();
    let other = project.store_with(&["private/", "other/"], &project.data());
    assert_ne!(other.take(&reusing("other settings")).unwrap().id, first.id);
    store.take(&reusing("these settings again")).unwrap();
    for (age, shares) in [(80_000_000, true), (90_000_000, false), (-90_000_000, false)] {
        let newest = store.list().unwrap().remove(0);
        let later = store_from(project.path_of(""), project.data(), EXCLUDED, newest.created.0 + age);
        assert_eq!(later.take(&reusing("later")).unwrap().id == newest.id, shares, "{age} ms later");
    }
}
