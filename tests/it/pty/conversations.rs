//! Conversations that are left, cut off, and reopened.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use tempfile::TempDir;

use super::terminal::Terminal;
use super::{CTRL_C, ENTER, ESC};
use crate::support::model_server::{Behaviour, ModelServer};

/// One home with a model that answers so.
struct ChatHome {
    server: ModelServer,
    home: Arc<TempDir>,
}

impl ChatHome {
    async fn with_answers(answers: &[&str]) -> Self {
        let answers = answers.iter().map(|text| Behaviour::text(text)).collect();
        let server = ModelServer::start_server(answers).await;
        Self { server, home: Arc::new(crate::support::temporary::temp_directory()) }
    }

    fn start(&self, arguments: &[&str]) -> Terminal {
        let model = [
            ("SYNTHDEV_BASE_URL", self.server.base_url.as_str()),
            ("SYNTHDEV_BASE_MODEL", "mock-1"),
            ("SYNTHDEV_API_KEY", "sk-test"),
        ];
        Terminal::at_home(Arc::clone(&self.home), arguments, &model)
    }

    /// A session with one message and its answer.
    fn talk(&self, text: &str, answer: &str) -> Terminal {
        let mut terminal = self.start(&[]);
        terminal.wait_for("message, or / for commands");
        terminal.press_keys(&format!("{text}\r"));
        terminal.wait_for_answer(answer);
        terminal
    }

    /// The texts of the last request, without the role's.
    fn last_request(&self) -> Vec<String> {
        let requests = self.server.requests();
        let messages = requests.last().unwrap().body["messages"].as_array().unwrap().clone();
        let text = |message: &serde_json::Value| message["content"].as_str().unwrap().to_owned();
        messages.iter().filter(|message| message["role"] != "system").map(text).collect()
    }

    /// Reopened as it was, and it goes on.
    fn assert_goes_on(&self, arguments: &[&str]) {
        let mut terminal = self.start(arguments);
        terminal.wait_for("who are you?");
        terminal.wait_for("I am one.");
        terminal.wait_for("── resumed");
        terminal.press_keys("and now?\r");
        terminal.wait_for("I am two.");
        assert_eq!(self.last_request(), ["who are you?", "I am one.", "and now?"]);
        terminal.press_keys("\x04");
        assert!(terminal.wait_end().contains("exit=0"));
        terminal.assert_restored();
    }
}

const TWO: &[&str] = &["I am one.", "I am two."];

#[tokio::test(flavor = "multi_thread")]
async fn what_was_allowed_for_a_session_asks_again_in_the_next_one() {
    let command =
        |text: &str| Behaviour::calls(&[("c1", "execute_terminal", &format!("{{\"command\":\"{text}\"}}"))]);
    let answers = vec![command("echo one"), Behaviour::text("One is done."), command("echo two")];
    let answers = answers.into_iter().chain([Behaviour::text("Two is done.")]).collect();
    let server = ModelServer::start_server(answers).await;
    let home = ChatHome { server, home: Arc::new(crate::support::temporary::temp_directory()) };
    let rounds: [(&[&str], &str, &str, &str); 2] =
        [(&[], "first\r", "s\r", "One is done."), (&["--continue"], "second\r", "n\r", "Two is done.")];
    for (arguments, message, key, answer) in rounds {
        let mut terminal = home.start(arguments);
        terminal.wait_for("message, or / for commands");
        terminal.press_keys(message);
        terminal.wait_for("Allow coder to execute: execute_terminal?");
        terminal.press_keys(key);
        terminal.wait_for_answer(answer);
        terminal.press_keys("/exit\r");
        assert!(terminal.wait_end().contains("exit=0"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_that_was_left_goes_on() {
    let home = ChatHome::with_answers(TWO).await;
    let mut terminal = home.talk("who are you?", "I am one.");
    terminal.press_keys("/quit\r");
    let end = terminal.wait_end();
    assert!(end.contains("synthdev --continue reopens it") && end.contains("exit=0"), "{end}");
    home.assert_goes_on(&["--continue"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_that_was_cut_off_goes_on() {
    for signal in ["KILL", "HUP"] {
        let home = ChatHome::with_answers(TWO).await;
        let mut terminal = home.talk("who are you?", "I am one.");
        terminal.send_signal(signal);
        terminal.wait_end();
        home.assert_goes_on(&["--continue"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_several_conversations_is_chosen() {
    let home = ChatHome::with_answers(&["I am one.", "Something else.", "I am two."]).await;
    let mut terminal = home.talk("who are you?", "I am one.");
    terminal.press_keys("/clear\r");
    terminal.wait_until("the screen is empty", |screen| !screen.contains("I am one."));
    terminal.press_keys("write the changelog\r");
    terminal.wait_for_answer("Something else.");
    // the one on screen is not offered
    terminal.press_keys("/resume\r");
    terminal.wait_for("Resume which conversation");
    terminal
        .wait_until("one row", |screen| screen.contains("▸ who are you?") && !screen.contains("changelog"));
    terminal.press_keys(CTRL_C);
    terminal.wait_for("nothing was resumed");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));

    let mut terminal = home.start(&["--resume"]);
    terminal.wait_for("▸ write the changelog");
    terminal.wait_for("who are you?");
    terminal.wait_for("just now");
    terminal.press_keys("ARE you");
    terminal.wait_for("▸ who are you?");
    terminal.press_keys(ENTER);
    terminal.wait_for("I am one.");
    terminal.wait_for("── resumed");
    terminal.press_keys("and now?\r");
    terminal.wait_for_answer("I am two.");
    assert_eq!(home.last_request(), ["who are you?", "I am one.", "and now?"]);
    // a cleared screen shows it anew
    terminal.press_keys("/clear\r");
    terminal.wait_until("the screen is empty", |screen| !screen.contains("I am two."));
    terminal.press_keys("/resume\r");
    terminal.wait_for("▸ who are you?");
    terminal.press_keys(ENTER);
    terminal.wait_for("I am two.");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));

    let mut terminal = home.start(&["--linear", "--resume"]);
    terminal.wait_for("1. who are you?");
    terminal.wait_for("/resume NUMBER");
    terminal.press_keys("/resume 2\r");
    terminal.wait_for("Something else.");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_that_is_open_elsewhere_is_refused() {
    let home = ChatHome::with_answers(TWO).await;
    let mut first = home.talk("who are you?", "I am one.");
    let mut second = home.start(&["--continue"]);
    let end = second.wait_end();
    assert!(end.contains("is open in another process") && end.contains("exit=2"), "{end}");
    let mut second = home.start(&[]);
    second.wait_for("message, or / for commands");
    second.press_keys("/resume\r");
    second.wait_for("open elsewhere");
    second.press_keys(ENTER);
    second.wait_for("is not resumed");
    second.press_keys(ESC);
    for terminal in [&mut first, &mut second] {
        terminal.press_keys("/exit\r");
        assert!(terminal.wait_end().contains("exit=0"));
    }
    home.assert_goes_on(&["--continue"]);
}

#[test]
fn what_cannot_be_reopened_is_refused_before_the_screen() {
    let home = Arc::new(crate::support::temporary::temp_directory());
    for (arguments, expected) in [
        (&["--continue"][..], "no conversation that can be reopened"),
        (&["--resume"], "no conversation that can be reopened"),
        (&["--resume", "nothing-such"], "nothing-such"),
        (&["--continue", "workflows"], "use them without a command"),
    ] {
        let mut terminal = Terminal::at_home(Arc::clone(&home), arguments, &[]);
        let end = terminal.wait_end();
        assert!(end.contains(expected) && end.contains("exit=2"), "{arguments:?}: {end}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_gets_a_name() {
    let home = ChatHome::with_answers(TWO).await;
    let mut terminal = home.start(&[]);
    terminal.wait_for("message, or / for commands");
    terminal.press_keys("/rename too early\r");
    terminal.wait_for("no conversation is open");
    terminal.press_keys("who are you?\r");
    terminal.wait_for("I am one.");
    terminal.press_keys("/rename the parser\r");
    terminal.wait_for("this conversation is called the parser");
    terminal.press_keys("/exit\r");
    terminal.wait_end();
    let mut terminal = home.start(&["--resume"]);
    terminal.wait_for("▸ the parser");
    terminal.press_keys(ESC);
    terminal.wait_for("message, or / for commands");
    terminal.press_keys("/runs parser\r");
    terminal.wait_until("the list", |screen| screen.contains("left") && screen.contains("the parser"));
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_is_summed_up_on_request() {
    let long = "a long story ".repeat(300);
    let home = ChatHome::with_answers(&[&long, "short record", "I am two."]).await;
    let models =
        serde_json::json!({"providers": {"custom": {"models": {"mock-1": {"context_size": 16_000}}}}});
    let own = home.home.path().join(".config/synthdev");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("models.json"), models.to_string()).unwrap();
    let mut terminal = home.start(&[]);
    terminal.wait_for("message, or / for commands");
    terminal.press_keys("tell me all\r");
    terminal.wait_for_answer("% of 16k");
    terminal.press_keys("/compact the names\r");
    terminal.wait_for("the conversation was summed up:");
    terminal.wait_for("tokens");
    terminal.press_keys("and now?\r");
    terminal.wait_for_answer("I am two.");
    assert_eq!(home.last_request(), ["[summary of 2 earlier messages] short record\n\nand now?"]);
    // a message that was typed meanwhile comes after it; a failed one changes nothing
    terminal.press_keys("/compact\r");
    terminal.wait_for("it is as it was");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
    let mut terminal = home.start(&["--continue"]);
    terminal.wait_for("% of 16k");
    terminal.wait_for("I am two.");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
}

/// What the command line says of a conversation names what reopens it.
#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_names_what_reopens_a_conversation() {
    let home = ChatHome::with_answers(TWO).await;
    let mut terminal = home.talk("who are you?", "I am one.");
    terminal.press_keys("/exit\r");
    terminal.wait_end();
    let end = home.start(&["runs", "list"]).wait_end();
    let row = end.lines().find(|line| line.contains("who are you?")).unwrap();
    let run = row.split_whitespace().next().unwrap().to_owned();
    let other = home.home.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let other = other.display().to_string();
    for (arguments, expected) in [
        (vec!["-C", &other, "resume", &run], "hint: synthdev -C ".to_owned()),
        (vec!["runs", "show", &run], format!("go on: synthdev --resume {run}")),
        (vec!["runs", "fork", &run, "--at", "1"], "go on: synthdev --resume ".to_owned()),
        (vec!["resume", &run], format!("hint: synthdev --resume {run}")),
    ] {
        let end = home.start(&arguments).wait_end();
        assert!(end.contains(&expected), "{arguments:?}: {end}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_an_answer_names_opens_in_the_editor_and_an_address_is_a_link() {
    let chat = ChatHome::with_answers(&["Look at src/a.rs:2 and https://x.y/z."]).await;
    let (home, project) = (chat.home.path(), chat.home.path().join("project/src"));
    std::fs::create_dir_all(&project).unwrap();
    std::fs::write(project.join("a.rs"), "one\ntwo\n").unwrap();
    let (editor, seen) = (home.join("vim"), home.join("seen"));
    let script =
        format!("#!/bin/sh\nprintf '%s|' \"$@\" > '{}'\nprintf 'in the editor'\nread line\n", seen.display());
    std::fs::write(&editor, script).unwrap();
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    let editor = editor.display().to_string();
    let variables = [
        ("SYNTHDEV_BASE_URL", chat.server.base_url.as_str()),
        ("SYNTHDEV_BASE_MODEL", "mock-1"),
        ("SYNTHDEV_API_KEY", "sk-test"),
        ("EDITOR", editor.as_str()),
    ];
    let mut terminal = Terminal::at_home(Arc::clone(&chat.home), &[], &variables);
    terminal.wait_for("message, or / for commands");
    terminal.press_keys("where?\r");
    terminal.wait_for("Look at src/a.rs:2 and https://x.y/z.");
    terminal.wait_for_bytes(";https://x.y/z\x1b\\h\x1b]8;;\x1b\\");
    // the conversation has the keys, and its last entry is chosen
    terminal.press_keys("\x1b1");
    terminal.wait_for("VIEW");
    terminal.press_keys("\x1b[1;3A");
    terminal.press_keys(ENTER);
    terminal.wait_for("in the editor");
    let told = std::fs::read_to_string(&seen).unwrap();
    let file = project.join("a.rs").canonicalize().unwrap();
    assert_eq!(told, format!("+2|{}|", file.display()));
    terminal.press_keys("\n");
    terminal.wait_for("Look at src/a.rs:2");
    terminal.press_keys(ESC);
    terminal.wait_until("the input line has the keys", |screen| !screen.contains(" VIEW "));
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
    terminal.assert_restored();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_tools_is_told_once_in_a_session() {
    let home = ChatHome::with_answers(&["I am one.", "I am two.", "I am three."]).await;
    let own = home.home.path().join(".config/synthdev");
    std::fs::create_dir_all(&own).unwrap();
    let settings = serde_json::json!({"mcpServers": {"broken": {"command": "/no/such/program"}}});
    std::fs::write(own.join("settings.json"), settings.to_string()).unwrap();
    // it is asked for its tools beside the start; the next session knows what came of that
    let mut terminal = home.talk("first", "I am one.");
    terminal.wait_for("MCP server broken");
    terminal.press_keys("/exit\r");
    terminal.wait_end();
    let mut terminal = home.start(&[]);
    terminal.wait_for("message, or / for commands");
    terminal.press_keys("second\r");
    terminal.wait_for("MCP server broken gives no tools: ");
    terminal.wait_for("/mcp test broken");
    terminal.wait_for_answer("I am two.");
    terminal.press_keys("/clear\r");
    terminal.wait_until("the screen is empty", |screen| !screen.contains("I am two."));
    terminal.press_keys("third\r");
    terminal.wait_for_answer("I am three.");
    terminal.wait_until("it is told once", |screen| !screen.contains("MCP server broken"));
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
}
