//! Keys and answers in the editor of workflows and roles.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use super::key_press::KeyPress;
use super::{editing_keys, file_mentions, key_help};
use crate::editor::action::EditorAction;
use crate::editor::graph_list::EditorGraphList;
use crate::editor::{DefinitionEditor, EditFileList, EditorPrompt, EditorScreen, LARGEST};
use crate::keymap::KeyAction;
use crate::keymap::chord::KeyChord;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::text::format_count;
use crate::transcript::item::{ItemTone, TranscriptItem};
use crate::view;
use synthdev_domain::diagnostic::DiagnosticSeverity;
use synthdev_service::session::{
    DefinitionRequest, EditorCheckReport, EditorRequest, EditorResponse, EditorSaveError, OpenedEditFile,
    ProjectRequest, SavedEditFile, SessionRequest,
};

mod actions;
mod keys;
mod new_file;
mod prompt;
mod simulate;

pub use new_file::open_picker as open_fresh;

/// Rows that one step of the wheel moves.
const WHEEL: isize = 3;

/// `/edit [NAME]`.
pub fn open_editor(model: &mut UiModel, name: Option<String>, external: bool) -> Vec<UiCommand> {
    model.edits += 1;
    let asked =
        name.map_or(EditorRequest::Files, |name| EditorRequest::Open { name, in_external_editor: external });
    vec![UiCommand::Ask(SessionRequest::Editor(model.edits, Box::new(asked)))]
}

/// A key while the editor is in front.
pub fn on_key(model: &mut UiModel, press: KeyPress) -> Vec<UiCommand> {
    let key = press.key;
    let chord = KeyChord::from_event(key);
    if model.keymap.has_binding(KeyAction::Repaint, chord) {
        model.needs_repaint = true;
        return Vec::new();
    }
    let meant = model.key_action(key);
    let meant = meant.and_then(|action| if let KeyAction::Editor(act) = action { Some(act) } else { None });
    match &mut model.edit {
        None => Vec::new(),
        Some(EditorScreen::List(listing)) => match in_list(listing, key) {
            FileListChoice::Nothing => Vec::new(),
            FileListChoice::Leave => {
                model.edit = None;
                Vec::new()
            }
            FileListChoice::File(name) => open_editor(model, Some(name), false),
            FileListChoice::New => new_file::open_picker(model, None),
        },
        Some(EditorScreen::Fresh(dialog)) => match new_file::on_key(dialog, key) {
            new_file::NewFileKeyOutcome::Stay => Vec::new(),
            new_file::NewFileKeyOutcome::Leave => {
                model.edit = None;
                Vec::new()
            }
            new_file::NewFileKeyOutcome::Ask(wish) => {
                vec![UiCommand::Ask(SessionRequest::Editor(
                    model.edits,
                    Box::new(EditorRequest::Begin(wish)),
                ))]
            }
        },
        Some(EditorScreen::Text(editor)) if meant == Some(EditorAction::Help) && editor.prompt.is_none() => {
            (editor.status_note, editor.help_text) = (None, None);
            key_help::open_editor_keys(model);
            Vec::new()
        }
        Some(EditorScreen::Text(editor)) => {
            let mut cmds = keys::on_key(editor, press, meant, model.size.0);
            cmds.extend(settle_changes(editor));
            if editor.close_when_saved
                && editor.prompt.is_none()
                && !editor.is_saving
                && editor.saving_version.is_none()
            {
                model.edit = None;
            }
            cmds
        }
    }
}

pub fn on_paste(model: &mut UiModel, text: &str) -> Vec<UiCommand> {
    let now = model.now;
    match &mut model.edit {
        Some(EditorScreen::Text(editor)) => {
            if editor.open_question().is_some() {
                prompt::begin_text(editor);
            }
            match &mut editor.prompt {
                Some(EditorPrompt::Find(words)) => words.push_str(text.lines().next().unwrap_or_default()),
                _ if editor.buffer.text().len() + text.len() > LARGEST => {
                    editor.status_note = Some("too long: texts of up to 1 MB are edited here".to_owned());
                }
                _ => editor.buffer.paste_text(text),
            }
            editor.prompt_guard.note_length(None);
            editor.prompt_guard.note_typed(now);
            settle_changes(editor)
        }
        Some(EditorScreen::List(listing)) => {
            listing.typed_filter.push_str(text.lines().next().unwrap_or_default());
            Vec::new()
        }
        Some(EditorScreen::Fresh(dialog)) => {
            new_file::on_paste(dialog, text);
            Vec::new()
        }
        None => Vec::new(),
    }
}

/// The wheel scrolls the text, a click puts the cursor there, and what is dragged over is selected and copied.
pub fn on_mouse(model: &mut UiModel, event: MouseEvent) -> Vec<UiCommand> {
    let place = view::text_place(model, event.column, event.row);
    let Some(EditorScreen::Text(editor)) = &mut model.edit else { return Vec::new() };
    // a dialog, a list or a help text in front keeps its place
    let is_free = editor.prompt.is_none() && editor.completion.is_none() && editor.help_text.is_none();
    match (event.kind, place.filter(|_| is_free)) {
        (MouseEventKind::ScrollUp, _) => editor.buffer.scroll_rows(-WHEEL),
        (MouseEventKind::ScrollDown, _) => editor.buffer.scroll_rows(WHEEL),
        (MouseEventKind::Down(MouseButton::Left), Some((row, column))) => editor.buffer.move_to(row, column),
        (MouseEventKind::Drag(MouseButton::Left), Some((row, column))) => {
            editor.buffer.select_to(row, column)
        }
        (MouseEventKind::Up(MouseButton::Left), _) => {
            let selected = editor.buffer.mark_copied();
            return selected.map(|text| keys::copy_command(editor, "copied", text)).into_iter().collect();
        }
        _ => {}
    }
    Vec::new()
}

/// A reply; one to an editor that was closed is dropped.
pub(super) fn on_response(model: &mut UiModel, number: u64, response: EditorResponse) -> Vec<UiCommand> {
    match response {
        EditorResponse::Files(Ok(files)) if number == model.edits => {
            model.edit = Some(EditorScreen::List(EditFileList { files, ..EditFileList::default() }));
            Vec::new()
        }
        EditorResponse::Opened(Ok(opened)) if number == model.edits => opened_one(model, number, *opened),
        EditorResponse::Files(Err(reason)) | EditorResponse::Opened(Err(reason)) if number == model.edits => {
            model.edit = None;
            model.add_item(TranscriptItem::line(ItemTone::Bad, &reason));
            Vec::new()
        }
        EditorResponse::Patterns(found) if number == model.edits => {
            new_file::on_templates_loaded(model, found);
            Vec::new()
        }
        EditorResponse::Begun(result) if number == model.edits => {
            match new_file::create_editor(model, number, result) {
                Some(editor) => show_editor(model, editor),
                None => Vec::new(),
            }
        }
        EditorResponse::Files(_)
        | EditorResponse::Opened(_)
        | EditorResponse::Patterns(_)
        | EditorResponse::Begun(_) => Vec::new(),
        EditorResponse::Simulated { version, result } => {
            if let Some(editor) = editor_by_number(model, number) {
                simulate::finish_simulation(editor, version, result);
            }
            Vec::new()
        }
        EditorResponse::Checked { version, report } => {
            let Some(editor) = editor_by_number(model, number) else { return Vec::new() };
            on_checked(editor, version, *report);
            settle_changes(editor)
        }
        EditorResponse::Saved(result) => on_saved(model, number, result),
        EditorResponse::EditedOutside(result) if number == editing_keys::ELSEWHERE => {
            editing_keys::apply_external_text(model, result);
            Vec::new()
        }
        EditorResponse::FileClosed(result) => {
            file_mentions::on_closed(model, result);
            Vec::new()
        }
        EditorResponse::EditedOutside(result) => on_externally_edited(model, number, result),
    }
}

/// The text from the user's own editor.
fn on_externally_edited(model: &mut UiModel, number: u64, result: Result<String, String>) -> Vec<UiCommand> {
    model.needs_repaint = true;
    let Some(editor) = editor_by_number(model, number) else { return Vec::new() };
    match result {
        Ok(text) if text.len() > LARGEST => {
            editor.status_note = Some("left as it was: the text is now larger than 1 MB".to_owned());
        }
        Ok(text) if text.replace("\r\n", "\n") == editor.buffer.text() => {
            editor.status_note = Some("nothing was changed".to_owned());
        }
        Ok(text) => {
            editor.buffer.replace_all(&text);
            editor.status_note = Some("taken over; Ctrl+S saves it".to_owned());
        }
        Err(reason) => editor.status_note = Some(reason),
    }
    settle_changes(editor)
}

fn editor_by_number(model: &mut UiModel, number: u64) -> Option<&mut DefinitionEditor> {
    match &mut model.edit {
        Some(EditorScreen::Text(editor)) if editor.number == number => Some(editor),
        _ => None,
    }
}

fn opened_one(model: &mut UiModel, number: u64, opened: OpenedEditFile) -> Vec<UiCommand> {
    if opened.text.len() > LARGEST {
        model.edit = None;
        let text = format!("{} is larger than 1 MB: edit it with a program of your own", opened.file.name);
        model.add_item(TranscriptItem::line(ItemTone::Bad, &text));
        return Vec::new();
    }
    let external = opened.in_external_editor;
    let editor = DefinitionEditor::new(number, opened);
    let elsewhere = external.then(|| actions::external_edit_command(&editor));
    let mut cmds = show_editor(model, editor);
    cmds.extend(elsewhere);
    cmds
}

fn show_editor(model: &mut UiModel, mut editor: DefinitionEditor) -> Vec<UiCommand> {
    let cmds = settle_changes(&mut editor);
    model.popup = None;
    model.edit = Some(EditorScreen::Text(Box::new(editor)));
    cmds
}

fn on_checked(editor: &mut DefinitionEditor, version: u64, report: EditorCheckReport) {
    editor.checking_version = None;
    // an older text's findings still say more than none
    editor.checked_version = Some(version);
    editor.findings = report.findings;
    editor.findings.sort_by_key(|finding| (finding.place.line, finding.place.column));
    editor.graph_outdated = report.graphs.is_empty();
    if std::mem::take(&mut editor.goes_to_error) && editor.buffer.cursor() == (0, 0) {
        keys::to_first_error(editor);
    }
    let is_sketch = report.graphs.is_empty() && (editor.graph_is_sketch || editor.graph_list.is_none());
    let shown = if is_sketch { report.sketch.into_iter().collect() } else { report.graphs };
    if !shown.is_empty() {
        editor.graph_list = Some(EditorGraphList::from_graphs(shown));
        editor.graph_is_sketch = is_sketch;
    }
}

fn on_saved(
    model: &mut UiModel,
    number: u64,
    result: Result<SavedEditFile, EditorSaveError>,
) -> Vec<UiCommand> {
    let note = result.as_ref().ok().map(|saved| saved.message.clone());
    // the workflows and roles have changed: reloads names and the status line
    let again = if note.is_some() {
        vec![UiCommand::ask(DefinitionRequest::Names), UiCommand::ask(ProjectRequest::Status)]
    } else {
        Vec::new()
    };
    let Some(editor) = editor_by_number(model, number) else { return again };
    editor.is_saving = false;
    match result {
        Ok(saved) => {
            editor.saved_version = saved.version;
            editor.base = Some(saved.text);
            editor.status_note = Some(saved.message);
        }
        Err(EditorSaveError::Changed(text)) => editor.ask(EditorPrompt::Conflict(text)),
        Err(EditorSaveError::Failed(reason)) => {
            editor.close_when_saved = false;
            editor.status_note = Some(reason);
        }
    }
    let done = editor.close_when_saved && note.is_some();
    if let Some(note) = note.filter(|_| done) {
        model.edit = None;
        model.add_item(TranscriptItem::note_item(&note));
    }
    again
}

/// What follows from a change: it is checked, one text after the other, and saved once that is known to be right.
fn settle_changes(editor: &mut DefinitionEditor) -> Vec<UiCommand> {
    editor.refresh_colours();
    if let Some(offer) = editor.completion.take() {
        editor.completion = actions::refresh_completion(editor, offer.selected);
    }
    let mut cmds = Vec::new();
    if !editor.is_checked() && editor.checking_version.is_none() {
        let version = editor.buffer.version();
        editor.checking_version = Some(version);
        let text = editor.buffer.text().into();
        let asked = EditorRequest::Check { file: editor.file.clone(), text, version };
        cmds.push(UiCommand::Ask(SessionRequest::Editor(editor.number, Box::new(asked))));
    }
    // another question is open: it is answered first
    let is_asked = editor.prompt.is_some();
    if editor.saving_version.is_some() && editor.is_checked() && !is_asked {
        let is_untouched = editor.saving_version.take() == Some(editor.buffer.version());
        let errors = editor.count_findings(DiagnosticSeverity::Error);
        if errors > 0 {
            // what was typed since may go on
            if is_untouched {
                editor.ask_at_key(EditorPrompt::Force)
            } else {
                editor.ask(EditorPrompt::Force)
            }
            editor.status_note = Some(format_count(errors as u64, "error"));
        } else {
            cmds.push(actions::save_command(editor, false));
        }
    }
    cmds
}

enum FileListChoice {
    Nothing,
    Leave,
    File(String),
    New,
}

fn in_list(listing: &mut EditFileList, key: KeyEvent) -> FileListChoice {
    let count = listing.matching_files().len().max(1);
    let control = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    match key.code {
        KeyCode::Esc => return FileListChoice::Leave,
        KeyCode::Char('c' | 'q') if control => return FileListChoice::Leave,
        KeyCode::Char('n') if control => return FileListChoice::New,
        KeyCode::Up => listing.selected = (listing.selected + count - 1) % count,
        KeyCode::Down => listing.selected = (listing.selected + 1) % count,
        KeyCode::PageUp => listing.selected = listing.selected.saturating_sub(10),
        KeyCode::PageDown => listing.selected = (listing.selected + 10).min(count - 1),
        KeyCode::Home => listing.selected = 0,
        KeyCode::End => listing.selected = count - 1,
        KeyCode::Enter => {
            let chosen = listing.matching_files().get(listing.selected).map(|file| file.name.clone());
            return chosen.map_or(FileListChoice::Nothing, FileListChoice::File);
        }
        KeyCode::Backspace => {
            listing.typed_filter.pop();
            listing.selected = 0;
        }
        KeyCode::Char('u') if key.modifiers.contains(KeyModifiers::CONTROL) => {
            listing.typed_filter.clear();
            listing.selected = 0;
        }
        KeyCode::Char(c) if !control => {
            listing.typed_filter.push(c);
            listing.selected = 0;
        }
        _ => {}
    }
    FileListChoice::Nothing
}
