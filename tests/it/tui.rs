//! The screen: rows of keys and events → commands, and frames as text at four sizes.

mod archive;
mod branches;
mod charts;
mod conversation;
mod editor;
mod file_work;
mod focus;
mod fuzz;
mod graph;
mod history;
mod history_graph;
mod index;
mod items;
mod layer_frames;
mod mouse;
mod notifications;
mod panes;
mod picture_runs;
mod pictures;
mod prompt_frames;
mod question_answers;
mod question_frames;
mod questions;
mod review;
mod running_commands;
mod setup;
mod shell;
mod shots;
mod situations;
mod steering;
mod styled_frames;
mod tasks;
mod typed_sentences;
mod typing;

use std::collections::BTreeMap;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::json;
use synthdev::domain::approval::ApprovalDecision;
use synthdev::domain::context::{ConversationSide, MessageAuthor};
use synthdev::domain::cost::{TokenPrice, TokenUsage};
use synthdev::domain::decision_source::DecisionSource;
use synthdev::domain::ids::{CallId, RunId, SnapshotId, Timestamp};
use synthdev::domain::journal::RunStatus;
use synthdev::domain::message::ChatRole;
use synthdev::domain::model::DeltaKind;
use synthdev::domain::run_error::RunError;
use synthdev::domain::snapshot::{SkipReason, SkippedPath};
use synthdev::domain::source_location::ConfigLayer;
use synthdev::domain::tool::{ToolPreview, ToolRisk};
use synthdev::domain::workflow::Budget;
use synthdev::engine::effect::UserQuestion;
use synthdev::engine::event::{PublishedEvent, RunEvent, StepEvent};
use synthdev::engine::input::UserAnswer;
use synthdev::engine::steering::SteeringAction;
use synthdev::runtime::command::RunCommand;
use synthdev::service::session::{
    ActionPreview, ChosenRole, DefinitionRequest, DefinitionResponse, LookupRequest, PendingStart,
    ProjectRequest, ProjectResponse, RoleLine, RunFilter, RunListPurpose, RunRequest, RunResponse,
    SessionRequest, SnapshotOperation, StartPreparation, StartRequest, StartResponse, StatusFacts,
    WorkflowLine,
};
use synthdev::tui::display::DisplayRequest;
use synthdev::tui::history_browser::HistoryRequest;
use synthdev::tui::model::UiModel;
use synthdev::tui::msg::{UiCommand, UiMessage};
use synthdev::tui::program::first_model::initial_model;
use synthdev::tui::theme::ColorTheme;
use synthdev::tui::update::update_model;
use synthdev::tui::view;
use synthdev::tui::{FirstAction, TrustQuestion};

/// Usable, good, at its best, and with room for two panes.
const FRAME_SIZES: [(u16, u16); 4] = [(60, 20), (80, 24), (120, 36), (250, 70)];

/// The screen without a terminal: keys and events in, pictures out; its commands are collected instead of performed.
struct TuiHarness {
    model: UiModel,
    commands: Vec<UiCommand>,
    /// Texts that later sessions shall have: they are with everything that is sent.
    kept_texts: Vec<String>,
    /// How often those of earlier sessions were asked for.
    recall_count: usize,
    /// How often what MCP servers offer was asked for.
    mcp_name_count: usize,
    /// Workflows whose last runs the history has asked for, with the numbers of the requests.
    trend_requests: Vec<(u64, String)>,
    clock: i64,
}

impl TuiHarness {
    fn new() -> Self {
        let facts = StatusFacts {
            role: "coder".into(),
            model: "m-base".into(),
            tools_available: 5,
            tools_total: 12,
            reads_files: true,
            branch: Some("main".into()),
            environment: Vec::new(),
            notice: None,
        };
        let (mut model, cmds) =
            initial_model(facts, None, None, &["synthdev 0.1.0".into()], ColorTheme::default());
        model.size = (80, 24);
        Self {
            model,
            commands: cmds,
            kept_texts: Vec::new(),
            recall_count: 0,
            mcp_name_count: 0,
            trend_requests: Vec::new(),
            clock: 1_000_000,
        }
    }

    fn send_message(&mut self, msg: UiMessage) -> &mut Self {
        for cmd in update_model(&mut self.model, msg) {
            match cmd {
                UiCommand::Ask(SessionRequest::Project(ProjectRequest::Remember(text))) => {
                    self.kept_texts.push(text)
                }
                UiCommand::Ask(SessionRequest::Project(ProjectRequest::Recall)) => self.recall_count += 1,
                UiCommand::Ask(SessionRequest::Lookup(LookupRequest::McpNames)) => self.mcp_name_count += 1,
                UiCommand::Display(DisplayRequest::History(number, asked))
                    if matches!(*asked, HistoryRequest::Trend { .. }) =>
                {
                    let HistoryRequest::Trend { workflow } = *asked else { continue };
                    self.trend_requests.push((number, workflow));
                }
                cmd => self.commands.push(cmd),
            }
        }
        self
    }

    /// A key of somebody who has seen the last frame, and has waited until a question takes keys.
    fn press_key(&mut self, code: KeyCode, modifiers: KeyModifiers) -> &mut Self {
        self.settle_question().press_before_seen(code, modifiers)
    }

    /// A frame is drawn, and the clock goes on until the question in it takes keys.
    fn settle_question(&mut self) -> &mut Self {
        view::arrange_screen(&mut self.model);
        if let Some(left) = self.model.question_guard() {
            // a moment more, so that the key is none of a text that is being typed
            self.clock = self.clock.max(self.model.now.0) + i64::try_from(left).unwrap() + 200;
            self.send_message(UiMessage::Tick(Timestamp(self.clock)));
        }
        self
    }

    /// A key of somebody who has not seen what came last.
    fn press_before_seen(&mut self, code: KeyCode, modifiers: KeyModifiers) -> &mut Self {
        self.clock += 100;
        self.send_message(UiMessage::Key(KeyEvent::new(code, modifiers), Timestamp(self.clock)))
    }

    fn key(&mut self, code: KeyCode) -> &mut Self {
        self.press_key(code, KeyModifiers::NONE)
    }

    /// The letter of an answer, and Enter, which gives it.
    fn answer(&mut self, letter: char) -> &mut Self {
        self.key(KeyCode::Char(letter)).key(KeyCode::Enter)
    }

    fn press_control(&mut self, c: char) -> &mut Self {
        self.press_key(KeyCode::Char(c), KeyModifiers::CONTROL)
    }

    fn type_text(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            self.key(KeyCode::Char(c));
        }
        self
    }

    fn line(&mut self, text: &str) -> &mut Self {
        self.type_text(text).key(KeyCode::Enter)
    }

    fn advance_clock(&mut self, ms: i64) -> &mut Self {
        self.clock += ms;
        self
    }

    fn run_event(&mut self, run: &str, event: RunEvent) -> &mut Self {
        self.clock += 10;
        self.send_message(UiMessage::Run(PublishedEvent {
            run: RunId::from(run),
            at: Timestamp(self.clock),
            at_step: 0,
            event,
        }))
    }

    fn take_commands(&mut self) -> Vec<UiCommand> {
        std::mem::take(&mut self.commands)
    }

    /// Every cell with its style.
    fn draw_cells(&mut self, width: u16, height: u16) -> Buffer {
        self.send_message(UiMessage::Resize(width, height));
        view::arrange_screen(&mut self.model);
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| view::draw_screen(&self.model, frame)).unwrap();
        terminal.backend().buffer().clone()
    }

    fn draw_screen(&mut self, width: u16, height: u16) -> String {
        let buffer = self.draw_cells(width, height);
        let mut text = String::new();
        for y in 0..height {
            let mut row = String::new();
            let mut skip = 0;
            for x in 0..width {
                let symbol = buffer[(x, y)].symbol();
                if skip > 0 {
                    skip -= 1;
                    continue;
                }
                skip = unicode_width::UnicodeWidthStr::width(symbol).saturating_sub(1);
                row.push_str(symbol);
            }
            text.push_str(row.trim_end());
            text.push('\n');
        }
        text
    }

    /// What was typed for the workflow and nobody has read.
    fn unread_texts(&self) -> Vec<String> {
        let run = self.model.find_run(&RunId::from("r1"));
        run.into_iter().flat_map(|run| run.outbox.iter().cloned()).collect()
    }

    /// One file with the screen at every size that it must look good at.
    fn check_frames(&mut self, name: &str) {
        let asked_before = self.commands.len();
        self.check_shots_in("../../frames", name, &FRAME_SIZES);
        // what follows presses keys on the usual screen, and a large one asks for the graph
        self.draw_screen(80, 24);
        self.commands.truncate(asked_before);
    }

    /// The same at the moment as it is: a question in front may take no keys yet.
    fn check_unsettled_frames(&mut self, name: &str) {
        self.keep_shots("../../frames", name, &FRAME_SIZES);
    }

    /// A file for each size.
    fn check_frames_at(&mut self, name: &str, sizes: &[(u16, u16)]) {
        self.settle_question();
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../frames");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        for (width, height) in sizes {
            let frame = self.draw_screen(*width, *height);
            settings.bind(|| insta::assert_snapshot!(format!("{name}_{width}x{height}"), frame));
        }
    }

    fn start_chat(&mut self) -> &mut Self {
        self.line("hello");
        assert_eq!(self.take_commands(), [UiCommand::ask(StartRequest::Chat { role: "coder".into() })]);
        self.send_message(UiMessage::answered(StartResponse::ChatStarted {
            role: "coder".into(),
            run: Ok(RunId::from("c1")),
            windows: BTreeMap::new(),
            warnings: vec![],
        }));
        self.run_event("c1", chat_started());
        self.run_event("c1", user_question(1, UserQuestion::Message));
        assert_eq!(self.take_commands(), [answer_command("c1", 1, "hello")]);
        self.run_event("c1", message_event(MessageAuthor::Human, "hello"))
    }

    fn workflow(&mut self) -> &mut Self {
        self.line("/workflow coder_reviewer \"add a --json flag\"");
        let name = "coder_reviewer".to_owned();
        let input = "add a --json flag".to_owned();
        assert_eq!(
            self.take_commands().pop(),
            Some(UiCommand::ask(StartRequest::Workflow { name: name.clone(), input: input.clone() }))
        );
        self.send_message(UiMessage::answered(StartResponse::WorkflowStarted {
            name,
            input,
            run: Ok(RunId::from("r1")),
            note: None,
            windows: BTreeMap::new(),
            agents: Vec::new(),
            warnings: vec![],
        }));
        self.run_event("r1", workflow_started("coder_reviewer", "add a --json flag"))
            .run_event("r1", snapshot_taken())
            .run_event("r1", state_entered("start"))
            .run_event("r1", transition("start", "code"))
            .run_event("r1", state_entered("code"))
    }
}

fn chat_started() -> RunEvent {
    RunEvent::RunStarted {
        workflow: "coder".into(),
        definition: String::new(),
        inputs: serde_json::Map::new(),
        chat: true,
        budget: None,
        replayed: false,
    }
}

fn workflow_started(name: &str, input: &str) -> RunEvent {
    let inputs = serde_json::Map::from_iter([("task".to_owned(), json!(input))]);
    RunEvent::RunStarted {
        workflow: name.into(),
        definition: String::new(),
        inputs,
        chat: false,
        budget: None,
        replayed: false,
    }
}

fn snapshot_taken() -> RunEvent {
    RunEvent::SnapshotTaken {
        id: SnapshotId::from("ab12cd34ef56"),
        label: "Workflow: coder_reviewer".into(),
        files: 312,
        skipped: vec![SkippedPath {
            path: "vendor/sub".into(),
            reason: "a repository of its own".into(),
            lack: SkipReason::Foreign,
        }],
    }
}

fn state_entered(state: &str) -> RunEvent {
    RunEvent::StateEntered {
        state: state.into(),
        visit: 1,
        step: 1,
        agent: Some("coder".into()),
        context: None,
    }
}

fn transition(from: &str, to: &str) -> RunEvent {
    RunEvent::Transitioned { from: from.into(), to: to.into(), guard: 0, tried: vec![] }
}

fn user_question(call: u64, question: UserQuestion) -> RunEvent {
    RunEvent::PersonAsked { call: CallId(call), question }
}

fn message_event(author: MessageAuthor, text: &str) -> RunEvent {
    RunEvent::MessageAdded {
        context: "main".into(),
        author,
        role: ChatRole::User,
        text: text.into(),
        private: false,
        call: None,
    }
}

fn model_called(call: u64, agent: &str, side: ConversationSide) -> RunEvent {
    RunEvent::ModelCalled {
        role: String::new(),
        state: String::new(),
        call: CallId(call),
        agent: agent.into(),
        side,
        model: "m-base".into(),
        provider: "scripted".into(),
        messages: 3,
    }
}

fn delta_event(call: u64, kind: DeltaKind, text: &str) -> RunEvent {
    RunEvent::Delta { call: CallId(call), kind, text: text.into() }
}

fn model_replied(call: u64, agent: &str, side: ConversationSide, text: &str, reasoning: &str) -> RunEvent {
    RunEvent::Replied {
        call: CallId(call),
        agent: agent.into(),
        side,
        text: text.into(),
        reasoning: reasoning.into(),
        tool_calls: vec![],
        model: "m-base".into(),
        usage: TokenUsage {
            prompt: 1_200,
            completion: 340,
            cached: 200,
            reasoning: 40,
            ..TokenUsage::default()
        },
        cost_usd: Some(0.0123),
        duration_ms: 900,
        estimated: false,
    }
}

fn approval_event(call: u64, tool: &str, preview: ToolPreview) -> RunEvent {
    RunEvent::ApprovalAsked {
        state: "code".into(),
        call: CallId(call),
        agent: "coder".into(),
        tool: tool.into(),
        risk: if tool == "edit_file" { ToolRisk::Write } else { ToolRisk::Execute },
        arguments: json!({}),
        preview: Some(Box::new(preview)),
        until: None,
    }
}

fn command_preview(command: &str) -> ToolPreview {
    ToolPreview::Command {
        command: command.into(),
        cwd: "/project".into(),
        warning: None,
        ports: Default::default(),
        background: false,
        reach: Default::default(),
    }
}

fn run_finished(status: RunStatus, output: Option<serde_json::Value>, error: Option<RunError>) -> RunEvent {
    RunEvent::Finished {
        status,
        output,
        error: error.map(Box::new),
        path: vec!["start".into(), "code".into(), "review".into(), "stop".into()],
        snapshot: Some(SnapshotId::from("ab12cd34ef56")),
        usage: TokenUsage::default(),
        cost_usd: Some(0.02),
    }
}

fn answer_command(run: &str, call: u64, text: &str) -> UiCommand {
    let answer = UserAnswer::Text { text: text.into() };
    UiCommand::Send(RunId::from(run), RunCommand::Answer { call: CallId(call), answer })
}

fn say_command(text: &str) -> UiCommand {
    UiCommand::Send(RunId::from("r1"), RunCommand::Say { text: text.into() })
}

fn decision_command(run: &str, call: u64, decision: ApprovalDecision) -> UiCommand {
    UiCommand::Send(RunId::from(run), RunCommand::Approve { call: CallId(call), decision })
}

/// `/runs`
fn runs() -> UiCommand {
    UiCommand::ask(RunRequest::List(RunFilter { limit: 20, ..RunFilter::default() }, RunListPurpose::Show))
}

fn cancel_command(run: &str) -> UiCommand {
    UiCommand::Send(RunId::from(run), RunCommand::Cancel)
}

fn interrupt_command(run: &str) -> UiCommand {
    UiCommand::Send(RunId::from(run), RunCommand::Interrupt)
}

fn workflow_lines() -> Vec<WorkflowLine> {
    vec![
        WorkflowLine {
            name: "coder_reviewer".into(),
            description: "A coder and a reviewer share one context.".into(),
            input: "the coding task".into(),
            waits_for_input: false,
            needs_input: true,
            layer: ConfigLayer::BuiltIn,
            error: None,
        },
        WorkflowLine {
            name: "tick".into(),
            layer: ConfigLayer::User,
            waits_for_input: true,
            needs_input: true,
            ..WorkflowLine::default()
        },
        WorkflowLine { name: "plain".into(), ..WorkflowLine::default() },
        WorkflowLine {
            name: "mine".into(),
            layer: ConfigLayer::Project,
            error: Some(".synthdev/workflows/mine.json:3:5: unknown state `revew`".into()),
            ..WorkflowLine::default()
        },
    ]
}

fn role_lines() -> Vec<RoleLine> {
    let role = |group: &str, name: &str, level: &str, tools| RoleLine {
        group: group.into(),
        name: name.into(),
        level: level.into(),
        model: format!("m-{level}"),
        tools,
        reads_files: true,
        description: format!("The {name}."),
        layer: ConfigLayer::BuiltIn,
    };
    vec![role("", "coder", "base", 5), role("", "reviewer", "smart", 3), role("ui", "painter", "fast", 1)]
}

#[test]
fn the_start() {
    TuiHarness::new().check_frames("start");
}

#[test]
fn a_conversation_streams_and_ends() {
    let mut desk = TuiHarness::new();
    desk.start_chat()
        .run_event("c1", model_called(2, "coder", ConversationSide::Assistant))
        .run_event("c1", delta_event(2, DeltaKind::Reasoning, "The person greets.\nI greet back."))
        .run_event("c1", delta_event(2, DeltaKind::Text, "Hello! I can\nread, "))
        .run_event("c1", delta_event(2, DeltaKind::Text, "edit and run things in this project. "));
    desk.send_message(UiMessage::Tick(Timestamp(desk.clock + 4_200)));
    desk.check_frames("chat_streaming");
    let text = "# Plan\nHello! I can **read**, `edit`:\n\n- files of this project\n- commands\n\n```rust\nfn main() {}\n```\n日本語も大丈夫。";
    desk.run_event(
        "c1",
        model_replied(2, "coder", ConversationSide::Assistant, text, "The person greets.\nI greet back."),
    )
    .run_event("c1", message_event(MessageAuthor::Agent("coder".into()), text))
    .run_event("c1", user_question(3, UserQuestion::Message));
    desk.check_frames("chat_answered");
    desk.line("more");
    assert_eq!(desk.take_commands(), [answer_command("c1", 3, "more")]);
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story from its beginning to its end, or one table")]
fn a_workflow_from_start_to_end() {
    let mut desk = TuiHarness::new();
    desk.workflow()
        .run_event("r1", message_event(MessageAuthor::Workflow, "add a --json flag"))
        .run_event("r1", model_called(5, "coder", ConversationSide::Assistant))
        .run_event("r1", model_replied(5, "coder", ConversationSide::Assistant, "", ""))
        .run_event(
            "r1",
            RunEvent::ToolStarted {
                call: CallId(6),
                agent: "coder".into(),
                tool: "read_files".into(),
                arguments: json!({"file_paths": ["src/main.rs"]}),
            },
        )
        .run_event(
            "r1",
            RunEvent::ToolFinished {
                call: CallId(6),
                agent: "coder".into(),
                tool: "read_files".into(),
                ok: true,
                summary: "40 lines of src/main.rs".into(),
                content: "fn main() {\n\tprintln!(\"\x1b[31mhi\x1b[0m\");\n}".into(),
                duration_ms: 3,
            },
        )
        .run_event(
            "r1",
            RunEvent::ToolStarted {
                call: CallId(7),
                agent: "coder".into(),
                tool: "execute_terminal".into(),
                arguments: json!({"command": "cargo test"}),
            },
        )
        .run_event("r1", model_called(8, "reviewer", ConversationSide::User))
        .run_event("r1", model_replied(8, "reviewer", ConversationSide::User, "Looks good to me.", ""))
        .run_event(
            "r1",
            RunEvent::Decided {
                agent: "reviewer".into(),
                tool: "review_decision".into(),
                arguments: json!({"approved": true}),
                source: DecisionSource::Call,
            },
        )
        .run_event(
            "r1",
            RunEvent::DataChanged {
                state: "review".into(),
                set: serde_json::Map::from_iter([("rounds".to_owned(), json!(2))]),
                removed: vec![],
            },
        )
        .run_event("r1", transition("code", "review"))
        .run_event("r1", state_entered("review"));
    desk.check_frames("workflow_running");
    desk.press_control('o').check_frames("workflow_details");
    desk.press_control('o')
        .run_event("r1", run_finished(RunStatus::Completed, Some(json!("The flag is **in**.")), None));
    desk.check_frames("workflow_done");
    assert_eq!(desk.model.mode(), "role:coder", "the mode returns");
}

#[test]
fn failures_say_what_to_do() {
    let mut desk = TuiHarness::new();
    let failure = RunError::new(
        "model.auth",
        "The provider refused the key",
        "401 from https://api.example.com: invalid key",
    )
    .with_hint("set OPENAI_API_KEY, or /help");
    desk.workflow()
        .run_event("r1", model_called(5, "coder", ConversationSide::Assistant))
        .run_event("r1", delta_event(5, DeltaKind::Text, "I begin with"))
        .run_event(
            "r1",
            RunEvent::ModelFailed {
                call: CallId(5),
                agent: "coder".into(),
                code: "model.auth".into(),
                reason: "401: invalid key".into(),
                attempts: 1,
                spent: vec![],
            },
        )
        .run_event("r1", run_finished(RunStatus::Failed, None, Some(failure)));
    desk.check_frames("workflow_failed");
}

#[test]
fn approvals_queue_and_show_everything() {
    let mut desk = TuiHarness::new();
    let diff = "@@ -1,2 +1,2 @@\n fn main() {\n-    old();\n+    new();\n }";
    desk.workflow()
        .run_event(
            "r1",
            approval_event(
                10,
                "edit_file",
                ToolPreview::Diff { path: "src/main.rs".into(), diff: diff.into() },
            ),
        )
        .run_event(
            "r1",
            approval_event(11, "execute_terminal", command_preview("rm -rf x\x1b[2K\u{202e}evil")),
        );
    desk.check_frames("approval_diff");
    desk.advance_clock(1_000).answer('s');
    assert_eq!(desk.take_commands(), [decision_command("r1", 10, ApprovalDecision::Allow)]);
    desk.check_frames("approval_command");
    desk.answer('r').type_text("too risky").check_frames("approval_reason");
    desk.key(KeyCode::Enter);
    assert_eq!(
        desk.take_commands(),
        [decision_command("r1", 11, ApprovalDecision::Deny { reason: Some("too risky".into()) })]
    );
    assert!(desk.model.dialogs.is_empty());
}

#[test]
fn a_dialog_key_by_key() {
    let rows: [(KeyCode, Option<ApprovalDecision>); 9] = [
        (KeyCode::Char('y'), Some(ApprovalDecision::Allow)),
        (KeyCode::Char('S'), Some(ApprovalDecision::Allow)),
        (KeyCode::Char('n'), Some(ApprovalDecision::Deny { reason: None })),
        (KeyCode::Esc, Some(ApprovalDecision::Deny { reason: None })),
        (KeyCode::Enter, None),
        (KeyCode::Char('x'), None),
        // what stood for these answers before
        (KeyCode::Char('3'), None),
        (KeyCode::Char('4'), None),
        // a rule is shown before it is written
        (KeyCode::Char('a'), None),
    ];
    for (code, expected) in rows {
        let mut desk = TuiHarness::new();
        desk.workflow()
            .run_event("r1", approval_event(9, "execute_terminal", command_preview("ls")))
            .advance_clock(1_000)
            .key(code);
        if matches!(code, KeyCode::Char(_)) {
            assert_eq!(desk.take_commands(), [], "{code:?} alone");
            desk.key(KeyCode::Enter);
        }
        let expected: Vec<UiCommand> =
            expected.into_iter().map(|decision| decision_command("r1", 9, decision)).collect();
        assert_eq!(desk.take_commands(), expected, "{code:?}");
    }
}

#[test]
fn a_key_of_someone_typing_answers_no_question() {
    let mut desk = TuiHarness::new();
    desk.workflow()
        .type_text("wh")
        .run_event("r1", approval_event(9, "execute_terminal", command_preview("ls")));
    desk.type_text("y");
    assert_eq!(desk.take_commands(), []);
    assert_eq!(desk.model.composer.text(), "why");
    for (at, letter) in ["y", "s", "n"].into_iter().enumerate() {
        desk.advance_clock(2_000).type_text(letter);
        assert_eq!(desk.take_commands(), [], "a pause ends no sentence");
        assert_eq!(desk.model.composer.text(), ["whyy", "whyys", "whyysn"][at]);
        let screen = desk.draw_screen(80, 24);
        assert!(screen.contains("this is text now: ↑↓ and Enter answer"), "{screen}");
    }
    desk.advance_clock(2_000).key(KeyCode::Down).key(KeyCode::Enter);
    assert_eq!(desk.take_commands(), [decision_command("r1", 9, ApprovalDecision::Allow)]);
}

#[test]
fn the_beginning_of_a_sentence_answers_no_question() {
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", approval_event(9, "execute_terminal", command_preview("ls")));
    desk.type_text("tty").key(KeyCode::Enter);
    assert_eq!(
        desk.take_commands(),
        [decision_command("r1", 9, ApprovalDecision::Deny { reason: Some("tty".to_owned()) })]
    );
    // of other keys it takes none away
    desk.run_event("r1", approval_event(9, "execute_terminal", command_preview("ls")));
    desk.press_control('o');
    assert!(desk.model.details && desk.model.dialogs.len() == 1);
    desk.advance_clock(1_000).answer('n');
    assert_eq!(desk.take_commands(), [decision_command("r1", 9, ApprovalDecision::Deny { reason: None })]);
}

#[test]
fn an_attempt_that_broke_leaves_no_text_and_one_line() {
    let retry = |attempt| RunEvent::ModelRetry {
        call: CallId(5),
        agent: "coder".into(),
        attempt,
        delay_ms: 500,
        reason: "the connection broke".into(),
    };
    let mut desk = TuiHarness::new();
    desk.workflow()
        .run_event("r1", model_called(5, "coder", ConversationSide::Assistant))
        .run_event("r1", delta_event(5, DeltaKind::Text, "half "));
    desk.run_event("r1", retry(2))
        .run_event("r1", delta_event(5, DeltaKind::Text, "again half "))
        .run_event("r1", retry(3));
    desk.run_event("r1", delta_event(5, DeltaKind::Text, "whole"));
    let screen = desk.draw_screen(80, 24);
    assert!(!screen.contains("half") && screen.contains("whole"), "{screen}");
    assert_eq!(screen.matches("the connection broke").count(), 1, "{screen}");
    assert!(screen.contains("attempt 3"), "{screen}");
}

#[test]
fn a_summary_is_told_and_not_taken_for_the_agents_words() {
    let mut desk = TuiHarness::new();
    desk.workflow()
        .run_event(
            "r1",
            RunEvent::SummaryCalled {
                role: String::new(),
                call: CallId(5),
                agent: "coder".into(),
                context: "talk".into(),
                model: "m-1".into(),
                entries: 7,
            },
        )
        .run_event("r1", delta_event(5, DeltaKind::Text, "the record"));
    let screen = desk.draw_screen(80, 24);
    assert!(
        screen.contains("coder summarizes 7 messages of talk") && !screen.contains("the record"),
        "{screen}"
    );
    desk.run_event(
        "r1",
        RunEvent::ContextSummarized {
            call: CallId(5),
            agent: "coder".into(),
            side: ConversationSide::Assistant,
            context: "talk".into(),
            entries: 7,
            saved_tokens: 810,
            text: "the record".into(),
            model: "m-1".into(),
            usage: TokenUsage { prompt: 900, completion: 90, ..TokenUsage::default() },
            cost_usd: Some(0.25),
            duration_ms: 3,
            estimated: false,
        },
    );
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("coder summarized 7 messages of talk, about 810 tokens less"), "{screen}");
    assert!(screen.contains("0.25"), "it costs: {screen}");
}

/// A conversation whose server is asked for a window first takes what is typed meanwhile, and is started once.
#[test]
fn what_is_typed_while_a_conversation_is_prepared_is_said_in_it() {
    let mut desk = TuiHarness::new();
    desk.line("hello");
    assert_eq!(desk.take_commands(), [UiCommand::ask(StartRequest::Chat { role: "coder".into() })]);
    let beginning = PendingStart { name: "coder".into(), chat: true, preparation: StartPreparation::Windows };
    desk.send_message(UiMessage::answered(StartResponse::Pending(beginning)));
    desk.line("more").line("/workflow coder_reviewer x");
    let started = |cmd: &UiCommand| {
        matches!(
            cmd,
            UiCommand::Ask(SessionRequest::Start(StartRequest::Chat { .. }))
                | UiCommand::Ask(SessionRequest::Start(StartRequest::Workflow { .. }))
        )
    };
    assert!(!desk.take_commands().iter().any(started));
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("while a server is asked for the window of coder"), "{screen}");
    let silent = "MCP server docs gives no tools: it is not there · /mcp test docs tries it again";
    desk.send_message(UiMessage::answered(StartResponse::ChatStarted {
        role: "coder".into(),
        run: Ok(RunId::from("c1")),
        windows: BTreeMap::new(),
        warnings: vec![silent.to_owned()],
    }));
    assert!(desk.draw_screen(120, 24).contains(silent));
    desk.run_event("c1", chat_started());
    desk.run_event("c1", user_question(1, UserQuestion::Message));
    assert_eq!(desk.take_commands(), [answer_command("c1", 1, "hello")]);
    desk.run_event("c1", user_question(2, UserQuestion::Message));
    assert_eq!(desk.take_commands(), [answer_command("c1", 2, "more")]);
}

#[test]
fn a_text_that_nobody_can_read_is_in_the_history() {
    let mut desk = TuiHarness::new();
    desk.line("hello");
    let run = Err("no model is set".to_owned());
    desk.send_message(UiMessage::answered(StartResponse::ChatStarted {
        role: "coder".into(),
        run,
        windows: BTreeMap::new(),
        warnings: vec![],
    }));
    assert!(desk.model.composer.is_empty());
    desk.key(KeyCode::Up);
    assert_eq!(desk.model.composer.text(), "hello");
    desk.press_control('c').key(KeyCode::Up);
    assert_eq!(desk.model.composer.text(), "hello", "a draft that Ctrl+C took away comes back");
}

#[test]
fn a_narrow_status_line_keeps_what_goes_on_and_how_to_stop_it() {
    let mut desk = TuiHarness::new();
    desk.workflow()
        .run_event("r1", model_called(5, "coder", ConversationSide::Assistant))
        .run_event("r1", model_replied(5, "coder", ConversationSide::Assistant, "text", ""))
        .run_event("r1", model_called(6, "coder", ConversationSide::Assistant));
    for columns in [80, 60] {
        let screen = desk.draw_screen(columns, 24);
        let status = screen.lines().last().unwrap();
        assert!(status.contains("thinks") && status.ends_with("Esc stops"), "{columns}: {status}");
    }
}

#[test]
fn a_dialog_goes_when_it_is_answered_elsewhere_or_its_run_ends() {
    let mut desk = TuiHarness::new();
    desk.workflow()
        .run_event("r1", approval_event(9, "execute_terminal", command_preview("ls")))
        .run_event("r1", approval_event(10, "execute_terminal", command_preview("ls")))
        .run_event(
            "r1",
            RunEvent::ApprovalAnswered {
                arguments: serde_json::Value::Null,
                call: CallId(9),
                tool: "execute_terminal".into(),
                decision: ApprovalDecision::Allow,
            },
        );
    assert_eq!(desk.model.dialogs.len(), 1);
    desk.run_event("r1", run_finished(RunStatus::Cancelled, None, None));
    assert!(desk.model.dialogs.is_empty());
}

#[test]
fn limits_and_missing_snapshots_are_questions() {
    let limit = UserQuestion::Limit {
        limit: "max_visits".into(),
        value: 25,
        text: "`code` was entered 25 times.".into(),
    };
    let rows = [
        (limit.clone(), 'y', UserAnswer::Continue),
        (limit, 'n', UserAnswer::Stop),
        (UserQuestion::NoSnapshot { reason: "the disk is full".into() }, 'y', UserAnswer::Continue),
        (UserQuestion::NoSnapshot { reason: "the disk is full".into() }, 'n', UserAnswer::Stop),
    ];
    for (question, key, expected) in rows {
        let mut desk = TuiHarness::new();
        desk.workflow().run_event("r1", user_question(20, question)).answer(key);
        let command = RunCommand::Answer { call: CallId(20), answer: expected };
        assert_eq!(desk.take_commands(), [UiCommand::Send(RunId::from("r1"), command)]);
    }
}

#[test]
fn the_start_line_says_where_one_is() {
    let full = StatusFacts {
        role: "coder".into(),
        model: "m-base".into(),
        tools_available: 5,
        tools_total: 12,
        reads_files: true,
        branch: Some("main".into()),
        environment: vec!["user:.env".into(), ".env".into()],
        notice: None,
    };
    let bare = StatusFacts { branch: None, environment: Vec::new(), ..full.clone() };
    for (facts, expected) in [
        (
            full,
            "role coder · m-base · 5 of 12 tools: /tools says why · environment user:.env, .env · branch main",
        ),
        (bare, "role coder · m-base · 5 of 12 tools: /tools says why"),
    ] {
        let (model, _) = initial_model(facts, None, None, &[], ColorTheme::default());
        let said: Vec<String> = model.transcript.items().map(|item| item.text()).collect();
        assert_eq!(said[0].trim(), expected);
    }
}

#[test]
fn trust_comes_before_the_first_action() {
    let question =
        TrustQuestion { files: vec![".synthdev/roles/x.json".into()], changes: "1 file is new".into() };
    let start = FirstAction::Workflow { name: "demo".into(), input: "go".into() };
    for (key, yes) in [('y', true), ('n', false)] {
        let facts = StatusFacts { role: "coder".into(), ..StatusFacts::default() };
        let (model, cmds) =
            initial_model(facts, Some(start.clone()), Some(question.clone()), &[], ColorTheme::default());
        assert_eq!(cmds, []);
        let mut desk = TuiHarness {
            model,
            commands: cmds,
            kept_texts: Vec::new(),
            recall_count: 0,
            mcp_name_count: 0,
            trend_requests: Vec::new(),
            clock: 0,
        };
        if yes {
            desk.check_frames("trust");
        }
        desk.answer(key);
        assert_eq!(desk.take_commands(), [UiCommand::ask(ProjectRequest::Trust(yes))]);
        desk.send_message(UiMessage::answered(ProjectResponse::Trusted {
            trusted: yes,
            result: Ok(Vec::new()),
        }));
        let started = UiCommand::ask(StartRequest::Workflow { name: "demo".into(), input: "go".into() });
        assert_eq!(desk.take_commands(), [UiCommand::ask(ProjectRequest::Status), started]);
    }
}

/// Nothing is read while it is asked: there is no time that grows.
#[test]
fn a_question_about_trust_has_no_running_time() {
    let question = TrustQuestion { files: vec![".synthdev/roles/x.json".into()], changes: String::new() };
    let facts = StatusFacts { role: "coder".into(), ..StatusFacts::default() };
    let start = Some(FirstAction::Conversation(RunId::from("c1")));
    let (model, commands) = initial_model(facts, start, Some(question), &[], ColorTheme::default());
    let mut desk = TuiHarness { model, commands, ..TuiHarness::new() };
    desk.advance_clock(5_000).send_message(UiMessage::Tick(Timestamp(1_005_000)));
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("Trust this project") && !screen.contains("reading run"), "{screen}");
    assert!(!desk.model.needs_ticks());
    desk.answer('y');
    let result = Ok(Vec::new());
    desk.send_message(UiMessage::answered(ProjectResponse::Trusted { trusted: true, result }));
    assert!(desk.draw_screen(80, 24).contains("reading run c1"), "{}", desk.draw_screen(80, 24));
}

/// `asked`: about trust, before anything else. The warning is on screen exactly as long as it holds.
#[test]
fn a_warning_of_the_start_leaves_the_screen_when_it_no_longer_holds() {
    const MISSING: &str = "no model is set for level base";
    let facts = |model: &str, notice: Option<&str>| StatusFacts {
        role: "coder".into(),
        model: model.into(),
        notice: notice.map(str::to_owned),
        ..StatusFacts::default()
    };
    let question = TrustQuestion { files: vec![".synthdev/settings.json".into()], changes: String::new() };
    for asked in [false, true] {
        let trust = asked.then(|| question.clone());
        let missing = facts("no model", Some(MISSING));
        let (model, cmds) = initial_model(missing.clone(), None, trust, &[], ColorTheme::default());
        let mut desk = TuiHarness {
            model,
            commands: cmds,
            kept_texts: Vec::new(),
            recall_count: 0,
            mcp_name_count: 0,
            trend_requests: Vec::new(),
            clock: 0,
        };
        let said =
            |desk: &TuiHarness| desk.model.transcript.items().map(|item| item.text()).collect::<Vec<_>>();
        let warns = |desk: &TuiHarness| said(desk).iter().any(|line| line.contains(MISSING));
        assert_eq!(warns(&desk), !asked, "{asked}: {:?}", said(&desk));
        if asked {
            // the project's settings set none: the warning comes with the answer
            let mut without = TuiHarness {
                model: desk.model.clone(),
                commands: vec![],
                kept_texts: vec![],
                recall_count: 0,
                mcp_name_count: 0,
                trend_requests: Vec::new(),
                clock: 0,
            };
            without.send_message(UiMessage::answered(ProjectResponse::Trusted {
                trusted: false,
                result: Ok(Vec::new()),
            }));
            without.send_message(UiMessage::answered(ProjectResponse::Status(missing)));
            assert!(warns(&without), "{:?}", said(&without));
        }
        desk.send_message(UiMessage::answered(ProjectResponse::Trusted {
            trusted: true,
            result: Ok(Vec::new()),
        }));
        desk.send_message(UiMessage::answered(ProjectResponse::Status(facts("m-base", None))));
        assert!(!warns(&desk), "{asked}: {:?}", said(&desk));
        let line = "role coder · m-base · 0 tools";
        assert_eq!(said(&desk).iter().filter(|text| *text == line).count(), 1, "{asked}: {:?}", said(&desk));
        let stale = said(&desk).iter().any(|text| text.contains("no model"));
        assert!(!stale, "the facts are those of now, too: {:?}", said(&desk));
    }
}

#[test]
fn commands_work_during_a_run() {
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", model_called(5, "coder", ConversationSide::Assistant));
    desk.line("/help").line("/cost").line("/tools").line("/runs").line("/workflows").line("/roles all");
    let cmds = desk.take_commands();
    assert_eq!(
        cmds.iter().filter(|cmd| **cmd != UiCommand::ask(DefinitionRequest::Names)).collect::<Vec<_>>(),
        [
            &UiCommand::ask(DefinitionRequest::Prices(vec![])),
            &UiCommand::ask(DefinitionRequest::Tools("coder".into())),
            &runs(),
            &UiCommand::ask(DefinitionRequest::Workflows),
            &UiCommand::ask(DefinitionRequest::Roles("all".into()))
        ]
    );
    assert!(desk.draw_screen(80, 140).contains("Commands"));
}

#[test]
fn what_a_line_asks_for() {
    let rows: &[(&str, &[UiCommand])] = &[
        ("/quit", &[UiCommand::Quit]),
        ("/role reviewer", &[UiCommand::ask(DefinitionRequest::Role("reviewer".into()))]),
        ("/snapshot", &[UiCommand::ask(RunRequest::Snapshot(SnapshotOperation::List))]),
        (
            "/snap diff ab",
            &[UiCommand::ask(RunRequest::Snapshot(SnapshotOperation::Diff { id: "ab".into(), other: None }))],
        ),
        (
            "/snapshot diff ab cd",
            &[UiCommand::ask(RunRequest::Snapshot(SnapshotOperation::Diff {
                id: "ab".into(),
                other: Some("cd".into()),
            }))],
        ),
        (
            "/snapshot info ab",
            &[UiCommand::ask(RunRequest::Snapshot(SnapshotOperation::Show { id: "ab".into() }))],
        ),
        ("/wf tick", &[UiCommand::ask(DefinitionRequest::ChooseWorkflow("tick".into()))]),
        ("/wrkflow x", &[]),
        ("/usr/bin/env is what?", &[UiCommand::ask(StartRequest::Chat { role: "coder".into() })]),
    ];
    for (line, expected) in rows {
        let mut desk = TuiHarness::new();
        desk.line(line);
        let cmds: Vec<UiCommand> = desk
            .take_commands()
            .into_iter()
            .filter(|cmd| *cmd != UiCommand::ask(DefinitionRequest::Names))
            .filter(|cmd| *cmd != UiCommand::ask(RunRequest::SnapshotNames))
            .collect();
        assert_eq!(cmds, *expected, "{line}");
    }
    let mut desk = TuiHarness::new();
    assert!(desk.line("/wrkflow x").draw_screen(80, 24).contains("did you mean /workflow?"));
    assert!(desk.line("/redo").draw_screen(120, 24).contains("/snapshot brings them back"));
}

#[test]
fn a_workflow_without_input_asks_for_it() {
    let mut desk = TuiHarness::new();
    let chosen = |name: &str| {
        UiMessage::answered(DefinitionResponse::WorkflowChosen {
            requested_name: name.into(),
            workflows: workflow_lines(),
        })
    };
    desk.send_message(chosen("coder_reviewer"));
    assert_eq!(desk.model.mode(), "workflow:coder_reviewer");
    desk.check_frames("workflow_wants_input");
    desk.line("the task");
    let started =
        UiCommand::ask(StartRequest::Workflow { name: "coder_reviewer".into(), input: "the task".into() });
    assert_eq!(desk.take_commands(), [started]);
    desk.send_message(chosen("tick"));
    assert_eq!(desk.take_commands(), [], "it waits for a text");
    assert_eq!(desk.model.mode(), "workflow:tick");
    desk.key(KeyCode::Esc);
    assert_eq!(desk.model.mode(), "role:coder");
    desk.send_message(chosen("plain"));
    assert_eq!(
        desk.take_commands(),
        [UiCommand::ask(StartRequest::Workflow { name: "plain".into(), input: String::new() })]
    );
    desk.send_message(chosen("coder_reviewr"));
    assert!(desk.draw_screen(80, 24).contains("did you mean `coder_reviewer`?"));
}

#[test]
fn a_start_that_fails_shows_the_whole_diagnostic() {
    let mut desk = TuiHarness::new();
    let text = "error[E07]: unknown state `revew`\n --> mine.json:3:5\n  |\n3 |   \"target\": \"revew\"\n  |             ^^^^^^^\nhelp: did you mean `review`?";
    desk.send_message(UiMessage::answered(StartResponse::WorkflowStarted {
        name: "mine".into(),
        input: "x".into(),
        run: Err(text.into()),
        note: None,
        windows: BTreeMap::new(),
        agents: Vec::new(),
        warnings: vec![],
    }));
    let screen = desk.draw_screen(80, 24);
    for line in text.lines() {
        assert!(screen.contains(line.trim_end()), "{line}\n{screen}");
    }
    assert_eq!(desk.model.mode(), "role:coder");
}

#[test]
fn texts_typed_during_a_workflow_come_back() {
    let mut desk = TuiHarness::new();
    desk.workflow().line("and then test it");
    assert_eq!(desk.take_commands(), [say_command("and then test it")]);
    assert!(
        desk.draw_screen(80, 24).contains("queued for coder_reviewer: and then test it · Up takes it back")
    );
    desk.run_event("r1", run_finished(RunStatus::Completed, None, None));
    assert_eq!(desk.model.composer.text(), "and then test it");
    assert_eq!(desk.take_commands(), []);
}

#[test]
fn texts_typed_while_the_agent_answers_wait_for_it() {
    let mut desk = TuiHarness::new();
    desk.start_chat()
        .run_event("c1", model_called(2, "coder", ConversationSide::Assistant))
        .line("one")
        .line("two");
    assert_eq!(desk.take_commands(), []);
    assert!(desk.draw_screen(80, 24).contains("queued for coder (+1): two · Up takes it back"));
    desk.run_event("c1", user_question(3, UserQuestion::Message));
    assert_eq!(desk.take_commands(), [answer_command("c1", 3, "one")]);
    desk.run_event("c1", user_question(4, UserQuestion::Message));
    assert_eq!(desk.take_commands(), [answer_command("c1", 4, "two")]);
}

#[test]
fn stopping_and_leaving() {
    let mut desk = TuiHarness::new();
    desk.workflow().key(KeyCode::Esc);
    assert_eq!(desk.take_commands(), [interrupt_command("r1")], "Esc asks, it does not end a workflow");
    let mut desk = TuiHarness::new();
    desk.workflow().type_text("half").press_control('c');
    assert_eq!(desk.take_commands(), [cancel_command("r1")]);
    assert_eq!(desk.model.composer.text(), "half", "what is typed is not what goes on");
    assert!(desk.draw_screen(80, 24).contains("stopping … · Ctrl+C again leaves"));
    desk.advance_clock(5_000).press_control('c');
    assert_eq!(desk.take_commands(), [cancel_command("r1")], "too late to leave");
    desk.press_control('c');
    assert_eq!(
        desk.take_commands(),
        [UiCommand::Send(RunId::from("r1"), RunCommand::Leave), UiCommand::Quit]
    );
    assert!(desk.model.is_leaving);
    assert_eq!(desk.model.runs_left, [], "a cancelled run is not resumed again");

    // the run is over before the second one: that is none for it, and the screen says how to leave
    let mut stopped = TuiHarness::new();
    stopped.workflow().press_control('c').run_event("r1", run_finished(RunStatus::Cancelled, None, None));
    stopped.take_commands();
    let screen = stopped.draw_screen(80, 24);
    assert!(screen.contains("stopped · Ctrl+C twice leaves"), "{screen}");
    assert_eq!(stopped.press_control('c').take_commands(), []);
    assert!(stopped.draw_screen(80, 24).contains("Ctrl+C again leaves"));
    assert_eq!(stopped.press_control('c').take_commands(), [UiCommand::Quit]);

    // a question of a workflow stays open when the user leaves
    let limit = || UserQuestion::Limit { limit: "max_steps".into(), value: 3, text: "3 steps".into() };
    let mut asked = TuiHarness::new();
    asked.workflow().run_event("r1", user_question(20, limit())).press_control('c');
    assert_eq!(asked.take_commands(), []);
    let screen = asked.draw_screen(80, 24);
    assert!(screen.contains("Esc: later · Ctrl+C again leaves; /resume continues the run"), "{screen}");
    asked.model.is_demo = true;
    let screen = asked.advance_clock(5_000).press_control('c').draw_screen(80, 24);
    assert!(screen.contains("Esc: later · Ctrl+C again leaves") && !screen.contains("/resume"), "{screen}");
    asked.press_control('c');
    assert_eq!(
        asked.take_commands(),
        [UiCommand::Send(RunId::from("r1"), RunCommand::Leave), UiCommand::Quit]
    );
    assert_eq!(asked.model.runs_left, [("coder_reviewer".to_owned(), RunId::from("r1"))]);

    let mut chat = TuiHarness::new();
    chat.start_chat()
        .run_event("c1", model_called(2, "coder", ConversationSide::Assistant))
        .press_control('c');
    assert_eq!(chat.take_commands(), [cancel_command("c1")]);
    chat.press_control('c');
    assert_eq!(
        chat.take_commands(),
        [UiCommand::Send(RunId::from("c1"), RunCommand::Leave), UiCommand::Quit]
    );

    let mut idle = TuiHarness::new();
    idle.type_text("x").press_control('d');
    assert_eq!(idle.take_commands(), []);
    idle.press_control('c');
    assert!(idle.model.composer.is_empty() && idle.draw_screen(80, 24).contains("Up brings it back"));
    idle.press_control('d');
    assert_eq!(idle.take_commands(), [UiCommand::Quit]);
}

#[test]
fn a_stopped_answer_is_marked() {
    let mut desk = TuiHarness::new();
    desk.start_chat()
        .run_event("c1", model_called(2, "coder", ConversationSide::Assistant))
        .run_event("c1", delta_event(2, DeltaKind::Text, "The first half"))
        .key(KeyCode::Esc);
    assert_eq!(desk.take_commands(), [cancel_command("c1")]);
    desk.run_event("c1", user_question(3, UserQuestion::Message));
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("The first half\n  — interrupted"), "{screen}");
}

#[test]
fn roles_change_model_and_conversation() {
    let mut desk = TuiHarness::new();
    desk.start_chat().run_event("c1", user_question(3, UserQuestion::Message));
    let [_, reviewer, painter] = role_lines().try_into().unwrap();
    let chosen =
        |line, namesakes| UiMessage::answered(DefinitionResponse::Role(Ok(ChosenRole { line, namesakes })));
    desk.send_message(chosen(reviewer, Vec::new()));
    assert_eq!(desk.take_commands(), [UiCommand::Send(RunId::from("c1"), RunCommand::Leave)]);
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("role reviewer · m-smart · 3 of 12 tools: /tools says why"), "{screen}");
    assert!(screen.contains("── reviewer · a new conversation ──"), "{screen}");
    // with several of them on screen the input line names the one that a text goes to, as far as there is room
    assert!(screen.contains("\nreviewer ❯ message"), "{screen}");
    assert!(desk.draw_screen(24, 24).contains("\nrev… ❯ "), "{}", desk.draw_screen(24, 24));
    desk.line("look");
    assert_eq!(desk.take_commands(), [UiCommand::ask(StartRequest::Chat { role: "reviewer".into() })]);
    desk.send_message(UiMessage::answered(DefinitionResponse::Role(
        Err("there is no role `paintre`".into()),
    )));
    assert!(desk.draw_screen(80, 24).contains("there is no role `paintre`"));
    desk.send_message(chosen(painter, vec![("art.painter".into(), "~/roles/art.json".into())]));
    let screen = desk.draw_screen(120, 24);
    let told = ["painter (built-in) is chosen; others of this name: /role art.painter", "(~/roles/art.json)"];
    assert!(told.iter().all(|part| screen.contains(part)), "{screen}");
}

#[test]
fn clear_keeps_the_role_and_ends_the_conversation() {
    let mut desk = TuiHarness::new();
    desk.start_chat().run_event("c1", user_question(3, UserQuestion::Message)).line("/clear");
    assert_eq!(desk.take_commands(), [UiCommand::Send(RunId::from("c1"), RunCommand::Leave)]);
    assert!(desk.model.transcript.is_empty());
    desk.line("again");
    assert_eq!(desk.take_commands(), [UiCommand::ask(StartRequest::Chat { role: "coder".into() })]);
}

#[test]
fn the_window_of_the_model_is_always_in_the_status_line() {
    let replied = |prompt: u64| {
        let mut event = model_replied(5, "coder", ConversationSide::Assistant, "I see.", "");
        if let RunEvent::Replied { usage, .. } = &mut event {
            usage.prompt = prompt;
        }
        event
    };
    for (window, prompt, expected) in [
        (Some(128_000), 43_400, "34 % of 128k"),
        (Some(8_192), 1_000, "16 % of 8.2k"),
        (Some(1_000_000), 999_999, "100 % of 1.0M"),
        (None, 43_400, ""),
    ] {
        let mut desk = TuiHarness::new();
        desk.start_chat();
        let windows = window.map(|tokens| ("m-base".to_owned(), tokens)).into_iter().collect();
        desk.model.runs[0].windows = windows;
        desk.run_event("c1", model_called(5, "coder", ConversationSide::Assistant));
        assert!(!desk.draw_screen(80, 24).contains(" % of "), "nothing was answered yet");
        desk.run_event("c1", replied(prompt)).run_event("c1", user_question(6, UserQuestion::Message));
        for (columns, rows) in [(80, 24), (120, 36)] {
            let screen = desk.draw_screen(columns, rows);
            assert_eq!(screen.contains(" % of "), !expected.is_empty(), "{screen}");
            assert!(screen.contains(expected), "{expected}: {screen}");
        }
    }
    // a summary on request shows at once
    let mut desk = TuiHarness::new();
    desk.start_chat();
    desk.model.runs[0].windows = [("m-base".to_owned(), 100_000)].into();
    desk.run_event("c1", model_called(5, "coder", ConversationSide::Assistant))
        .run_event("c1", replied(49_660))
        .run_event("c1", user_question(6, UserQuestion::Message));
    assert!(desk.draw_screen(80, 24).contains("50 % of 100k"));
    desk.line("/compact keep the names");
    let keep = "keep the names".to_owned();
    let asked = RunCommand::Steer(SteeringAction::Compact { keep });
    assert_eq!(desk.take_commands(), [UiCommand::Send(RunId::from("c1"), asked)]);
    desk.line("typed meanwhile");
    assert_eq!(desk.take_commands(), []);
    desk.run_event("c1", RunEvent::ConversationCompacted { before_tokens: 40_000, after_tokens: 1_000 })
        .run_event("c1", user_question(7, UserQuestion::Message));
    assert_eq!(desk.take_commands(), [answer_command("c1", 7, "typed meanwhile")]);
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("summed up: 40.0k → 1.0k tokens") && screen.contains("11 % of 100k"), "{screen}");
}

#[test]
fn completion_shows_narrows_and_fills() {
    let mut desk = TuiHarness::new();
    desk.type_text("/w").check_frames("completion_commands");
    desk.key(KeyCode::Tab);
    assert_eq!(desk.model.composer.text(), "/workflow ");
    assert_eq!(desk.take_commands(), [UiCommand::ask(DefinitionRequest::Names)]);
    desk.send_message(UiMessage::answered(DefinitionResponse::Names {
        workflows: workflow_lines(),
        roles: role_lines(),
    }));
    desk.check_frames("completion_workflows");
    desk.type_text("rev").key(KeyCode::Tab);
    assert_eq!(desk.model.composer.text(), "/workflow coder_reviewer ");
    desk.type_text("x").key(KeyCode::Enter);
    let started = UiCommand::ask(StartRequest::Workflow { name: "coder_reviewer".into(), input: "x".into() });
    assert_eq!(desk.take_commands(), [started]);
}

#[test]
fn enter_takes_what_was_chosen_by_hand() {
    let mut desk = TuiHarness::new();
    desk.type_text("/cost").key(KeyCode::Down);
    desk.key(KeyCode::Enter);
    assert_eq!(desk.take_commands(), [UiCommand::ask(DefinitionRequest::Prices(vec![]))]);
}

#[test]
fn restoring_asks_with_the_list_of_files() {
    let mut desk = TuiHarness::new();
    desk.line("/snapshot restore ab12");
    assert_eq!(desk.take_commands().last(), Some(&UiCommand::ask(RunRequest::PlanRestore("ab12".into()))));
    let restore = RunRequest::Snapshot(SnapshotOperation::Restore { id: "ab12cd".into() });
    let plan = |body: &str, request| ActionPreview {
        title: "Restore snapshot ab12cd?".into(),
        body: body.into(),
        request,
    };
    let empty = plan("nothing to do: the files are as in snapshot ab12cd", None);
    let planned = |preview| {
        let action = RunRequest::PlanRestore("ab12".into());
        UiMessage::answered(RunResponse::Planned { action, preview: Ok(preview) })
    };
    desk.send_message(planned(empty));
    desk.key(KeyCode::Char('y'));
    assert_eq!(desk.take_commands(), [], "there is no question: the letter is typed");
    desk.key(KeyCode::Backspace);
    let body = "to go back to snapshot ab12cd (manual):\n  revert       src/main.rs\n  delete       new.txt\n\n\
                A snapshot of the current files is taken first, so this can be undone.";
    desk.send_message(planned(plan(body, Some(restore.clone()))));
    desk.check_frames("restore");
    desk.answer('y');
    assert_eq!(desk.take_commands(), [UiCommand::ask(restore)]);
}

#[test]
fn reports() {
    let mut desk = TuiHarness::new();
    desk.send_message(UiMessage::answered(DefinitionResponse::Workflows(workflow_lines())));
    desk.send_message(UiMessage::answered(DefinitionResponse::Roles {
        group: String::new(),
        roles: role_lines(),
    }));
    desk.check_frames("lists");
    let mut desk = TuiHarness::new();
    desk.start_chat().run_event("c1", model_replied(2, "coder", ConversationSide::Assistant, "ok", ""));
    let price = TokenPrice { input: 2.0, output: 10.0, cached: Some(0.5), ..TokenPrice::default() };
    desk.send_message(UiMessage::answered(DefinitionResponse::Prices(vec![("m-base".into(), Some(price))])));
    desk.check_frames("cost");
}

#[test]
fn a_budget_burns_down_in_the_panel() {
    let mut desk = TuiHarness::new();
    let budget: Budget =
        serde_json::from_value(json!({"tokens": {"hard": 2_000}, "cost_usd": {"hard": 0.05}})).unwrap();
    desk.workflow();
    let started = RunEvent::RunStarted {
        workflow: "w".into(),
        definition: String::new(),
        inputs: serde_json::Map::new(),
        chat: false,
        budget: Some(Box::new(budget)),
        replayed: false,
    };
    desk.run_event("r1", started)
        .run_event("r1", model_replied(2, "coder", ConversationSide::Assistant, "ok", ""));
    desk.check_frames("budget");
    let wide = desk.draw_screen(120, 40);
    for words in ["$0.01 of $0.05", " 25%", "1.5k of 2.0k tok", " 77%"] {
        assert!(wide.contains(words), "no `{words}` in\n{wide}");
    }
    desk.run_event(
        "r1",
        RunEvent::BudgetRaised { scope: "run".into(), what: "tokens".into(), hard: 4_000.0 },
    );
    let wide = desk.draw_screen(120, 40);
    assert!(
        wide.contains("1.5k of 4.0k tok") && wide.contains("budget of run raised to 4,000 tokens"),
        "{wide}"
    );
    // the budget of a state is another one
    desk.run_event("r1", RunEvent::BudgetRaised { scope: "code".into(), what: "tokens".into(), hard: 9.0 });
    assert!(desk.draw_screen(120, 40).contains("of 4.0k tok"));
}

#[test]
fn pastes_stay_whole() {
    let mut desk = TuiHarness::new();
    desk.send_message(UiMessage::Paste("à\nb\n日本".into())).key(KeyCode::Enter);
    desk.take_commands();
    desk.send_message(UiMessage::answered(StartResponse::ChatStarted {
        role: "coder".into(),
        run: Ok(RunId::from("c1")),
        windows: BTreeMap::new(),
        warnings: vec![],
    }));
    desk.run_event("c1", user_question(1, UserQuestion::Message));
    assert_eq!(desk.take_commands(), [answer_command("c1", 1, "à\nb\n日本")]);
    desk.send_message(UiMessage::Paste("x\n".repeat(10_000)));
    assert!(desk.draw_screen(80, 24).contains("[pasted 10,000 lines #1]"));
    desk.press_control('u').press_control('u').take_commands();
    desk.run_event("c1", user_question(2, UserQuestion::Message));
    let odd = "zeile é 世界 \x1b[31m\u{202e}\t\n".repeat(40_000);
    desk.send_message(UiMessage::Paste(odd.clone())).key(KeyCode::Enter);
    assert_eq!(desk.take_commands(), [answer_command("c1", 2, &odd)], "a megabyte, as it was");
}

#[test]
fn every_size_is_drawn_and_nothing_unclean() {
    let mut desk = TuiHarness::new();
    desk.start_chat()
        .run_event("c1", model_called(2, "co\x1b]0;x\x07der", ConversationSide::Assistant))
        .run_event("c1", delta_event(2, DeltaKind::Text, "\x1b[2J\x1b[Hevil \u{202e} 日本語 \u{9b}2J"))
        .run_event("c1", approval_event(9, "execute_terminal", command_preview("\x1b[2Jls")))
        .type_text("日本語 input");
    for width in [1, 2, 5, 11, 20, 79, 99, 100, 101, 200] {
        for height in [1, 2, 3, 5, 8, 24, 50] {
            let screen = desk.draw_screen(width, height);
            assert!(!screen.chars().any(|c| c.is_control() && c != '\n'), "{width}x{height}");
            assert!(!screen.contains('\u{202e}'), "{width}x{height}");
        }
    }
}

#[test]
fn no_color_uses_no_colours() {
    let mut desk = TuiHarness::new();
    desk.model.theme = ColorTheme::plain();
    desk.workflow()
        .run_event("r1", model_called(5, "coder", ConversationSide::Assistant))
        .run_event("r1", run_finished(RunStatus::Failed, None, None));
    view::arrange_screen(&mut desk.model);
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    terminal.draw(|frame| view::draw_screen(&desk.model, frame)).unwrap();
    let colours: BTreeMap<String, usize> =
        terminal.backend().buffer().content().iter().fold(BTreeMap::new(), |mut seen, cell| {
            *seen.entry(format!("{:?} {:?}", cell.fg, cell.bg)).or_default() += 1;
            seen
        });
    assert_eq!(colours.keys().collect::<Vec<_>>(), ["Reset Reset"]);
}

/// Without colours the two differ in a sign, a word or the weight of letters.
fn check_apart(what: &str, mut one: TuiHarness, mut other: TuiHarness) {
    // without the status line, which names the keys
    let cells = |desk: &mut TuiHarness| {
        desk.model.theme = ColorTheme::plain();
        let buffer = desk.settle_question().draw_cells(120, 36);
        let shown = buffer.content().iter().take(120 * 35);
        shown.map(|cell| (cell.symbol().to_owned(), cell.modifier)).collect::<Vec<_>>()
    };
    assert_ne!(cells(&mut one), cells(&mut other), "{what}");
}

#[test]
fn nothing_is_told_by_colours_alone() {
    let called = |ok: bool| {
        let mut desk = TuiHarness::new();
        let finished = RunEvent::ToolFinished {
            call: CallId(6),
            agent: "coder".into(),
            tool: "read_files".into(),
            ok,
            summary: "40 lines".into(),
            content: "text".into(),
            duration_ms: 9,
        };
        desk.workflow().run_event("r1", panes::tool(6, "read_files", json!({}))).run_event("r1", finished);
        desk
    };
    let after = |pressed: &str| {
        let mut desk = called(true);
        panes::keys(&mut desk, pressed);
        desk
    };
    let asked = |pressed: &str| {
        let mut desk = called(true);
        desk.run_event("r1", approval_event(9, "execute_terminal", command_preview("ls")));
        desk.draw_screen(120, 36);
        panes::keys(desk.settle_question(), pressed);
        desk
    };
    check_apart("a call that failed", called(true), called(false));
    check_apart("a call that failed, in its pane", after("Alt+5"), {
        let mut desk = called(false);
        desk.press_alt('5');
        desk
    });
    check_apart("the pane that has the keys", after("Alt+5"), after("Alt+5 Esc"));
    check_apart("the chosen row", after("Alt+6 Home"), after("Alt+6 Home Down"));
    check_apart("the chosen answer", asked("Down"), asked("Down Down"));
}

#[test]
fn a_long_question_scrolls_to_its_last_line_and_back() {
    let command = (1..=100).map(|at| format!("echo {at}")).collect::<Vec<_>>().join("\n");
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", approval_event(9, "execute_terminal", command_preview(&command)));
    let first = desk.draw_screen(80, 24);
    assert!(first.contains("┃ echo 1 "), "{first}");
    assert!(first.contains("more lines"), "{first}");
    desk.key(KeyCode::End).key(KeyCode::PageDown);
    let last = desk.draw_screen(80, 24);
    assert!(last.contains("┃ echo 100 ") && last.contains(" lines above "), "{last}");
    assert!(!last.contains("more line"), "{last}");
    desk.key(KeyCode::Up);
    assert!(desk.draw_screen(80, 24).contains(" 1 more line "));
}
