//! Questions in a real terminal: when keys count, what has to be read first, and what is typed inside of them.

use std::fs;

use serde_json::json;

use super::terminal::Terminal;
use super::{CTRL_U, DOWN, END, ENTER, chat_session, configured_session};
use crate::support::model_server::{Behaviour, ModelServer};

/// What a fresh question says.
const FRESH: &str = "new: keys count in a moment";

fn command_asked(command: &str) -> Behaviour {
    Behaviour::calls(&[("c1", "execute_terminal", &json!({"command": command}).to_string())])
}

/// A conversation in which these commands are asked for, one after the other.
async fn asking(commands: &[&str]) -> (ModelServer, Terminal) {
    let mut script: Vec<Behaviour> = commands.iter().map(|command| command_asked(command)).collect();
    script.push(Behaviour::text("It is done."));
    let (server, mut terminal) = chat_session(script).await;
    terminal.press_keys("go");
    terminal.press_keys(ENTER);
    terminal.wait_for("Allow coder to execute: execute_terminal?");
    (server, terminal)
}

fn written(terminal: &Terminal) -> String {
    fs::read_to_string(terminal.project().join("ran.txt")).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_comes_too_early_is_not_taken() {
    // a slow machine may see the first ones too late: the next one is asked then
    let commands: Vec<String> = (0..5).map(|at| format!("echo {at} >>ran.txt")).collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let (_server, mut terminal) = asking(&commands).await;
    let held = (0..5).any(|at| {
        terminal.wait_for(&format!("echo {at} >>ran.txt"));
        terminal.wait_for(FRESH);
        terminal.press_at_once("n");
        terminal.wait_until("the key is held, or has denied", |screen| {
            screen.contains("this question just appeared") || screen.contains("the user denied this call")
        });
        terminal.screen_text().contains("this question just appeared")
    });
    assert!(held, "{}", terminal.screen_text());
    assert_eq!(written(&terminal), "");
    terminal.wait_until("the answers", |screen| !screen.contains(FRESH));
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
}

#[tokio::test(flavor = "multi_thread")]
async fn allowing_waits_for_the_end_of_the_text() {
    let command: String = (0..40).map(|at| format!("echo {at} >>ran.txt\n")).collect();
    let (_server, mut terminal) = asking(&[&command]).await;
    terminal.wait_for(" more lines");
    terminal.press_keys("y\r");
    terminal.wait_for("read to the end first, then answer");
    assert_eq!(written(&terminal), "");
    terminal.press_keys(END);
    terminal.wait_for("┃ echo 39 >>ran.txt");
    terminal.press_keys("y\r");
    terminal.wait_for("It is done.");
    assert_eq!(written(&terminal).lines().count(), 40);
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_changed_before_it_runs() {
    let (server, mut terminal) = asking(&["echo one >>ran.txt"]).await;
    terminal.press_keys("e\r");
    terminal.wait_for("as it shall run:");
    terminal.press_keys(CTRL_U);
    terminal.press_keys("echo two >>ran.txt");
    terminal.wait_for("❯ echo two >>ran.txt");
    terminal.press_keys(ENTER);
    terminal.wait_for("(changed)");
    terminal.wait_for("┃ echo two >>ran.txt");
    assert_eq!(written(&terminal), "", "it is asked once more");
    terminal.press_keys("y\r");
    terminal.wait_for("It is done.");
    assert_eq!(written(&terminal), "two\n");
    let told = server.requests().last().unwrap().body.to_string();
    assert!(told.contains("the user changed this call") && told.contains("echo two"), "{told}");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_denied_with_a_reason() {
    let (server, mut terminal) = asking(&["echo one >>ran.txt"]).await;
    terminal.press_keys("r\r");
    terminal.wait_for("reason (optional):");
    terminal.press_keys("not in this file");
    terminal.wait_for("❯ not in this file");
    terminal.press_keys(ENTER);
    terminal.wait_for("It is done.");
    assert_eq!(written(&terminal), "");
    let told = server.requests().last().unwrap().body.to_string();
    assert!(told.contains("the user denied this call: not in this file"), "{told}");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sentence_beside_a_question_denies_with_it() {
    for at_once in [false, true] {
        let (server, mut terminal) = asking(&["echo one >>ran.txt"]).await;
        if at_once {
            terminal.press_keys("stop, do not use sed");
        } else {
            for letter in "stop, do not use sed".chars() {
                terminal.press_keys(&letter.to_string());
            }
        }
        terminal.wait_for("❯ stop, do not use sed");
        assert_eq!(written(&terminal), "");
        terminal.press_keys(ENTER);
        terminal.wait_for("It is done.");
        assert_eq!(written(&terminal), "");
        let told = server.requests().last().unwrap().body.to_string();
        assert!(told.contains("the user denied this call: stop, do not use sed"), "{told}");
        terminal.press_keys("/exit\r");
        assert!(terminal.wait_end().contains("exit=0"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn always_writes_the_rule_as_it_was_changed() {
    let (_server, mut terminal) = asking(&["echo one >>ran.txt", "echo two >>ran.txt"]).await;
    // a key for the question: what comes now is meant for it
    terminal.press_keys(DOWN);
    terminal.wait_for("▸ y allow once");
    terminal.press_keys("a\r");
    terminal.wait_for("❯ approvals.tools.execute_terminal = allow");
    let settings = terminal.home().join(".config/synthdev/settings.json");
    assert!(!settings.exists(), "nothing is written before Enter");
    terminal.press_keys(CTRL_U);
    terminal.press_keys("approvals.write = allow\r");
    terminal.wait_for("this rule does not allow execute_terminal");
    terminal.press_keys(CTRL_U);
    terminal.press_keys("approvals.execute = allow\r");
    terminal.wait_for("It is done.");
    terminal.wait_for("every tool that executes commands is allowed from now on");
    assert_eq!(written(&terminal), "one\ntwo\n", "the second one was not asked about");
    let settings: serde_json::Value = serde_json::from_str(&fs::read_to_string(settings).unwrap()).unwrap();
    assert_eq!(settings["approvals"], json!({"execute": "allow"}));
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
}

/// A rule that is revoked leaves the user's settings as they were before it, and one that was changed since as it is.
#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_rule_brings_back_what_was_there() {
    let asks = r#"{"approvals": {"execute": "allow", "tools": {"execute_terminal": "ask"}}}"#;
    for (changed, expected) in [(None, "ask"), (Some("deny"), "deny")] {
        let script = vec![command_asked("echo one"), Behaviour::text("It is done.")];
        let (_server, mut terminal) = configured_session(script, Some(asks)).await;
        let settings = terminal.home().join(".config/synthdev/settings.json");
        let rule = || {
            let text = fs::read_to_string(&settings).unwrap();
            let settings: serde_json::Value = serde_json::from_str(&text).unwrap();
            settings["approvals"]["tools"]["execute_terminal"].as_str().map(str::to_owned)
        };
        terminal.press_keys("go\r");
        terminal.wait_for("y allow once");
        terminal.press_keys("a\r");
        terminal.wait_for("approvals.tools.execute_terminal = allow");
        terminal.press_keys(ENTER);
        terminal.wait_for("saved in");
        terminal.wait_for("It is done.");
        assert_eq!(rule().as_deref(), Some("allow"));
        if let Some(changed) = changed {
            let text = fs::read_to_string(&settings).unwrap();
            fs::write(
                &settings,
                text.replace(
                    r#""execute_terminal": "allow""#,
                    &format!(r#""execute_terminal": "{changed}""#),
                ),
            )
            .unwrap();
            assert_eq!(rule().as_deref(), Some(changed));
        }
        terminal.press_keys("/approvals revoke\r");
        terminal.wait_for(if changed.is_some() {
            "not in your settings any more"
        } else {
            "again; runs that began"
        });
        assert_eq!(rule().as_deref(), Some(expected));
        terminal.press_keys("/exit\r");
        assert!(terminal.wait_end().contains("exit=0"));
    }
}
