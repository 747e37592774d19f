//! Keys that act on the whole session: Ctrl+C, those that leave, the one that opens the history, and Esc where nothing
//! nearer takes it.

use ratatui::crossterm::event::KeyEvent;

use super::key_press::KeyPress;
use super::leaving::leave_program;
use super::{history_browser, interrupt, question_keys, question_replies, shell_commands, unread_input};
use crate::keymap::chord::KeyChord;
use crate::keymap::{KeyAction, KeyFocusState};
use crate::model::UiModel;
use crate::msg::UiCommand;
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_service::run_steering::RunCommand;

/// Two interrupts within this time leave the program.
const TWICE_MS: i64 = 3_000;
/// The notice while what runs ends.
const STOPPING: &str = "stopping";

/// `None`: it is for the layers below.
pub fn on_key(model: &mut UiModel, press: KeyPress) -> Option<Vec<UiCommand>> {
    if press.is_control('c') {
        return Some(on_interrupt(model, press.at));
    }
    if is_leave_key(model, press.key) {
        return Some(leave_program(model));
    }
    if question_keys::hold_late_key(model, press) {
        return Some(Vec::new());
    }
    model.last_interrupt = None;
    (model.key_action(press.key) == Some(KeyAction::History)).then(|| history_browser::open_browser(model))
}

/// Whether the key leaves the program: a question must not prevent this; it stays open.
fn is_leave_key(model: &UiModel, key: KeyEvent) -> bool {
    let free = KeyFocusState { empty: model.composer.is_empty(), ..KeyFocusState::default() };
    let writes = model.dialogs.front().is_none_or(|dialog| dialog.draft.is_some());
    !writes && model.keymap.action(KeyChord::from_event(key), free) == Some(KeyAction::Leave)
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
    // a text that is typed beside a question goes first, whatever is asked
    let writing =
        !model.composer.is_empty() && model.dialogs.front().is_some_and(|dialog| dialog.draft.is_none());
    // Leaving keeps a workflow's question open: only Esc means no, or later.
    let escape = model
        .dialogs
        .front()
        .filter(|dialog| dialog.run_id().and_then(|run| model.find_run(run)).is_some_and(|run| !run.chat))
        .map(|dialog| dialog.escape_hint().replacen("Esc", model.escape_word(), 1));
    let asked = !model.dialogs.is_empty();
    let stopped = model.busy_run().map(|run| run.id.clone());
    let cmds = match escape {
        _ if writing => Vec::new(),
        Some(_) => Vec::new(),
        None if asked => question_replies::dismiss_dialog(model),
        None => cancel_or_stop(model),
    };
    model.stopping_run = stopped.filter(|_| !asked && !cmds.is_empty());
    let taken = cmds.is_empty() && (writing || !asked) && !model.composer.is_empty();
    if taken {
        model.composer.clear_into_history();
    }
    model.hint = Some(match (taken, escape) {
        (true, _) if model.line_mode => "the text was dropped · Ctrl+C again leaves".to_owned(),
        (true, _) => "kept in the history: Up brings it back · Ctrl+C again leaves".to_owned(),
        // a demo's project is gone when it is left
        (false, Some(escape)) if model.is_demo => format!("{escape} · Ctrl+C again leaves"),
        (false, Some(escape)) => format!("{escape} · Ctrl+C again leaves; /resume continues the run"),
        (false, None) if !asked && !cmds.is_empty() => format!("{STOPPING} … · Ctrl+C again leaves"),
        (false, None) => "Ctrl+C again leaves".to_owned(),
    });
    cmds
}

/// What Ctrl+C has stopped is over: the next Ctrl+C is none that was pressed for it.
pub fn note_stopped_run(model: &mut UiModel) {
    let is_over = |run: &RunId| model.find_run(run).is_none_or(|run| !run.is_busy());
    if !model.stopping_run.as_ref().is_some_and(is_over) {
        return;
    }
    (model.stopping_run, model.last_interrupt) = (None, None);
    // the end of a run takes its "stopping …" away; a hint about something else stays
    if !model.is_leaving && model.hint.as_ref().is_none_or(|hint| hint.starts_with(STOPPING)) {
        model.hint = Some("stopped · Ctrl+C twice leaves".to_owned());
    }
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
pub fn on_stop_key(model: &mut UiModel) -> Vec<UiCommand> {
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
        let waiting = model.run_mut(&run).map(|view| {
            view.is_cancelling = true;
            std::mem::take(&mut view.outbox)
        });
        // the next of these messages would be sent at once
        model.queued.extend(waiting.into_iter().flatten());
        unread_input::return_to_input(model);
        return vec![UiCommand::Send(run, RunCommand::Cancel)];
    }
    Vec::new()
}
