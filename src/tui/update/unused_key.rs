//! A key after which the screen is as it was before: the user is told that it has no meaning there.

use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::completion;
use crate::display::DisplayRequest;
use crate::history_browser::HistoryRequest;
use crate::keymap::KeyAction;
use crate::keymap::chord::KeyChord;
use crate::layers::ScreenLayer;
use crate::model::UiModel;
use crate::msg::UiCommand;

/// Whether the commands of a key answer it: what is asked anyway, whatever the key, does not.
pub fn has_answer(commands: &[UiCommand]) -> bool {
    !commands.iter().all(|command| is_poll(command) || completion::asks_for_names(command))
}

fn is_poll(command: &UiCommand) -> bool {
    match command {
        UiCommand::Display(DisplayRequest::History(_, request)) => **request == HistoryRequest::Changes,
        _ => false,
    }
}

/// A key of vi may wait for another one.
pub fn may_act_unseen(model: &UiModel, key: KeyEvent) -> bool {
    model.composer.is_vim_key(key)
}

/// Says so in the last row. Whether there was anything to say.
pub fn explain_unused_key(model: &mut UiModel, key: KeyEvent) -> bool {
    if let Some(hint) = model.hint.clone().filter(|_| model.is_open(ScreenLayer::CompletionPopup)) {
        // the list stands over the line of the hint
        model.unused_key_text = Some(hint);
        return true;
    }
    // it has said the same as the key before it
    if model.hint.is_some() || model.layer_note().is_some() || is_known_to_do_nothing(model, key) {
        return false;
    }
    let chord = KeyChord::from_event(key);
    let text = match beyond_the_end(key) {
        // its effect is not on screen now
        _ if switches_details(model, key) => {
            let now = if model.details { "shown" } else { "hidden" };
            format!("{chord}: details are {now}, and none are on screen")
        }
        _ if model.is_waiting() => format!("{chord} does nothing meanwhile"),
        _ if model.is_history_answer_begun() => format!("{chord}: Backspace first, then y or n"),
        Some(way) => format!("{chord}: nothing more {way}"),
        None => {
            let help = model.keymap.key(KeyAction::Help).map(|help| format!(": {help} shows the keys"));
            format!("{chord} does nothing here{}", help.unwrap_or_default())
        }
    };
    model.unused_key_text = Some(text);
    true
}

/// Beside the conversation the key acts on all that comes, too.
fn switches_details(model: &UiModel, key: KeyEvent) -> bool {
    let is_beside = matches!(
        model.focused_layer(),
        ScreenLayer::Conversation
            | ScreenLayer::FocusedPane
            | ScreenLayer::TypedQuestion
            | ScreenLayer::KeyQuestion
    );
    is_beside && model.key_action(key) == Some(KeyAction::Details)
}

/// Which way a key moves, if it does: it has changed nothing, so that way ends here.
fn beyond_the_end(key: KeyEvent) -> Option<&'static str> {
    match key.code {
        _ if !key.modifiers.is_empty() => None,
        KeyCode::Up | KeyCode::PageUp | KeyCode::Home => Some("further up"),
        KeyCode::Down | KeyCode::PageDown | KeyCode::End => Some("further down"),
        KeyCode::Left => Some("to the left"),
        KeyCode::Right => Some("to the right"),
        _ => None,
    }
}

/// At an end of a text nothing is expected of these.
fn is_known_to_do_nothing(model: &UiModel, key: KeyEvent) -> bool {
    let is_typed = match model.focused_layer() {
        ScreenLayer::Conversation | ScreenLayer::TypedQuestion => true,
        ScreenLayer::WorkflowEditor => model.is_editor_typed(),
        _ => false,
    };
    let edits_text = matches!(
        key.code,
        KeyCode::Backspace | KeyCode::Delete | KeyCode::Left | KeyCode::Right | KeyCode::Home | KeyCode::End
    );
    matches!(key.code, KeyCode::Modifier(_)) || is_typed && edits_text
}
