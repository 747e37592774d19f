//! Anything at all, in any order: keys, pastes, the mouse, sizes, what runs tell, answers that fit or come late. Nothing
//! panics; what was typed stays; places stay inside of what they point at; nothing on screen steers a terminal; what is
//! drawn over the last frame is what a new screen would show.
//!
//! A few hundred steps in the usual tests, `FUZZ_FACTOR` times as many with that variable.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use synthdev::domain::workflow::PauseKind;
use synthdev::service::session::{
    CatalogSymbols, DefinitionRequest, DefinitionResponse, EditFile, EditFileKind, EditorCheckReport,
    EditorRequest, EditorResponse, OpenedEditFile, ProjectRequest, ProjectResponse, SessionRequest,
    SessionResponse, StartRequest, StartResponse,
};
use synthdev::tui::display::{DisplayRequest, DisplayResponse};
use synthdev::tui::editor::EditorScreen;
use synthdev::tui::history_browser::{HistoryRequest, HistoryResponse, HistoryRunPage};
use synthdev::tui::layout::PaneKind;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::archive::{many_rows, run_details};
use super::panes::{data_changed, definition_message, graph, states, tool, tool_done};
use super::*;

/// `FUZZ_FACTOR` times as many.
pub(super) fn cases(few: u32) -> u32 {
    let factor = std::env::var("FUZZ_FACTOR").ok().and_then(|text| text.parse().ok());
    few * factor.unwrap_or(1)
}

#[derive(Clone, Debug)]
enum Step {
    Key(KeyCode, KeyModifiers),
    Line(String),
    Paste(String),
    Mouse(MouseEventKind, u16, u16),
    Size(u16, u16),
    Tick,
    Pause,
    Run(u8, u64, Happening),
    Answer(usize),
}

/// An event of a run, in short.
#[derive(Clone, Debug)]
enum Happening {
    Begins,
    Enters(u8),
    Calls,
    Streams(String),
    Thinks(String),
    Replies(String),
    Fails,
    Uses(String),
    Used(String),
    Changes(String),
    Asks(String),
    Answered,
    Waits(u8, String),
    Defines,
    Warns(String),
    Ends(bool),
}

/// What people and models write, and what nobody should.
const SCRAPS: &[&str] = &[
    "word ",
    "x",
    " ",
    "\n",
    "\r\n",
    "\t",
    "\0",
    "\x1b[31m",
    "\x1b]0;t\x07",
    "\x1b",
    "\u{9b}2J",
    "\u{202e}",
    "\u{2066}",
    "\u{200b}",
    "\u{200d}",
    "\u{feff}",
    "e\u{301}",
    "日本語",
    "👩‍👩‍👧‍👦",
    "🇩🇪",
    "שלום",
    "مرحبا",
    "\u{1100}\u{1161}\u{11a8}",
    "ﷺ",
    "# ",
    "- ",
    "> ",
    "```rust\n",
    "```\n",
    "| a | b |\n|--|--|\n",
    "**",
    "`",
    "[a](b)",
    "/",
    "@",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "{\"a\": [1, 2]}",
    "\u{e000}",
    "\u{10ffff}",
    "\u{fe0f}",
    "\u{20e3}",
];

fn text(most: usize) -> impl Strategy<Value = String> {
    let scrap = prop_oneof![
        8 => proptest::sample::select(SCRAPS).prop_map(str::to_owned),
        1 => any::<char>().prop_map(|c| c.to_string()),
    ];
    proptest::collection::vec(scrap, 0..most).prop_map(|scraps| scraps.concat())
}

fn key() -> impl Strategy<Value = Step> {
    let codes = vec![
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::PageUp,
        KeyCode::PageDown,
        KeyCode::Backspace,
        KeyCode::Delete,
        KeyCode::Insert,
        KeyCode::Tab,
        KeyCode::BackTab,
        KeyCode::Esc,
        KeyCode::Enter,
        KeyCode::Null,
        KeyCode::CapsLock,
        KeyCode::Menu,
    ];
    let mods = vec![
        KeyModifiers::NONE,
        KeyModifiers::NONE,
        KeyModifiers::SHIFT,
        KeyModifiers::CONTROL,
        KeyModifiers::ALT,
        KeyModifiers::all(),
    ];
    let letter = prop_oneof![6 => proptest::char::range(' ', '~'), 1 => any::<char>()];
    prop_oneof![
        6 => letter.prop_map(|c| Step::Key(KeyCode::Char(c), KeyModifiers::NONE)),
        2 => proptest::char::range('a', 'z').prop_map(|c| Step::Key(KeyCode::Char(c), KeyModifiers::CONTROL)),
        2 => proptest::char::range('1', '9').prop_map(|c| Step::Key(KeyCode::Char(c), KeyModifiers::ALT)),
        1 => proptest::char::range('a', 'z').prop_map(|c| Step::Key(KeyCode::Char(c), KeyModifiers::ALT)),
        1 => (1_u8..16).prop_map(|number| Step::Key(KeyCode::F(number), KeyModifiers::NONE)),
        6 => (proptest::sample::select(codes), proptest::sample::select(mods)).prop_map(|(code, mods)| Step::Key(code, mods)),
    ]
}

/// Lines that lead somewhere.
const LINES: &[&str] = &[
    "/help",
    "/keys",
    "/history",
    "/edit",
    "/edit mine",
    "/workflow coder_reviewer \"x\"",
    "/vim",
    "/mouse",
    "/clear",
    "/agents",
    "/watch",
    "/step",
    "/continue",
    "/set common_data.a = 1",
    "/break code",
    "/approvals",
    "/pending",
    "/configure",
    "/theme light",
    "hello",
    "/nonsense",
    "/budget",
    "/graph",
    "/status",
    "/cost",
    "/pane data",
    "/undo",
    "/resume",
    "/find x",
    "@src",
];

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        2 => Just(Happening::Begins),
        2 => (0_u8..5).prop_map(Happening::Enters),
        2 => Just(Happening::Calls),
        4 => text(12).prop_map(Happening::Streams),
        1 => text(6).prop_map(Happening::Thinks),
        2 => text(12).prop_map(Happening::Replies),
        1 => Just(Happening::Fails),
        2 => text(5).prop_map(Happening::Uses),
        2 => text(9).prop_map(Happening::Used),
        2 => text(3).prop_map(Happening::Changes),
        2 => text(6).prop_map(Happening::Asks),
        1 => Just(Happening::Answered),
        2 => (0_u8..8, text(6)).prop_map(|(kind, words)| Happening::Waits(kind, words)),
        1 => Just(Happening::Defines),
        1 => text(6).prop_map(Happening::Warns),
        1 => any::<bool>().prop_map(Happening::Ends),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let mouse = prop_oneof![
        Just(MouseEventKind::ScrollUp),
        Just(MouseEventKind::ScrollDown),
        Just(MouseEventKind::Down(MouseButton::Left)),
        Just(MouseEventKind::Drag(MouseButton::Left)),
        Just(MouseEventKind::Up(MouseButton::Right)),
        Just(MouseEventKind::Moved),
    ];
    let size = prop_oneof![
        3 => (1_u16..240, 1_u16..70),
        2 => (0_u16..24, 0_u16..10),
        1 => Just((u16::MAX, 1)),
    ];
    let pasted = prop_oneof![8 => text(30), 1 => Just("line\n".repeat(400)), 1 => Just("x".repeat(200_000))];
    let step = prop_oneof![
        20 => key(),
        3 => proptest::sample::select(LINES).prop_map(|line| Step::Line(line.to_owned())),
        2 => pasted.prop_map(Step::Paste),
        2 => (mouse, 0_u16..260, 0_u16..80).prop_map(|(kind, column, row)| Step::Mouse(kind, column, row)),
        3 => size.prop_map(|(columns, rows)| Step::Size(columns, rows)),
        1 => Just(Step::Tick),
        1 => Just(Step::Pause),
        14 => (0_u8..3, 0_u64..4, happening()).prop_map(|(run, call, happening)| Step::Run(run, call, happening)),
        4 => any::<usize>().prop_map(Step::Answer),
    ];
    proptest::collection::vec(step, 1..70)
}

fn event(call: u64, happening: Happening) -> Option<RunEvent> {
    let names = ["start", "code", "größe 日本", "\u{202e}x", "stop"];
    let name = |at: u8| names[usize::from(at) % names.len()];
    Some(match happening {
        Happening::Begins => workflow_started("coder_reviewer", "add"),
        Happening::Enters(at) => state_entered(name(at)),
        Happening::Calls => model_called(call, "coder", ConversationSide::Assistant),
        Happening::Streams(text) => delta_event(call, DeltaKind::Text, &text),
        Happening::Thinks(text) => delta_event(call, DeltaKind::Reasoning, &text),
        Happening::Replies(text) => model_replied(call, "coder", ConversationSide::Assistant, &text, &text),
        Happening::Fails => RunEvent::ModelFailed {
            call: CallId(call),
            agent: "coder".into(),
            code: "x".into(),
            reason: "401".into(),
            attempts: 1,
            spent: Vec::new(),
        },
        Happening::Uses(text) => tool(call, "read_files", json!({"x": text})),
        Happening::Used(text) => tool_done(call, "read_files", text.len() % 2 == 0, &text),
        Happening::Changes(text) => data_changed("code", json!({"a": text, "b": {"c": [1, text]}})),
        Happening::Asks(text) => approval_event(call, "execute_terminal", command_preview(&text)),
        Happening::Answered => RunEvent::ApprovalAnswered {
            arguments: serde_json::Value::Null,
            call: CallId(call),
            tool: "x".into(),
            decision: ApprovalDecision::Allow,
        },
        Happening::Waits(kind, text) => user_question(call, question(kind, text)),
        Happening::Warns(text) => RunEvent::Warning { code: "x".into(), text },
        Happening::Ends(true) => run_finished(RunStatus::Completed, Some(json!("done")), None),
        Happening::Ends(false) => run_finished(RunStatus::Failed, None, Some(RunError::new("a", "b", "c"))),
        Happening::Defines => return None,
    })
}

fn question(kind: u8, text: String) -> UserQuestion {
    let pause = |kind: PauseKind| UserQuestion::Pause {
        state: "gate".into(),
        kind,
        message: text.clone(),
        choices: vec![text.clone(), "b".into()],
        schema: None,
        required_outputs: vec!["a".into()],
        default: None,
        until: Some(Timestamp(1_000_500)),
        problem: None,
    };
    match kind {
        0 => UserQuestion::Message,
        1 => pause(PauseKind::Choice),
        2 => pause(PauseKind::Number),
        3 => pause(PauseKind::Approval),
        4 => pause(PauseKind::Outputs),
        5 => UserQuestion::Limit { limit: text, value: 3, text: "3".into() },
        6 => UserQuestion::Failed { failure: Box::new(RunError::new("x", &text, "z")) },
        _ => pause(PauseKind::Text),
    }
}

/// The model with a screen that is only ever drawn over.
struct Fuzz {
    desk: TuiHarness,
    size: (u16, u16),
    last_buffer: Buffer,
    seen_grid: Grid,
}

/// Cells as a terminal keeps them: what is written over a half of a wide letter takes the other half away.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Grid {
    columns: u16,
    /// `None` is the second half of the letter before it.
    cells: Vec<Option<String>>,
}

impl Grid {
    fn blank_grid(columns: u16, rows: u16) -> Self {
        Self { columns, cells: vec![Some(" ".to_owned()); usize::from(columns) * usize::from(rows)] }
    }

    fn draw_difference(&mut self, last: &Buffer, next: &Buffer) {
        for (x, y, cell) in last.diff(next) {
            let wide = cell.symbol().width();
            assert!(
                wide == 1 || wide == 2 && x + 1 < self.columns,
                "{:?} at {x},{y} of {}",
                cell.symbol(),
                self.columns
            );
            self.put_symbol(usize::from(y) * usize::from(self.columns) + usize::from(x), cell.symbol(), wide);
        }
    }

    fn put_symbol(&mut self, at: usize, symbol: &str, wide: usize) {
        // signs that are wide as pictures only: not every terminal takes the second column, so it is written, too
        let picture = |sign: &Option<String>| sign.as_ref().is_some_and(|sign| sign.contains('\u{fe0f}'));
        if self.cells[at].is_none() && symbol == " " && picture(&self.cells[at - 1]) {
            return;
        }
        for at in at..at + wide {
            if self.cells[at].is_none() {
                self.cells[at - 1] = Some(" ".to_owned());
            }
            if self.cells.get(at + 1).is_some_and(Option::is_none) {
                self.cells[at + 1] = Some(" ".to_owned());
            }
        }
        self.cells[at] = Some(symbol.to_owned());
        if wide == 2 {
            self.cells[at + 1] = None;
        }
    }

    fn rows(&self) -> Vec<String> {
        let row = |row: &[Option<String>]| row.iter().flatten().map(String::as_str).collect();
        self.cells.chunks(usize::from(self.columns).max(1)).map(row).collect()
    }
}

impl Fuzz {
    fn new() -> Self {
        let last = Buffer::empty(ratatui::layout::Rect::new(0, 0, 80, 24));
        Self {
            desk: TuiHarness::new(),
            size: (80, 24),
            last_buffer: last,
            seen_grid: Grid::blank_grid(80, 24),
        }
    }

    fn run_step(&mut self, step: Step) {
        let desk = &mut self.desk;
        let typed = desk.model.composer.text();
        match step {
            Step::Key(code, modifiers) => drop(desk.press_key(code, modifiers).clock),
            Step::Line(line) => drop(desk.line(&line).clock),
            Step::Paste(text) => drop(desk.send_message(UiMessage::Paste(text)).clock),
            Step::Mouse(kind, column, row) => {
                desk.send_message(UiMessage::Mouse(MouseEvent {
                    kind,
                    column,
                    row,
                    modifiers: KeyModifiers::NONE,
                }));
                assert_eq!(desk.model.composer.text(), typed, "the mouse changed what was typed");
            }
            Step::Size(columns, rows) => {
                desk.send_message(UiMessage::Resize(columns, rows));
                self.size = (columns, rows);
                assert_eq!(desk.model.composer.text(), typed, "a resize changed what was typed");
            }
            Step::Tick => {
                let at = desk.clock;
                desk.send_message(UiMessage::Tick(Timestamp(at + 1_000)));
                assert_eq!(desk.model.composer.text(), typed, "time changed what was typed");
            }
            Step::Pause => drop(desk.advance_clock(2_000).clock),
            Step::Run(run, _, Happening::Defines) => {
                let names = states(&["start", "code", "größe 日本", "\u{202e}x", "stop"]);
                desk.send_message(definition_message(&format!("r{run}"), graph("coder_reviewer", &names)));
            }
            Step::Run(run, call, happening) => {
                let event = event(call + 10 * u64::from(run), happening).unwrap();
                desk.run_event(&format!("r{run}"), event);
                assert!(desk.model.composer.text().contains(&typed), "a run took away what was typed");
            }
            Step::Answer(which) => self.answer_request(which),
        }
    }

    /// Answers something that was asked for, whatever was asked since.
    fn answer_request(&mut self, which: usize) {
        if self.desk.commands.is_empty() {
            return;
        }
        let at = which % self.desk.commands.len();
        let cmd = self.desk.commands.remove(at);
        let run = RunId::from("r0");
        let reply = match cmd {
            UiCommand::Ask(request) => match response_to(request, run) {
                Some(response) => UiMessage::Answered(response),
                None => return,
            },
            UiCommand::Display(DisplayRequest::History(number, asked)) => {
                UiMessage::Displayed(DisplayResponse::History(number, Box::new(history_reply(*asked))))
            }
            UiCommand::Display(DisplayRequest::Theme(_)) => {
                UiMessage::Displayed(DisplayResponse::Theme(Ok(ColorTheme::default())))
            }
            UiCommand::External { number, .. } => {
                let edited = EditorResponse::EditedOutside(Ok("{}\n\x1b[2J".into()));
                UiMessage::Answered(SessionResponse::Editor(number, edited))
            }
            UiCommand::OpenFile(_) => {
                let closed = EditorResponse::FileClosed(Err("größe 日本\u{202e}: no such file".into()));
                UiMessage::Answered(SessionResponse::Editor(0, closed))
            }
            _ => return,
        };
        self.desk.send_message(reply);
    }

    /// Draws over the last frame and looks at what is there.
    fn redraw_and_check(&mut self) {
        // nobody has a screen of that size, and its cells would take gigabytes
        let (columns, rows) = (self.size.0.min(1_000), self.size.1);
        self.desk.model.size = self.size;
        view::arrange_screen(&mut self.desk.model);
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        let next = terminal.draw(|frame| view::draw_screen(&self.desk.model, frame)).unwrap().buffer.clone();
        let cursor = terminal.get_cursor_position().unwrap();
        let inside =
            !terminal.backend().cursor_visible() || cursor.x < columns.max(1) && cursor.y < rows.max(1);
        assert!(inside, "the cursor is at {cursor} of {columns}×{rows}");
        let mut new = Grid::blank_grid(columns, rows);
        let blank = Buffer::empty(next.area);
        new.draw_difference(&blank, &next);
        if self.last_buffer.area == next.area {
            self.seen_grid.draw_difference(&self.last_buffer, &next);
        } else {
            self.seen_grid = new.clone();
        }
        self.last_buffer = next;
        for (over, new) in self.seen_grid.rows().iter().zip(&new.rows()) {
            assert_eq!(over, new, "drawn over, and new");
            let steers =
                |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            assert!(!new.contains(steers), "{new:?}");
        }
        self.places();
    }

    /// What points at something points inside of it.
    fn places(&self) {
        let model = &self.desk.model;
        let (row, column) = model.composer.cursor();
        let text = model.composer.text();
        let line = text.split('\n').nth(row).unwrap_or_else(|| panic!("line {row} of {text:?}"));
        let byte = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
        let between = byte == line.len() || line.grapheme_indices(true).any(|(at, _)| at == byte);
        assert!(column <= line.chars().count() && between, "column {column} of {line:?}");
        for pane in PaneKind::ALL.into_iter().filter(|pane| model.on_screen().contains(pane)) {
            let state = model.panes.state(pane);
            let len = view::pane_body(model, pane).map_or(1, |body| body.len());
            let inside = state.cursor < len.max(1) && state.top_row < len.max(1);
            assert!(
                inside || model.history_browser.is_some() || model.edit.is_some(),
                "{pane:?}: {} {} of {len}",
                state.cursor,
                state.top_row
            );
        }
        if let Some(selected) = model.transcript.selected_index() {
            assert!(selected < model.transcript.len(), "{selected} of {}", model.transcript.len());
        }
        if let Some(popup) = &model.popup {
            assert!(
                popup.selected < popup.candidates.len(),
                "{} of {}",
                popup.selected,
                popup.candidates.len()
            );
        }
        if let Some(archive) = &model.history_browser {
            assert!(archive.list.cursor < archive.list.len().max(1), "{}", archive.list.cursor);
        }
        if let Some(EditorScreen::Text(editor)) = &model.edit {
            let (row, column) = editor.buffer.cursor();
            let line = editor.buffer.lines().get(row).unwrap_or_else(|| panic!("no line {row}"));
            assert!(column <= line.chars().count(), "column {column} of {line:?}");
        }
    }
}

fn history_reply(asked: HistoryRequest) -> HistoryResponse {
    match asked {
        HistoryRequest::Page { .. } => HistoryResponse::Page(Ok(HistoryRunPage {
            rows: many_rows(0, 30),
            has_more: true,
            at: Timestamp(2_000_000),
        })),
        HistoryRequest::Changes => HistoryResponse::Changes(Some(2)),
        HistoryRequest::Open { .. } => HistoryResponse::Opened(Ok(Some(Box::new(run_details())))),
        HistoryRequest::Export { .. } | HistoryRequest::Control { .. } => {
            HistoryResponse::Done(Err("no".into()))
        }
        _ => HistoryResponse::Text(Err("it was removed".into())),
    }
}

fn editor_reply(asked: EditorRequest) -> Option<EditorResponse> {
    let file = || EditFile {
        name: ".synthdev/workflows/mine.json".into(),
        layer: ConfigLayer::Project,
        file_kind: EditFileKind::Workflow,
        definition_names: vec!["mine".into()],
        problem: None,
    };
    Some(match asked {
        EditorRequest::Files => EditorResponse::Files(Ok(vec![file(), file()])),
        EditorRequest::Open { .. } => {
            let text =
                "{\n  \"workflow_name\": \"größe 日本\\u0000\",\n\t\"states\": [e\u{301} \u{202e}\n]}\n"
                    .into();
            EditorResponse::Opened(Ok(Box::new(OpenedEditFile {
                file: file(),
                text,
                symbols: CatalogSymbols::default(),
                in_external_editor: false,
            })))
        }
        EditorRequest::Check { version, .. } => {
            EditorResponse::Checked { version, report: Box::<EditorCheckReport>::default() }
        }
        EditorRequest::Patterns => EditorResponse::Patterns(Err("they cannot be read".into())),
        EditorRequest::Begin(_) => EditorResponse::Begun(Err("the name is taken".into())),
        EditorRequest::Simulate { version, .. } => {
            EditorResponse::Simulated { version, result: Err("größe 日本\u{202e}: too long".into()) }
        }
        EditorRequest::Save { .. } | EditorRequest::EditOutside { .. } | EditorRequest::OpenFile(_) => {
            return None;
        }
    })
}

/// A frame over the second half of a wide letter, and a moment later over something else.
#[test]
fn a_frame_over_half_a_letter_stays_whole() {
    for words in ["aa0", "aa", "a", "", "aaaa"] {
        let mut fuzz = Fuzz::new();
        let steps = [
            Step::Size(226, 7),
            Step::Paste(format!("{words}日本語| a | b |\n|--|--|\n{{\"a\": [1, 2]}}ﷺ日本語")),
            Step::Line("/help".into()),
            Step::Answer(0),
            Step::Run(0, 0, Happening::Asks(String::new())),
            Step::Line("B/help".into()),
        ];
        for step in steps {
            fuzz.run_step(step);
            fuzz.redraw_and_check();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(60), failure_persistence: None, rng_seed: RngSeed::Fixed(6), ..ProptestConfig::default() })]

    #[test]
    fn anything_at_all_in_any_order(steps in steps()) {
        let mut fuzz = Fuzz::new();
        for step in steps {
            fuzz.run_step(step);
            fuzz.redraw_and_check();
        }
    }

    #[test]
    fn what_streams_in_pieces_is_drawn_like_the_whole(answer in text(60), cuts in proptest::collection::vec(1_usize..30, 1..20), columns in 4_u16..100) {
        prop_assume!(!answer.is_empty());
        let mut pieces = TuiHarness::new();
        let mut whole = TuiHarness::new();
        for desk in [&mut pieces, &mut whole] {
            desk.start_chat().run_event("c1", model_called(7, "coder", ConversationSide::Assistant));
        }
        let letters: Vec<char> = answer.chars().collect();
        let (mut at, mut cut) = (0, cuts.iter().cycle());
        while at < letters.len() {
            let end = (at + cut.next().copied().unwrap_or(1)).min(letters.len());
            let piece: String = letters[at..end].iter().collect();
            pieces.run_event("c1", delta_event(7, DeltaKind::Text, &piece));
            pieces.draw_screen(columns, 30);
            at = end;
        }
        // the status line shows the elapsed time: the whole text comes at the time of the last piece
        whole.clock = pieces.clock - 10;
        whole.run_event("c1", delta_event(7, DeltaKind::Text, &answer));
        prop_assert_eq!(pieces.draw_screen(columns, 200), whole.draw_screen(columns, 200));
        for desk in [&mut pieces, &mut whole] {
            desk.run_event("c1", model_replied(7, "coder", ConversationSide::Assistant, &answer, ""));
        }
        prop_assert_eq!(pieces.draw_screen(columns, 200), whole.draw_screen(columns, 200));
    }
}

fn response_to(request: SessionRequest, run: RunId) -> Option<SessionResponse> {
    Some(match request {
        SessionRequest::Start(StartRequest::Chat { role }) => {
            StartResponse::ChatStarted { role, run: Ok(run), windows: BTreeMap::new(), warnings: vec![] }
                .into()
        }
        SessionRequest::Start(StartRequest::Workflow { name, input }) => StartResponse::WorkflowStarted {
            name,
            input,
            run: Ok(run),
            note: None,
            windows: BTreeMap::new(),
            agents: Vec::new(),
            warnings: vec![],
        }
        .into(),
        SessionRequest::Definitions(DefinitionRequest::ChooseWorkflow(requested_name)) => {
            DefinitionResponse::WorkflowChosen { requested_name, workflows: workflow_lines() }.into()
        }
        SessionRequest::Definitions(DefinitionRequest::Names) => {
            DefinitionResponse::Names { workflows: workflow_lines(), roles: role_lines() }.into()
        }
        SessionRequest::Definitions(DefinitionRequest::Prices(models)) => {
            DefinitionResponse::Prices(models.into_iter().map(|model| (model, None)).collect()).into()
        }
        SessionRequest::Definitions(DefinitionRequest::Workflows) => {
            DefinitionResponse::Workflows(workflow_lines()).into()
        }
        SessionRequest::Project(ProjectRequest::Files) => {
            ProjectResponse::Files(Ok(vec!["src/größe 日本.rs".into(), "a/b".into()])).into()
        }
        SessionRequest::Editor(number, asked) => SessionResponse::Editor(number, editor_reply(*asked)?),
        _ => return None,
    })
}
