//! A machine on which no sandbox works, with a user: each command is a question of its own, and a yes counts once.

use std::fs;
use std::sync::Arc;

use super::terminal::Terminal;
use super::{ENTER, linear};
use crate::support::model_server::{Behaviour, ModelServer};

/// What is asked, and the red line.
const ASKED: &str = "without a sandbox?";
const DANGER: &str = "! this command runs WITHOUT A SANDBOX";

/// Approvals do not answer it.
const ALLOWED: &str = r#"{"sandbox": {"layer": "none"}, "approvals": {"execute": "allow"}}"#;
const ASKING: &str = r#"{"sandbox": {"layer": "none"}}"#;

fn home_with_settings(settings: &str) -> Arc<tempfile::TempDir> {
    let home = crate::support::temporary::temp_directory();
    fs::create_dir_all(home.path().join(".config/synthdev")).unwrap();
    fs::create_dir_all(home.path().join("project")).unwrap();
    fs::write(home.path().join(".config/synthdev/settings.json"), settings).unwrap();
    Arc::new(home)
}

fn execute_answer(text: &str) -> Behaviour {
    let arguments = format!(r#"{{"command": "echo {text} >>ran.txt"}}"#);
    Behaviour::calls(&[("c1", "execute_terminal", &arguments)])
}

/// One command, another one, and the first one again.
const COMMANDS: [&str; 3] = ["one", "two", "one"];

/// What is pressed for no, and for yes.
async fn check_answers(settings: &str, arguments: &[&str], no: &str, yes: &str) {
    let mut script: Vec<Behaviour> = COMMANDS.into_iter().map(execute_answer).collect();
    script.push(Behaviour::text("It is done."));
    let server = ModelServer::start_server(script).await;
    let variables = [
        ("SYNTHDEV_BASE_URL", server.base_url.as_str()),
        ("SYNTHDEV_BASE_MODEL", "mock-1"),
        ("SYNTHDEV_API_KEY", "sk-test"),
    ];
    let home = home_with_settings(settings);
    let file = home.path().join("project/ran.txt");
    let ran = || fs::read_to_string(&file).unwrap_or_default();
    let mut terminal = Terminal::at_home(Arc::clone(&home), arguments, &variables);
    let linear = !arguments.is_empty();
    terminal.wait_for(if linear { "role:coder>" } else { "message, or / for commands" });
    terminal.press_keys("go");
    terminal.press_keys(ENTER);
    let mut before = "";
    for (at, (command, (answer, expected))) in
        COMMANDS.into_iter().zip([(yes, "one\n"), (no, "one\n"), (yes, "one\none\n")]).enumerate()
    {
        let asked = format!("┃ echo {command} >>ran.txt");
        terminal.wait_until(&format!("question {at}"), |screen| {
            let last = screen.rfind(ASKED).map_or("", |found| &screen[found..]);
            last.contains(DANGER) && last.contains(&asked)
        });
        assert_eq!(ran(), before, "question {at}");
        if !linear {
            assert!(terminal.is_red(DANGER), "{}", terminal.screen_text());
            for word in ["always", "this session", "this run"] {
                assert!(!terminal.screen_text().contains(word), "{word}: {}", terminal.screen_text());
            }
        }
        terminal.press_keys(answer);
        before = expected;
    }
    terminal.wait_for("It is done.");
    assert_eq!(ran(), before);
    let told: Vec<String> = server.requests().iter().map(|request| request.body.to_string()).collect();
    assert!(told[2].contains("the user denied this call"), "{}", told[2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_command_is_asked_on_screen() {
    check_answers(ALLOWED, &[], "n\r", "y\r").await;
    check_answers(ASKING, &[], "n\r", "y\r").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_command_is_asked_in_lines() {
    check_answers(ALLOWED, &["--linear"], "n\r", "y\r").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_that_were_written_before_allow_nothing() {
    let server = ModelServer::start_server(vec![execute_answer("one"), Behaviour::text("It is done.")]).await;
    let base = server.base_url.clone();
    let home = home_with_settings(ALLOWED);
    let at = home.path().to_owned();
    let piped = tokio::task::spawn_blocking(move || {
        let variables = [
            ("SYNTHDEV_BASE_URL", base.as_str()),
            ("SYNTHDEV_BASE_MODEL", "mock-1"),
            ("SYNTHDEV_API_KEY", "sk-test"),
        ];
        linear::piped_at(&at, &["--linear"], &variables, "go\ny\ny\n")
    });
    let (text, _) = piped.await.unwrap();
    assert!(text.contains("only a user at a terminal can allow it"), "{text}");
    assert!(!home.path().join("project/ran.txt").exists(), "it was executed: {text}");
}
