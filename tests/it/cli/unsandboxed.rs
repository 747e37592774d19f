//! A machine on which no sandbox works, without a screen: nothing is executed, and the way out is named.

use serde_json::{Value, json};

use super::world::{Ran, World};
use crate::support::skip::{skip_row, skip_sandbox_row};

const NO_LAYER: &str = r#"{"sandbox": {"layer": "none"}, "approvals": {"execute": "allow"}}"#;

fn command() -> Value {
    json!([{"tool_calls": [{"name": "execute_terminal", "arguments": {"command": "echo ran >ran.txt"}}]},
        {"text": "done"}])
}

fn step(more: &Value) -> Value {
    let mut start = json!({"name": "start", "type": "shell", "command": "echo ran >ran.txt",
        "transition": [{"target": "stop"}]});
    start.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"workflow_name": "w", "snapshot": "off", "states": [start, {"name": "stop", "input": {"text": "ended"}}]})
}

fn assert_refused(world: &World, ran: &Ran) {
    let error = &ran.json()["error"];
    assert_eq!(error["code"], "tool.denied", "{error}");
    let told = format!("{} {}", error["detail"], error["hint"]);
    for part in ["no sandbox works on this machine", "install bubblewrap", "--no-sandbox"] {
        assert!(told.contains(part), "{part}: {error}");
    }
    assert!(!world.project().join("ran.txt").exists(), "it was executed");
}

#[test]
fn no_command_is_executed_without_a_sandbox_unless_the_command_line_says_so() {
    let world = World::new();
    world.write_user_file("settings.json", NO_LAYER);
    world.write_talk(&command());
    for more in [&["--json"][..], &["--json", "--yes"]] {
        assert_refused(&world, &world.run_talk(more).code(5));
    }
    let told = world.run_talk(&["--yes"]).code(5).stderr;
    for part in ["error[tool.denied]", "install bubblewrap", "--no-sandbox"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    world.run_talk(&["--json", "--yes", "--no-sandbox"]).code(0);
    assert_eq!(world.read_file("ran.txt"), "ran\n");
}

#[test]
fn a_step_without_a_sandbox_ends_the_run_whatever_exit_it_expects() {
    let world = World::new();
    world.write_user_file("settings.json", NO_LAYER);
    let run =
        |more: &[&str]| world.run_program(&[&["run", "--workflow-file", "w.json", "--json"], more].concat());
    for more in [json!({}), json!({"expect_exit": "any"})] {
        world.write_json("w.json", &step(&more));
        assert_refused(&world, &run(&["--yes"]).code(5));
    }
    // a workflow may deal with it
    world.write_json("w.json", &step(&json!({"catch": [{"errors": ["tool.denied"], "target": "stop"}]})));
    assert_eq!(run(&["--yes"]).code(0).json()["output"], "ended");
    assert!(!world.project().join("ran.txt").exists(), "it was executed");
    // the run that was refused goes on with the flag
    world.write_json("w.json", &step(&json!({})));
    let failed = run(&["--yes"]).code(5).json();
    let id = failed["run_id"].as_str().unwrap();
    assert_refused(&world, &world.run_program(&["resume", id, "--yes", "--json"]).code(5));
    world.run_program(&["resume", id, "--yes", "--json", "--no-sandbox"]).code(0);
    assert_eq!(world.read_file("ran.txt"), "ran\n");
}

#[test]
fn a_project_cannot_choose_the_layer() {
    let world = World::new();
    world.write_file(".synthdev/settings.json", r#"{"sandbox": {"layer": "none"}}"#);
    let told = world.run_program(&["--trust", "sandbox"]);
    assert!(!told.stdout.contains("`sandbox.layer` is none"), "{}{}", told.stdout, told.stderr);
}

#[test]
fn private_directories_are_explained_as_the_layer_makes_them() {
    let world = World::new();
    for (layer, temporary, memory) in [
        ("bubblewrap", "read and write", "read and write"),
        ("landlock", "read only", "hidden"),
        ("none", "read only", "read only"),
    ] {
        let settings = format!(r#"{{"sandbox": {{"layer": "{layer}"}}}}"#);
        world.write_user_file("settings.json", &settings);
        let report = world.run_program(&["sandbox"]).stdout;
        if layer != "none" && !report.contains(&format!("enforced by: {layer}")) {
            let reason = format!("the layer {layer} does not work here");
            if cfg!(target_os = "linux") {
                skip_sandbox_row(&reason)
            } else {
                skip_row(&reason)
            }
            continue;
        }
        assert_eq!(report.contains("  /var/tmp (private"), layer == "bubblewrap", "{report}");
        for (path, expected) in [
            ("/var/tmp/x", temporary),
            ("/tmp/x", temporary),
            ("/dev/shm/x", memory),
            ("/etc/x", "read only"),
        ] {
            let told = world.run_program(&["sandbox", "explain", path, "--json"]).code(0).json();
            assert_eq!(told["access"], expected, "{layer}, {path}: {told}");
        }
    }
}

#[test]
fn doctor_and_sandbox_say_that_nothing_holds_commands() {
    let world = World::new();
    world.write_user_file("settings.json", r#"{"sandbox": {"layer": "none"}}"#);
    for question in ["doctor", "sandbox"] {
        let told = world.run_program(&[question]).code(1).stdout;
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "no sandbox works on this machine (`sandbox.layer` is none)",
            "on screen, synthdev asks before each command; without a screen, it executes none",
            "install bubblewrap",
            "--no-sandbox",
        ] {
            assert!(told.contains(part), "{question}: {part}: {told}");
        }
    }
}
