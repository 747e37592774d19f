//! The mouse, notifications and the user's own colours, as a terminal sees them.

use std::sync::Arc;

use super::terminal::Terminal;
use super::{chat_session, configured_session};
use crate::support::model_server::{Behaviour, ModelServer};
use crate::support::temporary::temp_directory;

/// A button of the mouse at a column and row from 1: `M` goes down or moves, `m` goes up.
pub(super) fn mouse_button(code: u8, column: u16, row: u16, end: char) -> String {
    format!("\x1b[<{code};{column};{row}{end}")
}

/// Column and row of a text on screen, from 1.
pub(super) fn text_place(terminal: &Terminal, text: &str) -> (u16, u16) {
    let screen = terminal.screen_text();
    let row = screen.lines().position(|row| row.contains(text)).unwrap_or_else(|| panic!("{text}\n{screen}"));
    let line = screen.lines().nth(row).unwrap();
    let column = line.split(text).next().unwrap().chars().count();
    (u16::try_from(column + 1).unwrap(), u16::try_from(row + 1).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_dragged_over_goes_to_the_clipboard() {
    let (_server, mut terminal) = chat_session(vec![Behaviour::text("copy this word")]).await;
    terminal.press_keys("hello\r");
    terminal.wait_for("copy this word");
    // it reports the mouse because it is asked to
    for bytes in ["\x1b[?1002h", "\x1b[?1006h"] {
        terminal.wait_for_bytes(bytes);
    }
    let (column, row) = text_place(&terminal, "this word");
    terminal.press_keys(&mouse_button(0, column, row, 'M'));
    terminal.press_keys(&mouse_button(32, column + 3, row, 'M'));
    terminal.press_keys(&mouse_button(0, column + 3, row, 'm'));
    terminal.wait_for("copied 1 line");
    // `this`
    terminal.wait_for_bytes("\x1b]52;c;dGhpcw==\x07");
    terminal.press_keys("/mouse off\r");
    terminal.wait_for("the mouse is the terminal's");
    terminal.wait_for_bytes("\x1b[?1002l");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
    terminal.assert_restored();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_told_while_another_window_is_in_front() {
    let (_server, mut terminal) =
        chat_session(vec![Behaviour::text("First."), Behaviour::text("Second.")]).await;
    terminal.press_keys("hello\r");
    terminal.wait_for("First.");
    terminal.assert_never_shown("the answer is there");
    terminal.press_keys("once more\r\x1b[O");
    terminal.wait_for("Second.");
    terminal.wait_for_bytes("\x1b]9;synthdev: the answer is there\x07");
    terminal.wait_for_bytes("\x1b]2;● synthdev: the answer is there\x07");
    terminal.press_keys("\x1b[I");
    terminal.wait_for_bytes("\x1b[23;2t");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
    terminal.assert_restored();
}

/// Others show what they do not understand.
#[tokio::test(flavor = "multi_thread")]
async fn an_address_is_a_link_only_where_the_terminal_knows_links() {
    for (term, is_known) in [("xterm", false), ("xterm-256color", true)] {
        let server = ModelServer::start_server(vec![Behaviour::text("See https://x.y/z now.")]).await;
        let variables = [
            ("SYNTHDEV_BASE_URL", server.base_url.as_str()),
            ("SYNTHDEV_BASE_MODEL", "mock-1"),
            ("SYNTHDEV_API_KEY", "sk-test"),
            ("TERM", term),
        ];
        let mut terminal = Terminal::at_home(Arc::new(temp_directory()), &[], &variables);
        terminal.wait_for("message, or / for commands");
        terminal.press_keys("where?\r");
        terminal.wait_for("See https://x.y/z now.");
        if is_known {
            terminal.wait_for_bytes("\x1b]8;");
        }
        terminal.press_keys("/exit\r");
        assert!(terminal.wait_end().contains("exit=0"), "{term}");
        if !is_known {
            terminal.assert_never_shown("\x1b]8;");
        }
    }
}

/// What the user switched off in the settings is off from the first frame on.
#[tokio::test(flavor = "multi_thread")]
async fn the_mouse_and_notifications_are_switched_off_by_settings() {
    let texts = ["First.", "Second."].map(Behaviour::text).to_vec();
    let (_server, mut terminal) =
        configured_session(texts, Some("{\"notifications\": false, \"mouse\": false}")).await;
    terminal.press_keys("hello\r");
    terminal.wait_for("First.");
    terminal.press_keys("once more\r\x1b[O");
    terminal.wait_for("Second.");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
    for bytes in ["\x1b]9;", "\x1b]777;", "● synthdev", "\x1b[?1002h", "\x1b[?1006h"] {
        terminal.assert_never_shown(bytes);
    }
    terminal.assert_restored();
}

#[test]
fn own_colours_are_checked_and_used() {
    let mut terminal = Terminal::with_config("theme.json", "{\n  \"godo\": \"red\"\n}", &["demo"]);
    terminal.wait_for("write_file?");
    terminal.press_keys("/theme own\r");
    terminal.wait_for("user:theme.json:2:3");
    terminal.wait_for("`good`?");
    let config = terminal.home().join(".config/synthdev/theme.json");
    std::fs::write(&config, "{\"accent\": \"#ff8700\"}").unwrap();
    terminal.press_keys("/theme own\r");
    terminal.wait_for("theme own");
    // orange, of the 256
    terminal.wait_for_bytes("38;5;208");
    terminal.press_keys("/exit\r");
    terminal.wait_end();
}

/// A key after which nothing has changed on the screen is told in the last row, in each place, and so is the next one.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_without_effect_says_so() {
    let command = serde_json::json!({"command": "echo one"}).to_string();
    let script = vec![Behaviour::calls(&[("c1", "execute_terminal", &command)]), Behaviour::text("Done.")];
    let (_server, mut terminal) = chat_session(script).await;
    let check = |terminal: &mut Terminal, enter: &str, seen: &str, leave: &str| {
        terminal.press_keys(enter);
        terminal.wait_for(seen);
        for (key, told) in [("\x1b[2~", "Insert does nothing"), ("\x1b[24~", "F12 does nothing")] {
            terminal.press_keys(key);
            terminal.wait_for(told);
        }
        terminal.press_keys(leave);
        terminal.wait_until("the message is gone", |screen| !screen.contains("does nothing"));
    };
    // where text is typed, in a pane, in the history and its search, in a list of files, in the setup, beside a question
    check(&mut terminal, "", "❯", "x\x7f");
    check(&mut terminal, "\x1b7", "VIEW", "\x1b");
    check(&mut terminal, "/history\r", "RUNS", "/");
    check(&mut terminal, "one", "no runs match", "\x1b");
    terminal.press_keys("\x1b");
    check(&mut terminal, "/edit\r", "Edit which file?", "\x1b");
    check(&mut terminal, "/configure\r", "look for a server", "\x1b");
    // a list over the line of the hint; names are asked for with each key
    for begun in ["/wo", "/mcp "] {
        check(&mut terminal, begun, "Tab completes", "x");
        terminal.press_keys("\x15");
        terminal.wait_for("message, or / for commands");
    }
    check(&mut terminal, "go\r", "y allow once", "\x1b[B");
    terminal.press_keys("n\r");
    terminal.wait_for("Done.");
    // at the end of a way, where a key that the list of keys names moves nothing, and where there is nothing to act on
    terminal.press_keys("/edit coder_reviewer\r");
    terminal.wait_for("nothing wrong");
    for (key, told) in [
        ("\x1b[A", "Up: nothing more further up"),
        ("\x16", "nothing was cut or copied here yet"),
        ("\x18", "nothing is selected"),
        // it makes the editor forget the words about the key before, and that is all
        ("\x1b[24~", "F12 does nothing"),
        ("\x1a", "nothing to take back"),
        ("\x1b[17~", "the graph needs 110 columns, here are 80"),
    ] {
        terminal.press_keys(key);
        terminal.wait_for(told);
    }
    terminal.press_keys("\x1b");
    terminal.wait_until("the editor is gone", |screen| !screen.contains("EDIT"));
    // Alt and an arrow go over a word; Tab writes no blanks behind one
    terminal.press_keys("one two\x1b[1;3Dx");
    terminal.wait_for("❯ one xtwo");
    terminal.press_keys("\x1b[F\t");
    terminal.wait_for("nothing completes this");
    terminal.press_keys("!");
    terminal.wait_for("❯ one xtwo!");
    terminal.press_keys("\x15/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
}
