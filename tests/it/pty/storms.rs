//! What people and models do to a terminal at their worst: storms of resizes, large pastes, floods of keys, tiny screens,
//! output that would steer the terminal. The screen is in the end what a new one would show, and the terminal is given
//! back as it was.

use std::time::{Duration, Instant};

use super::*;

/// What would steer a terminal, or is not one column wide; each with a word that is looked for behind it.
const ODD: &[(&str, &str)] = &[
    ("colour \x1b[31mred\x1b[0m", "red"),
    ("clear \x1b[2J\x1b[H\x1b[3J", "clear"),
    ("title \x1b]0;stolen\x07\x1b]2;stolen\x1b\\", "title"),
    ("clipboard \x1b]52;c;c3RvbGVu\x07", "clipboard"),
    ("screen \x1b[?1049l\x1b[?1h\x1b=\x1b[?1000h\x1b[?2004l\x1b[4h", "screen"),
    ("asks \x1b[c\x1b[6n\x1b[?u\x1bP+q544e\x1b\\", "asks"),
    ("eight \u{9b}31m\u{9d}0;stolen\u{9c}\u{90}x\u{9c}", "eight"),
    ("bells \x07\x07\x08\x08\x0b\x0c\x0e\x0f\x7f", "bells"),
    ("zero\u{200b}\u{200d}\u{2060}\u{feff}width", "zero"),
    ("wide 日本語の長い文章 👩‍👩‍👧 🇩🇪 ﷽", "wide"),
    ("marks e\u{301}\u{301}\u{301}\u{301} \u{1100}\u{1161}\u{11a8}", "marks"),
    ("right שלום עולם مرحبا \u{202e}evil\u{202c} \u{2067}x\u{2069}", "right"),
    ("tabs\ta\tb\tc\r\nreturn\rover", "tabs"),
];

fn odd_text() -> String {
    ODD.iter().map(|(text, _)| format!("{text}\n\n")).collect()
}

/// Always the same numbers.
struct Luck(u64);

impl Luck {
    fn random_below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn size(&mut self) -> (u16, u16) {
        let (columns, rows) = (1 + self.random_below(220), 1 + self.random_below(70));
        (u16::try_from(columns).unwrap(), u16::try_from(rows).unwrap())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_of_resizes_while_an_answer_streams() {
    let words: String =
        (0..20_000).map(|at| format!("word{at} {}", if at % 40 == 0 { "\n\n- 日本 " } else { "" })).collect();
    let (_server, mut terminal) = chat_session(vec![Behaviour::text(&format!("{words} the very end"))]).await;
    terminal.press_keys("tell\r");
    terminal.wait_for("word");
    let mut luck = Luck(6);
    for _ in 0..200 {
        let (columns, rows) = luck.size();
        terminal.resize_window(columns, rows);
        if luck.random_below(4) == 0 {
            terminal.press_keys("\x1b[5~");
        }
        // so that it is drawn in between, as often as not
        std::thread::sleep(Duration::from_millis(luck.random_below(8)));
    }
    terminal.resize_window(80, 24);
    terminal.press_keys("\x1b[F");
    terminal.wait_for("the very end");
    for (columns, rows) in [(80, 24), (20, 5), (200, 50)] {
        terminal.resize_window(columns, rows);
        terminal.assert_fresh("/help");
    }
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
    terminal.assert_restored();
}

#[test]
fn a_megabyte_is_pasted_at_once() {
    let texts =
        ["zeile é 世界\n".repeat(70_000), "x".repeat(1 << 20), "\x1b[31m\t\u{202e}odd\n".repeat(90_000)];
    for text in texts {
        let mut terminal = Terminal::start_product(&[], &[]);
        terminal.wait_for("Set up a model");
        terminal.press_keys(ESC);
        terminal.wait_for("nothing was changed");
        let started = Instant::now();
        terminal.press_keys(&format!("\x1b[200~{text}\x1b[201~"));
        terminal.wait_for("[pasted ");
        // the bound is for busy machines: 0.2 s are usual, in a debug build
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        println!("{} bytes: {:?}", text.len(), started.elapsed());
        terminal.press_keys("\x03");
        terminal.wait_for("Up brings it back");
        terminal.press_keys("\x1b[A");
        terminal.wait_for("[pasted ");
        terminal.press_keys("\x03\x03");
        assert!(terminal.wait_end().contains("exit=0"));
        terminal.assert_restored();
    }
}

/// A terminal without bracketed paste types what is pasted; all of it arrives, also what comes in one piece.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_keys_arrives_whole() {
    let (server, mut terminal) = chat_session(vec![Behaviour::text("Read it.")]).await;
    let flood: String = (0..700).map(|at| format!("{at} ")).collect();
    terminal.press_keys(&flood);
    terminal.wait_for("698 699");
    terminal.press_keys(ENTER);
    terminal.wait_for("Read it.");
    assert_eq!(last_text(&server).trim_end(), flood.trim_end());
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_steers_nothing() {
    let (_server, mut terminal) =
        chat_session(vec![Behaviour::text(&odd_text()), Behaviour::text("again")]).await;
    terminal.resize_window(120, 60);
    terminal.assert_fresh("/help");
    terminal.press_keys("tell\r");
    for (_, word) in ODD {
        terminal.wait_for(word);
    }
    terminal.wait_for("over");
    terminal.wait_until("the end of the turn", |screen| screen.trim_end().ends_with("/help"));
    assert_eq!(terminal.title(), "");
    for (columns, rows) in [(120, 60), (80, 24), (20, 5), (33, 11)] {
        terminal.resize_window(columns, rows);
        terminal.assert_fresh("/help");
    }
    for stolen in ["c3RvbGVu", "stolen\x07", "\x1b[3J", "\x1b[?1h", "\x1b[4h", "\u{9b}", "\u{202e}"] {
        terminal.assert_never_shown(stolen);
    }
    terminal.assert_no_queries();
    terminal.resize_window(80, 24);
    terminal.press_keys("more\r");
    terminal.wait_for("again");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
    terminal.assert_restored();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_of_a_megabyte_is_an_answer_like_others() {
    let line = format!("{} {}", "x".repeat(1 << 19), "日本 ".repeat(1 << 16));
    let chunk = json!({"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "mock-1",
        "choices": [{"index": 0, "delta": {"role": "assistant", "content": format!("{line}\n\nits end")}, "finish_reason": "stop"}]});
    let answer = Behaviour::raw_stream(&format!("data: {chunk}\n\ndata: [DONE]\n\n"));
    let (_server, mut terminal) = chat_session(vec![Behaviour::text("short"), answer]).await;
    terminal.press_keys("begin\r");
    terminal.wait_for("short");
    terminal.press_keys("tell\r");
    for (columns, rows) in [(80, 24), (20, 5), (200, 50)] {
        terminal.resize_window(columns, rows);
        // a long text is laid out over several frames
        terminal.wait_until("its end in the new size", |screen| {
            let last = screen.lines().nth(usize::from(rows) - 1).unwrap_or_default().trim_end();
            screen.contains("its end") && last.ends_with("/help")
        });
        terminal.assert_fresh("/help");
    }
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
    terminal.assert_restored();
}

#[test]
fn a_tiny_terminal_is_enough_to_decide_and_to_leave() {
    let mut terminal = Terminal::start_product(&["demo"], &[]);
    terminal.wait_for("write_file?");
    terminal.resize_window(20, 5);
    terminal.wait_until("the question is there", |screen| {
        screen.contains("Allow") && screen.contains("y allow once")
    });
    // a yes counts when the end was on screen
    terminal.press_keys("\x1b[F");
    terminal.wait_until("the end is there", |screen| !screen.contains("the file"));
    terminal.press_keys("y\r");
    terminal.wait_until("the next question is there", |screen| screen.contains("in the project"));
    terminal.press_keys("\x1b[F");
    terminal.wait_for("sh test.sh");
    terminal.press_keys(FOR_SESSION);
    terminal.resize_window(1, 1);
    terminal.resize_window(80, 24);
    terminal.wait_for("edit_file?");
    terminal.answer_question(FOR_SESSION);
    terminal.wait_for("undo: /undo");
    terminal.resize_window(20, 5);
    terminal.assert_fresh("/help");
    terminal.press_keys("/exit\r");
    terminal.resize_window(80, 24);
    assert!(terminal.wait_end().contains("exit=0"));
    terminal.assert_restored();
}

/// Everything was switched on: all of it is off in the end, whichever way it ends.
#[test]
fn whatever_was_switched_on_is_off_in_the_end() {
    for ending in ["/exit\r", "\x04", "\x03\x03", "TERM", "HUP"] {
        let mut terminal = Terminal::start_product(&[], &[]);
        terminal.wait_for("Set up a model");
        terminal.press_keys(ESC);
        terminal.wait_for("nothing was changed");
        terminal.press_keys("/mouse on\r");
        terminal.wait_for("the mouse scrolls");
        terminal.press_keys("/vim on\r/edit\r");
        terminal.wait_for("Edit which file?");
        match ending {
            "TERM" | "HUP" => terminal.send_signal(ending),
            keys => {
                terminal.press_keys(ESC);
                terminal.wait_for("message, or / for commands");
                terminal.press_keys(keys);
            }
        }
        let end = terminal.wait_end();
        assert!(end.contains("exit="), "{ending:?}: {end}");
        terminal.assert_restored();
    }
}
