//! Keys and pastes that no layer above the conversation has taken: they are for the input box.

use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::completion::refresh_popup;
use super::leaving::leave_program;
use super::session_keys::on_stop_key;
use super::{approvals, editing_keys, panes, steering, submit, unread_input};
use crate::key_guard::TYPING_MS;
use crate::keymap::chord::KeyChord;
use crate::keymap::{ACTIONS, KeyAction, KeyFocusState};
use crate::model::UiModel;
use crate::msg::UiCommand;

/// What vi has and the input box has not.
const NO_COLON: &str =
    "no commands with `:` here: Enter sends, /exit or Ctrl+D leaves, /edit edits a workflow";

pub fn on_key(model: &mut UiModel, key: KeyEvent) -> Vec<UiCommand> {
    if key.code == KeyCode::Char('/') && !model.composer.is_vim_key(key) {
        unread_input::make_way_for_command(model);
    }
    if key.code == KeyCode::Char(':') && model.composer.awaits_vim_command() {
        model.hint = Some(NO_COLON.to_owned());
        return Vec::new();
    }
    // a question that the key does not answer is not in its way
    let now = KeyFocusState { question_open: false, ..model.key_focus_state() };
    let meant = model.keymap.action(KeyChord::from_event(key), now);
    if editing_keys::handle_special_key(model, key) {
        return Vec::new();
    }
    match meant {
        Some(KeyAction::Send) => {
            model.popup = None;
            let empty = model.composer.is_empty();
            if !model.line_mode && !empty && just_offered(model) {
                model.hint = Some("this question just appeared: read it, then press Enter again".to_owned());
                return Vec::new();
            }
            submit::submit_input(model)
        }
        Some(KeyAction::NewLine) => {
            model.composer.insert_newline();
            refresh_popup(model)
        }
        Some(KeyAction::Leave) => leave_program(model),
        Some(KeyAction::Stop) => on_stop_key(model),
        Some(KeyAction::Edit(edit)) => {
            editing_keys::apply_edit(model, edit);
            refresh_popup(model)
        }
        Some(KeyAction::EditElsewhere) => editing_keys::open_external_editor(model),
        Some(KeyAction::NextQuestion) => {
            approvals::walk_questions(model, true);
            Vec::new()
        }
        Some(action) => panes::run_key_action(model, action),
        None if key.code == KeyCode::Up && model.composer.is_empty() && model.unread_run().is_some() => {
            steering::withdraw_newest_text(model).unwrap_or_default()
        }
        None if matches!(key.code, KeyCode::Tab | KeyCode::BackTab)
            && !model.composer.word_before_cursor().is_empty() =>
        {
            let asked = refresh_popup(model);
            if model.popup.is_none() && asked.is_empty() {
                model.hint = Some("nothing completes this".to_owned());
            }
            asked
        }
        None if matches!(key.code, KeyCode::F(_)) => {
            model.hint = Some(function_key_hint(model, KeyChord::from_event(key)));
            Vec::new()
        }
        None => {
            model.composer.on_key(key);
            refresh_popup(model)
        }
    }
}

/// Why a function key does nothing now.
fn function_key_hint(model: &UiModel, chord: KeyChord) -> String {
    let if_empty = KeyFocusState { question_open: false, empty: true, ..model.key_focus_state() };
    match model
        .keymap
        .action(chord, if_empty)
        .and_then(|action| ACTIONS.iter().find(|row| row.action == action))
    {
        Some(row) => format!("{chord}, {}, works while the input line is empty", row.description),
        None => {
            let help = model.keymap.key(KeyAction::Help).map(|help| format!(": {help} shows the keys"));
            format!("{chord} does nothing here{}", help.unwrap_or_default())
        }
    }
}

pub fn on_paste(model: &mut UiModel, text: &str) -> Vec<UiCommand> {
    if text.starts_with('/') {
        unread_input::make_way_for_command(model);
    }
    model.panes.focus_input();
    model.composer.paste_text(text);
    refresh_popup(model)
}

/// A model's command came into the input box too short a time ago to have been read.
fn just_offered(model: &UiModel) -> bool {
    let at = model.last_key.unwrap_or_default();
    // a clock may be set back
    model.suggestion_offered_at.is_some_and(|offered| (0..TYPING_MS).contains(&(at.0 - offered.0)))
}
