//! Old runs are deleted on request only.

use serde_json::{Value, json};

use super::super::world::{World, wait_for};
use super::{list_runs, run_question};

fn world_with_runs(count: usize) -> World {
    let world = World::new();
    world.write_talk(&json!([{"text": "Hi."}]));
    for _ in 0..count {
        world.run_talk(&[]).code(0);
    }
    world
}

fn run_gc(world: &World, more: &[&str]) -> Value {
    world.run_program(&[&["runs", "gc", "--json"], more].concat()).code(0).json()
}

#[test]
fn nothing_goes_unless_it_is_asked_for() {
    let world = world_with_runs(4);
    let paused = run_question(&world, "Shall I?");
    let all = list_runs(&world, &[]);
    let bare = world.run_program(&["runs", "gc"]).code(0);
    assert!(
        bare.stderr.contains("nothing is removed without") && bare.stdout.contains("runs "),
        "{}{}",
        bare.stderr,
        bare.stdout
    );
    let refused = world.run_program(&["runs", "gc", "--yes"]).code(2);
    assert!(refused.stderr.contains("--older-than"), "{}", refused.stderr);
    for (arguments, count, open) in [
        (&["--keep", "2"][..], 3, 0),
        (&["--keep", "0"], 4, 1),
        (&["--keep", "9"], 0, 0),
        (&["--older-than", "1"], 0, 0),
        (&["--older-than", "0"], 4, 1),
        (&["--older-than", "1", "--keep", "0"], 0, 0),
        (&["--older-than", "0", "--keep", "3"], 2, 0),
        (&["--older-than", "4294967295"], 0, 0),
    ] {
        let found = run_gc(&world, arguments);
        assert_eq!((&found["count"], &found["kept_open"]), (&json!(count), &json!(open)), "{arguments:?}");
        assert_eq!(found["removed"], false);
        assert_eq!(found["bytes"].as_u64().unwrap() > 0, count > 0, "{found}");
    }
    let shown = world.run_program(&["runs", "gc", "--keep", "0"]).code(0).stdout;
    assert!(
        shown.contains("would remove 4 runs")
            && shown.contains("add --yes")
            && shown.contains("kept: 1 run that"),
        "{shown}"
    );
    assert_eq!(list_runs(&world, &[]), all, "only shown");

    let promised = run_gc(&world, &["--keep", "2"]);
    let gone = run_gc(&world, &["--keep", "2", "--yes"]);
    assert_eq!(
        (&gone["removed"], &gone["count"], &gone["bytes"]),
        (&json!(true), &json!(3), &promised["bytes"])
    );
    let left = list_runs(&world, &[]);
    assert_eq!(left.len(), 2);
    assert_eq!(left[0]["id"], json!(paused));
    let last = world.run_program(&["runs", "gc", "--keep", "0", "--yes"]).code(0).stdout;
    assert!(last.contains("removed 1 run ") && last.contains("kept: 1 run"), "{last}");
    assert_eq!(list_runs(&world, &[])[0]["id"], json!(paused), "what waits stays");
    assert!(
        world
            .run_program(&["runs", "gc", "--keep", "0", "--yes"])
            .code(0)
            .stdout
            .contains("nothing to remove")
    );
    for arguments in [&["--keep=-1"][..], &["--keep", "-1"], &["--older-than", "soon"], &["--older-than=-3"]]
    {
        world.run_program(&[&["runs", "gc"], arguments].concat()).code(2);
    }
}

#[test]
fn the_oldest_runs_go_until_the_history_fits() {
    let world = world_with_runs(3);
    // the last run is as large as a megabyte and more
    world.write_talk(&json!([{"text": "word ".repeat(400_000)}]));
    world.run_talk(&[]).code(0);
    let all = list_runs(&world, &[]);
    for (megabytes, count) in [("0", 4), ("1", 4), ("1000", 0)] {
        let found = run_gc(&world, &["--max-size", megabytes]);
        assert_eq!((&found["count"], &found["removed"]), (&json!(count), &json!(false)), "{found}");
    }
    assert_eq!(
        run_gc(&world, &["--max-size", "0", "--keep", "3"])["runs"],
        json!([all[3]["id"]]),
        "both count"
    );
    world.write_talk(&json!([{"text": "Hi."}]));
    world.run_talk(&[]).code(0);
    let shown = world.run_program(&["runs", "gc", "--max-size", "1"]).code(0).stdout;
    assert!(shown.contains("would remove 4 runs") && shown.contains("the other runs take "), "{shown}");
    let gone = run_gc(&world, &["--max-size", "1", "--yes"]);
    assert_eq!((&gone["removed"], &gone["count"]), (&json!(true), &json!(4)), "{gone}");
    assert!(gone["bytes_left"].as_u64().unwrap() <= 1_000_000, "{gone}");
    assert_eq!(run_gc(&world, &["--max-size", "1"])["count"], 0, "it fits now");
    assert_eq!(list_runs(&world, &[]).len(), 1);
}

#[test]
fn one_run_is_removed_by_its_id() {
    let world = world_with_runs(2);
    let paused = run_question(&world, "Shall I?");
    let all = list_runs(&world, &[]);
    let over = all[1]["id"].as_str().unwrap();
    for (arguments, code, told) in
        [(&["nothing-like-it", "--yes"][..], 2, "nothing-like-it"), (&[over], 2, "add --yes")]
    {
        let refused = world.run_program(&[&["runs", "delete"], arguments].concat()).code(code);
        assert!(refused.stderr.contains(told), "{arguments:?}: {}", refused.stderr);
        assert_eq!(list_runs(&world, &[]), all, "{arguments:?}");
    }
    for (at, id) in [over, &paused].into_iter().enumerate() {
        let done = world.run_program(&["runs", "delete", id, "--yes"]).code(0);
        assert!(done.stdout.starts_with(&format!("removed run {id}: ")), "{}", done.stdout);
        assert_eq!(list_runs(&world, &[]).len(), 2 - at);
        world.run_program(&["runs", "show", id]).code(2);
    }
    assert_eq!(list_runs(&world, &[])[0]["id"], all[2]["id"]);
}

#[test]
fn a_run_that_works_is_not_removed() {
    let world = World::new();
    world.write_talk(&json!([{"text": "never", "delay_ms": 600_000}]));
    let arguments = ["run", "--workflow-file", "talk.json", "--replies", "replies.json", "x"];
    let mut child = world.command(&arguments).spawn().unwrap();
    let id = wait_for("it runs", || {
        let list = world.run_program(&["runs", "list", "--json"]).json();
        (list[0]["status"] == "running").then(|| list[0]["id"].as_str().unwrap().to_owned())
    });
    let refused = world.run_program(&["runs", "delete", &id, "--yes"]);
    assert_ne!(refused.code, Some(0));
    let told = format!("run {id} is working and was not removed");
    assert!(refused.stderr.contains(&told) && refused.stderr.contains("runs cancel"), "{}", refused.stderr);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn without_limits_nothing_is_counted_in_the_same_shape() {
    let world = world_with_runs(1);
    let nothing = run_gc(&world, &[]);
    assert_eq!(nothing, run_gc(&world, &["--keep", "9"]), "as where nothing is old enough");
    assert_eq!((&nothing["removed"], &nothing["count"]), (&json!(false), &json!(0)));
}

#[test]
fn what_the_history_takes_is_shown() {
    let world = World::new();
    let nothing = world.run_program(&["runs", "du", "--json"]).code(0).json();
    assert_eq!((&nothing["runs"], &nothing["file_bytes"]), (&json!(0), &json!(0)), "and nothing is made");
    world.write_talk(&json!([{"text": "Hi."}]));
    world.run_talk(&[]).code(0);
    world.run_program(&["runs", "search", "hello"]).code(0);
    let taken = world.run_program(&["runs", "du", "--json"]).code(0).json();
    for key in ["file_bytes", "runs", "rows", "blobs_bytes", "index_bytes", "oldest"] {
        assert!(taken[key].as_u64().unwrap() > 0, "{key}: {taken}");
    }
    assert_eq!((&taken["runs"], &taken["worktrees"]), (&json!(1), &json!([])));
    let shown = world.run_program(&["runs", "du"]).code(0).stdout;
    for part in ["runs.sqlite", "file ", "free ", "index ", "previews ", "rows ", "snapshots ", "worktrees "]
    {
        assert!(shown.contains(part), "no `{part}` in\n{shown}");
    }
}

/// A workflow whose runs change one file.
fn world_with_writing_runs() -> World {
    let world = World::repository();
    let write = json!({"name": "start", "type": "shell", "command": "date +%N > own.txt",
        "transition": [{"target": "stop"}]});
    world.write_json("w.json", &json!({"workflow_name": "w", "states": [write, {"name": "stop"}]}));
    world
}

fn start_writing_run(world: &World) -> String {
    let arguments = ["run", "--workflow-file", "w.json", "--yes", "--json"];
    world.run_program(&arguments).code(0).json()["run_id"].as_str().unwrap().to_owned()
}

fn count_snapshots(world: &World) -> usize {
    world.git(&["for-each-ref", "refs/synthdev/snapshots"]).lines().count()
}

#[test]
fn snapshots_go_with_their_runs_only_on_request_and_not_while_a_fork_needs_them() {
    let world = world_with_writing_runs();
    let origin = start_writing_run(&world);
    start_writing_run(&world);
    world.run_program(&["snapshot", "create", "mine"]).code(0);
    assert_eq!(count_snapshots(&world), 4, "the second run starts from what the first one left");
    world.run_program(&["runs", "fork", &origin, "--at", "2"]).code(0);
    let shown = run_gc(&world, &["--keep", "0", "--snapshots"]);
    assert_eq!((&shown["count"], &shown["snapshots"]), (&json!(2), &json!(1)));
    assert_eq!(count_snapshots(&world), 4, "only shown");
    let gone = run_gc(&world, &["--keep", "0", "--snapshots", "--yes"]);
    assert_eq!((&gone["removed"], &gone["snapshots"]), (&json!(true), &json!(1)));
    assert_eq!(count_snapshots(&world), 3, "those of the origin and the user's own stay");
    let last = start_writing_run(&world);
    assert_eq!(run_gc(&world, &["--keep", "0", "--yes"])["snapshots"], Value::Null);
    assert_eq!(count_snapshots(&world), 5, "{last}");
}

#[test]
fn a_snapshot_that_a_later_run_started_from_stays_without_the_run_that_took_it() {
    let world = world_with_writing_runs();
    start_writing_run(&world);
    let before = world.read_file("own.txt");
    let second = start_writing_run(&world);
    assert_ne!(world.read_file("own.txt"), before);
    let gone = run_gc(&world, &["--keep", "1", "--snapshots", "--yes"]);
    assert_eq!((&gone["count"], &gone["snapshots"]), (&json!(1), &json!(1)));
    world.run_program(&["runs", "undo", &second, "--yes"]).code(0);
    assert_eq!(world.read_file("own.txt"), before);
}
