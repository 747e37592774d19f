//! Everything that waits for the person, in every run and branch: one list in the order in which it was asked.

use std::fmt::Write as _;

use super::answers;
use crate::domain::approval::Decision;
use crate::domain::ids::{RunId, Timestamp};
use crate::runtime::command::Command;
use crate::tui::backend::StandingPermission;
use crate::tui::dialog::Dialog;
use crate::tui::model::Model;
use crate::tui::msg::Cmd;
use crate::tui::slash::steering::Verdict;
use crate::tui::text::{duration, one_line};
use crate::tui::transcript::item::Item;

/// Numbered as `/approvals N` counts, the one on screen first.
pub fn list(model: &Model) -> String {
    let mut text = String::new();
    for (at, dialog) in model.dialogs.iter().enumerate() {
        let run = dialog.run().and_then(|id| model.run(id));
        let whose = run.map(|run| format!("{} {} · ", run.workflow, run.id)).unwrap_or_default();
        let state = if dialog.state.is_empty() {
            String::new()
        } else {
            format!("in {} · ", one_line(&dialog.state))
        };
        let left = dialog.until.map(|until| format!(" · {}", left(until, model.now))).unwrap_or_default();
        let _ = writeln!(text, "{:>2} {whose}{state}{}{left}", at + 1, one_line(&dialog.title));
    }
    for run in model.runs.iter().filter(|run| !run.over) {
        for stand in &run.stands {
            let _ = writeln!(
                text,
                " ‖ {} {} · stands {} (/step, /continue)",
                run.workflow,
                run.id,
                stand.place()
            );
        }
    }
    if !model.allowed.is_empty() {
        let names: Vec<&str> = model.allowed.iter().map(String::as_str).collect();
        let _ = writeln!(text, "allowed until you leave: {}", names.join(", "));
    }
    if text.is_empty() { "nothing".to_owned() } else { text.trim_end().to_owned() }
}

/// `answers itself in 42 s`
fn left(until: Timestamp, now: Timestamp) -> String {
    let seconds = u64::try_from(until.0.saturating_sub(now.0)).unwrap_or(0) / 1_000;
    format!("answers itself in {}", duration(seconds * 1_000).replace(".0 s", " s"))
}

/// The next question comes in front; the others keep their order.
pub fn next(model: &mut Model) {
    if model.dialogs.len() > 1 {
        model.dialogs.rotate_left(1);
        shown(model);
    } else if model.dialogs.is_empty() {
        model.hint = Some("nothing waits for you".to_owned());
    }
}

fn shown(model: &mut Model) {
    let several = model.several();
    let run = model.dialogs.front().and_then(Dialog::run).and_then(|id| model.run(id));
    let hint = run.filter(|_| several).map(|run| format!("asked by {} {}", run.workflow, run.id));
    if let Some(dialog) = model.dialogs.front_mut() {
        dialog.armed = false;
    }
    model.hint = hint.or(model.hint.take());
}

/// `/approvals N …`
pub fn decide(model: &mut Model, number: usize, verdict: Verdict) -> Vec<Cmd> {
    if number > model.dialogs.len() {
        model.say(Item::warning(&format!("question {number} is not open: /approvals lists them")));
        return Vec::new();
    }
    model.dialogs.rotate_left(number - 1);
    shown(model);
    let (approval, step) = model.dialogs.front().map_or((false, false), |d| (d.is_approval(), d.is_step()));
    let allowed = match verdict {
        Verdict::Show => return Vec::new(),
        _ if !approval => {
            model.say(Item::warning("that is no approval: answer it as it asks"));
            return Vec::new();
        }
        Verdict::Session | Verdict::Always if step => {
            model.say(Item::warning("a step of the workflow is allowed once, or for the run: allow or run"));
            return Vec::new();
        }
        Verdict::Deny => return answers::refuse(model),
        _ if model.dialogs.front_mut().is_some_and(Dialog::shows_more_first) => {
            model.say(Item::warning("it is in front now: read it to its end, then allow it"));
            return Vec::new();
        }
        Verdict::Allow => Decision::Allow,
        Verdict::Run => Decision::AllowTool,
        Verdict::Session => return session(model),
        Verdict::Always => return always(model),
    };
    answers::allow(model, allowed)
}

/// Also every later call of this tool, in whatever run, until the person leaves.
pub fn session(model: &mut Model) -> Vec<Cmd> {
    let Some(tool) = front_tool(model) else { return Vec::new() };
    model.say(Item::note(&format!("{} is allowed until you leave", one_line(&tool))));
    model.allowed.insert(tool.clone());
    let mut cmds = answers::allow(model, Decision::AllowTool);
    cmds.extend(settle(model, &tool));
    cmds
}

/// The same, and it is written into the settings.
pub fn always(model: &mut Model) -> Vec<Cmd> {
    let Some(tool) = front_tool(model) else { return Vec::new() };
    let mut cmds = session(model);
    cmds.push(Cmd::AllowAlways(StandingPermission::Tool(tool)));
    cmds
}

fn front_tool(model: &Model) -> Option<String> {
    model
        .dialogs
        .front()
        .filter(|dialog| dialog.is_approval() && !dialog.is_step())
        .map(|dialog| dialog.tool.clone())
}

/// What else asks for a tool that is allowed now.
fn settle(model: &mut Model, tool: &str) -> Vec<Cmd> {
    let mut cmds = Vec::new();
    model.dialogs.retain(|dialog| match dialog.approves() {
        Some((run, call)) if dialog.tool == tool && !dialog.is_step() => {
            cmds.push(Cmd::Send(run.clone(), Command::Approve { call, decision: Decision::AllowTool }));
            false
        }
        _ => true,
    });
    cmds
}

/// A tool that the person allowed for the session is not asked about.
pub fn asked(model: &mut Model, dialog: Dialog) -> Vec<Cmd> {
    let known = !dialog.is_step() && model.allowed.contains(&dialog.tool);
    if let Some((run, call)) = dialog.approves().filter(|_| known) {
        return vec![Cmd::Send(run.clone(), Command::Approve { call, decision: Decision::AllowTool })];
    }
    notify(model, dialog.run().cloned().as_ref(), &dialog.title);
    model.dialogs.push_back(dialog);
    Vec::new()
}

/// Something waits in a run that is not in front.
pub fn notify(model: &mut Model, run: Option<&RunId>, what: &str) {
    let other = run.filter(|run| model.workflow.as_ref().is_some_and(|front| front != *run));
    if let Some(run) = other.and_then(|id| model.run(id)).filter(|run| !run.chat) {
        model.hint =
            Some(format!("{} {} waits: {} · /watch {}", run.workflow, run.id, one_line(what), run.id));
    }
}
