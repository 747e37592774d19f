//! Leaving a workflow, dying in it, and taking it up again at the next start; going back with files.

use serde_json::json;

use super::terminal::Terminal;
use super::{CTRL_C, ENTER, ESC};
use crate::support::model_server::{Behaviour, ModelServer};

/// `start` writes a file, `gate` asks, `second` writes another one.
pub(super) fn gated_workflow() -> serde_json::Value {
    let write = |state: &str, file: &str, target: &str| {
        json!({"name": state, "type": "shell", "command": "sh", "args": ["-c", format!("echo {state} >> {file}")],
            "transition": [{"target": target}]})
    };
    json!({
        "workflow_name": "gated",
        "variables": {"limit": 1},
        "states": [
            write("start", "first.txt", "gate"),
            {"name": "gate", "type": "pause", "kind": "approval",
                "message": {"template": "Go on with limit {{common_data.limit}}?"}, "output": {"as": "ok"},
                "transition": [{"target": "second"}]},
            write("second", "second.txt", "stop"),
            {"name": "stop"},
        ],
    })
}

/// The first file is written, the question is open.
pub(super) fn at_the_gate() -> Terminal {
    let mut terminal = Terminal::with_workflow("gated", &gated_workflow());
    terminal.wait_for("message, or / for commands");
    terminal.press_keys("/workflow gated\r");
    terminal.wait_for("to execute: shell?");
    terminal.press_keys("y\r");
    terminal.wait_for("gate: your approval");
    terminal
}

pub(super) fn lines(terminal: &Terminal, file: &str) -> usize {
    std::fs::read_to_string(terminal.project().join(file)).map_or(0, |text| text.lines().count())
}

/// Goes on to the end; the first step is not repeated.
pub(super) fn assert_resumes(left: &Terminal) {
    let mut terminal = left.start_in_same_home();
    terminal.wait_for("1 run can be resumed");
    terminal.wait_for("interrupted in gate");
    terminal.press_keys("/resume\r");
    terminal.wait_for("Go on with limit 1?");
    terminal.wait_for("── resumed");
    terminal.press_keys("y\r");
    terminal.wait_for("echo second");
    terminal.press_keys("y\r");
    terminal.wait_for("✓ gated completed");
    assert_eq!((lines(&terminal, "first.txt"), lines(&terminal, "second.txt")), (1, 1));
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
    let mut terminal = left.start_in_same_home();
    terminal.wait_for("message, or / for commands");
    terminal.press_keys("/resume\r");
    terminal.wait_for("no run of this project is paused");
    terminal.press_keys("\x04");
    terminal.wait_end();
}

#[test]
fn a_killed_process_loses_nothing() {
    let mut terminal = at_the_gate();
    terminal.send_signal("KILL");
    terminal.wait_end();
    assert_resumes(&terminal);
}

#[test]
fn whoever_leaves_can_come_back() {
    let mut terminal = at_the_gate();
    terminal.press_keys("/exit\r");
    let end = terminal.wait_end();
    assert!(end.contains("left: gated") && end.contains("/resume continues it"), "{end}");
    terminal.assert_restored();
    assert_resumes(&terminal);
    let mut terminal = at_the_gate();
    terminal.press_keys(CTRL_C);
    terminal.wait_for("Ctrl+C again leaves");
    terminal.press_keys(CTRL_C);
    assert!(terminal.wait_end().contains("left: gated"));
    assert_resumes(&terminal);
}

#[test]
fn a_hang_up_leaves_the_run() {
    for signal in ["HUP", "TERM"] {
        let mut terminal = at_the_gate();
        terminal.send_signal(signal);
        terminal.wait_end();
        assert_resumes(&terminal);
    }
}

#[test]
fn files_data_and_the_run_go_back() {
    let mut terminal = at_the_gate();
    terminal.press_keys(ESC);
    terminal.wait_for("nothing is lost: /resume continues it");
    terminal.press_keys("/rewind 1\r");
    terminal.wait_for("Rewind gated");
    terminal.wait_for("first.txt");
    terminal.press_keys("y\r");
    terminal.wait_for("is back before step 1, start");
    assert_eq!(lines(&terminal, "first.txt"), 0);
    terminal.press_keys("/resume\r");
    terminal.wait_for("to execute: shell?");
    terminal.press_keys("y\r");
    terminal.wait_for("gate: your approval");
    assert_eq!(lines(&terminal, "first.txt"), 1);
    terminal.press_keys(ESC);
    terminal.wait_until("it stands still again", |screen| {
        screen.split("── resumed").nth(1).is_some_and(|since| since.contains("nothing is lost"))
    });
    terminal.press_keys("/fork 2 limit=7\r");
    terminal.wait_for("limit = 7");
    terminal.press_keys("/resume");
    terminal.press_keys(ENTER);
    terminal.wait_for("Go on with limit 7?");
    terminal.press_keys("y\r");
    terminal.wait_for("echo second");
    terminal.press_keys("y\r");
    terminal.wait_for("✓ gated completed");
    terminal.press_keys("/undo\r");
    terminal.wait_for("Undo gated");
    terminal.wait_for("second.txt");
    terminal.press_keys("y\r");
    terminal.wait_for("undo this: /snapshot restore");
    assert_eq!((lines(&terminal, "first.txt"), lines(&terminal, "second.txt")), (1, 0));
    terminal.press_keys("/search echo\r");
    terminal.wait_for("Found: echo");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
    terminal.assert_restored();
}

/// The project is a repository of its own; the files go into a worktree, also after the run was left.
#[test]
fn an_isolated_workflow_works_elsewhere() {
    let mut isolated = gated_workflow();
    isolated["isolation"] = json!("worktree");
    let mut terminal = Terminal::with_workflow("gated", &isolated);
    git2::Repository::init(terminal.project()).unwrap();
    terminal.wait_for("message, or / for commands");
    terminal.press_keys("/workflow gated\r");
    terminal.wait_for("to execute: shell?");
    terminal.press_keys("y\r");
    terminal.wait_for("gate: your approval");
    assert_eq!(lines(&terminal, "first.txt"), 0);
    terminal.press_keys("\x03\x03");
    assert!(terminal.wait_end().contains("exit=0"));
    let mut terminal = terminal.start_in_same_home();
    terminal.wait_for("1 run can be resumed");
    terminal.press_keys("/resume\r");
    terminal.wait_for("Go on with limit 1?");
    terminal.press_keys("y\r");
    terminal.wait_for("echo second");
    terminal.press_keys("y\r");
    terminal.wait_for("✓ gated completed");
    terminal.wait_for("runs merge");
    assert_eq!((lines(&terminal, "first.txt"), lines(&terminal, "second.txt")), (0, 0));
    let trees = terminal.project().join("../.local/share/synthdev");
    let written = || {
        let files = walk_files(&trees).into_iter();
        files.filter(|path| path.ends_with("first.txt") || path.ends_with("second.txt")).count()
    };
    assert_eq!(written(), 2);
    // it goes back where it works, as from the command line
    let screen = terminal.screen_text();
    let (_, since) = screen.split_once("runs merge ").unwrap();
    let run = since.split_whitespace().next().unwrap().to_owned();
    terminal.press_keys(&format!("/undo {run}\r"));
    terminal.wait_for(&format!("run {run} works in a worktree of its own"));
    terminal.press_keys(&format!("/rewind {run} 1\r"));
    terminal.wait_for("Rewind gated");
    terminal.wait_for("second.txt");
    terminal.press_keys("y\r");
    terminal.wait_for("is back before step 1, start");
    assert_eq!((written(), lines(&terminal, "first.txt")), (0, 0));
    terminal.press_keys("/resume\r");
    terminal.wait_for("to execute: shell?");
    terminal.press_keys("y\r");
    terminal.wait_until("it is written again", |_| written() == 1);
    assert_eq!(lines(&terminal, "first.txt"), 0);
    terminal.wait_for("gate: your approval");
    terminal.press_keys(ESC);
    terminal.wait_for("nothing is lost: /resume continues it");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
}

pub(super) fn walk_files(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk_files(&path) } else { vec![path] }).collect()
}

/// A script goes round a hundred times before the question.
fn long_workflow() -> serde_json::Value {
    let mut long = gated_workflow();
    long["variables"]["count"] = json!(0);
    long["limits"] = json!({"max_steps": 500, "max_visits": 500});
    long["states"][0]["transition"] = json!([{"target": "round"}]);
    let round = json!({"name": "round", "action": {"script": "common_data.count += 1"}, "transition": [
        {"target": "round", "condition": "common_data.count < 100"}, {"target": "gate"}]});
    long["states"].as_array_mut().unwrap().push(round);
    long
}

/// Left at the question after many steps.
fn terminal_left_at_question() -> Terminal {
    let mut terminal = Terminal::with_workflow("gated", &long_workflow());
    terminal.wait_for("message, or / for commands");
    terminal.press_keys("/workflow gated\r");
    terminal.wait_for("to execute: shell?");
    terminal.press_keys("y\r");
    terminal.wait_for("gate: your approval");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("left: gated"));
    terminal
}

#[test]
fn a_long_run_is_taken_up_as_any_other() {
    let left = terminal_left_at_question();
    assert_eq!(left.change_history("UPDATE glances SET seq = seq"), 1, "it was stored");
    assert_resumes(&left);
}

/// The journal is broken in its middle, so that all there ever is to see is what was stored beside it.
#[test]
fn the_end_of_a_run_is_there_before_its_journal() {
    const BREAK: &str = "UPDATE rows SET body = '{', length = 1 WHERE seq = 20";
    for (stale, seen, later) in [
        ("UPDATE glances SET seq = seq", true, false),
        ("UPDATE glances SET seq = seq - 1", true, true),
        ("UPDATE glances SET seq = seq + 1", false, false),
    ] {
        let left = terminal_left_at_question();
        assert_eq!((left.change_history(BREAK), left.change_history(stale)), (1, 1));
        let mut terminal = left.start_in_same_home();
        terminal.wait_for("1 run can be resumed");
        terminal.press_keys("/resume\r");
        terminal.wait_for("is not resumed");
        let screen = terminal.screen_text();
        assert!(screen.contains("cannot be read"), "{screen}");
        assert_eq!(screen.contains("→ gate"), seen, "{screen}");
        assert_eq!(screen.contains("… what came later was not read"), later, "{screen}");
        terminal.press_keys("/exit\r");
        assert!(terminal.wait_end().contains("exit=0"));
    }
}

/// A conversation stays open while its files go back.
#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_goes_on_after_its_files_went_back() {
    let write = Behaviour::calls(&[("c1", "write_file", r#"{"file_path": "made.txt", "content": "one\n"}"#)]);
    let server =
        ModelServer::start_server(vec![write, Behaviour::text("Written."), Behaviour::text("Still here.")])
            .await;
    let variables = [
        ("SYNTHDEV_BASE_URL", server.base_url.as_str()),
        ("SYNTHDEV_BASE_MODEL", "mock-1"),
        ("SYNTHDEV_API_KEY", "sk-test"),
    ];
    let mut terminal = Terminal::start_product(&[], &variables);
    terminal.wait_for("message, or / for commands");
    terminal.press_keys("make a file\r");
    terminal.wait_for("write_file?");
    terminal.press_keys("y\r");
    terminal.wait_for_answer("Written.");
    assert_eq!(lines(&terminal, "made.txt"), 1);
    terminal.press_keys("/undo\r");
    terminal.wait_for("Undo ");
    terminal.wait_for("made.txt");
    terminal.press_keys("y\r");
    terminal.wait_for("undo this: /snapshot restore");
    assert!(!terminal.project().join("made.txt").exists());
    terminal.press_keys("and now?\r");
    terminal.wait_for_answer("Still here.");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
}
