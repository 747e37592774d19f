//! What several keys of the editor do: writing, completing, finding, saving, handing over.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::editor::buffer::EditorSearchStart;
use crate::editor::complete::{EditorCompletion, complete_at};
use crate::editor::{DefinitionEditor, EditorPrompt, LARGEST, SAVING};
use crate::msg::UiCommand;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_service::session::{EditorRequest, SessionRequest};

/// A key that is no action of the table.
pub(super) fn edit_text(editor: &mut DefinitionEditor, key: KeyEvent) {
    match key.code {
        KeyCode::PageUp | KeyCode::PageDown => {
            let page = isize::try_from(editor.rows.saturating_sub(1).max(1)).unwrap_or(1);
            editor.buffer.scroll_rows(if key.code == KeyCode::PageUp { -page } else { page });
        }
        KeyCode::Enter => editor.buffer.insert_newline(),
        KeyCode::Char(_)
            if !key.modifiers.contains(KeyModifiers::CONTROL) && editor.buffer.text().len() >= LARGEST =>
        {
            editor.status_note = Some("too long: texts of up to 1 MB are edited here".to_owned());
        }
        _ => editor.buffer.on_key(key),
    }
}

/// The completion after another key.
pub(super) fn refresh_completion(editor: &DefinitionEditor, selected: usize) -> Option<EditorCompletion> {
    let text = editor.buffer.text();
    let offer =
        complete_at(&text, editor.buffer.offset(), &editor.schema, &editor.symbols, editor.file.file_kind)?;
    let selected = selected.min(offer.list.len() - 1);
    Some(EditorCompletion { selected, ..offer })
}

/// Ctrl+S: right texts are written; of one that is not checked yet that is seen when it is.
pub(super) fn request_save(editor: &mut DefinitionEditor) {
    if editor.is_saving {
        editor.status_note = Some(SAVING.to_owned());
        return;
    }
    if editor.file.layer == ConfigLayer::BuiltIn {
        editor.ask_at_key(EditorPrompt::Where);
    } else if !editor.is_changed() && editor.base.is_some() {
        editor.status_note = Some("nothing to save".to_owned());
    } else {
        editor.save_when_checked();
    }
}

pub(super) fn save_command(editor: &mut DefinitionEditor, replace: bool) -> UiCommand {
    editor.is_saving = true;
    editor.status_note = Some(SAVING.to_owned());
    let asked = EditorRequest::Save {
        file: editor.file.clone(),
        text: editor.buffer.to_file_text().into(),
        version: editor.buffer.version(),
        base: editor.base.clone(),
        overwrite: replace,
    };
    UiCommand::Ask(SessionRequest::Editor(editor.number, Box::new(asked)))
}

/// Opens the current text in the user's own editor.
pub(super) fn external_edit_command(editor: &DefinitionEditor) -> UiCommand {
    let name = editor.file.name.rsplit(['/', ':']).next().unwrap_or("text.json").to_owned();
    UiCommand::External { number: editor.number, name, text: editor.buffer.to_file_text().into() }
}

pub(super) fn start_search(editor: &mut DefinitionEditor, way: EditorSearchStart) {
    if editor.search_words.is_empty() {
        editor.ask(EditorPrompt::Find(String::new()));
        return;
    }
    let words = editor.search_words.clone();
    editor.status_note = Some(match editor.buffer.find_next(&words, way) {
        Some((at, count)) => format!("{at} of {count}: {words}"),
        None => format!("not found: {words}"),
    });
}
