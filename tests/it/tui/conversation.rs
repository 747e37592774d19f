//! The conversation: agents and their marks, cards, folded plumbing, one result, and files that open in the editor.

use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::style::Style;
use synthdev::service::session::FilePosition;
use synthdev::tui::display::DisplayResponse;
use synthdev::tui::layout::PaneKind;
use synthdev::tui::run_view::run_graph::RunDefinitionView;
use synthdev::tui::transcript::item::TranscriptItem;

use super::panes::{definition_message, graph, states};
use super::*;

fn script_entered(state: &str) -> RunEvent {
    RunEvent::StateEntered { state: state.into(), visit: 1, step: 1, agent: None, context: None }
}

fn agent_entered(state: &str, agent: &str) -> RunEvent {
    RunEvent::StateEntered {
        state: state.into(),
        visit: 1,
        step: 1,
        agent: Some(agent.into()),
        context: None,
    }
}

#[test]
fn a_border_stands_where_another_is_talked_to() {
    let check = |line_mode: bool, expected: &[&str]| {
        let mut desk = TuiHarness::new();
        desk.model.line_mode = line_mode;
        let rules = |desk: &TuiHarness| -> Vec<String> {
            let items = desk.model.transcript.items();
            items.filter(|item| matches!(item, TranscriptItem::Rule(_))).map(TranscriptItem::text).collect()
        };
        desk.start_chat().run_event("c1", message_event(MessageAuthor::Human, "and now?"));
        desk.run_event("c1", user_question(2, UserQuestion::Message)).take_commands();
        assert_eq!(rules(&desk), Vec::<String>::new(), "with one alone there is none");
        desk.workflow().run_event("r1", run_finished(RunStatus::Completed, None, None));
        for text in ["thanks", "go on"] {
            desk.run_event("c1", message_event(MessageAuthor::Human, text));
        }
        assert_eq!(rules(&desk), expected);
        assert!(desk.draw_screen(80, 24).contains("\n❯ message"), "the status line names the only role");
    };
    check(false, &["coder"]);
    // the prompt of each line names whom it is for
    check(true, &[]);
}

fn private_message(text: &str) -> RunEvent {
    RunEvent::MessageAdded {
        context: "main".into(),
        author: MessageAuthor::Workflow,
        role: ChatRole::User,
        text: text.into(),
        private: true,
        call: None,
    }
}

fn decision(arguments: serde_json::Value) -> RunEvent {
    RunEvent::Decided {
        agent: "reviewer".into(),
        tool: "review_decision".into(),
        arguments,
        source: DecisionSource::Call,
    }
}

fn edit_started(call: u64, agent: &str) -> RunEvent {
    RunEvent::ToolStarted {
        call: CallId(call),
        agent: agent.into(),
        tool: "edit_file".into(),
        arguments: json!({"file_path": "src/a.rs", "old_text": "one\ntwo", "new_text": "one\n2\n3\n4"}),
    }
}

fn tool_ended(call: u64, agent: &str, tool: &str, summary: &str) -> RunEvent {
    RunEvent::ToolFinished {
        call: CallId(call),
        agent: agent.into(),
        tool: tool.into(),
        ok: true,
        summary: summary.into(),
        content: String::new(),
        duration_ms: 3,
    }
}

impl TuiHarness {
    /// Two agents, their calls, what they are told and decide.
    pub(super) fn play_review(&mut self) -> &mut Self {
        self.workflow()
            .run_event("r1", message_event(MessageAuthor::Workflow, "add a --json flag"))
            .run_event("r1", private_message("Write the code.\n- small steps\n- no new crates"))
            .run_event("r1", model_called(5, "coder", ConversationSide::Assistant))
            .run_event("r1", model_replied(5, "coder", ConversationSide::Assistant, "I add the flag.", ""))
            .run_event("r1", edit_started(6, "coder"))
            .run_event("r1", tool_ended(6, "coder", "edit_file", "1 replacement in src/a.rs"))
            .run_event("r1", transition("code", "test"))
            .run_event("r1", script_entered("test"))
            .run_event("r1", transition("test", "count"))
            .run_event("r1", script_entered("count"))
            .run_event("r1", transition("count", "route"))
            .run_event("r1", script_entered("route"))
            .run_event("r1", transition("route", "review"))
            .run_event("r1", agent_entered("review", "reviewer"))
            .run_event("r1", private_message("Say whether it is good."))
            .run_event("r1", model_called(8, "reviewer", ConversationSide::User))
            .run_event(
                "r1",
                model_replied(8, "reviewer", ConversationSide::User, "See src/a.rs:12 first.", ""),
            )
            .run_event("r1", decision(json!({"approved": true})))
            .run_event(
                "r1",
                decision(
                    json!({"approved": false, "comments": "The flag has no test.\nAdd one to tests/cli.rs."}),
                ),
            )
            .run_event(
                "r1",
                RunEvent::ToolStarted {
                    call: CallId(9),
                    agent: "reviewer".into(),
                    tool: "execute_terminal".into(),
                    arguments: json!({"command": "cargo test"}),
                },
            )
            .run_event("r1", RunEvent::ToolProgress { call: CallId(9), text: "test a ... ok".into() })
    }

    /// The style of the cell where a text begins on a screen of this size.
    fn style_of(&mut self, text: &str) -> Style {
        let screen = self.draw_screen(120, 40);
        let (y, row) = screen.lines().enumerate().find(|(_, row)| row.contains(text)).unwrap_or_else(|| {
            panic!("{text}: {screen}");
        });
        let x = unicode_width::UnicodeWidthStr::width(&row[..row.find(text).unwrap()]);
        let mut terminal = Terminal::new(TestBackend::new(120, 40)).unwrap();
        terminal.draw(|frame| view::draw_screen(&self.model, frame)).unwrap();
        let cell = &terminal.backend().buffer()[(u16::try_from(x).unwrap(), u16::try_from(y).unwrap())];
        Style::new().fg(cell.fg)
    }
}

#[test]
fn agents_have_marks_and_what_they_are_told_and_decide_are_cards() {
    let mut desk = TuiHarness::new();
    desk.play_review();
    desk.model.now = Timestamp(desk.clock + 12_000);
    desk.check_frames("conversation_cards");
    let screen = desk.draw_screen(120, 40);
    for shown in [
        "▌● workflow to coder, privately",
        "▌  - small steps",
        "● coder m-base",
        "● ✓ edit_file src/a.rs +3 −1",
        "▲ reviewer m-base",
        "▌▲ reviewer decided review_decision: approved = true",
        "▌  approved = false",
        "execute_terminal cargo test — ",
        "s · test a ... ok",
    ] {
        assert!(screen.contains(shown), "{shown}: {screen}");
    }
    assert_eq!(screen.matches("add a --json flag").count(), 1, "the input stands once: {screen}");
    assert!(!screen.contains("snapshot ab12cd34,"), "nothing has changed yet: {screen}");
}

#[test]
fn an_agent_looks_the_same_in_the_conversation_and_beside_it() {
    let mut desk = TuiHarness::new();
    desk.play_review();
    let said = [desk.style_of("● coder m-base"), desk.style_of("▲ reviewer m-base")];
    assert_ne!(said[0], said[1]);
    assert_eq!(
        [desk.style_of("● coder assistant"), desk.style_of("▲ reviewer user")],
        said,
        "the side panel"
    );
    desk.press_alt('3').key(KeyCode::Esc);
    assert_eq!([desk.style_of("● coder  assistant"), desk.style_of("▲ reviewer  user")], said, "its pane");
    let mut drawn = graph("coder_reviewer", &states(&["start", "code", "review", "stop"]));
    for (node, agent) in [(1, "coder"), (2, "reviewer")] {
        drawn.nodes[node].details.agent = Some(agent.to_owned());
        drawn.nodes[node].about = "says what it has done".into();
    }
    desk.send_message(definition_message("r1", drawn));
    for (pane, [first, second]) in [
        ('2', ["● code  ", "▲ review  "]),
        ('6', ["● coder  ", "▲ reviewer  "]),
        ('7', ["● coder  ", "▲ reviewer  "]),
    ] {
        desk.press_alt(pane).key(KeyCode::Esc);
        assert_eq!([desk.style_of(first), desk.style_of(second)], said, "pane {pane}");
        desk.press_alt(pane).press_alt(pane);
    }
}

#[test]
fn agents_that_a_definition_declares_have_their_looks_before_they_speak() {
    let mut desk = TuiHarness::new();
    desk.workflow();
    let agents = vec!["reviewer".to_owned(), "coder".to_owned(), "tester".to_owned()];
    let definition = Ok(Box::new(RunDefinitionView { agents, ..RunDefinitionView::default() }));
    desk.send_message(UiMessage::Displayed(DisplayResponse::Definition {
        run: RunId::from("r1"),
        definition,
    }));
    let roster = &desk.model.find_run(&RunId::from("r1")).unwrap().roster;
    // the coder was there first, and keeps its look
    assert_eq!(["coder", "reviewer", "tester"].map(|agent| roster.mark(agent)), ["●", "▲", "■"]);
}

#[test]
fn script_states_are_one_line_that_opens() {
    let mut desk = TuiHarness::new();
    desk.play_review();
    let screen = desk.draw_screen(120, 50);
    assert!(screen.contains("▸ code → 3 script states → review"), "{screen}");
    assert!(!screen.contains("test → count"), "{screen}");
    desk.press_key(KeyCode::Char('1'), KeyModifiers::ALT);
    desk.draw_screen(120, 50);
    for _ in 0..20 {
        let chosen = desk.model.transcript.selected_index().and_then(|at| desk.model.transcript.get(at));
        if chosen.is_some_and(|item| item.text().starts_with("code → test")) {
            break;
        }
        desk.press_key(KeyCode::Up, KeyModifiers::ALT);
    }
    desk.key(KeyCode::Enter);
    let screen = desk.draw_screen(120, 50);
    assert!(screen.contains("▾ code → test → count → route → review"), "{screen}");
    desk.key(KeyCode::Enter);
    assert!(desk.draw_screen(120, 50).contains("▸ code → 3 script states → review"));
}

#[test]
fn a_run_says_how_to_undo_it_only_if_it_may_have_changed_files() {
    let check = |status: RunStatus, done: &str, expected: &[&str], never: &[&str]| {
        let mut desk = TuiHarness::new();
        desk.workflow();
        for what in done.split_terminator(' ') {
            desk.run_event(
                "r1",
                match what {
                    "snapshot" => snapshot_taken(),
                    _ => RunEvent::ToolStarted {
                        call: CallId(7),
                        agent: "coder".into(),
                        tool: "edit_file".into(),
                        arguments: json!({"path": "a.rs"}),
                    },
                },
            );
        }
        desk.run_event("r1", run_finished(status, None, None));
        let screen = desk.draw_screen(120, 40);
        for text in expected {
            assert!(screen.contains(text), "{text}: {screen}");
        }
        for text in never {
            assert!(!screen.contains(text), "{text}: {screen}");
        }
    };
    let undo = "undo: /undo · later: /undo r1 · not covered: vendor/sub";
    // the first is taken before files change, the second because they have
    check(RunStatus::Completed, "", &["coder_reviewer completed"], &["undo:", "312 files"]);
    check(RunStatus::Completed, "tool snapshot", &["coder_reviewer completed", undo], &["312 files"]);
    // none is taken after the state that failed
    check(RunStatus::Failed, "", &["coder_reviewer failed"], &["undo:", "312 files"]);
    check(RunStatus::Failed, "tool", &[undo], &["312 files"]);
    check(RunStatus::Failed, "tool snapshot", &[undo], &["312 files"]);
    check(RunStatus::Cancelled, "tool", &[undo], &["312 files"]);
}

#[test]
fn the_last_answer_stands_once() {
    let check = |output: serde_json::Value, expected: usize| {
        let mut desk = TuiHarness::new();
        desk.workflow()
            .run_event("r1", model_called(5, "coder", ConversationSide::Assistant))
            .run_event("r1", model_replied(5, "coder", ConversationSide::Assistant, "All is **done**.", ""))
            .run_event("r1", transition("code", "stop"))
            .run_event("r1", run_finished(RunStatus::Completed, Some(output.clone()), None));
        let screen = desk.draw_screen(80, 30);
        assert_eq!(screen.matches("is done").count(), expected, "{output}: {screen}");
        assert!(screen.contains("✓ coder_reviewer completed"), "{screen}");
    };
    check(json!("All is **done**."), 1);
    check(json!("All is **done**.\n"), 1);
    check(json!({"answer": "All is **done**."}), 1);
    check(json!("It is done, too"), 2);
    check(json!({"answer": "This is done", "n": 1}), 2);
}

#[test]
fn a_run_that_has_ended_stays_in_the_panes_until_something_begins() {
    let mut desk = TuiHarness::new();
    desk.start_chat().run_event("c1", user_question(2, UserQuestion::Message));
    desk.workflow().run_event("r1", run_finished(RunStatus::Completed, None, None));
    let watched = |desk: &TuiHarness| desk.model.watched_run().map(|run| run.id.to_string());
    assert_eq!(watched(&desk).as_deref(), Some("r1"));
    desk.press_key(KeyCode::Char('6'), KeyModifiers::ALT);
    assert!(desk.draw_screen(120, 40).contains("timeline · coder_reviewer"), "{}", desk.draw_screen(120, 40));
    desk.key(KeyCode::Esc).line("go on");
    assert_eq!(watched(&desk).as_deref(), Some("c1"), "the conversation goes on");
    desk.run_event("r2", workflow_started("other", "x"));
    assert_eq!(watched(&desk).as_deref(), Some("r2"));
}

#[test]
fn a_person_who_takes_time_is_not_the_time_of_an_agent() {
    let mut desk = TuiHarness::new();
    desk.workflow()
        .run_event("r1", model_called(5, "coder", ConversationSide::Assistant))
        .advance_clock(2_000)
        .run_event("r1", approval_event(6, "execute_terminal", command_preview("cargo test")))
        .advance_clock(180_000);
    let decision = ApprovalDecision::Allow;
    let answered = RunEvent::ApprovalAnswered {
        arguments: serde_json::Value::Null,
        call: CallId(6),
        tool: "execute_terminal".into(),
        decision,
    };
    desk.run_event("r1", answered).advance_clock(3_000);
    desk.send_message(UiMessage::Tick(Timestamp(desk.clock)));
    let screen = desk.draw_screen(120, 36);
    assert!(screen.contains("coder thinks 5 s"), "{screen}");
    desk.run_event("r1", run_finished(RunStatus::Completed, None, None));
    let screen = desk.draw_screen(120, 36);
    assert!(screen.contains("completed in 3 min 05 s, 3 min 00 s of it waiting"), "{screen}");
}

#[test]
fn files_that_are_named_open_in_the_editor() {
    let mut desk = TuiHarness::new();
    desk.start_chat().run_event("c1", model_called(7, "coder", ConversationSide::Assistant)).run_event(
        "c1",
        model_replied(7, "coder", ConversationSide::Assistant, "Look at src/a.rs:12 and b/c.py.", ""),
    );
    let opened =
        |path: &str, line: Option<u32>| UiCommand::OpenFile(FilePosition { path: path.into(), line });
    desk.take_commands();
    desk.press_key(KeyCode::Char('1'), KeyModifiers::ALT);
    let screen = desk.draw_screen(100, 30);
    desk.press_key(KeyCode::Up, KeyModifiers::ALT).key(KeyCode::Enter);
    assert_eq!(desk.take_commands(), [opened("src/a.rs", Some(12))]);
    // the next one, and round
    for expected in [opened("b/c.py", None), opened("src/a.rs", Some(12))] {
        desk.press_key(KeyCode::Char('o'), KeyModifiers::ALT);
        assert_eq!(desk.take_commands(), [expected]);
    }
    let (row, line) = screen.lines().enumerate().find(|(_, line)| line.contains("src/a.rs")).unwrap();
    let column = u16::try_from(line.find("a.rs").unwrap()).unwrap();
    let click = |column| {
        let (kind, row) = (MouseEventKind::Down(MouseButton::Left), u16::try_from(row).unwrap());
        UiMessage::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE })
    };
    desk.model.mouse = true;
    desk.send_message(click(column));
    assert_eq!(desk.take_commands(), [opened("src/a.rs", Some(12))]);
    desk.send_message(click(2));
    assert_eq!(desk.take_commands(), [], "no name there");
    desk.model.panes.focus_input();
    desk.send_message(click(column));
    assert_eq!((desk.take_commands(), desk.model.panes.focus), (vec![], Some(PaneKind::Conversation)));
}

#[test]
fn help_that_wraps_hangs_below_its_column() {
    let mut desk = TuiHarness::new();
    desk.line("/help run");
    let screen = desk.draw_screen(70, 60);
    let rows: Vec<&str> = screen.lines().collect();
    let at = rows.iter().position(|row| row.contains("/pending …")).unwrap();
    let column = |row: &str, text: &str| row.find(text).map(|byte| row[..byte].chars().count());
    let described = column(rows[at], "list unread");
    assert!(rows[at].ends_with(" run, and"), "{screen}");
    assert_eq!(column(rows[at + 1], "what runs"), described, "{screen}");
}
