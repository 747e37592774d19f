//! The only place that changes the model: one message in, wishes out. Reads no clock, waits for nothing.

use ratatui::crossterm::event::MouseEventKind;

use crate::runtime::command::Command;
use crate::tui::model::Model;
use crate::tui::msg::{Cmd, Msg};
use crate::tui::run_view::RunView;

mod answers;
mod approvals;
mod archive;
mod asides;
mod busy;
mod clipboard;
mod commands;
mod editor;
mod front;
pub mod gone;
pub mod history;
mod index;
mod interrupted;
mod keys;
mod mention;
mod opening;
mod palette;
mod panes;
pub mod past;
mod replies;
mod rising;
pub mod runs;
mod setup;
mod shell;
mod steering;
mod submit;
mod tasks;
mod trusting;
mod typing;
mod unread;
pub mod verbosity;

/// Applies one message.
pub fn update(model: &mut Model, msg: Msg) -> Vec<Cmd> {
    let mut cmds = apply(model, msg);
    cmds.extend(submit::meanwhile(model));
    let cmds = trusting::hold(model, cmds);
    let mut cmds = rising::hold(model, cmds);
    palette::explain(model);
    cmds.extend(panes::wanted(model));
    if model.composer.wants_earlier() {
        cmds.push(Cmd::Recall);
    }
    // before anything else: leaving may be among it
    let kept = model.composer.take_news().into_iter().map(Cmd::Remember);
    cmds.splice(0..0, kept);
    cmds
}

fn apply(model: &mut Model, msg: Msg) -> Vec<Cmd> {
    match msg {
        Msg::Key(key, at) => {
            let mut cmds = keys::press(model, key, at);
            cmds.extend(opening::scrolled(model));
            cmds
        }
        Msg::Paste(text) => keys::paste(model, &text),
        Msg::Mouse(event) if model.edit.is_some() => {
            editor::wheel(model, event.kind);
            Vec::new()
        }
        Msg::Mouse(event) if model.archive.is_some() => match event.kind {
            MouseEventKind::ScrollUp => archive::wheel(model, false),
            MouseEventKind::ScrollDown => archive::wheel(model, true),
            _ => Vec::new(),
        },
        Msg::Mouse(event) => panes::mouse(model, event),
        Msg::Resize(columns, rows) => {
            model.size = (columns, rows);
            Vec::new()
        }
        Msg::Background(light) => {
            model.background.light = Some(light);
            model.use_background();
            Vec::new()
        }
        Msg::Run(published) => {
            model.now = model.now.max(published.at);
            let cmds = runs::event(model, &published.run, published.at, published.event);
            opening::trim(model);
            cmds
        }
        Msg::Tick(at) => {
            model.now = model.now.max(at);
            archive::tick(model)
        }
        Msg::Stirred(at) => {
            model.now = model.now.max(at);
            archive::stirred(model)
        }
        Msg::Reply(reply) => replies::reply(model, reply),
    }
}

/// Leaves: conversations end, a workflow is left as it is and can be taken up again.
pub fn leave(model: &mut Model) -> Vec<Cmd> {
    model.leaving = true;
    let open: Vec<&RunView> = model.runs.iter().filter(|run| !run.over).collect();
    let left = open.iter().filter(|run| !run.chat && !run.stopping);
    let left = left.map(|run| (run.workflow.clone(), run.id.clone())).collect();
    let how = |run: &&RunView| if run.chat { Command::End } else { Command::Leave };
    let mut cmds: Vec<Cmd> = open.iter().map(|run| Cmd::Send(run.id.clone(), how(run))).collect();
    model.left = left;
    cmds.push(Cmd::Quit);
    cmds
}
