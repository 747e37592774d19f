//! Keys while the last line asks something.

use std::sync::Arc;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::actions::{self, save, wish_save};
use crate::editor::buffer::EditorSearchStart;
use crate::editor::{DefinitionEditor, EditFileKind, EditorPrompt};
use crate::msg::UiCommand;
use synthdev_domain::source_location::ConfigLayer;

pub(super) fn press(editor: &mut DefinitionEditor, key: KeyEvent) -> Vec<UiCommand> {
    let Some(prompt) = editor.prompt.take() else { return Vec::new() };
    if key.code == KeyCode::Esc {
        (editor.leaves, editor.note) = (false, None);
        return Vec::new();
    }
    let letter = match key.code {
        KeyCode::Char(c) if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => Some(c),
        _ => None,
    };
    match (prompt, letter) {
        (EditorPrompt::Find(words), _) => find(editor, words, key, letter),
        (EditorPrompt::Leave, Some('y')) => editor.leaves = true,
        (EditorPrompt::Leave, Some('s')) => {
            editor.leaves = true;
            wish_save(editor);
        }
        (EditorPrompt::Force, Some('y')) => return vec![save(editor, false)],
        (EditorPrompt::Conflict(_), Some('o')) => return vec![save(editor, true)],
        (EditorPrompt::Conflict(text), Some('r')) => reload(editor, text),
        (EditorPrompt::Where, Some('p')) => copy_to(editor, ConfigLayer::Project),
        (EditorPrompt::Where, Some('u')) => copy_to(editor, ConfigLayer::User),
        (prompt, _) => editor.prompt = Some(prompt),
    }
    Vec::new()
}

/// The place is shown while the words are typed; Enter stays there.
fn find(editor: &mut DefinitionEditor, mut words: String, key: KeyEvent, letter: Option<char>) {
    match (key.code, letter) {
        (KeyCode::Enter, _) if words.is_empty() => return actions::find(editor, EditorSearchStart::Next),
        (KeyCode::Enter, _) => return,
        (KeyCode::Down | KeyCode::F(3), _) => actions::find(editor, EditorSearchStart::Next),
        (KeyCode::Up, _) => actions::find(editor, EditorSearchStart::Back),
        (KeyCode::Backspace, _) => drop(words.pop()),
        (_, Some(c)) => words.push(c),
        _ => {}
    }
    if !words.is_empty() && words != editor.words {
        editor.words.clone_from(&words);
        actions::find(editor, EditorSearchStart::Here);
    }
    editor.prompt = Some(EditorPrompt::Find(words));
}

/// What the file holds now; the text before it can be had back.
fn reload(editor: &mut DefinitionEditor, text: Arc<str>) {
    editor.leaves = false;
    editor.buffer.replace_all(&text);
    editor.saved = editor.buffer.version();
    editor.base = Some(text);
    editor.note = Some("read again; Ctrl+Z brings yours back".to_owned());
}

/// A shipped file becomes one of the user's or the project's.
fn copy_to(editor: &mut DefinitionEditor, layer: ConfigLayer) {
    editor.file.layer = layer;
    let name = editor.file.name.rsplit(['/', ':']).next().unwrap_or("new.json");
    let folder = match editor.file.what {
        EditFileKind::Workflow => "workflows",
        EditFileKind::Role => "roles",
    };
    let above = if layer == ConfigLayer::Project { ".synthdev/" } else { "user:" };
    editor.file.name = format!("{above}{folder}/{name}");
    editor.base = None;
    // its name is another one now, and so are its findings' places
    (editor.checked, editor.checking) = (None, None);
    editor.wants_save = true;
}
