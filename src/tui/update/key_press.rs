//! A key as it came: when, and whether the user was typing.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::model::UiModel;
use synthdev_domain::ids::Timestamp;

/// A key this short ago means that the user is typing; a question that appears then is not answered by the next key.
pub const TYPING_MS: i64 = 700;

#[derive(Clone, Copy)]
pub struct KeyPress {
    pub key: KeyEvent,
    pub at: Timestamp,
    /// Another key came just before.
    pub is_typing: bool,
}

impl KeyPress {
    /// Records the key in the model; the hint of the key before is done.
    pub fn record(model: &mut UiModel, key: KeyEvent, at: Timestamp) -> Self {
        let is_typing = model.last_key.is_some_and(|last| at.0 - last.0 < TYPING_MS);
        model.tail &= is_typing && key.code != KeyCode::Char(' ');
        model.last_key = Some(at);
        model.now = model.now.max(at);
        model.hint = None;
        model.mouse_selection = None;
        Self { key, at, is_typing }
    }

    /// Ctrl and this letter.
    pub fn is_control(self, letter: char) -> bool {
        self.key.code == KeyCode::Char(letter) && self.key.modifiers.contains(KeyModifiers::CONTROL)
    }
}
