//! The program is killed while it changes the project's files as a whole: the next command reports it.

use std::fs;
use std::process::Stdio;

use serde_json::json;

use super::world::{Ran, World, wait_for};
use crate::support::skip::skip_row;

/// So many that a kill comes before the last of them.
const FILES: usize = 600;
const RUN: [&str; 4] = ["run", "--workflow-file", "w.json", "--yes"];

/// A project of many files, and a workflow that changes all of them.
fn project() -> World {
    let world = World::repository();
    (0..FILES).for_each(|at| drop(world.write_file(&format!("data/{at:04}"), "old\n")));
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "files"]);
    let change = "for f in data/*; do echo new > $f; done";
    let states = json!([
        {"name": "start", "type": "shell", "command": change, "transition": [{"target": "stop"}]},
        {"name": "stop"}
    ]);
    world.write_json("w.json", &json!({"workflow_name": "w", "states": states}));
    world
}

fn run_flow(world: &World, more: &[&str]) -> String {
    let report = world.run_program(&[&RUN[..], &["--json"], more].concat()).code(0).json();
    report["run_id"].as_str().unwrap().to_owned()
}

/// Without files that a killed program had begun to write: the next command removes them.
fn content(world: &World) -> Vec<Vec<u8>> {
    let files = World::files(&world.project().join("data")).into_iter();
    files.filter(|(name, _)| !name.starts_with('.')).map(|(_, bytes)| bytes).collect()
}

/// Kills the command as soon as the first file has the text; whether another one had not.
fn kill_midway(world: &World, arguments: &[&str], text: &[u8]) -> bool {
    let mut child = world.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let first = world.project().join("data/0000");
    wait_for("a file is changed", || (fs::read(&first).ok()? == text).then_some(()));
    child.kill().unwrap();
    child.wait().unwrap();
    let midway = content(world).iter().any(|bytes| bytes != text);
    if !midway {
        skip_row("all files were changed before the program could be killed");
    }
    midway
}

/// The snapshot behind `snapshot restore`.
fn undo_id(ran: &Ran) -> String {
    let all = format!("{}{}", ran.stdout, ran.stderr);
    let (_, rest) = all.split_once("snapshot restore ").unwrap_or_else(|| panic!("{all}"));
    rest.split_whitespace().next().unwrap().to_owned()
}

fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

/// Nothing starts, and each refusal names the command that finishes the change.
fn assert_refused_until(world: &World, finish: &str) {
    let runs = || world.run_program(&["runs", "list", "--json"]).code(0).json().as_array().unwrap().len();
    let before = (runs(), content(world));
    for more in [&[][..], &["--share"], &["--isolate"]] {
        let refused = world.run_program(&[&RUN[..], more].concat()).code(2);
        assert_says(&refused.stderr, &["of two moments", finish, "synthdev snapshot create"]);
    }
    assert_eq!((runs(), content(world)), before);
    assert_says(&world.run_program(&["snapshot", "list"]).code(0).stderr, &["of two moments", finish]);
}

#[test]
fn an_undo_is_finished_and_undone_as_one() {
    let world = project();
    let run_id = run_flow(&world, &[]);
    let command = ["runs", "undo", &run_id, "--yes"];
    if !kill_midway(&world, &command, b"old\n") {
        return;
    }
    assert_refused_until(&world, &format!("synthdev runs undo {run_id}"));
    let done = world.run_program(&command).code(0);
    assert_says(&done.stdout, &["has the files from just now"]);
    assert!(content(&world).iter().all(|bytes| bytes == b"old\n"));
    assert!(!world.run_program(&["runs", "show", &run_id]).code(0).stdout.contains("a restore of the files"));
    world.run_program(&["snapshot", "restore", &undo_id(&done), "--yes"]).code(0);
    assert!(content(&world).iter().all(|bytes| bytes == b"new\n"), "as before the first attempt");
    run_flow(&world, &[]);
}

#[test]
fn a_restore_is_finished_or_given_up() {
    let world = project();
    let listed = world.run_program(&["snapshot", "create"]).code(0).stdout;
    let to = listed.split([' ', ':']).nth(1).unwrap().to_owned();
    run_flow(&world, &[]);
    let command = ["snapshot", "restore", &to, "--yes"];
    for finish in [&command[..], &["snapshot", "create"]] {
        if !kill_midway(&world, &command, b"old\n") {
            return;
        }
        assert_refused_until(&world, &format!("synthdev snapshot restore {to}"));
        let before = content(&world);
        world.run_program(finish).code(0);
        assert_eq!(content(&world) == before, finish.contains(&"create"), "{finish:?}");
        assert!(!world.run_program(&["snapshot", "list"]).code(0).stderr.contains("of two moments"));
        // all of them are new again
        run_flow(&world, &[]);
    }
}

#[test]
fn a_merge_is_finished_and_undone_as_one() {
    let world = project();
    let run_id = run_flow(&world, &["--isolate"]);
    let command = ["runs", "merge", &run_id, "--yes"];
    if !kill_midway(&world, &command, b"new\n") {
        return;
    }
    assert_refused_until(&world, &format!("synthdev runs merge {run_id}"));
    assert_says(
        &world.run_program(&["runs", "show", &run_id]).code(0).stdout,
        &["a merge of this run was interrupted"],
    );
    assert_says(
        &world.run_program(&["runs", "discard", &run_id, "--yes"]).code(2).stderr,
        &["of two moments"],
    );
    let done = world.run_program(&command).code(0);
    assert_says(&done.stderr, &["was interrupted: this finishes it"]);
    assert!(content(&world).iter().all(|bytes| bytes == b"new\n"));
    assert!(!world.run_program(&["snapshot", "list"]).code(0).stderr.contains("of two moments"));
    world.run_program(&["snapshot", "restore", &undo_id(&done), "--yes"]).code(0);
    assert!(content(&world).iter().all(|bytes| bytes == b"old\n"), "as before the first attempt");
    world.git(&["checkout", "-q", "."]);
    let refused = world.run_program(&["runs", "discard", &run_id]).code(2);
    assert_says(&refused.stderr, &["0000", "… and 560 more", "600 changed"]);
    world.run_program(&command).code(0);
    assert!(content(&world).iter().all(|bytes| bytes == b"new\n"));
    assert_says(&world.run_program(&command).code(0).stderr, &["nothing to do"]);
}

#[test]
fn a_rewind_that_was_cut_off_is_over_when_the_files_are_brought_elsewhere() {
    let world = project();
    let stored = world.run_program(&["snapshot", "create"]).code(0).stdout;
    let stored = stored.split([' ', ':']).nth(1).unwrap().to_owned();
    let first = run_flow(&world, &[]);
    let second = run_flow(&world, &[]);
    for other in [&["snapshot", "restore", &stored, "--yes"][..], &["runs", "undo", &second, "--yes"]] {
        if !kill_midway(&world, &["runs", "rewind", &first, "--to", "1", "--yes"], b"old\n") {
            return;
        }
        assert_refused_until(&world, &format!("synthdev resume {first}"));
        let done = world.run_program(other).code(0);
        assert!(!done.stderr.contains("error"), "{other:?}: {}", done.stderr);
        let shown = world.run_program(&["runs", "show", &first]).code(0).stdout;
        assert!(!shown.contains("a restore of the files"), "{other:?}: {shown}");
        assert!(shown.contains("stands before step 1"), "{other:?}: {shown}");
        // it goes on over the files as they are now
        world.run_program(&["resume", &first, "--yes"]).code(0);
    }
}
