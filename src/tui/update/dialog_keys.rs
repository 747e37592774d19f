//! Keys in a question, and what each answer means.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{approvals, draft_keys, question_replies};
use crate::dialog::{
    AnswerDraft, AnswerMeaning, DialogKind, DraftPurpose, EditableCall, LOOKED, QuestionDialog,
};
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::slash;
use crate::text::one_line;
use synthdev_domain::approval::ApprovalDecision;
use synthdev_service::run_steering::{NetworkAnswer, UserAnswer};

/// Whether a question waits for this key; any other letter is the beginning of a text.
pub fn accepts_key(dialog: &QuestionDialog, key: KeyEvent) -> bool {
    match key.code {
        KeyCode::Char(' ') if dialog.draft.is_none() => turns_page(dialog, key),
        KeyCode::Char(c) if dialog.draft.is_none() => {
            key.modifiers.contains(KeyModifiers::CONTROL) || dialog.answer_for(c).is_some()
        }
        _ => true,
    }
}

/// Space shows more of a long text.
pub fn turns_page(dialog: &QuestionDialog, key: KeyEvent) -> bool {
    key.code == KeyCode::Char(' ') && dialog.has_overflow() && dialog.draft.is_none() && !dialog.is_written()
}

/// The answer that a key gives: a letter only chooses one.
pub fn key_meaning(dialog: &QuestionDialog, key: KeyEvent) -> Option<AnswerMeaning> {
    match key.code {
        _ if dialog.draft.is_some() => None,
        KeyCode::Enter => dialog.chosen_answer(),
        _ => None,
    }
}

pub fn on_dialog_key(model: &mut UiModel, key: KeyEvent) -> Vec<UiCommand> {
    let Some(dialog) = model.dialogs.front_mut() else { return Vec::new() };
    if dialog.draft.is_some() {
        return draft_keys::on_key(model, key);
    }
    if let Some(meaning) = key_meaning(dialog, key) {
        return give_answer(model, meaning);
    }
    match key.code {
        KeyCode::Enter if !dialog.is_written() => {
            dialog.problem = Some(format!("choose first: {}", dialog.keys()));
        }
        KeyCode::Up => dialog.step_through(false),
        KeyCode::Down => dialog.step_through(true),
        KeyCode::PageUp => model.turn_question_page(false),
        KeyCode::PageDown => model.turn_question_page(true),
        KeyCode::Char(' ') if turns_page(dialog, key) => dialog.turn_page(true),
        KeyCode::Left => dialog.choose_beside(false),
        KeyCode::Right => dialog.choose_beside(true),
        KeyCode::Home => dialog.go_to_edge(false),
        KeyCode::End => dialog.go_to_edge(true),
        KeyCode::Esc => return question_replies::dismiss_dialog(model),
        _ => {}
    }
    Vec::new()
}

/// Answers the question on screen, or begins what the answer needs first.
fn give_answer(model: &mut UiModel, meaning: AnswerMeaning) -> Vec<UiCommand> {
    let now = model.last_key;
    let Some(dialog) = model.dialogs.front_mut() else { return Vec::new() };
    match (meaning, &dialog.kind) {
        (AnswerMeaning::Pick(at), _) => return pick_choice(model, at),
        (AnswerMeaning::Once, DialogKind::Decide { .. }) => {
            return question_replies::reply_to_dialog(model, UserAnswer::Value { value: true.into() });
        }
        (AnswerMeaning::No, DialogKind::Decide { .. }) => {
            return question_replies::reply_to_dialog(model, UserAnswer::Value { value: false.into() });
        }
        (AnswerMeaning::Once, DialogKind::Network { .. }) => {
            return question_replies::answer_network(model, NetworkAnswer::Call);
        }
        (AnswerMeaning::Session, DialogKind::Network { .. }) => {
            return question_replies::answer_network(model, NetworkAnswer::Run);
        }
        (AnswerMeaning::Always, DialogKind::Network { .. }) if !model.line_mode && !dialog.is_rule_shown => {
            dialog.problem = Some(draft_keys::RULE_NOT_SHOWN.to_owned());
        }
        (AnswerMeaning::Always, DialogKind::Network { .. }) => {
            return question_replies::network_always(model);
        }
        (AnswerMeaning::Session, _) if dialog.is_step() => {
            return question_replies::decide_tool_call(model, ApprovalDecision::AllowTool);
        }
        (AnswerMeaning::Session, _) => return approvals::allow_for_session(model),
        (AnswerMeaning::Once, _) => {
            return question_replies::answer_yes_or_no(model, true, ApprovalDecision::Allow);
        }
        (AnswerMeaning::No | AnswerMeaning::Later, _) => return question_replies::dismiss_dialog(model),
        (AnswerMeaning::Reason, _) => dialog.draft = Some(AnswerDraft::new(DraftPurpose::Reason, "")),
        (AnswerMeaning::Always, _) => {
            let rule = dialog.offered_rule().to_string();
            dialog.draft = Some(AnswerDraft::new(DraftPurpose::Rule, &rule));
            // the Enter that asks for it does not confirm it
            (dialog.is_rule_shown, dialog.typed_at) = (false, now);
        }
        (AnswerMeaning::Edit, _) => {
            let text = dialog.edited_call.as_ref().map(EditableCall::editable_text).unwrap_or_default();
            dialog.draft = Some(AnswerDraft::new(DraftPurpose::Call, &text));
        }
    }
    Vec::new()
}

/// Enter in the input box while a question wants a text. `None`: it is a command.
pub fn submit_written_answer(model: &mut UiModel) -> Option<Vec<UiCommand>> {
    // a command works whenever it was begun
    let is_command = slash::is_command(&model.composer.text());
    let Some(DialogKind::Write { form, .. }) =
        model.dialogs.front_mut().map(|dialog| &mut dialog.kind).filter(|_| !is_command)
    else {
        return None;
    };
    if form.draft == Some(true) {
        form.draft = Some(false);
        model.composer.clear_into_history();
        model.hint = Some("kept in the history: Up brings it back".to_owned());
        return Some(Vec::new());
    }
    let text = model.composer.take_text().unwrap_or_default();
    // the answer to a workflow's question may be private
    model.composer.discard_unsaved_texts();
    match form.accept_text(&text) {
        Ok(Some(value)) => Some(question_replies::reply_to_dialog(model, UserAnswer::Value { value })),
        Ok(None) => {
            if let Some(dialog) = model.dialogs.front_mut() {
                (dialog.problem, dialog.scroll) = (None, usize::MAX);
            }
            Some(Vec::new())
        }
        Err(problem) => {
            if !text.trim().is_empty() && !model.line_mode {
                model.hint = Some("Up brings back what you typed".to_owned());
            }
            if let Some(dialog) = model.dialogs.front_mut() {
                dialog.problem = Some(one_line(&problem));
            }
            Some(Vec::new())
        }
    }
}

/// Picks a choice; a tool that is done may have a result.
pub(super) fn pick_choice(model: &mut UiModel, at: usize) -> Vec<UiCommand> {
    let Some(dialog) = model.dialogs.front() else { return Vec::new() };
    let picked = match &dialog.kind {
        DialogKind::Choose { choices, .. } => choices.get(at).cloned(),
        DialogKind::Look { .. } => LOOKED.get(at).map(|choice| (*choice).to_owned()),
        _ => None,
    };
    let Some(picked) = picked else { return Vec::new() };
    if picked == "done" && matches!(dialog.kind, DialogKind::Look { .. }) {
        if let Some(dialog) = model.dialogs.pop_front() {
            model.dialogs.push_front(dialog.into_result_question(model.last_key));
        }
        return Vec::new();
    }
    question_replies::reply_to_dialog(model, UserAnswer::Value { value: picked.into() })
}
