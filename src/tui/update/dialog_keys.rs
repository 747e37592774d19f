//! Keys in a dialog, and what each answer means.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::index;
use crate::dialog::{DialogKind, QuestionDialog, REPEAT};
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::slash;
use crate::text::{fit_to_columns, one_line};
use synthdev_domain::approval::ApprovalDecision;
use synthdev_domain::ids::{CallId, RunId};
use synthdev_service::run_steering::{NetworkAnswer, RunCommand, UserAnswer};
use synthdev_service::session::{ProjectRequest, StandingPermission};

/// Whether a dialog waits for this key; any other letter is the beginning of a text.
pub fn accepts_key(dialog: &QuestionDialog, key: KeyEvent) -> bool {
    match key.code {
        KeyCode::Char(' ') if dialog.reason.is_none() => turns_page(dialog, key),
        KeyCode::Char(c) if dialog.reason.is_none() => {
            let keys = match dialog.kind {
                DialogKind::Approval { .. } if dialog.is_step() => "yanr",
                DialogKind::Approval { .. } => "yanr34",
                DialogKind::Network { .. } => "yan4",
                DialogKind::Unsandboxed { .. } => "yn",
                DialogKind::GoOn { .. }
                | DialogKind::Decide { .. }
                | DialogKind::Trust
                | DialogKind::Confirm(_) => "yncs",
                DialogKind::Choose { .. } | DialogKind::Look { .. } => "123456789",
                DialogKind::Write { .. } => "",
            };
            key.modifiers.contains(KeyModifiers::CONTROL) || keys.contains(c.to_ascii_lowercase())
        }
        _ => true,
    }
}

/// Space shows more of a long text.
pub fn turns_page(dialog: &QuestionDialog, key: KeyEvent) -> bool {
    key.code == KeyCode::Char(' ') && dialog.has_overflow() && dialog.reason.is_none() && !dialog.is_written()
}

/// Whether the key is a yes; a yes counts only after the whole question was visible.
pub fn is_yes_key(dialog: &QuestionDialog, key: KeyEvent) -> bool {
    let KeyCode::Char(c) = key.code else {
        let yes = matches!(
            dialog.kind,
            DialogKind::Decide { default: Some(true), .. }
                | DialogKind::Choose { .. }
                | DialogKind::Look { selected: REPEAT, .. }
        );
        return key.code == KeyCode::Enter && yes;
    };
    let yes = match dialog.kind {
        DialogKind::Approval { .. } | DialogKind::Network { .. } => "ya34",
        DialogKind::GoOn { .. } | DialogKind::Trust | DialogKind::Confirm(_) => "yc",
        DialogKind::Decide { .. } | DialogKind::Unsandboxed { .. } => "y",
        DialogKind::Choose { .. } => "123456789",
        DialogKind::Look { .. } => "1",
        DialogKind::Write { .. } => "",
    };
    let plain = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    plain && dialog.reason.is_none() && yes.contains(c.to_ascii_lowercase())
}

pub fn on_dialog_key(model: &mut UiModel, key: KeyEvent) -> Vec<UiCommand> {
    let Some(dialog) = model.dialogs.front_mut() else { return Vec::new() };
    if dialog.reason.is_some() {
        return type_reason(model, key);
    }
    match key.code {
        KeyCode::Up | KeyCode::Down if dialog.choices().is_some() => {
            move_choice(dialog, key.code == KeyCode::Down);
        }
        KeyCode::Enter => return confirm_choice(model),
        KeyCode::Up => dialog.scroll = dialog.scroll.saturating_sub(1),
        KeyCode::Down => dialog.scroll = dialog.scroll.saturating_add(1),
        KeyCode::PageUp => dialog.turn_page(false),
        KeyCode::PageDown => dialog.turn_page(true),
        KeyCode::Char(' ') if turns_page(dialog, key) => dialog.turn_page(true),
        KeyCode::Home => dialog.scroll = 0,
        KeyCode::End => dialog.scroll = usize::MAX,
        KeyCode::Esc => return dismiss_dialog(model),
        KeyCode::Char(c) if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => {
            return on_letter(model, c.to_ascii_lowercase());
        }
        _ => {}
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

/// Enter: takes the selected choice, or the default.
fn confirm_choice(model: &mut UiModel) -> Vec<UiCommand> {
    let Some(dialog) = model.dialogs.front() else { return Vec::new() };
    if let Some((_, selected)) = dialog.choices() {
        return pick_choice(model, selected);
    }
    match dialog.kind {
        DialogKind::Decide { default: Some(yes), .. } => {
            reply_to_dialog(model, UserAnswer::Value { value: yes.into() })
        }
        _ => Vec::new(),
    }
}

fn move_choice(dialog: &mut QuestionDialog, down: bool) {
    let count = dialog.choices().map_or(1, |(choices, _)| choices.len().max(1));
    if let DialogKind::Choose { selected, .. } | DialogKind::Look { selected, .. } = &mut dialog.kind {
        *selected = (*selected + if down { 1 } else { count - 1 }) % count;
    }
}

/// Picks a choice; a tool that is done may have a result.
fn pick_choice(model: &mut UiModel, at: usize) -> Vec<UiCommand> {
    let Some(dialog) = model.dialogs.front() else { return Vec::new() };
    let picked = dialog.choices().and_then(|(choices, _)| choices.get(at).map(|choice| (*choice).to_owned()));
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

fn on_letter(model: &mut UiModel, c: char) -> Vec<UiCommand> {
    match model.dialogs.front().map(|dialog| &dialog.kind) {
        Some(DialogKind::Decide { .. }) => {
            return match c {
                'y' => reply_to_dialog(model, UserAnswer::Value { value: true.into() }),
                'n' => reply_to_dialog(model, UserAnswer::Value { value: false.into() }),
                _ => Vec::new(),
            };
        }
        Some(DialogKind::Network { .. }) => {
            return match c {
                'y' => answer_network(model, NetworkAnswer::Call),
                'a' => answer_network(model, NetworkAnswer::Run),
                '4' => network_always(model),
                'n' => dismiss_dialog(model),
                _ => Vec::new(),
            };
        }
        Some(DialogKind::Unsandboxed { .. }) => {
            return match c {
                'y' => answer_yes_or_no(model, true, ApprovalDecision::Allow),
                'n' => dismiss_dialog(model),
                _ => Vec::new(),
            };
        }
        Some(DialogKind::Choose { .. } | DialogKind::Look { .. }) => {
            let at = c.to_digit(10).and_then(|digit| usize::try_from(digit).ok()?.checked_sub(1));
            return at.map_or_else(Vec::new, |at| pick_choice(model, at));
        }
        _ => {}
    }
    let approval = matches!(model.dialogs.front().map(|d| &d.kind), Some(DialogKind::Approval { .. }));
    match c {
        'y' => answer_yes_or_no(model, true, ApprovalDecision::Allow),
        'a' if approval => answer_yes_or_no(model, true, ApprovalDecision::AllowTool),
        'c' if !approval => answer_yes_or_no(model, true, ApprovalDecision::Allow),
        'n' => dismiss_dialog(model),
        's' if !approval => dismiss_dialog(model),
        'r' if approval => {
            if let Some(dialog) = model.dialogs.front_mut() {
                dialog.reason = Some(String::new());
            }
            Vec::new()
        }
        _ => Vec::new(),
    }
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

fn type_reason(model: &mut UiModel, key: KeyEvent) -> Vec<UiCommand> {
    let Some(dialog) = model.dialogs.front_mut() else { return Vec::new() };
    let Some(reason) = dialog.reason.as_mut() else { return Vec::new() };
    match key.code {
        KeyCode::Enter => {
            let reason = Some(reason.trim().to_owned()).filter(|text| !text.is_empty());
            return answer_yes_or_no(model, false, ApprovalDecision::Deny { reason });
        }
        KeyCode::Esc => dialog.reason = None,
        KeyCode::Backspace => {
            reason.pop();
        }
        KeyCode::Char(c) if !key.modifiers.contains(KeyModifiers::CONTROL) => reason.push(c),
        _ => {}
    }
    Vec::new()
}

/// Removes the dialog and sends a yes to its tool call.
pub fn decide_tool_call(model: &mut UiModel, decision: ApprovalDecision) -> Vec<UiCommand> {
    answer_yes_or_no(model, true, decision)
}

fn answer_yes_or_no(model: &mut UiModel, yes: bool, decision: ApprovalDecision) -> Vec<UiCommand> {
    let Some(dialog) = model.dialogs.pop_front() else { return Vec::new() };
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
