//! Lists of workflows, roles and tools, and what is chosen among them.

use super::{addressee, busy, completion};
use crate::complete::CompletionNames;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::report;
use crate::transcript::item::{ItemTone, TranscriptItem};
use synthdev_service::definition_check::UnknownWorkflow;
use synthdev_service::session::{ChosenRole, DefinitionResponse, RoleLine, StartRequest, WorkflowLine};

pub(super) fn on_response(model: &mut UiModel, response: DefinitionResponse) -> Vec<UiCommand> {
    match response {
        DefinitionResponse::Names { workflows, roles } => on_names_loaded(model, workflows, &roles),
        DefinitionResponse::Workflows(list) => model.show_answer("Workflows", &report::workflow_list(&list)),
        DefinitionResponse::WorkflowChosen { requested_name, workflows } => {
            return choose_workflow(model, requested_name, &workflows);
        }
        DefinitionResponse::Roles { group, roles } => list_roles(model, &group, &roles),
        DefinitionResponse::Role(Ok(chosen)) => return choose_role(model, &chosen),
        DefinitionResponse::Role(Err(reason)) => {
            model.add_item(TranscriptItem::line(ItemTone::Bad, &reason));
        }
        DefinitionResponse::Tools { role, tools } => {
            model.show_answer(
                &format!("Tools of {role}"),
                &report::tool_list(&tools, model.facts.tools_total),
            );
        }
        DefinitionResponse::Prices(prices) => {
            let text = report::cost_report(&model.ledger(), &model.runs, &model.side_query_costs, &prices);
            model.show_answer("Cost", &text);
        }
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
    completion::names_arrived(model);
}

fn choose_role(model: &mut UiModel, ChosenRole { line: role, namesakes }: &ChosenRole) -> Vec<UiCommand> {
    model.facts.role = report::role_name(role);
    model.facts.model.clone_from(&role.model);
    model.facts.tools_available = role.tools;
    model.facts.reads_files = role.reads_files;
    addressee::on_role_chosen(model);
    let text = report::start_line(&model.facts);
    model.add_item(TranscriptItem::note_item(&text));
    if !namesakes.is_empty() {
        let others: Vec<String> =
            namesakes.iter().map(|(name, file)| format!("/role {name} ({file})")).collect();
        let text =
            format!("{} ({}) is chosen; others of this name: {}", role.name, role.layer, others.join(", "));
        model.add_item(TranscriptItem::note_item(&text));
    }
    busy::leave_chat(model)
}

fn choose_workflow(model: &mut UiModel, wanted: String, list: &[WorkflowLine]) -> Vec<UiCommand> {
    let Some(line) = list.iter().find(|line| line.name == wanted) else {
        let unknown = UnknownWorkflow::among(&wanted, list.iter().map(|line| line.name.as_str()));
        model.add_item(TranscriptItem::line(ItemTone::Bad, &unknown.screen_line()));
        return Vec::new();
    };
    if line.error.is_some() || (!line.needs_input && !line.waits_for_input) {
        return vec![UiCommand::ask(StartRequest::Workflow { name: wanted, input: String::new() })];
    }
    let what = if line.input.is_empty() { "a text" } else { &line.input };
    let escape = model.escape_word();
    let how = if model.dialogs.is_empty() {
        format!("type it, Enter starts, {escape} leaves")
    } else {
        // what is typed now answers the question
        "answer the open question first, then type it".to_owned()
    };
    let note = format!("{wanted} wants an input: {what} — {how}");
    model.add_item(TranscriptItem::note_item(&note));
    if let Some(run) = model.live_runs().last() {
        let goes_on = format!(
            "{} goes on meanwhile (run {}): if both change files, /workflow {wanted} needs --isolate or --share",
            run.workflow, run.id
        );
        model.add_item(TranscriptItem::note_item(&goes_on));
    }
    model.workflow_awaiting_input = Some(wanted);
    Vec::new()
}
