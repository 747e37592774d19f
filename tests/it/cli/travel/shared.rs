//! States between which nothing changes share a snapshot, and going back to each still restores its files.

use serde_json::{Value, json};
use synthdev::bootstrap::wiring::{self, RunModels};
use synthdev::domain::ids::RunId;
use synthdev::service::run_files::{RunFiles, StepFileChanges};
use synthdev::settings::catalog::{ConfigCatalog, ConfigSources};

use super::super::world::{World, workflow};

const STATES: [&str; 5] = ["one", "two", "three", "four", "five"];

/// Five states, each with a command that may change files.
fn five_states(commands: [&str; 5]) -> Value {
    let state = |(at, command): (usize, &&str)| {
        let target = STATES.get(at + 1).copied().unwrap_or("stop");
        json!({"name": STATES[at], "type": "shell", "command": command, "transition": [{"target": target}]})
    };
    let mut states = vec![json!({"name": "start", "transition": [{"target": "one"}]})];
    states.extend(commands.iter().enumerate().map(state));
    states.push(json!({"name": "stop"}));
    let mut flow = workflow(&json!(states));
    // no agent, so no model
    flow.as_object_mut().unwrap().retain(|key, _| key != "output" && key != "agents");
    flow
}

fn world_running(commands: [&str; 5]) -> (World, String) {
    let world = World::repository();
    world.write_file("old.txt", "old\n");
    world.write_json("talk.json", &five_states(commands));
    let run = ["run", "--workflow-file", "talk.json", "go", "--yes", "--json"];
    let report = world.run_program(&run).code(0).json();
    (world, report["run_id"].as_str().unwrap().to_owned())
}

fn snapshot_count(world: &World) -> usize {
    world.git(&["for-each-ref", "refs/synthdev/snapshots"]).lines().count()
}

/// What the history shows of each of the five states: the files that it changed.
fn changed_files(world: &World, run: &str) -> Vec<Vec<String>> {
    let project = std::fs::canonicalize(world.project()).unwrap();
    let catalog = ConfigCatalog::load(ConfigSources::default(), wiring::tool_specs(&project));
    let wired = wiring::wire_runtime(&project, &world.data(), &catalog, RunModels::default());
    let (snapshots, project) = (&*wired.ports.snapshots, project.display().to_string());
    let files = RunFiles { handle: &wired.handle, snapshots, project: &project };
    let of_step = |step| match files.changes_of_step(&RunId::from(run), step) {
        StepFileChanges::Known(changes) => changes.into_iter().map(|file| file.path).collect(),
        other => panic!("step {step}: {other:?}"),
    };
    (2..=6).map(of_step).collect()
}

fn files(world: &World) -> Vec<(String, Vec<u8>)> {
    World::files(&world.project()).into_iter().filter(|(path, _)| !path.starts_with(".git/")).collect()
}

/// How many snapshots a run of these commands leaves; `made`: of each state, whether `made.txt` is there before it.
fn check(commands: [&str; 5], snapshots: usize, made: [bool; 5]) {
    let (world, run) = world_running(commands);
    assert_eq!(snapshot_count(&world), snapshots, "{commands:?}");
    let steps = world.run_program(&["runs", "steps", &run, "--json"]).code(0).json();
    let ids: Vec<&Value> = steps.as_array().unwrap().iter().map(|step| &step["files"]).collect();
    assert!(ids.iter().all(|id| id.is_string()), "{steps}");
    let changed = changed_files(&world, &run);
    let expected =
        commands.map(|command| if command == "true" { vec![] } else { vec!["made.txt".to_owned()] });
    assert_eq!(changed, expected, "{commands:?}");
    for (at, there) in (2..).zip(made) {
        world.write_file("old.txt", "changed meanwhile");
        world.write_file("more.txt", "made meanwhile");
        let fork = ["runs", "fork", &run, "--at", &at.to_string(), "--restore-files", "--yes"];
        world.run_program(&fork).code(0);
        let names: Vec<String> = files(&world).into_iter().map(|(path, _)| path).collect();
        assert_eq!(names.contains(&"made.txt".to_owned()), there, "step {at} of {commands:?}: {names:?}");
        assert!(!names.contains(&"more.txt".to_owned()), "step {at} of {commands:?}: {names:?}");
        assert_eq!(world.read_file("old.txt"), "old\n", "step {at} of {commands:?}");
    }
    // the same in place, from the last state to the first
    for (at, there) in (2..).zip(made).collect::<Vec<_>>().into_iter().rev() {
        world.write_file("old.txt", "changed meanwhile");
        world.run_program(&["runs", "rewind", &run, "--to", &at.to_string(), "--yes"]).code(0);
        assert_eq!(world.project().join("made.txt").exists(), there, "step {at} of {commands:?}");
        assert_eq!(world.read_file("old.txt"), "old\n", "step {at} of {commands:?}");
    }
    let resumed = world.run_program(&["resume", &run, "--yes", "--json"]).code(0).json();
    assert_eq!(resumed["status"], "completed");
    world.run_program(&["runs", "undo", &run, "--yes"]).code(0);
    assert!(!world.project().join("made.txt").exists(), "{commands:?}: undone");
    assert_eq!(world.read_file("old.txt"), "old\n", "{commands:?}: undone");
}

const MAKE: &str = "echo made > made.txt";

#[tokio::test]
async fn states_that_change_nothing_share_the_snapshot_of_the_state_before_them() {
    check(["true"; 5], 1, [false; 5]);
    check(["true", "true", MAKE, "true", "true"], 2, [false, false, false, true, true]);
    check([MAKE, "true", "rm made.txt", "true", MAKE], 4, [false, true, true, false, false]);
}

/// A run counts as a whole where states share its snapshots: the newest run keeps all of its own.
#[test]
fn old_runs_go_and_what_the_states_of_the_newest_share_stays() {
    let (world, old) = world_running(["true", "true", MAKE, "true", "true"]);
    world.write_user_file("settings.json", &json!({"snapshots": {"keep": 1}}).to_string());
    let snapshots = |run: &str| {
        let steps = world.run_program(&["runs", "steps", run, "--json"]).code(0).json();
        let ids = steps.as_array().unwrap().iter().map(|step| step["files"].as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>()
    };
    world.write_file("old.txt", "other\n");
    let report =
        world.run_program(&["run", "--workflow-file", "talk.json", "go", "--yes", "--json"]).code(0).json();
    let new = report["run_id"].as_str().unwrap();
    let left = world.git(&["for-each-ref", "--format=%(refname)", "refs/synthdev/snapshots"]);
    assert!(snapshots(&old).iter().all(|id| !left.contains(id.as_str())), "{left}");
    assert!(snapshots(new).iter().all(|id| left.contains(id.as_str())), "{left}");
    world.run_program(&["runs", "rewind", new, "--to", "3", "--yes"]).code(0);
    let refused = world.run_program(&["runs", "rewind", &old, "--to", "3", "--yes"]);
    assert!(refused.code != Some(0), "{}", refused.stdout);
}

/// A run that shares the start of an earlier one can be undone as long as its own snapshots are kept.
#[test]
fn the_start_that_a_kept_run_shares_stays() {
    let world = World::repository();
    world.write_file("old.txt", "old\n");
    let run = |commands| {
        world.write_user_file("workflows/talk.json", &five_states(commands).to_string());
        let report = world.run_program(&["run", "talk", "go", "--yes", "--json"]).code(0).json();
        report["run_id"].as_str().unwrap().to_owned()
    };
    run(["true"; 5]);
    let start = world.git(&["for-each-ref", "--format=%(refname)", "refs/synthdev/snapshots"]);
    let second = run([MAKE, "true", "rm made.txt", "true", MAKE]);
    assert_eq!(snapshot_count(&world), 4, "the second run shares its start");
    world.write_user_file("settings.json", &json!({"snapshots": {"keep": 2}}).to_string());
    run(["true"; 5]);
    let left = world.git(&["for-each-ref", "--format=%(refname)", "refs/synthdev/snapshots"]);
    assert!(left.contains(start.trim()), "{start} is not among {left}");
    world.run_program(&["runs", "undo", &second, "--yes"]).code(0);
    assert!(!world.project().join("made.txt").exists());
    // once none of its own is among the newest, all of them go
    for text in ["one", "two", "three"] {
        world.write_file("old.txt", text);
        run(["true"; 5]);
    }
    let left = world.git(&["for-each-ref", "--format=%(refname)", "refs/synthdev/snapshots"]);
    assert!(!left.contains(start.trim()) && left.lines().count() == 2, "{left}");
}
