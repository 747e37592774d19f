//! A text of one line that is typed beside something else, with its cursor.

use ratatui::crossterm::event::{KeyCode, KeyEvent};

use crate::composer::{ComposerEdit, InputComposer};
use crate::text::one_line;

/// Takes the same keys as the input line.
#[derive(Clone, Default, Debug)]
pub struct TextField {
    composer: InputComposer,
}

impl PartialEq for TextField {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text() && self.composer.cursor() == other.composer.cursor()
    }
}

impl Eq for TextField {}

impl TextField {
    /// The cursor is behind the text.
    pub fn new(text: &str) -> Self {
        let mut field = Self::default();
        field.insert_text(text);
        field
    }

    pub fn text(&self) -> String {
        self.composer.expanded_text()
    }

    /// In bytes.
    pub fn cursor_offset(&self) -> usize {
        self.composer.before_cursor().map_or(0, str::len)
    }

    /// Puts a text in place of so many bytes before the cursor.
    pub fn replace_before_cursor(&mut self, bytes: usize, text: &str) {
        let end = self.cursor_offset();
        self.composer.replace_bytes(end.saturating_sub(bytes)..end, text);
    }

    pub fn insert_text(&mut self, text: &str) {
        self.composer.insert_plain_text(&one_line(text));
    }

    pub fn clear_text(&mut self) {
        self.composer.set_text("");
    }

    /// A key, and the edit that the key table has for it.
    pub fn take_key(&mut self, key: KeyEvent, edit: Option<ComposerEdit>) {
        match edit {
            // the history is that of messages, and nothing is folded here
            Some(ComposerEdit::SearchHistory | ComposerEdit::Unfold) => {}
            Some(edit) => drop(self.composer.apply_edit(edit)),
            None if matches!(key.code, KeyCode::Up | KeyCode::Down | KeyCode::Tab | KeyCode::Enter) => {}
            None => self.composer.on_key(key),
        }
    }
}
