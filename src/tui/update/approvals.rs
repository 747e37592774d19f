//! Everything that waits for the user, in every run of this session and its branches: one list in the order of the
//! requests.

use std::fmt::Write as _;

use super::{question_replies, withdrawn_dialog};
use crate::dialog::{EditableCall, QuestionDialog, allowed_calls_text};
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::run_view::RunView;
use crate::slash::steering::ApprovalAction;
use crate::text::one_line;
use crate::transcript::item::TranscriptItem;
use synthdev_domain::approval::{AllowRule, ApprovalDecision};
use synthdev_domain::ids::{CallId, RunId};
use synthdev_domain::tool::ToolRisk;
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
    for run in put_off_runs(model) {
        let _ = writeln!(text, " … {}", put_off_text(run));
    }
    if !model.allowed.is_empty() {
        let names: Vec<String> = model.allowed.iter().map(allowed_name).collect();
        let named = |rule: &AllowRule| {
            let kept = if model.written_rules.contains(rule) { " (in your settings, too)" } else { "" };
            format!("{}{kept}", allowed_name(rule))
        };
        let listed: Vec<String> = model.allowed.iter().map(named).collect();
        let _ = writeln!(text, "allowed for this session: {}", listed.join(", "));
        let _ = writeln!(text, "  /approvals revoke {} asks again; without a name, for all", names[0]);
    }
    if text.is_empty() { "nothing".to_owned() } else { text.trim_end().to_owned() }
}

/// Runs whose question the user has put off.
pub fn put_off_runs(model: &UiModel) -> impl Iterator<Item = &RunView> {
    model.runs.iter().filter(|run| run.is_paused && !run.chat && run.question_left_open)
}

/// Which run a put-off question is of, and the way back to it.
pub fn put_off_text(run: &RunView) -> String {
    let state = if run.state.is_empty() { String::new() } else { format!(" in {}", one_line(&run.state)) };
    format!("{} {} · its question{state} was put off: /resume {} asks it again", run.workflow, run.id, run.id)
}

pub(super) fn allowed_name(rule: &AllowRule) -> String {
    match rule {
        AllowRule::Tool(tool) => one_line(tool),
        AllowRule::Risk(ToolRisk::Read) => "approvals.read".to_owned(),
        AllowRule::Risk(ToolRisk::Write) => "approvals.write".to_owned(),
        AllowRule::Risk(ToolRisk::Execute) => "approvals.execute".to_owned(),
    }
}

/// `/approvals revoke [NAME]`: what the session allowed is asked about again, from the next call on. A rule that it has
/// written goes out of the settings, too: else another session would not ask.
pub fn revoke_allowed(model: &mut UiModel, name: &str) -> Vec<UiCommand> {
    let (gone, kept): (Vec<AllowRule>, Vec<AllowRule>) = std::mem::take(&mut model.allowed)
        .into_iter()
        .partition(|rule| name.is_empty() || allowed_name(rule) == one_line(name));
    model.allowed = kept.into_iter().collect();
    let names =
        |rules: &mut dyn Iterator<Item = &AllowRule>| rules.map(allowed_name).collect::<Vec<_>>().join(", ");
    let item = match (gone.is_empty(), model.allowed.is_empty()) {
        (true, true) => TranscriptItem::note_item("nothing is allowed for this session"),
        (true, false) => TranscriptItem::warning_item(&format!(
            "`{}` is not allowed for this session: {} is",
            one_line(name),
            names(&mut model.allowed.iter())
        )),
        (false, _) => TranscriptItem::note_item(&format!(
            "asked about again: {} · what a run was allowed for its rest stays, and rules of other sessions in your settings",
            names(&mut gone.iter())
        )),
    };
    model.add_item(item);
    let written = gone.into_iter().filter(|rule| model.written_rules.remove(rule));
    written.map(|rule| UiCommand::ask(ProjectRequest::RevokeAlways(rule))).collect()
}

/// The next question comes in front, or the one before, in the order in which they were asked.
pub fn walk_questions(model: &mut UiModel, forward: bool) {
    if model.dialogs.len() > 1 {
        let here = model.dialogs.front().map_or(0, |dialog| dialog.number);
        let numbers = || model.dialogs.iter().map(|dialog| dialog.number).enumerate();
        let next = if forward {
            let later = numbers().filter(|(_, number)| *number > here).min_by_key(|(_, number)| *number);
            later.or_else(|| numbers().min_by_key(|(_, number)| *number))
        } else {
            let earlier = numbers().filter(|(_, number)| *number < here).max_by_key(|(_, number)| *number);
            earlier.or_else(|| numbers().max_by_key(|(_, number)| *number))
        };
        model.dialogs.rotate_left(next.map_or(0, |(at, _)| at));
        show_current_question(model);
    } else if model.dialogs.is_empty() {
        let left = model.last_left_run.as_ref().and_then(|run| model.find_run(run));
        let left = left.filter(|view| view.question_left_open);
        model.hint = Some(left.map_or_else(
            || "nothing waits for you".to_owned(),
            |view| format!("a question was put off: /resume {} asks it again", view.id),
        ));
    }
}

/// A key that gives the conversation the keys leaves them with the question.
pub fn report_question_focus(model: &mut UiModel) {
    let has_overflow = model.dialogs.front().is_some_and(QuestionDialog::has_overflow);
    let scrolls = if has_overflow { "the wheel" } else { "PgUp or the wheel" };
    model.hint = Some(format!("the question has the keys: {scrolls} scrolls the conversation"));
}

fn show_current_question(model: &mut UiModel) {
    let several = model.has_several_live_runs();
    let run = model.dialogs.front().and_then(QuestionDialog::run_id).and_then(|id| model.find_run(id));
    let hint = run.filter(|_| several).map(|run| format!("asked by {} {}", run.workflow, run.id));
    if let Some(dialog) = model.dialogs.front_mut() {
        dialog.is_armed = false;
        dialog.unpick();
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
        ApprovalAction::Deny => return question_replies::dismiss_dialog(model),
        _ if model.dialogs.front_mut().is_some_and(QuestionDialog::scroll_before_yes) => {
            model.add_item(TranscriptItem::warning_item(
                "it is in front now: read it to its end, then allow it",
            ));
            return Vec::new();
        }
        ApprovalAction::Allow => ApprovalDecision::Allow,
        ApprovalAction::Run => ApprovalDecision::AllowTool,
        ApprovalAction::Session => return allow_for_session(model),
        ApprovalAction::Always => {
            return front_rule(model).map_or_else(Vec::new, |rule| allow_always(model, rule));
        }
    };
    question_replies::decide_tool_call(model, allowed)
}

/// Also every later call of this tool, in any run, until the user leaves.
pub fn allow_for_session(model: &mut UiModel) -> Vec<UiCommand> {
    let Some(rule) = front_rule(model) else { return Vec::new() };
    let told =
        format!("{} is allowed for this session; /approvals revoke takes it back", allowed_calls_text(&rule));
    allow_by_rule(model, rule, &told)
}

/// What a rule covers, in every run, from now on: it is written into the settings.
pub fn allow_always(model: &mut UiModel, rule: AllowRule) -> Vec<UiCommand> {
    let told = format!(
        "{} is allowed, and `{rule}` goes into your settings; /approvals revoke takes both back",
        allowed_calls_text(&rule)
    );
    let mut cmds = allow_by_rule(model, rule.clone(), &told);
    model.written_rules.insert(rule.clone());
    cmds.push(UiCommand::ask(ProjectRequest::AllowAlways(StandingPermission::Rule(rule))));
    cmds
}

fn front_rule(model: &UiModel) -> Option<AllowRule> {
    let dialog = model.dialogs.front().filter(|dialog| dialog.is_approval() && !dialog.is_step())?;
    Some(dialog.offered_rule())
}

fn allow_by_rule(model: &mut UiModel, rule: AllowRule, told: &str) -> Vec<UiCommand> {
    model.add_item(TranscriptItem::note_item(told));
    // one by one: the run itself is told of no rule, so that the user can take this one back
    let mut cmds = question_replies::decide_tool_call(model, ApprovalDecision::Allow);
    cmds.extend(settle_allowed_calls(model, &rule));
    model.allowed.insert(rule);
    cmds
}

/// Whether a rule of this session allows the call that a question is about.
fn is_covered(dialog: &QuestionDialog, rule: &AllowRule) -> bool {
    !dialog.is_step()
        && !dialog.is_guidance_change
        && dialog.risk.is_some_and(|risk| rule.covers(&dialog.tool, risk))
}

/// What else asks for a call that is allowed now.
fn settle_allowed_calls(model: &mut UiModel, rule: &AllowRule) -> Vec<UiCommand> {
    // a call that the user has changed, or is writing about, is answered by the user
    let is_touched = |dialog: &QuestionDialog| {
        let changed = dialog.edited_call.as_ref().and_then(EditableCall::changed_arguments);
        dialog.draft.is_some() || changed.is_some()
    };
    let is_settled =
        |dialog: &QuestionDialog| dialog.is_approval() && is_covered(dialog, rule) && !is_touched(dialog);
    let calls = model.dialogs.iter().filter(|dialog| is_settled(dialog));
    let allow = |(run, call): (&RunId, CallId)| {
        UiCommand::Send(run.clone(), RunCommand::Approve { call, decision: ApprovalDecision::Allow })
    };
    let cmds = calls.filter_map(QuestionDialog::call_to_approve).map(allow).collect();
    withdrawn_dialog::remove_dialogs(model, is_settled);
    cmds
}

/// A tool that the user allowed for the session needs no question.
pub fn queue_question(model: &mut UiModel, dialog: QuestionDialog) -> Vec<UiCommand> {
    let known = model.allowed.iter().any(|rule| is_covered(&dialog, rule));
    if let Some((run, call)) = dialog.call_to_approve().filter(|_| known) {
        return vec![UiCommand::Send(
            run.clone(),
            RunCommand::Approve { call, decision: ApprovalDecision::Allow },
        )];
    }
    notify_waiting(model, dialog.run_id().cloned().as_ref(), &dialog.title);
    model.push_question(dialog);
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
