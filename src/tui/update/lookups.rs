//! Commands that look something up beside a running workflow: agents, graphs, pages, trust.

use super::{editing_keys, index, project, shell_commands, tasks, verbosity};
use crate::keymap::{self, ACTIONS};
use crate::layout::PaneKind;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::report::agents;
use crate::slash::SlashAction;
use crate::transcript::item::{ItemTone, TranscriptItem};
use synthdev_service::definition_views::did_you_mean::closest_word;
use synthdev_service::session::{LookupPage, LookupRequest, LookupResponse, ProjectRequest};

pub fn run_lookup(model: &mut UiModel, action: SlashAction) -> Vec<UiCommand> {
    match action {
        SlashAction::Agents if model.runs.is_empty() => show_text(model, "no agent has run in this session"),
        SlashAction::Agents => show_report(model, "Agents", &agents::all_agents_text(&model.runs, model.now)),
        SlashAction::Agent(name) => return show_agent(model, &name),
        SlashAction::Graph(wanted) => return show_graph(model, wanted),
        SlashAction::Pane(name) => show_pane_by_name(model, &name),
        SlashAction::Page(LookupPage::Export { run, file }) => return export_run(model, run, file),
        SlashAction::Page(LookupPage::Contexts(run)) => return show_contexts(model, run),
        SlashAction::Page(page) => return vec![UiCommand::ask(LookupRequest::Page(page))],
        SlashAction::McpPrompt { name, words } => {
            return vec![UiCommand::ask(LookupRequest::McpPrompt { name, words })];
        }
        SlashAction::Budget => match model.watched_run().map(agents::budget_text) {
            Some(text) => show_report(model, "Budget", &text),
            None => show_text(model, "nothing has run in this session"),
        },
        SlashAction::Trust(Some(false)) => return vec![UiCommand::ask(ProjectRequest::Trust(false))],
        SlashAction::Trust(_) => return vec![UiCommand::ask(ProjectRequest::TrustQuestion)],
        SlashAction::Shell(line) => return shell_commands::run_shell_line(model, line),
        SlashAction::Task(deed) => return vec![UiCommand::ask(LookupRequest::Task(deed))],
        SlashAction::Index(limit) => return index::propose_indexing(model, limit),
        SlashAction::Vim(wanted) => editing_keys::set_vim_mode(model, wanted),
        SlashAction::Verbosity(wanted) => return verbosity::set_verbosity(model, wanted),
        // the rest is done where it is read
        _ => {}
    }
    Vec::new()
}

pub(super) fn on_response(model: &mut UiModel, response: LookupResponse) -> Vec<UiCommand> {
    match response {
        LookupResponse::Page(Ok((title, text))) => show_report(model, &title, &text),
        LookupResponse::Page(Err(reason)) => {
            model.add_item(TranscriptItem::line(ItemTone::Warning, &reason));
        }
        LookupResponse::McpPage(page) => {
            let mut cmds = on_response(model, LookupResponse::Page(page));
            cmds.push(project::count_tools_command(model));
            return cmds;
        }
        LookupResponse::McpServersAsked => return vec![project::count_tools_command(model)],
        LookupResponse::Shell { command, outcome } => shell_commands::on_command_ran(model, command, outcome),
        LookupResponse::Tasks { command, outcome } => tasks::show_task_result(model, command, outcome),
        LookupResponse::Suggested(number, suggested, at) => {
            shell_commands::on_suggestion(model, number, suggested, at);
        }
        // where texts are sent and completed
        LookupResponse::Message { .. } | LookupResponse::McpNames(_) => {}
        LookupResponse::Index(number, report, at) => return index::on_response(model, number, report, at),
    }
    Vec::new()
}

fn show_agent(model: &mut UiModel, name: &str) -> Vec<UiCommand> {
    let Some(run) = model.watched_run() else {
        show_text(model, "no agent has run in this session");
        return Vec::new();
    };
    match agents::agent_text(run, name, model.transcript.items()) {
        Some(text) => show_report(model, name, &text),
        None => {
            let names = run.agents.iter().map(|agent| agent.name.as_str());
            let tail = closest_word(name, names)
                .map_or_else(|| "/agents lists them".to_owned(), |name| format!("did you mean {name}?"));
            let text = format!("no agent {name} in {} {} — {tail}", run.workflow, run.id);
            model.add_item(TranscriptItem::line(ItemTone::Bad, &text));
        }
    }
    Vec::new()
}

/// On the screen the pane shows it; as a text it is for other workflows, and where there is no screen.
fn show_graph(model: &mut UiModel, wanted: Option<String>) -> Vec<UiCommand> {
    let run = model.watched_run().filter(|run| !run.chat).map(|run| run.id.clone());
    match (wanted, run) {
        (Some(name), _) => vec![UiCommand::ask(LookupRequest::Page(LookupPage::Graph(name)))],
        (None, Some(run)) if model.line_mode => {
            vec![UiCommand::ask(LookupRequest::Page(LookupPage::RunGraph(run)))]
        }
        (None, Some(_)) => {
            model.panes.show_pane(PaneKind::Graph);
            Vec::new()
        }
        (None, None) => {
            show_text(model, "no workflow has run in this session: /graph WORKFLOW draws one");
            Vec::new()
        }
    }
}

fn show_pane_by_name(model: &mut UiModel, name: &str) {
    let shown = |row: &&keymap::KeyActionRow| matches!(row.action, keymap::KeyAction::Show(_));
    let found = ACTIONS.iter().filter(shown).find(|row| row.name == name);
    if let Some(keymap::KeyAction::Show(pane)) = found.map(|row| row.action) {
        return model.panes.show_pane(pane);
    }
    let names: Vec<&str> = ACTIONS.iter().filter(shown).map(|row| row.name).collect();
    let text = format!("there is no pane {name}; the panes are {}", names.join(", "));
    model.add_item(TranscriptItem::line(ItemTone::Bad, &text));
}

fn export_run(model: &mut UiModel, run: Option<String>, file: Option<String>) -> Vec<UiCommand> {
    let run = run.or_else(|| model.watched_run().map(|run| run.id.to_string()));
    if run.is_none() {
        show_text(model, "nothing has run in this session: /export RUN");
        return Vec::new();
    }
    vec![UiCommand::ask(LookupRequest::Page(LookupPage::Export { run, file }))]
}

fn show_contexts(model: &mut UiModel, run: Option<String>) -> Vec<UiCommand> {
    let run = run.or_else(|| model.watched_run().map(|run| run.id.to_string()));
    if run.is_none() {
        show_text(model, "nothing has run in this session: /contexts RUN");
        return Vec::new();
    }
    vec![UiCommand::ask(LookupRequest::Page(LookupPage::Contexts(run)))]
}

fn show_text(model: &mut UiModel, text: &str) {
    model.add_item(TranscriptItem::note_item(text));
}

fn show_report(model: &mut UiModel, title: &str, text: &str) {
    model.show_answer(title, text);
}
