//! Editing in a real terminal: a workflow is broken, repaired, saved and run without a restart.

use std::fs;

use serde_json::json;

use super::terminal::Terminal;
use super::{ENTER, ESC};

const CTRL_F: &str = "\x06";
const CTRL_O: &str = "\x0f";
const CTRL_S: &str = "\x13";
const CTRL_Z: &str = "\x1a";
const F5: &str = "\x1b[15~";
const F8: &str = "\x1b[19~";

fn workflow(said: &str) -> serde_json::Value {
    json!({
        "workflow_name": "greet",
        "output": {"name": "greeting"},
        "states": [
            {"name": "start", "transition": [{"target": "stop"}],
             "action": {"script": format!("() => {{ this.common_data.greeting = '{said}'; }}")}},
            {"name": "stop", "input": "common_data.greeting"},
        ],
    })
}

fn own_file(terminal: &Terminal) -> std::path::PathBuf {
    terminal.home().join(".config/synthdev/workflows/greet.json")
}

/// The dialog that comes unbidden where no model is set.
pub(super) fn without_setup(terminal: &mut Terminal) {
    terminal.wait_for("Set up a model");
    terminal.press_keys(ESC);
    terminal.wait_until("the end of the dialog", |screen| !screen.contains("Set up a model"));
}

#[test]
fn a_workflow_is_broken_repaired_saved_and_run_without_a_restart() {
    let mut terminal = Terminal::with_workflow("greet", &workflow("first"));
    without_setup(&mut terminal);
    terminal.press_keys("/edit greet\r");
    terminal.wait_for("user:workflows/greet.json");
    terminal.wait_for("nothing wrong");
    terminal.press_keys(CTRL_F);
    terminal.wait_for("find:");
    terminal.press_keys("\"stop\"");
    terminal.press_keys(ENTER);
    terminal.press_keys("\x1b[C\x1b[C");
    terminal.press_keys("x");
    terminal.wait_for("1 error");
    terminal.press_keys(F8);
    // place and reason of the line
    terminal.wait_until("the finding", |screen| screen.contains("✗ 1:") && screen.contains("sxtop"));
    terminal.press_keys(CTRL_S);
    terminal.wait_for("y saves it");
    // what is used in its place is said
    terminal.press_keys("y\r");
    terminal.wait_for("with an error: greet cannot be started");
    terminal.press_keys(CTRL_Z);
    terminal.wait_for("nothing wrong");
    terminal.press_keys(CTRL_F);
    terminal.press_keys("first");
    terminal.press_keys(ENTER);
    terminal.press_keys("second-");
    terminal.wait_for("changed");
    terminal.press_keys(CTRL_S);
    terminal.wait_for("saved user:workflows/greet.json: used from now on");
    assert!(fs::read_to_string(own_file(&terminal)).unwrap().contains("'second-first'"));
    terminal.press_keys("\x11");
    terminal.wait_for("message, or / for commands");
    terminal.press_keys("/workflow greet\r");
    terminal.wait_for("second-first");
    terminal.wait_for("greet completed");
    // somebody else changes it: the next start takes that
    fs::write(own_file(&terminal), workflow("from outside").to_string()).unwrap();
    terminal.press_keys("/workflow greet\r");
    terminal.wait_for("from outside");
    terminal.press_keys("/exit\r");
    let end = terminal.wait_end();
    assert!(end.contains("exit=0"), "{end}");
    terminal.assert_restored();
    terminal.assert_no_queries();
}

#[test]
fn another_editor_gets_the_terminal_and_gives_it_back() {
    let home = std::sync::Arc::new(crate::support::temporary::temp_directory());
    let folder = home.path().join(".config/synthdev/workflows");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("greet.json"), workflow("first").to_string()).unwrap();
    // asks for a word on the terminal and puts it in
    let script = home.path().join("ed.sh");
    fs::write(&script, "printf 'word? '; read word; sed -i \"s/first/$word/\" \"$1\"\n").unwrap();
    let editor = format!("sh {}", script.display());
    let mut terminal = Terminal::at_home(home, &[], &[("EDITOR", &editor)]);
    without_setup(&mut terminal);
    terminal.press_keys("/edit greet\r");
    terminal.wait_for("nothing wrong");
    terminal.press_keys(CTRL_O);
    terminal.wait_for("word? ");
    terminal.press_keys("theirs\n");
    terminal.wait_for("taken over; Ctrl+S saves it");
    terminal.press_keys(CTRL_S);
    terminal.wait_for("saved user:workflows/greet.json");
    assert!(fs::read_to_string(own_file(&terminal)).unwrap().contains("'theirs'"));
    // keys are ours again
    terminal.press_keys("\x11");
    terminal.wait_for("message, or / for commands");
    terminal.press_keys("/exit\r");
    let end = terminal.wait_end();
    assert!(end.contains("exit=0"), "{end}");
    terminal.assert_restored();
}

#[test]
fn a_file_changed_meanwhile_and_a_project_changed_by_others() {
    let mut terminal = Terminal::with_workflow("greet", &workflow("first"));
    without_setup(&mut terminal);
    terminal.press_keys("/edit greet\r");
    terminal.wait_for("nothing wrong");
    fs::write(own_file(&terminal), workflow("theirs").to_string()).unwrap();
    terminal.press_keys(" ");
    terminal.press_keys(CTRL_S);
    terminal.wait_for("o overwrites it · r reads it again");
    assert!(fs::read_to_string(own_file(&terminal)).unwrap().contains("theirs"));
    terminal.press_keys("r\r");
    terminal.wait_for("read again");
    terminal.press_keys(CTRL_F);
    terminal.press_keys("theirs");
    terminal.wait_for("find: theirs");
    terminal.press_keys(ENTER);
    terminal.wait_for("1 of 1: theirs");
    // drawn anew, without a question to the terminal
    terminal.press_keys("\x0c");
    terminal.press_keys("\x11");
    terminal.wait_for("message, or / for commands");
    // a project gets a workflow of the same name: nobody has agreed to it
    let folder = terminal.project().join(".synthdev/workflows");
    fs::create_dir_all(&folder).unwrap();
    fs::write(
        folder.join("greet.json"),
        workflow("the project's").to_string().replace("'the project's'", "'projects'"),
    )
    .unwrap();
    terminal.press_keys("/workflow greet\r");
    terminal.wait_for("Trust this project's definitions?");
    terminal.answer_question("y\r");
    terminal.wait_for("projects");
    // what is saved here is meant: no question
    terminal.wait_for("greet completed");
    terminal.press_keys("/edit greet\r");
    terminal.wait_for(".synthdev/workflows/greet.json");
    terminal.wait_for("nothing wrong");
    terminal.press_keys(CTRL_F);
    terminal.press_keys("projects");
    terminal.press_keys(ENTER);
    terminal.press_keys("own-");
    terminal.press_keys(CTRL_S);
    terminal.wait_for("saved .synthdev/workflows/greet.json: used from now on");
    terminal.press_keys("\x11");
    terminal.wait_for("message, or / for commands");
    terminal.press_keys("/workflow greet\r");
    terminal.wait_for("own-projects");
    terminal.press_keys("/exit\r");
    let end = terminal.wait_end();
    assert!(end.contains("exit=0"), "{end}");
    terminal.assert_no_queries();
}

#[test]
fn a_new_workflow_from_a_pattern_is_simulated_saved_and_listed() {
    let mut terminal = Terminal::with_workflow("greet", &workflow("first"));
    without_setup(&mut terminal);
    terminal.press_keys("/edit --new\r");
    terminal.wait_for("what does it begin with?");
    terminal.wait_for("one agent, one task");
    terminal.press_keys("review loop\r");
    terminal.wait_for("what is its name?");
    terminal.press_keys("greet\r");
    terminal.wait_for("greet.json is already there");
    terminal.press_keys("_more\r");
    terminal.wait_for("nothing is written until you save it");
    terminal.wait_for("nothing wrong");
    assert!(!own_file(&terminal).with_file_name("greet_more.json").exists());
    terminal.press_keys(F5);
    terminal.wait_for("none sent");
    terminal.wait_for("completed");
    terminal.press_keys(CTRL_S);
    terminal.wait_for("saved user:workflows/greet_more.json");
    assert!(own_file(&terminal).with_file_name("greet_more.json").exists());
    terminal.press_keys("\x11");
    terminal.wait_for("message, or / for commands");
    terminal.press_keys("/simulate greet_more\r");
    terminal.wait_for("Simulation of greet_more");
    terminal.wait_for("work 2× · review 2×");
    terminal.press_keys("/simulate coder_reviewer\r");
    terminal.wait_for("coder_reviewer · test ");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
}

/// If a workflow cannot be started, the message names the command that opens its file, and that opens it.
#[test]
fn what_cannot_be_started_says_how_its_file_is_opened() {
    let mut broken = workflow("first");
    broken["states"][0]["transition"][0]["target"] = json!("sotp");
    let mut terminal = Terminal::with_workflow("greet", &broken);
    without_setup(&mut terminal);
    for (text, hint) in [
        (broken.to_string(), "/edit user:workflows/greet.json opens it at the error"),
        ("{\"workflow_name\": ".to_owned(), "/edit greet opens it at the error"),
    ] {
        fs::write(own_file(&terminal), text).unwrap();
        terminal.press_keys("/clear\r/workflow greet\r");
        terminal.wait_for("workflow greet was not started");
        terminal.wait_for(hint);
        let (line, _) = hint.split_once(" opens").unwrap();
        terminal.press_keys(&format!("{line}\r"));
        terminal.wait_for("1 error");
        terminal.press_keys(ESC);
        terminal.wait_for("message, or / for commands");
    }
}

/// A shipped workflow is not started, and not opened, in the place of a copy that cannot be read.
#[test]
fn a_copy_that_cannot_be_read_is_not_passed_over() {
    let mut terminal = Terminal::with_workflow("coder_reviewer", &workflow("first"));
    without_setup(&mut terminal);
    let copy = own_file(&terminal).with_file_name("coder_reviewer.json");
    fs::write(&copy, "{\n    \"workflow_name\": \"coder_reviewer\",\n    \"states\": [,]\n}\n").unwrap();
    terminal.press_keys("/workflow coder_reviewer\r");
    terminal.wait_for("workflow coder_reviewer was not started");
    terminal.wait_for("user:workflows/coder_reviewer.json:3:");
    terminal.wait_for("is not used in its place");
    terminal.press_keys("/clear\r/workflows\r");
    terminal.wait_for("coder_reviewer (user)");
    terminal.wait_until("one line of it", |screen| !screen.contains("coder_reviewer (built-in)"));
    terminal.press_keys("/edit coder_reviewer\r");
    // the cursor is at the error
    terminal.wait_until("the finding", |screen| screen.contains("✗ 3:") && screen.contains("1 error"));
    terminal.press_keys(" ");
    terminal.press_keys(CTRL_S);
    terminal.wait_for("y saves it");
    terminal.press_keys("y\r");
    terminal.wait_for("with an error: coder_reviewer cannot be");
}
