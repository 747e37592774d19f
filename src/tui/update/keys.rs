//! Keys outside of dialogs: sending, completing, scrolling, stopping, leaving.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{
    approvals, dialog_keys, editing_keys, editor, history, history_browser, interrupt, leave_program,
    mention, panes, setup, shell_commands, steering, submit, withdrawn_dialog,
};
use crate::complete::complete_input;
use crate::dialog::{DialogKind, QuestionDialog};
use crate::keymap::chord::KeyChord;
use crate::keymap::{KeyAction, KeyFocusState};
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::slash::{self, SlashArgument};
use crate::text::clean_text;
use synthdev_domain::ids::Timestamp;
use synthdev_runtime::command::RunCommand;

/// Two interrupts within this time leave the program.
const TWICE_MS: i64 = 3_000;
/// A key this short ago means that the user is typing; a question that appears then is not answered by the next key.
const TYPING_MS: i64 = 700;

pub fn on_key(model: &mut UiModel, key: KeyEvent, at: Timestamp) -> Vec<UiCommand> {
    let typing = model.last_key.is_some_and(|last| at.0 - last.0 < TYPING_MS);
    model.tail &= typing && key.code != KeyCode::Char(' ');
    model.last_key = Some(at);
    model.now = model.now.max(at);
    model.hint = None;
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    if model.setup.as_ref().is_some_and(|dialog| setup::yields_to_command(dialog, key)) {
        model.setup = None;
    }
    if let Some(cmds) = in_front(model, key, at, typing) {
        return cmds;
    }
    if control && key.code == KeyCode::Char('c') {
        return on_interrupt(model, at);
    }
    if is_leave_key(model, key) {
        return leave_program(model);
    }
    let meant = model.keymap.action(KeyChord::from_event(key), model.key_focus_state());
    let beside = meant.is_some_and(KeyAction::is_anywhere);
    if model.composer.is_empty()
        && let Some(gone) = &mut model.withdrawn_dialog
    {
        gone.draft = false;
    }
    if !beside && !model.line_mode && withdrawn_dialog::is_late(model, at) && is_held_back(model, key) {
        return Vec::new();
    }
    if let Some(cmds) = in_question(model, key, typing, beside) {
        return cmds;
    }
    model.last_interrupt = None;
    if model.popup.is_some()
        && !beside
        && let Some(cmds) = in_popup(model, key)
    {
        return cmds;
    }
    if meant == Some(KeyAction::History) {
        return history_browser::open_browser(model);
    }
    if model.keyed_pane().is_some() {
        if let Some(cmds) = panes::on_pane_key(model, key, meant) {
            return cmds;
        }
        // further typing means the input box
        model.panes.focus_input();
    }
    // a question that the key does not answer is not in its way
    let now = KeyFocusState { question_open: false, ..model.key_focus_state() };
    let meant = model.keymap.action(KeyChord::from_event(key), now);
    on_unbound_key(model, key, meant)
}

/// A key for the question that has just taken the place of another one: it is read first.
fn is_held_back(model: &mut UiModel, key: KeyEvent) -> bool {
    let typed = !model.composer.is_empty() && key.code != KeyCode::Enter;
    let Some(dialog) = model.dialogs.front_mut().filter(|dialog| !typed && !is_scroll_key(dialog, key))
    else {
        return false;
    };
    if dialog.is_written() && key.code != KeyCode::Enter {
        return false;
    }
    dialog.problem = Some("this question just appeared: read it, then press again".to_owned());
    true
}

/// Whether the key leaves the program: a question must not prevent this; it stays open.
fn is_leave_key(model: &UiModel, key: KeyEvent) -> bool {
    let free = KeyFocusState { empty: model.composer.is_empty(), ..KeyFocusState::default() };
    let writes = model.dialogs.front().is_none_or(|dialog| dialog.reason.is_some());
    !writes && model.keymap.action(KeyChord::from_event(key), free) == Some(KeyAction::Leave)
}

/// A key while a question is open. `None`: it is not for the question.
fn in_question(model: &mut UiModel, key: KeyEvent, typing: bool, beside: bool) -> Option<Vec<UiCommand>> {
    let unseen = !model.line_mode && model.dialogs.front().is_some_and(|dialog| !dialog.was_shown);
    if unseen && key.code == KeyCode::Esc {
        // it stops what the screen shows, and leaves no question that came in the same moment
        return None;
    }
    if model.dialogs.front().is_some_and(QuestionDialog::is_written) {
        return in_written(model, key);
    }
    let dialog = model.dialogs.front_mut().filter(|_| !beside)?;
    if dialog.reason.is_none() && !model.composer.is_empty() && changes_text(key) {
        // it continues the text in the box
        dialog.is_armed = false;
        return None;
    }
    let fresh = typing && !dialog.is_armed && !model.line_mode && dialog.reason.is_none();
    if fresh && key.code == KeyCode::Enter && model.composer.is_empty() {
        dialog.is_armed = true;
        dialog.problem = Some("this question just appeared: read it, then press again".to_owned());
        return Some(Vec::new());
    }
    // A letter in the middle of a sentence is no answer.
    let writes = !dialog_keys::accepts_key(dialog, key);
    let command = model.composer.first_line().starts_with('/');
    let written = !model.composer.is_empty() && (typing || command || key.code == KeyCode::Enter);
    // commands work first, whatever is asked
    let begins = dialog.reason.is_none() && model.composer.is_empty() && key.code == KeyCode::Char('/');
    dialog.is_armed &= !begins && !command;
    let surprised = !dialog.is_armed && (writes || written);
    dialog.problem = None;
    if !surprised && typing && !dialog.is_armed && is_lasting(key) && can_grant_more(model) {
        // what counts beyond this run is never given by a key for something else
        if let Some(dialog) = model.dialogs.front_mut() {
            dialog.problem = Some("this question just appeared: read it, then press again".to_owned());
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

/// The view in front of everything takes all keys. `None`: there is none.
fn in_front(model: &mut UiModel, key: KeyEvent, at: Timestamp, typing: bool) -> Option<Vec<UiCommand>> {
    if model.setup.is_some() {
        return Some(in_setup(model, key, at));
    }
    if model.edit.is_some() {
        return Some(editor::on_key(model, key));
    }
    model.history_browser.is_some().then(|| history_browser::on_key(model, key, at, typing))
}

/// The dialog that sets up a model takes every key.
fn in_setup(model: &mut UiModel, key: KeyEvent, at: Timestamp) -> Vec<UiCommand> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Esc => {}
        KeyCode::Char('c') if control => model.last_interrupt = Some(at),
        KeyCode::Char('l') if control => {
            model.needs_repaint = true;
            return Vec::new();
        }
        _ => return model.setup.as_mut().map_or_else(Vec::new, |dialog| setup::on_key(dialog, key)),
    }
    if setup::close_setup(model) { leave_program(model) } else { Vec::new() }
}

pub fn on_paste(model: &mut UiModel, text: &str) -> Vec<UiCommand> {
    if let Some(dialog) = &mut model.setup {
        setup::on_paste(dialog, text);
        return Vec::new();
    }
    if model.edit.is_some() {
        return editor::on_paste(model, text);
    }
    if model.history_browser.is_some() {
        return history_browser::on_paste(model, text);
    }
    if let Some(dialog) = model.dialogs.front_mut().filter(|dialog| !dialog.is_written()) {
        if let Some(reason) = &mut dialog.reason {
            reason.push_str(&clean_text(text).replace('\n', " "));
        }
        return Vec::new();
    }
    notice_draft(model);
    model.tail = false;
    if panes::paste_into_search(model, text) {
        return Vec::new();
    }
    model.panes.focus_input();
    model.composer.paste_text(text);
    refresh_popup(model)
}

/// Whether the input box held something when the question on screen came: that is no answer to it.
fn notice_draft(model: &mut UiModel) {
    let begun = !model.composer.is_empty();
    if let Some(DialogKind::Write { form, .. }) = model.dialogs.front_mut().map(|dialog| &mut dialog.kind) {
        form.draft = Some(begun && form.draft != Some(false));
    }
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

fn on_unbound_key(model: &mut UiModel, key: KeyEvent, meant: Option<KeyAction>) -> Vec<UiCommand> {
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
            if std::mem::take(&mut model.tail) && !empty && !slash::is_command(&model.composer.text()) {
                model.composer.clear_into_history();
                model.hint = Some("taken as the rest of your answer; Up brings it back".to_owned());
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
            approvals::show_next_question(model);
            Vec::new()
        }
        Some(action) => panes::run_key_action(model, action),
        None if key.code == KeyCode::Up && model.composer.is_empty() && model.has_unread() => {
            steering::withdraw_newest_text(model).unwrap_or_default()
        }
        None => {
            model.composer.on_key(key);
            refresh_popup(model)
        }
    }
}

/// A model's command came into the input box too short a time ago to have been read.
fn just_offered(model: &UiModel) -> bool {
    let at = model.last_key.unwrap_or_default();
    // a clock may be set back
    model.suggestion_offered_at.is_some_and(|offered| (0..TYPING_MS).contains(&(at.0 - offered.0)))
}

/// `None`: the key is not the popup's.
fn in_popup(model: &mut UiModel, key: KeyEvent) -> Option<Vec<UiCommand>> {
    let popup = model.popup.as_mut()?;
    let count = popup.candidates.len();
    match key.code {
        KeyCode::Esc => model.popup = None,
        KeyCode::Up | KeyCode::Down => {
            let step = if key.code == KeyCode::Down { 1 } else { count - 1 };
            popup.selected = (popup.selected + step) % count;
            popup.moved_by_hand = true;
        }
        KeyCode::Tab => return Some(accept_input(model)),
        KeyCode::Enter if popup.moved_by_hand && key.modifiers.is_empty() => {
            // one that promises more to type
            let goes_on =
                popup.candidates.get(popup.selected).is_some_and(|candidate| candidate.line.ends_with(' '));
            let cmds = accept_input(model);
            if goes_on || model.composer.first_line().ends_with(' ') {
                return Some(cmds);
            }
            model.popup = None;
            return Some(submit::submit_input(model));
        }
        _ => return None,
    }
    Some(Vec::new())
}

fn accept_input(model: &mut UiModel) -> Vec<UiCommand> {
    let Some(candidate) = model.popup.take().and_then(|mut popup| {
        (popup.selected < popup.candidates.len()).then(|| popup.candidates.swap_remove(popup.selected))
    }) else {
        return Vec::new();
    };
    if candidate.word {
        model.composer.complete_word(&candidate.line);
        return Vec::new();
    }
    let typed = model.composer.before_cursor().map_or(0, |typed| typed.chars().count());
    model.composer.complete_prefix(typed, &candidate.line);
    refresh_popup(model)
}

/// Opens, narrows or closes the completion after the text changed.
fn refresh_popup(model: &mut UiModel) -> Vec<UiCommand> {
    let agents =
        model.watched_run().map(|run| run.agents.iter().map(|a| (a.name.clone(), a.model.clone())).collect());
    model.names.agents = agents.unwrap_or_default();
    model.names.commands = model.shell.recent_commands().map(str::to_owned).collect();
    if let Some(mut cmds) = mention::refresh_mentions(model) {
        if !cmds.is_empty() {
            cmds.push(history::run_names_command());
        }
        return cmds;
    }
    let before = model.composer.before_cursor().filter(|before| slash::is_command(before)).map(str::to_owned);
    let Some(before) = before else {
        model.popup = None;
        return Vec::new();
    };
    model.popup = complete_input(&before, &model.names);
    // A finished word needs no list of itself.
    let done = model
        .popup
        .as_ref()
        .is_some_and(|popup| popup.candidates.len() == 1 && popup.candidates[0].line.trim_end() == before);
    if done {
        model.popup = None;
    }
    // Names are asked for whenever an argument begins, so that files changed meanwhile are seen.
    if before.ends_with(' ') { names_for(&before) } else { Vec::new() }
}

fn names_for(before: &str) -> Vec<UiCommand> {
    let mut words = before.split_whitespace();
    let command = words.next().and_then(|word| slash::find_command(word.trim_start_matches('/')));
    match command.map(|command| command.argument).filter(|_| words.next().is_none()) {
        Some(
            SlashArgument::Workflow
            | SlashArgument::Role
            | SlashArgument::RoleGroup
            | SlashArgument::Definition,
        ) => {
            vec![UiCommand::ask(synthdev_service::session::DefinitionRequest::Names)]
        }
        Some(SlashArgument::Run) => vec![history::run_names_command()],
        _ => Vec::new(),
    }
}

/// Ctrl+C: cancels work in progress, else clears the text; the second one leaves.
fn on_interrupt(model: &mut UiModel, at: Timestamp) -> Vec<UiCommand> {
    if model.last_interrupt.is_some_and(|last| at.0 - last.0 <= TWICE_MS) {
        return leave_program(model);
    }
    if model.composer.close_search() {
        return Vec::new();
    }
    model.last_interrupt = Some(at);
    let writing = model.dialogs.front().is_some_and(QuestionDialog::is_written) && !model.composer.is_empty();
    // Leaving keeps a workflow's question open: only Esc means no, or later.
    let escape = model
        .dialogs
        .front()
        .filter(|dialog| dialog.run_id().and_then(|run| model.find_run(run)).is_some_and(|run| !run.chat))
        .map(QuestionDialog::escape_hint);
    let asked = !model.dialogs.is_empty();
    let cmds = match escape {
        _ if writing => Vec::new(),
        Some(_) => Vec::new(),
        None if asked => dialog_keys::dismiss_dialog(model),
        None => cancel_or_stop(model),
    };
    let taken = cmds.is_empty() && (writing || !asked) && !model.composer.is_empty();
    if taken {
        model.composer.clear_into_history();
    }
    model.hint = Some(match (taken, escape) {
        (true, _) => "kept in the history: Up brings it back · Ctrl+C again leaves".to_owned(),
        (false, Some(escape)) => format!("{escape} · Ctrl+C again leaves; /resume continues the run"),
        (false, None) if !asked && !cmds.is_empty() => "stopping … · Ctrl+C again leaves".to_owned(),
        (false, None) => "Ctrl+C again leaves".to_owned(),
    });
    cmds
}

/// Ctrl+C: closes the popup, else ends what runs.
fn cancel_or_stop(model: &mut UiModel) -> Vec<UiCommand> {
    let run = model.busy_run().filter(|run| !run.chat).map(|run| run.id.clone());
    let nearer =
        model.popup.is_some() || model.side_query.is_some() || model.workflow_awaiting_input.is_some();
    match run.filter(|_| !nearer && !model.is_workflow_stopped()) {
        Some(run) => interrupt::cancel_run(model, run),
        None => on_stop_key(model),
    }
}

/// Esc: closes the popup, else stops what runs: an answer ends, a workflow is interrupted and asks.
fn on_stop_key(model: &mut UiModel) -> Vec<UiCommand> {
    if model.popup.take().is_some() {
        return Vec::new();
    }
    if model.side_query.is_some() {
        return shell_commands::stop_suggestion(model);
    }
    // the question that was asked last is the one that Esc leaves
    if model.workflow_awaiting_input.take().is_some() {
        model.hint = Some("left the workflow: nothing was started".to_owned());
        return Vec::new();
    }
    if model.is_workflow_stopped() {
        return interrupt::confirm_cancel(model);
    }
    if let Some(run) = model.busy_run() {
        let (run, chat) = (run.id.clone(), run.chat);
        if !chat {
            return interrupt::interrupt_run(model, run);
        }
        model.hint = Some("stopping …".to_owned());
        if let Some(view) = model.run_mut(&run) {
            view.is_cancelling = true;
        }
        return vec![UiCommand::Send(run, RunCommand::Cancel)];
    }
    Vec::new()
}

/// The list of names arrived: show it if it is still wanted.
pub fn names_arrived(model: &mut UiModel) {
    if mention::refresh_mentions(model).is_some() {
        return;
    }
    if let Some(before) = model.composer.before_cursor() {
        model.popup = complete_input(before, &model.names);
    }
}
