//! Breakpoints, steps and variables in a real terminal; a stopped run survives a kill; the user can always leave.

use serde_json::json;

use super::terminal::Terminal;

fn two_state_workflow() -> serde_json::Value {
    let to = |target: &str| json!([{"target": target}]);
    json!({
        "workflow_name": "walk",
        "variables": {"limit": 1},
        "states": [
            {"name": "start", "transition": to("second")},
            {"name": "second", "action": {"script": "() => { common_data.seen = common_data.limit * 2; }"},
             "transition": to("third")},
            {"name": "third", "transition": to("stop")},
            {"name": "stop", "input": {"expr": "'limit ' + common_data.seen"}},
        ],
    })
}

#[test]
fn a_run_stands_still_survives_a_kill_and_goes_on_with_other_data() {
    let mut terminal = Terminal::with_workflow("walk", &two_state_workflow());
    terminal.wait_for("message, or / for commands");
    terminal.press_keys("/break second\r");
    terminal.wait_for("for the next workflow that starts or is resumed: state second");
    terminal.press_keys("/workflow walk\r");
    terminal.wait_for("stopped before second (breakpoint: state second)");
    terminal.press_keys("/set common_data.limit = 21\r");
    terminal.wait_for("21");
    terminal.press_keys("/status\r");
    terminal.wait_for("breaks    state second");
    terminal.send_signal("KILL");
    terminal.wait_end();
    let mut terminal = terminal.start_in_same_home();
    terminal.wait_for("1 run can be resumed");
    terminal.press_keys("/resume\r");
    terminal.wait_for("── resumed");
    assert!(!terminal.screen_text().contains("is defined otherwise by now"), "{}", terminal.screen_text());
    terminal.send_signal("KILL");
    terminal.wait_end();
    let mut changed = two_state_workflow();
    changed["variables"]["limit"] = json!(2);
    let file = terminal.home().join(".config/synthdev/workflows/walk.json");
    std::fs::write(file, changed.to_string()).unwrap();
    let mut terminal = terminal.start_in_same_home();
    terminal.wait_for("1 run can be resumed");
    terminal.press_keys("/break stop\r");
    terminal.wait_for("for the next workflow that starts or is resumed: state stop");
    terminal.press_keys("/resume\r");
    terminal.wait_for("── resumed");
    terminal.wait_for("walk is defined otherwise by now (");
    terminal.wait_for("`limit`");
    terminal.wait_until("it stands there again", |screen| {
        screen.split("── resumed").nth(1).is_some_and(|since| since.contains("stopped before second"))
    });
    terminal.press_keys("/step\r");
    terminal.wait_for("stopped before third");
    terminal.press_keys("/continue\r");
    terminal.wait_for("stopped before stop (breakpoint: state stop)");
    terminal.press_keys("/continue\r");
    terminal.wait_for("✓ walk completed");
    terminal.wait_for("limit 42");
    terminal.press_keys("\x04");
    assert!(terminal.wait_end().contains("exit=0"));
}

#[test]
fn the_demo_names_its_script_beside_a_configured_model() {
    let configured = [("SYNTHDEV_BASE_URL", "http://127.0.0.1:1/v1"), ("SYNTHDEV_BASE_MODEL", "mock-1")];
    let mut terminal = Terminal::start_product(&["demo"], &configured);
    terminal.wait_for("coder to change files: write_file?");
    let screen = terminal.screen_text();
    assert!(screen.contains("scripted-demo") && !screen.contains("mock-1"), "{screen}");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
}

#[test]
fn an_open_approval_keeps_nobody_from_leaving() {
    for leave in ["\x04", "/exit\r"] {
        let mut terminal = Terminal::start_product(&["demo"], &[]);
        terminal.wait_for("coder to change files: write_file?");
        terminal.press_keys(leave);
        let end = terminal.wait_end();
        assert!(end.contains("exit=0") && end.contains("left: coder_reviewer"), "{end}");
        terminal.assert_restored();
    }
}
