//! Esc in a workflow: stops the models in the middle of an answer, and the user decides how it continues.

use super::withdrawn_dialog::remove_dialogs;
use crate::dialog::{DialogKind, QuestionDialog};
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::run_view::StoppedAt;
use synthdev_domain::ids::{CallId, RunId};
use synthdev_service::run_steering::{Breakpoint, RunCommand, SteeringAction, UserAnswer};

/// Esc while a workflow works.
pub(super) fn interrupt_run(model: &mut UiModel, run: RunId) -> Vec<UiCommand> {
    model.hint = Some("interrupting … · Ctrl+C ends it".to_owned());
    if model.find_run(&run).is_some_and(|view| view.is_interrupting) {
        // it was asked already, and what it does cannot be stopped: a tool, a script
        model.hint = Some(
            "the run stops when its current step finishes · Ctrl+C or /stop cancels \
            it"
            .to_owned(),
        );
        return Vec::new();
    }
    if let Some(view) = model.run_mut(&run) {
        view.is_interrupting = true;
    }
    vec![UiCommand::Send(run, RunCommand::Interrupt)]
}

/// Ctrl+C while a workflow works.
pub(super) fn cancel_run(model: &mut UiModel, run: RunId) -> Vec<UiCommand> {
    model.hint = Some("stopping …".to_owned());
    if let Some(view) = model.run_mut(&run) {
        view.is_cancelling = true;
    }
    vec![UiCommand::Send(run, RunCommand::Cancel)]
}

/// Esc in a run that is already stopped: asks whether to end it.
pub(super) fn confirm_cancel(model: &mut UiModel) -> Vec<UiCommand> {
    let Some(front) = model.workflow.as_ref().and_then(|id| model.find_run(id)) else { return Vec::new() };
    let has_changed = front.snapshot_facts.may_have_changed_files(true);
    let files = if has_changed { "/undo restores the files" } else { "no file was changed" };
    // an agent that was not interrupted reads no guidance
    let guidance = if front.is_interrupted() { "type new guidance, or " } else { "" };
    let body = format!(
        "The run is stopped. No keeps it so: {guidance}use /continue, /step or /set.\nYes cancels the \
         run; its history stays, and {files}."
    );
    let (title, cmd) =
        (format!("End {}?", front.workflow), UiCommand::Send(front.id.clone(), RunCommand::Cancel));
    model.push_question(QuestionDialog::for_confirmation(&title, &body, cmd));
    Vec::new()
}

/// It goes on, or is over: the question has no sense any more.
pub(super) fn close_stale_confirmation(model: &mut UiModel) {
    if model.dialogs.is_empty() || model.is_workflow_stopped() {
        return;
    }
    remove_dialogs(model, |dialog| {
        matches!(dialog.kind, DialogKind::Confirm(UiCommand::Send(_, RunCommand::Cancel)))
    });
}

/// A message while models are interrupted: it answers each of them, and they read it when they are called again.
/// `None`: no model is interrupted, or each has an answer already.
pub(super) fn send_guidance(model: &mut UiModel, run: &RunId, text: &str) -> Option<Vec<UiCommand>> {
    let view = model.run_mut(run)?;
    let now = |stand: &mut StoppedAt| stand.breakpoint == Some(Breakpoint::Now);
    // one answer each: what is typed next is another text
    let calls: Vec<CallId> = view.stopped_at.extract_if(.., now).map(|stand| stand.call).collect();
    let told = |call: CallId| {
        UiCommand::Send(
            run.clone(),
            RunCommand::Answer { call, answer: UserAnswer::Text { text: text.to_owned() } },
        )
    };
    let mut cmds: Vec<UiCommand> = calls.into_iter().map(told).collect();
    if cmds.is_empty() {
        return None;
    }
    if !view.stopped_at.is_empty() {
        cmds.push(UiCommand::Send(run.clone(), RunCommand::Steer(SteeringAction::Continue)));
    }
    if view.is_pause_requested {
        // with the answer, the run forgets what was asked before the interrupt
        cmds.push(UiCommand::Send(run.clone(), RunCommand::Steer(SteeringAction::Pause)));
    }
    Some(cmds)
}
