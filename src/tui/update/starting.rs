//! Workflows and conversations that have started, or could not.

use super::{file_work, submit};
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::run_view::RunView;
use crate::text::one_line;
use crate::transcript::item::TranscriptItem;
use synthdev_domain::ids::RunId;
use synthdev_service::model_windows::ModelWindows;
use synthdev_service::session::{FileWorkKind, PendingStart, StartPreparation, StartResponse};

pub(super) fn on_response(model: &mut UiModel, response: StartResponse) -> Vec<UiCommand> {
    match response {
        StartResponse::WorkflowStarted { name, input, run, note, windows, agents, warnings } => {
            show_warnings(model, &warnings);
            if let (Ok(run), Some(note)) = (&run, note) {
                show_isolated_run(model, run, &name, note);
            }
            let id = run.as_ref().ok().cloned();
            workflow_started(model, &name, &input, run);
            set_windows(model, id.as_ref(), windows);
            // before its first event, so that an agent looks the same, whichever speaks first
            if let Some(view) = id.as_ref().and_then(|id| model.run_mut(id)) {
                view.roster.add_all(agents.iter().map(String::as_str));
            }
        }
        StartResponse::Pending(pending) => {
            on_pending_start(model, pending);
            return file_work::watch_start(model);
        }
        StartResponse::ChatStarted { role, run, windows, warnings } => {
            show_warnings(model, &warnings);
            let id = run.as_ref().ok().cloned();
            let cmds = chat_started(model, &role, run);
            set_windows(model, id.as_ref(), windows);
            return cmds;
        }
    }
    Vec::new()
}

fn show_warnings(model: &mut UiModel, lines: &[String]) {
    for line in lines {
        model.add_item(TranscriptItem::warning_item(&one_line(line)));
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

fn set_windows(model: &mut UiModel, run: Option<&RunId>, windows: ModelWindows) {
    if let Some(view) = run.and_then(|id| model.run_mut(id)) {
        view.windows = windows;
    }
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
    file_work::end_work(model, FileWorkKind::Worktree);
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

fn show_error(model: &mut UiModel, title: &str, text: &str) {
    model.add_item(TranscriptItem::error(title, text));
}
