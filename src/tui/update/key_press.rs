//! A key as it came: when, and whether the user was typing.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::key_guard::TYPING_MS;
use crate::model::UiModel;
use synthdev_domain::ids::Timestamp;

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
        model.last_key = Some(at);
        let writes = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        if model.dialogs.is_empty() && writes && matches!(key.code, KeyCode::Char(_)) {
            model.last_letter = Some(at);
        }
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
