//! From an empty home directory to a working model, by keys alone; the key is in one file and nowhere else.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::terminal::Terminal;
use super::{CTRL_C, ENTER, ESC};
use crate::cli::world::World;
use crate::support::list_server::{ListServer, Say, model_list};

const KEY: &str = "sk-Wizard-7d31c0aa42";

fn files(terminal: &Terminal) -> Vec<String> {
    World::files(&terminal.home().join(".config")).into_iter().map(|(path, _)| path).collect()
}

/// Takes the dialog from its first question to the trial; the trial's answer is on screen then.
fn complete_setup(terminal: &mut Terminal, server: &ListServer, key: &str) {
    terminal.wait_for("Set up a model · 1 of 6");
    terminal.press_keys(&server.base_url);
    terminal.wait_for("▸ use http://127.0.0.1");
    terminal.press_keys(ENTER);
    terminal.wait_for("It is not shown.");
    terminal.press_keys(key);
    terminal.wait_for("❯ ••••••");
    terminal.press_keys(ENTER);
    terminal.wait_for("3 of 6");
    terminal.wait_for("alpha-1");
    terminal.press_keys("bet");
    terminal.wait_until("only one fits", |screen| screen.contains("▸ beta-2") && !screen.contains("alpha-1"));
    terminal.press_keys(ENTER);
    terminal.wait_for("the smart level");
    terminal.press_keys(ENTER);
    terminal.wait_for("the fast level");
    terminal.press_keys("alpha");
    terminal.wait_for("▸ alpha-1");
    terminal.press_keys(ENTER);
    terminal.wait_for("6 of 6");
}

#[test]
fn from_an_empty_home_to_a_running_workflow() {
    let decision = json!({"improvement_needed": false, "work_summary": "All is well."});
    let script = vec![
        Say::Text("ready"),
        Say::Text("ready"),
        Say::Text("I did it."),
        Say::Call("review_work", decision),
        Say::Text("ready"),
        Say::Text("Hello from the other one."),
    ];
    let server = ListServer::start_server(Some(KEY), model_list(&["alpha-1", "beta-2"]), script);
    let mut terminal = Terminal::start_product(&[], &[("SYNTHDEV_VERBOSITY", "5")]);
    complete_setup(&mut terminal, &server, KEY);
    terminal.wait_for("✓ beta-2 of http://127.0.0.1");
    assert_eq!(files(&terminal), Vec::<String>::new(), "nothing is written before it is saved");
    terminal.press_keys(ENTER);
    terminal.wait_for("level base asks beta-2 of http");
    let saved = terminal.home().join(".config/synthdev");
    for file in ["settings.json", "keys.json"] {
        let mode = std::fs::metadata(saved.join(file)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{file}");
    }
    terminal.press_keys("/workflow coder_reviewer \"say it\"\r");
    terminal.wait_for("✓ coder_reviewer completed");
    terminal.wait_for("All is well.");
    // another model, without a restart
    terminal.press_keys("/configure\r");
    terminal.wait_for("1 of 6");
    terminal.press_keys(&server.base_url);
    terminal.wait_for("▸ http://127.0.0.1");
    terminal.press_keys(ENTER);
    terminal.wait_for("Enter keeps it");
    terminal.press_keys(ENTER);
    terminal.wait_for("▸ beta-2");
    terminal.press_keys("alpha\r");
    terminal.wait_for("the smart level");
    terminal.press_keys(ENTER);
    terminal.wait_for("the fast level");
    terminal.press_keys(ENTER);
    terminal.wait_for("✓ alpha-1 of http");
    terminal.press_keys(ENTER);
    terminal.wait_for("level base asks alpha-1 of http");
    terminal.press_keys("hello\r");
    terminal.wait_for("Hello from the other one.");
    assert_eq!(server.models(), ["beta-2", "alpha-1", "beta-2", "beta-2", "alpha-1", "alpha-1"]);
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
    terminal.assert_restored();
    terminal.assert_never_shown(KEY);
    let all = World::files(terminal.home());
    assert!(all.iter().any(|(path, _)| path.ends_with("synthdev.log")), "there is a log to look through");
    let holds = |bytes: &[u8]| bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes());
    let with_key: Vec<&String> = all.iter().filter(|(_, bytes)| holds(bytes)).map(|(path, _)| path).collect();
    assert_eq!(with_key, [".config/synthdev/keys.json"]);
}

#[test]
fn a_wrong_key_is_told_and_escape_leaves_everything_as_it_was() {
    let server = ListServer::start_server(Some(KEY), model_list(&["alpha-1"]), Vec::new());
    let mut terminal = Terminal::start_product(&[], &[]);
    terminal.wait_for("Set up a model");
    terminal.press_keys("nowhere");
    terminal.press_keys(ENTER);
    terminal.wait_for("there is no provider `nowhere` in the list");
    terminal.press_keys("\x15ftp://127.0.0.1:1/v1\r");
    terminal.wait_for("must begin with http:// or https://");
    terminal.press_keys("\x15");
    terminal.press_keys(&server.base_url);
    terminal.press_keys(ENTER);
    terminal.wait_for("It is not shown.");
    terminal.press_keys("\x1b[200~sk-a\nsk-b\x1b[201~\r");
    terminal.wait_for("the key holds a line break");
    terminal.press_keys("sk-wrong\r");
    terminal.wait_for("the key was refused");
    terminal.press_keys("any-model\r");
    terminal.wait_for("the smart level");
    terminal.press_keys(ENTER);
    terminal.wait_for("the fast level");
    terminal.press_keys(ENTER);
    terminal.wait_for("t tries again");
    terminal.press_keys(ESC);
    terminal.wait_for("nothing was changed");
    assert_eq!(files(&terminal), Vec::<String>::new());
    terminal.press_keys("/configure fast\r");
    terminal.wait_for("Set up a model for fast · 1 of 4");
    terminal.press_keys(CTRL_C);
    terminal.wait_for("nothing was changed");
    terminal.press_keys(CTRL_C);
    assert!(terminal.wait_end().contains("exit=0"));
    terminal.assert_restored();
    terminal.assert_never_shown("sk-wrong");
}

#[test]
fn as_a_command_of_its_own_it_ends_with_the_dialog() {
    let server = ListServer::start_server(Some(KEY), model_list(&["alpha-1", "beta-2"]), Vec::new());
    let mut terminal = Terminal::start_product(&["configure"], &[]);
    complete_setup(&mut terminal, &server, KEY);
    terminal.wait_for("Enter saves it");
    terminal.press_keys(ENTER);
    let end = terminal.wait_end();
    assert!(end.contains("saved: ") && end.contains("exit=0"), "{end}");
    let mut terminal = Terminal::start_product(&["configure"], &[]);
    terminal.wait_for("Set up a model");
    terminal.press_keys(ESC);
    let end = terminal.wait_end();
    assert!(end.contains("nothing was changed") && end.contains("exit=130"), "{end}");
}

#[test]
fn a_server_of_the_environment_is_named_where_another_one_was_typed() {
    let server = ListServer::start_server(None, model_list(&["alpha-1", "beta-2"]), vec![]);
    let set = [("SYNTHDEV_BASE_URL", server.base_url.as_str()), ("SYNTHDEV_BASE_MODEL", "alpha-1")];
    let mut terminal = Terminal::start_product(&["configure"], &set);
    terminal.wait_for("Set up a model · 1 of 6");
    terminal.press_keys("http://127.0.0.1:9/v1");
    terminal.wait_for("▸ use http://127.0.0.1:9/v1");
    terminal.press_keys(ENTER);
    terminal.wait_for("It is not shown.");
    terminal.press_keys(ENTER);
    terminal.wait_for("3 of 6");
    terminal.wait_for("alpha-1");
    terminal.wait_for("SYNTHDEV_BASE_URL (environment) wins over what is saved here");
    terminal.press_keys(ESC);
    terminal.wait_end();
}
