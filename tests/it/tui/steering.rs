//! Workflow mode: standing still and going on, variables, what waits, several runs, leaving at any time.

use synthdev::domain::approval::AllowRule;
use synthdev::engine::steering::{Breakpoint, BreakpointSet, SteeringAction};
use synthdev::service::run_control::ControlAction;
use synthdev::service::run_start::FileSharingMode;
use synthdev::service::session::{
    DefinitionRequest, ProjectRequest, SessionRequest, StandingPermission, StartRequest, StartResponse,
};
use synthdev::tui::display::DisplayRequest;
use synthdev::tui::run_view::WindowUse;

use super::panes::{definition_message, graph, states};
use super::*;

fn steer_command(run: &str, steering: SteeringAction) -> UiCommand {
    UiCommand::Send(RunId::from(run), RunCommand::Steer(steering))
}

fn stopped_event(call: u64, state: &str, point: Option<Breakpoint>) -> RunEvent {
    user_question(call, UserQuestion::Break { state: state.into(), point })
}

fn breakpoint_at(state: &str) -> Breakpoint {
    Breakpoint::before_state(state)
}

fn data(set: serde_json::Value) -> RunEvent {
    let set = set.as_object().cloned().unwrap();
    RunEvent::DataChanged { state: "code".into(), set, removed: vec![] }
}

/// Without what the panes ask for.
fn sent_commands(desk: &mut TuiHarness) -> Vec<UiCommand> {
    desk.take_commands()
        .into_iter()
        .filter(|cmd| {
            !matches!(
                cmd,
                UiCommand::Display(DisplayRequest::Definition(_))
                    | UiCommand::Ask(SessionRequest::Definitions(DefinitionRequest::Names))
            )
        })
        .collect()
}

impl TuiHarness {
    /// A second workflow begins beside the first.
    fn start_second_workflow(&mut self) -> &mut Self {
        self.line("/workflow tick --share once");
        let (name, input) = ("tick".to_owned(), "once".to_owned());
        let begun = UiCommand::ask(StartRequest::Beside {
            name: name.clone(),
            input: input.clone(),
            sharing_mode: FileSharingMode::Shares,
        });
        assert_eq!(sent_commands(self), [begun]);
        self.send_message(UiMessage::answered(StartResponse::WorkflowStarted {
            name,
            input,
            run: Ok(RunId::from("r2")),
            note: None,
            windows: BTreeMap::new(),
            agents: Vec::new(),
            warnings: vec![],
        }));
        self.run_event("r2", workflow_started("tick", "once")).run_event("r2", state_entered("begin"))
    }
}

#[test]
fn the_status_says_how_full_the_window_is() {
    let mut desk = TuiHarness::new();
    desk.workflow();
    let run = &mut desk.model.runs[0];
    run.windows.insert("m-1".to_owned(), 128_000);
    run.window_use = Some(WindowUse { model: "m-1".to_owned(), tokens: 43_520 });
    let screen = desk.line("/status").draw_screen(120, 40);
    assert!(screen.contains("window    34 % of 128k · 43,520 of 128,000 tokens · m-1"), "{screen}");
}

#[test]
fn a_run_stands_still_and_goes_on() {
    let mut desk = TuiHarness::new();
    desk.workflow();
    // whether it is in front or named
    for line in ["/pause r1", "/pause"] {
        desk.line(line);
        let sent = sent_commands(&mut desk).pop();
        assert_eq!(sent, Some(steer_command("r1", SteeringAction::Pause)), "{line}");
        let text = desk.model.transcript.text();
        assert!(text.contains("run r1 stops before its next state"), "{line}: {text}");
        assert!(text.contains(": /step and /continue go on"), "{line}: {text}");
    }
    // the beginning of an id may be that of another run, too, which only the history knows
    for (line, control) in [("/pause r", ControlAction::Pause), ("/stop r", ControlAction::Cancel)] {
        desk.line(line);
        let sent = sent_commands(&mut desk).pop();
        assert_eq!(sent, Some(UiCommand::ask(RunRequest::Control("r".into(), control))), "{line}");
        assert!(!desk.model.runs[0].is_cancelling, "{line}");
    }
    desk.run_event("r1", stopped_event(20, "review", None));
    let screen = desk.draw_screen(120, 40);
    assert!(screen.contains("stopped before review · /step /continue /set /stop"), "{screen}");
    assert!(desk.model.dialogs.is_empty() && !desk.model.needs_ticks(), "nothing asks, nothing moves");
    assert!(screen.contains("/step · /continue"), "{screen}");
    desk.take_commands();
    // Esc does not end a run that is only stopped
    desk.key(KeyCode::Esc).line("/pause");
    assert_eq!(desk.take_commands(), []);
    let named = desk.line("/pause r1").take_commands();
    assert!(named.iter().all(|command| !matches!(command, UiCommand::Send(..))), "{named:?}");
    desk.line("/step");
    assert_eq!(desk.take_commands(), [steer_command("r1", SteeringAction::Step)]);
    desk.run_event("r1", RunEvent::question_withdrawn(CallId(20)));
    desk.run_event("r1", state_entered("review"))
        .run_event("r1", stopped_event(21, "test", Some(breakpoint_at("test"))));
    assert!(desk.draw_screen(120, 40).contains("stopped before test (breakpoint: state test)"));
    desk.take_commands();
    for line in ["/continue", "/resume", "/workflow resume"] {
        desk.line(line);
        assert_eq!(sent_commands(&mut desk), [steer_command("r1", SteeringAction::Continue)], "{line}");
    }
    desk.line("/stop");
    assert_eq!(desk.take_commands(), [cancel_command("r1")]);
}

#[test]
fn a_run_that_stands_on_screen() {
    let mut desk = TuiHarness::new();
    desk.workflow().run_event(
        "r1",
        RunEvent::Breakpoints {
            step: false,
            points: vec![breakpoint_at("review"), Breakpoint::after_spending(0.5).unwrap()],
        },
    );
    desk.run_event("r1", stopped_event(20, "review", Some(breakpoint_at("review"))))
        .line("/status")
        .line("/breaks");
    desk.check_frames("stands");
}

#[test]
fn breakpoints_of_the_run_in_front_or_of_the_next_one() {
    let mut desk = TuiHarness::new();
    desk.line("/break review").line("/step");
    let points = vec![breakpoint_at("review")];
    let expected = [
        UiCommand::ask(StartRequest::Breakpoints(BreakpointSet { step: false, points: points.clone() })),
        UiCommand::ask(StartRequest::Breakpoints(BreakpointSet { step: true, points })),
    ];
    assert_eq!(sent_commands(&mut desk), expected);
    desk.line("/breaks remove 1").line("/continue");
    assert_eq!(
        sent_commands(&mut desk).last(),
        Some(&UiCommand::ask(StartRequest::Breakpoints(BreakpointSet::default())))
    );
    desk.workflow().line("/break tool execute_terminal");
    let point = Breakpoint::before_tool("execute_terminal");
    assert_eq!(
        sent_commands(&mut desk),
        [steer_command("r1", SteeringAction::Break { point: point.clone() })]
    );
    desk.run_event(
        "r1",
        RunEvent::Breakpoints { step: false, points: vec![breakpoint_at("review"), point.clone()] },
    );
    assert_eq!(desk.model.find_run(&RunId::from("r1")).unwrap().breakpoints.points.len(), 2);
    desk.line("/breaks");
    assert!(desk.draw_screen(80, 24).contains(" 2 tool execute_terminal"));
    desk.line("/breaks remove 2").line("/breaks remove 7");
    assert_eq!(sent_commands(&mut desk), [steer_command("r1", SteeringAction::Unbreak { point })]);
    assert!(desk.draw_screen(80, 24).contains("no such breakpoint"));
}

#[test]
fn a_variable_is_set_while_it_stands() {
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", data(json!({"limit": 3, "plan": {"parts": [1, 2]}})));
    let limit = |value| (vec!["limit".to_owned()], value);
    desk.line("/set limit = 5");
    assert_eq!(desk.take_commands(), [], "it runs");
    assert!(desk.draw_screen(80, 24).contains("only while the run is stopped"));
    desk.run_event("r1", stopped_event(20, "review", None));
    desk.take_commands();
    desk.line("/set common_data.limit = 5").line("/set limit = many").line("/set --anyway limit = many");
    desk.line("/set plan.parts.1 = 7").line("/set limti = 1");
    let set = |set| steer_command("r1", SteeringAction::Set { call: Some(CallId(20)), set: vec![set] });
    let parts = ["plan", "parts", "1"].map(str::to_owned).to_vec();
    let expected = [
        set(limit(json!(5))),
        set(limit(json!("many"))),
        set((parts, json!(7))),
        set((vec!["limti".to_owned()], json!(1))),
    ];
    assert_eq!(desk.take_commands(), expected);
    let screen = desk.draw_screen(120, 40);
    for line in [
        "limit: 3 → 5",
        "limit is a number and the new value is a text: nothing was changed",
        "plan.parts.1: 2 → 7",
        "limti: 1 (it was not there; there is limit)",
    ] {
        assert!(screen.contains(line), "{line}\n{screen}");
    }
    // beside a question, what its own branch sees
    desk.run_event("r1", RunEvent::question_withdrawn(CallId(20)));
    desk.run_event("r1", approval_event(21, "read_file", ToolPreview::Text { text: "x".into() }));
    desk.take_commands();
    desk.advance_clock(5_000).line("/set limit = 9");
    let of_the_question = SteeringAction::Set { call: Some(CallId(21)), set: vec![limit(json!(9))] };
    assert_eq!(desk.take_commands(), [steer_command("r1", of_the_question)]);
}

#[test]
fn a_message_for_the_agent_that_answers_can_be_taken_back() {
    let mut desk = TuiHarness::new();
    desk.start_chat().line("and then");
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("queued for coder: and then · Up takes it back"), "{screen}");
    desk.key(KeyCode::Up);
    assert_eq!((desk.take_commands(), desk.model.composer.text()), (vec![], "and then".to_owned()));
    desk.run_event("c1", user_question(2, UserQuestion::Message));
    assert_eq!(desk.take_commands(), [], "it is not sent");
}

/// Else the next of them would be sent at once.
#[test]
fn messages_behind_an_answer_that_is_stopped_come_back() {
    for interrupts in [false, true] {
        let mut desk = TuiHarness::new();
        desk.start_chat().line("and then").line("one more").take_commands();
        if interrupts {
            desk.press_control('c');
        } else {
            desk.key(KeyCode::Esc);
        }
        assert_eq!(desk.take_commands(), [UiCommand::Send(RunId::from("c1"), RunCommand::Cancel)]);
        assert_eq!(desk.model.composer.text(), "and then\none more");
        desk.run_event("c1", user_question(2, UserQuestion::Message));
        assert_eq!(desk.take_commands(), [], "nothing is sent by itself");
    }
    // the list of what waits has them, and drops them
    let mut desk = TuiHarness::new();
    desk.start_chat().line("and then").line("one more").line("/pending");
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("1 and then") && screen.contains("2 one more"), "{screen}");
    desk.line("/pending drop 1");
    let waiting = |desk: &TuiHarness| desk.model.find_run(&RunId::from("c1")).unwrap().outbox.clone();
    assert_eq!(waiting(&desk), ["one more"]);
    desk.line("/pending drop all");
    assert!(waiting(&desk).is_empty());
}

#[test]
fn the_screen_says_what_a_text_is_for() {
    let mut desk = TuiHarness::new();
    desk.workflow()
        .run_event("r1", user_question(9, UserQuestion::Break { state: "review".into(), point: None }));
    desk.run_event("r1", RunEvent::Queued { text: "faster".into() });
    assert!(desk.draw_screen(120, 36).contains("the stopped run does not read it: /continue goes on"));
    desk.run_event("r1", run_finished(RunStatus::Completed, None, None));
    assert_eq!(desk.model.composer.text(), "faster");
    let screen = desk.draw_screen(80, 24);
    let told = "not read: Enter sends it to the conversation with coder";
    assert!(screen.contains(&format!("{told}, Ctrl+C puts it away")), "{screen}");
    // where Ctrl+C would end another run, it is not named
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r2", workflow_started("other", "x"));
    desk.run_event("r1", RunEvent::Queued { text: "faster".into() });
    desk.run_event("r1", run_finished(RunStatus::Completed, None, None));
    assert_eq!(desk.model.composer.text(), "faster");
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("Enter sends it to other") && !screen.contains("Ctrl+C puts"), "{screen}");
    // where lines come and go, the next one takes the place of what stands in the box
    let mut desk = TuiHarness::new();
    desk.model.line_mode = true;
    desk.workflow().run_event("r1", RunEvent::Queued { text: "faster".into() });
    desk.run_event("r1", run_finished(RunStatus::Completed, None, None));
    let last = desk.last_message_text();
    assert!(last.contains("not read; type it again to send it to the conversation with coder:"), "{last}");
    assert!(last.contains("faster") && desk.model.composer.is_empty() && desk.model.hint.is_none(), "{last}");
}

/// Nothing is promised that the key does not do; the text gives way to what is.
#[test]
fn a_queued_text_names_the_key_that_takes_it_back_only_where_it_does() {
    let check = |columns: u16, expected: &str| {
        let mut desk = TuiHarness::new();
        desk.start_chat().line("and then the tests, please, all of them");
        let screen = desk.draw_screen(columns, 24);
        assert!(screen.lines().any(|line| line.trim() == expected), "{columns}: {screen}");
    };
    check(120, "queued for coder: and then the tests, please, all of them · Up takes it back");
    check(60, "queued for coder: and then the tests, … · Up takes it back");
    check(40, "queued for coder: and then the t… · Up");
    // while a question wants a key, Up is for its answers
    let mut desk = TuiHarness::new();
    desk.workflow().line("faster");
    assert!(desk.draw_screen(80, 24).contains("faster · Up takes it back"));
    desk.run_event("r1", approval_event(21, "read_file", ToolPreview::Text { text: "x".into() }));
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("faster · /pending edit takes it back"), "{screen}");
    desk.run_event("r1", RunEvent::Queued { text: "slower".into() });
    assert!(desk.draw_screen(120, 40).contains("slower") && !desk.last_message_text().contains("Up takes"));
    // a conversation that is still opening has none to take back
    let mut desk = TuiHarness::new();
    desk.line("hello");
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains(" queued for coder: hello") && !screen.contains("Up takes"), "{screen}");
}

#[test]
fn what_waits_to_be_read_can_be_changed_and_dropped() {
    let mut desk = TuiHarness::new();
    desk.workflow().line("first").line("second").line("third");
    assert_eq!(desk.take_commands(), [say_command("first"), say_command("second"), say_command("third")]);
    assert!(desk.draw_screen(80, 24).contains("queued for coder_reviewer (+2): third · Up takes it back"));
    let back = |text: &str| steer_command("r1", SteeringAction::TakeBack { text: text.into() });
    let gone = |text: &str| RunEvent::TakenBack { text: text.into() };
    desk.key(KeyCode::Up).key(KeyCode::Up);
    assert_eq!(
        (desk.take_commands(), desk.unread_texts().len()),
        (vec![back("third")], 3),
        "it is not back yet"
    );
    assert!(desk.model.composer.is_empty());
    desk.run_event("r1", gone("third"));
    assert_eq!((desk.model.composer.text(), desk.unread_texts().len()), ("third".to_owned(), 2));
    desk.press_control('u').press_key(KeyCode::Char('c'), KeyModifiers::CONTROL);
    desk.model.composer.set_text("");
    desk.line("/pending");
    let screen = desk.draw_screen(80, 24);
    assert!(
        screen.contains(" 1 first") && screen.contains(" 2 second") && !screen.contains("third"),
        "{screen}"
    );
    desk.take_commands();
    desk.line("/pending drop 2")
        .run_event("r1", gone("second"))
        .line("/pending drop 2")
        .line("/pending edit");
    assert_eq!(desk.take_commands(), [back("second"), back("first")]);
    assert!(desk.draw_screen(80, 24).contains("no such text"));
    // it was read before it could be given back
    desk.run_event("r1", RunEvent::Heard { text: "first".into() });
    assert_eq!((desk.model.composer.text(), desk.unread_texts().len()), (String::new(), 0));
    // a paused run keeps the messages that it has not read
    desk.line("fourth").run_event("r1", run_finished(RunStatus::Paused, None, None));
    assert_eq!((desk.model.composer.text(), desk.unread_texts()), (String::new(), vec!["fourth".to_owned()]));
}

#[test]
fn one_list_of_everything_that_waits() {
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", approval_event(9, "execute_terminal", command_preview("ls")));
    desk.run_event("r1", approval_event(10, "edit_file", command_preview("x"))).line("/approvals");
    let screen = desk.draw_screen(120, 40);
    assert!(desk.model.dialogs.len() == 2, "commands work while something is asked");
    let mut timed = approval_event(11, "execute_terminal", command_preview("pwd"));
    if let RunEvent::ApprovalAsked { until, .. } = &mut timed {
        *until = Some(Timestamp(desk.clock + 90_500));
    }
    desk.run_event("r1", timed);
    let text = desk.model.transcript.text();
    assert!(
        text.contains(" 1 coder_reviewer r1 · in code · Allow coder to execute: execute_terminal?"),
        "{text}\n{screen}"
    );
    // the keys go through them; the order stays
    let front = |desk: &TuiHarness| desk.model.dialogs.front().unwrap().tool.clone();
    desk.press_key(KeyCode::Char('a'), KeyModifiers::ALT);
    assert_eq!(front(&desk), "edit_file");
    desk.press_key(KeyCode::Char('a'), KeyModifiers::ALT);
    let screen = desk.draw_screen(120, 40);
    assert!(screen.contains("denied in 1 min") && screen.contains("without an answer"), "{screen}");
    assert!(desk.model.needs_ticks());
    desk.press_key(KeyCode::Char('a'), KeyModifiers::ALT);
    assert_eq!(front(&desk), "execute_terminal");
    desk.take_commands();
    desk.line("/approvals 2 deny");
    assert_eq!(desk.take_commands(), [decision_command("r1", 10, ApprovalDecision::Deny { reason: None })]);
    // for the session: what waits for the same tool goes on as well, and later ones are not asked about
    desk.advance_clock(1_000).answer('s');
    let mut done = desk.take_commands();
    done.sort_by_key(|cmd| format!("{cmd:?}"));
    assert_eq!(
        done,
        [
            decision_command("r1", 11, ApprovalDecision::Allow),
            decision_command("r1", 9, ApprovalDecision::Allow)
        ]
    );
    desk.run_event("r1", approval_event(12, "execute_terminal", command_preview("ls")));
    assert_eq!(
        (desk.take_commands(), desk.model.dialogs.len()),
        (vec![decision_command("r1", 12, ApprovalDecision::Allow)], 0)
    );
    // always: into the settings
    desk.run_event("r1", approval_event(13, "edit_file", command_preview("x")));
    desk.key(KeyCode::End).model.dialogs[0].is_armed = false;
    desk.type_text("a").type_text("s");
    assert_eq!(desk.take_commands(), [], "that is text");
    desk.key(KeyCode::Esc).answer('a');
    assert_eq!(desk.take_commands(), [], "the rule is shown first");
    desk.key(KeyCode::Enter);
    assert_eq!(
        desk.take_commands(),
        [
            decision_command("r1", 13, ApprovalDecision::Allow),
            UiCommand::ask(ProjectRequest::AllowAlways(StandingPermission::Rule(AllowRule::Tool(
                "edit_file".into()
            ))))
        ]
    );
}

#[test]
fn a_question_keeps_nobody_from_leaving() {
    let leave = |desk: &mut TuiHarness| {
        desk.take_commands().last() == Some(&UiCommand::Quit) && desk.model.runs_left.len() == 1
    };
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", approval_event(9, "execute_terminal", command_preview("ls")));
    desk.take_commands();
    desk.press_control('d');
    assert!(leave(&mut desk));
    // by name as well, also after a key that was for the question
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", approval_event(9, "execute_terminal", command_preview("ls")));
    desk.take_commands();
    desk.key(KeyCode::Down)
        .advance_clock(2_000)
        .type_text("/")
        .advance_clock(2_000)
        .type_text("exit")
        .key(KeyCode::Enter);
    assert!(leave(&mut desk));
    // the reason of a refusal is a text: Ctrl+D there means nothing
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", approval_event(9, "execute_terminal", command_preview("ls")));
    desk.take_commands();
    desk.advance_clock(2_000).answer('r').press_control('d');
    assert_eq!(desk.take_commands(), []);
}

#[test]
fn several_runs_at_once() {
    let mut desk = TuiHarness::new();
    desk.workflow().start_second_workflow();
    assert_eq!(desk.model.mode(), "workflow:tick r2", "the newest is in front");
    // what is typed without an id is not for the one that is named
    desk.take_commands();
    desk.line("/pause r1");
    assert_eq!(sent_commands(&mut desk).pop(), Some(steer_command("r1", SteeringAction::Pause)));
    let text = desk.model.transcript.text();
    assert!(text.contains(": /watch r1, then /continue") && !text.contains("/step and"), "{text}");
    desk.take_commands();
    desk.model.workflow_awaiting_input = Some("later".to_owned());
    assert_eq!(desk.model.mode(), "workflow:later");
    desk.key(KeyCode::Esc);
    assert_eq!(
        (desk.take_commands(), desk.model.mode()),
        (vec![], "workflow:tick r2".to_owned()),
        "nothing else is stopped"
    );
    // a question of another run comes with its name
    desk.run_event("r1", stopped_event(20, "review", None));
    assert!(desk.draw_screen(120, 40).contains("coder_reviewer r1 stopped before review"));
    desk.take_commands();
    desk.line("/runs");
    assert_eq!(sent_commands(&mut desk), [runs()]);
    let text = desk.model.transcript.text();
    assert!(text.contains("  r1 coder_reviewer · code · stopped before review\n▸ r2 tick · begin"), "{text}");
    desk.line("for tick");
    assert_eq!(
        desk.take_commands(),
        [UiCommand::Send(RunId::from("r2"), RunCommand::Say { text: "for tick".into() })]
    );
    // a key brings the other one in front: what is typed is for it
    desk.press_key(KeyCode::Char('n'), KeyModifiers::ALT);
    assert_eq!(desk.model.mode(), "workflow:coder_reviewer r1");
    desk.line("/continue");
    assert_eq!(sent_commands(&mut desk), [steer_command("r1", SteeringAction::Continue)]);
    // when one ends, the other comes in front, and what nobody read comes back
    desk.run_event("r1", run_finished(RunStatus::Completed, None, None));
    assert_eq!(desk.model.mode(), "workflow:tick");
    desk.run_event("r2", run_finished(RunStatus::Completed, None, None));
    assert_eq!(
        (desk.model.mode(), desk.model.composer.text()),
        ("role:coder".to_owned(), "for tick".to_owned())
    );
}

#[test]
fn escape_interrupts_a_workflow_and_takes_guidance() {
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", model_called(5, "coder", ConversationSide::Assistant)).take_commands();
    desk.key(KeyCode::Esc);
    assert_eq!(desk.take_commands(), [interrupt_command("r1")]);
    assert!(desk.draw_screen(120, 40).contains("interrupting … · Ctrl+C ends it"));
    // a tool that runs is not cut off: it is not asked twice
    desk.key(KeyCode::Esc);
    assert_eq!(desk.take_commands(), []);
    assert!(desk.draw_screen(120, 40).contains("the run stops when its current step finishes"));
    desk.run_event("r1", stopped_event(20, "code", Some(Breakpoint::Now)));
    assert!(!desk.model.needs_ticks(), "who stands still wakes nobody");
    let screen = desk.draw_screen(120, 40);
    assert!(screen.contains("interrupted in code · type new guidance, or /continue"), "{screen}");
    desk.check_frames("interrupted");
    desk.take_commands();
    desk.line("no tests, please");
    let told =
        RunCommand::Answer { call: CallId(20), answer: UserAnswer::Text { text: "no tests, please".into() } };
    assert_eq!(desk.take_commands(), [UiCommand::Send(RunId::from("r1"), told)]);
    desk.run_event("r1", RunEvent::question_withdrawn(CallId(20)));
    // once it goes on, a text waits for the workflow as ever, and Esc interrupts again
    desk.line("later");
    let said = RunCommand::Say { text: "later".into() };
    assert_eq!(desk.take_commands(), [UiCommand::Send(RunId::from("r1"), said)]);
    desk.key(KeyCode::Esc);
    assert_eq!(desk.take_commands(), [interrupt_command("r1")]);
}

/// It is asked for again behind the answer to the interrupt, which ends it; where no state comes any more, that is said.
#[test]
fn a_pause_outlives_an_interrupt_and_says_when_it_came_too_late() {
    let steered = |steering| UiCommand::Send(RunId::from("r1"), RunCommand::Steer(steering));
    let paused = || {
        let mut desk = TuiHarness::new();
        desk.workflow()
            .run_event("r1", model_called(5, "coder", ConversationSide::Assistant))
            .take_commands();
        desk.line("/pause");
        assert_eq!(desk.take_commands(), [steered(SteeringAction::Pause)]);
        desk
    };
    let guided = |desk: &mut TuiHarness| {
        desk.run_event("r1", stopped_event(20, "code", Some(Breakpoint::Now))).take_commands();
        desk.line("be short");
        desk.run_event("r1", RunEvent::question_withdrawn(CallId(20)));
        desk.take_commands().contains(&steered(SteeringAction::Pause))
    };
    let mut desk = paused();
    assert!(guided(&mut desk), "the run still stops");
    let mut desk = paused();
    desk.run_event("r1", stopped_event(21, "review", None));
    desk.line("/continue").take_commands();
    desk.run_event("r1", RunEvent::question_withdrawn(CallId(21)));
    assert!(!guided(&mut desk), "it has stopped for it, and was continued");
    let too_late = "it was not paused: only the end came after /pause";
    let mut desk = paused();
    desk.run_event("r1", run_finished(RunStatus::Completed, None, None));
    assert!(desk.draw_screen(120, 40).contains(too_late));
    let mut desk = paused();
    desk.run_event("r1", run_finished(RunStatus::Cancelled, None, None));
    assert!(!desk.draw_screen(120, 40).contains(too_late));
}

/// What was typed before the interruption is the guidance, if nothing else is being typed.
#[test]
fn a_text_that_no_agent_reads_by_itself_goes_to_the_one_that_is_interrupted() {
    let working = || {
        let mut desk = TuiHarness::new();
        desk.workflow().run_event("r1", model_called(5, "coder", ConversationSide::Assistant));
        for text in ["use tabs", "no blanks"] {
            desk.line(text).run_event("r1", RunEvent::Queued { text: text.into() });
        }
        desk.take_commands();
        desk
    };
    let mut desk = working();
    let text = desk.last_message_text();
    for told in ["Esc, then Enter, gives it to the agent at work", "or gives it back at its end"] {
        assert!(text.contains(told), "{text}");
    }
    desk.key(KeyCode::Esc).take_commands();
    desk.run_event("r1", stopped_event(20, "code", Some(Breakpoint::Now)));
    let back = |text: &str| steer_command("r1", SteeringAction::TakeBack { text: text.into() });
    assert_eq!(sent_commands(&mut desk), [back("use tabs"), back("no blanks")]);
    for text in ["use tabs", "no blanks"] {
        desk.run_event("r1", RunEvent::TakenBack { text: text.into() });
    }
    assert_eq!(desk.model.composer.text(), "use tabs\nno blanks");
    assert!(desk.draw_screen(80, 24).contains("taken back: Enter gives it to coder"));
    desk.take_commands();
    desk.key(KeyCode::Enter);
    let answer = UserAnswer::Text { text: "use tabs\nno blanks".into() };
    let told = RunCommand::Answer { call: CallId(20), answer };
    assert_eq!(desk.take_commands(), [UiCommand::Send(RunId::from("r1"), told)]);
    // what is being typed stays, and the others wait on
    let mut desk = working();
    desk.key(KeyCode::Esc).keys("and").take_commands();
    desk.run_event("r1", stopped_event(20, "code", Some(Breakpoint::Now)));
    assert_eq!((sent_commands(&mut desk), desk.unread_texts().len()), (vec![], 2));
}

#[test]
fn what_becomes_of_a_queued_text_is_told() {
    // a workflow with a state for it goes there
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", model_called(5, "coder", ConversationSide::Assistant));
    desk.send_message(definition_message("r1", graph("coder_reviewer", &states(&["code", "resume"]))));
    desk.run_event("r1", RunEvent::Queued { text: "faster".into() });
    let told = "the workflow goes to its state resume with it after the present state · Up takes it back";
    assert!(desk.last_message_text().contains(told), "{}", desk.last_message_text());
    // without a screen
    let mut desk = TuiHarness::new();
    desk.model.line_mode = true;
    desk.workflow().run_event("r1", model_called(5, "coder", ConversationSide::Assistant));
    desk.run_event("r1", RunEvent::Queued { text: "faster".into() });
    let told = "After /esc, what you type goes to the agent at work · /pending drop N takes it back";
    assert!(desk.last_message_text().contains(told), "{}", desk.last_message_text());
    // at the end a line says that nobody has read it, and where it is
    let check = |typed: &str, place: &str| {
        let mut desk = TuiHarness::new();
        desk.workflow().run_event("r1", RunEvent::Queued { text: "faster".into() });
        desk.keys(typed).run_event("r1", run_finished(RunStatus::Completed, None, None));
        let told = format!("! coder_reviewer has not read what you typed: {place}");
        assert!(desk.last_message_text().contains(&told), "{}", desk.last_message_text());
    };
    check("", "it is in the input line again");
    check("something else", "Up brings it back");
}

/// One of two branches stops: its call is over, the other branch continues.
#[test]
fn a_call_that_was_stopped_keeps_nobody_awake() {
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", model_called(5, "coder", ConversationSide::Assistant));
    assert!(desk.model.needs_ticks());
    desk.run_event(
        "r1",
        RunEvent::ModelStopped { call: CallId(5), agent: "coder".into(), spent: Vec::new() },
    );
    desk.run_event("r1", stopped_event(20, "code", Some(Breakpoint::before_state("code"))));
    assert!(!desk.model.needs_ticks());
}

#[test]
fn escape_where_it_stands_asks_whether_it_ends() {
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", stopped_event(20, "code", Some(Breakpoint::Now))).take_commands();
    desk.key(KeyCode::Esc);
    assert_eq!(desk.take_commands(), []);
    let screen = desk.draw_screen(120, 40);
    assert!(screen.contains("End coder_reviewer?") && screen.contains("No keeps it so"), "{screen}");
    desk.advance_clock(2_000).answer('n');
    assert_eq!(desk.take_commands(), []);
    desk.key(KeyCode::Esc).advance_clock(2_000).answer('y');
    assert_eq!(desk.take_commands(), [cancel_command("r1")]);
    // once it goes on, nobody is asked any more
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", stopped_event(20, "code", Some(Breakpoint::Now)));
    desk.key(KeyCode::Esc);
    assert!(desk.draw_screen(80, 24).contains("End coder_reviewer?"));
    desk.run_event("r1", RunEvent::PersonAnswered { call: CallId(20), question: None, answer: None });
    assert!(!desk.draw_screen(80, 24).contains("End coder_reviewer?"));
}

#[test]
fn every_message_is_told_apart_while_several_runs_speak() {
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", model_called(5, "coder", ConversationSide::Assistant));
    desk.run_event("r1", delta_event(5, DeltaKind::Text, "first of r1"));
    let alone = desk.model.transcript.text();
    assert!(!alone.contains("run coder_reviewer r1"), "one run needs no name: {alone}");
    desk.start_second_workflow().run_event("r2", model_called(6, "clock", ConversationSide::Assistant));
    desk.run_event("r2", delta_event(6, DeltaKind::Text, "first of r2"));
    // what goes on grows where it began
    desk.run_event("r1", delta_event(5, DeltaKind::Text, ", second of r1"))
        .run_event("r2", delta_event(6, DeltaKind::Text, ", second"));
    desk.run_event(
        "r1",
        model_replied(5, "coder", ConversationSide::Assistant, "first of r1, second of r1", ""),
    );
    desk.run_event("r1", transition("code", "review")).run_event("r1", state_entered("review"));
    // nothing that is shown: no line about it
    desk.run_event("r2", data(json!({"x": 1})));
    desk.run_event("r1", model_called(7, "reviewer", ConversationSide::User))
        .run_event("r1", delta_event(7, DeltaKind::Text, "third of r1"));
    // an answer to the user belongs to no run
    desk.line("/status").run_event("r1", transition("review", "code"));
    desk.run_event("r1", run_finished(RunStatus::Completed, None, None));
    desk.run_event("r2", message_event(MessageAuthor::Script, "fourth of r2"))
        .run_event("r2", message_event(MessageAuthor::Script, "fifth of r2"));
    let text = desk.model.transcript.text();
    let mut voice = "";
    let mut found = Vec::new();
    for line in text.lines() {
        match line.strip_prefix("run ") {
            Some(name) => voice = name,
            None if line.contains(" of r") => found.push((voice, line.to_owned())),
            None => {}
        }
    }
    let row = |voice: &'static str, line: &str| (voice, line.to_owned());
    assert_eq!(
        found,
        [
            row("", "first of r1, second of r1"),
            row("tick r2", "first of r2, second"),
            row("coder_reviewer r1", "third of r1"),
            row("tick r2", "fourth of r2"),
            row("tick r2", "fifth of r2"),
        ],
        "{text}"
    );
    let names = text.lines().filter(|line| line.starts_with("run ")).collect::<Vec<_>>();
    assert_eq!(
        names,
        ["run tick r2", "run coder_reviewer r1", "run coder_reviewer r1", "run tick r2"],
        "{text}"
    );
    // one that is left alone needs no name any more
    desk.run_event("r2", transition("begin", "end"));
    assert_eq!(desk.model.transcript.text().matches("run tick r2").count(), 2);
}

#[test]
fn who_speaks_is_said_again_on_an_emptied_screen() {
    let mut desk = TuiHarness::new();
    desk.workflow().start_second_workflow();
    desk.run_event("r2", message_event(MessageAuthor::Script, "before"));
    assert!(desk.model.transcript.text().contains("run tick r2"));
    desk.line("/clear").run_event("r2", message_event(MessageAuthor::Script, "after"));
    let text = desk.model.transcript.text();
    assert!(text.contains("run tick r2") && text.contains("after") && !text.contains("before"), "{text}");
}

#[test]
fn the_time_of_a_long_run_goes_on_with_the_clock() {
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", model_called(5, "coder", ConversationSide::Assistant));
    let begun = desk.clock;
    for (seconds, shown) in
        [(3, "coder thinks 3 s"), (64, "coder thinks 1 min 04 s"), (7_385, "coder thinks 2 h 03 min")]
    {
        assert!(desk.model.needs_ticks(), "somebody has to look at the clock");
        desk.send_message(UiMessage::Tick(Timestamp(begun + seconds * 1_000)));
        let screen = desk.draw_screen(120, 40);
        assert!(screen.contains(shown), "{shown}: {screen}");
    }
    desk.line("/status");
    assert!(desk.last_message_text().contains("elapsed   2 h"), "{}", desk.last_message_text());
    // reduced motion: nothing moves by itself
    desk.model.reduced_motion = true;
    assert!(!desk.model.needs_ticks());
}

#[test]
fn what_is_said_of_one_run_stays_when_another_ends() {
    let hint = "interrupting … · Ctrl+C ends it";
    let failed = || run_finished(RunStatus::Failed, None, None);
    let rows: Vec<(&str, RunEvent, bool)> = vec![
        ("r1", failed(), true),
        ("r1", stopped_event(20, "code", Some(Breakpoint::Now)), true),
        ("r2", failed(), false),
        ("r2", stopped_event(20, "begin", Some(Breakpoint::Now)), false),
        // a tool was under way: the run stops after it
        ("r2", stopped_event(20, "end", None), false),
    ];
    for (run, event, stays) in rows {
        let mut desk = TuiHarness::new();
        desk.workflow().start_second_workflow();
        desk.take_commands();
        desk.key(KeyCode::Esc);
        assert_eq!(desk.take_commands(), [interrupt_command("r2")]);
        desk.run_event(run, event.clone());
        assert_eq!(desk.draw_screen(120, 40).contains(hint), stays, "{run} {event:?}");
    }
}

#[test]
fn escape_means_what_was_on_screen() {
    let ask = || {
        user_question(30, UserQuestion::Limit { limit: "max_steps".into(), value: 3, text: "3 steps".into() })
    };
    let approve = || approval_event(30, "execute_terminal", command_preview("ls"));
    for question in [ask(), approve()] {
        let mut desk = TuiHarness::new();
        desk.workflow().start_second_workflow();
        desk.take_commands();
        // another run asks in the moment in which this one is interrupted
        desk.run_event("r1", question).press_before_seen(KeyCode::Esc, KeyModifiers::NONE);
        assert_eq!(desk.take_commands(), [interrupt_command("r2")]);
        assert_eq!(desk.model.dialogs.len(), 1, "nobody has answered it");
        desk.draw_screen(120, 40);
        desk.advance_clock(1_000).press_before_seen(KeyCode::Esc, KeyModifiers::NONE);
        let sent = desk.take_commands();
        assert!(matches!(sent.as_slice(), [UiCommand::Send(run, _)] if run.as_str() == "r1"), "{sent:?}");
    }
}
