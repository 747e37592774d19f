//! Questions of pause states and failed states: what they look like, and what each key answers.

use serde_json::{Value, json};
use synthdev::domain::workflow::PauseKind;
use synthdev::runtime::network_access::NetworkAnswer;
use synthdev::service::session::{ProjectRequest, StandingPermission};
use synthdev::tui::transcript::item::TranscriptItem;

use super::*;

fn pause(kind: PauseKind) -> UserQuestion {
    UserQuestion::Pause {
        state: "gate".into(),
        kind,
        message: "The plan:\n1. read\n2. write".into(),
        choices: vec![],
        schema: None,
        required_outputs: vec![],
        default: None,
        until: None,
        problem: None,
    }
}

/// The same question with something changed.
fn with_change(
    mut question: UserQuestion,
    change: impl FnOnce(&mut Vec<String>, &mut Vec<String>, &mut Option<Box<Value>>),
) -> UserQuestion {
    if let UserQuestion::Pause { choices, required_outputs, default, .. } = &mut question {
        change(choices, required_outputs, default);
    }
    question
}

fn choice(default: Option<&str>) -> UserQuestion {
    with_change(pause(PauseKind::Choice), |choices, _, preset| {
        *choices = ["ship", "test more", "drop\x1b[2J it"].map(str::to_owned).to_vec();
        *preset = default.map(Value::from).map(Box::new);
    })
}

fn outputs(names: &[&str]) -> UserQuestion {
    with_change(pause(PauseKind::Outputs), |_, outputs, _| {
        *outputs = names.iter().map(|&n| n.to_owned()).collect()
    })
}

fn preset(kind: PauseKind, value: Value) -> UserQuestion {
    with_change(pause(kind), |_, _, default| *default = Some(Box::new(value)))
}

fn value(call: u64, value: Value) -> UiCommand {
    answered_command(call, UserAnswer::Value { value })
}

fn answered_command(call: u64, answer: UserAnswer) -> UiCommand {
    UiCommand::Send(RunId::from("r1"), RunCommand::Answer { call: CallId(call), answer })
}

#[test]
fn a_question_that_was_answered_stands_in_the_conversation_with_its_answer() {
    let closed = || RunEvent::question_withdrawn(CallId(20));
    let check = |question: UserQuestion, keys: &[KeyCode], expected: &[&str]| {
        let mut desk = TuiHarness::new();
        desk.workflow().run_event("r1", user_question(20, question)).advance_clock(700);
        keys.iter().for_each(|key| {
            desk.key(*key);
        });
        let screen = desk.run_event("r1", closed()).draw_screen(80, 40);
        for text in ["gate asked", "1. read"].iter().chain(expected) {
            assert!(screen.contains(text), "{text}: {screen}");
        }
        assert_eq!(screen.matches("→ ").count(), 1 + expected.len(), "{screen}");
    };
    check(pause(PauseKind::Approval), &[KeyCode::Char('y'), KeyCode::Enter], &["→ yes"]);
    check(choice(None), &[KeyCode::Down, KeyCode::Down, KeyCode::Enter], &["→ test more"]);
    // nothing was answered
    for keys in [&[KeyCode::Char('l'), KeyCode::Enter][..], &[KeyCode::Esc]] {
        check(choice(None), keys, &["→ left for later: nothing was answered"]);
    }
    // answered elsewhere, or in an earlier session
    check(pause(PauseKind::Approval), &[], &[]);
}

#[test]
fn one_key_or_a_choice() {
    use KeyCode::{Down, Enter, Esc, Up};
    let key = KeyCode::Char;
    let failed = || UserQuestion::Failed {
        failure: Box::new(RunError::new("tool.failed", "A step failed", "exit 1")),
    };
    let rows: Vec<(UserQuestion, Vec<KeyCode>, Option<UserAnswer>)> = vec![
        (pause(PauseKind::Approval), vec![key('y'), Enter], Some(UserAnswer::Value { value: json!(true) })),
        (pause(PauseKind::Approval), vec![key('N'), Enter], Some(UserAnswer::Value { value: json!(false) })),
        (pause(PauseKind::Boolean), vec![key('y'), Enter], Some(UserAnswer::Value { value: json!(true) })),
        (pause(PauseKind::Approval), vec![Esc], Some(UserAnswer::Stop)),
        (pause(PauseKind::Approval), vec![Enter], None),
        (
            preset(PauseKind::Approval, json!(false)),
            vec![Enter],
            Some(UserAnswer::Value { value: json!(false) }),
        ),
        (choice(None), vec![key('2'), Enter], Some(UserAnswer::Value { value: json!("test more") })),
        (choice(None), vec![Enter], None),
        (choice(None), vec![Down, Enter], Some(UserAnswer::Value { value: json!("ship") })),
        (
            choice(None),
            vec![Down, Down, Down, Enter],
            Some(UserAnswer::Value { value: json!("drop\x1b[2J it") }),
        ),
        (choice(None), vec![Up, Up, Enter], Some(UserAnswer::Value { value: json!("drop\x1b[2J it") })),
        (choice(None), vec![Up, Enter], Some(UserAnswer::Stop)),
        (choice(None), vec![key('l'), Enter], Some(UserAnswer::Stop)),
        (pause(PauseKind::Boolean), vec![Down, Enter], Some(UserAnswer::Value { value: json!(true) })),
        (pause(PauseKind::Boolean), vec![Down, Down, Enter], Some(UserAnswer::Value { value: json!(false) })),
        (pause(PauseKind::Boolean), vec![Up, Enter], Some(UserAnswer::Stop)),
        (failed(), vec![Down, Enter], Some(UserAnswer::Continue)),
        (choice(Some("test more")), vec![Enter], Some(UserAnswer::Value { value: json!("test more") })),
        (choice(None), vec![key('9')], None),
        (choice(None), vec![key('1')], None),
        (choice(None), vec![Esc], Some(UserAnswer::Stop)),
        (failed(), vec![key('y'), Enter], Some(UserAnswer::Continue)),
        (failed(), vec![key('n'), Enter], Some(UserAnswer::Stop)),
        (failed(), vec![Esc], Some(UserAnswer::Stop)),
        (failed(), vec![Enter], None),
    ];
    for (question, keys, expected) in rows {
        let mut desk = TuiHarness::new();
        desk.workflow().run_event("r1", user_question(20, question.clone())).advance_clock(700);
        for code in &keys {
            desk.key(*code);
        }
        let expected: Vec<UiCommand> =
            expected.into_iter().map(|answer| answered_command(20, answer)).collect();
        assert_eq!(desk.take_commands(), expected, "{question:?} {keys:?}");
        assert_eq!(desk.model.dialogs.is_empty(), !expected.is_empty());
    }
}

/// A question is taken away by others; what was on its way to it answers no other one.
#[test]
fn what_was_meant_for_a_question_that_is_gone_answers_no_other() {
    let paused = || run_finished(RunStatus::Paused, None, None);
    let two = |first: UserQuestion| {
        let mut desk = TuiHarness::new();
        desk.workflow().run_event("r1", user_question(20, first)).advance_clock(5_000);
        desk.run_event("r2", workflow_started("other", ""))
            .run_event("r2", user_question(30, pause(PauseKind::Approval)));
        desk.advance_clock(5_000).take_commands();
        desk.draw_screen(80, 24);
        desk
    };
    for (code, waits) in [(KeyCode::Char('y'), 20), (KeyCode::Char('y'), 1_300), (KeyCode::Enter, 300)] {
        let mut desk = two(pause(PauseKind::Approval));
        desk.run_event("r1", paused());
        desk.draw_screen(80, 24);
        desk.advance_clock(waits).press_before_seen(code, KeyModifiers::NONE);
        assert_eq!(desk.take_commands(), [], "{code:?} after {waits} ms");
        assert!(
            desk.draw_screen(80, 24).contains("this question just appeared"),
            "{}",
            desk.draw_screen(80, 24)
        );
        // it was read by now
        desk.advance_clock(2_000).answer('y');
        let yes = UserAnswer::Value { value: json!(true) };
        assert_eq!(
            desk.take_commands(),
            [UiCommand::Send(RunId::from("r2"), RunCommand::Answer { call: CallId(30), answer: yes })]
        );
    }
    // an answer that was being typed is said to nobody else
    let mut desk = TuiHarness::new();
    desk.workflow()
        .run_event("r1", user_question(20, pause(PauseKind::Text)))
        .advance_clock(800)
        .type_text("my secret")
        .take_commands();
    desk.run_event("r1", paused()).advance_clock(60_000).take_commands();
    desk.key(KeyCode::Enter);
    assert_eq!(desk.take_commands(), []);
    assert!(
        desk.draw_screen(80, 24).contains("question withdrawn: Enter again sends this to the conversation")
    );
    desk.key(KeyCode::Enter);
    assert!(!desk.take_commands().is_empty(), "who insists says it");
    // what is typed later is a text like others
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", user_question(20, pause(PauseKind::Text))).run_event("r1", paused());
    desk.advance_clock(2_000).type_text("hello").take_commands();
    desk.key(KeyCode::Enter);
    assert!(!desk.take_commands().is_empty());
}

/// Editing the text in the input box does not answer a question that has just come over it.
#[test]
fn a_text_that_is_changed_answers_nothing() {
    let plain = KeyModifiers::NONE;
    let edits = [
        (KeyCode::Backspace, plain, "now me a y2"),
        (KeyCode::Left, plain, "now me a y2w"),
        (KeyCode::Char('w'), KeyModifiers::CONTROL, "now e a y2"),
        (KeyCode::Char('u'), KeyModifiers::CONTROL, "e a y2"),
    ];
    for question in [pause(PauseKind::Approval), choice(None)] {
        for (code, modifiers, expected) in edits {
            let mut desk = TuiHarness::new();
            desk.workflow()
                .type_text("now mw")
                .run_event("r1", user_question(20, question.clone()))
                .advance_clock(800)
                .take_commands();
            desk.press_key(code, modifiers);
            // where nothing is left to change, the text is a new one
            if desk.model.composer.is_empty() {
                desk.model.composer.set_text("e a y2");
            } else {
                desk.type_text("e a y2");
            }
            assert_eq!(desk.model.composer.text(), expected, "{code:?}");
            desk.key(KeyCode::Enter);
            assert!(desk.take_commands().iter().all(|cmd| !matches!(cmd, UiCommand::Send(..))), "{code:?}");
            assert!(!desk.model.dialogs.is_empty(), "{code:?}");
        }
    }
}

#[test]
fn escape_behind_a_letter_interrupts_no_run_that_waits_for_the_answer() {
    let (taken_away, early) = ("Ctrl+C takes the text away", "this question just appeared");
    for (letter, waits, told) in [('j', 100, taken_away), ('x', 300, taken_away), ('2', 40, early)] {
        let mut desk = TuiHarness::new();
        desk.workflow().run_event("r1", user_question(20, choice(None)));
        desk.draw_screen(80, 24);
        desk.advance_clock(100).press_before_seen(KeyCode::Char(letter), KeyModifiers::NONE);
        desk.advance_clock(waits).press_before_seen(KeyCode::Esc, KeyModifiers::NONE);
        assert_eq!((desk.take_commands(), desk.model.dialogs.len()), (vec![], 1), "{letter}");
        assert!(!desk.model.find_run(&RunId::from("r1")).unwrap().is_interrupting, "{letter}");
        let screen = desk.draw_screen(80, 24);
        assert!(!screen.contains("interrupting") && screen.contains(told), "{screen}");
        // and it does
        desk.press_control('c');
        assert_eq!((desk.take_commands(), desk.model.dialogs.len()), (vec![], 1), "{letter}");
        assert!(desk.model.composer.is_empty() && !desk.model.is_leaving, "{letter}");
    }
}

#[test]
fn an_enter_that_belongs_to_the_question_before_answers_none() {
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", user_question(20, choice(None))).advance_clock(800).take_commands();
    desk.answer('2');
    assert_eq!(desk.take_commands(), [answered_command(20, UserAnswer::Value { value: json!("test more") })]);
    desk.run_event("r1", RunEvent::question_withdrawn(CallId(20)))
        .run_event("r1", user_question(21, choice(None)));
    desk.draw_screen(80, 24);
    desk.advance_clock(500).press_before_seen(KeyCode::Enter, KeyModifiers::NONE);
    assert_eq!(desk.take_commands(), []);
    assert!(desk.draw_screen(80, 24).contains("this question just appeared: read it, then press again"));
    desk.key(KeyCode::Enter);
    assert_eq!(desk.take_commands(), [], "nothing is chosen");
    desk.key(KeyCode::Down).key(KeyCode::Enter);
    assert_eq!(desk.take_commands(), [answered_command(21, UserAnswer::Value { value: json!("ship") })]);
}

/// Before the end of a long text was on screen.
#[test]
fn a_choice_that_only_refuses_needs_no_reading() {
    let check = |choices: &[&str], key: char, expected: Option<&str>| {
        let mut question = choice(None);
        if let UserQuestion::Pause { message, choices: offered, .. } = &mut question {
            *message = (1..=60).map(|at| format!("line {at}\n")).collect();
            *offered = choices.iter().map(|&one| one.to_owned()).collect();
        }
        let mut desk = TuiHarness::new();
        desk.workflow().run_event("r1", user_question(20, question));
        desk.draw_screen(80, 24);
        desk.advance_clock(2_000).press_before_seen(KeyCode::Char(key), KeyModifiers::NONE);
        desk.press_before_seen(KeyCode::Enter, KeyModifiers::NONE);
        let expected: Vec<UiCommand> = expected.into_iter().map(|text| value(20, json!(text))).collect();
        assert_eq!(desk.take_commands(), expected, "{choices:?} {key}");
    };
    let plan = ["build it", "change it", "stop"];
    check(&plan, '1', None);
    check(&plan, '2', None);
    check(&plan, '3', Some("stop"));
    check(&["No.", "no, stop it", "stop the server"], '1', Some("No."));
    check(&["No.", "no, stop it", "stop the server"], '2', Some("no, stop it"));
    check(&["No.", "no, stop it", "stop the server"], '3', None);
    // these name something that is done
    check(&["cancel all", "stop now"], '1', None);
    check(&["cancel all", "stop now"], '2', None);
    let endless = "no ".repeat(100_000);
    check(&[&endless, "stop"], '1', None);
}

#[test]
fn a_conversation_that_asks_keeps_no_question_open() {
    let mut desk = TuiHarness::new();
    desk.start_chat().run_event("c1", user_question(20, choice(None)));
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("leave it: no answer, this turn ends"), "{screen}");
    assert!(screen.contains("Esc ends this turn") && !screen.contains("later"), "{screen}");
    desk.advance_clock(2_000).answer('l');
    desk.run_event("c1", RunEvent::question_withdrawn(CallId(20)));
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("→ not answered: the agent's turn ended"), "{screen}");
}

#[test]
fn a_command_beside_a_question_is_seen_while_it_is_typed() {
    for (width, height) in [(40, 12), (80, 24)] {
        let mut desk = TuiHarness::new();
        desk.workflow()
            .run_event("r1", approval_event(9, "execute_terminal", command_preview("make\nall\nof\nit")));
        desk.draw_screen(width, height);
        desk.advance_clock(2_000).type_text("/sta");
        let screen = desk.draw_screen(width, height);
        assert!(screen.contains("❯ /sta") && screen.contains("/status"), "{screen}");
        assert!(screen.contains("Allow coder"), "the question is still there: {screen}");
        assert_eq!(desk.model.dialogs.len(), 1);
    }
}

#[test]
fn what_is_written_is_read_as_what_is_wanted() {
    let number = || pause(PauseKind::Number);
    let rows: Vec<(UserQuestion, &str, Result<Value, &str>)> = vec![
        (pause(PauseKind::Text), " yes, go ", Ok(json!("yes, go"))),
        (pause(PauseKind::Text), "123", Ok(json!("123"))),
        (pause(PauseKind::Text), "", Err("write something")),
        (preset(PauseKind::Text, json!("usual")), "", Ok(json!("usual"))),
        (number(), "2.5", Ok(json!(2.5))),
        (number(), "-3", Ok(json!(-3))),
        (number(), "three", Err("`three` is not a number")),
        (number(), "NaN", Err("is not a number")),
        (preset(PauseKind::Number, json!(7)), " ", Ok(json!(7))),
        (outputs(&["summary"]), "all is well", Ok(json!({"summary": "all is well"}))),
        (outputs(&["summary"]), "{\"summary\": 1}", Ok(json!({"summary": 1}))),
        (outputs(&["a", "b"]), "{\"a\": 1, \"b\": [true]}", Ok(json!({"a": 1, "b": [true]}))),
        (outputs(&["a", "b"]), "{\"a\": 1}", Err("b is missing")),
        (outputs(&["a", "b"]), "", Err("write a")),
    ];
    for (question, typed, expected) in rows {
        let mut desk = TuiHarness::new();
        desk.workflow().run_event("r1", user_question(20, question)).line(typed);
        match expected {
            Ok(expected) => assert_eq!(desk.take_commands(), [value(20, expected)], "{typed}"),
            Err(problem) => {
                assert_eq!(desk.take_commands(), [], "{typed}");
                let screen = desk.draw_screen(120, 40);
                assert!(screen.contains(problem), "{typed}: {screen}");
                assert_eq!(desk.model.dialogs.len(), 1);
                assert!(desk.model.composer.is_empty(), "the next answer is one of its own");
                if !typed.is_empty() {
                    desk.key(KeyCode::Up);
                    assert_eq!(desk.model.composer.text(), typed, "and this one can be had back");
                }
            }
        }
    }
}

#[test]
fn an_answer_that_was_refused_says_why_and_can_be_had_back() {
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", user_question(20, pause(PauseKind::Text))).line("no");
    assert_eq!(desk.take_commands(), [value(20, json!("no"))]);
    let mut again = pause(PauseKind::Text);
    if let UserQuestion::Pause { problem, .. } = &mut again {
        *problem = Some("it must have at least 5 characters".into());
    }
    desk.run_event("r1", RunEvent::question_withdrawn(CallId(20))).run_event("r1", user_question(21, again));
    assert!(desk.draw_screen(80, 24).contains("✗ it must have at least 5 characters"));
    desk.key(KeyCode::Up);
    assert_eq!(desk.model.composer.text(), "no");
    desk.type_text("t now").key(KeyCode::Enter);
    assert_eq!(desk.take_commands(), [value(21, json!("not now"))]);
}

#[test]
fn a_step_that_is_handed_to_a_person_is_a_form_of_typed_values() {
    let mut question = outputs(&["ticket", "votes", "done"]);
    if let UserQuestion::Pause { schema, message, .. } = &mut question {
        "Create the ticket in the browser.".clone_into(message);
        *schema = Some(Box::new(json!({"properties": {
            "ticket": {"type": "string", "description": "its key"},
            "votes": {"type": "integer"}, "done": {"type": "boolean"}}})));
    }
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", user_question(20, question.clone()));
    let screen = desk.draw_screen(100, 30);
    for part in [
        "Create the ticket in the browser.",
        "▸ ticket (string): its key",
        "  votes (integer)",
        "  done (boolean)",
    ] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    desk.line("ABC-1").line("many");
    let screen = desk.draw_screen(100, 30);
    for part in [
        "✓ ticket (string): its key: ABC-1",
        "▸ votes (integer)",
        "✗ votes: \"many\" is not of type \"integer\"",
    ] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    assert!(!screen.contains("▸ ticket"), "{screen}");
    desk.line("3");
    assert!(desk.draw_screen(100, 30).contains("▸ done (boolean)"));
    // nothing goes back to the value before
    desk.line("").line("4").line("yes");
    assert_eq!(desk.take_commands(), [value(20, json!({"ticket": "ABC-1", "votes": 4, "done": true}))]);
    assert!(desk.model.dialogs.is_empty());
    // Esc leaves it for later
    desk.run_event("r1", user_question(21, question)).line("ABC-2").key(KeyCode::Esc);
    assert_eq!(desk.take_commands(), [answered_command(21, UserAnswer::Stop)]);
}

#[test]
fn a_question_keeps_its_place_when_the_window_changes() {
    let words: String =
        (1..=60).map(|step| format!("step {step}: {}\n", "some words of it ".repeat(9))).collect();
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", approval_event(9, "execute_terminal", command_preview(&words)));
    desk.draw_screen(80, 24);
    desk.advance_clock(2_000).key(KeyCode::End);
    for (width, height) in [(80, 24), (60, 20), (200, 50), (70, 18), (80, 24)] {
        let screen = desk.draw_screen(width, height);
        assert!(!screen.contains("more line"), "{width}: {screen}");
    }
    desk.key(KeyCode::Home);
    for _ in 0..40 {
        if desk.draw_screen(80, 24).contains("step 30:") {
            break;
        }
        desk.key(KeyCode::PageDown);
    }
    let near = |screen: &str| (26..=35).any(|step| screen.contains(&format!("step {step}:")));
    for (width, height) in [(60, 20), (80, 24), (60, 20)] {
        let screen = desk.draw_screen(width, height);
        assert!(near(&screen), "{width}: {screen}");
    }
}

#[test]
fn the_conversation_scrolls_beside_a_short_question() {
    let mut desk = TuiHarness::new();
    desk.workflow();
    for number in 0..60 {
        desk.model.add_item(TranscriptItem::note_item(&format!("note {number}.")));
    }
    desk.run_event("r1", approval_event(9, "execute_terminal", command_preview("ls"))).advance_clock(2_000);
    assert!(!desk.draw_screen(80, 24).contains("note 30."));
    for _ in 0..20 {
        desk.key(KeyCode::PageUp).draw_screen(80, 24);
        if desk.draw_screen(80, 24).contains("note 30.") {
            break;
        }
    }
    assert!(desk.draw_screen(80, 24).contains("note 30."));
    for _ in 0..20 {
        desk.key(KeyCode::PageDown).draw_screen(80, 24);
    }
    assert!(desk.draw_screen(80, 24).contains("note 59."));
    // the question has the keys, and the screen says so
    let screen = desk.press_alt('1').draw_screen(80, 24);
    assert!(screen.contains("the question has the keys: PgUp or the wheel"), "{screen}");
    assert_eq!((desk.model.panes.focus, desk.model.dialogs.len()), (None, 1));
}

#[test]
fn where_nothing_waits_the_way_back_to_a_question_that_was_put_off_is_told() {
    let mut desk = TuiHarness::new();
    desk.press_alt('a');
    assert_eq!(desk.model.hint.as_deref(), Some("nothing waits for you"));
    desk.workflow().run_event("r1", user_question(20, pause(PauseKind::Approval))).advance_clock(700);
    desk.answer('l').run_event("r1", run_finished(RunStatus::Paused, None, None));
    desk.press_alt('a');
    assert_eq!(desk.model.hint.as_deref(), Some("a question was put off: /resume r1 asks it again"));
    let told = "coder_reviewer r1 · its question in code was put off: /resume r1 asks it again";
    for command in ["/approvals", "/status"] {
        let screen = desk.line("/clear").line(command).draw_screen(120, 40);
        assert!(screen.contains(told), "{command}: {screen}");
    }
    let narrow = desk.draw_screen(80, 24);
    assert!(narrow.contains("coder_reviewer ▸ code · paused"), "{narrow}");
    // an answer to another question leaves it open; a run that was cancelled has none
    for (status, is_listed) in [(RunStatus::Paused, true), (RunStatus::Cancelled, false)] {
        let mut desk = TuiHarness::new();
        desk.workflow();
        for (call, letter) in [(20, 'l'), (21, 'y')] {
            desk.run_event("r1", user_question(call, pause(PauseKind::Approval))).advance_clock(700);
            desk.answer(letter);
        }
        desk.run_event("r1", run_finished(status, None, None)).line("/approvals");
        assert_eq!(desk.draw_screen(120, 40).contains(told), is_listed, "{status:?}");
    }
    // a run that was only paused asks nothing
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", run_finished(RunStatus::Paused, None, None)).press_alt('a');
    assert_eq!(desk.model.hint.as_deref(), Some("nothing waits for you"));
}

#[test]
fn a_bad_answer_is_no_part_of_the_next_one() {
    let mut question = pause(PauseKind::Outputs);
    if let UserQuestion::Pause { required_outputs, .. } = &mut question {
        *required_outputs = vec!["name".into(), "city".into()];
    }
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", user_question(20, question)).line("{\"name\": \"bob\"}");
    assert_eq!((desk.take_commands(), desk.model.composer.is_empty()), (vec![], true));
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("✗ city is missing"), "{screen}");
    desk.key(KeyCode::Up);
    assert_eq!(desk.model.composer.text(), "{\"name\": \"bob\"}", "it can be had back");
    desk.press_control('u').line("{\"name\": \"bob\", \"city\": \"x\"}");
    assert_eq!(desk.take_commands(), [value(20, json!({"name": "bob", "city": "x"}))]);
}

#[test]
fn the_beginning_of_another_text_is_no_answer() {
    let mut desk = TuiHarness::new();
    desk.workflow().type_text("and te").run_event("r1", user_question(20, pause(PauseKind::Text)));
    assert!(desk.draw_screen(80, 24).contains("Enter puts what you were writing into the history"));
    desk.type_text("st it").key(KeyCode::Enter);
    assert_eq!((desk.take_commands(), desk.model.composer.is_empty()), (vec![], true));
    desk.key(KeyCode::Up);
    assert_eq!(desk.model.composer.text(), "and test it");
    desk.press_control('u');
    desk.line("go on");
    assert_eq!(desk.take_commands(), [value(20, json!("go on"))]);
    // so is one that begins before the question can have been read
    let mut other = TuiHarness::new();
    other.workflow().run_event("r1", user_question(20, pause(PauseKind::Text)));
    other.draw_screen(80, 24);
    for c in "test it".chars() {
        other.press_before_seen(KeyCode::Char(c), KeyModifiers::NONE);
    }
    other.key(KeyCode::Enter).key(KeyCode::Up);
    assert_eq!((other.take_commands(), other.model.composer.text().as_str()), (vec![], "test it"));
    // what is deleted is forgotten
    desk.type_text("x")
        .run_event("r1", user_question(22, pause(PauseKind::Text)))
        .key(KeyCode::Backspace)
        .line("yes");
    assert_eq!(desk.take_commands(), [value(22, json!("yes"))]);
}

#[test]
fn commands_and_scrolling_work_while_something_is_to_be_written() {
    let long = (1..=60).map(|at| format!("line {at}")).collect::<Vec<_>>().join("\n");
    let mut question = pause(PauseKind::Text);
    if let UserQuestion::Pause { message, .. } = &mut question {
        *message = long;
    }
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", user_question(20, question)).line("/runs");
    assert_eq!(desk.take_commands(), [runs()]);
    assert!(desk.draw_screen(80, 24).contains("line 1 "));
    for _ in 0..9 {
        desk.key(KeyCode::PageDown);
    }
    assert!(desk.draw_screen(80, 24).contains("line 60 "));
    desk.type_text("half").key(KeyCode::Esc);
    assert_eq!(
        (desk.take_commands(), desk.model.composer.text().as_str()),
        (vec![], "half"),
        "nothing is lost"
    );
    desk.press_control('c');
    assert_eq!((desk.take_commands(), desk.model.composer.is_empty()), (vec![], true));
    desk.advance_clock(5_000).key(KeyCode::Esc);
    assert_eq!(desk.take_commands(), [answered_command(20, UserAnswer::Stop)]);
}

#[test]
fn the_keys_below_a_question_are_those_that_it_takes() {
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", user_question(20, choice(None)));
    let check = |desk: &mut TuiHarness, shown: &str| {
        desk.draw_screen(80, 24);
        let now = Timestamp(desk.advance_clock(5_000).clock);
        let screen = desk.send_message(UiMessage::Tick(now)).draw_screen(80, 24);
        assert!(screen.contains(shown), "{shown}: {screen}");
    };
    check(&mut desk, "↑↓ or a number, then Enter");
    check(&mut desk, "choose above, or type a choice · / for commands");
    desk.type_text("x");
    check(&mut desk, "what you type is text now · ↑↓ and Enter answer");
    // Up is for the text, until an answer below the first is chosen
    let mut desk = TuiHarness::new();
    let mut question = choice(None);
    if let UserQuestion::Pause { message, .. } = &mut question {
        *message = (1..40).map(|at| format!("line {at}\n")).collect();
    }
    desk.workflow().run_event("r1", user_question(20, question));
    check(&mut desk, "Space, PgDn, End");
    desk.key(KeyCode::End);
    check(&mut desk, "· ↓ or a number, then Enter");
    desk.key(KeyCode::Down).key(KeyCode::Down);
    check(&mut desk, "· ↑↓ or a number, then Enter");
}

#[test]
fn pauses_on_screen() {
    let mut desk = TuiHarness::new();
    let until = Timestamp(desk.clock + 300_000);
    let mut question = preset(PauseKind::Approval, json!(true));
    if let UserQuestion::Pause { until: deadline, .. } = &mut question {
        *deadline = Some(until);
    }
    desk.workflow().run_event("r1", user_question(20, question));
    desk.send_message(UiMessage::Tick(Timestamp(until.0 - 65_500)));
    desk.check_frames("pause_approval");
    let mut desk = TuiHarness::new();
    desk.workflow()
        .run_event("r1", user_question(20, choice(None)))
        .key(KeyCode::Down)
        .check_frames("pause_choice");
    let mut desk = TuiHarness::new();
    desk.workflow()
        .run_event("r1", user_question(20, pause(PauseKind::Number)))
        .line("three")
        .check_frames("pause_number");
    let mut desk = TuiHarness::new();
    let mut failure = RunError::new("tool.failed", "A step failed", "`cargo test` ended with exit code 101")
        .with_hint("add a transition for context.result.exit_code");
    failure.state = Some("verify".into());
    desk.workflow()
        .run_event("r1", user_question(20, UserQuestion::Failed { failure: Box::new(failure) }))
        .check_frames("state_failed");
}

#[test]
fn what_was_said_before_it_was_asked_for_does_not_come_back() {
    let mut desk = TuiHarness::new();
    desk.workflow().line("first").line("second").line("third");
    // the run answers its own question with the first text, and its state `resume` takes the second
    desk.run_event("r1", user_question(20, pause(PauseKind::Text)))
        .run_event("r1", RunEvent::question_withdrawn(CallId(20)));
    let set = serde_json::Map::from_iter([("resume_input".to_owned(), json!("second"))]);
    desk.run_event("r1", RunEvent::DataChanged { state: "code".into(), set, removed: vec![] });
    // a question that is answered here takes nothing
    desk.take_commands();
    desk.run_event("r1", user_question(21, pause(PauseKind::Text))).line("here");
    assert_eq!(desk.take_commands(), [value(21, json!("here"))]);
    desk.run_event("r1", RunEvent::question_withdrawn(CallId(21)));
    assert_eq!(desk.unread_texts(), ["third"]);
    desk.run_event("r1", run_finished(RunStatus::Completed, None, None));
    assert_eq!(desk.model.composer.text(), "third");
}

#[test]
fn who_only_waits_for_a_person_wakes_nobody() {
    let mut desk = TuiHarness::new();
    desk.workflow();
    assert!(desk.model.needs_ticks(), "it works, and the time goes on");
    desk.run_event("r1", user_question(20, pause(PauseKind::Approval)));
    assert!(!desk.model.needs_ticks(), "only the person can go on");
    desk.answer('y').run_event("r1", RunEvent::question_withdrawn(CallId(20)));
    assert!(desk.model.needs_ticks(), "it goes on");
}

/// While nothing counts it, no time is shown that would stand still: the one until the question, and why.
#[test]
fn the_time_of_a_run_that_waits_says_that_it_waits() {
    let check = |event: fn() -> RunEvent, told: &str| {
        let mut desk = TuiHarness::new();
        desk.workflow().advance_clock(65_000);
        desk.run_event("r1", event());
        for later in [0, 90_000] {
            desk.clock += later;
            desk.send_message(UiMessage::Tick(Timestamp(desk.clock)));
            let screen = desk.draw_screen(80, 24);
            assert!(screen.contains(&format!("code · 1 min 05 s, {told}")), "{later}: {screen}");
            assert!(!screen.contains("of it waiting"), "{later}: {screen}");
            let screen = desk.draw_screen(200, 50);
            assert!(screen.contains(&format!("workflow · 1 min 05 s, {told}")), "{later}: {screen}");
        }
        desk.run_event("r1", RunEvent::question_withdrawn(CallId(20)));
        let screen = desk.draw_screen(80, 24);
        assert!(screen.contains("code · 2 min 35 s, 1 min 30 s of it waiting"), "{screen}");
    };
    check(|| user_question(20, pause(PauseKind::Approval)), "waits for you");
    check(|| user_question(20, UserQuestion::Break { state: "review".into(), point: None }), "stopped");
}

/// The rows of a question on screen; those inside without the frame.
fn question_rows(desk: &mut TuiHarness) -> Vec<String> {
    let screen = desk.draw_screen(80, 40);
    let inside = screen.lines().filter(|line| line.starts_with(['┌', '│', '└']));
    inside.map(|line| line.trim_start_matches('│').trim_end_matches('│').trim().to_owned()).collect()
}

fn command_asked(command: &str) -> RunEvent {
    RunEvent::ApprovalAsked {
        state: "code".into(),
        call: CallId(20),
        agent: "coder".into(),
        tool: "execute_terminal".into(),
        risk: ToolRisk::Execute,
        arguments: json!({"command": command}),
        preview: None,
        until: None,
    }
}

#[test]
fn a_command_cannot_pass_for_the_words_of_the_question() {
    let command =
        format!("echo hello{}\nrm -rf x\n\nin /safe\ny once · n deny\u{200b}\u{e0041}", "\n".repeat(60));
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", command_asked(&command)).settle_question();
    assert_eq!(
        question_rows(&mut desk),
        [
            "┌ Allow coder to execute: execute_terminal? ───────────────── ! lasting damage ┐",
            "! This command deletes directories for good.",
            "in the project's directory",
            "┃ echo hello",
            "… 60 blank lines",
            "┃ rm -rf x",
            "┃",
            "┃ in /safe",
            "┃ y once · n deny‹U+200B›‹U+E0041›",
            "",
            "y allow once",
            "s allow this tool for this session",
            "a always: a rule in your settings, shown first",
            "e edit the arguments first",
            "n deny",
            "r deny with a reason",
            "└ ↑↓ or a letter, then Enter ──────────────────────────────────────────────────┘",
        ]
    );
}

#[test]
fn a_yes_counts_only_when_the_end_was_on_screen() {
    let asked = || {
        let mut desk = TuiHarness::new();
        desk.workflow()
            .run_event("r1", approval_event(20, "execute_terminal", command_preview(&long("rm -rf x"))));
        desk.advance_clock(5_000).take_commands();
        desk.draw_screen(80, 24);
        desk
    };
    for code in "ysa".chars().map(KeyCode::Char) {
        let mut desk = asked();
        key(&mut desk, code);
        let screen = key(&mut desk, KeyCode::Enter);
        assert_eq!(desk.take_commands(), [], "{code:?}");
        assert!(screen.contains("read to the end first, then answer"), "{screen}");
        assert!(!screen.contains("┃ echo 0 "), "it shows more: {screen}");
        let mut pages = 0;
        while !desk.draw_screen(80, 24).contains("rm -rf x") {
            key(&mut desk, KeyCode::Char(' '));
            pages += 1;
            assert!(pages < 20, "{}", desk.draw_screen(80, 24));
        }
        // back at the beginning it has been read
        key(&mut desk, KeyCode::Home);
        key(&mut desk, code);
        key(&mut desk, KeyCode::Enter);
        if code == KeyCode::Char('a') {
            key(&mut desk, KeyCode::Enter);
        }
        assert!(!desk.take_commands().is_empty() && desk.model.dialogs.is_empty(), "{code:?}");
    }
    for code in [KeyCode::Char('n'), KeyCode::Esc] {
        let mut desk = asked();
        key(&mut desk, code);
        if code != KeyCode::Esc {
            key(&mut desk, KeyCode::Enter);
        }
        assert_eq!(desk.take_commands().len(), 1, "{code:?} needs no reading");
    }
    // a line allows it no sooner
    let mut desk = asked();
    approve_by_line(&mut desk);
    assert_eq!(desk.take_commands(), []);
    assert!(
        desk.draw_screen(80, 24).contains("read to the end first, then answer"),
        "{}",
        desk.draw_screen(80, 24)
    );
    key(&mut desk, KeyCode::End);
    approve_by_line(&mut desk);
    assert_eq!(desk.take_commands().len(), 1);
}

#[test]
fn a_pause_is_answered_only_when_the_end_was_on_screen() {
    let mut desk = TuiHarness::new();
    let mut question = preset(PauseKind::Approval, json!(true));
    if let UserQuestion::Pause { message, .. } = &mut question {
        *message = long("and drop the table");
    }
    desk.workflow().run_event("r1", user_question(20, question)).advance_clock(5_000).take_commands();
    desk.draw_screen(80, 24);
    for code in [KeyCode::Char('y'), KeyCode::Enter] {
        key(&mut desk, code);
        assert_eq!(desk.take_commands(), [], "{code:?}");
    }
    key(&mut desk, KeyCode::End);
    key(&mut desk, KeyCode::Enter);
    assert_eq!(desk.take_commands(), [value(20, json!(true))]);
    // and for one that wants one of several: its text is read from the beginning, beside the choices
    let mut desk = TuiHarness::new();
    let mut question = choice(None);
    if let UserQuestion::Pause { message, .. } = &mut question {
        *message = long("and drop the table");
    }
    desk.workflow().run_event("r1", user_question(20, question)).advance_clock(5_000).take_commands();
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("┃ echo 0 ") && screen.contains("  1 ship"), "{screen}");
    for code in [KeyCode::Char('1'), KeyCode::Enter] {
        key(&mut desk, code);
        assert_eq!(desk.take_commands(), [], "{code:?}");
    }
    key(&mut desk, KeyCode::Home);
    for _ in 0..20 {
        key(&mut desk, KeyCode::Char(' '));
    }
    // it is still chosen
    key(&mut desk, KeyCode::Enter);
    assert_eq!(desk.take_commands(), [value(20, json!("ship"))]);
}

#[test]
fn words_behind_an_answer_that_did_not_count_are_words_and_answer_nothing() {
    let mut desk = TuiHarness::new();
    let mut question = choice(None);
    if let UserQuestion::Pause { message, .. } = &mut question {
        *message = long("and drop the table");
    }
    desk.workflow().run_event("r1", user_question(20, question)).advance_clock(5_000).take_commands();
    desk.draw_screen(80, 24);
    let screen = key(&mut desk, KeyCode::Home);
    assert!(screen.contains("more lines · Space, PgDn, End"), "{screen}");
    key(&mut desk, KeyCode::Char('1'));
    key(&mut desk, KeyCode::Enter);
    key(&mut desk, KeyCode::End);
    for letter in "use".chars() {
        key(&mut desk, KeyCode::Char(letter));
    }
    assert!(desk.draw_screen(80, 24).contains("❯ use"), "letters reach the input box");
    let screen = key(&mut desk, KeyCode::Enter);
    assert_eq!(desk.take_commands(), [], "Enter behind words does not take the first choice");
    assert!(screen.contains("`use` is not in the list"), "{screen}");
    key(&mut desk, KeyCode::Char('2'));
    key(&mut desk, KeyCode::Enter);
    assert_eq!(desk.take_commands(), [value(20, json!("test more"))]);
}

/// Words beside a list of choices, and what is sent; or why it is not.
#[test]
fn a_choice_is_written_in_place_of_its_number() {
    let check = |words: &str, expected: Result<&str, &str>| {
        let mut desk = TuiHarness::new();
        desk.workflow().run_event("r1", user_question(20, choice(None))).take_commands();
        desk.settle_question();
        desk.line(words);
        let screen = desk.draw_screen(80, 24);
        match expected {
            Ok(choice) => assert_eq!(desk.take_commands(), [value(20, json!(choice))], "{words}: {screen}"),
            Err(why) => {
                assert_eq!(desk.take_commands(), [], "{words}");
                assert!(screen.contains(why), "{words}: {screen}");
                assert!(screen.contains("kept: Up brings it back once the question is answered"), "{screen}");
            }
        }
        assert!(desk.model.composer.is_empty(), "{words}");
    };
    check("ship", Ok("ship"));
    check("SHIP", Ok("ship"));
    check("te", Ok("test more"));
    check("test  more", Ok("test more"));
    check("hold", Err("`hold` is not in the list"));
    check("ship now", Err("`ship now` is not in the list"));
    // of two with one beginning
    let mut desk = TuiHarness::new();
    let two = with_change(pause(PauseKind::Choice), |choices, _, _| {
        *choices = ["approve this change", "approve all the changes of this run"].map(str::to_owned).to_vec()
    });
    desk.workflow().run_event("r1", user_question(20, two)).settle_question().line("approve");
    for (width, height) in FRAME_SIZES {
        let screen = desk.draw_screen(width, height).replace(['│', '\n'], " ");
        let told = screen.split_whitespace().collect::<Vec<_>>().join(" ");
        let whole = "`approve` is the beginning of approve this change, approve all the changes of this run";
        assert!(told.contains(whole), "{width}x{height}: {told}");
    }
}

/// They were for something else: they choose at most.
#[test]
fn words_that_were_begun_before_a_question_do_not_answer_it() {
    let mut desk = TuiHarness::new();
    desk.workflow().type_text("sh").run_event("r1", user_question(20, choice(None))).take_commands();
    desk.settle_question().type_text("ip").press_before_seen(KeyCode::Enter, KeyModifiers::NONE);
    assert_eq!(desk.take_commands(), []);
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("▸ 1 ship") && screen.contains("begun before this question"), "{screen}");
    // a key that is held down is no answer either
    desk.press_before_seen(KeyCode::Enter, KeyModifiers::NONE);
    assert_eq!(desk.take_commands(), []);
    desk.key(KeyCode::Enter);
    assert_eq!(desk.take_commands(), [value(20, json!("ship"))]);
}

/// Beside a question that no words answer, what may be meant as one goes to no agent at the first Enter.
#[test]
fn what_looks_like_an_answer_is_no_message_unasked() {
    let network = RunEvent::NetworkAsked {
        call: CallId(9),
        agent: "coder".into(),
        tool: "execute_terminal".into(),
        arguments: json!({"command": "cargo fetch"}),
    };
    let check = |words: &str, is_held: bool| {
        let mut desk = TuiHarness::new();
        desk.workflow().run_event("r1", network.clone()).settle_question().take_commands();
        // at the speed of somebody who types
        for letter in words.chars() {
            desk.press_before_seen(KeyCode::Char(letter), KeyModifiers::NONE);
        }
        for _ in 0..2 {
            desk.press_before_seen(KeyCode::Enter, KeyModifiers::NONE);
        }
        if is_held {
            assert_eq!((desk.take_commands(), desk.model.dialogs.len()), (Vec::new(), 1), "{words}");
            let screen = desk.draw_screen(80, 24);
            let told = format!("`{words}` answers nothing: Enter again sends it to the agent");
            assert!(screen.contains(&told) && screen.contains(&format!("❯ {words}")), "{screen}");
            desk.key(KeyCode::Enter);
        }
        let said = RunCommand::Say { text: words.to_owned() };
        assert_eq!(desk.take_commands(), [UiCommand::Send(RunId::from("r1"), said)], "{words}");
    };
    check("y/approvals", true);
    check("yes", true);
    check("n please", true);
    check("use the cache in place of it", false);
}

/// More lines than a screen has.
fn long(last: &str) -> String {
    (0..40).map(|at| format!("echo {at}\n")).collect::<String>() + last
}

fn key(desk: &mut TuiHarness, code: KeyCode) -> String {
    desk.advance_clock(2_000).press_before_seen(code, KeyModifiers::NONE);
    desk.draw_screen(80, 24)
}

fn approve_by_line(desk: &mut TuiHarness) {
    desk.advance_clock(5_000);
    for code in "/approvals 1 allow".chars().map(KeyCode::Char).chain([KeyCode::Enter]) {
        desk.press_before_seen(code, KeyModifiers::NONE);
    }
}

/// The key, and what follows from it.
#[test]
fn a_command_has_the_network_with_a_letter_and_enter() {
    let asked = || RunEvent::NetworkAsked {
        call: CallId(9),
        agent: "coder".into(),
        tool: "execute_terminal".into(),
        arguments: json!({"command": "cargo fetch"}),
    };
    let allow =
        |answer| UiCommand::Send(RunId::from("r1"), RunCommand::AllowNetwork { call: CallId(9), answer });
    let always = || UiCommand::ask(ProjectRequest::AllowAlways(StandingPermission::Network));
    for (key, expected) in [
        (KeyCode::Char('y'), vec![allow(NetworkAnswer::Call)]),
        (KeyCode::Char('s'), vec![allow(NetworkAnswer::Run)]),
        (KeyCode::Char('a'), vec![allow(NetworkAnswer::Run), always()]),
        (KeyCode::Char('n'), vec![allow(NetworkAnswer::Deny)]),
        (KeyCode::Esc, vec![allow(NetworkAnswer::Deny)]),
    ] {
        let mut desk = TuiHarness::new();
        desk.workflow().run_event("r1", asked());
        let screen = desk.draw_screen(80, 24);
        assert!(screen.contains("Allow coder the network for execute_terminal?"), "{screen}");
        assert!(screen.contains("┃ cargo fetch "), "{screen}");
        desk.take_commands();
        desk.advance_clock(2_000).key(key);
        if key != KeyCode::Esc {
            desk.key(KeyCode::Enter);
        }
        assert_eq!(desk.take_commands(), expected, "{key:?}");
        assert!(desk.model.dialogs.is_empty());
    }
    // a command that ends otherwise takes its question along
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", asked());
    let finished = RunEvent::ToolFinished {
        call: CallId(9),
        agent: "coder".into(),
        tool: "execute_terminal".into(),
        ok: false,
        summary: "exit 1".into(),
        content: "{}".into(),
        duration_ms: 1,
    };
    desk.run_event("r1", finished);
    assert!(desk.model.dialogs.is_empty());
}

/// A command of several lines is asked about in a window of this size.
fn asked_in_window(size: (u16, u16)) -> TuiHarness {
    let lines: String = (0..6).map(|at| format!("echo {at}\n")).collect();
    let mut desk = TuiHarness::new();
    desk.workflow().take_commands();
    desk.run_event("r1", approval_event(9, "execute_terminal", command_preview(&lines)));
    desk.draw_screen(size.0, size.1);
    desk.advance_clock(2_000);
    desk
}

#[test]
fn a_question_with_two_rows_is_read_and_answered() {
    for size in [(60, 3), (60, 4)] {
        let press = |desk: &mut TuiHarness, code: KeyCode| {
            desk.key(code);
            desk.draw_screen(size.0, size.1)
        };
        let allowed = [decision_command("r1", 9, ApprovalDecision::Allow)];
        // down through the text, then to the answers
        let mut desk = asked_in_window(size);
        let mut screen = desk.draw_screen(size.0, size.1);
        assert!(screen.contains("more lines"), "{screen}");
        for _ in 0..40 {
            if screen.contains("echo 5") {
                break;
            }
            screen = press(&mut desk, KeyCode::Down);
        }
        assert!(screen.contains("echo 5") && screen.contains("↓ answers"), "{screen}");
        let screen = press(&mut desk, KeyCode::Down);
        assert!(screen.contains("▸ y allow once"), "{screen}");
        press(&mut desk, KeyCode::Enter);
        assert_eq!(desk.take_commands(), allowed);
        // a letter shows its answer at once, and a yes waits until all of the text was on screen
        let mut desk = asked_in_window(size);
        let screen = press(&mut desk, KeyCode::Char('y'));
        assert!(screen.contains("▸ y allow"), "{screen}");
        let screen = press(&mut desk, KeyCode::Enter);
        assert!(screen.contains("read to the end first, then answer"), "{screen}");
        let mut seen = screen;
        for _ in 0..40 {
            if desk.model.dialogs.is_empty() {
                break;
            }
            seen += &press(&mut desk, KeyCode::Enter);
        }
        assert_eq!(desk.take_commands(), allowed);
        assert!((1..6).all(|at| seen.contains(&format!("echo {at}"))), "{seen}");
        let mut desk = asked_in_window(size);
        press(&mut desk, KeyCode::Char('n'));
        press(&mut desk, KeyCode::Enter);
        assert_eq!(
            desk.take_commands(),
            [decision_command("r1", 9, ApprovalDecision::Deny { reason: None })]
        );
        // what is typed is seen
        let mut desk = asked_in_window(size);
        for letter in "why so".chars() {
            press(&mut desk, KeyCode::Char(letter));
        }
        let screen = desk.draw_screen(size.0, size.1);
        assert!(screen.contains("❯ why so"), "{screen}");
    }
}

#[test]
fn no_window_is_too_small_for_a_question() {
    for size in [(0, 0), (0, 3), (1, 3), (3, 4), (9, 5), (0, 24), (60, 1), (60, 2)] {
        let mut desk = asked_in_window(size);
        for code in [KeyCode::Down, KeyCode::Char('y'), KeyCode::Char('x'), KeyCode::Char('w')] {
            desk.key(code).draw_screen(size.0, size.1);
        }
    }
}

#[test]
fn answers_stand_apart_where_a_long_text_keeps_six_rows() {
    let lines: String = (0..80).map(|at| format!("echo {at}\n")).collect();
    for (size, is_apart) in [((120, 36), true), ((250, 70), true), ((60, 20), false)] {
        let mut desk = TuiHarness::new();
        desk.workflow().take_commands();
        desk.run_event("r1", approval_event(9, "execute_terminal", command_preview(&lines)));
        let screen = desk.draw_screen(size.0, size.1);
        let first =
            screen.lines().find(|row| row.contains("y allow once")).unwrap_or_else(|| panic!("{screen}"));
        assert_eq!(!first.contains("   s "), is_apart, "{size:?}: {screen}");
        assert!(screen.lines().filter(|row| row.contains("echo ")).count() >= 6, "{screen}");
        for answer in ["allow once", "allow ", "always", "n deny", "deny with a reason"] {
            assert!(screen.contains(answer), "{answer}: {screen}");
        }
    }
}

/// The text gets fewer rows where there is little room; where there is none for all answers, the last row says so.
#[test]
fn answers_are_on_a_small_screen_with_the_text() {
    let network = RunEvent::NetworkAsked {
        call: CallId(9),
        agent: "coder".into(),
        tool: "execute_terminal".into(),
        arguments: json!({"command": long("cargo fetch")}),
    };
    let mut command = approval_event(9, "execute_terminal", command_preview(&long("x")));
    if let RunEvent::ApprovalAsked { arguments, .. } = &mut command {
        *arguments = json!({"command": long("x")});
    }
    let mut plan = choice(None);
    if let UserQuestion::Pause { message, .. } = &mut plan {
        *message = long("and drop the table");
    }
    let rows: [(RunEvent, &[&str]); 4] = [
        (
            command,
            &[
                "y allow once",
                "s this session",
                "a always, by a rule",
                "e edit first",
                "n deny",
                "r deny with a reason",
            ],
        ),
        (network, &["y this call", "s this run", "a always", "n without it"]),
        (user_question(20, plan), &["1 ship", "2 test more", "l later: the question stays open"]),
        (
            user_question(20, pause(PauseKind::Boolean)),
            &["y yes", "n no", "l later: the question stays open"],
        ),
    ];
    for (event, answers) in rows {
        for (width, height) in [(40, 12), (60, 12), (40, 8)] {
            let mut desk = TuiHarness::new();
            desk.draw_screen(width, height);
            desk.workflow().run_event("r1", event.clone()).settle_question();
            let screen = desk.draw_screen(width, height);
            let is_cut = screen.contains("…│");
            assert_eq!(is_cut, answers.iter().any(|answer| !screen.contains(answer)), "{screen}");
            assert!(height < 12 || !is_cut, "{screen}");
        }
    }
}

/// The answers of an approval stand beside each other where there is little room: arrows of both kinds choose.
#[test]
fn arrows_to_the_side_choose_an_answer() {
    let check = |keys: &[KeyCode], expected: &str| {
        let mut desk = TuiHarness::new();
        desk.workflow().run_event("r1", command_asked("cargo test")).settle_question();
        for key in keys {
            desk.key(*key);
        }
        let screen = desk.draw_screen(80, 24);
        assert!(screen.contains(&format!("▸ {expected}")), "{keys:?}: {screen}");
        assert_eq!(desk.take_commands(), [], "{keys:?}");
    };
    check(&[KeyCode::Right], "y allow once");
    check(&[KeyCode::Right, KeyCode::Right], "s ");
    check(&[KeyCode::Right, KeyCode::Right, KeyCode::Left], "y allow once");
    check(&[KeyCode::Left], "r deny with a reason");
    check(&[KeyCode::End], "r deny with a reason");
    check(&[KeyCode::End, KeyCode::Home], "y allow once");
}
