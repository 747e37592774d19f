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
use crate::theme::ColorTheme;
use crate::transcript::item::{BlockBodyStyle, ItemTone, TranscriptBlock, TranscriptItem};
use synthdev_domain::ids::RunId;
use synthdev_language::did_you_mean::closest_word;

#[expect(clippy::too_many_lines, reason = "one match: a case for each kind, a line or two in each")]
pub fn on_backend_reply(model: &mut UiModel, reply: BackendReply) -> Vec<UiCommand> {
    match reply {
        BackendReply::WorkflowStarted { name, input, run, note } => {
            if let (Ok(run), Some(note)) = (&run, note) {
                show_isolated_run(model, run, &name, note);
            }
            workflow_started(model, &name, &input, run);
        }
        BackendReply::Beginning(beginning) => on_pending_start(model, beginning),
        BackendReply::ChatStarted { role, run } => return chat_started(model, &role, run),
        BackendReply::Names { workflows, roles } => on_names_loaded(model, workflows, &roles),
        BackendReply::Workflows(list) => show_report(model, "Workflows", &report::workflow_list(&list)),
        BackendReply::Roles { group, roles } => list_roles(model, &group, &roles),
        BackendReply::Role { requested_name: wanted, roles } => return choose_role(model, &wanted, &roles),
        BackendReply::WorkflowChosen { requested_name: wanted, workflows } => {
            return choose_workflow(model, wanted, &workflows);
        }
        BackendReply::Tools { role, tools } => {
            show_report(model, &format!("Tools of {role}"), &report::tool_list(&tools));
        }
        BackendReply::Prices(prices) => {
            let text = report::cost_report(&model.ledger(), &model.runs, &model.side_query_costs, &prices);
            show_report(model, "Cost", &text);
        }
        BackendReply::Controlled(control, told) => steering::on_run_controlled(model, control, told),
        BackendReply::Reviewed(text) => on_call_reviewed(model, text),
        BackendReply::Snapshot { command, purpose, text } => on_snapshot_done(model, command, purpose, text),
        BackendReply::Trusted { trusted: yes, result } => return on_trust_decided(model, yes, result),
        BackendReply::Files(files) => mention::on_files_listed(model, files),
        BackendReply::Defined { run, definition: found } => {
            if let Some(view) = model.run_mut(&run) {
                view.pane_data.set_definition(found.map(|found| *found));
            }
        }
        BackendReply::Themed(found) => on_theme_loaded(model, found),
        BackendReply::Verbosity(level, log) => verbosity::show_level(model, level, &log),
        BackendReply::AllowedAlways(saved) => allowed_always(model, saved),
        BackendReply::Status(facts) => on_status_facts(model, facts),
        BackendReply::Recalled(found) => on_input_recalled(model, found),
        BackendReply::NotKept(reason) => drop(model.add_item(TranscriptItem::warning_item(&reason))),
        BackendReply::Index(number, told, at) => return index::handle_reply(model, number, told, at),
        BackendReply::Setup(number, told) => return setup::handle_reply(model, number, told),
        BackendReply::Archive(number, told) => return history_browser::handle_reply(model, number, *told),
        BackendReply::Edit(number, told) => return editor::handle_reply(model, number, told),
        BackendReply::Edited(editing_keys::ELSEWHERE, result) => {
            editing_keys::apply_external_text(model, result)
        }
        BackendReply::Edited(number, result) => return editor::on_externally_edited(model, number, result),
        BackendReply::Reloaded { reload: found, resumed_command: then } => {
            on_config_reloaded(model, found, then)
        }
        past @ (BackendReply::Runs { .. }
        | BackendReply::Found { .. }
        | BackendReply::Glance(_)
        | BackendReply::Past { .. }
        | BackendReply::Earlier { .. }
        | BackendReply::Resumed { .. }
        | BackendReply::Steps(_)
        | BackendReply::Planned(_)
        | BackendReply::Travelled(_)) => return history::on_history_reply(model, past),
        aside => lookups::on_lookup_reply(model, aside),
    }
    Vec::new()
}

fn list_roles(model: &mut UiModel, group: &str, roles: &[RoleLine]) {
    let item = match report::role_list(roles, group, &model.facts.role) {
        Ok(text) => TranscriptItem::report_item("Roles", &text),
        Err(reason) => TranscriptItem::line(ItemTone::Bad, &reason),
    };
    model.add_item(item);
}

/// Adds the input of earlier sessions; without it the history is that of this session.
fn on_input_recalled(model: &mut UiModel, found: Result<RecalledInput, String>) {
    let (texts, note) = match found {
        Ok(found) => (found.texts, found.note),
        Err(reason) => (Vec::new(), Some(reason)),
    };
    shell_commands::add_recalled_commands(model, &texts);
    model.composer.add_recalled_texts(texts);
    if let Some(note) = note {
        model.add_item(TranscriptItem::warning_item(&format!("history of the input: {note}")));
    }
}

fn on_call_reviewed(model: &mut UiModel, text: Result<String, String>) {
    match text {
        Ok(text) => show_report(model, "Last request", &text),
        Err(reason) => show_error(model, "There is no request", &reason),
    }
}

fn show_isolated_run(model: &mut UiModel, run: &RunId, name: &str, note: String) {
    if let Some(view) = model.run_mut(run) {
        view.worktree_note = Some(note);
    } else {
        let mut view = RunView::new(run.clone(), name, false);
        view.worktree_note = Some(note);
        model.runs.push(view);
    }
}

fn show_report(model: &mut UiModel, title: &str, text: &str) {
    model.show_answer(title, text);
}

fn show_error(model: &mut UiModel, title: &str, text: &str) {
    model.add_item(TranscriptItem::error(title, text));
}

fn on_pending_start(model: &mut UiModel, beginning: PendingStart) {
    if beginning.preparation == StartPreparation::Files {
        model.add_item(TranscriptItem::note_item(&format!(
            "copying the files for {} into a worktree …",
            beginning.name
        )));
    }
    model.pending_start = Some(beginning);
}

fn workflow_started(model: &mut UiModel, name: &str, input: &str, run: Result<RunId, String>) {
    model.pending_start = None;
    match run {
        Ok(id) => {
            if model.find_run(&id).is_none() {
                model.runs.push(RunView::new(id.clone(), name, false));
            }
            if model.find_run(&id).is_some_and(|view| !view.is_over) {
                model.workflow = Some(id);
            }
        }
        Err(reason) => {
            show_error(model, &format!("workflow {name} was not started"), &reason);
            if !input.is_empty() {
                model.composer.remember_text(&format!("/workflow {name} {input}"));
            }
        }
    }
}

fn chat_started(model: &mut UiModel, role: &str, run: Result<RunId, String>) -> Vec<UiCommand> {
    model.pending_start = None;
    match run {
        Ok(id) => {
            if model.find_run(&id).is_none() {
                model.runs.push(RunView::new(id.clone(), role, true));
            }
            let texts = std::mem::take(&mut model.queued);
            if let Some(view) = model.run_mut(&id) {
                view.outbox.extend(texts);
            }
            model.chat = Some(id);
            // Its first question may have come before this answer.
            submit::deliver_chat_text(model)
        }
        Err(reason) => {
            show_error(model, &format!("no conversation with {role}"), &reason);
            // It would fail again: it must not block the next command.
            model.queued.clear();
            model.hint = Some("what you typed is in the history: Up".to_owned());
            Vec::new()
        }
    }
}

fn on_names_loaded(model: &mut UiModel, workflows: Vec<WorkflowLine>, roles: &[RoleLine]) {
    let mut groups: Vec<String> =
        roles.iter().map(|role| role.group.clone()).filter(|g| !g.is_empty()).collect();
    groups.sort();
    groups.dedup();
    model.names = CompletionNames {
        workflows: workflows
            .into_iter()
            .map(|line| (line.name, line.error.unwrap_or(line.description)))
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
        let tail = closest_word(wanted, names.iter().map(String::as_str))
            .map_or_else(|| "/roles all lists them".to_owned(), |name| format!("did you mean {name}?"));
        model.add_item(TranscriptItem::line(ItemTone::Bad, &format!("no role {wanted} — {tail}")));
        return Vec::new();
    };
    model.facts.role = report::role_name(role);
    model.facts.model.clone_from(&role.model);
    model.facts.tools_available = role.tools;
    let text = report::start_line(&model.facts);
    model.add_item(TranscriptItem::note_item(&text));
    busy::end_chat(model)
}

fn choose_workflow(model: &mut UiModel, wanted: String, list: &[WorkflowLine]) -> Vec<UiCommand> {
    let Some(line) = list.iter().find(|line| line.name == wanted) else {
        let tail = closest_word(&wanted, list.iter().map(|line| line.name.as_str()))
            .map_or_else(|| "/workflows lists them".to_owned(), |name| format!("did you mean {name}?"));
        model.add_item(TranscriptItem::line(ItemTone::Bad, &format!("no workflow {wanted} — {tail}")));
        return Vec::new();
    };
    if line.error.is_some() || (!line.needs_input && !line.waits_for_input) {
        return vec![UiCommand::StartWorkflow { name: wanted, input: String::new() }];
    }
    let what = if line.input.is_empty() { "a text" } else { &line.input };
    let note = format!("{wanted} wants an input: {what} — type it, Enter starts, Esc leaves");
    model.add_item(TranscriptItem::note_item(&note));
    model.workflow_awaiting_input = Some(wanted);
    Vec::new()
}

fn on_snapshot_done(
    model: &mut UiModel,
    command: SnapshotOperation,
    purpose: SnapshotPurpose,
    text: Result<String, String>,
) {
    let text = match text {
        Ok(text) => text,
        Err(reason) => return show_error(model, "Snapshot", &reason),
    };
    match (command, purpose) {
        (SnapshotOperation::Show { id }, SnapshotPurpose::BeforeRestore) => {
            let title = format!("Restore snapshot {id}?");
            let body = format!(
                "{text}\n\nA snapshot of the current files is taken first, so this can be \
                undone."
            );
            let cmd = UiCommand::Snapshot(SnapshotOperation::Restore { id }, SnapshotPurpose::Show);
            model.dialogs.push_back(QuestionDialog::for_confirmation(&title, &body, cmd));
        }
        (SnapshotOperation::Diff { id }, _) => {
            let block = TranscriptBlock::new(ItemTone::Accent, &format!("Since snapshot {id}"), &text)
                .style(BlockBodyStyle::Diff);
            model.add_item(TranscriptItem::Block(block));
        }
        _ => show_report(model, "Snapshot", &text),
    }
}

fn on_trust_decided(model: &mut UiModel, yes: bool, result: Result<Vec<String>, String>) -> Vec<UiCommand> {
    match result {
        Ok(problems) if yes => {
            model.add_item(TranscriptItem::note_item("this project's definitions are used"));
            for line in problems {
                model.add_item(TranscriptItem::line(ItemTone::Bad, &line));
            }
        }
        Ok(_) => {
            model.add_item(TranscriptItem::note_item("this project's definitions are left out"));
        }
        Err(reason) => show_error(model, "This project's definitions cannot be used", &reason),
    }
    let mut cmds = vec![UiCommand::Status];
    cmds.append(&mut model.start);
    cmds
}

/// Files have changed. The pending command waits until the user has answered whether they count.
fn on_config_reloaded(model: &mut UiModel, found: ConfigReload, then: Option<Box<UiCommand>>) {
    for line in found.problems {
        model.add_item(TranscriptItem::line(ItemTone::Bad, &line));
    }
    if let Some(question) = found.question {
        model.dialogs.push_back(QuestionDialog::for_trust(&question.files, &question.changes));
        model.start.extend(then.map(|cmd| *cmd));
    }
}

fn on_theme_loaded(model: &mut UiModel, found: Result<ColorTheme, String>) {
    let item = match found {
        Ok(theme) => {
            model.theme = theme;
            model.use_background();
            let theme = model.theme;
            TranscriptItem::note_item(&format!("theme {}", theme.name()))
        }
        Err(reason) => TranscriptItem::line(ItemTone::Bad, &reason),
    };
    model.add_item(item);
}

fn allowed_always(model: &mut UiModel, saved: Result<String, String>) {
    match saved {
        Ok(text) => drop(model.add_item(TranscriptItem::note_item(&text))),
        Err(reason) => show_error(model, "The tool is allowed until you leave only", &reason),
    }
}

/// New facts keep the role that the user has chosen meanwhile.
fn on_status_facts(model: &mut UiModel, facts: StatusFacts) {
    if model.facts.role == facts.role || model.chat.is_none() {
        let before = std::mem::replace(&mut model.facts, facts);
        start_facts::renew_start_facts(model, &before);
    }
}
