//! Runs that are being taken up: what they are told waits until somebody drives them.
//!
//! Their past is on screen before that, with where they stand and what can be done there: whoever types it at once is not
//! too early.

use crate::domain::ids::RunId;
use crate::engine::input::Answer;
use crate::runtime::command::Command;
use crate::tui::model::Model;
use crate::tui::msg::Cmd;

/// From now on what the run is told waits.
pub fn begins(model: &mut Model, run: &RunId) {
    model.rising.entry(run.clone()).or_default();
}

/// It is driven: it is told what has waited, in the order in which that was said.
pub fn driven(model: &mut Model, run: &RunId) -> Vec<Cmd> {
    let waited = model.rising.remove(run).unwrap_or_default();
    waited.into_iter().map(|command| Cmd::Send(run.clone(), command)).collect()
}

/// It is not taken up, and hears nothing: what was typed for where it stood comes back.
pub fn given_up(model: &mut Model, run: &RunId) {
    let waited = model.rising.remove(run).unwrap_or_default();
    let texts = waited.into_iter().filter_map(|command| match command {
        Command::Answer { answer: Answer::Text { text }, .. } => Some(text),
        _ => None,
    });
    model.queued.extend(texts);
}

/// Keeps what is meant for such a run. Whoever leaves waits for nothing.
pub fn hold(model: &mut Model, cmds: Vec<Cmd>) -> Vec<Cmd> {
    if model.rising.is_empty() || model.leaving {
        return cmds;
    }
    let mut now = Vec::with_capacity(cmds.len());
    for cmd in cmds {
        match cmd {
            Cmd::Send(run, command) => match model.rising.get_mut(&run) {
                Some(waiting) => waiting.push(command),
                None => now.push(Cmd::Send(run, command)),
            },
            cmd => now.push(cmd),
        }
    }
    now
}
