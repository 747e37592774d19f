//! Sentences that are typed beside a question: none of them allows anything, at whatever speed, and none is lost.

use serde_json::json;
use synthdev::domain::approval::AllowRule;
use synthdev::domain::tool::ASKED_BY;
use synthdev::domain::workflow::PauseKind;
use synthdev::runtime::network_access::NetworkAnswer;
use synthdev::service::session::{ProjectRequest, ProjectResponse, StandingPermission};

use super::*;

const SENTENCES: [&str; 14] = [
    "stop, do not use sed",
    "you must not do that",
    "always ask me first",
    "a test is missing",
    "say why",
    "so",
    "as",
    "nay",
    "ey",
    "l8r",
    "1 2 3",
    "12",
    "repeat it",
    "Sure? explain",
];

/// Milliseconds between two letters.
const SPEEDS: [i64; 5] = [20, 300, 450, 900, 5_000];

fn pause(kind: PauseKind) -> UserQuestion {
    UserQuestion::Pause {
        state: "gate".into(),
        kind,
        message: "Go on?".into(),
        choices: if kind == PauseKind::Choice { vec!["ship".into(), "test".into()] } else { vec![] },
        schema: None,
        required_outputs: vec![],
        default: None,
        until: None,
        problem: None,
    }
}

/// One question of each kind that letters answer.
fn questions() -> Vec<RunEvent> {
    let command = || json!({"command": "cargo test"});
    let approval = |agent: &str| RunEvent::ApprovalAsked {
        state: "code".into(),
        call: CallId(20),
        agent: agent.into(),
        tool: "execute_terminal".into(),
        risk: ToolRisk::Execute,
        arguments: command(),
        preview: None,
        until: None,
    };
    let tool = || ("execute_terminal".to_owned(), "coder".to_owned());
    vec![
        approval("coder"),
        approval(ASKED_BY),
        RunEvent::NetworkAsked { call: CallId(20), agent: tool().1, tool: tool().0, arguments: command() },
        user_question(20, pause(PauseKind::Approval)),
        user_question(20, pause(PauseKind::Choice)),
        user_question(20, UserQuestion::Limit { limit: "max_steps".into(), value: 60, text: "60".into() }),
        user_question(20, UserQuestion::NoSnapshot { reason: "git is missing".into() }),
        user_question(
            20,
            UserQuestion::Uncertain {
                began: CallId(20),
                state: "code".into(),
                tool: tool().0,
                arguments: command(),
                reason: "the process ended".into(),
            },
        ),
        user_question(
            20,
            UserQuestion::Failed {
                failure: Box::new(RunError::new("tool.failed", "A step failed", "exit 1")),
            },
        ),
    ]
}

fn desk(event: RunEvent) -> TuiHarness {
    let mut desk = TuiHarness::new();
    desk.workflow().advance_clock(5_000).take_commands();
    desk.run_event("r1", event).draw_screen(80, 40);
    desk.advance_clock(2_000);
    desk
}

fn press(desk: &mut TuiHarness, waits: i64, code: KeyCode) {
    desk.advance_clock(waits - 100).press_before_seen(code, KeyModifiers::NONE);
    desk.draw_screen(80, 40);
}

/// The reason of a denial or the message that was sent; `None`: nothing was sent.
fn sent_words(commands: Vec<UiCommand>, told: &str) -> Option<String> {
    let words = commands.into_iter().map(|command| match command {
        UiCommand::Send(_, RunCommand::Approve { decision: ApprovalDecision::Deny { reason }, .. }) => reason,
        UiCommand::Send(_, RunCommand::Say { text }) => Some(text),
        other => panic!("{told}: {other:?}"),
    });
    words.collect::<Vec<_>>().into_iter().next().flatten()
}

#[test]
fn a_sentence_beside_a_question_allows_nothing_and_is_kept() {
    for event in questions() {
        for (sentence, speed) in SENTENCES.iter().flat_map(|one| SPEEDS.map(|speed| (*one, speed))) {
            let told = format!("{event:?} {sentence:?} {speed} ms");
            let mut desk = desk(event.clone());
            for (at, letter) in sentence.chars().enumerate() {
                press(&mut desk, if at == 0 { 2_000 } else { speed }, KeyCode::Char(letter));
                assert_eq!(desk.take_commands(), [], "{told}");
            }
            assert_eq!(desk.model.dialogs.len(), 1, "{told}");
            press(&mut desk, speed, KeyCode::Enter);
            let sent = sent_words(desk.take_commands(), &told);
            let kept = desk.model.composer.text();
            let text = sent.or(Some(kept)).filter(|text| !text.is_empty()).unwrap_or_else(|| {
                desk.model.dialogs.clear();
                desk.key(KeyCode::Up).model.composer.text()
            });
            assert_eq!(text, sentence, "{told}");
        }
    }
}

#[test]
fn a_letter_chooses_and_enter_answers() {
    let allow = || decision_command("r1", 20, ApprovalDecision::Allow);
    let network = || {
        UiCommand::Send(
            RunId::from("r1"),
            RunCommand::AllowNetwork { call: CallId(20), answer: NetworkAnswer::Run },
        )
    };
    for (at, letters, expected) in
        [(0, "y", allow()), (0, "Y", allow()), (0, "yy", allow()), (2, "s", network())]
    {
        // also at once, and also much later
        for waits in [20, 300, 5_000] {
            let mut desk = desk(questions().swap_remove(at));
            for letter in letters.chars() {
                press(&mut desk, 2_000, KeyCode::Char(letter));
                assert_eq!(desk.take_commands(), [], "{letters}");
                assert!(desk.draw_screen(80, 40).contains("▸ "), "{}", desk.draw_screen(80, 40));
            }
            press(&mut desk, waits, KeyCode::Enter);
            assert_eq!(desk.take_commands(), std::slice::from_ref(&expected), "{letters}");
        }
    }
    // Backspace and the arrows take a choice back
    let mut desk = desk(questions().swap_remove(0));
    press(&mut desk, 2_000, KeyCode::Char('s'));
    press(&mut desk, 2_000, KeyCode::Backspace);
    press(&mut desk, 2_000, KeyCode::Enter);
    assert_eq!((desk.take_commands(), desk.model.dialogs.len()), (vec![], 1));
    press(&mut desk, 2_000, KeyCode::Char('s'));
    press(&mut desk, 2_000, KeyCode::Up);
    press(&mut desk, 2_000, KeyCode::Char('y'));
    press(&mut desk, 300, KeyCode::Enter);
    assert_eq!(desk.take_commands(), [allow()]);
}

#[test]
fn a_choice_does_not_outlast_a_look_at_another_question() {
    let mut desk = desk(questions().swap_remove(0));
    desk.run_event("r1", approval_event(21, "edit_file", command_preview("x")));
    press(&mut desk, 2_000, KeyCode::Char('s'));
    press(&mut desk, 2_000, KeyCode::Tab);
    press(&mut desk, 2_000, KeyCode::Char('n'));
    press(&mut desk, 200, KeyCode::Enter);
    assert_eq!(desk.take_commands(), [decision_command("r1", 21, ApprovalDecision::Deny { reason: None })]);
    press(&mut desk, 2_000, KeyCode::Enter);
    assert_eq!((desk.take_commands(), desk.model.dialogs.len()), (vec![], 1));
}

#[test]
fn words_beside_an_approval_are_the_reason_of_its_denial_or_a_message() {
    let typed = |words: &str| {
        let mut desk = desk(questions().swap_remove(0));
        desk.settle_question();
        assert!(desk.draw_screen(80, 40).contains("❯ words deny, as the reason · / for commands"));
        for letter in words.chars() {
            press(&mut desk, 200, KeyCode::Char(letter));
        }
        desk
    };
    let mut desk = typed("stop it");
    let screen = desk.draw_screen(80, 40);
    for part in [
        "reason (optional):",
        "❯ stop it",
        "Enter denies with this reason",
        "what you type goes into the question",
    ] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    // Esc leads back to the answers, and the words are kept
    let mut back = typed("stop it");
    press(&mut back, 200, KeyCode::Esc);
    assert!(back.draw_screen(80, 40).contains("your words are in the history"));
    press(&mut back, 2_000, KeyCode::Char('y'));
    press(&mut back, 200, KeyCode::Enter);
    assert_eq!(back.take_commands(), [decision_command("r1", 20, ApprovalDecision::Allow)]);
    back.key(KeyCode::Up);
    assert_eq!(back.model.composer.text(), "stop it");
    // Tab makes a message of them, and the question stays
    let mut message = typed("stop it");
    press(&mut message, 200, KeyCode::Tab);
    assert_eq!((message.model.composer.text().as_str(), message.take_commands()), ("stop it", vec![]));
    press(&mut message, 200, KeyCode::Enter);
    assert_eq!((message.unread_texts(), message.model.dialogs.len()), (vec!["stop it".to_owned()], 1));
    // nobody denies a call with a yes
    for words in ["yes", "ok", "Yes please!"] {
        let mut desk = typed(words);
        press(&mut desk, 200, KeyCode::Enter);
        assert_eq!((desk.take_commands(), desk.model.dialogs.len()), (vec![], 1), "{words}");
        let screen = desk.draw_screen(80, 40);
        assert!(screen.contains("would deny it: to allow it, Esc, then y and Enter"), "{screen}");
    }
}

#[test]
fn what_the_session_allowed_is_asked_about_again_once_it_is_revoked() {
    let asked = |call: u64, tool: &str| RunEvent::ApprovalAsked {
        state: "code".into(),
        call: CallId(call),
        agent: "coder".into(),
        tool: tool.into(),
        risk: ToolRisk::Execute,
        arguments: json!({"command": "ls"}),
        preview: None,
        until: None,
    };
    let allow = |call| decision_command("r1", call, ApprovalDecision::Allow);
    let mut desk = desk(asked(20, "execute_terminal"));
    press(&mut desk, 2_000, KeyCode::Char('s'));
    press(&mut desk, 200, KeyCode::Enter);
    // each call is allowed by itself: the run keeps no rule that could not be taken back
    assert_eq!(desk.take_commands(), [allow(20)]);
    assert!(desk.draw_screen(80, 40).contains("for this session; /approvals revoke takes it back"));
    desk.run_event("r1", asked(21, "execute_terminal"));
    assert_eq!((desk.take_commands(), desk.model.dialogs.len()), (vec![allow(21)], 0));
    desk.line("/approvals");
    let screen = desk.draw_screen(100, 40);
    assert!(screen.contains("allowed for this session: execute_terminal"), "{screen}");
    desk.line("/approvals revoke other");
    assert!(
        desk.draw_screen(100, 40).contains("`other` is not allowed for this session: execute_terminal is")
    );
    desk.line("/approvals revoke execute_terminal");
    assert!(desk.draw_screen(100, 40).contains("asked about again: execute_terminal"));
    assert_eq!(desk.take_commands(), []);
    desk.run_event("r1", asked(22, "execute_terminal"));
    assert_eq!((desk.take_commands(), desk.model.dialogs.len()), (vec![], 1));
    // a rule that this session has written goes out of the settings with it, once it is there
    let rule = AllowRule::Tool("execute_terminal".into());
    for (saved, expected) in [(Ok("saved".to_owned()), true), (Err("the demo".to_owned()), false)] {
        desk.draw_screen(80, 40);
        press(&mut desk, 2_000, KeyCode::Char('a'));
        press(&mut desk, 200, KeyCode::Enter);
        let screen = desk.draw_screen(80, 40);
        assert!(screen.contains("goes into your settings and allows every command:"), "{screen}");
        press(&mut desk, 2_000, KeyCode::Enter);
        let permission = StandingPermission::Rule(rule.clone());
        assert!(
            desk.take_commands().contains(&UiCommand::ask(ProjectRequest::AllowAlways(permission.clone())))
        );
        desk.send_message(UiMessage::answered(ProjectResponse::AllowedAlways(permission, saved)));
        desk.line("/approvals revoke");
        let asked_back = UiCommand::ask(ProjectRequest::RevokeAlways(rule.clone()));
        assert_eq!(desk.take_commands().contains(&asked_back), expected);
        desk.run_event("r1", asked(23, "execute_terminal"));
        assert_eq!(desk.model.dialogs.len(), 1);
    }
}

fn long_approval() -> RunEvent {
    let lines: String = (0..200).map(|at| format!("echo {at}\n")).collect();
    approval_event(20, "execute_terminal", command_preview(&lines))
}

fn answers_something(command: &UiCommand) -> bool {
    matches!(
        command,
        UiCommand::Send(_, RunCommand::Approve { .. } | RunCommand::Answer { .. })
            | UiCommand::Send(_, RunCommand::AllowNetwork { .. })
    )
}

#[test]
fn a_paste_takes_back_what_was_chosen_before_it() {
    let letter = KeyCode::Char;
    let check = |event: RunEvent, keys: &[KeyCode], text: &str| {
        for waits in [20, 2_000] {
            let mut desk = desk(event.clone());
            for key in keys {
                press(&mut desk, 2_000, *key);
            }
            desk.send_message(UiMessage::Paste("pasted".into())).draw_screen(80, 40);
            assert_eq!(desk.model.composer.text(), text, "{keys:?}");
            press(&mut desk, waits, KeyCode::Enter);
            let sent = desk.take_commands();
            assert!(!sent.iter().any(answers_something), "{keys:?} {waits}: {sent:?}");
            assert_eq!(desk.model.dialogs.len(), 1, "{keys:?} {waits}");
        }
    };
    check(usual_approval(true), &[letter('n')], "npasted");
    check(usual_approval(true), &[KeyCode::Down], "pasted");
    check(questions().swap_remove(3), &[KeyCode::Down], "pasted");
    check(questions().swap_remove(4), &[KeyCode::Down], "pasted");
    check(questions().swap_remove(0), &[KeyCode::Down], "pasted");
    check(long_approval(), &[letter('y'), KeyCode::Enter, KeyCode::End], "pasted");
}

#[test]
fn an_enter_that_is_held_down_writes_no_rule_and_reports_no_result() {
    let held = |at: usize, letter: char| {
        let mut desk = desk(questions().swap_remove(at));
        press(&mut desk, 2_000, KeyCode::Char(letter));
        press(&mut desk, 200, KeyCode::Enter);
        // a keyboard repeats after a while, then quickly
        for waits in std::iter::once(660).chain([30; 60]) {
            press(&mut desk, waits, KeyCode::Enter);
            assert_eq!(desk.take_commands(), [], "{letter}");
        }
        desk
    };
    let mut rule = held(0, 'a');
    assert!(rule.draw_screen(80, 40).contains("read the rule first, then press Enter again"));
    press(&mut rule, 1_000, KeyCode::Enter);
    assert_eq!(rule.take_commands().len(), 2);
    let screen = rule.draw_screen(100, 40);
    let words: Vec<&str> = screen.split(['│', ' ', '\n']).filter(|word| !word.is_empty()).collect();
    let told = "every command is allowed, and `approvals.tools.execute_terminal";
    assert!(words.join(" ").contains(told), "{screen}");
    let mut result = held(7, '2');
    assert!(result.draw_screen(80, 40).contains("this question just appeared"));
    press(&mut result, 1_000, KeyCode::Enter);
    let answer = UserAnswer::Value { value: json!("done") };
    let done = UiCommand::Send(RunId::from("r1"), RunCommand::Answer { call: CallId(20), answer });
    assert_eq!(result.take_commands(), [done]);
    // no frame has shown the rule
    let mut unseen = desk(questions().swap_remove(0));
    press(&mut unseen, 2_000, KeyCode::Char('a'));
    unseen.press_before_seen(KeyCode::Enter, KeyModifiers::NONE);
    unseen.advance_clock(3_000).press_before_seen(KeyCode::Enter, KeyModifiers::NONE);
    assert_eq!(unseen.take_commands(), []);
}

fn usual_approval(default: bool) -> RunEvent {
    let mut pause = pause(PauseKind::Approval);
    if let UserQuestion::Pause { default: usual, .. } = &mut pause {
        *usual = Some(Box::new(json!(default)));
    }
    user_question(20, pause)
}

fn usual_answer(value: bool) -> UiCommand {
    let answer = UserAnswer::Value { value: json!(value) };
    UiCommand::Send(RunId::from("r1"), RunCommand::Answer { call: CallId(20), answer })
}

#[test]
fn an_enter_that_is_held_down_since_before_a_question_gives_no_default() {
    for default in [true, false] {
        let mut desk = desk(usual_approval(default));
        // the question is 300 ms old
        for waits in std::iter::once(-1_700).chain([30; 60]) {
            press(&mut desk, waits, KeyCode::Enter);
            assert_eq!(desk.take_commands(), []);
        }
        press(&mut desk, 1_000, KeyCode::Enter);
        assert_eq!(desk.take_commands(), [usual_answer(default)]);
    }
}

#[test]
fn words_take_back_what_arrows_chose() {
    for waits in [20, 2_000] {
        let mut desk = desk(usual_approval(false));
        press(&mut desk, 2_000, KeyCode::Up);
        for letter in "hold on".chars() {
            press(&mut desk, 2_000, KeyCode::Char(letter));
        }
        press(&mut desk, waits, KeyCode::Enter);
        assert_eq!(desk.take_commands(), []);
        press(&mut desk, 2_000, KeyCode::Enter);
        let sent = desk.take_commands();
        assert!(sent.is_empty() || sent == [usual_answer(false)], "{waits}: {sent:?}");
    }
}

#[test]
fn a_changed_call_is_read_before_a_key_allows_it() {
    let mut desk = desk(questions().swap_remove(0));
    press(&mut desk, 2_000, KeyCode::Char('e'));
    press(&mut desk, 200, KeyCode::Enter);
    press(&mut desk, 2_000, KeyCode::Char('x'));
    press(&mut desk, 200, KeyCode::Enter);
    for code in [KeyCode::Char('y'), KeyCode::Enter] {
        press(&mut desk, 100, code);
        assert_eq!(desk.take_commands(), []);
    }
    press(&mut desk, 2_000, KeyCode::Char('y'));
    press(&mut desk, 200, KeyCode::Enter);
    assert_eq!(desk.take_commands().len(), 1);
}

#[test]
fn a_changed_call_that_is_left_goes_into_the_history() {
    for changes in [true, false] {
        let mut desk = desk(questions().swap_remove(0));
        press(&mut desk, 2_000, KeyCode::Char('e'));
        press(&mut desk, 200, KeyCode::Enter);
        if changes {
            press(&mut desk, 2_000, KeyCode::Char('x'));
        }
        press(&mut desk, 2_000, KeyCode::Esc);
        desk.run_event("r1", run_finished(RunStatus::Cancelled, None, None));
        desk.take_commands();
        desk.advance_clock(5_000).key(KeyCode::Up);
        assert_eq!(desk.model.composer.text() == "cargo testx", changes, "{}", desk.model.composer.text());
    }
}

#[test]
fn lines_that_come_at_once_answer_nothing() {
    for (at, letter) in [(3, 'y'), (4, '1'), (5, 'y'), (6, 'y'), (7, '1'), (8, 'y')] {
        let mut desk = desk(questions().swap_remove(at));
        desk.advance_clock(2_000);
        for c in format!("please test\n{letter}\n{letter}\n").chars() {
            let code = if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) };
            desk.advance_clock(-100).press_before_seen(code, KeyModifiers::NONE);
        }
        assert_eq!((desk.take_commands(), desk.model.dialogs.len()), (vec![], 1), "{at}");
        press(&mut desk, 2_000, KeyCode::Char(letter));
        press(&mut desk, 200, KeyCode::Enter);
        assert_eq!(desk.take_commands().len(), 1, "{at}: it can be answered");
    }
}

#[test]
fn words_beside_an_approval_are_kept_when_its_question_goes() {
    let denied = RunEvent::ApprovalAnswered {
        call: CallId(20),
        tool: "execute_terminal".into(),
        decision: ApprovalDecision::Deny { reason: None },
        arguments: json!(null),
    };
    for event in [denied, run_finished(RunStatus::Cancelled, None, None)] {
        let mut desk = desk(questions().swap_remove(0));
        for letter in "stop it".chars() {
            press(&mut desk, 2_000, KeyCode::Char(letter));
        }
        desk.run_event("r1", event);
        let screen = desk.draw_screen(120, 40);
        for part in ["no answer is wanted any more: Allow coder", "your words are in the history: Up brings"]
        {
            assert!(screen.contains(part), "{part}: {screen}");
        }
        desk.take_commands();
        desk.advance_clock(5_000).key(KeyCode::Up);
        assert_eq!(desk.model.composer.text(), "stop it");
    }
}

#[test]
fn a_command_or_a_blank_behind_a_letter_is_no_word() {
    for waits in [900, 2_000] {
        let mut desk = desk(questions().swap_remove(0));
        press(&mut desk, 2_000, KeyCode::Char('y'));
        for letter in "/approvals".chars() {
            press(&mut desk, waits, KeyCode::Char(letter));
        }
        assert_eq!(desk.model.composer.text(), "/approvals");
        press(&mut desk, waits, KeyCode::Enter);
        assert_eq!((desk.take_commands(), desk.model.dialogs.len()), (vec![], 1), "{waits}");
        assert!(desk.draw_screen(80, 40).contains(" 1 "), "the list: {}", desk.draw_screen(80, 40));
        press(&mut desk, 2_000, KeyCode::Enter);
        assert_eq!((desk.take_commands(), desk.model.dialogs.len()), (vec![], 1), "{waits}");
    }
    // where a blank shows more, what was chosen stays
    let mut reading = desk(long_approval());
    press(&mut reading, 2_000, KeyCode::Char('y'));
    for _ in 0..30 {
        press(&mut reading, 300, KeyCode::Char(' '));
        assert!(reading.draw_screen(80, 40).contains("▸ y"), "{}", reading.draw_screen(80, 40));
    }
    press(&mut reading, 300, KeyCode::Char('y'));
    press(&mut reading, 300, KeyCode::Enter);
    assert_eq!(reading.take_commands(), [decision_command("r1", 20, ApprovalDecision::Allow)]);
    // and a sentence loses none
    let mut typed = desk(long_approval());
    for letter in "a test is missing".chars() {
        press(&mut typed, 2_000, KeyCode::Char(letter));
    }
    press(&mut typed, 2_000, KeyCode::Enter);
    let reason = Some("a test is missing".to_owned());
    assert_eq!(typed.take_commands(), [decision_command("r1", 20, ApprovalDecision::Deny { reason })]);
}

#[test]
fn a_slash_at_once_behind_a_letter_belongs_to_the_words() {
    let typed = |words: &str, speed: i64| {
        let mut desk = desk(questions().swap_remove(0));
        for (at, letter) in words.chars().enumerate() {
            press(&mut desk, if at == 0 { 2_000 } else { speed }, KeyCode::Char(letter));
            assert_eq!(desk.take_commands(), [], "{words} {speed}");
        }
        press(&mut desk, speed, KeyCode::Enter);
        desk
    };
    for speed in [20, 300, 450] {
        let reason = Some("n/a".to_owned());
        let denied = decision_command("r1", 20, ApprovalDecision::Deny { reason });
        assert_eq!(typed("n/a", speed).take_commands(), [denied], "{speed}");
        // a command is no reason, and gives no answer
        for command in ["y/approvals", "n/pending edit"] {
            let mut desk = typed(command, speed);
            assert_eq!((desk.take_commands(), desk.model.dialogs.len()), (vec![], 1), "{command} {speed}");
            let screen = desk.draw_screen(80, 40);
            assert!(screen.contains("this would deny it: for the command, Esc, then /"), "{screen}");
            press(&mut desk, speed, KeyCode::Esc);
            desk.model.dialogs.clear();
            assert_eq!(desk.key(KeyCode::Up).model.composer.text(), command, "{speed}");
        }
    }
    // after a pause it begins a command
    let mut desk = typed("n/a", 900);
    assert!(!desk.take_commands().iter().any(answers_something));
    assert_eq!(desk.model.dialogs.len(), 1);
}
