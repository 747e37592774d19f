//! Exit codes, the final object, what goes to which stream, and the ways to give a workflow its input.

use serde_json::{Value, json};

use super::world::{World, talk_workflow, wait_for, workflow};

const FIELDS: [&str; 11] = [
    "run_id", "workflow", "status", "output", "path", "snapshot", "usage", "cost_usd", "warnings", "error",
    "pauses",
];

#[test]
fn each_end_has_its_exit_code_status_and_error() {
    let write =
        json!([{"tool_calls": [{"name": "write_file", "arguments": {"file_path": "a", "content": "b"}}]}]);
    let rows = [
        ("completed", json!([{"text": "Hi."}]), 0, "completed", ""),
        ("failed", json!([{"error": {"kind": "auth", "message": "who?"}}]), 1, "failed", "model.auth"),
        ("drift", json!([]), 1, "failed", "model.drift"),
        ("denied", write, 5, "paused", "tool.denied"),
    ];
    for (title, replies, code, status, error) in rows {
        let world = World::new();
        world.write_talk(&replies);
        let report = world.run_talk(&["--json"]).code(code).json();
        assert_eq!(report["status"], status, "{title}");
        assert_eq!(report["error"]["code"].as_str().unwrap_or_default(), error, "{title}: {report}");
        assert_eq!(report["path"][1], "say", "{title}: the path is kept");
        if code != 0 {
            for field in ["title", "detail", "hint", "state"] {
                let text = report["error"][field].as_str().unwrap_or_default();
                assert!(!text.is_empty(), "{title}: no {field} in {report}");
            }
        }
    }
}

#[test]
fn a_limit_ends_with_4_and_keeps_what_was_done() {
    let world = World::new();
    let again = json!([{"target": "round", "condition": "true"}]);
    let states = json!([{"name": "start", "transition": again}, {"name": "round", "transition": again}]);
    world.write_json("loop.json", &workflow(&states));
    world.write_file("replies.json", "{\"replies\": {}}");
    let file = ["run", "--workflow-file", "loop.json", "--replies", "replies.json"];
    let report = world.run_program(&[&file[..], &["x", "--json"]].concat()).code(4).json();
    assert_eq!((&report["status"], &report["error"]["code"]), (&json!("paused"), &json!("limit")));
    assert_eq!(report["path"].as_array().unwrap().len(), 26, "start and 25 visits");
    assert!(report["error"]["hint"].as_str().unwrap().contains("max_visits"), "{report}");
}

#[test]
fn a_missing_input_ends_with_3_before_anything_starts() {
    let world = World::new();
    world.write_talk(&json!([{"text": "Hi."}]));
    let arguments = ["run", "--workflow-file", "talk.json", "--replies", "replies.json", "--json"];
    let report = world.run_program(&arguments).code(3).json();
    assert_eq!((&report["run_id"], &report["status"]), (&Value::Null, &json!("paused")));
    assert_eq!(report["error"]["code"], "input_required");
    assert!(report["error"]["title"].as_str().unwrap().contains("`task`"), "{report}");
    assert_eq!(report["error"]["detail"], "`task` has no value");
    let mut several =
        workflow(&json!([{"name": "start", "transition": [{"target": "stop"}]}, {"name": "stop"}]));
    several["input"] = json!([{"name": "task", "type": "string"}, {"name": "size", "type": "number"}]);
    world.write_json("several.json", &several);
    let arguments = ["run", "--workflow-file", "several.json", "--replies", "replies.json", "--json"];
    let report = world.run_program(&arguments).code(3).json();
    assert_eq!(report["error"]["detail"], "`task`, `size` have no value", "{report}");
}

#[test]
fn wrong_use_and_broken_configuration_end_with_2_and_print_no_data() {
    let world = World::new();
    world.write_talk(&json!([{"text": "Hi."}]));
    world.write_file("broken.json", "{\"replies\": 3}");
    world.write_file("nothing.json", "{}");
    let file: &[&str] = &["run", "--workflow-file", "talk.json"];
    let rows: Vec<(Vec<&str>, &str)> = vec![
        (vec!["--nonsense"], "--nonsense"),
        (vec!["run"], "which workflow?"),
        (vec!["run", "coder_reviewr", "x"], "coder_reviewer"),
        (vec!["run", "coder_reviewer", "x"], "SYNTHDEV_API_KEY"),
        ([file, &["hi", "--replies", "broken.json"]].concat(), "broken.json"),
        ([file, &["hi", "--replies", "absent.json"]].concat(), "absent.json"),
        ([file, &["--input", "task", "--replies", "replies.json"]].concat(), "NAME=VALUE"),
        ([file, &["--input", "tsk=1", "--replies", "replies.json"]].concat(), "task"),
        ([file, &["a", "--input", "task=b", "--replies", "replies.json"]].concat(), "once"),
        ([file, &["a", "--input-file", "talk.json", "--replies", "replies.json"]].concat(), "once"),
        (vec!["run", "--workflow-file", "absent.json"], "absent.json"),
        (vec!["run", "--workflow-file", "nothing.json"], "nothing.json"),
        (vec!["-C", "absent", "workflows"], "absent"),
        (vec!["-C", "talk.json", "workflows"], "not a directory"),
        (vec!["runs", "show", "zzz"], "zzz"),
        (vec!["check", "absent.json"], "absent.json"),
        (vec!["--verbosity", "9", "run", "coder_reviewer", "x"], "0 to 5"),
        (vec!["--config", "absent.json", "workflows"], "absent.json"),
    ];
    for (arguments, says) in rows {
        let ran = world.run_program(&arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}\n{}\n{}", ran.stdout, ran.stderr);
        assert_eq!(ran.stdout, "", "{arguments:?}: stdout is for data only");
        assert!(ran.stderr.contains(says), "{arguments:?}: no `{says}` in\n{}", ran.stderr);
    }
    assert_eq!(world.run_program(&["runs", "list", "--json"]).code(0).json(), json!([]), "nothing was run");
}

#[test]
fn ctrl_c_cancels_with_130_and_keeps_the_path() {
    let world = World::new();
    world.write_talk(&json!([{"text": "late", "delay_ms": 600_000}]));
    let mut command =
        world.command(&["run", "--workflow-file", "talk.json", "--replies", "replies.json", "hi", "--json"]);
    let child = command.spawn().unwrap();
    wait_for("the agent is asked", || {
        let list = world.run_program(&["runs", "list", "--json"]).json();
        (list[0]["path"] == json!(["start", "say"])).then_some(())
    });
    send_signal(child.id(), "INT");
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(130), "{}", String::from_utf8_lossy(&done.stderr));
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((&report["status"], &report["path"]), (&json!("cancelled"), &json!(["start", "say"])));
    assert_eq!(world.run_program(&["runs", "list", "--json"]).json()[0]["status"], "cancelled");
}

pub fn send_signal(pid: u32, name: &str) {
    let sent = std::process::Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status();
    assert!(sent.unwrap().success());
}

#[test]
fn the_final_object_has_exactly_the_documented_fields() {
    let world = World::new();
    world.write_talk(&json!([{"text": "Hi.", "usage": {"prompt": 7, "completion": 3}}]));
    let ran = world.run_talk(&["--json"]).code(0);
    assert_eq!(ran.stderr, "");
    let report = ran.json();
    let names: Vec<&str> = report.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, FIELDS);
    assert_eq!(report["workflow"], "talk");
    assert_eq!(report["output"], "Hi.");
    assert_eq!(report["path"], json!(["start", "say", "stop"]));
    assert_eq!((&report["usage"]["prompt"], &report["usage"]["completion"]), (&json!(7), &json!(3)));
    assert_eq!((&report["warnings"], &report["error"]), (&json!([]), &json!(null)));
    world.write_talk(&json!([{"error": {"kind": "refused", "message": "no"}}]));
    let report = world.run_talk(&["--json"]).code(1).json();
    let names: Vec<&str> = report.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, FIELDS);
    let names: Vec<&str> = report["error"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["code", "title", "detail", "workflow", "state", "agent", "hint", "place"]);
}

#[test]
fn stdout_holds_the_output_and_stderr_the_story() {
    let world = World::new();
    world.write_talk(&json!([{"text": "One\nand two \u{1b}[31m."}]));
    let ran = world.run_talk(&[]).code(0);
    assert_eq!(ran.stdout, "One\nand two ␛[31m.\n");
    for word in ["● say (coder)", "completed: start > say > stop", "tokens", "runs show"] {
        assert!(ran.stderr.contains(word), "no `{word}` in\n{}", ran.stderr);
    }
    assert!(!ran.stderr.contains("undo"), "no file was changed: {}", ran.stderr);
}

#[test]
fn replies_that_nobody_asked_for_are_reported() {
    let world = World::new();
    world.write_talk(&json!([{"text": "Hi."}, {"text": "more"}, {"text": "and more"}]));
    let report = world.run_talk(&["--json"]).code(0).json();
    let texts: Vec<&str> =
        report["warnings"].as_array().unwrap().iter().map(|one| one["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["reply 2 of `coder` was never used", "reply 3 of `coder` was never used"]);
    let ran = world.run_talk(&[]).code(0);
    assert!(ran.stderr.contains("warning: reply 2 of `coder` was never used"), "{}", ran.stderr);
}

#[test]
fn a_reply_that_does_not_fit_is_drift() {
    let world = World::new();
    world.write_talk(&json!([{"match": "good (bye|night)", "reply": {"text": "Hi."}}]));
    let report = world.run_talk(&["--json"]).code(1).json();
    assert_eq!(report["error"]["code"], "model.drift");
    let detail = report["error"]["detail"].as_str().unwrap();
    assert!(detail.contains("hello") && detail.contains("good (bye|night)"), "{detail}");
}

#[test]
fn the_input_can_come_in_five_ways() {
    let world = World::new();
    let text = "Zwei Zeilen\nmit = und \"ü\"";
    world.write_file("input.txt", text);
    world.write_talk(&json!([{"match": "Zeilen\nmit = und \"ü\"", "reply": {"text": "Right."}}]));
    let file = ["run", "--workflow-file", "talk.json", "--replies", "replies.json", "--json"];
    let named = format!("task={text}");
    let rows: [(&[&str], &str); 5] = [
        (&[text], ""),
        (&["talk", text], ""),
        (&["--input", &named], ""),
        (&["--input-file", "input.txt"], ""),
        (&["--input-file", "-"], text),
    ];
    for (arguments, stdin) in rows {
        let report = world.run_with(&[&file, arguments].concat(), stdin).code(0).json();
        assert_eq!(report["output"], "Right.", "{arguments:?}");
    }
}

#[test]
fn typed_inputs_are_checked_before_anything_happens() {
    let world = World::new();
    let mut flow = talk_workflow();
    flow["input"]["type"] = json!("number");
    world.write_json("talk.json", &flow);
    world.write_json("replies.json", &json!({"replies": {"coder": [{"text": "Hi."}]}}));
    let ran = world
        .run_program(&["run", "--workflow-file", "talk.json", "--replies", "replies.json", "abc", "--json"])
        .code(2);
    assert!(ran.stderr.contains("task") && ran.stderr.contains("number"), "{}", ran.stderr);
    assert_eq!(world.run_program(&["runs", "list", "--json"]).json(), json!([]));
    assert!(world.run_program(&["snapshot", "list"]).code(0).stdout.contains("no snapshots"));
    world
        .run_program(&["run", "--workflow-file", "talk.json", "--replies", "replies.json", "4.5", "--json"])
        .code(0);
}

#[test]
fn capital_c_works_as_if_started_there() {
    let world = World::new();
    world.write_file(".keep", "");
    world.write_json("below/talk.json", &talk_workflow());
    world.write_file("below/note.txt", "from below");
    let call = json!({"tool_calls": [{"name": "read_files", "arguments": {"file_paths": ["note.txt"]}}]});
    let fit = json!({"match": "from below", "reply": {"text": "Read."}});
    world.write_json("below/replies.json", &json!({"replies": {"coder": [call, fit]}}));
    let rest = ["run", "--workflow-file", "talk.json", "--replies", "replies.json", "hi", "--json"];
    let report = world.run_program(&[&["-C", "below"], &rest[..]].concat()).code(0).json();
    assert_eq!(report["output"], "Read.");
    let list = world.run_program(&["runs", "list", "--json"]).json();
    assert!(list[0]["project"].as_str().unwrap().ends_with("/below"), "{list}");
}

#[test]
fn every_error_is_one_object_with_json() {
    let world = World::repository();
    world.write_file(
        "broken.json",
        "{\"workflow_name\": \"broken\", \"states\": [{\"name\": \"start\", \"x\": 1}]}",
    );
    for (arguments, code, message, hint) in [
        (&["run", "nope", "--json"][..], "definition", "there is no workflow `nope`", true),
        (&["run", "--json"], "refused", "which workflow?", false),
        (&["run", "--json", "--workflow-file", "broken.json"], "definition", "broken.json:1:", true),
        (&["runs", "show", "nope", "--json"], "refused", "there is no run `nope`", true),
        (&["runs", "fork", "nope", "--at", "1", "--json"], "refused", "nope", true),
        (&["resume", "nope", "--json"], "refused", "nope", true),
        (&["runs", "retry", "nope", "--json"], "refused", "nope", true),
        (&["runs", "list", "--status", "odd", "--json"], "refused", "no status `odd`", true),
        (&["runs", "list", "--limit", "x", "--json"], "usage", "--limit", false),
        (&["nothing", "--json"], "usage", "nothing", false),
    ] {
        let ran = world.run_program(arguments).code(2);
        assert_eq!(ran.stdout.lines().count(), 1, "{arguments:?}: {}", ran.stdout);
        let error = &ran.json()["error"];
        assert_eq!(error["code"], code, "{arguments:?}: {error}");
        let told = error["message"].as_str().unwrap();
        assert!(told.contains(message) && !told.contains("hint: "), "{arguments:?}: {told}");
        assert_eq!(error["hint"].is_string(), hint, "{arguments:?}: {error}");
        assert!(!ran.stderr.is_empty(), "people are told, too: {arguments:?}");
        let plain: Vec<&str> = arguments.iter().copied().filter(|one| *one != "--json").collect();
        assert_eq!(world.run_program(&plain).code(2).stdout, "", "{plain:?}");
    }
}
