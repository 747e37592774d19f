//! Keys while the last line asks something. Refuses those that came before the question could be read: they go to the text.

use std::sync::Arc;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::super::key_press::KeyPress;
use super::actions::{self, edit_text, request_save, save_command};
use crate::editor::buffer::EditorSearchStart;
use crate::editor::prompt_guard::PromptChoice;
use crate::editor::{DefinitionEditor, EditorPrompt};
use crate::msg::UiCommand;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_service::session::EditFileKind;

/// `acts`: the key is one of the table.
pub(super) fn on_key(editor: &mut DefinitionEditor, press: KeyPress, acts: bool) -> Vec<UiCommand> {
    let key = press.key;
    if editor.open_question().is_some() && matches!(key.code, KeyCode::PageUp | KeyCode::PageDown) {
        // the text that the question is about; the cursor leaves what was typed beside it
        editor.prompt_guard.note_length(None);
        edit_text(editor, key);
        return Vec::new();
    }
    if editor.open_question().is_some() && editor.prompt_guard.ms_left(press.at) > 0 {
        if key.code == KeyCode::Backspace {
            take_back_typed(editor);
        } else if !acts && key.code != KeyCode::Esc {
            type_on(editor, press);
        }
        return Vec::new();
    }
    let Some(prompt) = editor.prompt.take() else { return Vec::new() };
    let choice = std::mem::take(&mut editor.prompt_choice);
    if key.code == KeyCode::Esc {
        (editor.close_when_saved, editor.status_note) = (false, None);
        return Vec::new();
    }
    let letter = match key.code {
        KeyCode::Char(c) if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => Some(c),
        _ => None,
    };
    if let EditorPrompt::Find(words) = prompt {
        on_search_key(editor, words, key, letter);
        return Vec::new();
    }
    if key.code == KeyCode::Enter && choice.letter().is_some() {
        return give_answer(editor, prompt, choice.letter());
    }
    let answers = prompt.answers();
    editor.prompt = Some(prompt);
    match (letter, choice) {
        // Enter gives it
        (Some(letter), _) if choice.is_open() && answers.contains(&letter) => {
            editor.prompt_choice = PromptChoice::Letter(letter);
        }
        (Some(letter), PromptChoice::Letter(chosen)) if letter == chosen => editor.prompt_choice = choice,
        (Some(_), _) => {
            editor.prompt_choice = choice;
            begin_text(editor);
            type_on(editor, press);
        }
        (None, _) if key.code == KeyCode::Backspace => take_back_typed(editor),
        (None, _) if key.code == KeyCode::Enter && choice.is_open() => {
            editor.prompt_choice = PromptChoice::Missing;
        }
        (None, _) => editor.prompt_choice = choice,
    }
    Vec::new()
}

/// What comes now is text. So is a letter that has chosen an answer: with more behind it, it is none.
pub(super) fn begin_text(editor: &mut DefinitionEditor) {
    if let PromptChoice::Letter(chosen) = std::mem::replace(&mut editor.prompt_choice, PromptChoice::Text) {
        editor.prompt_guard.note_length(Some(text_length(editor)));
        edit_text(editor, KeyEvent::new(KeyCode::Char(chosen), KeyModifiers::NONE));
    }
}

fn text_length(editor: &DefinitionEditor) -> usize {
    editor.buffer.text().chars().count()
}

/// What was typed beside the question leaves the text. One key may delete several letters, as it may have added them.
fn take_back_typed(editor: &mut DefinitionEditor) {
    let Some(before) = editor.prompt_guard.take_back_typed() else { return };
    for _ in before..text_length(editor) {
        if text_length(editor) > before {
            edit_text(editor, KeyEvent::new(KeyCode::Backspace, KeyModifiers::NONE));
        }
    }
}

fn give_answer(editor: &mut DefinitionEditor, prompt: EditorPrompt, chosen: Option<char>) -> Vec<UiCommand> {
    match (prompt, chosen) {
        (EditorPrompt::Leave, Some('n')) => editor.close_when_saved = true,
        (EditorPrompt::Leave, Some('y')) => {
            editor.close_when_saved = true;
            request_save(editor);
        }
        (EditorPrompt::Force, Some('y')) => return vec![save_command(editor, false)],
        (EditorPrompt::Force, Some('n')) => (editor.close_when_saved, editor.status_note) = (false, None),
        (EditorPrompt::Conflict(_), Some('o')) => return vec![save_command(editor, true)],
        (EditorPrompt::Conflict(text), Some('r')) => reload_text(editor, text),
        (EditorPrompt::Where, Some('p')) => copy_to(editor, ConfigLayer::Project),
        (EditorPrompt::Where, Some('u')) => copy_to(editor, ConfigLayer::User),
        (prompt, _) => editor.prompt = Some(prompt),
    }
    Vec::new()
}

/// No answer: the text goes on, and so may the word that was begun.
fn type_on(editor: &mut DefinitionEditor, press: KeyPress) {
    editor.prompt_choice = PromptChoice::Text;
    let adds = matches!(press.key.code, KeyCode::Char(_) | KeyCode::Enter | KeyCode::Tab);
    let length = adds.then(|| text_length(editor));
    editor.prompt_guard.note_length(length);
    edit_text(editor, press.key);
    editor.prompt_guard.note_typed(press.at);
}

/// The place is shown while the words are typed; Enter stays there.
fn on_search_key(editor: &mut DefinitionEditor, mut words: String, key: KeyEvent, letter: Option<char>) {
    match (key.code, letter) {
        (KeyCode::Enter, _) if words.is_empty() => {
            return actions::start_search(editor, EditorSearchStart::Next);
        }
        (KeyCode::Enter, _) => return,
        (KeyCode::Down | KeyCode::F(3), _) => actions::start_search(editor, EditorSearchStart::Next),
        (KeyCode::Up, _) => actions::start_search(editor, EditorSearchStart::Back),
        (KeyCode::Backspace, _) => drop(words.pop()),
        (_, Some(c)) => words.push(c),
        _ => {}
    }
    if !words.is_empty() && words != editor.search_words {
        editor.search_words.clone_from(&words);
        actions::start_search(editor, EditorSearchStart::Here);
    }
    editor.prompt = Some(EditorPrompt::Find(words));
}

/// What the file holds now; the text before it can be had back.
fn reload_text(editor: &mut DefinitionEditor, text: Arc<str>) {
    editor.close_when_saved = false;
    editor.buffer.replace_all(&text);
    editor.saved_version = editor.buffer.version();
    editor.base = Some(text);
    editor.status_note = Some("read again; Ctrl+Z brings yours back".to_owned());
}

/// A shipped file becomes one of the user's or the project's.
fn copy_to(editor: &mut DefinitionEditor, layer: ConfigLayer) {
    editor.file.layer = layer;
    let name = editor.file.name.rsplit(['/', ':']).next().unwrap_or("new.json");
    let folder = match editor.file.file_kind {
        EditFileKind::Workflow => "workflows",
        EditFileKind::Role => "roles",
    };
    let above = if layer == ConfigLayer::Project { ".synthdev/" } else { "user:" };
    editor.file.name = format!("{above}{folder}/{name}");
    editor.base = None;
    // its name is another one now, and so are its findings' places
    (editor.checked_version, editor.checking_version) = (None, None);
    editor.save_when_checked();
}
