//! Runs that are being resumed: their commands wait until a driver has them.
//!
//! Their past is on screen before that, with their state and the available commands: a user who types one at once is
//! not too early.

use crate::model::UiModel;
use crate::msg::UiCommand;
use synthdev_domain::ids::RunId;
use synthdev_service::run_steering::{BreakpointSet, RunCommand, UserAnswer};

/// From now on commands to the run wait.
pub fn start_resuming(model: &mut UiModel, run: &RunId) {
    model.resuming_runs.entry(run.clone()).or_default();
}

/// The run goes on. A workflow has taken the breakpoints that waited for one.
pub fn on_resumed(model: &mut UiModel, run: &RunId) -> Vec<UiCommand> {
    if model.find_run(run).is_some_and(|view| !view.chat) {
        model.breakpoints = BreakpointSet::default();
    }
    release_held_commands(model, run)
}

/// The run has a driver: sends the waiting commands, in their order.
pub fn release_held_commands(model: &mut UiModel, run: &RunId) -> Vec<UiCommand> {
    let waited = model.resuming_runs.remove(run).unwrap_or_default();
    waited.into_iter().map(|command| UiCommand::Send(run.clone(), command)).collect()
}

/// The run was not resumed: drops its commands, but returns typed answers to the input.
pub fn abort_resuming(model: &mut UiModel, run: &RunId) {
    let waited = model.resuming_runs.remove(run).unwrap_or_default();
    let texts = waited.into_iter().filter_map(|command| match command {
        RunCommand::Answer { answer: UserAnswer::Text { text }, .. } => Some(text),
        _ => None,
    });
    model.queued.extend(texts);
}

/// Holds commands to such runs. Leaving the program does not wait for them.
pub fn hold_commands(model: &mut UiModel, cmds: Vec<UiCommand>) -> Vec<UiCommand> {
    if model.resuming_runs.is_empty() || model.is_leaving {
        return cmds;
    }
    let mut now = Vec::with_capacity(cmds.len());
    for cmd in cmds {
        match cmd {
            UiCommand::Send(run, command) => match model.resuming_runs.get_mut(&run) {
                Some(waiting) => waiting.push(command),
                None => now.push(UiCommand::Send(run, command)),
            },
            cmd => now.push(cmd),
        }
    }
    now
}
