//! The answers of questions: when keys count, what is typed inside of a question, and several questions at once.

use ratatui::crossterm::event::{MouseEvent, MouseEventKind};
use synthdev::domain::approval::AllowRule;
use synthdev::domain::workflow::PauseKind;
use synthdev::service::session::StandingPermission;

use super::*;

fn asked(call: u64, tool: &str, arguments: serde_json::Value) -> RunEvent {
    RunEvent::ApprovalAsked {
        state: "code".into(),
        call: CallId(call),
        agent: "coder".into(),
        tool: tool.into(),
        risk: if tool == "write_file" { ToolRisk::Write } else { ToolRisk::Execute },
        arguments,
        preview: None,
        until: None,
    }
}

fn command(call: u64, text: &str) -> RunEvent {
    asked(call, "execute_terminal", json!({"command": text, "directory": "web"}))
}

/// The question is on screen, and was not for long.
fn desk(events: Vec<RunEvent>) -> TuiHarness {
    let mut desk = TuiHarness::new();
    desk.workflow().advance_clock(5_000).take_commands();
    for event in events {
        desk.run_event("r1", event);
    }
    desk.draw_screen(80, 24);
    desk
}

/// A key after so many milliseconds, and the screen then.
fn press(desk: &mut TuiHarness, waits: i64, code: KeyCode) -> String {
    desk.advance_clock(waits - 100).press_before_seen(code, KeyModifiers::NONE);
    desk.draw_screen(80, 24)
}

/// The letter of an answer, and Enter.
fn give(desk: &mut TuiHarness, letter: char) -> String {
    press(desk, 2_000, KeyCode::Char(letter));
    press(desk, 200, KeyCode::Enter)
}

fn allow(call: u64) -> UiCommand {
    decision_command("r1", call, ApprovalDecision::Allow)
}

fn allow_edited(call: u64, arguments: serde_json::Value) -> UiCommand {
    decision_command("r1", call, ApprovalDecision::AllowEdited { arguments })
}

#[test]
fn a_key_counts_half_a_second_after_the_question_has_appeared() {
    let late = "this question just appeared";
    for code in [
        KeyCode::Char('y'),
        KeyCode::Char('n'),
        KeyCode::Char('e'),
        KeyCode::Esc,
        KeyCode::Enter,
        KeyCode::Up,
    ] {
        let mut desk = desk(vec![command(20, "ls")]);
        let screen = press(&mut desk, 480, code);
        assert!(screen.contains(late), "{code:?}: {screen}");
        assert_eq!((desk.take_commands(), desk.model.dialogs.len()), (vec![], 1), "{code:?}");
        // a letter may begin a text
        let kept = if let KeyCode::Char(letter) = code { letter.to_string() } else { String::new() };
        assert_eq!(desk.model.composer.text(), kept, "{code:?}");
        let dialog = &desk.model.dialogs[0];
        assert!(dialog.draft.is_none() && dialog.selected.is_none(), "{code:?}");
        if !matches!(code, KeyCode::Char('y')) {
            desk.press_control('u');
        }
        give(&mut desk, 'y');
        assert_eq!(desk.take_commands(), [allow(20)], "{code:?}");
    }
    // it was an answer, and is no text any more
    let mut desk = self::desk(vec![command(20, "ls")]);
    for waits in [200, 300, 300] {
        press(&mut desk, waits, KeyCode::Char('y'));
        assert_eq!(desk.take_commands(), [], "the guard counts from the last letter");
    }
    press(&mut desk, 800, KeyCode::Char('y'));
    press(&mut desk, 200, KeyCode::Enter);
    assert_eq!((desk.take_commands(), desk.model.composer.text()), (vec![allow(20)], String::new()));
    // a command is none of it
    let mut desk = self::desk(vec![command(20, "ls")]);
    press(&mut desk, 200, KeyCode::Char('n'));
    press(&mut desk, 900, KeyCode::Char('/'));
    assert_eq!((desk.model.dialogs.len(), desk.model.composer.text().as_str()), (1, "/"));
    desk.take_commands();
    // a text that begins while the question opens is a text
    let mut desk = self::desk(vec![command(20, "ls")]);
    for c in "yes please".chars() {
        press(&mut desk, 150, KeyCode::Char(c));
    }
    assert_eq!((desk.take_commands(), desk.model.composer.text().as_str()), (vec![], "yes please"));
    press(&mut desk, 600, KeyCode::Char('n'));
    assert_eq!((desk.take_commands(), desk.model.composer.text().as_str()), (vec![], "yes pleasen"));
    // one that was not on screen yet, too
    let mut desk = self::desk(vec![]);
    desk.run_event("r1", command(20, "ls"));
    press(&mut desk, 3_000, KeyCode::Char('y'));
    assert_eq!(desk.take_commands(), []);
    // the next question appears when the one before is answered
    let mut desk = self::desk(vec![command(20, "ls"), command(21, "pwd")]);
    give(&mut desk, 'y');
    assert_eq!(desk.take_commands(), [allow(20)]);
    assert!(press(&mut desk, 300, KeyCode::Char('y')).contains(late));
    assert_eq!(desk.take_commands(), []);
    give(&mut desk, 'y');
    assert_eq!(desk.take_commands(), [allow(21)]);
    // what was begun before goes on
    let mut desk = self::desk(vec![]);
    desk.type_text("wh").run_event("r1", command(20, "ls")).draw_screen(80, 24);
    press(&mut desk, 300, KeyCode::Char('y'));
    assert_eq!((desk.take_commands(), desk.model.composer.text().as_str()), (vec![], "why"));
}

#[test]
fn another_letter_behind_one_that_came_too_early_makes_a_text() {
    let mut desk = desk(vec![command(20, "ls")]);
    press(&mut desk, 300, KeyCode::Char('a'));
    press(&mut desk, 2_000, KeyCode::Char('s'));
    assert_eq!((desk.take_commands(), desk.model.composer.text().as_str()), (vec![], "as"));
}

#[test]
fn a_call_is_changed_before_it_is_allowed() {
    let mut desk = desk(vec![command(20, "ls")]);
    let screen = give(&mut desk, 'e');
    assert!(screen.contains("as it shall run:") && screen.contains("❯ ls"), "{screen}");
    press(&mut desk, 2_000, KeyCode::Char(';'));
    for c in " rm -rf x".chars() {
        press(&mut desk, 200, KeyCode::Char(c));
    }
    let screen = press(&mut desk, 200, KeyCode::Enter);
    assert_eq!(desk.take_commands(), [], "it is asked as it is now");
    for part in ["(changed)", "! This command deletes directories", "in web", "┃ ls; rm -rf x"] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    give(&mut desk, 'y');
    assert_eq!(
        desk.take_commands(),
        [allow_edited(20, json!({"command": "ls; rm -rf x", "directory": "web"}))]
    );
    // Esc leaves it as it was, and so does a text that is the same
    for code in [KeyCode::Esc, KeyCode::Enter] {
        let mut desk = self::desk(vec![command(20, "ls")]);
        give(&mut desk, 'e');
        press(&mut desk, 2_000, code);
        give(&mut desk, 'y');
        assert_eq!(desk.take_commands(), [allow(20)], "{code:?}");
    }
    // arguments that are no text are JSON
    let mut desk = self::desk(vec![asked(20, "edit_file", json!({"path": "a", "edits": [1]}))]);
    give(&mut desk, 'e');
    press(&mut desk, 2_000, KeyCode::Char('x'));
    let screen = press(&mut desk, 2_000, KeyCode::Enter);
    assert!(screen.contains("✗ this is not JSON"), "{screen}");
    press(&mut desk, 2_000, KeyCode::Backspace);
    let screen = press(&mut desk, 2_000, KeyCode::Enter);
    assert!(!screen.contains("✗") && desk.model.dialogs[0].draft.is_none(), "{screen}");
    // for the session: this call as it was changed, later ones as they are
    let mut desk = self::desk(vec![command(20, "ls")]);
    give(&mut desk, 'e');
    press(&mut desk, 2_000, KeyCode::Char('x'));
    press(&mut desk, 2_000, KeyCode::Enter);
    give(&mut desk, 's');
    assert_eq!(desk.take_commands(), [allow_edited(20, json!({"command": "lsx", "directory": "web"}))]);
    desk.run_event("r1", command(21, "pwd"));
    assert_eq!(desk.take_commands(), [allow(21)]);
}

#[test]
fn a_changed_call_still_says_where_it_goes() {
    let preview = ToolPreview::Text { text: "`find` of MCP server `docs`\n\n{\n  \"q\": 1\n}".into() };
    let RunEvent::ApprovalAsked { state, call, agent, tool, risk, arguments, until, .. } =
        asked(20, "docs__find", json!({"q": 1}))
    else {
        unreachable!()
    };
    let preview = Some(Box::new(preview));
    let event = RunEvent::ApprovalAsked { state, call, agent, tool, risk, arguments, preview, until };
    let mut desk = desk(vec![event]);
    press(&mut desk, 2_000, KeyCode::Char('e'));
    press(&mut desk, 2_000, KeyCode::Enter);
    press(&mut desk, 2_000, KeyCode::Backspace);
    press(&mut desk, 2_000, KeyCode::Backspace);
    for c in "2}".chars() {
        press(&mut desk, 200, KeyCode::Char(c));
    }
    let screen = press(&mut desk, 200, KeyCode::Enter);
    for part in ["(changed)", "`find` of MCP server `docs`", "\"q\": 12"] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
}

#[test]
fn always_writes_the_rule_that_was_shown() {
    // what is typed after the offered rule was deleted; empty: it is taken
    let rows: [(&str, Result<AllowRule, &str>); 5] = [
        ("", Ok(AllowRule::Tool("execute_terminal".into()))),
        ("approvals.execute = allow", Ok(AllowRule::Risk(ToolRisk::Execute))),
        ("approvals.write = allow", Err("this rule does not allow execute_terminal")),
        ("approvals.tools.other = allow", Err("this rule does not allow execute_terminal")),
        ("execute_terminal", Err("a rule is approvals.tools.NAME = allow")),
    ];
    for (typed, expected) in rows {
        let mut desk =
            desk(vec![command(20, "ls"), asked(21, "write_file", json!({"path": "a"})), command(22, "pwd")]);
        let screen = give(&mut desk, 'a');
        assert!(screen.contains("❯ approvals.tools.execute_terminal = allow"), "{screen}");
        assert_eq!(desk.take_commands(), [], "nothing is written yet");
        if !typed.is_empty() {
            desk.press_before_seen(KeyCode::Char('u'), KeyModifiers::CONTROL);
            desk.send_message(UiMessage::Paste(typed.to_owned()));
        }
        let screen = press(&mut desk, 2_000, KeyCode::Enter);

        match expected {
            Ok(rule) => {
                let written = UiCommand::ask(ProjectRequest::AllowAlways(StandingPermission::Rule(rule)));
                assert_eq!(desk.take_commands(), [allow(20), allow(22), written], "{typed}");
                assert_eq!(desk.model.dialogs.len(), 1, "the file is still asked about");
            }
            Err(problem) => {
                assert_eq!(desk.take_commands(), [], "{typed}");
                assert!(screen.contains(problem), "{typed}: {screen}");
                // Esc leads back to the answers
                press(&mut desk, 2_000, KeyCode::Esc);
                give(&mut desk, 'y');
                assert_eq!(desk.take_commands(), [allow(20)]);
            }
        }
    }
}

#[test]
fn a_reason_is_typed_with_a_cursor() {
    let mut desk = desk(vec![command(20, "ls")]);
    give(&mut desk, 'r');
    for code in [KeyCode::Char('o'), KeyCode::Char('!'), KeyCode::Left, KeyCode::Left, KeyCode::Char('n')] {
        press(&mut desk, 2_000, code);
    }
    press(&mut desk, 2_000, KeyCode::Enter);
    let reason = Some("no!".to_owned());
    assert_eq!(desk.take_commands(), [decision_command("r1", 20, ApprovalDecision::Deny { reason })]);
}

#[test]
fn answers_are_chosen_with_arrows_behind_the_text() {
    let long = (0..40).map(|at| format!("echo {at}")).collect::<Vec<_>>().join("\n");
    let mut desk = desk(vec![command(20, &long)]);
    let mut lines = 0;
    while desk.model.dialogs[0].selected.is_none() {
        press(&mut desk, 2_000, KeyCode::Down);
        lines += 1;
        assert!(lines < 60, "{}", desk.draw_screen(80, 24));
    }
    assert!(lines > 30, "the text was scrolled line by line: {lines}");
    // deny is the fifth
    for _ in 0..4 {
        press(&mut desk, 2_000, KeyCode::Down);
    }
    assert!(desk.draw_screen(80, 24).contains("▸ n deny"), "{}", desk.draw_screen(80, 24));
    press(&mut desk, 2_000, KeyCode::Enter);
    assert_eq!(desk.take_commands(), [decision_command("r1", 20, ApprovalDecision::Deny { reason: None })]);
}

#[test]
fn tab_walks_the_questions_in_their_order() {
    let mut desk = desk(vec![command(20, "one"), command(21, "two"), command(22, "three")]);
    for (code, expected) in [
        (KeyCode::Tab, "2 of 3"),
        (KeyCode::Tab, "3 of 3"),
        (KeyCode::Tab, "1 of 3"),
        (KeyCode::BackTab, "3 of 3"),
    ] {
        let screen = press(&mut desk, 2_000, code);
        assert!(screen.contains(expected), "{code:?} {expected}: {screen}");
    }
    // a new one is the last, wherever the walk is
    desk.run_event("r1", command(23, "four"));
    assert!(desk.draw_screen(80, 24).contains("3 of 4"));
    assert!(press(&mut desk, 2_000, KeyCode::Tab).contains("4 of 4"));
    give(&mut desk, 'y');
    assert_eq!(desk.take_commands(), [allow(23)]);
}

#[test]
fn a_question_covers_nothing_and_takes_six_tenths_at_most() {
    let long = "echo\n".repeat(100);
    for (width, height) in FRAME_SIZES {
        let mut desk = desk(vec![command(20, &long)]);
        let screen = desk.draw_screen(width, height);
        let rows: Vec<&str> = screen.lines().collect();
        let at = |sign: char| rows.iter().position(|row| row.starts_with(sign)).unwrap();
        let (first, last) = (at('┌'), at('└'));
        assert!(last - first < usize::from(height) * 6 / 10, "{screen}");
        assert!(rows[last + 1].starts_with("───"), "the input line is below: {screen}");
        assert!(rows[first].contains("Allow coder to execute"), "{screen}");
        assert!(screen.contains("↓ ") && screen.contains(" more lines"), "{screen}");
        // of the conversation its newest rows are seen
        assert!(rows[..first].iter().any(|row| row.contains("code")), "{screen}");
    }
}

#[test]
fn the_wheel_scrolls_what_is_under_it() {
    let mut desk = desk(vec![command(20, &"echo\n".repeat(100))]);
    desk.model.mouse = true;
    let mut turn = |row: u16| {
        let event =
            MouseEvent { kind: MouseEventKind::ScrollDown, column: 5, row, modifiers: KeyModifiers::NONE };
        desk.send_message(UiMessage::Mouse(event));
        desk.model.dialogs[0].scroll
    };
    assert_eq!((turn(15), turn(15), turn(2)), (3, 6, 6));
}

/// Beside the answers, beside a written answer, and while a reason or a call is typed.
#[test]
fn the_text_of_a_question_scrolls_down_and_back() {
    let long = "echo\n".repeat(100);
    let check = |desk: &mut TuiHarness, down: KeyCode, up: KeyCode| {
        assert_eq!(desk.model.dialogs[0].scroll, 0, "{down:?}");
        let screen = press(desk, 2_000, down);
        assert!(desk.model.dialogs[0].scroll > 0, "{down:?}: {screen}");
        let screen = press(desk, 2_000, up);
        assert_eq!(desk.model.dialogs[0].scroll, 0, "{up:?}: {screen}");
    };
    let mut listed = desk(vec![command(20, &long)]);
    check(&mut listed, KeyCode::PageDown, KeyCode::PageUp);
    check(&mut listed, KeyCode::Down, KeyCode::Up);
    check(&mut listed, KeyCode::Char(' '), KeyCode::Home);
    check(&mut listed, KeyCode::End, KeyCode::Home);
    // inside of the text Up takes Down back, whatever is chosen
    press(&mut listed, 2_000, KeyCode::Char('n'));
    for (key, row) in [(KeyCode::Down, 1), (KeyCode::Down, 2), (KeyCode::Up, 1), (KeyCode::Up, 0)] {
        press(&mut listed, 2_000, key);
        assert_eq!(
            (listed.model.dialogs[0].scroll, listed.model.dialogs[0].is_armed),
            (row, true),
            "{key:?}"
        );
    }
    press(&mut listed, 2_000, KeyCode::Backspace);
    listed.model.dialogs[0].selected = None;
    // at the top there is nothing above, and no answer is chosen
    press(&mut listed, 2_000, KeyCode::Up);
    assert_eq!((listed.model.dialogs[0].scroll, listed.model.dialogs[0].selected), (0, None));
    let mut written = desk(vec![user_question(20, super::question_frames::pause(PauseKind::Text, &long))]);
    check(&mut written, KeyCode::PageDown, KeyCode::PageUp);
    for letter in ['r', 'e'] {
        let mut typed = desk(vec![command(20, &long)]);
        give(&mut typed, letter);
        check(&mut typed, KeyCode::PageDown, KeyCode::PageUp);
    }
}

#[test]
fn the_letters_of_a_question_are_those_of_its_page() {
    let page = include_str!("../../../docs/workflow-mode.md");
    let table = page.split("| letter | answer to a call of a tool |\n").nth(1).unwrap();
    let rows = table.lines().skip(1).map_while(|row| row.strip_prefix("| `"));
    let told: Vec<(char, &str)> = rows
        .map(|row| {
            let (letter, about) = row.split_once("` | ").unwrap();
            (letter.chars().next().unwrap(), about.split([' ', ':']).next().unwrap())
        })
        .collect();
    let screen = desk(vec![command(20, "ls")]).draw_screen(80, 24);
    let shown: Vec<(char, &str)> = screen
        .lines()
        .filter_map(|row| {
            let mut words = row.strip_prefix("│   ")?.split([' ', ':']);
            let letter = words.next().filter(|word| word.len() == 1)?.chars().next()?;
            Some((letter, words.next()?))
        })
        .collect();
    assert_eq!(shown, told, "{screen}");
    assert_eq!(shown.len(), 6, "{screen}");
}

fn pause(kind: PauseKind, choices: &[&str], default: serde_json::Value) -> RunEvent {
    user_question(
        20,
        UserQuestion::Pause {
            state: "gate".into(),
            kind,
            message: "Ship it?".into(),
            choices: choices.iter().map(|&choice| choice.to_owned()).collect(),
            schema: None,
            required_outputs: vec![],
            default: Some(default).filter(|default| !default.is_null()).map(Box::new),
            until: None,
            problem: None,
        },
    )
}

fn value(value: serde_json::Value) -> UiCommand {
    let answer = UserAnswer::Value { value };
    UiCommand::Send(RunId::from("r1"), RunCommand::Answer { call: CallId(20), answer })
}

#[test]
fn enter_behind_a_letter_that_came_too_early_gives_no_answer() {
    let deny = || decision_command("r1", 20, ApprovalDecision::Deny { reason: None });
    let yes_or_no = |default: bool| pause(PauseKind::Approval, &[], json!(default));
    let rows = [
        (yes_or_no(true), 'n', value(json!(false))),
        (yes_or_no(false), 'y', value(json!(true))),
        (pause(PauseKind::Choice, &["ship", "test"], json!("ship")), '2', value(json!("test"))),
        (command(20, "ls"), 'n', deny()),
        (command(20, "ls"), 'y', allow(20)),
    ];
    for (event, letter, meant) in rows {
        for (early, enter) in [(200, 150), (300, 2_000)] {
            let mut desk = desk(vec![event.clone()]);
            press(&mut desk, early, KeyCode::Char(letter));
            let screen = press(&mut desk, enter, KeyCode::Enter);
            assert_eq!((desk.take_commands(), desk.model.dialogs.len()), (vec![], 1), "{letter}");
            assert!(screen.contains("came too early: press it again"), "{screen}");
            assert!(desk.model.composer.is_empty(), "{letter}");
            give(&mut desk, letter);
            assert_eq!(desk.take_commands(), std::slice::from_ref(&meant), "{letter}");
        }
    }
    // what was chosen since is meant
    let mut desk = desk(vec![yes_or_no(true)]);
    press(&mut desk, 300, KeyCode::Char('y'));
    press(&mut desk, 2_000, KeyCode::Down);
    press(&mut desk, 2_000, KeyCode::Enter);
    assert_eq!(desk.take_commands(), [value(json!(false))]);
    assert!(desk.model.composer.is_empty());
}

#[test]
fn a_letter_just_before_the_question_counts_as_typing() {
    let mut desk = desk(vec![]);
    press(&mut desk, 200, KeyCode::Char('k'));
    press(&mut desk, 100, KeyCode::Enter);
    desk.take_commands();
    desk.run_event("r1", command(20, "ls")).draw_screen(80, 24);
    let now = Timestamp(desk.advance_clock(520).clock);
    let screen = desk.send_message(UiMessage::Tick(now)).draw_screen(80, 24);
    assert!(screen.contains("you were typing: keys count in a moment"), "{screen}");
    desk.advance_clock(-90).press_before_seen(KeyCode::Char('y'), KeyModifiers::NONE);
    assert_eq!((desk.take_commands(), desk.model.composer.text().as_str()), (vec![], "y"));
    press(&mut desk, 800, KeyCode::Char('y'));
    press(&mut desk, 200, KeyCode::Enter);
    assert_eq!(desk.take_commands(), [allow(20)]);
}

#[test]
fn a_letter_that_came_too_early_goes_with_its_question() {
    type Leave = fn(&mut TuiHarness);
    let escape: Leave = |desk| drop(press(desk, 2_000, KeyCode::Esc));
    let walk: Leave = |desk| {
        desk.advance_clock(2_000).press_key(KeyCode::Char('a'), KeyModifiers::ALT);
    };
    let pause: Leave = |desk| {
        desk.run_event("r1", run_finished(RunStatus::Paused, None, None));
    };
    for leave in [escape, walk, pause] {
        for letters in ["n", "nn"] {
            let mut desk = desk(vec![command(20, "ls"), command(21, "pwd")]);
            for letter in letters.chars() {
                press(&mut desk, 300, KeyCode::Char(letter));
            }
            assert_eq!((desk.take_commands(), desk.model.composer.text().as_str()), (vec![], letters));
            leave(&mut desk);
            assert_eq!(desk.model.composer.text(), "", "{letters}");
        }
    }
    // a text that goes on is kept
    let mut desk = desk(vec![command(20, "ls")]);
    for letter in "no, ".chars() {
        press(&mut desk, 300, KeyCode::Char(letter));
    }
    pause(&mut desk);
    assert_eq!(desk.model.composer.text(), "no, ");
}

#[test]
fn a_command_that_began_before_a_written_question_could_be_read_runs() {
    let written = || pause(PauseKind::Text, &[], json!(null));
    for (before, waits) in [("", 200), ("/set", 200), ("", 2_000)] {
        let mut desk = desk(vec![]);
        desk.type_text(before).run_event("r1", written()).draw_screen(80, 24);
        let line = "/set limit = 9";
        for (at, letter) in line.char_indices().skip(before.len()) {
            press(&mut desk, if at == 0 { waits } else { 100 }, KeyCode::Char(letter));
        }
        let screen = desk.draw_screen(80, 24);
        assert!(!screen.contains("into the history"), "{screen}");
        press(&mut desk, 100, KeyCode::Enter);
        let sent = desk.take_commands();
        assert!(sent.iter().any(|cmd| matches!(cmd, UiCommand::Send(..))), "{before} {waits}: {sent:?}");
        assert_eq!((desk.model.dialogs.len(), desk.model.composer.text().as_str()), (1, ""));
    }
}

#[test]
fn escape_beside_a_written_answer_says_what_it_does_then() {
    let mut workflow = desk(vec![pause(PauseKind::Text, &[], json!(null))]);
    let mut chat = TuiHarness::new();
    chat.start_chat().run_event("c1", pause(PauseKind::Text, &[], json!(null))).draw_screen(80, 24);
    for (desk, expected) in [(&mut workflow, "then Esc: later"), (&mut chat, "then Esc ends this turn")] {
        press(desk, 2_000, KeyCode::Char('x'));
        let screen = press(desk, 2_000, KeyCode::Esc);
        assert!(screen.contains("Ctrl+C takes the text away, ") && screen.contains(expected), "{screen}");
    }
}

#[test]
fn every_answer_is_on_screen_beside_a_tall_text() {
    for height in 22..34 {
        let mut desk = desk(vec![]);
        desk.send_message(UiMessage::Paste((1..=8).map(|at| format!("line {at}\n")).collect()));
        desk.run_event("r1", command(20, "ls"));
        let screen = desk.draw_screen(80, height);
        for answer in ["y allow", "s allow", "a always", "e edit", "n deny", "r deny"] {
            assert!(screen.contains(answer), "{height} {answer}: {screen}");
        }
    }
}

#[test]
fn a_paste_beside_a_question_is_kept_and_answers_nothing() {
    let mut desk = TuiHarness::new();
    desk.workflow()
        .run_event("r1", approval_event(9, "execute_terminal", command_preview("cargo test")))
        .settle_question()
        .take_commands();
    desk.send_message(UiMessage::Paste("y\n".to_owned()));
    assert_eq!((desk.take_commands(), desk.model.dialogs.len()), (Vec::new(), 1));
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("pasted into the input line: it answers nothing"), "{screen}");
    assert_eq!(desk.model.composer.text().trim_end(), "y");
    // what is typed inside of the question takes it
    let mut desk = TuiHarness::new();
    desk.workflow()
        .run_event("r1", approval_event(9, "execute_terminal", command_preview("cargo test")))
        .answer('r')
        .send_message(UiMessage::Paste("not now".to_owned()));
    assert_eq!(desk.model.composer.text(), "");
    assert!(desk.draw_screen(80, 24).contains("not now"));
}

#[test]
fn a_rule_that_is_not_in_sight_is_not_written() {
    for (width, height, is_written) in [(20, 5, false), (80, 24, true), (60, 20, true)] {
        let mut desk = TuiHarness::new();
        desk.workflow()
            .run_event("r1", approval_event(9, "execute_terminal", command_preview("cargo test")))
            .draw_screen(width, height);
        for _ in 0..9 {
            desk.key(KeyCode::PageDown);
        }
        desk.take_commands();
        desk.advance_clock(2_000).answer('a').advance_clock(2_000).key(KeyCode::Enter);
        let is_open = !desk.model.dialogs.is_empty();
        assert_eq!(
            (desk.take_commands().is_empty(), is_open),
            (!is_written, !is_written),
            "{width}x{height}"
        );
        let problem = desk.model.dialogs.front().and_then(|dialog| dialog.problem.clone());
        let told = problem.is_some_and(|problem| problem.contains("enlarge the window"));
        assert_eq!(told, !is_written, "{width}x{height}\n{}", desk.draw_screen(width, height));
    }
}

#[test]
fn a_question_names_the_run_that_asks() {
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", approval_event(9, "execute_terminal", command_preview("cargo test")));
    let title = |desk: &mut TuiHarness, width: u16| {
        let screen = desk.draw_screen(width, 36);
        screen.lines().find(|line| line.contains("Allow coder")).unwrap().to_owned()
    };
    assert!(title(&mut desk, 120).contains(" coder_reviewer · "));
    // of several runs the one that asks stands first
    desk.run_event("r2", workflow_started("plan", "x"));
    for width in [60, 80, 120] {
        assert!(title(&mut desk, width).contains("coder_reviewer r1 · Allow coder"), "{width}");
    }
}

#[test]
fn what_the_session_allows_does_not_cover_a_change_of_agents_md() {
    let mut desk = desk(vec![asked(20, "write_file", json!({"file_path": "a.rs"}))]);
    give(&mut desk, 's');
    assert_eq!(desk.take_commands(), [allow(20)]);
    let patch = "*** Begin Patch\n*** Update File: docs/AGENTS.md\n-a\n+b\n*** End Patch";
    let rows = [
        (json!({"file_path": "b.rs"}), true),
        (json!({"file_path": "sub/agents.md"}), false),
        (json!({"patch": patch}), false),
    ];
    for (call, (arguments, is_covered)) in (21..).zip(rows) {
        desk.run_event("r1", asked(call, "write_file", arguments.clone()));
        let expected = if is_covered { vec![allow(call)] } else { Vec::new() };
        assert_eq!(desk.take_commands(), expected, "{arguments}");
    }
    assert_eq!(desk.model.dialogs.len(), 2);
}

#[test]
fn what_the_session_allows_leaves_a_changed_call_to_the_user() {
    let mut desk = desk(vec![command(20, "ls"), command(21, "pwd"), command(22, "date")]);
    give(&mut desk, 'e');
    press(&mut desk, 2_000, KeyCode::Char('x'));
    let screen = press(&mut desk, 200, KeyCode::Enter);
    assert!(screen.contains("(changed)"), "{screen}");
    press(&mut desk, 2_000, KeyCode::Tab);
    give(&mut desk, 's');
    assert_eq!(desk.take_commands(), [allow(21), allow(22)]);
    assert_eq!(desk.model.dialogs.len(), 1);
}
