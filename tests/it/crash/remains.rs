//! What a kill leaves in a repository at a moment that chance seldom finds, made by hand.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::json;

use super::super::cli::world::World;

const HOUR: Duration = Duration::from_secs(3600);

fn put_aged(path: PathBuf, age: Duration) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "").unwrap();
    fs::File::options().append(true).open(&path).unwrap().set_modified(SystemTime::now() - age).unwrap();
    path
}

#[test]
fn what_a_killed_snapshot_left_is_swept_and_what_may_be_in_use_is_not() {
    let world = World::repository();
    let git = world.project().join(".git");
    let [snapshots, heads, objects] =
        ["refs/synthdev/snapshots", "refs/heads", "objects"].map(|at| git.join(at));
    let gone = [
        put_aged(snapshots.join("1m7yzmv8c000.lock"), Duration::from_secs(30)),
        put_aged(objects.join("tmp_object_git2_a1B2c3"), 2 * HOUR),
    ];
    let stays = [
        put_aged(snapshots.join("1m7yzq1nt000.lock"), Duration::ZERO),
        put_aged(heads.join("main.lock"), 2 * HOUR),
        put_aged(objects.join("tmp_object_git2_d4E5f6"), Duration::from_secs(30)),
    ];
    world.run_program(&["snapshot", "create"]).code(0);
    assert!(gone.iter().all(|path| !path.exists()), "{gone:?}");
    assert!(stays.iter().all(|path| path.exists()), "{stays:?}");
}

#[test]
fn a_worktree_that_was_never_finished_is_taken_away_by_the_next() {
    let world = World::repository();
    world.write_talk(&json!([{"text": "Hi."}]));
    world.run_talk(&["--json", "--isolate"]).code(0);
    let half = only_entry(&world.data().join("worktrees"));
    let record = world.project().join(".git/worktrees").join(&half);
    // as it was when its maker was killed
    fs::write(record.join("HEAD"), "").unwrap();
    write_creation_marker(&world, &json!({"name": half, "branch": format!("synthdev/{half}")}).to_string());
    assert!(!is_repository_sound(&world), "the test breaks it as a kill does");

    world.run_talk(&["--json", "--isolate"]).code(0);
    assert!(is_repository_sound(&world));
    assert!(!record.exists() && !world.data().join("worktrees").join(&half).exists());
    assert_eq!(world.git(&["branch", "--list", &format!("synthdev/{half}")]), "");
    let whole = only_entry(&world.data().join("worktrees"));

    // a promise that was kept, or only half written, takes nothing away
    write_creation_marker(&world, "{\"name\": \"");
    world.run_talk(&["--json", "--isolate"]).code(0);
    assert!(world.data().join("worktrees").join(whole).exists());
}

/// Writes the marker of a worktree in creation beside the project's lock.
fn write_creation_marker(world: &World, text: &str) {
    let corners = fs::read_dir(world.data().join("snapshots")).unwrap().map(|entry| entry.unwrap().path());
    for corner in corners {
        fs::write(corner.join("making"), text).unwrap();
    }
}

fn is_repository_sound(world: &World) -> bool {
    let mut command = Command::new("git");
    world.isolate_command(&mut command);
    command.args(["fsck", "--no-dangling", "--no-progress"]).output().unwrap().status.success()
}

fn only_entry(directory: &Path) -> String {
    let mut names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    let name = names.next().unwrap().into_string().unwrap();
    assert!(names.next().is_none());
    name
}
