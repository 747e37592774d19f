//! A recording inside the project does not exist for the run that makes or plays it: agents find the same files both
//! times, and going back to a snapshot neither takes it away nor brings an older one back.

use serde_json::{Value, json};

use super::world::{World, talk_workflow, workflow};
use crate::support::model_server::{Behaviour, ModelServer, dead_url};

/// An agent that looks at all files in every way, and changes one in between.
fn look_around(file: &str) -> Vec<Behaviour> {
    let calls: [(&str, Value); 6] = [
        (
            "list_directory",
            json!({"directory_path": ".", "recursive": true, "exclusion_list": [".git"], "include_hidden": true}),
        ),
        ("exact_search", json!({"search_string": "look around"})),
        ("glob", json!({"pattern": "**/*jsonl*"})),
        ("read_files", json!({"file_paths": [file]})),
        ("write_file", json!({"file_path": "new.txt", "content": "new"})),
        ("glob", json!({"pattern": "*"})),
    ];
    let call = |(number, (tool, arguments)): (usize, &(&str, Value))| {
        Behaviour::calls(&[(&format!("c{number}"), tool, &arguments.to_string())])
    };
    let mut script: Vec<Behaviour> = calls.iter().enumerate().map(call).collect();
    script.push(Behaviour::text("Seen."));
    script
}

/// The paths in each snapshot that a run took.
fn run_snapshot_paths(world: &World) -> Vec<String> {
    let list = world.run_program(&["snapshot", "list", "--json"]).code(0).json();
    let of_runs = list.as_array().unwrap().iter().filter(|info| info["run"].is_string());
    let name = |info: &Value| format!("refs/synthdev/snapshots/{}", info["id"].as_str().unwrap());
    of_runs.map(|info| world.git(&["ls-tree", "-r", "--name-only", &name(info)])).collect()
}

/// The paths in every snapshot of the project's repository.
fn snapshot_paths(world: &World) -> String {
    let refs = world.git(&["for-each-ref", "--format=%(refname)", "refs/synthdev/snapshots"]);
    assert!(refs.lines().count() > 0, "no snapshot was taken");
    refs.lines().map(|name| world.git(&["ls-tree", "-r", "--name-only", name])).collect()
}

struct Case {
    file: &'static str,
    /// Where the run works.
    place: &'static str,
    is_tracked: bool,
}

/// Recorded twice into the project, each time played twice, and undone in between.
async fn check(case: Case) {
    let Case { file, place, is_tracked } = case;
    let server = ModelServer::start_server([look_around(file), look_around(file)].concat()).await;
    let mut world = World::repository();
    world.write_user_file("workflows/talk.json", &talk_workflow().to_string());
    // what a run that was cut off has left
    world.write_file(&format!("{file}.4711.part"), "look around");
    world.write_file("tapes/keep.txt", "look around");
    world.set_variable("SYNTHDEV_BASE_MODEL", "m");
    let mut before = String::new();
    for round in 1..=2 {
        for (way, url) in
            [("--record", server.base_url.clone()), ("--replay", dead_url()), ("--replay", dead_url())]
        {
            world.set_variable("SYNTHDEV_BASE_URL", &url);
            let run = ["run", "talk", "look around", "--yes", "--json", place, way, file];
            let report = world.run_program(&run).code(0).json();
            assert_eq!(report["output"], "Seen.", "{file} {way}, round {round}: {report}");
            assert_eq!(report["warnings"], json!([]), "{file} {way}, round {round}");
            let recording = world.read_file(file);
            assert_eq!(recording == before, way == "--replay", "{file} {way}, round {round}");
            before = recording;
            let id = report["run_id"].as_str().unwrap();
            if place == "--isolate" {
                let merge = || {
                    let ran = world.run_program(&["runs", "merge", id, "--dry-run"]).code(0);
                    ran.stdout + &ran.stderr
                };
                let there = merge();
                std::fs::remove_dir_all(world.data().join("worktrees").join(id)).unwrap();
                for merged in [there, merge()] {
                    assert!(
                        merged.contains("new.txt") && !merged.contains("jsonl"),
                        "{file} {way}: {merged}"
                    );
                }
            } else {
                world.run_program(&["runs", "undo", id, "--yes"]).code(0);
                assert!(!world.project().join("new.txt").exists());
                assert!(world.project().join(format!("{file}.4711.part")).exists());
                assert_eq!(world.read_file(file), before, "{file} {way}, round {round}: undone");
            }
        }
        let asked: Vec<String> = server.requests().iter().map(|one| one.body.to_string()).collect();
        let tool_answers = asked.last().unwrap();
        assert!(tool_answers.contains("tapes/keep.txt"), "the agent saw other files: {tool_answers}");
        assert!(!tool_answers.contains(".part"), "the agent saw a part: {tool_answers}");
        if is_tracked {
            world.git(&["add", file]);
            world.git(&["commit", "-q", "-m", "recording"]);
        }
    }
    if !is_tracked && place == "--share" {
        // an undo stores all files first: only those snapshots have it
        assert!(snapshot_paths(&world).lines().any(|path| path == file));
        let of_runs = run_snapshot_paths(&world);
        assert!(of_runs.len() > 1, "{of_runs:?}");
        for paths in of_runs {
            assert!(paths.contains("tapes/keep.txt") && !paths.lines().any(|path| path == file), "{paths}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_inside_the_project_is_played_with_the_files_that_the_recorded_run_saw() {
    for (file, place, is_tracked) in [
        ("it.jsonl", "--share", false),
        ("tapes/it.jsonl", "--share", true),
        ("it.jsonl", "--isolate", false),
        ("tapes/it.jsonl", "--isolate", true),
    ] {
        check(Case { file, place, is_tracked }).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_snapshot_of_a_recorded_run_holds_the_recording() {
    let server = ModelServer::start_server(look_around("it.jsonl")).await;
    let mut world = World::repository();
    world.write_user_file("workflows/talk.json", &talk_workflow().to_string());
    world.write_file("keep.txt", "kept");
    world.set_variable("SYNTHDEV_BASE_MODEL", "m");
    for (way, url) in [("--record", server.base_url.clone()), ("--replay", dead_url())] {
        world.set_variable("SYNTHDEV_BASE_URL", &url);
        world.run_program(&["run", "talk", "look around", "--yes", way, "it.jsonl"]).code(0);
        let paths = snapshot_paths(&world);
        assert!(paths.contains("keep.txt") && !paths.contains("jsonl"), "{way}: {paths}");
        std::fs::remove_file(world.project().join("new.txt")).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_a_recorded_run_has_left_is_hidden_where_the_run_goes_on_without_recording() {
    let mut script = vec![Behaviour::text("One.")];
    let reading = look_around("it.jsonl");
    script.extend(reading.into_iter().take(3));
    script.push(Behaviour::text("Seen."));
    let server = ModelServer::start_server(script).await;
    let say = |name: &str, input: &str, target: &str| {
        json!({"name": name, "agent": "coder", "input": input, "action": {"function": "sendUserMessage"},
            "transition": [{"target": target,
                "before": "() => { this.common_data.result = this.getAgent('coder').getLastResponse(); }"}]})
    };
    let states = json!([
        {"name": "start", "transition": [{"target": "say"}]},
        say("say", "common_data.task", "ask"),
        {"name": "ask", "type": "pause", "kind": "text", "message": {"text": "And?"}, "output": {"as": "answer"},
            "transition": [{"target": "more"}]},
        say("more", "common_data.answer", "stop"),
        {"name": "stop", "input": "common_data.result"}]);
    let mut world = World::repository();
    world.write_user_file("workflows/talk.json", &workflow(&states).to_string());
    world.write_file("keep.jsonl", "look around");
    world.set_variable("SYNTHDEV_BASE_URL", &server.base_url);
    world.set_variable("SYNTHDEV_BASE_MODEL", "m");
    let run = ["run", "talk", "look around", "--yes", "--json", "--record", "it.jsonl"];
    let report = world.run_program(&run).code(3).json();
    let id = report["run_id"].as_str().unwrap();
    let parts = || {
        let names = std::fs::read_dir(world.project()).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().ends_with(".part")).count()
    };
    assert_eq!(parts(), 1);
    let done =
        world.run_program(&["resume", id, "--results", "look around", "--yes", "--json"]).code(0).json();
    assert_eq!(done["output"], "Seen.", "{done}");
    let asked = server.requests().last().unwrap().body.to_string();
    assert!(asked.contains("keep.jsonl") && !asked.contains(".part"), "{asked}");
    assert_eq!(parts(), 1, "it stays for the user");
}
