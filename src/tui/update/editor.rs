//! Keys and answers in the editor of workflows and roles.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseEventKind};

use crate::editor::action::EditorAction;
use crate::editor::{
    DefinitionEditor, EditFileList, EditorCheckReport, EditorPrompt, EditorReply, EditorRequest,
    EditorSaveError, EditorScreen, LARGEST, OpenedEditFile, SavedEditFile,
};
use crate::keymap::chord::KeyChord;
use crate::keymap::{KeyAction, KeyFocusState};
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::run_view::run_graph::RunGraphDrawing;
use crate::text::format_count;
use crate::transcript::item::{ItemTone, TranscriptItem};
use synthdev_domain::diagnostic::DiagnosticSeverity;

mod actions;
mod keys;
mod new_file;
mod prompt;
mod simulate;

pub use new_file::open as open_fresh;

/// Rows that one step of the wheel moves.
const WHEEL: isize = 3;

/// `/edit [NAME]`.
pub fn open(model: &mut UiModel, name: Option<String>, external: bool) -> Vec<UiCommand> {
    model.edits += 1;
    let asked = name.map_or(EditorRequest::Files, |name| EditorRequest::Open { name, external });
    vec![UiCommand::Edit(model.edits, Box::new(asked))]
}

/// A key while the editor is in front.
pub fn press(model: &mut UiModel, key: KeyEvent) -> Vec<UiCommand> {
    let chord = KeyChord::from_event(key);
    if model.keymap.has(KeyAction::Repaint, chord) {
        model.repaint = true;
        return Vec::new();
    }
    let meant = model.keymap.action(chord, KeyFocusState { editor: true, ..KeyFocusState::default() });
    let meant = meant.and_then(|action| if let KeyAction::Editor(act) = action { Some(act) } else { None });
    let help = if meant == Some(EditorAction::Help) { model.keymap.editor_help() } else { String::new() };
    match &mut model.edit {
        None => Vec::new(),
        Some(EditorScreen::List(listing)) => match in_list(listing, key) {
            FileListChoice::Nothing => Vec::new(),
            FileListChoice::Leave => {
                model.edit = None;
                Vec::new()
            }
            FileListChoice::File(name) => open(model, Some(name), false),
            FileListChoice::New => new_file::open(model, None),
        },
        Some(EditorScreen::Fresh(dialog)) => match new_file::press(dialog, key) {
            new_file::NewFileKeyOutcome::Stay => Vec::new(),
            new_file::NewFileKeyOutcome::Leave => {
                model.edit = None;
                Vec::new()
            }
            new_file::NewFileKeyOutcome::Ask(wish) => {
                vec![UiCommand::Edit(model.edits, Box::new(EditorRequest::Begin(wish)))]
            }
        },
        Some(EditorScreen::Text(editor)) => {
            let mut cmds = keys::press(editor, key, meant, &help);
            cmds.extend(settle(editor));
            if editor.leaves && editor.prompt.is_none() && !editor.saving && !editor.wants_save {
                model.edit = None;
            }
            cmds
        }
    }
}

pub fn paste(model: &mut UiModel, text: &str) -> Vec<UiCommand> {
    match &mut model.edit {
        Some(EditorScreen::Text(editor)) => {
            match &mut editor.prompt {
                Some(EditorPrompt::Find(words)) => words.push_str(text.lines().next().unwrap_or_default()),
                Some(_) => {}
                None if editor.buffer.text().len() + text.len() > LARGEST => {
                    editor.note = Some("too long: texts of up to 1 MB are edited here".to_owned());
                }
                None => editor.buffer.paste(text),
            }
            settle(editor)
        }
        Some(EditorScreen::List(listing)) => {
            listing.typed.push_str(text.lines().next().unwrap_or_default());
            Vec::new()
        }
        Some(EditorScreen::Fresh(dialog)) => {
            new_file::paste(dialog, text);
            Vec::new()
        }
        None => Vec::new(),
    }
}

pub fn wheel(model: &mut UiModel, kind: MouseEventKind) {
    let rows = match kind {
        MouseEventKind::ScrollUp => -WHEEL,
        MouseEventKind::ScrollDown => WHEEL,
        _ => return,
    };
    if let Some(EditorScreen::Text(editor)) = &mut model.edit {
        editor.buffer.scroll(rows);
    }
}

/// An answer; one to an editor that was closed is nobody's.
pub fn handle_reply(model: &mut UiModel, number: u64, told: EditorReply) -> Vec<UiCommand> {
    match told {
        EditorReply::Files(Ok(files)) if number == model.edits => {
            model.edit = Some(EditorScreen::List(EditFileList { files, ..EditFileList::default() }));
            Vec::new()
        }
        EditorReply::Opened(Ok(opened)) if number == model.edits => opened_one(model, number, *opened),
        EditorReply::Files(Err(reason)) | EditorReply::Opened(Err(reason)) if number == model.edits => {
            model.edit = None;
            model.say(TranscriptItem::line(ItemTone::Bad, &reason));
            Vec::new()
        }
        EditorReply::Patterns(found) if number == model.edits => {
            new_file::offered(model, found);
            Vec::new()
        }
        EditorReply::Begun(result) if number == model.edits => {
            match new_file::create_editor(model, number, result) {
                Some(editor) => put_in_front(model, editor),
                None => Vec::new(),
            }
        }
        EditorReply::Files(_) | EditorReply::Opened(_) | EditorReply::Patterns(_) | EditorReply::Begun(_) => {
            Vec::new()
        }
        EditorReply::Simulated { version, result } => {
            if let Some(editor) = editor_by_number(model, number) {
                simulate::done(editor, version, result);
            }
            Vec::new()
        }
        EditorReply::Checked { version, report } => {
            let Some(editor) = editor_by_number(model, number) else { return Vec::new() };
            checked(editor, version, *report);
            settle(editor)
        }
        EditorReply::Saved(result) => saved(model, number, result),
    }
}

/// The text as the person's own editor left it.
pub fn edited(model: &mut UiModel, number: u64, result: Result<String, String>) -> Vec<UiCommand> {
    model.repaint = true;
    let Some(editor) = editor_by_number(model, number) else { return Vec::new() };
    match result {
        Ok(text) if text.len() > LARGEST => {
            editor.note = Some("left as it was: the text is now larger than 1 MB".to_owned());
        }
        Ok(text) if text.replace("\r\n", "\n") == editor.buffer.text() => {
            editor.note = Some("nothing was changed".to_owned());
        }
        Ok(text) => {
            editor.buffer.replace_all(&text);
            editor.note = Some("taken over; Ctrl+S saves it".to_owned());
        }
        Err(reason) => editor.note = Some(reason),
    }
    settle(editor)
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
        model.say(TranscriptItem::line(ItemTone::Bad, &text));
        return Vec::new();
    }
    let external = opened.external;
    let editor = DefinitionEditor::new(number, opened);
    let elsewhere = external.then(|| actions::external(&editor));
    let mut cmds = put_in_front(model, editor);
    cmds.extend(elsewhere);
    cmds
}

fn put_in_front(model: &mut UiModel, mut editor: DefinitionEditor) -> Vec<UiCommand> {
    let cmds = settle(&mut editor);
    model.popup = None;
    model.edit = Some(EditorScreen::Text(Box::new(editor)));
    cmds
}

fn checked(editor: &mut DefinitionEditor, version: u64, report: EditorCheckReport) {
    editor.checking = None;
    // an older text's findings still say more than none
    editor.checked = Some(version);
    editor.findings = report.findings;
    editor.findings.sort_by_key(|finding| (finding.place.line, finding.place.column));
    editor.outdated = report.graphs.is_empty();
    if !report.graphs.is_empty() {
        editor.drawing = Some(RunGraphDrawing::from_graphs(report.graphs));
    }
}

fn saved(model: &mut UiModel, number: u64, result: Result<SavedEditFile, EditorSaveError>) -> Vec<UiCommand> {
    let note = result.as_ref().ok().map(|saved| saved.note.clone());
    // the workflows and roles are other ones now: names, and what the status line says
    let again = if note.is_some() { vec![UiCommand::Names, UiCommand::Status] } else { Vec::new() };
    let Some(editor) = editor_by_number(model, number) else { return again };
    editor.saving = false;
    match result {
        Ok(saved) => {
            editor.saved = saved.version;
            editor.base = Some(saved.text);
            editor.note = Some(saved.note);
        }
        Err(EditorSaveError::Changed(text)) => editor.prompt = Some(EditorPrompt::Conflict(text)),
        Err(EditorSaveError::Failed(reason)) => {
            editor.leaves = false;
            editor.note = Some(reason);
        }
    }
    let done = editor.leaves && note.is_some();
    if let Some(note) = note.filter(|_| done) {
        model.edit = None;
        model.say(TranscriptItem::note(&note));
    }
    again
}

/// What follows from a change: it is checked, one text after the other, and saved once that is known to be right.
fn settle(editor: &mut DefinitionEditor) -> Vec<UiCommand> {
    editor.refresh();
    if let Some(offer) = editor.offer.take() {
        editor.offer = actions::again(editor, offer.selected);
    }
    let mut cmds = Vec::new();
    if !editor.is_checked() && editor.checking.is_none() {
        let version = editor.buffer.version();
        editor.checking = Some(version);
        let text = editor.buffer.text().into();
        let asked = EditorRequest::Check { file: editor.file.clone(), text, version };
        cmds.push(UiCommand::Edit(editor.number, Box::new(asked)));
    }
    if editor.wants_save && editor.is_checked() {
        editor.wants_save = false;
        let errors = editor.count(DiagnosticSeverity::Error);
        if errors > 0 {
            editor.prompt = Some(EditorPrompt::Force);
            editor.note = Some(format_count(errors as u64, "error"));
        } else {
            cmds.push(actions::save(editor, false));
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
    let count = listing.fitting().len().max(1);
    let control = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    match key.code {
        KeyCode::Esc => return FileListChoice::Leave,
        KeyCode::Char('c' | 'q') if control => return FileListChoice::Leave,
        KeyCode::Char('n') if control => return FileListChoice::New,
        KeyCode::Up => listing.selected = (listing.selected + count - 1) % count,
        KeyCode::Down => listing.selected = (listing.selected + 1) % count,
        KeyCode::PageUp => listing.selected = listing.selected.saturating_sub(10),
        KeyCode::PageDown => listing.selected = (listing.selected + 10).min(count - 1),
        KeyCode::Enter => {
            let chosen = listing.fitting().get(listing.selected).map(|file| file.name.clone());
            return chosen.map_or(FileListChoice::Nothing, FileListChoice::File);
        }
        KeyCode::Backspace => {
            listing.typed.pop();
            listing.selected = 0;
        }
        KeyCode::Char('u') if key.modifiers.contains(KeyModifiers::CONTROL) => {
            listing.typed.clear();
            listing.selected = 0;
        }
        KeyCode::Char(c) if !control => {
            listing.typed.push(c);
            listing.selected = 0;
        }
        _ => {}
    }
    FileListChoice::Nothing
}
