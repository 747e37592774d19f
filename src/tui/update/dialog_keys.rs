//! Keys in a question, and what each answer means.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{approvals, draft_keys, index};
use crate::dialog::{
    AnswerDraft, AnswerMeaning, DialogKind, DraftPurpose, EditableCall, LOOKED, QuestionDialog,
};
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::slash;
use crate::text::{fit_to_columns, one_line};
use synthdev_domain::approval::ApprovalDecision;
use synthdev_domain::ids::{CallId, RunId};
use synthdev_service::run_steering::{NetworkAnswer, RunCommand, UserAnswer};
use synthdev_service::session::{ProjectRequest, StandingPermission};

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

/// The answer that a key gives.
pub fn key_meaning(dialog: &QuestionDialog, key: KeyEvent) -> Option<AnswerMeaning> {
    match key.code {
        _ if dialog.draft.is_some() => None,
        KeyCode::Enter => dialog.chosen_answer(),
        KeyCode::Char(c) if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => {
            dialog.answer_for(c)
        }
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
            dialog.problem = Some("choose an answer with ↑↓, or press its letter".to_owned());
        }
        KeyCode::Up => dialog.step_through(false),
        KeyCode::Down => dialog.step_through(true),
        KeyCode::PageUp => dialog.turn_page(false),
        KeyCode::PageDown => dialog.turn_page(true),
        KeyCode::Char(' ') if turns_page(dialog, key) => dialog.turn_page(true),
        KeyCode::Home => dialog.scroll = 0,
        KeyCode::End => dialog.scroll = usize::MAX,
        KeyCode::Esc => return dismiss_dialog(model),
        _ => {}
    }
    Vec::new()
}

/// Answers the question on screen, or begins what the answer needs first.
fn give_answer(model: &mut UiModel, meaning: AnswerMeaning) -> Vec<UiCommand> {
    let Some(dialog) = model.dialogs.front_mut() else { return Vec::new() };
    match (meaning, &dialog.kind) {
        (AnswerMeaning::Pick(at), _) => return pick_choice(model, at),
        (AnswerMeaning::Once, DialogKind::Decide { .. }) => {
            return reply_to_dialog(model, UserAnswer::Value { value: true.into() });
        }
        (AnswerMeaning::No, DialogKind::Decide { .. }) => {
            return reply_to_dialog(model, UserAnswer::Value { value: false.into() });
        }
        (AnswerMeaning::Once, DialogKind::Network { .. }) => {
            return answer_network(model, NetworkAnswer::Call);
        }
        (AnswerMeaning::Session, DialogKind::Network { .. }) => {
            return answer_network(model, NetworkAnswer::Run);
        }
        (AnswerMeaning::Always, DialogKind::Network { .. }) => return network_always(model),
        (AnswerMeaning::Session, _) if dialog.is_step() => {
            return decide_tool_call(model, ApprovalDecision::AllowTool);
        }
        (AnswerMeaning::Session, _) => return approvals::allow_for_session(model),
        (AnswerMeaning::Once, _) => return answer_yes_or_no(model, true, ApprovalDecision::Allow),
        (AnswerMeaning::No | AnswerMeaning::Later, _) => return dismiss_dialog(model),
        (AnswerMeaning::Reason, _) => dialog.draft = Some(AnswerDraft::new(DraftPurpose::Reason, "")),
        (AnswerMeaning::Always, _) => {
            let rule = dialog.offered_rule().to_string();
            dialog.draft = Some(AnswerDraft::new(DraftPurpose::Rule, &rule));
        }
        (AnswerMeaning::Edit, _) => {
            let text = dialog.edited_call.as_ref().map(EditableCall::editable_text).unwrap_or_default();
            dialog.draft = Some(AnswerDraft::new(DraftPurpose::Call, &text));
        }
    }
    Vec::new()
}

/// No, stop, leave it: what Esc means in the dialog on screen.
pub fn dismiss_dialog(model: &mut UiModel) -> Vec<UiCommand> {
    match model.dialogs.front().map(|dialog| &dialog.kind) {
        // no answer at all is neither yes nor no
        Some(
            DialogKind::Decide { .. }
            | DialogKind::Choose { .. }
            | DialogKind::Look { .. }
            | DialogKind::Write { .. },
        ) => reply_to_dialog(model, UserAnswer::Stop),
        _ => answer_yes_or_no(model, false, ApprovalDecision::Deny { reason: None }),
    }
}

/// Enter in the input box while a question wants a text. `None`: it is a command.
pub fn submit_written_answer(model: &mut UiModel) -> Option<Vec<UiCommand>> {
    let Some(DialogKind::Write { form, .. }) = model.dialogs.front_mut().map(|dialog| &mut dialog.kind)
    else {
        return None;
    };
    if form.draft == Some(true) {
        form.draft = Some(false);
        model.composer.clear_into_history();
        model.hint = Some("kept in the history: Up brings it back".to_owned());
        return Some(Vec::new());
    }
    if slash::is_command(&model.composer.text()) {
        return None;
    }
    let text = model.composer.take_text().unwrap_or_default();
    // the answer to a workflow's question may be private
    model.composer.discard_unsaved_texts();
    match form.accept_text(&text) {
        Ok(Some(value)) => Some(reply_to_dialog(model, UserAnswer::Value { value })),
        Ok(None) => {
            if let Some(dialog) = model.dialogs.front_mut() {
                (dialog.problem, dialog.scroll) = (None, usize::MAX);
            }
            Some(Vec::new())
        }
        Err(problem) => {
            if !text.trim().is_empty() {
                model.hint = Some("Up brings back what you typed".to_owned());
            }
            if let Some(dialog) = model.dialogs.front_mut() {
                dialog.problem = Some(one_line(&problem));
            }
            Some(Vec::new())
        }
    }
}

/// A text that was sent while a key was wanted answers nothing, and waits for no other question either.
pub fn refuse_words(model: &mut UiModel) -> bool {
    let text = model.composer.text();
    let Some(dialog) = model.dialogs.front_mut() else { return false };
    let wants_key = matches!(
        dialog.kind,
        DialogKind::GoOn { .. }
            | DialogKind::Decide { .. }
            | DialogKind::Choose { .. }
            | DialogKind::Look { .. }
    );
    if !wants_key || text.trim().is_empty() || slash::is_command(&text) {
        return false;
    }
    let word = one_line(text.trim());
    dialog.problem =
        Some(format!("`{}` is no answer: press one of the keys below", fit_to_columns(&word, 24)));
    model.composer.clear_into_history();
    model.popup = None;
    true
}

/// Picks a choice; a tool that is done may have a result.
fn pick_choice(model: &mut UiModel, at: usize) -> Vec<UiCommand> {
    let Some(dialog) = model.dialogs.front() else { return Vec::new() };
    let picked = match &dialog.kind {
        DialogKind::Choose { choices, .. } => choices.get(at).cloned(),
        DialogKind::Look { .. } => LOOKED.get(at).map(|choice| (*choice).to_owned()),
        _ => None,
    };
    let Some(picked) = picked else { return Vec::new() };
    if picked == "done" && matches!(dialog.kind, DialogKind::Look { .. }) {
        if let Some(dialog) = model.dialogs.pop_front() {
            model.dialogs.push_front(dialog.into_result_question());
        }
        return Vec::new();
    }
    reply_to_dialog(model, UserAnswer::Value { value: picked.into() })
}

/// Answers the question on screen and takes it off.
fn reply_to_dialog(model: &mut UiModel, answer: UserAnswer) -> Vec<UiCommand> {
    match model.dialogs.pop_front().map(|dialog| dialog.kind) {
        Some(
            DialogKind::Decide { run, call, .. }
            | DialogKind::Choose { run, call, .. }
            | DialogKind::Look { run, call, .. }
            | DialogKind::Write { run, call, .. },
        ) => send_answer(model, run, call, answer),
        _ => Vec::new(),
    }
}

fn send_answer(model: &mut UiModel, run: RunId, call: CallId, answer: UserAnswer) -> Vec<UiCommand> {
    if let Some(view) = model.run_mut(&run) {
        view.question_left_open = answer == UserAnswer::Stop;
    }
    vec![UiCommand::Send(run, RunCommand::Answer { call, answer })]
}

fn answer_network(model: &mut UiModel, answer: NetworkAnswer) -> Vec<UiCommand> {
    match model.dialogs.pop_front().map(|dialog| dialog.kind) {
        Some(DialogKind::Network { run, call }) => {
            vec![UiCommand::Send(run, RunCommand::AllowNetwork { call, answer })]
        }
        _ => Vec::new(),
    }
}

/// For this run, and from the settings for every later one.
fn network_always(model: &mut UiModel) -> Vec<UiCommand> {
    let mut cmds = answer_network(model, NetworkAnswer::Run);
    cmds.push(UiCommand::ask(ProjectRequest::AllowAlways(StandingPermission::Network)));
    cmds
}

/// Removes the dialog and sends a yes to its tool call.
pub fn decide_tool_call(model: &mut UiModel, decision: ApprovalDecision) -> Vec<UiCommand> {
    answer_yes_or_no(model, true, decision)
}

/// Removes the dialog and denies its tool call.
pub fn deny_tool_call(model: &mut UiModel, reason: Option<String>) -> Vec<UiCommand> {
    answer_yes_or_no(model, false, ApprovalDecision::Deny { reason })
}

fn answer_yes_or_no(model: &mut UiModel, yes: bool, decision: ApprovalDecision) -> Vec<UiCommand> {
    let Some(dialog) = model.dialogs.pop_front() else { return Vec::new() };
    let changed = dialog.edited_call.as_ref().and_then(EditableCall::changed_arguments).filter(|_| yes);
    let decision = match changed {
        Some(arguments) => ApprovalDecision::AllowEdited { arguments: arguments.clone() },
        None => decision,
    };
    match dialog.kind {
        DialogKind::Approval { run, call } => {
            vec![UiCommand::Send(run, RunCommand::Approve { call, decision })]
        }
        DialogKind::GoOn { run, call, suspends_run: parks, .. } => {
            let cmds = send_answer(
                model,
                run.clone(),
                call,
                if yes { UserAnswer::Continue } else { UserAnswer::Stop },
            );
            if let Some(view) = model.run_mut(&run) {
                view.question_left_open &= parks;
            }
            cmds
        }
        DialogKind::Decide { run, call, .. }
        | DialogKind::Choose { run, call, .. }
        | DialogKind::Look { run, call, .. }
        | DialogKind::Write { run, call, .. } => send_answer(model, run, call, UserAnswer::Stop),
        DialogKind::Network { run, call } => {
            vec![UiCommand::Send(run, RunCommand::AllowNetwork { call, answer: NetworkAnswer::Deny })]
        }
        DialogKind::Unsandboxed { run, call } => {
            vec![UiCommand::Send(run, RunCommand::AllowUnsandboxed { call, allowed: yes })]
        }
        DialogKind::Trust => vec![UiCommand::ask(ProjectRequest::Trust(yes))],
        DialogKind::Confirm(cmd) => {
            if yes {
                index::start_agreed_indexing(model, cmd)
            } else {
                model.hint = Some("nothing was changed".to_owned());
                Vec::new()
            }
        }
    }
}
