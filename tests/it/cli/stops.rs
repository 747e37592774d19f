//! `run --step` and `--break`: a run without a screen stops, and `resume` continues it.

use serde_json::{Value, json};

use super::world::{World, workflow};

/// `start`, then `second`, which reads what was set.
fn two_state_workflow() -> Value {
    let mut flow = workflow(&json!([
        {"name": "start", "transition": [{"target": "second"}]},
        {"name": "second", "action": {"script": "() => { common_data.seen = 42; }"},
         "transition": [{"target": "stop"}]},
        {"name": "stop", "input": {"expr": "String(common_data.seen)"}},
    ]));
    flow["input"]["required"] = json!(false);
    flow
}

fn world() -> World {
    let world = World::new();
    world.write_json("flow.json", &two_state_workflow());
    world.write_file("replies.json", "{\"replies\": {}}");
    world
}

const RUN: [&str; 7] = ["run", "--workflow-file", "flow.json", "--replies", "replies.json", "x", "--json"];

#[test]
fn a_run_stands_at_a_breakpoint_and_is_taken_up() {
    let world = world();
    let report = world.run_program(&[&RUN[..], &["--break", "second"]].concat()).code(3).json();
    assert_eq!((&report["status"], &report["path"]), (&json!("paused"), &json!(["start"])), "{report}");
    let told = report["error"]["detail"].as_str().unwrap();
    assert!(told.contains("before state `second`") && told.contains("breakpoint: state second"), "{report}");
    let run = report["run_id"].as_str().unwrap();
    let shown = world.run_program(&["runs", "show", run]).code(0).stdout;
    assert!(
        shown.contains("breakpoints: state second") && shown.contains("stands before state `second`"),
        "{shown}"
    );
    let done = world.run_program(&["resume", run, "--replies", "replies.json", "--json"]).code(0).json();
    assert_eq!((&done["output"], &done["path"]), (&json!("42"), &json!(["start", "second", "stop"])));
}

#[test]
fn a_run_goes_state_by_state() {
    let world = world();
    let first = world.run_program(&[&RUN[..], &["--step"]].concat()).code(3).json();
    assert_eq!(first["path"], json!([]), "{first}");
    let run = first["run_id"].as_str().unwrap();
    let resume = || world.run_program(&["resume", run, "--replies", "replies.json", "--json"]);
    let second = resume().code(3).json();
    assert_eq!(second["path"], json!(["start"]), "{second}");
    let done = resume().code(0).json();
    assert_eq!(done["path"], json!(["start", "second", "stop"]), "{done}");
}

#[test]
fn what_is_no_breakpoint_starts_nothing() {
    let world = world();
    for (point, part) in [
        ("secnd", "did you mean"),
        ("tool:nothing", "no such tool"),
        ("spend:much", "spend:0.50"),
        ("when:x", "tool:NAME"),
    ] {
        let refused = world.run_program(&[&RUN[..], &["--break", point]].concat()).code(2);
        assert!(
            refused.stderr.contains(part) || refused.stdout.contains(part),
            "{point}: {} {}",
            refused.stderr,
            refused.stdout
        );
    }
    let list = world.run_program(&["runs", "list", "--json"]).code(0).stdout;
    assert!(!list.contains("\"id\""), "{list}");
}

#[test]
fn a_run_that_is_taken_up_stands_where_it_is_told_to() {
    let world = world();
    let first = world.run_program(&[&RUN[..], &["--break", "start"]].concat()).code(3).json();
    let run = first["run_id"].as_str().unwrap();
    let resume = |more: &[&str]| {
        world.run_program(&[&["resume", run, "--replies", "replies.json", "--json"], more].concat())
    };
    let unknown = resume(&["--break", "secnod"]).code(2);
    assert!(unknown.stderr.contains("second"), "{}", unknown.stderr);
    let second = resume(&["--break", "second"]).code(3).json();
    assert_eq!(second["path"], json!(["start"]), "{second}");
    let done = resume(&[]).code(0).json();
    assert_eq!(done["path"], json!(["start", "second", "stop"]), "{done}");
    // step by step from there on
    let first = world.run_program(&[&RUN[..], &["--break", "start"]].concat()).code(3).json();
    let run = first["run_id"].as_str().unwrap();
    let stepped =
        world.run_program(&["resume", run, "--replies", "replies.json", "--json", "--step"]).code(3).json();
    assert_eq!(stepped["path"], json!(["start"]), "{stepped}");
}
