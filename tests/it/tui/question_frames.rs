//! Questions as they look, at the sizes that a person has.

use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier};
use synthdev::domain::workflow::PauseKind;
use synthdev::tui::theme::TerminalEnvironment;

use super::*;

/// A command as a model asks for it.
fn command_asked(call: u64, command: &str) -> RunEvent {
    RunEvent::ApprovalAsked {
        state: "code".into(),
        call: CallId(call),
        agent: "coder".into(),
        tool: "execute_terminal".into(),
        risk: ToolRisk::Execute,
        arguments: json!({"command": command}),
        preview: None,
        until: None,
    }
}

/// A run with something to read above the question.
fn desk() -> TuiHarness {
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", model_called(5, "coder", ConversationSide::Assistant)).run_event(
        "r1",
        model_replied(5, "coder", ConversationSide::Assistant, "I run the tests **before** I change it.", ""),
    );
    desk
}

pub(super) fn pause(kind: PauseKind, message: &str) -> UserQuestion {
    UserQuestion::Pause {
        state: "gate".into(),
        kind,
        message: message.into(),
        choices: vec![],
        schema: None,
        required_outputs: vec![],
        default: None,
        until: None,
        problem: None,
    }
}

fn long_plan() -> String {
    let steps: String = (1..=60).map(|at| format!("{at}. step `{at}` with **care**\n")).collect();
    format!(
        "# Plan\n\nThe flag is added in three files.\n\n{steps}\n```rust\nfn main() {{}}\n```\n\nThat is all."
    )
}

#[test]
fn a_command_is_asked() {
    let mut desk = desk();
    desk.run_event("r1", command_asked(20, "cargo test --workspace")).check_frames("question_command");
    let mut desk = TuiHarness::new();
    desk.workflow()
        .run_event("r1", command_asked(20, "git push --force origin main"))
        .check_frames("question_risky");
}

#[test]
fn a_long_plan_is_read_to_its_end() {
    let mut desk = desk();
    desk.run_event("r1", user_question(20, pause(PauseKind::Approval, &long_plan())));
    desk.check_frames("question_plan_begin");
    for (width, height) in FRAME_SIZES {
        desk.draw_screen(width, height);
        desk.advance_clock(2_000).key(KeyCode::End);
        let name = format!("question_plan_end_{width}x{height}");
        desk.check_shots_in("../../frames", &name, &[(width, height)]);
    }
}

#[test]
fn a_diff_shows_the_words_that_changed() {
    let diff = "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1,4 +1,5 @@\n fn main() {\n-    let name = old(1);\n\
        +    let name = new(1, \"x\");\n+    print(name);\n     done();\n }";
    let mut desk = desk();
    let preview = ToolPreview::Diff { path: "src/main.rs".into(), diff: diff.into() };
    desk.run_event("r1", approval_event(20, "edit_file", preview)).check_frames("question_diff");
}

/// The cell where a text begins.
fn cell_of(desk: &mut TuiHarness, text: &str) -> Cell {
    let screen = desk.draw_screen(120, 36);
    let (y, row) = screen.lines().enumerate().find(|(_, row)| row.contains(text)).expect(text);
    let x = unicode_width::UnicodeWidthStr::width(row.split(text).next().unwrap());
    desk.draw_cells(120, 36)[(u16::try_from(x).unwrap(), u16::try_from(y).unwrap())].clone()
}

/// Its colour and weight.
fn look_of(desk: &mut TuiHarness, text: &str) -> (Color, Modifier) {
    let cell = cell_of(desk, text);
    (cell.fg, cell.modifier)
}

#[test]
fn changed_words_and_code_are_coloured_in_a_question() {
    let diff = "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1,2 +1,2 @@\n fn main() {\n-    let name = \"old\";\n\
        +    let name = \"new\";";
    for theme in ["dark", "light", "dark16", "plain"] {
        let mut desk = desk();
        let many = TerminalEnvironment { term: Some("xterm-256color".to_owned()), ..Default::default() };
        desk.model.theme = ColorTheme::find_theme(theme, &many).unwrap();
        let preview = ToolPreview::Diff { path: "src/main.rs".into(), diff: diff.into() };
        desk.run_event("r1", approval_event(20, "edit_file", preview)).settle_question();
        let [removed, added] = ["-    let name", "+    let name"].map(|text| cell_of(&mut desk, text));
        let has_colors = (removed.fg, removed.bg) != (added.fg, added.bg);
        assert_eq!(has_colors, theme != "plain", "{theme}: {removed:?} {added:?}");
        for word in ["let name = \"old", "let name = \"new", "fn main"] {
            assert!(look_of(&mut desk, word).1.contains(Modifier::BOLD), "{theme}: {word}");
        }
        for (word, line) in [("old\"", &removed), ("new\"", &added)] {
            let cell = cell_of(&mut desk, word);
            assert_eq!(cell.bg, line.bg, "{theme}: {word}");
            assert_ne!((cell.fg, cell.modifier), (line.fg, line.modifier), "{theme}: {word}");
        }
    }
    let text = "Do **this** first:\n\n```rust\nfn main() {}\n```";
    let mut desk = self::desk();
    desk.run_event("r1", user_question(20, pause(PauseKind::Approval, text))).settle_question();
    assert!(look_of(&mut desk, "this first").1.contains(Modifier::BOLD));
    assert_ne!(look_of(&mut desk, "fn main"), look_of(&mut desk, "() {}"), "code");
}

#[test]
fn choices_and_forms_stand_in_the_same_place() {
    let mut question = pause(PauseKind::Choice, "Which **way**?");
    if let UserQuestion::Pause { choices, .. } = &mut question {
        *choices = ["ship it now", "test more", "drop it"].map(str::to_owned).to_vec();
    }
    let mut one = desk();
    one.run_event("r1", user_question(20, question)).key(KeyCode::Down).check_frames("question_choice");
    let mut question = pause(PauseKind::Outputs, "Create the ticket in the browser.");
    if let UserQuestion::Pause { required_outputs, schema, .. } = &mut question {
        *required_outputs = ["ticket", "votes", "done"].map(str::to_owned).to_vec();
        *schema = Some(Box::new(json!({"properties": {
            "ticket": {"type": "string", "description": "its key"},
            "votes": {"type": "integer"}, "done": {"type": "boolean"}}})));
    }
    let mut other = desk();
    other.run_event("r1", user_question(20, question)).line("ABC-1").check_frames("question_form");
}

/// The text of a frame without its edges, as one line.
fn read_words(screen: &str) -> String {
    let rows = screen.lines().map(|row| row.trim_matches(['│', '┌', '┐', '─', ' ']));
    rows.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_long_choice_and_a_long_title_are_read_to_their_ends() {
    let long = |at: usize| format!("choice {at} {} ends {at} here", "with many words".repeat(9));
    let mut question = pause(PauseKind::Choice, "Which?");
    if let UserQuestion::Pause { choices, .. } = &mut question {
        *choices = (1..=8).map(long).collect();
    }
    let mut desk = desk();
    desk.run_event("r1", user_question(20, question)).settle_question();
    for at in 1..=8 {
        desk.key(KeyCode::Down);
        let screen = desk.draw_screen(60, 20);
        assert!(read_words(&screen).contains(&format!("ends {at} here")), "{screen}");
    }
    let mut desk = TuiHarness::new();
    let failure =
        RunError::new("model.failed", format!("{}at its end", "A long title ".repeat(9)), "it failed");
    desk.workflow().run_event("r1", user_question(20, UserQuestion::Failed { failure: Box::new(failure) }));
    let screen = desk.draw_screen(60, 20);
    assert!(read_words(&screen).contains("A long title at its end. Try again?"), "{screen}");
    desk.check_frames("question_long_title");
}

#[test]
fn several_questions_are_counted() {
    let mut desk = desk();
    desk.run_event("r1", command_asked(20, "cargo test")).run_event("r1", command_asked(21, "cargo doc"));
    desk.check_frames("question_first_of_two");
    desk.advance_clock(2_000).key(KeyCode::Tab).check_frames("question_second_of_two");
}

#[test]
fn a_letter_chooses_and_words_are_a_reason() {
    for (typed, name) in [("s", "question_letter_chosen"), ("stop it", "question_words_typed")] {
        let mut desk = desk();
        desk.run_event("r1", command_asked(20, "cargo test")).advance_clock(2_000).type_text(typed);
        desk.check_frames(name);
    }
}

#[test]
fn what_is_typed_inside_of_a_question() {
    for (letter, name) in [('e', "question_edit"), ('a', "question_rule"), ('r', "question_reason")] {
        let mut desk = desk();
        desk.run_event("r1", command_asked(20, "cargo test")).advance_clock(2_000).answer(letter);
        desk.check_frames(name);
    }
}

#[test]
fn a_question_that_has_just_appeared_says_so() {
    let mut desk = desk();
    desk.advance_clock(2_000).run_event("r1", command_asked(20, "cargo test"));
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("new: keys count in a moment"), "{screen}");
    let is_dim = |desk: &mut TuiHarness| look_of(desk, "allow once").1.contains(Modifier::DIM);
    assert!(is_dim(&mut desk), "its answers are not to be given yet");
    desk.draw_screen(80, 24);
    let now = desk.clock;
    desk.send_message(UiMessage::Tick(Timestamp(now + 499)));
    assert!(desk.draw_screen(80, 24).contains("new: keys"));
    desk.send_message(UiMessage::Tick(Timestamp(now + 500)));
    let screen = desk.draw_screen(80, 24);
    assert!(!screen.contains("new: keys") && screen.contains("↑↓ or a letter, then Enter"), "{screen}");
    assert!(!is_dim(&mut desk));
}
