//! The only place that changes the model: one message in, wishes out. Reads no clock, waits for nothing.

use ratatui::crossterm::event::MouseEventKind;

use crate::model::UiModel;
use crate::msg::{UiCommand, UiMessage};
use crate::run_view::RunView;
use synthdev_runtime::command::RunCommand;

mod active_run;
mod approvals;
mod backend_replies;
mod busy;
mod clipboard;
mod command_availability;
mod commands;
mod dialog_keys;
mod editing_keys;
mod editor;
pub mod history;
mod history_browser;
mod index;
mod interrupt;
mod keys;
mod lookups;
mod mention;
mod open_run;
mod panes;
pub mod past_run;
mod resuming;
pub mod run_events;
mod setup;
mod shell_commands;
pub mod start_facts;
mod steering;
mod submit;
mod tasks;
mod trust_gate;
mod unread_input;
pub mod verbosity;
pub mod withdrawn_dialog;

/// Applies one message.
pub fn update(model: &mut UiModel, msg: UiMessage) -> Vec<UiCommand> {
    let mut cmds = apply(model, msg);
    cmds.extend(submit::meanwhile(model));
    let cmds = trust_gate::hold_for_trust(model, cmds);
    let mut cmds = resuming::hold_commands(model, cmds);
    command_availability::explain(model);
    cmds.extend(panes::request_definition(model));
    if model.composer.wants_earlier() {
        cmds.push(UiCommand::Recall);
    }
    // before anything else: leaving may be among it
    let kept = model.composer.take_unsaved_texts().into_iter().map(UiCommand::Remember);
    cmds.splice(0..0, kept);
    cmds
}

fn apply(model: &mut UiModel, msg: UiMessage) -> Vec<UiCommand> {
    match msg {
        UiMessage::Key(key, at) => {
            let mut cmds = keys::press(model, key, at);
            cmds.extend(open_run::scrolled(model));
            cmds
        }
        UiMessage::Paste(text) => keys::paste(model, &text),
        UiMessage::Mouse(event) if model.edit.is_some() => {
            editor::wheel(model, event.kind);
            Vec::new()
        }
        UiMessage::Mouse(event) if model.archive.is_some() => match event.kind {
            MouseEventKind::ScrollUp => history_browser::wheel(model, false),
            MouseEventKind::ScrollDown => history_browser::wheel(model, true),
            _ => Vec::new(),
        },
        UiMessage::Mouse(event) => panes::mouse(model, event),
        UiMessage::Resize(columns, rows) => {
            model.size = (columns, rows);
            Vec::new()
        }
        UiMessage::Background(light) => {
            model.background.light = Some(light);
            model.use_background();
            Vec::new()
        }
        UiMessage::Run(published) => {
            model.now = model.now.max(published.at);
            let cmds = run_events::event(model, &published.run, published.at, published.event);
            open_run::trim(model);
            cmds
        }
        UiMessage::Tick(at) => {
            model.now = model.now.max(at);
            history_browser::tick(model)
        }
        UiMessage::Stirred(at) => {
            model.now = model.now.max(at);
            history_browser::on_store_change(model)
        }
        UiMessage::Reply(reply) => backend_replies::reply(model, reply),
    }
}

/// Leaves: conversations end, a workflow is left as it is and can be taken up again.
pub fn leave(model: &mut UiModel) -> Vec<UiCommand> {
    model.leaving = true;
    let open: Vec<&RunView> = model.runs.iter().filter(|run| !run.over).collect();
    let left = open.iter().filter(|run| !run.chat && !run.stopping);
    let left = left.map(|run| (run.workflow.clone(), run.id.clone())).collect();
    let how = |run: &&RunView| if run.chat { RunCommand::End } else { RunCommand::Leave };
    let mut cmds: Vec<UiCommand> = open.iter().map(|run| UiCommand::Send(run.id.clone(), how(run))).collect();
    model.left = left;
    cmds.push(UiCommand::Quit);
    cmds
}
