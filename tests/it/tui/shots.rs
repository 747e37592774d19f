//! Pictures: every pane, page and list in every state, at every size that matters. One file per pane and state in
//! `tests/frames/panes`, with all sizes in it; equal rows are counted, not repeated.

use synthdev::domain::message::ToolCall;
use synthdev::domain::workflow::PauseKind;
use synthdev::service::session::{
    DefinitionResponse, EditFile, EditFileKind, EditorCheckReport, EditorResponse, ProjectResponse, RoleLine,
    WorkflowLine,
};
use synthdev::tui::display::DisplayRequest;
use synthdev::tui::history_browser::{HistoryResponse, HistoryText, RunDetails};
use synthdev::tui::transcript::item::{ItemTone, TranscriptBlock, TranscriptItem};
use unicode_width::UnicodeWidthStr;

use super::archive::{answer_page, in_run, many_rows, run_details, send_history_reply};
use super::editor::{
    answer_check as checked, file, open_in_layer, opened_editor as edited, send_editor_reply,
};
use super::panes::{graph, keys, states, tool, tool_done};
use super::*;

/// Those that everything must look good at, and two at which it must still be of use.
const SIZES: [(u16, u16); 6] = [(60, 20), (80, 24), (120, 36), (250, 70), (40, 10), (20, 5)];

/// The whole Unicode that people and models send: wide, combined, joined, from right to left, steering.
const ODD: &str = "日本語の長い文章 e\u{301}e\u{301} 👩‍👩‍👧 🇩🇪 שלום עולם مرحبا \u{202e}evil\u{202c} zero\u{200b}width \x1b[31mred\x1b[0m a\tb";

impl TuiHarness {
    /// The screen at every size, as one text that is kept.
    pub(super) fn check_shots(&mut self, name: &str) {
        self.check_shots_at(name, &SIZES);
    }

    /// The same at other sizes.
    pub(super) fn check_shots_at(&mut self, name: &str, sizes: &[(u16, u16)]) {
        self.check_shots_in("../../frames/panes", name, sizes);
    }

    /// The same, kept in a directory.
    pub(super) fn check_shots_in(&mut self, directory: &str, name: &str, sizes: &[(u16, u16)]) {
        self.settle_question().keep_shots(directory, name, sizes);
    }

    /// The same at the moment as it is.
    pub(super) fn keep_shots(&mut self, directory: &str, name: &str, sizes: &[(u16, u16)]) {
        let sized = |size: &(u16, u16)| {
            let (columns, rows) = *size;
            let screen = self.draw_screen(columns, rows);
            assert_clean(name, *size, &screen);
            format!("{columns}×{rows}\n{}", squeeze_rows(&screen))
        };
        let shown = sizes.iter().map(sized).collect::<Vec<_>>().join("\n");
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(directory);
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(name, shown));
    }
}

/// Nothing on screen steers a terminal, and no row is wider than it.
fn assert_clean(name: &str, (columns, _): (u16, u16), screen: &str) {
    let steers = |c: char| {
        (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert!(!screen.contains(steers), "{name}\n{screen:?}");
    for row in screen.lines() {
        assert!(row.width() <= usize::from(columns), "{name}: {row}");
    }
}

/// Three and more rows that are alike become one, and how many more there are.
fn squeeze_rows(screen: &str) -> String {
    let rows: Vec<&str> = screen.lines().collect();
    let mut text = String::new();
    for alike in rows.chunk_by(|one, other| one == other) {
        let shown = if alike.len() > 2 { 1 } else { alike.len() };
        alike[..shown].iter().for_each(|row| text += &format!("{row}\n"));
        if alike.len() > shown {
            text += &format!("⋮ {} more such rows\n", alike.len() - shown);
        }
    }
    text
}

/// Each of these is a state of one pane: its name, and how somebody gets there.
pub(super) type Row = (&'static str, fn(&mut TuiHarness));

/// The sizes of a terminal, each situation from its beginning.
pub(super) fn check_situations(rows: &[Row]) {
    for (name, play) in rows {
        let mut desk = TuiHarness::new();
        desk.draw_screen(80, 24);
        play(&mut desk);
        desk.check_frames(name);
    }
}

fn check_rows(pane: &str, rows: &[Row]) {
    for (state, play) in rows {
        let mut desk = TuiHarness::new();
        desk.draw_screen(80, 24);
        play(&mut desk);
        desk.draw_screen(80, 24);
        desk.check_shots(&format!("{pane}_{state}"));
    }
}

fn show_answer_form(desk: &mut TuiHarness) -> &mut TuiHarness {
    desk.start_chat().run_event("c1", model_called(7, "coder", ConversationSide::Assistant))
}

const HALF: &str = "# Plan\n\n1. **Read** `src/main.rs` and find where the arguments are parsed, which is a long sentence that wraps\n2. Add the flag\n\n| file | lines |\n|:-----|------:|\n| a.rs | 12 |\n\n```rust\nfn main() { // start\n    println!(\"hi";

const CONVERSATION: &[Row] = &[
    ("empty", |_| {}),
    ("streaming", |desk| {
        show_answer_form(desk)
            .run_event("c1", delta_event(7, DeltaKind::Reasoning, "The person wants a flag.\nI plan it."))
            .run_event("c1", delta_event(7, DeltaKind::Text, HALF));
        desk.line("and then the tests, please").type_text("half a li");
    }),
    ("error", |desk| {
        let failure = RunError::new(
            "model.auth",
            "The provider refused the key",
            "401 from https://api.example.com/v1/chat/completions: invalid key",
        );
        show_answer_form(desk)
            .run_event("c1", delta_event(7, DeltaKind::Text, "I begin with"))
            .run_event(
                "c1",
                tool(
                    8,
                    "execute_terminal",
                    json!({"command": "cargo test --all-features --workspace -- --nocapture"}),
                ),
            )
            .run_event(
                "c1",
                tool_done(
                    8,
                    "execute_terminal",
                    false,
                    "error[E0308]: mismatched types\n --> src/main.rs:3:5",
                ),
            )
            .run_event(
                "c1",
                RunEvent::ToolRefused {
                    agent: "coder".into(),
                    tool: "delete_everything".into(),
                    reason: "there is no such tool; there are read_files, edit_file, execute_terminal".into(),
                },
            )
            .run_event(
                "c1",
                RunEvent::ModelFailed {
                    call: CallId(7),
                    agent: "coder".into(),
                    code: "model.auth".into(),
                    reason: "401: invalid key".into(),
                    attempts: 3,
                    spent: Vec::new(),
                },
            )
            .run_event(
                "c1",
                run_finished(
                    RunStatus::Failed,
                    None,
                    Some(failure.with_hint("set OPENAI_API_KEY, or /configure")),
                ),
            );
    }),
    ("long", |desk| {
        desk.start_chat();
        for at in 0..60 {
            desk.run_event(
                "c1",
                message_event(MessageAuthor::Human, &format!("question {at}, with some more words")),
            )
            .run_event(
                "c1",
                model_replied(
                    100 + at,
                    "coder",
                    ConversationSide::Assistant,
                    &format!("Answer {at}: {}", "many words ".repeat(30)),
                    "why",
                ),
            )
            .run_event("c1", tool(1_000 + at, "read_files", json!({"file_paths": [format!("src/{at}.rs")]})))
            .run_event("c1", tool_done(1_000 + at, "read_files", true, &"line\n".repeat(400)));
        }
        desk.draw_screen(80, 24);
        for _ in 0..9 {
            desk.key(KeyCode::PageUp).draw_screen(80, 24);
        }
    }),
    ("unicode", |desk| {
        show_answer_form(desk)
                    .run_event("c1", model_replied(7, "программист", ConversationSide::Assistant, &format!("{ODD}\n\n- {ODD}\n\n> {ODD}\n\n```\n{ODD}\n```\n\n| {ODD} | x |\n|--|--|\n| y | {ODD} |"), ODD))
                    .run_event("c1", tool(8, "قراءة", json!({"مسار": ODD})))
                    .run_event("c1", tool_done(8, "قراءة", true, ODD));
        desk.type_text("世界 e\u{301} שלום");
    }),
    ("chosen", |desk| {
        show_answer_form(desk)
            .run_event(
                "c1",
                model_replied(
                    7,
                    "coder",
                    ConversationSide::Assistant,
                    "I look at it.",
                    "One thing\nand another",
                ),
            )
            .run_event("c1", tool(8, "execute_terminal", json!({"command": "ls"})))
            .run_event("c1", tool_done(8, "execute_terminal", true, "one.rs\ntwo.rs\nthree.rs"));
        desk.press_alt('1').draw_screen(80, 24);
        desk.press_key(KeyCode::Up, KeyModifiers::ALT).key(KeyCode::Enter);
    }),
    ("searched", |desk| {
        show_answer_form(desk)
            .run_event("c1", model_replied(7, "coder", ConversationSide::Assistant, HALF, ""));
        desk.press_alt('1').draw_screen(80, 24);
        desk.press_control('f').type_text("flag").key(KeyCode::Enter);
    }),
];

#[test]
fn the_conversation() {
    check_rows("conversation", CONVERSATION);
}

fn show_pause(desk: &mut TuiHarness) -> &mut TuiHarness {
    desk.run_event("r1", workflow_started("coder_reviewer", "add a --json flag"))
        .run_event("r1", state_entered("code"))
}

fn pause(kind: PauseKind, choices: Vec<String>) -> UserQuestion {
    UserQuestion::Pause {
        state: "gate".into(),
        kind,
        message: "The plan:\n1. read\n2. write, which takes a sentence that is longer than what a narrow screen holds"
            .into(),
        choices,
        schema: None,
        required_outputs: vec![],
        default: None,
        until: Some(Timestamp(1_090_000)),
        problem: None,
    }
}

const APPROVAL: &[Row] = &[
    ("queue", |desk| {
        show_pause(desk)
            .run_event("r1", approval_event(7, "execute_terminal", command_preview("cargo test")));
        desk.run_event("r1", approval_event(8, "execute_terminal", command_preview("ls")))
            .run_event("r1", approval_event(9, "write_file", ToolPreview::Text { text: "x".into() }));
    }),
    ("long", |desk| {
        let diff: String = (0..80)
            .map(|at| format!("-    old_line({at});\n+    new_line({at}, \"{}\");\n", "word ".repeat(20)))
            .collect();
        let diff = format!("@@ -1,80 +1,80 @@\n{diff}");
        show_pause(desk).run_event(
            "r1",
            approval_event(
                7,
                "edit_file",
                ToolPreview::Diff { path: "src/a/very/long/path/to/some/file/that/is/deep.rs".into(), diff },
            ),
        );
        desk.draw_screen(80, 24);
        desk.key(KeyCode::PageDown);
    }),
    ("unicode", |desk| {
        let mut asked = approval_event(7, "قراءة\x1b[2J", command_preview(ODD));
        if let RunEvent::ApprovalAsked { agent, until, .. } = &mut asked {
            (*agent, *until) = ("программист".into(), Some(Timestamp(1_060_000)));
        }
        show_pause(desk).run_event("r1", asked);
    }),
    ("reason", |desk| {
        show_pause(desk)
            .run_event("r1", approval_event(7, "execute_terminal", command_preview("rm -rf target")));
        desk.answer('r').type_text("not now: the build of the other branch is still going on in there");
    }),
    ("written", |desk| {
        show_pause(desk).run_event("r1", user_question(20, pause(PauseKind::Text, vec![])));
        desk.advance_clock(1_000).type_text("an answer");
    }),
    ("choices", |desk| {
        let choices = (1..30).map(|at| format!("choice {at} {}", "and more words ".repeat(6))).collect();
        show_pause(desk).run_event("r1", user_question(20, pause(PauseKind::Choice, choices)));
        desk.advance_clock(1_000);
        for _ in 0..20 {
            desk.key(KeyCode::Down);
        }
    }),
    ("failed", |desk| {
        let failure = RunError::new("tool.failed", "A step failed", "exit 1: no space left on device");
        show_pause(desk)
            .run_event("r1", user_question(20, UserQuestion::Failed { failure: Box::new(failure) }));
    }),
];

#[test]
fn approvals_and_questions() {
    check_rows("approval", APPROVAL);
}

fn open_history(desk: &mut TuiHarness) {
    desk.line("/history");
}

fn send_past_reply(desk: &mut TuiHarness, told: HistoryResponse) {
    let numbers = desk.take_commands().into_iter().filter_map(|cmd| match cmd {
        UiCommand::Display(DisplayRequest::History(number, asked))
            if !matches!(*asked, synthdev::tui::history_browser::HistoryRequest::Changes) =>
        {
            Some(number)
        }
        _ => None,
    });
    let number = numbers.last().expect("nothing was asked");
    send_history_reply(desk, number, told);
}

fn odd_run_details(steps: usize) -> RunDetails {
    let mut long = run_details();
    let step = long.steps[1].clone();
    long.steps = (0..steps)
        .map(|at| {
            let state = if at % 7 == 3 {
                "проверка 日本語の状態の名前が長い".to_owned()
            } else {
                format!("state_{at}")
            };
            synthdev::tui::history_browser::step_list::StepLine {
                step: at as u32 + 1,
                state: state.into(),
                ..step.clone()
            }
        })
        .collect();
    long.row.workflow = "größer 日本語のワークフロー".into();
    long.facts.push(("input".to_owned(), ODD.to_owned()));
    long
}

const HISTORY: &[Row] = &[
    ("reading", open_history),
    ("error", |desk| {
        open_history(desk);
        send_past_reply(
            desk,
            HistoryResponse::Page(Err("the runs cannot be read: the disk is full (os error 28)".into())),
        );
    }),
    ("streaming", |desk| {
        open_history(desk);
        let mut rows = many_rows(0, 3);
        rows[0].status = RunStatus::Running;
        rows[0].status_text = "code: coder writes".into();
        answer_page(desk, rows, false);
    }),
    ("long", |desk| {
        open_history(desk);
        answer_page(desk, many_rows(0, 190), false);
        desk.draw_screen(80, 24);
        desk.key(KeyCode::End);
    }),
    ("unicode", |desk| {
        open_history(desk);
        let mut rows = many_rows(0, 4);
        for row in &mut rows {
            row.workflow = "größer 日本語のワークフロー".into();
            (row.text, row.status_text) =
                (ODD.replace(['\x1b', '\t'], " "), ODD.replace(['\x1b', '\t'], " "));
        }
        rows[1].text = "e\u{301}".repeat(300);
        answer_page(desk, rows, false);
    }),
    ("searching", |desk| {
        open_history(desk);
        answer_page(desk, many_rows(0, 4), false);
        desk.type_text("/pars");
    }),
    ("run_reading", |desk| {
        open_history(desk);
        answer_page(desk, many_rows(0, 2), false);
        desk.key(KeyCode::Enter);
    }),
    ("run_error", |desk| {
        open_history(desk);
        answer_page(desk, many_rows(0, 2), false);
        desk.key(KeyCode::Enter);
        send_past_reply(desk, HistoryResponse::Opened(Err("run run000000000 was removed".into())));
    }),
    ("run_long", |desk| {
        *desk = in_run_of(odd_run_details(120));
        desk.draw_screen(80, 24);
        desk.key(KeyCode::End);
    }),
    ("text_long", |desk| {
        *desk = in_run();
        desk.key(KeyCode::Char('w'));
        let items = (0..60).map(|at| {
            TranscriptItem::Block(TranscriptBlock::new(ItemTone::Plain, "", &format!("{at} {ODD}")))
        });
        let text = HistoryText {
            title: format!("why step 2 {ODD}"),
            items: items.collect(),
            ..HistoryText::default()
        };
        send_past_reply(desk, HistoryResponse::Text(Ok(text)));
        desk.draw_screen(80, 24);
        desk.key(KeyCode::PageDown);
    }),
    ("fork", |desk| {
        *desk = in_run();
        desk.type_text("f").type_text("limit=5");
    }),
];

#[test]
fn the_history() {
    check_rows("history", HISTORY);
}

fn in_run_of(look: RunDetails) -> TuiHarness {
    let mut desk = TuiHarness::new();
    open_history(&mut desk);
    answer_page(&mut desk, many_rows(0, 2), false);
    desk.key(KeyCode::Enter);
    send_past_reply(&mut desk, HistoryResponse::Opened(Ok(Some(Box::new(look)))));
    desk
}

fn files(count: usize) -> Vec<EditFile> {
    let one = |at: usize| EditFile {
        name: format!(".synthdev/workflows/{}_{at}.json", if at % 5 == 2 { "größer_日本語" } else { "mine" }),
        definition_names: vec![format!("mine_{at}"), "other".into()],
        file_kind: if at.is_multiple_of(2) { EditFileKind::Workflow } else { EditFileKind::Role },
        problem: (at % 4 == 1).then(|| format!("3:5: error[C04]: unknown key {ODD}")),
        ..file(ConfigLayer::Project)
    };
    (0..count).map(one).collect()
}

const EDITOR: &[Row] = &[
    ("files_reading", |desk| {
        desk.line("/edit");
    }),
    ("files_error", |desk| {
        desk.line("/edit");
        send_editor_reply(
            desk,
            EditorResponse::Files(Err("the directory .synthdev cannot be read (permission denied)".into())),
        );
    }),
    ("files_empty", |desk| {
        desk.line("/edit");
        send_editor_reply(desk, EditorResponse::Files(Ok(Vec::new())));
    }),
    ("files_long", |desk| {
        desk.line("/edit");
        send_editor_reply(desk, EditorResponse::Files(Ok(files(90))));
        desk.draw_screen(80, 24);
        for _ in 0..60 {
            desk.key(KeyCode::Down);
        }
    }),
    ("files_missing", |desk| {
        desk.line("/edit");
        send_editor_reply(desk, EditorResponse::Files(Ok(files(9))));
        desk.type_text("zzz");
    }),
    ("text_empty", |desk| *desk = open_in_layer(ConfigLayer::Project, "")),
    ("text_checking", |desk| {
        *desk = open_in_layer(ConfigLayer::BuiltIn, "{\n  \"workflow_name\": \"mine\"\n}\n")
    }),
    ("text_error", |desk| {
        *desk = open_in_layer(
            ConfigLayer::Project,
            "{\n  \"workflow_name\": \"mine\",\n  \"states\": [\n    { \"name\": \"start\", \"transition\": [{ \"target\": \"nowhere\" }] },\n    { \"nam\": \"x\" }\n  ]\n}\n",
        );
        checked(desk);
        desk.key(KeyCode::F(4));
    }),
    ("text_long", |desk| {
        let lines: String =
            (0..400).map(|at| format!("  \"key_{at}\": [{}],\n", "1, ".repeat(at % 90))).collect();
        *desk = open_in_layer(ConfigLayer::Project, &lines);
        desk.draw_screen(80, 24);
        for _ in 0..9 {
            desk.key(KeyCode::PageDown).draw_screen(80, 24);
        }
        desk.key(KeyCode::End);
    }),
    ("text_unicode", |desk| {
        *desk =
            open_in_layer(ConfigLayer::Project, &format!("{{\"日本語\": \"{ODD}\",\n \"é\": 1 // שלום\n}}"));
        let report = EditorCheckReport {
            graphs: vec![graph("größer", &states(&["始め", "проверка🧪", "stop"]))],
            ..EditorCheckReport::default()
        };
        send_editor_reply(desk, EditorResponse::Checked { version: 0, report: Box::new(report) });
        desk.key(KeyCode::Down).key(KeyCode::End);
    }),
    ("graph", |desk| {
        *desk = edited();
        desk.key(KeyCode::F(6));
    }),
    ("find", |desk| {
        *desk = edited();
        desk.press_control('f').type_text("target");
    }),
    ("offers", |desk| {
        *desk = edited();
        desk.press_control(' ');
    }),
    ("leaving", |desk| {
        *desk = edited();
        desk.type_text("x").key(KeyCode::Esc);
    }),
];

#[test]
fn the_editor() {
    check_rows("editor", EDITOR);
}

const PAGE: &[Row] = &[
    ("help", |desk| {
        desk.line("/help").draw_screen(80, 24);
    }),
    ("keys", |desk| {
        desk.line("/keys").draw_screen(80, 24);
    }),
    ("roles", |desk| {
        desk.send_message(UiMessage::answered(DefinitionResponse::Roles {
            group: String::new(),
            roles: odd_roles(),
        }));
    }),
    ("workflows", |desk| {
        desk.send_message(UiMessage::answered(DefinitionResponse::Workflows(odd_workflows())));
    }),
];

#[test]
fn help_keys_and_lists() {
    check_rows("page", PAGE);
}

fn odd_roles() -> Vec<RoleLine> {
    let mut roles = role_lines();
    roles.push(RoleLine { name: "程序员".into(), description: ODD.into(), ..role_lines()[0].clone() });
    roles.push(RoleLine {
        name: "a_role_with_a_name_longer_than_any_column".into(),
        description: "words ".repeat(40),
        ..role_lines()[0].clone()
    });
    roles
}

fn odd_workflows() -> Vec<WorkflowLine> {
    let mut workflows = workflow_lines();
    workflows.push(WorkflowLine {
        name: "größer_日本語のワークフロー".into(),
        description: ODD.into(),
        ..WorkflowLine::default()
    });
    workflows.push(WorkflowLine {
        name: "a_workflow_with_a_name_longer_than_any_column".into(),
        description: "words ".repeat(40),
        ..WorkflowLine::default()
    });
    workflows
}

fn names(desk: &mut TuiHarness) {
    desk.send_message(UiMessage::answered(DefinitionResponse::Names {
        workflows: odd_workflows(),
        roles: odd_roles(),
    }));
}

const PALETTE: &[Row] = &[
    ("all", |desk| {
        desk.type_text("/");
    }),
    ("long", |desk| {
        desk.type_text("/");
        for _ in 0..25 {
            desk.key(KeyCode::Down);
        }
    }),
    ("missing", |desk| {
        desk.type_text("/zzzz");
    }),
    ("blocked", |desk| {
        desk.workflow().type_text("/r");
    }),
    ("unicode", |desk| {
        desk.type_text("/workflow ");
        names(desk);
        desk.key(KeyCode::Down);
    }),
    ("files", |desk| {
        desk.type_text("look at @");
        let long = format!("src/{}/main.rs", "a_long_directory/".repeat(12));
        let files = ["src/main.rs", "docs/größe 日本語.md", &long].map(str::to_owned).to_vec();
        desk.send_message(UiMessage::answered(ProjectResponse::Files(Ok(files))));
        names(desk);
    }),
    ("files_error", |desk| {
        desk.type_text("look at @");
        desk.send_message(UiMessage::answered(ProjectResponse::Files(Err(
            "the project cannot be read".into()
        ))));
    }),
    ("search", |desk| {
        desk.line("/help first").line("/cost second").press_control('r').type_text("firs");
    }),
    ("typed", |desk| {
        for at in 0..14 {
            desk.type_text(&format!("line {at} 世界 {}", "word ".repeat(9)))
                .press_key(KeyCode::Enter, KeyModifiers::ALT);
        }
    }),
];

#[test]
fn the_palette() {
    check_rows("palette", PALETTE);
}

/// Several branches speak at once, one with calls that a model made in one reply.
#[test]
fn rows_of_the_panes_while_much_goes_on() {
    let busy = |desk: &mut TuiHarness| {
        show_pause(desk);
        for at in 0..6_u64 {
            desk.run_event("r1", model_called(50 + at, &format!("worker_{at}"), ConversationSide::Assistant))
                .run_event("r1", delta_event(50 + at, DeltaKind::Text, &format!("branch {at} writes ")));
        }
        let call = |at: u64| ToolCall {
            id: format!("t{at}"),
            name: "read_files".into(),
            arguments: "{}".into(),
            original: None,
        };
        let mut reply = model_replied(50, "worker_0", ConversationSide::Assistant, "I read two files.", "");
        if let RunEvent::Replied { tool_calls, .. } = &mut reply {
            *tool_calls = vec![call(1), call(2)];
        }
        desk.run_event("r1", reply).run_event("r1", tool(60, "read_files", json!({"file_paths": ["a.rs"]})));
        desk.run_event("r1", tool(61, "read_files", json!({"file_paths": ["b.rs"]})));
    };
    for pane in ["Alt+3", "Alt+5", "Alt+6"] {
        let mut desk = TuiHarness::new();
        busy(&mut desk);
        keys(&mut desk, pane);
        desk.check_shots(&format!(
            "busy_{}",
            pane.trim_start_matches("Alt+")
                .replace('3', "agents")
                .replace('5', "tools")
                .replace('6', "timeline")
        ));
    }
}
