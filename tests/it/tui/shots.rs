//! Pictures: every pane, page and list in every state, at every size that matters. One file per pane and state in
//! `tests/frames/panes`, with all sizes in it; rows that are alike are told, not repeated.

use synthdev::domain::message::ToolCall;
use synthdev::domain::workflow::PauseKind;
use synthdev::tui::editor::{EditFile, EditFileKind, EditorCheckReport, EditorReply};
use synthdev::tui::history_browser::{HistoryReply as Past, HistoryText, RunDetails};
use synthdev::tui::transcript::item::{ItemTone, TranscriptBlock, TranscriptItem};
use unicode_width::UnicodeWidthStr;

use super::archive::{in_run, look, many, page, tell};
use super::editor::{check as checked, file, opened as edited, opened_in, told};
use super::panes::{graph, keys, states, tool, tool_done};
use super::*;

/// The three that everything must look good at, and two at which it must still be of use.
const SIZES: [(u16, u16); 5] = [(80, 24), (120, 40), (200, 50), (40, 10), (20, 5)];

/// The whole Unicode that people and models send: wide, combined, joined, from right to left, steering.
const ODD: &str = "日本語の長い文章 e\u{301}e\u{301} 👩‍👩‍👧 🇩🇪 שלום עולם مرحبا \u{202e}evil\u{202c} zero\u{200b}width \x1b[31mred\x1b[0m a\tb";

impl Desk {
    /// The screen at every size, as one text that is kept.
    pub(super) fn shot(&mut self, name: &str) {
        let sized = |size: (u16, u16)| {
            let (columns, rows) = size;
            let screen = self.screen(columns, rows);
            assert_clean(name, size, &screen);
            format!("{columns}×{rows}\n{}", squeezed(&screen))
        };
        let shown = SIZES.map(sized).join("\n");
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../../frames/panes");
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
fn squeezed(screen: &str) -> String {
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
type Row = (&'static str, fn(&mut Desk));

fn check(pane: &str, rows: &[Row]) {
    for (state, play) in rows {
        let mut desk = Desk::new();
        desk.screen(80, 24);
        play(&mut desk);
        desk.screen(80, 24);
        desk.shot(&format!("{pane}_{state}"));
    }
}

fn answering(desk: &mut Desk) -> &mut Desk {
    desk.chat().run("c1", called(7, "coder", ConversationSide::Assistant))
}

const HALF: &str = "# Plan\n\n1. **Read** `src/main.rs` and find where the arguments are parsed, which is a long sentence that wraps\n2. Add the flag\n\n| file | lines |\n|:-----|------:|\n| a.rs | 12 |\n\n```rust\nfn main() { // start\n    println!(\"hi";

const CONVERSATION: &[Row] = &[
    ("empty", |_| {}),
    ("streaming", |desk| {
        answering(desk)
            .run("c1", delta(7, DeltaKind::Reasoning, "The person wants a flag.\nI plan it."))
            .run("c1", delta(7, DeltaKind::Text, HALF));
        desk.line("and then the tests, please").typed("half a li");
    }),
    ("error", |desk| {
        let failure = RunError::new(
            "model.auth",
            "The provider refused the key",
            "401 from https://api.example.com/v1/chat/completions: invalid key",
        );
        answering(desk)
            .run("c1", delta(7, DeltaKind::Text, "I begin with"))
            .run(
                "c1",
                tool(
                    8,
                    "execute_terminal",
                    json!({"command": "cargo test --all-features --workspace -- --nocapture"}),
                ),
            )
            .run(
                "c1",
                tool_done(
                    8,
                    "execute_terminal",
                    false,
                    "error[E0308]: mismatched types\n --> src/main.rs:3:5",
                ),
            )
            .run(
                "c1",
                RunEvent::ToolRefused {
                    agent: "coder".into(),
                    tool: "delete_everything".into(),
                    reason: "there is no such tool; there are read_files, edit_file, execute_terminal".into(),
                },
            )
            .run(
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
            .run(
                "c1",
                finished(RunStatus::Failed, None, Some(failure.hint("set OPENAI_API_KEY, or /configure"))),
            );
    }),
    ("long", |desk| {
        desk.chat();
        for at in 0..60 {
            desk.run("c1", said(MessageAuthor::Human, &format!("question {at}, with some more words")))
                .run(
                    "c1",
                    replied(
                        100 + at,
                        "coder",
                        ConversationSide::Assistant,
                        &format!("Answer {at}: {}", "many words ".repeat(30)),
                        "why",
                    ),
                )
                .run("c1", tool(1_000 + at, "read_files", json!({"file_paths": [format!("src/{at}.rs")]})))
                .run("c1", tool_done(1_000 + at, "read_files", true, &"line\n".repeat(400)));
        }
        desk.screen(80, 24);
        for _ in 0..9 {
            desk.key(KeyCode::PageUp).screen(80, 24);
        }
    }),
    ("unicode", |desk| {
        answering(desk)
                    .run("c1", replied(7, "программист", ConversationSide::Assistant, &format!("{ODD}\n\n- {ODD}\n\n> {ODD}\n\n```\n{ODD}\n```\n\n| {ODD} | x |\n|--|--|\n| y | {ODD} |"), ODD))
                    .run("c1", tool(8, "قراءة", json!({"مسار": ODD})))
                    .run("c1", tool_done(8, "قراءة", true, ODD));
        desk.typed("世界 e\u{301} שלום");
    }),
    ("chosen", |desk| {
        answering(desk)
            .run(
                "c1",
                replied(7, "coder", ConversationSide::Assistant, "I look at it.", "One thing\nand another"),
            )
            .run("c1", tool(8, "execute_terminal", json!({"command": "ls"})))
            .run("c1", tool_done(8, "execute_terminal", true, "one.rs\ntwo.rs\nthree.rs"));
        desk.alt('1').screen(80, 24);
        desk.typed("[").key(KeyCode::Enter);
    }),
    ("searched", |desk| {
        answering(desk).run("c1", replied(7, "coder", ConversationSide::Assistant, HALF, ""));
        desk.alt('1').screen(80, 24);
        desk.typed("/flag").key(KeyCode::Enter);
    }),
];

#[test]
fn the_conversation() {
    check("conversation", CONVERSATION);
}

fn asks(desk: &mut Desk) -> &mut Desk {
    desk.run("r1", workflow_started("coder_reviewer", "add a --json flag")).run("r1", entered("code"))
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
        asks(desk).run("r1", approval(7, "execute_terminal", command_preview("cargo test")));
        desk.run("r1", approval(8, "execute_terminal", command_preview("ls")))
            .run("r1", approval(9, "write_file", ToolPreview::Text { text: "x".into() }));
    }),
    ("long", |desk| {
        let diff: String = (0..80)
            .map(|at| format!("-    old_line({at});\n+    new_line({at}, \"{}\");\n", "word ".repeat(20)))
            .collect();
        let diff = format!("@@ -1,80 +1,80 @@\n{diff}");
        asks(desk).run(
            "r1",
            approval(
                7,
                "edit_file",
                ToolPreview::Diff { path: "src/a/very/long/path/to/some/file/that/is/deep.rs".into(), diff },
            ),
        );
        desk.screen(80, 24);
        desk.key(KeyCode::PageDown);
    }),
    ("unicode", |desk| {
        let mut asked = approval(7, "قراءة\x1b[2J", command_preview(ODD));
        if let RunEvent::ApprovalAsked { agent, until, .. } = &mut asked {
            (*agent, *until) = ("программист".into(), Some(Timestamp(1_060_000)));
        }
        asks(desk).run("r1", asked);
    }),
    ("reason", |desk| {
        asks(desk).run("r1", approval(7, "execute_terminal", command_preview("rm -rf target")));
        desk.typed("r").typed("not now: the build of the other branch is still going on in there");
    }),
    ("written", |desk| {
        asks(desk).run("r1", person(20, pause(PauseKind::Text, vec![])));
        desk.pause(1_000).typed("an answer");
    }),
    ("choices", |desk| {
        let choices = (1..30).map(|at| format!("choice {at} {}", "and more words ".repeat(6))).collect();
        asks(desk).run("r1", person(20, pause(PauseKind::Choice, choices)));
        desk.pause(1_000);
        for _ in 0..20 {
            desk.key(KeyCode::Down);
        }
    }),
    ("failed", |desk| {
        let failure = RunError::new("tool.failed", "A step failed", "exit 1: no space left on device");
        asks(desk).run("r1", person(20, UserQuestion::Failed { failure: Box::new(failure) }));
    }),
];

#[test]
fn approvals_and_questions() {
    check("approval", APPROVAL);
}

fn history(desk: &mut Desk) {
    desk.line("/history");
}

fn history_tells(desk: &mut Desk, told: Past) {
    let numbers = desk.take().into_iter().filter_map(|cmd| match cmd {
        UiCommand::Archive(number, asked)
            if !matches!(*asked, synthdev::tui::history_browser::HistoryRequest::Changes) =>
        {
            Some(number)
        }
        _ => None,
    });
    let number = numbers.last().expect("nothing was asked");
    tell(desk, number, told);
}

fn odd_look(steps: usize) -> RunDetails {
    let mut long = look();
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
    ("reading", history),
    ("error", |desk| {
        history(desk);
        history_tells(
            desk,
            Past::Page(Err("the runs cannot be read: the disk is full (os error 28)".into())),
        );
    }),
    ("streaming", |desk| {
        history(desk);
        let mut rows = many(0, 3);
        rows[0].status = RunStatus::Running;
        rows[0].stands = "code: coder writes".into();
        page(desk, rows, false);
    }),
    ("long", |desk| {
        history(desk);
        page(desk, many(0, 190), false);
        desk.screen(80, 24);
        desk.key(KeyCode::End);
    }),
    ("unicode", |desk| {
        history(desk);
        let mut rows = many(0, 4);
        for row in &mut rows {
            row.workflow = "größer 日本語のワークフロー".into();
            (row.text, row.stands) = (ODD.replace(['\x1b', '\t'], " "), ODD.replace(['\x1b', '\t'], " "));
        }
        rows[1].text = "e\u{301}".repeat(300);
        page(desk, rows, false);
    }),
    ("searching", |desk| {
        history(desk);
        page(desk, many(0, 4), false);
        desk.typed("/pars");
    }),
    ("run_reading", |desk| {
        history(desk);
        page(desk, many(0, 2), false);
        desk.key(KeyCode::Enter);
    }),
    ("run_error", |desk| {
        history(desk);
        page(desk, many(0, 2), false);
        desk.key(KeyCode::Enter);
        history_tells(desk, Past::Opened(Err("run run000000000 was removed".into())));
    }),
    ("run_long", |desk| {
        *desk = in_run_of(odd_look(120));
        desk.screen(80, 24);
        desk.key(KeyCode::End);
    }),
    ("text_long", |desk| {
        *desk = in_run();
        desk.key(KeyCode::Char('w'));
        let items = (0..60).map(|at| {
            TranscriptItem::Block(TranscriptBlock::new(ItemTone::Plain, "", &format!("{at} {ODD}")))
        });
        let text = HistoryText { title: format!("why step 2 {ODD}"), items: items.collect(), step: None };
        history_tells(desk, Past::Text(Ok(text)));
        desk.screen(80, 24);
        desk.key(KeyCode::PageDown);
    }),
    ("fork", |desk| {
        *desk = in_run();
        desk.typed("f").typed("limit=5");
    }),
];

#[test]
fn the_history() {
    check("history", HISTORY);
}

fn in_run_of(look: RunDetails) -> Desk {
    let mut desk = Desk::new();
    history(&mut desk);
    page(&mut desk, many(0, 2), false);
    desk.key(KeyCode::Enter);
    history_tells(&mut desk, Past::Opened(Ok(Some(Box::new(look)))));
    desk
}

fn files(count: usize) -> Vec<EditFile> {
    let one = |at: usize| EditFile {
        name: format!(".synthdev/workflows/{}_{at}.json", if at % 5 == 2 { "größer_日本語" } else { "mine" }),
        defines: vec![format!("mine_{at}"), "other".into()],
        what: if at.is_multiple_of(2) { EditFileKind::Workflow } else { EditFileKind::Role },
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
        told(
            desk,
            EditorReply::Files(Err("the directory .synthdev cannot be read (permission denied)".into())),
        );
    }),
    ("files_empty", |desk| {
        desk.line("/edit");
        told(desk, EditorReply::Files(Ok(Vec::new())));
    }),
    ("files_long", |desk| {
        desk.line("/edit");
        told(desk, EditorReply::Files(Ok(files(90))));
        desk.screen(80, 24);
        for _ in 0..60 {
            desk.key(KeyCode::Down);
        }
    }),
    ("files_missing", |desk| {
        desk.line("/edit");
        told(desk, EditorReply::Files(Ok(files(9))));
        desk.typed("zzz");
    }),
    ("text_empty", |desk| *desk = opened_in(ConfigLayer::Project, "")),
    ("text_checking", |desk| {
        *desk = opened_in(ConfigLayer::BuiltIn, "{\n  \"workflow_name\": \"mine\"\n}\n")
    }),
    ("text_error", |desk| {
        *desk = opened_in(
            ConfigLayer::Project,
            "{\n  \"workflow_name\": \"mine\",\n  \"states\": [\n    { \"name\": \"start\", \"transition\": [{ \"target\": \"nowhere\" }] },\n    { \"nam\": \"x\" }\n  ]\n}\n",
        );
        checked(desk);
        desk.key(KeyCode::F(4));
    }),
    ("text_long", |desk| {
        let lines: String =
            (0..400).map(|at| format!("  \"key_{at}\": [{}],\n", "1, ".repeat(at % 90))).collect();
        *desk = opened_in(ConfigLayer::Project, &lines);
        desk.screen(80, 24);
        for _ in 0..9 {
            desk.key(KeyCode::PageDown).screen(80, 24);
        }
        desk.key(KeyCode::End);
    }),
    ("text_unicode", |desk| {
        *desk = opened_in(ConfigLayer::Project, &format!("{{\"日本語\": \"{ODD}\",\n \"é\": 1 // שלום\n}}"));
        let report = EditorCheckReport {
            graphs: vec![graph("größer", &states(&["始め", "проверка🧪", "stop"]))],
            findings: Vec::new(),
        };
        told(desk, EditorReply::Checked { version: 0, report: Box::new(report) });
        desk.key(KeyCode::Down).key(KeyCode::End);
    }),
    ("graph", |desk| {
        *desk = edited();
        desk.key(KeyCode::F(6));
    }),
    ("find", |desk| {
        *desk = edited();
        desk.control('f').typed("target");
    }),
    ("offers", |desk| {
        *desk = edited();
        desk.control(' ');
    }),
    ("leaving", |desk| {
        *desk = edited();
        desk.typed("x").key(KeyCode::Esc);
    }),
];

#[test]
fn the_editor() {
    check("editor", EDITOR);
}

const PAGE: &[Row] = &[
    ("help", |desk| {
        desk.line("/help").screen(80, 24);
    }),
    ("keys", |desk| {
        desk.line("/keys").screen(80, 24);
    }),
    ("roles", |desk| {
        desk.msg(UiMessage::Reply(BackendReply::Roles { group: String::new(), roles: odd_roles() }));
    }),
    ("workflows", |desk| {
        desk.msg(UiMessage::Reply(BackendReply::Workflows(odd_workflows())));
    }),
];

#[test]
fn help_keys_and_lists() {
    check("page", PAGE);
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

fn names(desk: &mut Desk) {
    desk.msg(UiMessage::Reply(BackendReply::Names { workflows: odd_workflows(), roles: odd_roles() }));
}

const PALETTE: &[Row] = &[
    ("all", |desk| {
        desk.typed("/");
    }),
    ("long", |desk| {
        desk.typed("/");
        for _ in 0..25 {
            desk.key(KeyCode::Down);
        }
    }),
    ("missing", |desk| {
        desk.typed("/zzzz");
    }),
    ("blocked", |desk| {
        desk.workflow().typed("/r");
    }),
    ("unicode", |desk| {
        desk.typed("/workflow ");
        names(desk);
        desk.key(KeyCode::Down);
    }),
    ("files", |desk| {
        desk.typed("look at @");
        let long = format!("src/{}/main.rs", "a_long_directory/".repeat(12));
        let files = ["src/main.rs", "docs/größe 日本語.md", &long].map(str::to_owned).to_vec();
        desk.msg(UiMessage::Reply(BackendReply::Files(Ok(files))));
        names(desk);
    }),
    ("files_error", |desk| {
        desk.typed("look at @");
        desk.msg(UiMessage::Reply(BackendReply::Files(Err("the project cannot be read".into()))));
    }),
    ("search", |desk| {
        desk.line("/help first").line("/cost second").control('r').typed("firs");
    }),
    ("typed", |desk| {
        for at in 0..14 {
            desk.typed(&format!("line {at} 世界 {}", "word ".repeat(9)))
                .press(KeyCode::Enter, KeyModifiers::ALT);
        }
    }),
];

#[test]
fn the_palette() {
    check("palette", PALETTE);
}

/// Several branches speak at once, one with calls that a model made in one reply.
#[test]
fn rows_of_the_panes_while_much_goes_on() {
    let busy = |desk: &mut Desk| {
        asks(desk);
        for at in 0..6_u64 {
            desk.run("r1", called(50 + at, &format!("worker_{at}"), ConversationSide::Assistant))
                .run("r1", delta(50 + at, DeltaKind::Text, &format!("branch {at} writes ")));
        }
        let call = |at: u64| ToolCall {
            id: format!("t{at}"),
            name: "read_files".into(),
            arguments: "{}".into(),
            original: None,
        };
        let mut reply = replied(50, "worker_0", ConversationSide::Assistant, "I read two files.", "");
        if let RunEvent::Replied { tool_calls, .. } = &mut reply {
            *tool_calls = vec![call(1), call(2)];
        }
        desk.run("r1", reply).run("r1", tool(60, "read_files", json!({"file_paths": ["a.rs"]})));
        desk.run("r1", tool(61, "read_files", json!({"file_paths": ["b.rs"]})));
    };
    for pane in ["Alt+3", "Alt+5", "Alt+6"] {
        let mut desk = Desk::new();
        busy(&mut desk);
        keys(&mut desk, pane);
        desk.shot(&format!(
            "busy_{}",
            pane.trim_start_matches("Alt+")
                .replace('3', "agents")
                .replace('5', "tools")
                .replace('6', "timeline")
        ));
    }
}
