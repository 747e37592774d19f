//! Everything that waits for the user, in every run and branch: one list in the order of the requests.

use std::fmt::Write as _;

use super::dialog_keys;
use crate::dialog::QuestionDialog;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::slash::steering::ApprovalAction;
use crate::text::one_line;
use crate::transcript::item::TranscriptItem;
use synthdev_domain::approval::ApprovalDecision;
use synthdev_domain::ids::RunId;
use synthdev_service::run_steering::RunCommand;
use synthdev_service::session::{ProjectRequest, StandingPermission};

/// Numbered as `/approvals N` counts, the one on screen first.
pub fn approvals_text(model: &UiModel) -> String {
    let mut text = String::new();
    for (at, dialog) in model.dialogs.iter().enumerate() {
        let run = dialog.run_id().and_then(|id| model.find_run(id));
        let whose = run.map(|run| format!("{} {} · ", run.workflow, run.id)).unwrap_or_default();
        let state = if dialog.state.is_empty() {
            String::new()
        } else {
            format!("in {} · ", one_line(&dialog.state))
        };
        let left = dialog.deadline_text(model.now).map(|text| format!(" · {text}")).unwrap_or_default();
        let _ = writeln!(text, "{:>2} {whose}{state}{}{left}", at + 1, one_line(&dialog.title));
    }
    for run in model.runs.iter().filter(|run| !run.is_over) {
        for stand in &run.stopped_at {
            let _ = writeln!(
                text,
                " ‖ {} {} · stopped {} (/step, /continue)",
                run.workflow,
                run.id,
                stand.stop_location()
            );
        }
    }
    if !model.allowed.is_empty() {
        let names: Vec<&str> = model.allowed.iter().map(String::as_str).collect();
        let _ = writeln!(text, "allowed until you leave: {}", names.join(", "));
    }
    if text.is_empty() { "nothing".to_owned() } else { text.trim_end().to_owned() }
}

/// The next question comes in front; the others keep their order.
pub fn show_next_question(model: &mut UiModel) {
    if model.dialogs.len() > 1 {
        model.dialogs.rotate_left(1);
        show_current_question(model);
    } else if model.dialogs.is_empty() {
        model.hint = Some("nothing waits for you".to_owned());
    }
}

fn show_current_question(model: &mut UiModel) {
    let several = model.has_several_live_runs();
    let run = model.dialogs.front().and_then(QuestionDialog::run_id).and_then(|id| model.find_run(id));
    let hint = run.filter(|_| several).map(|run| format!("asked by {} {}", run.workflow, run.id));
    if let Some(dialog) = model.dialogs.front_mut() {
        dialog.is_armed = false;
    }
    model.hint = hint.or(model.hint.take());
}

/// `/approvals N …`
pub fn decide_approval(model: &mut UiModel, number: usize, verdict: ApprovalAction) -> Vec<UiCommand> {
    if number > model.dialogs.len() {
        model.add_item(TranscriptItem::warning_item(&format!(
            "question {number} is not open: /approvals lists them"
        )));
        return Vec::new();
    }
    model.dialogs.rotate_left(number - 1);
    show_current_question(model);
    let (approval, step) = model.dialogs.front().map_or((false, false), |d| (d.is_approval(), d.is_step()));
    let allowed = match verdict {
        ApprovalAction::Show => return Vec::new(),
        _ if !approval => {
            model.add_item(TranscriptItem::warning_item("that is no approval: answer it as it asks"));
            return Vec::new();
        }
        ApprovalAction::Session | ApprovalAction::Always if step => {
            model.add_item(TranscriptItem::warning_item(
                "a step of the workflow is allowed once, or for the run: allow or run",
            ));
            return Vec::new();
        }
        ApprovalAction::Deny => return dialog_keys::dismiss_dialog(model),
        _ if model.dialogs.front_mut().is_some_and(QuestionDialog::scroll_before_yes) => {
            model.add_item(TranscriptItem::warning_item(
                "it is in front now: read it to its end, then allow it",
            ));
            return Vec::new();
        }
        ApprovalAction::Allow => ApprovalDecision::Allow,
        ApprovalAction::Run => ApprovalDecision::AllowTool,
        ApprovalAction::Session => return allow_for_session(model),
        ApprovalAction::Always => return allow_always(model),
    };
    dialog_keys::decide_tool_call(model, allowed)
}

/// Also every later call of this tool, in any run, until the user leaves.
pub fn allow_for_session(model: &mut UiModel) -> Vec<UiCommand> {
    let Some(tool) = front_tool(model) else { return Vec::new() };
    model.add_item(TranscriptItem::note_item(&format!("{} is allowed until you leave", one_line(&tool))));
    model.allowed.insert(tool.clone());
    let mut cmds = dialog_keys::decide_tool_call(model, ApprovalDecision::AllowTool);
    cmds.extend(settle_allowed_tool(model, &tool));
    cmds
}

/// The same, and it is written into the settings.
pub fn allow_always(model: &mut UiModel) -> Vec<UiCommand> {
    let Some(tool) = front_tool(model) else { return Vec::new() };
    let mut cmds = allow_for_session(model);
    cmds.push(UiCommand::ask(ProjectRequest::AllowAlways(StandingPermission::Tool(tool))));
    cmds
}

fn front_tool(model: &UiModel) -> Option<String> {
    model
        .dialogs
        .front()
        .filter(|dialog| dialog.is_approval() && !dialog.is_step())
        .map(|dialog| dialog.tool.clone())
}

/// What else asks for a tool that is allowed now.
fn settle_allowed_tool(model: &mut UiModel, tool: &str) -> Vec<UiCommand> {
    let mut cmds = Vec::new();
    model.dialogs.retain(|dialog| match dialog.call_to_approve() {
        Some((run, call)) if dialog.tool == tool && !dialog.is_step() => {
            cmds.push(UiCommand::Send(
                run.clone(),
                RunCommand::Approve { call, decision: ApprovalDecision::AllowTool },
            ));
            false
        }
        _ => true,
    });
    cmds
}

/// A tool that the user allowed for the session needs no question.
pub fn queue_question(model: &mut UiModel, dialog: QuestionDialog) -> Vec<UiCommand> {
    let known = !dialog.is_step() && model.allowed.contains(&dialog.tool);
    if let Some((run, call)) = dialog.call_to_approve().filter(|_| known) {
        return vec![UiCommand::Send(
            run.clone(),
            RunCommand::Approve { call, decision: ApprovalDecision::AllowTool },
        )];
    }
    notify_waiting(model, dialog.run_id().cloned().as_ref(), &dialog.title);
    model.dialogs.push_back(dialog);
    Vec::new()
}

/// Something waits in a run that is not in front.
pub fn notify_waiting(model: &mut UiModel, run: Option<&RunId>, what: &str) {
    let other = run.filter(|run| model.workflow.as_ref().is_some_and(|front| front != *run));
    if let Some(run) = other.and_then(|id| model.find_run(id)).filter(|run| !run.chat) {
        model.hint =
            Some(format!("{} {} waits: {} · /watch {}", run.workflow, run.id, one_line(what), run.id));
    }
}
