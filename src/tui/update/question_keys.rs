//! Keys and pastes while a question is open: which of them are for it, and which are for what lies below.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::key_press::KeyPress;
use super::{approvals, dialog_keys, withdrawn_dialog};
use crate::dialog::{DialogKind, QuestionDialog};
use crate::keymap::KeyAction;
use crate::layers::ScreenLayer;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::text::clean_text;

/// Why a key was not taken as an answer.
const JUST_APPEARED: &str = "this question just appeared: read it, then press again";

/// Whether the key came late for a question that is gone: the one in its place is read first.
pub fn hold_late_key(model: &mut UiModel, press: KeyPress) -> bool {
    if model.composer.is_empty()
        && let Some(gone) = &mut model.withdrawn_dialog
    {
        gone.draft = false;
    }
    !model.line_mode
        && withdrawn_dialog::is_late(model, press.at)
        && !is_anywhere_key(model, press.key)
        && is_held_back(model, press.key)
}

fn is_held_back(model: &mut UiModel, key: KeyEvent) -> bool {
    let typed = !model.composer.is_empty() && key.code != KeyCode::Enter;
    let Some(dialog) = model.dialogs.front_mut().filter(|dialog| !typed && !is_scroll_key(dialog, key))
    else {
        return false;
    };
    if dialog.is_written() && key.code != KeyCode::Enter {
        return false;
    }
    dialog.problem = Some(JUST_APPEARED.to_owned());
    true
}

/// Such a key acts beside the question.
fn is_anywhere_key(model: &UiModel, key: KeyEvent) -> bool {
    model.key_action(key).is_some_and(KeyAction::is_anywhere)
}

/// A key while a question is open. `None`: it is not for the question.
pub fn on_key(model: &mut UiModel, press: KeyPress) -> Option<Vec<UiCommand>> {
    let KeyPress { key, is_typing: typing, .. } = press;
    let unseen = !model.line_mode && model.dialogs.front().is_some_and(|dialog| !dialog.was_shown);
    if unseen && key.code == KeyCode::Esc {
        // it stops what the screen shows, and leaves no question that came in the same moment
        return None;
    }
    if model.is_answer_written() {
        return in_written(model, key);
    }
    if is_anywhere_key(model, key) {
        return None;
    }
    let searched = model.panes.is_search_typed();
    let dialog = model.dialogs.front_mut()?;
    // words for the input box, or for the search in a pane, are no answers
    let begun = dialog.reason.is_none() && (searched || !model.composer.is_empty());
    if dialog.reason.is_none() && !model.composer.is_empty() && changes_text(key) {
        // it continues the text in the box
        dialog.is_armed = false;
        return None;
    }
    let fresh = typing && !dialog.is_armed && !model.line_mode && dialog.reason.is_none();
    if fresh && key.code == KeyCode::Enter && !begun {
        dialog.is_armed = true;
        dialog.problem = Some(JUST_APPEARED.to_owned());
        return Some(Vec::new());
    }
    // A letter in the middle of a sentence is no answer.
    let writes = !dialog_keys::accepts_key(dialog, key);
    let command = dialog.reason.is_none() && model.composer.first_line().starts_with('/');
    let written = begun && (typing || command || key.code == KeyCode::Enter);
    // commands work first, whatever is asked
    let begins = dialog.reason.is_none() && model.composer.is_empty() && key.code == KeyCode::Char('/');
    dialog.is_armed &= !begins && !command;
    let surprised = !dialog.is_armed && (writes || written);
    dialog.problem = None;
    if !surprised && typing && !dialog.is_armed && is_lasting(key) && can_grant_more(model) {
        // what counts beyond this run is never given by a key for something else
        if let Some(dialog) = model.dialogs.front_mut() {
            dialog.problem = Some(JUST_APPEARED.to_owned());
        }
        return Some(Vec::new());
    }
    let dialog = model.dialogs.front_mut()?;
    if !surprised {
        // scrolling alone does not begin an answer
        dialog.is_armed |= !is_scroll_key(dialog, key);
        if dialog_keys::is_yes_key(dialog, key) && dialog.scroll_before_yes() {
            return Some(Vec::new());
        }
        let asked =
            !matches!(dialog.kind, DialogKind::Approval { .. } | DialogKind::Trust | DialogKind::Confirm(_));
        let letter = asked && matches!(key.code, KeyCode::Char(_)) && model.composer.is_empty();
        let cmds = match key.code {
            KeyCode::Char('3') if can_grant_more(model) => approvals::allow_for_session(model),
            KeyCode::Char('4') if can_grant_more(model) => approvals::allow_always(model),
            _ => dialog_keys::on_dialog_key(model, key),
        };
        model.tail = letter && !cmds.is_empty();
        return Some(cmds);
    }
    (key.code == KeyCode::Enter && dialog_keys::refuse_words(model)).then(Vec::new)
}

/// Keys that mean the question rather than the text that answers it.
fn in_written(model: &mut UiModel, key: KeyEvent) -> Option<Vec<UiCommand>> {
    notice_draft(model);
    let dialog = model.dialogs.front_mut()?;
    dialog.problem = None;
    if model.composer.is_searching() || model.composer.is_vim_key(key) {
        return None;
    }
    match key.code {
        KeyCode::PageUp => dialog.turn_page(false),
        KeyCode::PageDown => dialog.turn_page(true),
        _ if model.popup.is_some() => return None,
        KeyCode::Esc if model.composer.is_empty() => return Some(dialog_keys::dismiss_dialog(model)),
        KeyCode::Esc => {
            model.hint = Some("Ctrl+C takes the text away; Esc then leaves the question for later".to_owned())
        }
        KeyCode::Enter if !key.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SHIFT) => {
            return dialog_keys::submit_written_answer(model);
        }
        _ => return None,
    }
    Some(Vec::new())
}

/// Whether the input box held something when the question on screen came: that is no answer to it.
fn notice_draft(model: &mut UiModel) {
    let begun = !model.composer.is_empty();
    if let Some(DialogKind::Write { form, .. }) = model.dialogs.front_mut().map(|dialog| &mut dialog.kind) {
        form.draft = Some(begun && form.draft != Some(false));
    }
}

/// A reason takes it. Beside a question that wants a key there is no place for it, except where words are typed.
pub fn on_paste(model: &mut UiModel, text: &str) -> Option<Vec<UiCommand>> {
    notice_draft(model);
    let passes = model.is_open(ScreenLayer::TypedQuestion) || model.panes.is_search_typed();
    if let Some(reason) = model.dialogs.front_mut().and_then(|dialog| dialog.reason.as_mut()) {
        reason.push_str(&clean_text(text).replace('\n', " "));
        return Some(Vec::new());
    }
    (!passes).then(Vec::new)
}

/// A key that changes a text in the input box, or moves in it.
fn changes_text(key: KeyEvent) -> bool {
    match key.code {
        KeyCode::Backspace | KeyCode::Delete | KeyCode::Left | KeyCode::Right => true,
        KeyCode::Char(_) => key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT),
        _ => false,
    }
}

fn is_scroll_key(dialog: &QuestionDialog, key: KeyEvent) -> bool {
    match key.code {
        KeyCode::Up | KeyCode::Down => dialog.choices().is_none(),
        KeyCode::PageUp | KeyCode::PageDown | KeyCode::Home | KeyCode::End => true,
        _ => dialog_keys::turns_page(dialog, key),
    }
}

/// The keys that allow a tool for longer than the run.
fn is_lasting(key: KeyEvent) -> bool {
    matches!(key.code, KeyCode::Char('3' | '4'))
}

/// A tool waits for approval, which may be given for more than this run.
fn can_grant_more(model: &UiModel) -> bool {
    let front = model.dialogs.front();
    front.is_some_and(|dialog| dialog.is_approval() && !dialog.is_step() && dialog.reason.is_none())
}
