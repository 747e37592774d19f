//! What lists call a conversation: its first words, or the name that its user has given it.

use super::{Machine, RunEvent};

/// Characters of a title, at most.
const LONGEST: usize = 120;

impl Machine {
    /// The first message of a conversation is its title.
    pub(super) fn title_from_message(&mut self, text: &str) {
        if self.core.is_chat() && self.conversation_title.is_none() {
            self.conversation_title = Some(title_text(text));
        }
    }

    pub(super) fn on_conversation_renamed(&mut self, name: &str) {
        let name = title_text(name);
        if self.core.is_chat() && !name.is_empty() {
            self.core.emit_event(RunEvent::ConversationRenamed { name: name.clone() });
            self.conversation_title = Some(name);
        }
    }
}

/// The beginning of a text, in one line.
fn title_text(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
