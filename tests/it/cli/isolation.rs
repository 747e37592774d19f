//! Worktrees of isolated runs, and who may change a project's files beside whom.

use std::process::Child;

use serde_json::{Value, json};

use super::world::{Ran, World, wait_for, workflow};

/// A project with a file to change and one to delete.
fn project() -> World {
    let world = World::repository();
    world.write_file("edited.txt", "before\n");
    world.write_file("gone.txt", "x\n");
    world
}

fn shell(name: &str, command: &str, next: &str) -> Value {
    json!({"name": name, "type": "shell", "command": command, "transition": [{"target": next}]})
}

fn write_flow(world: &World, states: &Value) {
    let mut flow = workflow(states);
    flow["input"]["required"] = json!(false);
    for place in ["", "sub/"] {
        world.write_json(&format!("{place}flow.json"), &flow);
        world.write_file(&format!("{place}replies.json"), "{\"replies\": {}}");
    }
}

const BASE: [&str; 7] = ["run", "--workflow-file", "flow.json", "--replies", "replies.json", "x", "--yes"];

/// Changes one file, makes one, deletes one, then waits for an answer and changes once more.
fn run_isolated(world: &World) -> String {
    write_flow(
        world,
        &json!([
            shell("start", "echo run > edited.txt; echo 1 > made.txt; rm gone.txt", "ask"),
            {"name": "ask", "type": "pause", "kind": "text", "message": {"text": "On?"},
                "transition": [{"target": "more"}]},
            shell("more", "echo 2 > made.txt", "stop"),
            {"name": "stop"}
        ]),
    );
    let report = world.run_program(&[&BASE[..], &["--isolate", "--json"]].concat()).code(3).json();
    report["run_id"].as_str().unwrap().to_owned()
}

fn resume_run(world: &World, run: &str) {
    world.run_program(&["resume", run, "--results", "on", "--replies", "replies.json", "--yes"]).code(0);
}

fn assert_says(ran: &Ran, parts: &[&str]) {
    for part in parts {
        assert!(ran.stderr.contains(part), "no `{part}` in\n{}", ran.stderr);
    }
}

fn worktree_path(world: &World, run: &str) -> std::path::PathBuf {
    let list = world.run_program(&["runs", "list", "--json"]).code(0).json();
    let found = list.as_array().unwrap().iter().find(|row| row["id"] == run).unwrap();
    found["worktree"]["path"].as_str().unwrap().into()
}

#[test]
fn unmerged_work_is_not_thrown_away_unasked() {
    let world = project();
    let run = run_isolated(&world);
    let tree = worktree_path(&world, &run);
    let refused = world.run_program(&["runs", "discard", &run]).code(2);
    let list = ["  change       edited.txt", "  delete       gone.txt", "  create       made.txt"];
    assert_says(&refused, &list);
    assert_says(&refused, &["is paused", "cannot continue", "--yes"]);
    assert!(tree.join("made.txt").exists());
    resume_run(&world, &run);
    let refused = world.run_program(&["runs", "discard", &run]).code(2);
    assert_says(&refused, &list);
    assert!(!refused.stderr.contains("cannot continue"), "{}", refused.stderr);

    // a conflicted merge commits to the branch, and merges nothing
    world.write_file("edited.txt", "mine\n");
    world.run_program(&["runs", "merge", &run, "--yes"]).code(2);
    assert_says(&world.run_program(&["runs", "discard", &run]).code(2), &list);
    assert!(tree.join("made.txt").exists());
    world.write_file("edited.txt", "before\n");
    let merged = world.run_program(&["runs", "merge", &run, "--yes"]).code(0);
    assert_says(&merged, &list);
    world.run_program(&["runs", "discard", &run]).code(0);
    assert!(!tree.exists());
    let again = world.run_program(&["runs", "discard", &run]).code(0);
    assert_says(&again, &["removed already"]);
    assert_says(&world.run_program(&["runs", "merge", &run, "--yes"]).code(2), &["were removed"]);

    world.write_file("gone.txt", "x\n");
    let run = run_isolated(&world);
    world.run_program(&["runs", "discard", &run, "--yes"]).code(0);
    let gone = world.run_program(&["resume", &run, "--results", "on", "--replies", "replies.json"]).code(2);
    assert_says(&gone, &["worktree", "gone", "runs fork"]);
}

#[test]
fn a_run_that_went_on_is_merged_again() {
    let world = project();
    let run = run_isolated(&world);
    world.run_program(&["runs", "merge", &run, "--yes"]).code(0);
    assert_eq!(world.read_file("made.txt"), "1\n");
    assert_says(&world.run_program(&["runs", "merge", &run, "--yes"]).code(0), &["nothing to do"]);
    resume_run(&world, &run);
    let shown = world.run_program(&["runs", "merge", &run, "--dry-run"]).code(0);
    assert_says(&shown, &["  change       made.txt"]);
    assert!(!shown.stderr.contains("edited.txt"), "it was brought before: {}", shown.stderr);
    world.run_program(&["runs", "merge", &run, "--yes"]).code(0);
    assert_eq!(world.read_file("made.txt"), "2\n");
    world.run_program(&["runs", "discard", &run]).code(0);
}

/// A run that waits for a minute; its id once it is there.
fn start_waiting_run(world: &World, at: &str, more: &[&str]) -> (Child, String) {
    let place = world.project().join(at);
    let place = place.to_str().unwrap();
    let running = || world.run_program(&["runs", "list", "--status", "running", "--json"]).code(0).json();
    let before = running().as_array().unwrap().len();
    let child = world.command(&[&["-C", place], &BASE[..], more].concat()).spawn().unwrap();
    let id = wait_for("it waits", || {
        let list = running();
        let there = list.as_array()?.len() > before && list[0]["path"] == json!(["start", "slow"]);
        there.then(|| list[0]["id"].as_str().unwrap().to_owned())
    });
    (child, id)
}

fn write_slow(world: &World) {
    write_flow(
        world,
        &json!([
            shell("start", "touch ran.txt", "slow"),
            {"name": "slow", "type": "wait", "duration": 60, "transition": [{"target": "stop"}]},
            {"name": "stop"}
        ]),
    );
}

fn end_child(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn files_are_not_changed_under_the_hands_of_a_run_even_if_it_shares() {
    let world = project();
    world.run_program(&["snapshot", "create"]).code(0);
    let apart = run_isolated(&world);
    write_flow(&world, &json!([shell("start", "touch once.txt", "stop"), {"name": "stop"}]));
    let done = world.run_program(&[&BASE[..], &["--json"]].concat()).code(0).json();
    let done = done["run_id"].as_str().unwrap();
    let snapshot = world.run_program(&["snapshot", "list", "--json"]).code(0).json();
    let snapshot = snapshot[0]["id"].as_str().unwrap().to_owned();
    write_slow(&world);
    for more in [&[][..], &["--share"]] {
        let (child, id) = start_waiting_run(&world, "", more);
        let files = || {
            let mut files = World::files(&world.project());
            // the run's own snapshots
            files.retain(|(path, _)| !path.contains(".git/"));
            files
        };
        let before = files();
        let here = world.project().display().to_string();
        for command in [
            &["runs", "merge", &apart, "--yes"][..],
            &["snapshot", "restore", &snapshot, "--yes"],
            &["runs", "undo", done, "--yes"],
        ] {
            assert_says(&world.run_program(command).code(2), &[&id, &here]);
        }
        assert!(files() == before, "nothing was changed: {more:?}");
        if more.is_empty() {
            // another run works beside it knowingly only, also from within
            assert_says(&world.run_program(&BASE).code(2), &[&id, "--share", &here]);
            let sub = world.project().join("sub");
            assert_says(
                &world.run_program(&[&["-C", sub.to_str().unwrap()], &BASE[..]].concat()).code(2),
                &[&id, &here],
            );
            let (beside, cut) = start_waiting_run(&world, "", &["--share"]);
            end_child(beside);
            // a run that is resumed has its files already
            let refused = world.run_program(&["resume", &cut, "--replies", "replies.json"]).code(2);
            assert_says(&refused, &[&id, "wait for it, or share the files (--share)"]);
            assert!(!refused.stderr.contains("--isolate"), "{}", refused.stderr);
        }
        end_child(child);
    }
    world.run_program(&["snapshot", "restore", &snapshot, "--yes"]).code(0);
    world.run_program(&["runs", "merge", &apart, "--yes"]).code(0);
    assert_eq!(world.read_file("made.txt"), "1\n");
}

#[test]
fn a_run_is_not_merged_while_it_runs() {
    let world = project();
    write_slow(&world);
    let (child, id) = start_waiting_run(&world, "", &["--isolate"]);
    assert_says(&world.run_program(&["runs", "merge", &id, "--yes"]).code(2), &["still running"]);
    assert_says(&world.run_program(&["runs", "discard", &id, "--force"]).code(2), &["still running"]);
    // it works elsewhere, so nobody waits for it
    let mut states = json!([shell("start", "touch once.txt", "stop")]);
    states.as_array_mut().unwrap().push(json!({"name": "stop"}));
    write_flow(&world, &states);
    world.run_program(&BASE).code(0);
    end_child(child);
    assert_says(&world.run_program(&["runs", "merge", &id, "--yes"]).code(0), &["  create       ran.txt"]);
}

#[test]
fn a_worktree_that_is_gone_is_merged_from_its_last_snapshot() {
    let world = project();
    let run = run_isolated(&world);
    std::fs::remove_dir_all(worktree_path(&world, &run)).unwrap();
    let shown = world.run_program(&["runs", "show", &run]).code(0).stdout;
    assert!(shown.contains("worktree   gone; it was"), "{shown}");
    assert_says(
        &world.run_program(&["resume", &run, "--results", "on"]).code(2),
        &["is gone", "runs merge", "runs fork"],
    );
    let list = ["is gone", "its last snapshot", "  change       edited.txt", "  create       made.txt"];
    assert_says(&world.run_program(&["runs", "merge", &run, "--dry-run"]).code(0), &list);
    let refused = world.run_program(&["runs", "discard", &run]).code(2);
    assert_says(&refused, &list);
    assert_says(&refused, &["would be lost", "--yes"]);
    assert_says(&world.run_program(&["runs", "merge", &run, "--yes"]).code(0), &["3 files merged; undo:"]);
    assert_eq!((world.read_file("edited.txt"), world.read_file("made.txt")), ("run\n".into(), "1\n".into()));
    assert_says(
        &world.run_program(&["runs", "merge", &run]).code(0),
        &["is gone", "everything that was kept"],
    );
    world.run_program(&["runs", "discard", &run]).code(0);
    assert_says(&world.run_program(&["runs", "merge", &run]).code(2), &["were removed"]);
}

#[test]
fn what_was_taken_out_of_the_project_is_not_thrown_away_unasked() {
    let world = project();
    let run = run_isolated(&world);
    std::fs::copy(worktree_path(&world, &run).join("made.txt"), world.project().join("made.txt")).unwrap();
    world.run_program(&["runs", "merge", &run, "--yes"]).code(0);
    std::fs::remove_file(world.project().join("made.txt")).unwrap();
    let refused = world.run_program(&["runs", "discard", &run]).code(2);
    assert_says(&refused, &["would be lost", "  create       made.txt"]);
    assert_says(&world.run_program(&["runs", "merge", &run, "--yes"]).code(0), &["1 file merged"]);
    assert_eq!(world.read_file("made.txt"), "1\n");
}

#[test]
fn a_trial_tells_the_conflicts_and_ends_as_the_merge() {
    let world = project();
    let run = run_isolated(&world);
    world.write_file("edited.txt", "mine\n");
    let conflict = ["  conflict     edited.txt (changed in the project and by the run)", "cannot be merged"];
    assert_says(&world.run_program(&["runs", "merge", &run, "--dry-run"]).code(2), &conflict);
    // nobody has to agree to what will not happen
    let real = world.run_program(&["runs", "merge", &run]).code(2);
    assert_says(&real, &conflict);
    assert_says(&real, &["merge manually: git merge synthdev/"]);
}

#[test]
fn an_isolated_run_is_undone_by_undoing_its_merge() {
    let world = project();
    let run = run_isolated(&world);
    assert_says(
        &world.run_program(&["runs", "undo", &run]).code(2),
        &["works in a worktree of its own", "discard its files with: synthdev runs discard"],
    );
    world.run_program(&["runs", "merge", &run, "--yes"]).code(0);
    let told = world.run_program(&["runs", "undo", &run]).code(2);
    assert_says(&told, &["was merged into the project", "undo that merge with: synthdev snapshot restore "]);
    let (_, safety) = told.stderr.trim().rsplit_once(' ').unwrap();
    world.run_program(&["snapshot", "restore", safety, "--yes"]).code(0);
    assert_eq!(world.read_file("edited.txt"), "before\n");
    world.run_program(&["runs", "discard", &run, "--yes"]).code(0);
    let shown = world.run_program(&["runs", "show", &run]).code(0).stdout;
    assert!(shown.contains("gone; it was") && !shown.contains("discard its files"), "{shown}");
}
