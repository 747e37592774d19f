//! The only place that changes the model: one message in, wishes out. Reads no clock, waits for nothing.

use crate::tui::model::Model;
use crate::tui::msg::{Cmd, Msg};

mod answers;
mod commands;
mod keys;
mod replies;
mod runs;
mod submit;

/// Applies one message.
pub fn update(model: &mut Model, msg: Msg) -> Vec<Cmd> {
    match msg {
        Msg::Key(key, at) => keys::press(model, key, at),
        Msg::Paste(text) => keys::paste(model, &text),
        Msg::Resize(columns, rows) => {
            model.size = (columns, rows);
            Vec::new()
        }
        Msg::Run(published) => {
            model.now = model.now.max(published.at);
            runs::event(model, &published.run, published.at, published.event)
        }
        Msg::Tick(at) => {
            model.now = model.now.max(at);
            Vec::new()
        }
        Msg::Reply(reply) => replies::reply(model, reply),
    }
}

/// Ends every run and leaves.
pub fn leave(model: &mut Model) -> Vec<Cmd> {
    model.leaving = true;
    let mut cmds: Vec<Cmd> = model
        .runs
        .iter()
        .filter(|run| !run.over)
        .map(|run| Cmd::Send(run.id.clone(), crate::runtime::command::Command::End))
        .collect();
    cmds.push(Cmd::Quit);
    cmds
}
