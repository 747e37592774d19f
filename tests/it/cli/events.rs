//! `--events`: the same story as the history, line by line; and nothing left in the user's repository.

use serde_json::{Value, json};

use super::world::World;

/// Told while it happens, kept by nobody.
const FLEETING: [&str; 3] = ["delta", "model_retry", "approval_asked"];

#[test]
fn events_are_the_history_in_the_same_order() {
    let world = World::repository();
    let write = json!({"file_path": "new.txt", "content": "x"});
    let calls =
        json!([{"name": "write_file", "arguments": write}, {"name": "no_such_tool", "arguments": {}}]);
    world.write_talk(
        &json!([{"text": "I write.", "chunk": 3, "tool_calls": calls}, {"text": "Done.", "chunk": 2}]),
    );
    let ran = world.run_talk(&["--events", "--json", "--yes"]).code(0);
    let mut lines = ran.lines();
    let report = lines.pop().unwrap();
    let id = report["run_id"].as_str().unwrap();
    let told = |name: &str| lines.iter().filter(|line| line["event"] == name).count();
    // pieces that nobody has taken yet become one
    let streamed: String =
        lines.iter().filter_map(|line| line["text"].as_str().filter(|_| line["event"] == "delta")).collect();
    assert_eq!(streamed, "I write.Done.");
    for event in ["run_started", "tool_started", "tool_finished", "tool_refused", "finished"] {
        assert_eq!(told(event), 1, "{event}");
    }
    assert!(lines.iter().all(|line| line["run"] == id && line["at"].is_i64()), "{lines:?}");
    let lasting: Vec<&Value> =
        lines.iter().filter(|line| !FLEETING.contains(&line["event"].as_str().unwrap())).collect();
    let kept = world.run_program(&["runs", "show", id, "--json"]).code(0).lines();
    assert_eq!(lasting, kept.iter().collect::<Vec<_>>());
    let short = world.run_program(&["runs", "show", &id[..id.len() - 2]]).code(0).stdout;
    for part in
        ["● 2 say (coder)", "✓ write_file", "✗ no_such_tool refused", "completed", "start > say > stop"]
    {
        assert!(short.contains(part), "no `{part}` in\n{short}");
    }
}

#[test]
fn a_run_leaves_git_status_clean() {
    let world = World::repository();
    world.write_file(".gitignore", "*.json\n");
    world.git(&["add", "."]);
    world.git(&["commit", "-q", "-m", "ignore"]);
    let before =
        (world.git(&["status", "--porcelain", "--ignored"]), world.git(&["log", "--oneline", "--all"]));
    world.write_talk(&json!([
        {"tool_calls": [{"name": "execute_terminal", "arguments": {"command": "cat README.md"}}]},
        {"match": "# sample", "reply": {"text": "Seen."}}
    ]));
    world.run_talk(&["--yes"]).code(0);
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    assert_eq!(before.0, "");
    let branches = world.git(&["branch", "-a"]);
    assert_eq!((branches.trim(), world.git(&["stash", "list"]).as_str()), ("* main", ""));
    assert_eq!(world.git(&["reflog"]).lines().count(), 2, "HEAD was not moved");
    let mut entries: Vec<_> = std::fs::read_dir(world.project())
        .unwrap()
        .map(|one| one.unwrap().file_name().into_string().unwrap())
        .collect();
    entries.sort();
    assert_eq!(entries, [".git", ".gitignore", "README.md", "replies.json", "talk.json"]);
}
