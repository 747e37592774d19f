//! Runs that are being taken up: what they are told waits until somebody drives them.
//!
//! Their past is on screen before that, with where they stand and what can be done there: whoever types it at once is not
//! too early.

use crate::model::UiModel;
use crate::msg::UiCommand;
use synthdev_domain::ids::RunId;
use synthdev_engine::input::UserAnswer;
use synthdev_runtime::command::RunCommand;

/// From now on what the run is told waits.
pub fn start_resuming(model: &mut UiModel, run: &RunId) {
    model.resuming_runs.entry(run.clone()).or_default();
}

/// It is driven: it is told what has waited, in the order in which that was said.
pub fn release_held_commands(model: &mut UiModel, run: &RunId) -> Vec<UiCommand> {
    let waited = model.resuming_runs.remove(run).unwrap_or_default();
    waited.into_iter().map(|command| UiCommand::Send(run.clone(), command)).collect()
}

/// It is not taken up, and hears nothing: what was typed for where it stood comes back.
pub fn abort_resuming(model: &mut UiModel, run: &RunId) {
    let waited = model.resuming_runs.remove(run).unwrap_or_default();
    let texts = waited.into_iter().filter_map(|command| match command {
        RunCommand::Answer { answer: UserAnswer::Text { text }, .. } => Some(text),
        _ => None,
    });
    model.queued.extend(texts);
}

/// Keeps what is meant for such a run. Whoever leaves waits for nothing.
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
