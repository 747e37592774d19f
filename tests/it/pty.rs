//! The program in a real terminal (a pty, read by a terminal emulator): keys in, screen out, and the terminal as it
//! was at the end. Every wait is for something on screen; its bound only ends a failing test.

mod conversations;
mod editor;
mod elsewhere;
mod history;
mod index;
mod linear;
mod mcp_servers;
mod questions;
mod resuming;
mod setup;
mod shell;
mod steering;
mod storms;
mod tasks;
pub(crate) mod terminal;
mod terminal_features;
mod tmux;
mod unsandboxed;

use std::time::Duration;

use serde_json::json;
use synthdev::tui::terminal::{TerminalScreen, run_guarded};

use crate::cli::world::wait_for;
use crate::support::model_server::{Behaviour, ModelServer};
use terminal::Terminal;

const ALT_ENTER: &str = "\x1b\r";
const ENTER: &str = "\r";
const ESC: &str = "\x1b";
const CTRL_C: &str = "\x03";
const CTRL_U: &str = "\x15";
const DOWN: &str = "\x1b[B";
const END: &str = "\x1b[F";

/// Arrows to the second answer of an approval, and Enter.
const FOR_SESSION: &str = "\x1b[B\x1b[B\r";

/// A session with a model that answers so.
async fn chat_session(script: Vec<Behaviour>) -> (ModelServer, Terminal) {
    configured_session(script, None).await
}

/// The same with settings of the user.
async fn configured_session(script: Vec<Behaviour>, settings: Option<&str>) -> (ModelServer, Terminal) {
    let server = ModelServer::start_server(script).await;
    let model = [
        ("SYNTHDEV_BASE_URL", server.base_url.as_str()),
        ("SYNTHDEV_BASE_MODEL", "mock-1"),
        ("SYNTHDEV_API_KEY", "sk-test"),
    ];
    let home = std::sync::Arc::new(crate::support::temporary::temp_directory());
    if let Some(settings) = settings {
        let own = home.path().join(".config/synthdev");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join("settings.json"), settings).unwrap();
    }
    let terminal = Terminal::at_home(home, &[], &model);
    terminal.wait_for("message, or / for commands");
    (server, terminal)
}

/// An answer that begins with `text` and never ends.
pub(crate) fn unfinished_answer(text: &str) -> Behaviour {
    let chunk = json!({"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "mock-1",
        "choices": [{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": null}]});
    Behaviour::raw_stream(&format!("data: {chunk}\n\n")).with_stall()
}

fn last_text(server: &ModelServer) -> String {
    let requests = server.requests();
    let messages = requests.last().unwrap().body["messages"].as_array().unwrap().clone();
    messages.last().unwrap()["content"].as_str().unwrap().to_owned()
}

#[test]
fn the_prefix_of_the_settings_stands_before_the_text() {
    let settings = json!({"input_prefix": "you>"}).to_string();
    let mut terminal = Terminal::with_config("settings.json", &settings, &[]);
    terminal.wait_for("you> message, or / for commands");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
}

#[test]
fn panes_show_a_run_and_keys_are_the_users_own() {
    let keys = "{\"graph\": [\"Alt+G\"], \"grahp\": [\"Alt+H\"]}";
    let mut terminal = Terminal::with_config("keyboard.json", keys, &["demo"]);
    terminal.wait_for("write_file?");
    terminal.answer_question("y\r");
    terminal.wait_for("execute_terminal?");
    terminal.press_keys("\x1bg");
    terminal.wait_for("─ graph · coder_reviewer");
    terminal.answer_question("y\r");
    terminal.wait_for("reviewer to execute: execute_terminal?");
    terminal.answer_question(FOR_SESSION);
    terminal.wait_for("edit_file?");
    terminal.answer_question(FOR_SESSION);
    terminal.wait_for("▶■ stop");
    terminal.press_keys("\x1b7");
    terminal.wait_for("by state");
    terminal.wait_for("· over");
    terminal.press_keys("\x1by");
    terminal.wait_for("copied ");
    terminal.press_keys(ESC);
    terminal.wait_for("undo: /undo");
    // Home
    terminal.press_keys("\x1b[H");
    terminal.wait_for("there is no action");
    terminal.press_keys("/exit\r");
    terminal.wait_for("exit=0");
}

#[test]
fn the_start_line_names_the_environment_file() {
    let mut terminal = Terminal::with_config(
        ".env",
        "SYNTHDEV_BASE_URL=http://127.0.0.1:1/v1\n\
        SYNTHDEV_BASE_MODEL=mock-1\nSYNTHDEV_API_KEY=sk-test\n",
        &[],
    );
    terminal.wait_for("role coder · mock-1 · ");
    terminal.wait_for(" tools: /tools says why");
    terminal.wait_for("environment user:.env");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
}

#[test]
fn a_theme_that_is_none_is_told_and_another_is_used() {
    let model = [
        ("SYNTHDEV_BASE_URL", "http://127.0.0.1:1/v1"),
        ("SYNTHDEV_BASE_MODEL", "mock-1"),
        ("SYNTHDEV_API_KEY", "sk-test"),
        ("SYNTHDEV_THEME", "pink"),
    ];
    let mut terminal = Terminal::start_product(&[], &model);
    terminal.wait_for("there is no theme pink: it is one of auto");
    terminal.press_keys("/theme plain\r");
    terminal.wait_for("theme plain");
    terminal.press_keys("/mouse on\r");
    terminal.wait_for("the mouse scrolls");
    // the wheel, as the terminal reports it
    terminal.press_keys("\x1b[<64;10;5M");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
    terminal.assert_restored();
}

#[test]
fn the_terminal_says_what_its_background_is() {
    let mut terminal = Terminal::start_product(&["demo"], &[]);
    terminal.wait_for("write_file?");
    terminal.press_keys("\x1b]11;rgb:ffff/ffff/e0e0\x1b\\");
    terminal.press_keys(ESC);
    terminal.wait_for("the user denied this call");
    terminal.press_keys("/theme\r");
    terminal.wait_for("light is used");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
    terminal.assert_restored();
}

#[test]
fn leaving_does_not_wait_for_a_terminal_that_says_nothing() {
    let mut terminal = Terminal::start_product(&["demo"], &[]);
    terminal.wait_for_bytes("\x1b]11;?");
    terminal.press_keys("\x04");
    let end = terminal.wait_end();
    assert!(end.contains("exit=0"), "{end}");
    terminal.assert_restored();
}

#[test]
fn a_workflow_that_is_named_before_the_answer_about_trust_runs_after_it() {
    let home = std::sync::Arc::new(crate::support::temporary::temp_directory());
    let own = home.path().join("project/.synthdev/workflows");
    std::fs::create_dir_all(&own).unwrap();
    let workflow = json!({"workflow_name": "own", "states": [
        {"name": "start", "transition": [{"target": "stop"}]}, {"name": "stop", "input": "it was mine"}]});
    std::fs::write(own.join("own.json"), workflow.to_string()).unwrap();
    let model = [("SYNTHDEV_BASE_URL", "http://127.0.0.1:1/v1"), ("SYNTHDEV_BASE_MODEL", "mock-1")];
    let mut terminal = Terminal::at_home(home, &[], &model);
    terminal.wait_for("Trust this project's definitions?");
    terminal.wait_for("It runs no command and reaches no network by itself.");
    terminal.press_keys("/workflow own\r");
    terminal.wait_for("workflow own waits until");
    terminal.answer_question("y\r");
    terminal.wait_for("✓ own completed");
    terminal.wait_for("it was mine");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
}

#[test]
fn the_demo_asks_runs_and_gives_the_terminal_back() {
    let mut terminal = Terminal::start_product(&["demo"], &[]);
    terminal.wait_for("coder to change files: write_file?");
    terminal.wait_for("waits for you");
    terminal.answer_question("y\r");
    terminal.wait_for("coder to execute: execute_terminal?");
    terminal.press_keys("r\r");
    terminal.wait_for("reason (optional)");
    terminal.press_keys("not yet, ünïcode");
    terminal.wait_for("not yet, ünïcode");
    terminal.press_keys(ENTER);
    terminal.wait_for("reviewer to execute: execute_terminal?");
    terminal.answer_question(FOR_SESSION);
    terminal.wait_for("coder to change files: edit_file?");
    terminal.answer_question(FOR_SESSION);
    terminal.wait_for("✓ coder_reviewer completed");
    terminal.wait_for("start → code → review → code → review → stop");
    terminal.wait_for("all three checks pass");
    terminal.wait_for("undo: /undo");
    terminal.press_keys("hello\r");
    terminal.wait_for("the demo has no model to talk to");
    terminal.press_keys("/workflow coder_reviewer \"once more\"\r");
    terminal.wait_for("coder to change files: write_file?");
    terminal.press_keys(ESC);
    terminal.wait_for("the user denied this call");
    // the other tools are allowed for this session: it goes on to its end
    terminal.wait_for("role:coder · scripted");
    terminal.press_keys("/workflow coder_reviewer \"and again\"\r");
    // a line typed while a question is open is no answer to it
    terminal.wait_for("coder to change files: write_file?");
    terminal.press_keys("/exit\r");
    let end = terminal.wait_end();
    assert!(end.contains("exit=0"), "{end}");
    terminal.assert_restored();
    terminal.assert_no_queries();
}

#[test]
fn without_a_model_it_says_so_and_pretends_nothing() {
    let mut terminal = Terminal::start_product(&[], &[]);
    terminal.wait_for("Set up a model");
    terminal.press_keys(ESC);
    terminal.wait_for("no model is set for level base");
    terminal.wait_for("synthdev demo");
    terminal.press_keys("hello\r");
    terminal.wait_for("✗ no conversation with coder");
    // what was typed does not stand in the way of the next line
    terminal.press_keys("/rnus\r");
    terminal.wait_for("did you mean /runs?");
    terminal.press_keys("\x04");
    assert!(terminal.wait_end().contains("exit=0"));
    terminal.assert_no_queries();
}

#[tokio::test(flavor = "multi_thread")]
async fn unicode_over_several_lines_arrives_whole() {
    let (server, mut terminal) =
        chat_session(vec![Behaviour::text("Verstanden: 世界."), Behaviour::text("Gelesen.")]).await;
    terminal.press_keys("Grüße, é\u{301}");
    terminal.press_keys(ALT_ENTER);
    terminal.press_keys("世界 👩‍👩‍👧");
    // the emulator does not join the family, real ones do
    terminal.wait_for("世界 👩");
    terminal.press_keys(ENTER);
    terminal.wait_for("Verstanden: 世界.");
    assert_eq!(last_text(&server), "Grüße, é\u{301}\n世界 👩‍👩‍👧");
    let lines: String = (0..10_000).map(|line| format!("{}é\n", line % 10)).collect();
    terminal.press_keys(&format!("\x1b[200~{lines}\x1b[201~"));
    terminal.wait_for("[pasted 10,000 lines #1]");
    terminal.press_keys(ENTER);
    terminal.wait_for("Gelesen.");
    terminal.wait_for("… 9,990 more lines (Ctrl+O)");
    assert_eq!(last_text(&server), lines);
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
    terminal.assert_restored();
}

#[tokio::test(flavor = "multi_thread")]
async fn escape_stops_a_stream_and_its_connection() {
    let (server, mut terminal) = chat_session(vec![
        unfinished_answer("half an answer \u{1b}[2J\u{1b}]0;title\u{7}"),
        Behaviour::text("whole"),
    ])
    .await;
    terminal.press_keys("tell\r");
    terminal.wait_for("half an answer");
    terminal.resize_window(120, 40);
    terminal.wait_for("agents");
    terminal.resize_window(80, 24);
    terminal.wait_until("the panel is gone", |screen| {
        !screen.contains("agents") && screen.contains("half an answer")
    });
    terminal.wait_for("Esc stops");
    terminal.press_keys(ESC);
    terminal.wait_for("— interrupted");
    tokio::time::timeout(Duration::from_secs(10), server.wait_closed(1)).await.unwrap();
    terminal.press_keys("go on\r");
    terminal.wait_for("whole");
    assert_eq!(terminal.title(), "", "an answer does not steer the terminal");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_stream_is_asked_again_from_its_start() {
    let cut = || Behaviour::raw_stream(&unfinished_line("first try ")).with_cut_connection();
    let (_server, mut terminal) = chat_session(vec![cut(), Behaviour::text("second try")]).await;
    terminal.press_keys("tell\r");
    terminal.wait_for("second try");
    assert!(!terminal.screen_text().contains("first try"), "{}", terminal.screen_text());
    terminal.press_keys("\x04");
    assert!(terminal.wait_end().contains("exit=0"));
}

fn unfinished_line(text: &str) -> String {
    let chunk = json!({"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "mock-1",
        "choices": [{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": null}]});
    format!("data: {chunk}\n\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_get_no_key_and_no_screen() {
    let command = json!({"command": "head -c 1 /dev/tty; printf '\\033[2Jafter'"}).to_string();
    let (server, mut terminal) = chat_session(vec![
        Behaviour::calls(&[("call_1", "execute_terminal", command.as_str())]),
        Behaviour::text("I have seen it."),
    ])
    .await;
    terminal.press_keys("run it\r");
    terminal.wait_for("coder to execute: execute_terminal?");
    terminal.press_keys("y\r");
    terminal.wait_for("I have seen it.");
    let result = last_text(&server);
    assert!(result.contains("/dev/tty") && result.contains("after"), "{result}");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
}

#[test]
fn control_c_twice_leaves() {
    let mut terminal = Terminal::start_product(&[], &[]);
    terminal.wait_for("Set up a model");
    terminal.press_keys(ESC);
    terminal.wait_for("nothing was changed");
    terminal.press_keys("a draft");
    terminal.wait_for("❯ a draft");
    terminal.press_keys(CTRL_C);
    terminal.wait_for("Ctrl+C again leaves");
    terminal.press_keys(CTRL_C);
    let end = terminal.wait_end();
    assert!(end.contains("exit=0"), "{end}");
    terminal.assert_restored();
}

#[test]
fn signals_end_it_and_give_the_terminal_back() {
    for (signal, code) in [("TERM", 143), ("HUP", 129), ("INT", 130)] {
        let mut terminal = Terminal::start_product(&[], &[]);
        terminal.wait_for("message, or / for commands");
        terminal.send_signal(signal);
        let end = terminal.wait_end();
        assert!(end.contains(&format!("exit={code}")), "{signal}: {end}");
        terminal.assert_restored();
    }
}

#[test]
fn a_terminal_that_goes_away_ends_it() {
    let terminal = Terminal::start_product(&[], &[]);
    terminal.wait_for("message, or / for commands");
    terminal.close_window();
}

/// In a session of its own it hears no signal of the terminal's end.
#[test]
fn a_terminal_of_another_session_that_goes_away_ends_it() {
    for (mode, prompt) in [("", "message, or / for commands"), ("--linear", "role:coder>")] {
        let told = crate::support::temporary::temp_directory();
        let code = told.path().join("code");
        let program = env!("CARGO_BIN_EXE_synthdev");
        let inner = format!("{program} {mode}; echo $? >{0}.new; mv {0}.new {0}", code.display());
        let command = format!("exec setsid --wait sh -c '{inner}'");
        let arguments = ["-q", "-c", &command, "/dev/null"];
        let terminal = Terminal::start_program(std::path::Path::new("script"), &arguments, &[]);
        terminal.wait_for(prompt);
        terminal.vanish_within();
        let ended = wait_for("it has ended", || std::fs::read_to_string(&code).ok());
        assert_eq!(ended.trim(), "129", "{mode}");
    }
}

/// The victim of the next test; does nothing when run as a test of its own.
#[test]
fn victim() {
    if std::env::var("SYNTHDEV_TEST_PANIC").is_err() {
        return;
    }
    let mut screen = TerminalScreen::open().unwrap();
    screen
        .draw_frame(|frame| frame.buffer_mut().set_string(0, 0, "all is well", ratatui::style::Style::new()))
        .unwrap();
    run_guarded(|| panic!("the picture broke"));
}

#[test]
fn a_panic_gives_the_terminal_back_before_its_message() {
    let program = std::env::current_exe().unwrap();
    let arguments = ["pty::victim", "--exact", "--nocapture"];
    let mut terminal = Terminal::start_program(&program, &arguments, &[("SYNTHDEV_TEST_PANIC", "1")]);
    let end = terminal.wait_end();
    assert!(end.contains("the picture broke") && !end.contains("all is well"), "{end}");
    terminal.assert_restored();
}

#[test]
fn what_was_typed_is_there_in_the_next_session() {
    let mut terminal = Terminal::with_workflow("none", &json!({}));
    editor::without_setup(&mut terminal);
    let typed = terminal.home().join(".local/state/synthdev/typed");
    terminal.press_keys("/runs the first\r");
    terminal.wait_for("none found");
    terminal.press_keys(" /runs not kept\r/status\r");
    terminal.wait_for("no workflow runs");
    let files: Vec<_> = std::fs::read_dir(typed).unwrap().map(|entry| entry.unwrap().path()).collect();
    let file = files.iter().find(|file| file.extension().is_some_and(|end| end == "jsonl")).unwrap().clone();
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("the first") && text.contains("/status") && !text.contains("not kept"), "{text}");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
    assert!(std::fs::read_to_string(&file).unwrap().ends_with("{\"text\":\"/exit\"}\n"));
    // a line that cannot be read is reported, and costs nothing else
    std::fs::write(&file, text.clone() + "{broken\n").unwrap();
    let mut terminal = terminal.start_in_same_home();
    editor::without_setup(&mut terminal);
    terminal.press_keys("\x1b[A");
    terminal.wait_for("cannot be read and is left out");
    terminal.wait_for("/status");
    terminal.press_keys("\x15\x12first");
    terminal.wait_for("/runs the first");
    terminal.press_keys("\r\r");
    terminal.wait_for("none found");
    terminal.press_keys("\x04");
    assert!(terminal.wait_end().contains("exit=0"));
}
