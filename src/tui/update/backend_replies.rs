//! Answers of the outside to what the screen asked.

use super::{
    busy, editing_keys, editor, history, history_browser, index, keys, lookups, mention, setup,
    shell_commands, start_facts, steering, submit, verbosity,
};
use crate::backend::{
    ConfigReload, RecalledInput, RoleLine, SnapshotOperation, StartPreparation, StatusFacts, WorkflowLine,
};
use crate::complete::CompletionNames;
use crate::dialog::QuestionDialog;
use crate::model::UiModel;
use crate::msg::{BackendReply, PendingStart, SnapshotPurpose, UiCommand};
use crate::report;
use crate::run_view::RunView;
use crate::slash::closest;
use crate::theme::ColorTheme;
use crate::transcript::item::{BlockBodyStyle, ItemTone, TranscriptBlock, TranscriptItem};
use synthdev_domain::ids::RunId;

pub fn reply(model: &mut UiModel, reply: BackendReply) -> Vec<UiCommand> {
    match reply {
        BackendReply::WorkflowStarted { name, input, run, note } => {
            if let (Ok(run), Some(note)) = (&run, note) {
                works_elsewhere(model, run, &name, note);
            }
            workflow_started(model, &name, &input, run);
        }
        BackendReply::Beginning(beginning) => begins(model, beginning),
        BackendReply::ChatStarted { role, run } => return chat_started(model, &role, run),
        BackendReply::Names { workflows, roles } => names(model, workflows, &roles),
        BackendReply::Workflows(list) => say_report(model, "Workflows", &report::workflows(&list)),
        BackendReply::Roles { group, roles } => list_roles(model, &group, &roles),
        BackendReply::Role { wanted, roles } => return choose_role(model, &wanted, &roles),
        BackendReply::WorkflowChosen { wanted, workflows } => {
            return choose_workflow(model, wanted, &workflows);
        }
        BackendReply::Tools { role, tools } => {
            say_report(model, &format!("Tools of {role}"), &report::tools(&tools));
        }
        BackendReply::Prices(prices) => {
            let text = report::cost(&model.ledger(), (&model.runs, &model.paid_beside), &prices);
            say_report(model, "Cost", &text);
        }
        BackendReply::Controlled(control, told) => steering::controlled(model, control, told),
        BackendReply::Reviewed(text) => reviewed(model, text),
        BackendReply::Snapshot { command, purpose, text } => snapshot(model, command, purpose, text),
        BackendReply::Trusted { yes, result } => return trusted(model, yes, result),
        BackendReply::Files(files) => mention::files(model, files),
        BackendReply::Defined { run, found } => {
            if let Some(view) = model.run_mut(&run) {
                view.watch.define(found.map(|found| *found));
            }
        }
        BackendReply::Themed(found) => themed(model, found),
        BackendReply::Verbosity(level, log) => verbosity::show_level(model, level, &log),
        BackendReply::AllowedAlways(saved) => allowed_always(model, saved),
        BackendReply::Status(facts) => status(model, facts),
        BackendReply::Recalled(found) => recalled(model, found),
        BackendReply::NotKept(reason) => drop(model.say(TranscriptItem::warning(&reason))),
        BackendReply::Index(number, told, at) => return index::handle_reply(model, number, told, at),
        BackendReply::Setup(number, told) => return setup::handle_reply(model, number, told),
        BackendReply::Archive(number, told) => return history_browser::handle_reply(model, number, *told),
        BackendReply::Edit(number, told) => return editor::handle_reply(model, number, told),
        BackendReply::Edited(editing_keys::ELSEWHERE, result) => {
            editing_keys::written_elsewhere(model, result)
        }
        BackendReply::Edited(number, result) => return editor::edited(model, number, result),
        BackendReply::Reloaded { found, then } => reloaded(model, found, then),
        past @ (BackendReply::Runs { .. }
        | BackendReply::Found { .. }
        | BackendReply::Glance(_)
        | BackendReply::Past { .. }
        | BackendReply::Earlier { .. }
        | BackendReply::Resumed { .. }
        | BackendReply::Steps(_)
        | BackendReply::Planned(_)
        | BackendReply::Travelled(_)) => return history::reply(model, past),
        aside => lookups::reply(model, aside),
    }
    Vec::new()
}

fn list_roles(model: &mut UiModel, group: &str, roles: &[RoleLine]) {
    let item = match report::roles(roles, group, &model.facts.role) {
        Ok(text) => TranscriptItem::report("Roles", &text),
        Err(reason) => TranscriptItem::line(ItemTone::Bad, &reason),
    };
    model.say(item);
}

/// What was typed in earlier sessions is there; without it the history is that of this one.
fn recalled(model: &mut UiModel, found: Result<RecalledInput, String>) {
    let (texts, note) = match found {
        Ok(found) => (found.texts, found.note),
        Err(reason) => (Vec::new(), Some(reason)),
    };
    shell_commands::recalled(model, &texts);
    model.composer.recalled(texts);
    if let Some(note) = note {
        model.say(TranscriptItem::warning(&format!("history of the input: {note}")));
    }
}

fn reviewed(model: &mut UiModel, text: Result<String, String>) {
    match text {
        Ok(text) => say_report(model, "Last request", &text),
        Err(reason) => say_error(model, "There is no request", &reason),
    }
}

fn works_elsewhere(model: &mut UiModel, run: &RunId, name: &str, note: String) {
    if let Some(view) = model.run_mut(run) {
        view.elsewhere = Some(note);
    } else {
        let mut view = RunView::new(run.clone(), name, false);
        view.elsewhere = Some(note);
        model.runs.push(view);
    }
}

fn say_report(model: &mut UiModel, title: &str, text: &str) {
    model.answer(title, text);
}

fn say_error(model: &mut UiModel, title: &str, text: &str) {
    model.say(TranscriptItem::error(title, text));
}

fn begins(model: &mut UiModel, beginning: PendingStart) {
    if beginning.waits_for == StartPreparation::Files {
        model.say(TranscriptItem::note(&format!(
            "copying the files for {} into a worktree …",
            beginning.name
        )));
    }
    model.beginning = Some(beginning);
}

fn workflow_started(model: &mut UiModel, name: &str, input: &str, run: Result<RunId, String>) {
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

fn chat_started(model: &mut UiModel, role: &str, run: Result<RunId, String>) -> Vec<UiCommand> {
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

fn names(model: &mut UiModel, workflows: Vec<WorkflowLine>, roles: &[RoleLine]) {
    let mut groups: Vec<String> =
        roles.iter().map(|role| role.group.clone()).filter(|g| !g.is_empty()).collect();
    groups.sort();
    groups.dedup();
    model.names = CompletionNames {
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

fn choose_role(model: &mut UiModel, wanted: &str, roles: &[RoleLine]) -> Vec<UiCommand> {
    let found = roles.iter().find(|role| report::role_name(role) == wanted || role.name == wanted);
    let Some(role) = found else {
        let names: Vec<String> = roles.iter().map(report::role_name).collect();
        let tail = closest(wanted, names.iter().map(String::as_str))
            .map_or_else(|| "/roles all lists them".to_owned(), |name| format!("did you mean {name}?"));
        model.say(TranscriptItem::line(ItemTone::Bad, &format!("no role {wanted} — {tail}")));
        return Vec::new();
    };
    model.facts.role = report::role_name(role);
    model.facts.model.clone_from(&role.model);
    model.facts.tools_available = role.tools;
    let text = report::facts(&model.facts);
    model.say(TranscriptItem::note(&text));
    busy::end_chat(model)
}

fn choose_workflow(model: &mut UiModel, wanted: String, list: &[WorkflowLine]) -> Vec<UiCommand> {
    let Some(line) = list.iter().find(|line| line.name == wanted) else {
        let tail = closest(&wanted, list.iter().map(|line| line.name.as_str()))
            .map_or_else(|| "/workflows lists them".to_owned(), |name| format!("did you mean {name}?"));
        model.say(TranscriptItem::line(ItemTone::Bad, &format!("no workflow {wanted} — {tail}")));
        return Vec::new();
    };
    if line.broken.is_some() || (!line.needs_input && !line.waits_for_input) {
        return vec![UiCommand::StartWorkflow { name: wanted, input: String::new() }];
    }
    let what = if line.input.is_empty() { "a text" } else { &line.input };
    let note = format!("{wanted} wants an input: {what} — type it, Enter starts, Esc leaves");
    model.say(TranscriptItem::note(&note));
    model.wanted_input = Some(wanted);
    Vec::new()
}

fn snapshot(
    model: &mut UiModel,
    command: SnapshotOperation,
    purpose: SnapshotPurpose,
    text: Result<String, String>,
) {
    let text = match text {
        Ok(text) => text,
        Err(reason) => return say_error(model, "Snapshot", &reason),
    };
    match (command, purpose) {
        (SnapshotOperation::Show { id }, SnapshotPurpose::BeforeRestore) => {
            let title = format!("Restore snapshot {id}?");
            let body = format!("{text}\n\nThe present is snapshotted first, so this can be undone.");
            let cmd = UiCommand::Snapshot(SnapshotOperation::Restore { id }, SnapshotPurpose::Show);
            model.dialogs.push_back(QuestionDialog::confirm(&title, &body, cmd));
        }
        (SnapshotOperation::Diff { id }, _) => {
            let block = TranscriptBlock::new(ItemTone::Accent, &format!("Since snapshot {id}"), &text)
                .style(BlockBodyStyle::Diff);
            model.say(TranscriptItem::Block(block));
        }
        _ => say_report(model, "Snapshot", &text),
    }
}

fn trusted(model: &mut UiModel, yes: bool, result: Result<Vec<String>, String>) -> Vec<UiCommand> {
    match result {
        Ok(problems) if yes => {
            model.say(TranscriptItem::note("this project's definitions are used"));
            for line in problems {
                model.say(TranscriptItem::line(ItemTone::Bad, &line));
            }
        }
        Ok(_) => {
            model.say(TranscriptItem::note("this project's definitions are left out"));
        }
        Err(reason) => say_error(model, "This project's definitions cannot be used", &reason),
    }
    let mut cmds = vec![UiCommand::Status];
    cmds.append(&mut model.start);
    cmds
}

/// Files were changed by somebody. What was wanted waits until it is known whether they count.
fn reloaded(model: &mut UiModel, found: ConfigReload, then: Option<Box<UiCommand>>) {
    for line in found.problems {
        model.say(TranscriptItem::line(ItemTone::Bad, &line));
    }
    if let Some(question) = found.question {
        model.dialogs.push_back(QuestionDialog::trust(&question.files, &question.changes));
        model.start.extend(then.map(|cmd| *cmd));
    }
}

fn themed(model: &mut UiModel, found: Result<ColorTheme, String>) {
    let item = match found {
        Ok(theme) => {
            model.theme = theme;
            model.use_background();
            let theme = model.theme;
            TranscriptItem::note(&format!("theme {}", theme.name()))
        }
        Err(reason) => TranscriptItem::line(ItemTone::Bad, &reason),
    };
    model.say(item);
}

fn allowed_always(model: &mut UiModel, saved: Result<String, String>) {
    match saved {
        Ok(text) => drop(model.say(TranscriptItem::note(&text))),
        Err(reason) => say_error(model, "The tool is allowed until you leave only", &reason),
    }
}

/// New facts keep the role that the person chose meanwhile.
fn status(model: &mut UiModel, facts: StatusFacts) {
    if model.facts.role == facts.role || model.chat.is_none() {
        let before = std::mem::replace(&mut model.facts, facts);
        start_facts::renew_start_facts(model, &before);
    }
}
