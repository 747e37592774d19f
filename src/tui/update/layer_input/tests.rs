//! Which layer gets a key, a paste, the wheel and the cursor, for each combination of layers that are open.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseEvent, MouseEventKind};
use ratatui::layout::Position;
use synthdev_domain::ids::{CallId, RunId, Timestamp};
use synthdev_domain::source_location::ConfigLayer;

use crate::complete::{CompletionNames, complete_input};
use crate::dialog::{AnswerDraft, AnswerForm, DialogKind, DraftPurpose, QuestionDialog};
use crate::editor::{DefinitionEditor, EditorScreen};
use crate::history_browser::{HistoryBrowser, HistoryText, HistoryTextView};
use crate::layers::ScreenLayer;
use crate::layout::PaneKind;
use crate::model::UiModel;
use crate::msg::{UiCommand, UiMessage};
use crate::pane::PaneSearch;
use crate::resume_picker::{ResumableEntry, ResumePicker};
use crate::setup::{SetupDialog, SetupStep};
use crate::transcript::item::{ItemTone, TranscriptItem};
use crate::update::update_model;
use crate::view;
use synthdev_service::session::{
    CatalogSymbols, DefinitionRequest, EditFile, EditFileKind, OpenedEditFile, SetupServer,
};

/// What is open, then what gets a letter, Up, a paste and the wheel, and what has the cursor; empty: nothing.
type LayerRow = (&'static str, [&'static str; 5]);

const ROWS: &[LayerRow] = &[
    ("", ["input", "input", "input", "conversation", "input"]),
    ("popup", ["input", "popup", "input", "conversation", "input"]),
    ("pane", ["input", "pane", "input", "conversation", ""]),
    ("pane search", ["pane", "", "pane", "conversation", ""]),
    // what is not seen has no keys
    ("pane popup", ["input", "pane", "input", "conversation", ""]),
    // the wheel is over the conversation, which a question does not cover; the text in the input box goes on
    ("question", ["input", "question", "input", "conversation", "input"]),
    ("question popup", ["input", "question", "input", "conversation", "input"]),
    ("question pane", ["input", "question", "input", "conversation", "input"]),
    ("question pane search", ["pane", "question", "pane", "conversation", ""]),
    ("question reason", ["question", "", "question", "conversation", "question"]),
    ("question reason pane search", ["question", "", "question", "conversation", "question"]),
    // a paste continues the command as letters do
    ("question command", ["input", "input", "input", "conversation", "input"]),
    ("question command popup", ["input", "popup", "input", "conversation", "input"]),
    ("question command pane", ["input", "input", "input", "conversation", "input"]),
    ("question reason command", ["question", "", "question", "conversation", "question"]),
    ("written", ["input", "input", "input", "conversation", "input"]),
    ("written popup", ["input", "popup", "input", "conversation", "input"]),
    ("written pane", ["input", "input", "input", "conversation", "input"]),
    ("history", ["history", "history", "history", "history", "history"]),
    ("history question", ["history", "history", "history", "history", "history"]),
    ("history written popup pane", ["history", "history", "history", "history", "history"]),
    ("picker", ["picker", "picker", "picker", "picker", "picker"]),
    ("picker history question", ["picker", "picker", "picker", "picker", "picker"]),
    ("editor picker", ["editor", "editor", "editor", "editor", "editor"]),
    ("editor", ["editor", "editor", "editor", "editor", "editor"]),
    ("editor history", ["editor", "editor", "editor", "editor", "editor"]),
    ("editor question reason", ["editor", "editor", "editor", "editor", "editor"]),
    ("setup", ["setup", "setup", "setup", "", "setup"]),
    ("setup question", ["setup", "setup", "setup", "", "setup"]),
    ("setup pane popup", ["setup", "setup", "setup", "", "setup"]),
    // the wheel moves nothing below the dialog
    ("setup history", ["setup", "setup", "setup", "", "setup"]),
    ("setup editor history question", ["setup", "setup", "setup", "", "setup"]),
    // nothing is typed in its last step: no cursor of the layer below
    ("setup trial", ["", "", "", "", ""]),
    ("setup trial editor", ["", "", "", "", ""]),
    ("setup trial question reason", ["", "", "", "", ""]),
];

#[test]
fn each_layer_gets_what_is_for_it() {
    let alone = [
        ("input", ""),
        ("question", "question reason"),
        ("history", "history"),
        ("picker", "picker"),
        ("editor", "editor"),
        ("setup", "setup"),
    ];
    let cursors = alone.map(|(name, parts)| (name, cursor(&open_parts(parts)).unwrap()));
    for (parts, expected) in ROWS {
        let model = open_parts(parts);
        let place = cursor(&model);
        let owner = cursors.iter().find(|(_, cursor)| place == Some(*cursor)).map_or("", |(name, _)| name);
        assert_eq!(place.is_some(), !owner.is_empty(), "{parts}: a cursor at {place:?}");
        let got = [
            taker(&model, key_message(KeyCode::Char('x'))),
            taker(&model, key_message(KeyCode::Up)),
            taker(&model, UiMessage::Paste("pasted".to_owned())),
            taker(&model, wheel()),
            owner.to_owned(),
        ];
        assert_eq!(got, expected.map(str::to_owned), "{parts}");
    }
}

#[test]
fn the_mouse_moves_nothing_while_it_is_off() {
    for parts in ["", "pane", "history", "editor"] {
        let mut model = open_parts(parts);
        model.mouse = false;
        assert_eq!(taker(&model, wheel()), "", "{parts}");
    }
}

#[test]
fn an_unbidden_setup_gives_way_to_a_command() {
    for (message, step, at_first_start, expected) in [
        (key_message(KeyCode::Char('/')), SetupStep::Place, true, "setup input"),
        (UiMessage::Paste("/help".to_owned()), SetupStep::Place, true, "setup input"),
        (UiMessage::Paste("http://localhost:1".to_owned()), SetupStep::Place, true, "setup"),
        (UiMessage::Paste("/help".to_owned()), SetupStep::Place, false, "setup"),
        (UiMessage::Paste("/help".to_owned()), SetupStep::Key, true, "setup"),
    ] {
        let mut model = open_parts("setup");
        model.setup.iter_mut().for_each(|setup| (setup.step, setup.at_first_start) = (step, at_first_start));
        assert_eq!(taker(&model, message.clone()), expected, "{message:?} {step:?} {at_first_start}");
    }
}

#[test]
fn letters_of_a_search_answer_no_question() {
    let mut model = open_parts("pane search");
    model.composer.set_text("");
    update_model(&mut model, key_message(KeyCode::Char('w')));
    model.dialogs.push_back(question());
    view::arrange_screen(&mut model);
    for code in [KeyCode::Char('y'), KeyCode::Enter] {
        let cmds = update_model(&mut model, key_message(code));
        assert_eq!((cmds, model.dialogs.len()), (Vec::new(), 1), "{code:?}");
    }
    assert_eq!(model.panes.search.as_ref().map(|search| search.search_words.as_str()), Some("wy"));
}

#[test]
fn covered_layers_are_not_drawn() {
    use ScreenLayer::{
        CompletionPopup, Conversation, HistoryBrowser, KeyQuestion, ModelSetup, SessionKeys, TypedQuestion,
        WorkflowEditor,
    };
    let rows: &[(&str, &[ScreenLayer])] = &[
        ("", &[Conversation, SessionKeys]),
        ("question popup", &[Conversation, KeyQuestion, SessionKeys]),
        ("written popup", &[Conversation, TypedQuestion, CompletionPopup, SessionKeys]),
        ("question popup setup", &[Conversation, SessionKeys, ModelSetup]),
        ("question popup history", &[HistoryBrowser]),
        ("history editor setup", &[WorkflowEditor, ModelSetup]),
    ];
    for (parts, expected) in rows {
        assert_eq!(open_parts(parts).visible_layers(), *expected, "{parts}");
    }
}

/// A screen with these parts open.
fn open_parts(parts: &str) -> UiModel {
    let mut model = UiModel { mouse: true, size: (120, 40), panel: true, ..UiModel::default() };
    let has = |part: &str| parts.split(' ').any(|word| word == part);
    model.add_items((0..100).map(|at| TranscriptItem::line(ItemTone::Plain, &format!("line {at}"))));
    model.composer.set_text(if has("command") { "/first\nsecond" } else { "first\nsecond" });
    if has("pane") {
        model.panes.show_pane(PaneKind::Tools);
    }
    if has("search") {
        model.panes.search = Some(PaneSearch { is_typing: true, ..PaneSearch::default() });
    }
    if has("question") || has("written") {
        model.dialogs.push_back(question());
    }
    for dialog in &mut model.dialogs {
        if has("reason") {
            (dialog.draft, dialog.is_armed) = (Some(AnswerDraft::new(DraftPurpose::Reason, "no")), true);
        }
        if has("written") {
            dialog.kind = DialogKind::Write { run: RunId::from("r"), call: CallId(1), form: free_text() };
        }
    }
    if has("popup") {
        model.popup = complete_input("/", &CompletionNames::default());
    }
    if has("history") {
        model.history_browser = Some(Box::new(history()));
    }
    if has("picker") {
        let entries = (0..10).map(|at| entry(&format!("r{at}"))).collect();
        model.resume_picker = Some(ResumePicker { entries, selected: 5, ..ResumePicker::default() });
    }
    if has("editor") {
        model.edit = Some(EditorScreen::Text(Box::new(editor())));
    }
    if has("setup") {
        let step = if has("trial") { SetupStep::Trial } else { SetupStep::Place };
        let servers = vec![SetupServer::default()];
        model.setup = Some(SetupDialog { step, ..SetupDialog::new("base".to_owned(), false, servers) });
    }
    view::arrange_screen(&mut model);
    // Up moves each of them
    model.panes.state_mut(PaneKind::Tools).go_to(1, 2);
    model.dialogs.iter_mut().for_each(|dialog| dialog.scroll = 5);
    model
        .history_browser
        .iter_mut()
        .flat_map(|browser| &mut browser.page)
        .for_each(|page| page.text.follow_end());
    view::arrange_screen(&mut model);
    model
}

fn question() -> QuestionDialog {
    let body: String = (0..100).map(|at| format!("line {at}\n")).collect();
    QuestionDialog::for_confirmation("Do it?", &body, UiCommand::ask(DefinitionRequest::Names))
}

fn free_text() -> AnswerForm {
    AnswerForm {
        accepts_nothing: false,
        number: false,
        outputs: Vec::new(),
        fields: None,
        default: None,
        draft: Some(false),
    }
}

fn history() -> HistoryBrowser {
    let items = (0..100).map(|at| TranscriptItem::line(ItemTone::Plain, &format!("line {at}"))).collect();
    let text = HistoryText { title: "a step".to_owned(), items, ..HistoryText::default() };
    let mut browser =
        HistoryBrowser { page: Some(Box::new(HistoryTextView::new(text))), ..HistoryBrowser::default() };
    browser.search = Some(PaneSearch { is_typing: true, ..PaneSearch::default() });
    // the next key takes it away
    browser.show_note("opened");
    browser
}

fn entry(run: &str) -> ResumableEntry {
    ResumableEntry {
        run: RunId::from(run),
        title: "a title".to_owned(),
        name: "coder".to_owned(),
        age: "just now".to_owned(),
        tokens: 7,
        note: None,
    }
}

fn editor() -> DefinitionEditor {
    let file = EditFile {
        name: "mine.json".to_owned(),
        layer: ConfigLayer::Project,
        file_kind: EditFileKind::Workflow,
        definition_names: Vec::new(),
        problem: None,
    };
    let symbols = CatalogSymbols::default();
    let text = "\n".repeat(20).into();
    let mut editor =
        DefinitionEditor::new(1, OpenedEditFile { file, text, symbols, in_external_editor: false });
    editor.buffer.move_to(10, 0);
    editor
}

fn key_message(code: KeyCode) -> UiMessage {
    UiMessage::Key(KeyEvent::new(code, KeyModifiers::NONE), Timestamp(1_000_000))
}

fn wheel() -> UiMessage {
    UiMessage::Mouse(MouseEvent {
        kind: MouseEventKind::ScrollUp,
        column: 10,
        row: 10,
        modifiers: KeyModifiers::NONE,
    })
}

/// The parts that the message changes.
fn taker(model: &UiModel, message: UiMessage) -> String {
    let mut after = model.clone();
    update_model(&mut after, message);
    let changed = parts_of(model).into_iter().zip(parts_of(&after)).filter(|(before, now)| before != now);
    changed.map(|((name, _), _)| name).collect::<Vec<_>>().join(" ")
}

/// What input changes in each part.
fn parts_of(model: &UiModel) -> [(&'static str, String); 9] {
    let setup = model.setup.as_ref().map(|setup| (&setup.typed_text, setup.selected));
    let editor = match &model.edit {
        Some(EditorScreen::Text(editor)) => Some((editor.buffer.text(), editor.buffer.cursor())),
        _ => None,
    };
    let picker = model.resume_picker.as_ref().map(|picker| (&picker.typed_filter, picker.selected));
    let history = model.history_browser.as_ref().map(|browser| {
        let page = browser.page.as_ref().map(|page| page.text.is_following());
        (browser.search.as_ref().map(|search| &search.search_words), &browser.status_note, page)
    });
    let question = model
        .dialogs
        .front()
        .map(|dialog| (dialog.draft.as_ref().map(|draft| draft.text.text()), dialog.scroll));
    let popup = model.popup.as_ref().is_some_and(|popup| popup.moved_by_hand);
    let words = model.panes.search.as_ref().map(|search| &search.search_words);
    // the pane has no rows, and says so
    let told = model.hint.as_ref().filter(|hint| hint.ends_with("in the tools pane yet"));
    let pane = (model.panes.state(PaneKind::Tools).cursor, words.filter(|words| !words.is_empty()), told);
    [
        ("setup", format!("{setup:?}")),
        ("editor", format!("{editor:?}")),
        ("picker", format!("{picker:?}")),
        ("history", format!("{history:?}")),
        ("question", format!("{question:?}")),
        ("popup", popup.to_string()),
        ("pane", format!("{pane:?}")),
        ("input", format!("{:?}", (model.composer.text(), model.composer.cursor()))),
        ("conversation", model.transcript.is_following().to_string()),
    ]
}

/// Where the cursor is; `None`: it is hidden.
fn cursor(model: &UiModel) -> Option<Position> {
    let mut terminal = Terminal::new(TestBackend::new(120, 40)).unwrap();
    terminal.draw(|frame| view::draw_screen(model, frame)).unwrap();
    let backend = terminal.backend();
    backend.cursor_visible().then(|| backend.cursor_position())
}
