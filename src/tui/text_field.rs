//! A text of one line that is typed beside something else, with its cursor.

use ratatui::crossterm::event::KeyEvent;

use crate::composer::{ComposerEdit, InputComposer};
use crate::keymap::KeyAction;
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

    /// A key, and what the key table says of it. Whether it is one of a text.
    pub fn take_key(&mut self, key: KeyEvent, action: Option<KeyAction>) -> bool {
        match action {
            Some(KeyAction::Edit(ComposerEdit::SearchHistory | ComposerEdit::Unfold)) => false,
            Some(KeyAction::Edit(edit)) => self.composer.apply_edit(edit).is_ok(),
            None if key.code.is_up() || key.code.is_down() || key.code.is_tab() || key.code.is_enter() => {
                false
            }
            None => {
                let before = self.clone();
                self.composer.on_key(key);
                *self != before
            }
            Some(_) => false,
        }
    }
}
