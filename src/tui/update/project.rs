//! The project and the session: its facts, whether it is trusted, its files, and what is kept of the input.

use super::{mention, shell_commands, start_facts, verbosity};
use crate::dialog::QuestionDialog;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::transcript::item::{ItemTone, TranscriptItem};
use synthdev_service::session::{
    ConfigReload, ProjectRequest, ProjectResponse, RecalledInput, SessionRequest, StandingPermission,
    StatusFacts,
};

pub(super) fn on_response(model: &mut UiModel, response: ProjectResponse) -> Vec<UiCommand> {
    match response {
        ProjectResponse::Status(facts) => on_status_facts(model, facts),
        ProjectResponse::RoleTools { role, tools_available, tools_total } => {
            let is_known = model.facts.role == role && !model.start_facts_wait;
            if is_known
                && (model.facts.tools_available, model.facts.tools_total) != (tools_available, tools_total)
            {
                let now = StatusFacts { tools_available, tools_total, ..model.facts.clone() };
                let before = std::mem::replace(&mut model.facts, now);
                start_facts::renew_start_line(model, &before);
            }
        }
        ProjectResponse::TrustQuestion(Ok(asked)) => {
            model.push_question(QuestionDialog::for_trust(&asked.files, &asked.changes));
        }
        ProjectResponse::TrustQuestion(Err(reason)) => {
            model.add_item(TranscriptItem::line(ItemTone::Warning, &reason));
        }
        ProjectResponse::Trusted { trusted, result } => return on_trust_decided(model, trusted, result),
        ProjectResponse::Files(files) => mention::on_files_listed(model, files),
        ProjectResponse::AllowedAlways(permission, saved) => allowed_always(model, &permission, saved),
        ProjectResponse::RevokedAlways(Ok(text)) => drop(model.add_item(TranscriptItem::note_item(&text))),
        ProjectResponse::RevokedAlways(Err(reason)) => {
            show_error(model, "The rule is still in your settings", &reason);
        }
        ProjectResponse::Recalled(found) => on_input_recalled(model, found),
        ProjectResponse::NotKept(reason) => drop(model.add_item(TranscriptItem::warning_item(&reason))),
        ProjectResponse::Verbosity(level, log) => verbosity::show_level(model, level, &log),
    }
    Vec::new()
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
    let mut cmds = vec![UiCommand::ask(ProjectRequest::Status)];
    cmds.append(&mut model.start);
    cmds
}

/// Files have changed. The held request waits until the user has answered whether they count.
pub(super) fn on_config_reloaded(
    model: &mut UiModel,
    found: ConfigReload,
    held_request: Option<Box<SessionRequest>>,
) -> Vec<UiCommand> {
    for line in found.problems {
        model.add_item(TranscriptItem::line(ItemTone::Bad, &line));
    }
    if let Some(question) = found.question {
        model.push_question(QuestionDialog::for_trust(&question.files, &question.changes));
        model.start.extend(held_request.map(|request| UiCommand::Ask(*request)));
        return Vec::new();
    }
    vec![count_tools_command(model)]
}

/// Asks how many tools the role has now.
pub(super) fn count_tools_command(model: &UiModel) -> UiCommand {
    UiCommand::ask(ProjectRequest::RoleTools(model.facts.role.clone()))
}

/// New facts keep the role that the user has chosen meanwhile.
fn on_status_facts(model: &mut UiModel, facts: StatusFacts) {
    if model.facts.role == facts.role || model.chat.is_none() {
        let before = std::mem::replace(&mut model.facts, facts);
        start_facts::renew_start_facts(model, &before);
    }
}

fn allowed_always(model: &mut UiModel, permission: &StandingPermission, saved: Result<String, String>) {
    match saved {
        Ok(text) => drop(model.add_item(TranscriptItem::note_item(&text))),
        Err(reason) => {
            if let StandingPermission::Rule(rule) = permission {
                model.written_rules.remove(rule);
            }
            show_error(model, "The tool is allowed for this session only", &reason);
        }
    }
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

fn show_error(model: &mut UiModel, title: &str, text: &str) {
    model.add_item(TranscriptItem::error(title, text));
}
