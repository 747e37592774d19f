//! What is sent when a question is answered; the question is off the screen then.

use super::index;
use crate::dialog::{DialogKind, EditableCall};
use crate::model::UiModel;
use crate::msg::UiCommand;
use synthdev_domain::approval::ApprovalDecision;
use synthdev_domain::ids::{CallId, RunId};
use synthdev_service::run_steering::{NetworkAnswer, RunCommand, UserAnswer};
use synthdev_service::session::{ProjectRequest, StandingPermission};

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

/// Answers the question on screen and takes it off.
pub fn reply_to_dialog(model: &mut UiModel, answer: UserAnswer) -> Vec<UiCommand> {
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
        // the question of another branch may have been left open before
        view.question_left_open |= answer == UserAnswer::Stop;
        view.open_pauses.note_answer(call, &answer, view.chat);
    }
    vec![UiCommand::Send(run, RunCommand::Answer { call, answer })]
}

/// Whether the command of the question on screen has the network.
pub fn answer_network(model: &mut UiModel, answer: NetworkAnswer) -> Vec<UiCommand> {
    match model.dialogs.pop_front().map(|dialog| dialog.kind) {
        Some(DialogKind::Network { run, call }) => {
            vec![UiCommand::Send(run, RunCommand::AllowNetwork { call, answer })]
        }
        _ => Vec::new(),
    }
}

/// For this run, and from the settings for every later one.
pub fn network_always(model: &mut UiModel) -> Vec<UiCommand> {
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

/// Takes the question off and answers it; a call that the user has changed is allowed as it is now.
pub fn answer_yes_or_no(model: &mut UiModel, yes: bool, decision: ApprovalDecision) -> Vec<UiCommand> {
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
            let was_left = model.find_run(&run).is_some_and(|view| view.question_left_open);
            let cmds = send_answer(
                model,
                run.clone(),
                call,
                if yes { UserAnswer::Continue } else { UserAnswer::Stop },
            );
            if let Some(view) = model.run_mut(&run) {
                view.question_left_open = was_left || !yes && parks;
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
