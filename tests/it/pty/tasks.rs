//! `/task` over two sessions, in the user's data directory and not in the project.

use super::terminal::Terminal;
use super::{ENTER, ESC};
use crate::cli::world::World;

#[test]
fn tasks_outlive_the_session_and_start_a_workflow() {
    let mut terminal = Terminal::start_product(&[], &[]);
    terminal.wait_for("Set up a model");
    terminal.press_keys(ESC);
    terminal.wait_for("nothing was changed");
    terminal.press_keys("/task add write the parser\r");
    terminal.wait_for("task 1 added: write the parser · 1 open");
    terminal.press_keys("/t add and its tests\r");
    terminal.wait_for("task 2 added");
    terminal.press_keys("/task done 1\r");
    terminal.wait_for("task 1 done");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
    let mut terminal = terminal.start_in_same_home();
    terminal.wait_for("Set up a model");
    terminal.press_keys(ESC);
    terminal.wait_for("nothing was changed");
    terminal.press_keys("/tasks\r");
    terminal.wait_for("✓  1  write the parser");
    terminal.wait_for("   2  and its tests");
    terminal.press_keys("/task use 2 coder_reviewer\r");
    terminal.wait_for("❯ /workflow coder_reviewer and its tests");
    terminal.press_keys(ENTER);
    // without a model the workflow says so, and the line is not lost
    terminal.wait_for("workflow coder_reviewer was not started");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
    assert_eq!(World::files(&terminal.project()), []);
    let kept = World::files(&terminal.home().join(".local/share/synthdev/tasks"));
    let names: Vec<&str> =
        kept.iter().map(|(path, _)| path.as_str()).filter(|path| path.ends_with(".json")).collect();
    assert_eq!(names.len(), 1, "{names:?}");
}
