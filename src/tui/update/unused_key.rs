//! A key after which the screen is as it was before: the user is told that it has no meaning there.

use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::{editor, history_browser, question_keys, setup};
use crate::display::DisplayRequest;
use crate::history_browser::HistoryRequest;
use crate::keymap::KeyAction;
use crate::keymap::chord::KeyChord;
use crate::layers::ScreenLayer;
use crate::model::UiModel;
use crate::msg::UiCommand;

/// Whether the commands of a key answer it: what is asked anyway, whatever the key, does not.
pub fn has_answer(commands: &[UiCommand]) -> bool {
    let is_poll = |command: &UiCommand| match command {
        UiCommand::Display(DisplayRequest::History(_, request)) => **request == HistoryRequest::Changes,
        _ => false,
    };
    !commands.iter().all(is_poll)
}

/// Says so where the messages of that place stand, if they are empty: the key may have said the same as the one before it.
/// Whether there was anything to say.
pub fn explain_unused_key(model: &mut UiModel, key: KeyEvent) -> bool {
    if matches!(key.code, KeyCode::Modifier(_)) {
        return false;
    }
    let help = model.keymap.key(KeyAction::Help).map(|help| format!(": {help} shows the keys"));
    let text = format!("{} does nothing here{}", KeyChord::from_event(key), help.unwrap_or_default());
    // at an end of a text nothing is expected of these
    let edits_text = matches!(
        key.code,
        KeyCode::Backspace | KeyCode::Delete | KeyCode::Left | KeyCode::Right | KeyCode::Home | KeyCode::End
    );
    match model.focused_layer() {
        ScreenLayer::HistoryBrowser => history_browser::note_unused_key(model, &text),
        ScreenLayer::WorkflowEditor => editor::note_unused_key(model, &text, edits_text),
        ScreenLayer::ModelSetup => setup::note_unused_key(model, &text, edits_text),
        ScreenLayer::KeyQuestion => question_keys::note_unused_key(model, &text, edits_text),
        ScreenLayer::Conversation | ScreenLayer::TypedQuestion if edits_text => false,
        ScreenLayer::ResumePicker | ScreenLayer::KeyHelp => false,
        ScreenLayer::Conversation
        | ScreenLayer::TypedQuestion
        | ScreenLayer::CompletionPopup
        | ScreenLayer::FocusedPane
        | ScreenLayer::SessionKeys => {
            let is_free = model.hint.is_none();
            model.hint.get_or_insert(text);
            is_free
        }
    }
}
