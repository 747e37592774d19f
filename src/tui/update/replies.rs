//! Answers of the outside to what the screen asked.

use super::{
    archive, asides, busy, editor, history, index, keys, mention, setup, shell, steering, submit, typing,
    verbosity,
};
use crate::domain::ids::RunId;
use crate::tui::backend::{
    Preparation, Recalled, Reload, RoleLine, SnapshotCommand, StatusFacts, WorkflowLine,
};
use crate::tui::complete::Names;
use crate::tui::dialog::Dialog;
use crate::tui::model::Model;
use crate::tui::msg::{Beginning, Cmd, Purpose, Reply};
use crate::tui::report;
use crate::tui::run_view::RunView;
use crate::tui::slash::closest;
use crate::tui::theme::Theme;
use crate::tui::transcript::item::{Block, Body, Item, Tone};

pub fn reply(model: &mut Model, reply: Reply) -> Vec<Cmd> {
    match reply {
        Reply::WorkflowStarted { name, input, run, note } => {
            if let (Ok(run), Some(note)) = (&run, note) {
                works_elsewhere(model, run, &name, note);
            }
            workflow_started(model, &name, &input, run);
        }
        Reply::Beginning(beginning) => begins(model, beginning),
        Reply::ChatStarted { role, run } => return chat_started(model, &role, run),
        Reply::Names { workflows, roles } => names(model, workflows, &roles),
        Reply::Workflows(list) => say_report(model, "Workflows", &report::workflows(&list)),
        Reply::Roles { group, roles } => list_roles(model, &group, &roles),
        Reply::Role { wanted, roles } => return choose_role(model, &wanted, &roles),
        Reply::WorkflowChosen { wanted, workflows } => return choose_workflow(model, wanted, &workflows),
        Reply::Tools { role, tools } => {
            say_report(model, &format!("Tools of {role}"), &report::tools(&tools));
        }
        Reply::Prices(prices) => {
            let text = report::cost(&model.ledger(), (&model.runs, &model.paid_beside), &prices);
            say_report(model, "Cost", &text);
        }
        Reply::Controlled(control, told) => steering::controlled(model, control, told),
        Reply::Reviewed(text) => reviewed(model, text),
        Reply::Snapshot { command, purpose, text } => snapshot(model, command, purpose, text),
        Reply::Trusted { yes, result } => return trusted(model, yes, result),
        Reply::Files(files) => mention::files(model, files),
        Reply::Defined { run, found } => {
            if let Some(view) = model.run_mut(&run) {
                view.watch.define(found.map(|found| *found));
            }
        }
        Reply::Themed(found) => themed(model, found),
        Reply::Verbosity(level, log) => verbosity::told(model, level, &log),
        Reply::AllowedAlways(saved) => allowed_always(model, saved),
        Reply::Status(facts) => status(model, facts),
        Reply::Recalled(found) => recalled(model, found),
        Reply::NotKept(reason) => drop(model.say(Item::warning(&reason))),
        Reply::Index(number, told, at) => return index::told(model, number, told, at),
        Reply::Setup(number, told) => return setup::told(model, number, told),
        Reply::Archive(number, told) => return archive::told(model, number, *told),
        Reply::Edit(number, told) => return editor::told(model, number, told),
        Reply::Edited(typing::ELSEWHERE, result) => typing::written_elsewhere(model, result),
        Reply::Edited(number, result) => return editor::edited(model, number, result),
        Reply::Reloaded { found, then } => reloaded(model, found, then),
        past @ (Reply::Runs { .. }
        | Reply::Found { .. }
        | Reply::Glance(_)
        | Reply::Past { .. }
        | Reply::Earlier { .. }
        | Reply::Resumed { .. }
        | Reply::Steps(_)
        | Reply::Planned(_)
        | Reply::Travelled(_)) => return history::reply(model, past),
        aside => asides::reply(model, aside),
    }
    Vec::new()
}

fn list_roles(model: &mut Model, group: &str, roles: &[RoleLine]) {
    let item = match report::roles(roles, group, &model.facts.role) {
        Ok(text) => Item::report("Roles", &text),
        Err(reason) => Item::line(Tone::Bad, &reason),
    };
    model.say(item);
}

/// What was typed in earlier sessions is there; without it the history is that of this one.
fn recalled(model: &mut Model, found: Result<Recalled, String>) {
    let (texts, note) = match found {
        Ok(found) => (found.texts, found.note),
        Err(reason) => (Vec::new(), Some(reason)),
    };
    shell::recalled(model, &texts);
    model.composer.recalled(texts);
    if let Some(note) = note {
        model.say(Item::warning(&format!("history of the input: {note}")));
    }
}

fn reviewed(model: &mut Model, text: Result<String, String>) {
    match text {
        Ok(text) => say_report(model, "Last request", &text),
        Err(reason) => say_error(model, "There is no request", &reason),
    }
}

fn works_elsewhere(model: &mut Model, run: &RunId, name: &str, note: String) {
    if let Some(view) = model.run_mut(run) {
        view.elsewhere = Some(note);
    } else {
        let mut view = RunView::new(run.clone(), name, false);
        view.elsewhere = Some(note);
        model.runs.push(view);
    }
}

fn say_report(model: &mut Model, title: &str, text: &str) {
    model.answer(title, text);
}

fn say_error(model: &mut Model, title: &str, text: &str) {
    model.say(Item::error(title, text));
}

fn begins(model: &mut Model, beginning: Beginning) {
    if beginning.waits_for == Preparation::Files {
        model.say(Item::note(&format!("copying the files for {} into a worktree …", beginning.name)));
    }
    model.beginning = Some(beginning);
}

fn workflow_started(model: &mut Model, name: &str, input: &str, run: Result<RunId, String>) {
    model.beginning = None;
    match run {
        Ok(id) => {
            if model.run(&id).is_none() {
                model.runs.push(RunView::new(id.clone(), name, false));
            }
            if model.run(&id).is_some_and(|view| !view.over) {
                model.workflow = Some(id);
            }
        }
        Err(reason) => {
            say_error(model, &format!("workflow {name} was not started"), &reason);
            if !input.is_empty() {
                model.composer.remember(&format!("/workflow {name} {input}"));
            }
        }
    }
}

fn chat_started(model: &mut Model, role: &str, run: Result<RunId, String>) -> Vec<Cmd> {
    model.beginning = None;
    match run {
        Ok(id) => {
            if model.run(&id).is_none() {
                model.runs.push(RunView::new(id.clone(), role, true));
            }
            let texts = std::mem::take(&mut model.queued);
            if let Some(view) = model.run_mut(&id) {
                view.outbox.extend(texts);
            }
            model.chat = Some(id);
            // Its first question may have come before this answer.
            submit::deliver(model)
        }
        Err(reason) => {
            say_error(model, &format!("no conversation with {role}"), &reason);
            // It would fail again: it must not stand in the way of the next command.
            model.queued.clear();
            model.hint = Some("what you typed is in the history: Up".to_owned());
            Vec::new()
        }
    }
}

fn names(model: &mut Model, workflows: Vec<WorkflowLine>, roles: &[RoleLine]) {
    let mut groups: Vec<String> =
        roles.iter().map(|role| role.group.clone()).filter(|g| !g.is_empty()).collect();
    groups.sort();
    groups.dedup();
    model.names = Names {
        workflows: workflows
            .into_iter()
            .map(|line| (line.name, line.broken.unwrap_or(line.description)))
            .collect(),
        roles: roles.iter().map(|role| (report::role_name(role), role.description.clone())).collect(),
        groups,
        ..std::mem::take(&mut model.names)
    };
    keys::names_arrived(model);
}

fn choose_role(model: &mut Model, wanted: &str, roles: &[RoleLine]) -> Vec<Cmd> {
    let found = roles.iter().find(|role| report::role_name(role) == wanted || role.name == wanted);
    let Some(role) = found else {
        let names: Vec<String> = roles.iter().map(report::role_name).collect();
        let tail = closest(wanted, names.iter().map(String::as_str))
            .map_or_else(|| "/roles all lists them".to_owned(), |name| format!("did you mean {name}?"));
        model.say(Item::line(Tone::Bad, &format!("no role {wanted} — {tail}")));
        return Vec::new();
    };
    model.facts.role = report::role_name(role);
    model.facts.model.clone_from(&role.model);
    model.facts.tools_available = role.tools;
    let text = report::facts(&model.facts);
    model.say(Item::note(&text));
    busy::end_chat(model)
}

fn choose_workflow(model: &mut Model, wanted: String, list: &[WorkflowLine]) -> Vec<Cmd> {
    let Some(line) = list.iter().find(|line| line.name == wanted) else {
        let tail = closest(&wanted, list.iter().map(|line| line.name.as_str()))
            .map_or_else(|| "/workflows lists them".to_owned(), |name| format!("did you mean {name}?"));
        model.say(Item::line(Tone::Bad, &format!("no workflow {wanted} — {tail}")));
        return Vec::new();
    };
    if line.broken.is_some() || (!line.needs_input && !line.waits_for_input) {
        return vec![Cmd::StartWorkflow { name: wanted, input: String::new() }];
    }
    let what = if line.input.is_empty() { "a text" } else { &line.input };
    let note = format!("{wanted} wants an input: {what} — type it, Enter starts, Esc leaves");
    model.say(Item::note(&note));
    model.wanted_input = Some(wanted);
    Vec::new()
}

fn snapshot(model: &mut Model, command: SnapshotCommand, purpose: Purpose, text: Result<String, String>) {
    let text = match text {
        Ok(text) => text,
        Err(reason) => return say_error(model, "Snapshot", &reason),
    };
    match (command, purpose) {
        (SnapshotCommand::Show { id }, Purpose::BeforeRestore) => {
            let title = format!("Restore snapshot {id}?");
            let body = format!("{text}\n\nThe present is snapshotted first, so this can be undone.");
            let cmd = Cmd::Snapshot(SnapshotCommand::Restore { id }, Purpose::Show);
            model.dialogs.push_back(Dialog::confirm(&title, &body, cmd));
        }
        (SnapshotCommand::Diff { id }, _) => {
            let block = Block::new(Tone::Accent, &format!("Since snapshot {id}"), &text).style(Body::Diff);
            model.say(Item::Block(block));
        }
        _ => say_report(model, "Snapshot", &text),
    }
}

fn trusted(model: &mut Model, yes: bool, result: Result<Vec<String>, String>) -> Vec<Cmd> {
    match result {
        Ok(problems) if yes => {
            model.say(Item::note("this project's definitions are used"));
            for line in problems {
                model.say(Item::line(Tone::Bad, &line));
            }
        }
        Ok(_) => {
            model.say(Item::note("this project's definitions are left out"));
        }
        Err(reason) => say_error(model, "This project's definitions cannot be used", &reason),
    }
    let mut cmds = vec![Cmd::Status];
    cmds.append(&mut model.start);
    cmds
}

/// Files were changed by somebody. What was wanted waits until it is known whether they count.
fn reloaded(model: &mut Model, found: Reload, then: Option<Box<Cmd>>) {
    for line in found.problems {
        model.say(Item::line(Tone::Bad, &line));
    }
    if let Some(question) = found.question {
        model.dialogs.push_back(Dialog::trust(&question.files, &question.changes));
        model.start.extend(then.map(|cmd| *cmd));
    }
}

fn themed(model: &mut Model, found: Result<Theme, String>) {
    let item = match found {
        Ok(theme) => {
            model.theme = theme;
            model.use_background();
            let theme = model.theme;
            Item::note(&format!("theme {}", theme.name()))
        }
        Err(reason) => Item::line(Tone::Bad, &reason),
    };
    model.say(item);
}

fn allowed_always(model: &mut Model, saved: Result<String, String>) {
    match saved {
        Ok(text) => drop(model.say(Item::note(&text))),
        Err(reason) => say_error(model, "The tool is allowed until you leave only", &reason),
    }
}

/// New facts keep the role that the person chose meanwhile.
fn status(model: &mut Model, facts: StatusFacts) {
    if model.facts.role == facts.role || model.chat.is_none() {
        model.facts = facts;
    }
}
