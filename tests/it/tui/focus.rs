//! Who has the keys: how it looks, how the focus moves, and the keys that F1 shows.

use ratatui::style::{Color, Modifier};
use synthdev::service::session::EditorResponse;
use synthdev::tui::layout::PaneKind;

use super::archive::{in_run, many_rows, opened_browser};
use super::editor::{file, opened_editor, patterns, send_editor_reply};
use super::history::opened_picker;
use super::panes::keys;
use super::setup::{choose_model, finish_trial, opened_setup};
use super::*;

impl TuiHarness {
    /// Gives a pane the keys.
    fn focus_pane(&mut self, pane: PaneKind) -> &mut Self {
        let digit = char::from_digit(pane as u32 + 1, 10).unwrap();
        self.press_alt(digit);
        assert_eq!(self.model.panes.focus, Some(pane));
        self
    }
}

/// A run with a question of a command.
fn asked_desk() -> TuiHarness {
    let mut desk = TuiHarness::new();
    desk.workflow()
        .run_event("r1", approval_event(9, "execute_terminal", command_preview("cargo test")))
        .settle_question();
    desk
}

#[test]
fn the_focus_is_seen_in_every_pane() {
    let mut desk = TuiHarness::new();
    desk.show_working_run().check_shots_at("focus_input", &FRAME_SIZES);
    for pane in PaneKind::ALL {
        let mut desk = TuiHarness::new();
        desk.show_working_run().focus_pane(pane);
        desk.check_shots_at(&format!("focus_{}", pane.title()), &FRAME_SIZES);
    }
    asked_desk().press_alt('2').check_shots_at("focus_question", &FRAME_SIZES);
}

#[test]
fn only_the_frame_of_what_has_the_keys_is_coloured() {
    let mut desk = TuiHarness::new();
    desk.show_working_run().focus_pane(PaneKind::Tools).focus_pane(PaneKind::Graph);
    // the colour and the sign at the left edge of each pane, and of the line above the input
    let check = |desk: &mut TuiHarness, owner: &str| {
        let cells = desk.draw_cells(200, 50);
        let screen = desk.draw_screen(200, 50);
        let column = |title: &str| {
            let row = screen.lines().position(|row| row.contains(title)).unwrap();
            let at = screen.lines().nth(row).unwrap();
            let x = at.split(title).next().unwrap().chars().count();
            (u16::try_from(x).unwrap(), u16::try_from(row).unwrap())
        };
        let bottom = screen.lines().position(|row| row.starts_with("❯")).unwrap() - 1;
        let places = [
            ("graph", column("graph · ")),
            ("tools", column("tools · ")),
            ("input", (0, bottom.try_into().unwrap())),
        ];
        for (name, place) in places {
            let cell = &cells[place];
            let is_dim = cell.modifier.contains(Modifier::DIM);
            assert_eq!(
                (cell.fg == Color::Cyan, is_dim),
                (name == owner, name != owner),
                "{owner} {name}\n{screen}"
            );
        }
        let heavy = |title: &str| screen.contains(&format!("━ {title} · "));
        assert_eq!((heavy("graph"), heavy("tools")), (owner == "graph", owner == "tools"), "{screen}");
    };
    check(&mut desk, "graph");
    desk.key(KeyCode::Tab).key(KeyCode::Esc);
    check(&mut desk, "input");
    desk.focus_pane(PaneKind::Tools);
    check(&mut desk, "tools");
    // a question takes the keys from the pane
    desk.run_event("r1", approval_event(99, "execute_terminal", command_preview("ls"))).settle_question();
    check(&mut desk, "question");
}

#[test]
fn a_selected_row_has_one_style() {
    for pane in [PaneKind::Tools, PaneKind::Data, PaneKind::Timeline, PaneKind::Agents] {
        let mut desk = TuiHarness::new();
        desk.show_working_run().focus_pane(pane);
        desk.draw_screen(80, 24);
        desk.key(KeyCode::Home);
        let cells = desk.draw_cells(80, 24);
        let is_selected = |y: &u16| cells[(0, *y)].modifier.contains(Modifier::REVERSED);
        let y = (0..24).find(is_selected).unwrap_or_else(|| panic!("{pane:?} has no selected row"));
        let row: Vec<_> = (0..80).map(|x| cells[(x, y)].clone()).collect();
        let styles: Vec<_> = row.iter().map(|cell| (cell.fg, cell.bg, cell.modifier)).collect();
        assert_eq!(styles[0], (Color::Reset, Color::Reset, Modifier::REVERSED), "{pane:?}");
        assert!(styles.iter().all(|style| *style == styles[0]), "{pane:?}: {styles:?}");
    }
}

#[test]
fn tab_walks_the_panes_and_escape_goes_back_to_the_input() {
    let mut desk = TuiHarness::new();
    desk.show_working_run().focus_pane(PaneKind::Tools).focus_pane(PaneKind::Graph).key(KeyCode::Esc);
    desk.draw_screen(200, 50);
    let mut seen = Vec::new();
    for code in [KeyCode::Tab, KeyCode::Tab, KeyCode::Tab, KeyCode::Tab, KeyCode::BackTab, KeyCode::Esc] {
        let modifiers = if code == KeyCode::BackTab { KeyModifiers::SHIFT } else { KeyModifiers::NONE };
        desk.press_key(code, modifiers);
        seen.push(desk.model.panes.focus);
    }
    let (conversation, graph, tools) =
        (Some(PaneKind::Conversation), Some(PaneKind::Graph), Some(PaneKind::Tools));
    assert_eq!(seen, [conversation, graph, tools, None, tools, None]);
    // with a text in the box Tab completes
    desk.type_text("/hel").key(KeyCode::Tab);
    assert_eq!((desk.model.panes.focus, desk.model.composer.text().trim_end()), (None, "/help"));
}

/// Opens the keys of what is focused, and closes them.
fn check_keys(desk: &mut TuiHarness, there: &[&str], not_there: &[&str]) {
    let screen = desk.key(KeyCode::F(1)).draw_screen(120, 50);
    for part in there {
        assert!(screen.contains(part), "{part}\n{screen}");
    }
    for part in not_there {
        assert!(!screen.contains(part), "{part}\n{screen}");
    }
    desk.key(KeyCode::Esc);
    assert!(!desk.draw_screen(120, 50).contains("Keys of"));
}

#[test]
fn f1_shows_the_keys_of_what_is_focused() {
    let mut desk = TuiHarness::new();
    desk.show_working_run().key(KeyCode::F(1)).check_shots_at("keys_input", &FRAME_SIZES);
    desk.key(KeyCode::F(1))
        .focus_pane(PaneKind::Tools)
        .key(KeyCode::F(1))
        .check_shots_at("keys_tools", &FRAME_SIZES);
    let mut desk = TuiHarness::new();
    check_keys(
        &mut desk,
        &[
            "Keys of the input line",
            "Enter",
            "send",
            "Alt+Enter",
            "@ ",
            "paths, roles, runs: a list",
            "complete what is typed",
            "Up, Down",
            "earlier lines",
        ],
        &["mark rows"],
    );
    check_keys(
        desk.show_working_run().focus_pane(PaneKind::Data),
        &["Keys of the data pane", "mark rows"],
        &["new line"],
    );
    check_keys(
        &mut asked_desk(),
        &["Keys of this question", "deny with a reason", "Esc", "denies"],
        &["mark rows"],
    );
    let mut desk = TuiHarness::new();
    desk.line("/history");
    assert!(desk.key(KeyCode::F(1)).draw_screen(200, 50).contains("leave the history; twice: the program"));
    desk.key(KeyCode::Esc);
    let nothing = ["new line", "mark rows", "opens a file", "side panel", "timeline", "the next question"];
    check_keys(&mut desk, &["Keys of the history", "why a step was taken", "of one status"], &nothing);
}

#[test]
fn f1_shows_the_keys_of_dialogs_and_lists_over_the_conversation() {
    check_keys(&mut opened_setup("base"), &["Keys of this setup", "are an address"], &["the step before"]);
    let mut desk = TuiHarness::new();
    choose_model(&mut desk, 4);
    check_keys(&mut desk, &["Keys of this setup", "Esc"], &["tries again"]);
    finish_trial(&mut desk);
    check_keys(&mut desk, &["Keys of this setup", "tries again", "the step before"], &["narrow the list"]);
    check_keys(&mut opened_picker(), &["Keys of this list", "resumes the chosen one"], &["new line"]);
    let mut desk = TuiHarness::new();
    desk.line("/edit");
    send_editor_reply(&mut desk, EditorResponse::Files(Ok(vec![file(ConfigLayer::Project)])));
    check_keys(&mut desk, &["Keys of this list", "opens it", "a new one"], &["new line"]);
    desk.press_control('n');
    send_editor_reply(&mut desk, EditorResponse::Patterns(Ok(patterns())));
    check_keys(&mut desk, &["Keys of this list", "asks for a name"], &["a new one"]);
    desk.key(KeyCode::Enter);
    check_keys(&mut desk, &["Keys of this name", "for this project, or for all"], &["narrow the list"]);
    let mut desk = opened_editor();
    check_keys(desk.press_control('f'), &["Keys of this search", "the next place"], &["y or n"]);
    desk.key(KeyCode::Esc).type_text("x").key(KeyCode::Esc);
    check_keys(&mut desk, &["Keys of this question", "y or n, then Enter"], &["the next place"]);
}

#[test]
fn a_key_closes_the_keys_and_answers_nothing() {
    let mut desk = TuiHarness::new();
    desk.show_working_run().focus_pane(PaneKind::Tools).key(KeyCode::F(1)).type_text("hi");
    assert_eq!((desk.model.panes.focus, desk.model.composer.text().as_str()), (None, "hi"));
    let mut desk = asked_desk();
    desk.take_commands();
    desk.key(KeyCode::F(1)).key(KeyCode::Char('y'));
    assert_eq!((desk.take_commands(), desk.model.dialogs.len()), (Vec::new(), 1));
    // also a key that would scroll, where all of them are shown
    for code in [KeyCode::Down, KeyCode::PageUp, KeyCode::Home, KeyCode::Char(' ')] {
        let mut desk = asked_desk();
        desk.key(KeyCode::F(1));
        assert!(desk.draw_screen(120, 60).contains("any key closes this"), "{code:?}");
        assert!(!desk.key(code).draw_screen(120, 60).contains("Keys of"), "{code:?}");
    }
    // a question that comes is not covered
    let mut desk = TuiHarness::new();
    desk.workflow().key(KeyCode::F(1));
    desk.run_event("r1", approval_event(9, "execute_terminal", command_preview("ls")));
    assert!(!desk.draw_screen(80, 24).contains("Keys of"));
    // its own keys: keyboard.json is respected
    let file = synthdev::language::source::SourceFile::new(
        ConfigLayer::User,
        "user:keyboard.json",
        "{\"key_help\": [\"Alt+H\"]}",
    );
    let mut desk = TuiHarness::new();
    desk.model.keymap = synthdev::tui::keymap::read_keyboard_file(&file).0;
    assert!(!desk.key(KeyCode::F(1)).draw_screen(80, 24).contains("Keys of"));
    assert!(desk.press_alt('h').draw_screen(80, 24).contains("Keys of the input line"));
}

/// After these keys the last row begins with the sign, at every size; empty: with none.
fn check_sign(mut desk: TuiHarness, pressed: &str, expected: &str) {
    keys(&mut desk, pressed);
    desk.settle_question();
    for (width, height) in FRAME_SIZES {
        let screen = desk.draw_screen(width, height);
        let status = screen.lines().last().unwrap().trim_start();
        let first = status.split(' ').next().unwrap_or_default();
        let sign = if ["VIEW", "RUNS", "SEARCH", "EDIT", "ASK"].contains(&first) { first } else { "" };
        assert_eq!(sign, expected, "{pressed} at {width}×{height}\n{screen}");
    }
}

#[test]
fn a_sign_says_where_letters_go_if_not_to_the_input_line() {
    let check = check_sign;
    let working = || {
        let mut desk = TuiHarness::new();
        desk.show_working_run();
        desk
    };
    let archive = || opened_browser(many_rows(0, 4), false);
    let listed = || {
        let mut desk = TuiHarness::new();
        desk.line("/edit");
        desk
    };
    check(working(), "", "");
    check(working(), "Alt+2", "VIEW");
    check(working(), "Alt+2 x", "");
    check(working(), "Alt+2 Ctrl+f x", "SEARCH");
    check(working(), "F1", "VIEW");
    check(asked_desk(), "", "ASK");
    // beside a question a command is typed
    check(asked_desk(), "/cost", "");
    check(opened_setup("base"), "", "ASK");
    check(archive(), "", "RUNS");
    check(archive(), "/pars", "SEARCH");
    check(in_run(), "", "RUNS");
    check(in_run(), "f", "ASK");
    check(opened_picker(), "", "SEARCH");
    check(opened_editor(), "", "EDIT");
    check(opened_editor(), "Ctrl+f", "SEARCH");
    check(opened_editor(), "x Esc", "ASK");
    check(listed(), "", "");
}

/// At 60 columns too: what works is left out before the way back is.
#[test]
fn the_way_back_is_on_screen_at_every_size() {
    for pane in PaneKind::ALL {
        let mut desk = TuiHarness::new();
        desk.show_working_run().advance_clock(12_000).focus_pane(pane);
        for (width, height) in FRAME_SIZES {
            let screen = desk.draw_screen(width, height);
            let status = screen.lines().last().unwrap();
            assert!(status.ends_with("Esc back") && status.contains(" coder writes"), "{pane:?} {status}");
        }
    }
}

#[test]
fn what_is_waited_for_is_said() {
    let check = |preparation: StartPreparation, expected: &str| {
        let mut desk = TuiHarness::new();
        let pending = PendingStart { name: "plan".into(), chat: false, preparation };
        desk.send_message(UiMessage::answered(StartResponse::Pending(pending)));
        let screen = desk.draw_screen(120, 36);
        assert!(screen.contains(expected), "{screen}");
        assert!(desk.model.needs_ticks(), "it moves");
        let tick = |desk: &mut TuiHarness, ms: i64| {
            let at = Timestamp(desk.model.now.0 + ms);
            desk.send_message(UiMessage::Tick(at)).draw_screen(120, 36)
        };
        // nobody has told the time before
        tick(&mut desk, 1_000_000);
        let screen = tick(&mut desk, 1_000);
        assert!(screen.contains(&format!("⠼ {expected}")) && !screen.contains(" 1 s"), "{screen}");
        let screen = tick(&mut desk, 2_000);
        assert!(screen.contains(&format!("⠹ {expected} 3 s")), "{screen}");
        desk.model.reduced_motion = true;
        assert!(!desk.model.needs_ticks() && desk.draw_screen(120, 36).contains(&format!(" {expected}")));
        desk.model.reduced_motion = false;
        desk.model.pending_start = None;
        assert!(!desk.model.needs_ticks(), "nothing waits");
    };
    check(StartPreparation::Files, "copying the files for plan …");
    check(StartPreparation::Windows, "asking for the window of plan …");
    check(StartPreparation::Requirements, "checking what plan requires …");
}

/// What a key can have changed, without the times of keys and the notice.
fn comparable_state(model: &UiModel) -> String {
    let mut model = model.clone();
    (model.last_key, model.last_letter, model.last_interrupt) = (None, None, None);
    (model.now, model.hint) = (Timestamp(0), None);
    format!("{model:?}")
}

/// Whether the key changes something or says something, and what it says.
fn press_in(model: &UiModel, key: KeyEvent, at: i64) -> (bool, String, UiModel) {
    let mut pressed = model.clone();
    let commands = update_model(&mut pressed, UiMessage::Key(key, Timestamp(at)));
    let hint = pressed.hint.clone().unwrap_or_default();
    let acts =
        !commands.is_empty() || !hint.is_empty() || comparable_state(model) != comparable_state(&pressed);
    (acts, hint, pressed)
}

#[test]
fn a_pane_lists_every_key_that_acts_in_it_and_no_other() {
    use synthdev::tui::keymap::chord::KeyChord;
    let event = |chord: KeyChord| KeyEvent::new(chord.code, chord.modifiers);
    for pane in PaneKind::ALL {
        let mut desk = TuiHarness::new();
        desk.show_working_run().focus_pane(pane).draw_screen(60, 12);
        // movement keys do nothing at one of the ends
        let ends = [KeyCode::Home, KeyCode::End].map(|end| {
            desk.key(end).draw_screen(60, 12);
            desk.model.clone()
        });
        let at = desk.clock + 10_000;
        let (_, _, helped) = press_in(&ends[0], KeyEvent::new(KeyCode::F(1), KeyModifiers::NONE), at);
        let rows = helped.key_help.expect("F1 shows the keys").rows;
        let listed: Vec<KeyChord> = rows
            .iter()
            .flat_map(|(keys, _)| keys.split(", ").map(|key| KeyChord::parse(key).unwrap()))
            .collect();
        for chord in &listed {
            let acts = ends.iter().any(|model| press_in(model, event(*chord), at).0);
            assert!(acts, "{pane:?}: {chord} is listed and does nothing");
        }
        for (action, about) in &rows {
            assert!(!about.is_empty(), "{action}");
        }
        for letter in ('!'..='~').chain([' ', 'é']) {
            let key = KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE);
            let (_, _, after) = press_in(&ends[0], key, at);
            let text = after.composer.text();
            assert_eq!((after.panes.focus, text.as_str()), (None, letter.to_string().as_str()), "{pane:?}");
        }
        let other = [KeyModifiers::CONTROL, KeyModifiers::ALT].into_iter().flat_map(|modifiers| {
            let letters = ('a'..='z').map(KeyCode::Char);
            let moves = [KeyCode::Up, KeyCode::Left, KeyCode::Enter, KeyCode::Backspace];
            letters.chain(moves).map(move |code| (code, modifiers))
        });
        let plain = [KeyCode::Left, KeyCode::Backspace, KeyCode::Delete, KeyCode::Insert, KeyCode::Enter];
        let plain = plain.into_iter().map(|code| (code, KeyModifiers::NONE));
        for (code, modifiers) in
            other.chain(plain).chain((1..13).map(|n| (KeyCode::F(n), KeyModifiers::NONE)))
        {
            let key = KeyEvent::new(code, modifiers);
            if listed.contains(&KeyChord::from_event(key)) {
                continue;
            }
            let (_, hint, after) = press_in(&ends[0], key, at);
            assert!(hint.contains("does nothing in the"), "{pane:?} {key:?}: {hint}");
            assert_eq!(comparable_state(&after), comparable_state(&ends[0]), "{pane:?} {key:?}");
        }
    }
}

/// F1 shows on the smallest screen what gets a user out.
#[test]
fn the_ways_out_stand_first_among_the_keys() {
    let check = |desk: &mut TuiHarness, expected: &[&str]| {
        desk.key(KeyCode::F(1));
        let screen = desk.draw_screen(60, 12);
        let rows = desk.model.key_help.as_ref().expect("F1 shows the keys").rows.iter();
        let first: Vec<&str> = rows.map(|(keys, _)| keys.as_str()).take(expected.len()).collect();
        assert_eq!(first, expected);
        for keys in expected {
            assert!(screen.contains(&format!("│ {keys} ")), "{keys}: {screen}");
        }
    };
    let all = ["Esc", "Ctrl+C", "F1", "/exit"];
    check(&mut TuiHarness::new(), &all);
    check(TuiHarness::new().show_working_run(), &all);
    check(TuiHarness::new().show_working_run().focus_pane(PaneKind::Tools), &all[..3]);
    check(TuiHarness::new().show_asking_run().settle_question(), &all[..3]);
    check(&mut super::archive::opened_browser(super::picture_runs::earlier_runs(), false), &all[..3]);
}

#[test]
fn a_paste_goes_to_the_input_line_whichever_pane_has_the_keys() {
    let mut desk = TuiHarness::new();
    desk.show_working_run().focus_pane(PaneKind::Tools);
    desk.send_message(UiMessage::Paste("two words".into()));
    assert_eq!((desk.model.composer.text().as_str(), desk.model.panes.focus), ("two words", None));
}

#[test]
fn the_cursor_is_seen_only_where_letters_go() {
    let is_seen = |desk: &mut TuiHarness| {
        desk.draw_screen(80, 24);
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| view::draw_screen(&desk.model, frame)).unwrap();
        terminal.backend().cursor_visible()
    };
    let mut desk = TuiHarness::new();
    assert!(is_seen(&mut desk), "the input line");
    desk.key(KeyCode::F(1));
    assert!(!is_seen(&mut desk), "a list of keys");
    let mut desk = asked_desk();
    assert!(!is_seen(&mut desk), "answers that letters choose");
    desk.answer('r');
    assert!(is_seen(&mut desk), "a reason is typed");
    desk.key(KeyCode::Char('x')).key(KeyCode::Tab);
    assert!(is_seen(&mut desk), "its words are a message now, in the input line");
    let mut desk = TuiHarness::new();
    desk.show_working_run().focus_pane(PaneKind::Tools);
    assert!(!is_seen(&mut desk), "a pane");
}
