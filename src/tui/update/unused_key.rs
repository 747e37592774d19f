//! A key after which the screen is as it was before: the user is told that it has no meaning there.

use ratatui::crossterm::event::{KeyCode, KeyEvent};

use crate::display::DisplayRequest;
use crate::editor::EditorScreen;
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

/// Says so where the messages of that place stand. Whether there was anything to say.
pub fn explain_unused_key(model: &mut UiModel, key: KeyEvent) -> bool {
    let layer = model.focused_layer();
    if has_message(model, layer) || is_known_to_do_nothing(model, layer, key) {
        return false;
    }
    let help =
        model.keymap.key(KeyAction::Help).map(|help| format!(": {help} shows the keys")).unwrap_or_default();
    let text = format!("{} does nothing here{help}", KeyChord::from_event(key));
    match layer {
        ScreenLayer::HistoryBrowser => {
            model.history_browser.iter_mut().for_each(|browser| browser.show_note(&text));
        }
        ScreenLayer::WorkflowEditor => match &mut model.edit {
            Some(EditorScreen::Text(editor)) => editor.status_note = Some(text),
            Some(EditorScreen::Fresh(_) | EditorScreen::List(_)) | None => return false,
        },
        ScreenLayer::ModelSetup => {
            model.setup.iter_mut().for_each(|setup| setup.problem = Some(text.clone()))
        }
        ScreenLayer::KeyQuestion => {
            model.dialogs.front_mut().into_iter().for_each(|dialog| dialog.problem = Some(text.clone()));
        }
        ScreenLayer::Conversation
        | ScreenLayer::TypedQuestion
        | ScreenLayer::CompletionPopup
        | ScreenLayer::FocusedPane
        | ScreenLayer::SessionKeys => model.hint = Some(text),
        ScreenLayer::ResumePicker | ScreenLayer::KeyHelp => return false,
    }
    true
}

/// The key has said the same as the one before it.
fn has_message(model: &UiModel, layer: ScreenLayer) -> bool {
    match layer {
        ScreenLayer::HistoryBrowser => {
            model.history_browser.as_ref().is_some_and(|browser| browser.status_note.is_some())
        }
        ScreenLayer::WorkflowEditor => false,
        ScreenLayer::ModelSetup => {
            model.setup.as_ref().is_some_and(|setup| setup.problem.is_some() || setup.waiting_for.is_some())
        }
        ScreenLayer::KeyQuestion => model.dialogs.front().is_some_and(|dialog| dialog.problem.is_some()),
        _ => model.hint.is_some(),
    }
}

/// Nobody expects anything of these at an end of a text, nor of Enter in an empty line.
fn is_known_to_do_nothing(model: &UiModel, layer: ScreenLayer, key: KeyEvent) -> bool {
    let edits = matches!(
        key.code,
        KeyCode::Backspace | KeyCode::Delete | KeyCode::Left | KeyCode::Right | KeyCode::Home | KeyCode::End
    );
    let is_typed = match layer {
        ScreenLayer::Conversation | ScreenLayer::TypedQuestion => true,
        ScreenLayer::WorkflowEditor => model.is_editor_typed(),
        ScreenLayer::KeyQuestion => model.dialogs.front().is_some_and(|dialog| dialog.draft.is_some()),
        ScreenLayer::ModelSetup => true,
        _ => false,
    };
    matches!(key.code, KeyCode::Modifier(_)) || is_typed && edits
}
