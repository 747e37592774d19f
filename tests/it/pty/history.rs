//! The history in a real terminal: a run fails, is looked at, and is tried again from there.

use serde_json::json;

use super::ESC;
use super::terminal::Terminal;

const LEFT: &str = "\x1b[D";
const RIGHT: &str = "\x1b[C";

/// `check` fails until there is a file; `first` leaves one behind and sets a variable.
fn failing_workflow() -> serde_json::Value {
    json!({
        "workflow_name": "picky",
        "variables": {"tries": 1},
        "states": [
            {"name": "start", "action": {"script": "common_data.tries = 2"}, "transition": [{"target": "check"}]},
            {"name": "check", "type": "shell", "command": "cat wanted.txt", "transition": [{"target": "stop"}]},
            {"name": "stop"},
        ],
    })
}

#[test]
fn started_agents_stand_above_the_steps_of_their_run() {
    let world = crate::cli::archive::agents::team_world();
    crate::cli::archive::agents::run_team(&world);
    let mut terminal = world.terminal(&["--base-url", "http://127.0.0.1:1/v1", "--base-model", "m"]);
    terminal.wait_for("message, or / for commands");
    terminal.press_keys("/history\r");
    terminal.wait_for("history · 1 run");
    terminal.press_keys("\r");
    terminal.wait_for("helper-1 (helper)  completed");
    terminal.wait_for("  scout-2 (scout)  completed");
    terminal.wait_for("helper-3 (helper)  failed");
}

#[test]
fn a_failed_run_is_looked_at_and_retried() {
    let mut terminal = Terminal::with_workflow("picky", &failing_workflow());
    terminal.wait_for("message, or / for commands");
    terminal.press_keys("/workflow picky\r");
    terminal.wait_for("to execute: shell?");
    terminal.press_keys("y\r");
    terminal.wait_for("Try again?");
    terminal.press_keys("n\r");
    terminal.wait_for("/resume");
    terminal.press_keys("/history\r");
    terminal.wait_for("history · 1 run");
    terminal.wait_for("failed");
    terminal.wait_for("t retry");
    terminal.press_keys("\r");
    terminal.wait_for("check #1");
    terminal.press_keys("k");
    terminal.press_keys("\r");
    terminal.wait_for("● tries: 2   (was 1)");
    terminal.press_keys("]");
    terminal.wait_for("step 2: check #1");
    terminal.press_keys("w");
    terminal.wait_for("by its only transition");
    terminal.press_keys(ESC);
    terminal.wait_for("2 steps");
    terminal.press_keys("e");
    terminal.wait_for("export to");
    terminal.press_keys("\x15out.md\r");
    terminal.wait_for("written to");
    assert!(terminal.project().join("out.md").exists());
    terminal.press_keys(ESC);
    terminal.wait_for("history · 1 run");
    terminal.press_keys("/wanted");
    terminal.wait_for("/wanted");
    terminal.wait_for("picky");
    terminal.press_keys("\r");
    std::fs::write(terminal.project().join("wanted.txt"), "here\n").unwrap();
    terminal.press_keys("t");
    terminal.wait_for("── resumed");
    terminal.wait_for("to execute: shell?");
    terminal.press_keys("y\r");
    terminal.wait_for("✓ picky completed");
    check_chart(&mut terminal);
    check_history(&mut terminal);
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
    terminal.assert_restored();
}

/// The timeline of the run: its last bar is the command, and Enter shows all of it.
fn check_chart(terminal: &mut Terminal) {
    terminal.press_keys("\x1b6");
    terminal.wait_for("█ model  ▄ tool");
    terminal.press_keys(LEFT);
    terminal.press_keys(RIGHT);
    terminal.wait_for("calls shell · at ");
    terminal.press_keys("\r");
    terminal.wait_for("after the start of the run");
    terminal.wait_for("command: cat wanted.txt");
    terminal.wait_for("outcome  succeeded");
    terminal.press_keys(ESC);
    terminal.wait_for("█ model  ▄ tool");
    terminal.press_keys(ESC);
    terminal.wait_until("the input line has the keys", |screen| !screen.contains(" VIEW "));
}

/// At the completed run: what is refused, what is shown before it is done, and a fork beside it.
fn check_history(terminal: &mut Terminal) {
    terminal.press_keys("/history\r");
    terminal.wait_for("history · 1 run");
    terminal.press_keys("r");
    terminal.wait_for("is completed: fork or rewind it at one of its steps");
    terminal.press_keys("u");
    terminal.wait_for("Undo picky");
    terminal.wait_for("wanted.txt");
    terminal.press_keys("n\r");
    terminal.wait_for("nothing was changed");
    terminal.press_keys("\r");
    terminal.wait_for("3 steps");
    // the same chart: the command has failed, and was tried again
    terminal.press_keys(RIGHT);
    terminal.wait_for("─ ");
    terminal.press_keys("\r");
    terminal.wait_for("after the start of the run");
    terminal.press_keys(ESC);
    terminal.wait_until("the page is closed", |screen| !screen.contains("after the start of the run"));
    terminal.press_keys(ESC);
    terminal.wait_for("3 steps");
    terminal.press_keys("f");
    terminal.wait_for("fork before step 1");
    terminal.wait_for("there: tries=");
    terminal.press_keys("tries=7\r");
    terminal.wait_for("tries = 7");
    terminal.press_keys(ESC);
    terminal.wait_for("3 steps");
    terminal.press_keys(ESC);
    terminal.wait_for("history · 2 runs");
    terminal.wait_for("└ picky");
    terminal.press_keys("c");
    terminal.wait_for("is marked");
    terminal.wait_for("picky: last 2 runs");
    terminal.press_keys("jc");
    terminal.wait_for("side by side");
    terminal.wait_for("definition   the same");
    terminal.press_keys(ESC);
    terminal.wait_for("history · 2 runs");
    terminal.press_keys(ESC);
    terminal.wait_for("✓ picky completed");
}

/// A run of another process over the same store is in the open list, and goes on there.
#[test]
fn what_others_run_appears_in_the_open_list() {
    let workflow = json!({
        "workflow_name": "quick",
        "states": [
            {"name": "start", "action": {"script": "common_data.done = true"}, "transition": [{"target": "stop"}]},
            {"name": "stop"},
        ],
    });
    let mut terminal = Terminal::with_workflow("quick", &workflow);
    terminal.wait_for("message, or / for commands");
    terminal.press_keys("/history\r");
    terminal.wait_for("history · 0 runs");
    let elsewhere = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_synthdev"));
        command.args(arguments).env("HOME", terminal.home()).current_dir(terminal.project());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    elsewhere(&["run", "quick"]);
    terminal.wait_for("history · 1 run");
    terminal.wait_until("its row", |screen| {
        screen.lines().any(|line| line.contains("quick") && line.contains("completed"))
    });
    elsewhere(&["run", "quick"]);
    terminal.wait_for("history · 2 runs");
    // the charts below the list are of as many runs as a glance can take
    for _ in 0..49 {
        elsewhere(&["run", "quick"]);
    }
    terminal.wait_for("history · 51 runs");
    terminal.wait_for("quick: last 50 runs");
    terminal.press_keys(ESC);
    terminal.wait_for("message, or / for commands");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
}
