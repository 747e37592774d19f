//! Things that go wrong around a run: no place to record, no snapshot, approvals, several at once.

use serde_json::json;

use super::world::{World, talk_workflow, workflow};

fn write_then_done() -> serde_json::Value {
    let write = json!({"file_path": "made.txt", "content": "made"});
    json!([{"tool_calls": [{"name": "write_file", "arguments": write}]}, {"text": "Done."}])
}

#[test]
fn without_a_place_to_record_nothing_is_started() {
    let world = World::new();
    world.write_talk(&write_then_done());
    std::fs::write(world.data(), "a file where the directory should be").unwrap();
    let ran = world.run_talk(&["--yes", "--json"]).code(2);
    assert_eq!(ran.json()["error"]["code"], "refused");
    assert!(ran.stderr.contains(&world.data().display().to_string()), "it says where: {}", ran.stderr);
    assert!(!world.project().join("made.txt").exists());
}

#[test]
fn without_a_snapshot_a_headless_run_goes_on_and_says_so() {
    let mut world = World::new();
    world.write_talk(&write_then_done());
    let project = world.project().display().to_string();
    world.set_variable("HOME", &project);
    let ran = world.run_talk(&["--yes", "--json"]).code(0);
    let report = ran.json();
    assert_eq!(report["snapshot"], json!(null));
    let codes: Vec<&str> =
        report["warnings"].as_array().unwrap().iter().filter_map(|one| one["code"].as_str()).collect();
    assert_eq!(codes, ["no_snapshot"], "{report}");
    let told = world.run_talk(&["--yes"]).code(0);
    assert!(
        told.stderr.contains("warning: no snapshot") && !told.stderr.contains("undo the file"),
        "{}",
        told.stderr
    );
}

#[test]
fn approvals_follow_the_settings_and_yes_never_widens_a_denial() {
    let rows = [
        (json!({}), false, 5, false),
        (json!({}), true, 0, true),
        (json!({"write": "allow"}), false, 0, true),
        (json!({"tools": {"write_file": "allow"}}), false, 0, true),
        (json!({"write": "deny"}), false, 0, false),
        (json!({"write": "deny"}), true, 0, false),
        (json!({"write": "allow", "tools": {"write_file": "deny"}}), true, 0, false),
    ];
    for (approvals, yes, code, written) in rows {
        let world = World::new();
        world.write_talk(&write_then_done());
        world.write_user_file("settings.json", &json!({"approvals": approvals}).to_string());
        let ran = world.run_talk(if yes { &["--yes", "--json"] } else { &["--json"] });
        assert_eq!(ran.code, Some(code), "{approvals} {yes}\n{}{}", ran.stdout, ran.stderr);
        assert_eq!(world.project().join("made.txt").exists(), written, "{approvals} {yes}");
    }
}

#[test]
fn several_runs_at_once_share_one_project_and_one_store() {
    let world = World::repository();
    world.write_talk(&write_then_done());
    let arguments = [
        "run",
        "--workflow-file",
        "talk.json",
        "--replies",
        "replies.json",
        "x",
        "--yes",
        "--share",
        "--json",
    ];
    let children: Vec<_> = (0..5).map(|_| world.command(&arguments).spawn().unwrap()).collect();
    let mut ids = Vec::new();
    for child in children {
        let done = child.wait_with_output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
        let report: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        assert_eq!(report["warnings"], json!([]), "each has its snapshot");
        ids.push(report["run_id"].as_str().unwrap().to_owned());
    }
    let list = world.run_program(&["runs", "list", "--json"]).code(0).json();
    assert_eq!(list.as_array().unwrap().len(), 5);
    for id in &ids {
        assert!(
            world.run_program(&["runs", "show", id]).code(0).stdout.contains("status     completed"),
            "{id}"
        );
    }
    assert_eq!(
        world.run_program(&["runs", "list", "--json", "--limit", "2"]).json().as_array().unwrap().len(),
        2
    );
    world.git(&["fsck", "--no-dangling"]);
}

#[test]
fn a_child_workflow_is_part_of_the_path_and_what_failed_in_it_is_told() {
    let world = World::new();
    let mut child = talk_workflow();
    child["workflow_name"] = json!("child");
    world.write_user_file("workflows/child.json", &child.to_string());
    let mut parent = talk_workflow();
    parent["states"][1] = json!({"name": "call", "action": {"sub_workflow": "child", "sub_workflow_input": {"task": "common_data.task"}},
        "transition": [{"target": "stop", "condition": "true",
            "before": "() => { this.common_data.result = this.sub_workflow_result; }"}]});
    parent["states"][0]["transition"][0]["target"] = json!("call");
    world.write_json("talk.json", &parent);
    world.write_json("replies.json", &json!({"replies": {"coder": [{"text": "From below."}]}}));
    let report = world.run_talk(&["--json"]).code(0).json();
    assert_eq!(report["output"], "From below.");
    assert_eq!(report["path"], json!(["start", "call", "child/start", "child/say", "child/stop", "stop"]));
    world.write_json(
        "replies.json",
        &json!({"replies": {"coder": [{"error": {"kind": "auth", "message": "no"}}]}}),
    );
    let ran = world.run_talk(&["--json"]).code(1);
    let report = ran.json();
    assert_eq!(report["path"], json!(["start", "call", "child/start", "child/say"]));
    assert_eq!(report["error"]["code"], "sub_workflow_failed");
    assert!(report["error"].to_string().contains("model.auth"), "{report}");
    world.write_json("replies.json", &json!({"replies": {"coder": write_then_done()}}));
    world.run_talk(&["--json"]).code(5);
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let world = World::new();
    world.write_talk(&json!([{"text": "Hi."}]));
    world.run_talk(&[]).code(0);
    let mut child = world.command(&["tools", "--json"]).spawn().unwrap();
    drop(child.stdout.take());
    let done = child.wait_with_output().unwrap();
    assert_eq!((done.status.code(), String::from_utf8(done.stderr).unwrap().as_str()), (Some(0), ""));
}

#[test]
fn a_run_whose_reader_leaves_is_cancelled_and_recorded() {
    let world = World::new();
    let many: Vec<_> = (0..200).map(|_| json!({"name": "list_directory", "arguments": {}})).collect();
    world.write_talk(&json!([{"tool_calls": many}, {"text": "never", "delay_ms": 600_000}]));
    let arguments =
        ["run", "--workflow-file", "talk.json", "--replies", "replies.json", "x", "--events", "--json"];
    let mut child = world.command(&arguments).spawn().unwrap();
    drop(child.stdout.take());
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(130), "{}", String::from_utf8_lossy(&done.stderr));
    let list = world.run_program(&["runs", "list", "--json"]).code(0).json();
    assert_eq!(list[0]["status"], "cancelled", "{list}");
}

#[test]
fn a_closed_stderr_breaks_nothing() {
    let world = World::new();
    world.write_talk(&write_then_done());
    for (arguments, code) in [
        (&["run", "--workflow-file", "talk.json", "--replies", "replies.json", "x", "--yes"][..], 0),
        (&["run", "--workflow-file", "talk.json", "--replies", "replies.json", "x"], 5),
        (&["runs", "show", "nowhere"], 2),
        (&["demo", "--headless"], 0),
    ] {
        let mut child = world.command(arguments).spawn().unwrap();
        drop(child.stderr.take());
        let done = child.wait_with_output().unwrap();
        assert_eq!(done.status.code(), Some(code), "{arguments:?}");
    }
}

/// However many steps are allowed, memory is not filled by states that do nothing.
#[test]
fn a_circle_without_work_stops() {
    let world = World::new();
    let mut flow = workflow(&json!([
        {"name": "start", "transition": [{"target": "again"}]},
        {"name": "again", "transition": [{"target": "start"}]},
        {"name": "stop"}
    ]));
    flow["limits"] = json!({"max_steps": 4_000_000_000_u32, "max_visits": 4_000_000_000_u32});
    world.write_json("round.json", &flow);
    world.write_file("none.json", "{\"replies\": {}}");
    let arguments = ["run", "--workflow-file", "round.json", "--replies", "none.json", "x"];
    let ran = world.run_program(&arguments).code(4);
    assert!(ran.stderr.contains("without any work in between"), "{}", ran.stderr);
}

/// The run is not affected: it completes, and a message says where its output is now.
#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_changes_no_run() {
    let world = World::new();
    world.write_talk(&json!([{"text": "Hi."}]));
    for flag in ["--json", "--events", "--yes"] {
        let base = ["run", "--workflow-file", "talk.json", "--replies", "replies.json", "hello", flag];
        let mut command = world.command(&base);
        command.stdout(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
        let done = command.output().unwrap();
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(0), "{flag}: {told}");
        assert!(
            told.contains("could not be written to stdout") && told.contains("runs show"),
            "{flag}: {told}"
        );
    }
    let list = world.run_program(&["runs", "list", "--json"]).code(0).json();
    assert!(list.as_array().unwrap().iter().all(|run| run["status"] == "completed"), "{list}");
}

/// A limit on the size of files causes an error message instead of a silent end by a signal.
#[cfg(unix)]
#[test]
fn a_file_that_may_not_grow_is_an_error() {
    let world = World::new();
    world.write_talk(&json!([{"text": "Hi."}]));
    let run = "run --workflow-file talk.json --replies replies.json hello";
    let line = format!("ulimit -f 1; exec {} {run}", env!("CARGO_BIN_EXE_synthdev"));
    let mut command = std::process::Command::new("sh");
    world.isolate_command(&mut command);
    let done = command.args(["-c", &line]).output().unwrap();
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(2), "{:?}: {told}", done.status);
    assert!(told.contains("error: "), "{told}");
}
