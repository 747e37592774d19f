//! Keys and pastes while something is typed inside of a question: a reason, a rule, or a call that is changed.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{approvals, question_replies, withdrawn_dialog};
use crate::composer::ComposerEdit;
use crate::dialog::{DraftPurpose, QuestionDialog};
use crate::keymap::chord::KeyChord;
use crate::keymap::{KeyAction, KeyFocusState};
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::slash::find_command;
use crate::text::one_line;
use synthdev_domain::approval::AllowRule;

/// Why an "always" is not taken.
pub const RULE_NOT_SHOWN: &str = "enlarge the window: the rule is not all in sight";
/// The same for an Enter that comes before it can have been read.
const RULE_JUST_APPEARED: &str = "read the rule first, then press Enter again";

pub fn on_key(model: &mut UiModel, key: KeyEvent) -> Vec<UiCommand> {
    let action = model.keymap.action(KeyChord::from_event(key), KeyFocusState::default());
    let Some(dialog) = model.dialogs.front_mut() else { return Vec::new() };
    let Some(draft) = dialog.draft.as_mut() else { return Vec::new() };
    let several_lines = draft.purpose == DraftPurpose::Call;
    match (key.code, action) {
        (KeyCode::Esc, _) => leave_draft(model),
        (KeyCode::Tab, _) if draft.purpose == DraftPurpose::Reason && !model.line_mode => {
            say_instead(model);
        }
        (_, Some(KeyAction::NewLine)) if several_lines => draft.text.insert_newline(),
        (KeyCode::Enter, _) if !key.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SHIFT) => {
            return submit_draft(model);
        }
        (KeyCode::PageUp, _) => model.turn_question_page(false),
        (KeyCode::PageDown, _) => model.turn_question_page(true),
        // what was sent before has no place here
        (_, Some(KeyAction::Edit(ComposerEdit::SearchHistory | ComposerEdit::Unfold))) => {}
        (_, Some(KeyAction::Edit(edit))) => {
            if let Err(reason) = draft.text.apply_edit(edit) {
                dialog.problem = Some(reason);
            }
        }
        (KeyCode::Enter | KeyCode::Tab | KeyCode::BackTab, _) => {}
        (_, None) => draft.text.on_key(key),
        (_, Some(_)) => {}
    }
    Vec::new()
}

/// Whether the question took it.
pub fn on_paste(dialog: &mut QuestionDialog, text: &str) -> bool {
    let Some(draft) = dialog.draft.as_mut() else { return false };
    match draft.purpose {
        DraftPurpose::Call => draft.text.paste_text(text),
        DraftPurpose::Reason | DraftPurpose::Rule => draft.text.paste_text(&text.replace(['\r', '\n'], " ")),
    }
    true
}

/// Back to the answers; words that were typed are kept.
fn leave_draft(model: &mut UiModel) {
    let draft = model.dialogs.front_mut().and_then(QuestionDialog::take_own_words);
    withdrawn_dialog::keep_words(model, draft);
}

/// The words are no reason: they go to the input line, as a message. The question stays open.
fn say_instead(model: &mut UiModel) {
    let now = model.last_key;
    let Some(dialog) = model.dialogs.front_mut() else { return };
    let words = dialog.draft.take().map(|draft| draft.text.expanded_text()).unwrap_or_default();
    (dialog.is_armed, dialog.typed_at) = (false, now);
    if words.trim().is_empty() {
        return;
    }
    // what stood there comes first
    let before = model.composer.text();
    model.composer.to_insert();
    if before.is_empty() {
        model.composer.set_text(&words);
    } else {
        model.composer.set_text(&format!("{before} {words}"));
    }
    model.hint = Some("Enter sends this as a message; the question stays open".to_owned());
}

/// Words that only agree: they are no reason to deny a call.
fn is_agreement(reason: &str) -> bool {
    const AGREE: [&str; 10] =
        ["y", "yy", "ye", "yes", "yes please", "ok", "okay", "sure", "allow", "go ahead"];
    AGREE.contains(&reason.to_lowercase().trim_end_matches(['.', '!']))
}

/// `approvals` of `y/approvals`: a command that was typed at once behind the letter of an answer is no reason either.
fn command_behind_letter(reason: &str) -> Option<&str> {
    let (letter, rest) = reason.split_once('/')?;
    let name = rest.split_whitespace().next()?;
    (letter.chars().count() == 1 && find_command(name).is_some()).then_some(name)
}

/// Takes the typed text: the question is answered, or shows the changed call.
fn submit_draft(model: &mut UiModel) -> Vec<UiCommand> {
    let now = model.last_key;
    let Some(dialog) = model.dialogs.front_mut() else { return Vec::new() };
    let Some(draft) = &dialog.draft else { return Vec::new() };
    let (purpose, text) = (draft.purpose, draft.text.expanded_text());
    match purpose {
        DraftPurpose::Reason if !model.line_mode && is_agreement(text.trim()) => {
            let words = one_line(text.trim());
            dialog.problem = Some(format!("`{words}` would deny it: to allow it, Esc, then y and Enter"));
        }
        DraftPurpose::Reason if !model.line_mode && command_behind_letter(text.trim()).is_some() => {
            let command = one_line(command_behind_letter(text.trim()).unwrap_or_default());
            dialog.problem = Some(format!("this would deny it: for the command, Esc, then /{command}"));
        }
        DraftPurpose::Reason if !model.line_mode && text.trim().chars().count() == 1 => {
            let letter = one_line(text.trim());
            dialog.problem = Some(format!("`{letter}` is no reason: Esc leads back to the answers"));
        }
        DraftPurpose::Reason => {
            let reason = Some(text.trim().to_owned()).filter(|text| !text.is_empty());
            return question_replies::deny_tool_call(model, reason);
        }
        DraftPurpose::Rule if !model.line_mode && now.is_some_and(|now| dialog.is_fresh(now)) => {
            // a key that is held down never confirms it
            (dialog.typed_at, dialog.problem) = (now, Some(RULE_JUST_APPEARED.to_owned()));
        }
        DraftPurpose::Rule if !model.line_mode && !dialog.is_rule_shown => {
            dialog.problem = Some(RULE_NOT_SHOWN.to_owned());
        }
        DraftPurpose::Rule => match checked_rule(dialog, &text) {
            Ok(rule) => return approvals::allow_always(model, rule),
            Err(problem) => dialog.problem = Some(problem),
        },
        DraftPurpose::Call => match dialog.accept_edited_text(&text) {
            Ok(()) => dialog.ask_anew(now),
            Err(problem) => dialog.problem = Some(one_line(&problem)),
        },
    }
    Vec::new()
}

/// A rule that allows the call that is asked about.
fn checked_rule(dialog: &QuestionDialog, text: &str) -> Result<AllowRule, String> {
    let rule = AllowRule::parse(text)?;
    match dialog.risk {
        Some(risk) if !rule.covers(&dialog.tool, risk) => {
            Err(format!("this rule does not allow {}", one_line(&dialog.tool)))
        }
        _ => Ok(rule),
    }
}
