//! F1 opens the keys of what is focused: those of the table, of a question also its list of answers. Any key closes them.

use ratatui::crossterm::event::{KeyCode, KeyEvent, MouseEvent, MouseEventKind};

use super::history_browser;
use crate::composer::ComposerEdit;
use crate::dialog::{AnswerDraft, DraftPurpose, QuestionDialog};
use crate::editor::action::EditorAction;
use crate::key_help::KeyHelp;
use crate::keymap::{KeyAction, KeyBindings, KeyFocusState};
use crate::layers::ScreenLayer;
use crate::layout::PaneKind;
use crate::model::UiModel;
use crate::msg::UiCommand;

mod dialog_keys;

const INTERRUPT: &str = "Ctrl+C";
const EXIT: &str = "/exit";
/// Rows that a step of the wheel moves.
const WHEEL: usize = 3;

/// Whether the key opens the keys of what is focused.
pub fn opens_key_help(model: &mut UiModel, key: KeyEvent) -> bool {
    let asks = matches!(model.key_action(key), Some(KeyAction::Help | KeyAction::Editor(EditorAction::Help)));
    if model.is_open(ScreenLayer::KeyHelp) || !asks {
        return false;
    }
    model.key_help = focused_key_help(model);
    model.is_open(ScreenLayer::KeyHelp)
}

/// Those of the editor of workflows and roles, which has keys of its own.
pub fn open_editor_keys(model: &mut UiModel) {
    model.key_help = Some(KeyHelp::new("Keys of the editor".to_owned(), model.keymap.editor_rows()));
}

/// `None`: the keys are closed, and the key is for what is below.
pub fn on_key(model: &mut UiModel, key: KeyEvent) -> Option<Vec<UiCommand>> {
    let help = model.key_help.as_mut()?;
    match key.code {
        code if help.hidden_rows == 0 => return close_key_help(model, code),
        KeyCode::Up => help.scroll_by(1, false),
        KeyCode::Down => help.scroll_by(1, true),
        KeyCode::PageUp => help.scroll_by(10, false),
        KeyCode::PageDown | KeyCode::Char(' ') => help.scroll_by(10, true),
        KeyCode::Home => help.top_row = 0,
        KeyCode::End => help.top_row = help.hidden_rows,
        code => return close_key_help(model, code),
    }
    Some(Vec::new())
}

/// Where letters are typed they go on; nothing that was covered is answered or acted on.
fn close_key_help(model: &mut UiModel, code: KeyCode) -> Option<Vec<UiCommand>> {
    model.key_help = None;
    let is_typed = match model.focused_layer() {
        ScreenLayer::Conversation | ScreenLayer::FocusedPane => true,
        // its questions take letters as answers
        ScreenLayer::WorkflowEditor => model.is_editor_typed(),
        _ => false,
    };
    (!is_typed || !matches!(code, KeyCode::Char(_))).then(Vec::new)
}

pub fn on_mouse(model: &mut UiModel, event: MouseEvent) {
    let Some(help) = &mut model.key_help else { return };
    match event.kind {
        MouseEventKind::ScrollUp => help.scroll_by(WHEEL, false),
        MouseEventKind::ScrollDown => help.scroll_by(WHEEL, true),
        MouseEventKind::Down(_) => model.key_help = None,
        _ => {}
    }
}

/// The keys of what has them; `None`: the text of the editor shows its keys itself. What gets a user out stands first: on a small screen the
/// rest is below.
fn focused_key_help(model: &UiModel) -> Option<KeyHelp> {
    let mut help = placed_key_help(model)?;
    help.rows.sort_by_key(|(keys, _)| way_out_place(&model.keymap, keys));
    Some(help)
}

/// The place among the ways out; whatever is none has the last one.
fn way_out_place(keymap: &KeyBindings, keys: &str) -> usize {
    let help = keymap.key(KeyAction::Help).map(|key| key.to_string());
    let ways_out = [Some("Esc".to_owned()), Some(INTERRUPT.to_owned()), help, Some(EXIT.to_owned())];
    let is_one = |way: &Option<String>| way.as_deref() == Some(keys);
    ways_out.iter().position(is_one).unwrap_or(ways_out.len())
}

fn placed_key_help(model: &UiModel) -> Option<KeyHelp> {
    let (keymap, now) = (&model.keymap, model.key_focus_state());
    let layer = model.focused_layer();
    match layer {
        ScreenLayer::HistoryBrowser => history_browser::key_list(model),
        ScreenLayer::ModelSetup => model.open_setup().map(dialog_keys::setup_keys),
        ScreenLayer::ResumePicker => Some(dialog_keys::resume_keys()),
        ScreenLayer::WorkflowEditor => model.open_editor().and_then(dialog_keys::editor_keys),
        ScreenLayer::FocusedPane => model.keyed_pane().map(|pane| {
            let mut rows = keymap.rows_that_act(now, |action| action.is_for_pane(pane));
            if pane == PaneKind::Graph {
                rows.iter_mut().for_each(|(_, about)| name_graph_edge(about));
            }
            rows.extend(session_rows(model));
            KeyHelp::new(format!("Keys of the {} pane", pane.title()), rows)
        }),
        ScreenLayer::KeyQuestion => {
            model.dialogs.front().map(|dialog| question_help(dialog, model.dialogs.len() > 1, keymap, now))
        }
        // all that works there, also what wants an empty line
        ScreenLayer::Conversation | ScreenLayer::TypedQuestion => {
            let mut rows = keymap.active_rows(KeyFocusState { empty: true, ..now });
            let written = [
                ("@", "paths, roles, runs: a list"),
                ("Tab", "complete what is typed"),
                ("Up, Down", "earlier lines, and back"),
            ];
            // what is typed every day stands first, behind how it is sent
            let sent =
                rows.iter().take_while(|(_, about)| ["send", "new line"].contains(&about.as_str())).count();
            rows.splice(sent..sent, written.map(|(keys, about)| (keys.to_owned(), about.to_owned())));
            let leave = (EXIT.to_owned(), "leave the program".to_owned());
            if let Some(dialog) = model.dialogs.front().filter(|_| layer == ScreenLayer::TypedQuestion) {
                rows.retain(|(keys, _)| keys != "Esc");
                rows.extend([written_escape_row(dialog), written_interrupt_row(), leave]);
                return Some(KeyHelp::new("Keys of this answer".to_owned(), rows));
            }
            rows.extend([session_interrupt_row(model), leave]);
            Some(KeyHelp::new("Keys of the input line".to_owned(), rows))
        }
        _ => None,
    }
}

/// The keys for the edges of a list lead to states.
fn name_graph_edge(about: &mut String) {
    match about.as_str() {
        "first row" => "the first state".clone_into(about),
        "last row" => "the state of now, or the last one".clone_into(about),
        _ => {}
    }
}

/// Keys of the whole session that act in a pane, too: they are not taken from the table there.
fn session_rows(model: &UiModel) -> Vec<(String, String)> {
    let leave = model.keymap.key(KeyAction::Leave).filter(|_| model.composer.is_empty());
    let leave = leave.map(|key| (key.to_string(), "leave the program".to_owned()));
    leave.into_iter().chain([session_interrupt_row(model)]).collect()
}

/// Ctrl+C ends a workflow for good, which Esc does not.
fn session_interrupt_row(model: &UiModel) -> (String, String) {
    let is_cancelled = model.busy_run().is_some_and(|run| !run.chat) && !model.is_workflow_stopped();
    if is_cancelled {
        return (INTERRUPT.to_owned(), "cancel the run; twice: leave".to_owned());
    }
    interrupt_row()
}

fn interrupt_row() -> (String, String) {
    (INTERRUPT.to_owned(), "stop; twice: leave".to_owned())
}

/// What is typed inside of a question takes the keys of the input line.
fn draft_help(draft: &AnswerDraft, scrolls: bool, keymap: &KeyBindings, now: KeyFocusState) -> KeyHelp {
    let (enter, others) = match draft.purpose {
        DraftPurpose::Reason => {
            ("denies with this reason", Some(("Tab", "sends the words as a message instead")))
        }
        DraftPurpose::Rule => ("writes the rule and allows the call", None),
        DraftPurpose::Call => ("shows the call as it would run", None),
    };
    let written = [
        ("Enter", enter),
        ("Esc", "back to the answers"),
        ("PgDn, PgUp", if scrolls { "scroll the question" } else { "scroll the conversation" }),
    ];
    let written = written.into_iter().chain(others).map(|(keys, about)| (keys.to_owned(), about.to_owned()));
    let is_edit = |action: KeyAction| matches!(action, KeyAction::Edit(edit) if !matches!(edit, ComposerEdit::SearchHistory | ComposerEdit::Unfold));
    let edits = keymap.rows_that_act(KeyFocusState { question_open: false, ..now }, is_edit);
    KeyHelp::new("Keys of this text".to_owned(), written.chain([interrupt_row()]).chain(edits).collect())
}

/// What Esc does with the question.
fn written_escape_row(dialog: &QuestionDialog) -> (String, String) {
    let escape = dialog.escape_hint().trim_start_matches("Esc").trim_start_matches(':').trim().to_owned();
    ("Esc".to_owned(), escape)
}

fn written_interrupt_row() -> (String, String) {
    (INTERRUPT.to_owned(), "take the text away; twice: leave".to_owned())
}

fn question_help(
    dialog: &QuestionDialog,
    has_others: bool,
    keymap: &KeyBindings,
    now: KeyFocusState,
) -> KeyHelp {
    let answers =
        dialog.answers().into_iter().filter_map(|answer| Some((answer.letter?.to_string(), answer.label)));
    if let Some(draft) = &dialog.draft {
        return draft_help(draft, dialog.has_overflow(), keymap, now);
    }
    let (choose, pages, scrolled) = if dialog.has_overflow() {
        ("choose; Down scrolls first", "Space, PgDn, PgUp", "scroll the text")
    } else {
        ("choose an answer", "PgDn, PgUp", "scroll the conversation")
    };
    let written = [
        ("arrows, a letter", choose),
        ("Enter", "gives the chosen one"),
        (pages, scrolled),
        ("Tab, Shift+Tab", "the next question, the one before"),
    ];
    let written = written.into_iter().filter(|(keys, _)| has_others || !keys.starts_with("Tab"));
    let written = written.map(|(keys, about)| (keys.to_owned(), about.to_owned()));
    let ways_out = [written_escape_row(dialog), interrupt_row()];
    let rows = answers.chain(written).chain(ways_out).chain(keymap.active_rows(now));
    KeyHelp::new("Keys of this question".to_owned(), rows.collect())
}
