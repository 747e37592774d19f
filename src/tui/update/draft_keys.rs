//! Keys and pastes while something is typed inside of a question: a reason, a rule, or a call that is changed.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{approvals, question_replies};
use crate::composer::ComposerEdit;
use crate::dialog::{DraftPurpose, QuestionDialog};
use crate::keymap::chord::KeyChord;
use crate::keymap::{KeyAction, KeyFocusState};
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::text::one_line;
use synthdev_domain::approval::AllowRule;

/// Why an "always" is not taken.
pub const RULE_NOT_SHOWN: &str = "enlarge the window: the rule is not all in sight";

pub fn on_key(model: &mut UiModel, key: KeyEvent) -> Vec<UiCommand> {
    let action = model.keymap.action(KeyChord::from_event(key), KeyFocusState::default());
    let Some(dialog) = model.dialogs.front_mut() else { return Vec::new() };
    let Some(draft) = dialog.draft.as_mut() else { return Vec::new() };
    let several_lines = draft.purpose == DraftPurpose::Call;
    match (key.code, action) {
        (KeyCode::Esc, _) => dialog.draft = None,
        (_, Some(KeyAction::NewLine)) if several_lines => draft.text.insert_newline(),
        (KeyCode::Enter, _) if !key.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SHIFT) => {
            return submit_draft(model);
        }
        (KeyCode::PageUp, _) => dialog.turn_page(false),
        (KeyCode::PageDown, _) => dialog.turn_page(true),
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

/// Takes the typed text: the question is answered, or shows the changed call.
fn submit_draft(model: &mut UiModel) -> Vec<UiCommand> {
    let Some(dialog) = model.dialogs.front_mut() else { return Vec::new() };
    let Some(draft) = &dialog.draft else { return Vec::new() };
    let (purpose, text) = (draft.purpose, draft.text.expanded_text());
    match purpose {
        DraftPurpose::Reason => {
            let reason = Some(text.trim().to_owned()).filter(|text| !text.is_empty());
            return question_replies::deny_tool_call(model, reason);
        }
        DraftPurpose::Rule if !model.line_mode && !dialog.is_rule_shown => {
            dialog.problem = Some(RULE_NOT_SHOWN.to_owned());
        }
        DraftPurpose::Rule => match checked_rule(dialog, &text) {
            Ok(rule) => return approvals::allow_always(model, rule),
            Err(problem) => dialog.problem = Some(problem),
        },
        DraftPurpose::Call => match dialog.accept_edited_text(&text) {
            Ok(()) => dialog.draft = None,
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
