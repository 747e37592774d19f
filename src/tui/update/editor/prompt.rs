//! Keys while the last line asks something.

use std::sync::Arc;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::acts::{self, save, wish_save};
use crate::domain::place::Layer;
use crate::tui::editor::buffer::Way;
use crate::tui::editor::{Editor, Prompt, What};
use crate::tui::msg::Cmd;

pub(super) fn press(editor: &mut Editor, key: KeyEvent) -> Vec<Cmd> {
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
        (Prompt::Find(words), _) => find(editor, words, key, letter),
        (Prompt::Leave, Some('y')) => editor.leaves = true,
        (Prompt::Leave, Some('s')) => {
            editor.leaves = true;
            wish_save(editor);
        }
        (Prompt::Force, Some('y')) => return vec![save(editor, false)],
        (Prompt::Conflict(_), Some('o')) => return vec![save(editor, true)],
        (Prompt::Conflict(text), Some('r')) => reload(editor, text),
        (Prompt::Where, Some('p')) => copy_to(editor, Layer::Project),
        (Prompt::Where, Some('u')) => copy_to(editor, Layer::User),
        (prompt, _) => editor.prompt = Some(prompt),
    }
    Vec::new()
}

/// The place is shown while the words are typed; Enter stays there.
fn find(editor: &mut Editor, mut words: String, key: KeyEvent, letter: Option<char>) {
    match (key.code, letter) {
        (KeyCode::Enter, _) if words.is_empty() => return acts::find(editor, Way::Next),
        (KeyCode::Enter, _) => return,
        (KeyCode::Down | KeyCode::F(3), _) => acts::find(editor, Way::Next),
        (KeyCode::Up, _) => acts::find(editor, Way::Back),
        (KeyCode::Backspace, _) => drop(words.pop()),
        (_, Some(c)) => words.push(c),
        _ => {}
    }
    if !words.is_empty() && words != editor.words {
        editor.words.clone_from(&words);
        acts::find(editor, Way::Here);
    }
    editor.prompt = Some(Prompt::Find(words));
}

/// What the file holds now; the text before it can be had back.
fn reload(editor: &mut Editor, text: Arc<str>) {
    editor.leaves = false;
    editor.buffer.replace_all(&text);
    editor.saved = editor.buffer.version();
    editor.base = Some(text);
    editor.note = Some("read again; Ctrl+Z brings yours back".to_owned());
}

/// A shipped file becomes one of the user's or the project's.
fn copy_to(editor: &mut Editor, layer: Layer) {
    editor.file.layer = layer;
    let name = editor.file.name.rsplit(['/', ':']).next().unwrap_or("new.json");
    let folder = match editor.file.what {
        What::Workflow => "workflows",
        What::Role => "roles",
    };
    let above = if layer == Layer::Project { ".synthdev/" } else { "user:" };
    editor.file.name = format!("{above}{folder}/{name}");
    editor.base = None;
    // its name is another one now, and so are its findings' places
    (editor.checked, editor.checking) = (None, None);
    editor.wants_save = true;
}
