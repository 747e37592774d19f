//! Commands that agents have left running: asked for when one has been started, and again when one has ended.

use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::transcript::item::TranscriptItem;
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::tool::RunningCommand;
use synthdev_service::run_events::RunEvent;
use synthdev_service::session::RunRequest;

/// An event after which there may be another one.
pub fn on_event(model: &mut UiModel, run: &RunId, event: &RunEvent) -> Vec<UiCommand> {
    let changed = model.run_mut(run).is_some_and(|view| view.pane_data.running_commands.apply_event(event));
    let request = || RunRequest::RunningCommands { run: run.clone(), after_end: false };
    changed.then(|| UiCommand::ask(request())).into_iter().collect()
}

/// The list, as it is now. As long as something runs, one request waits for the next end.
pub fn on_listed(
    model: &mut UiModel,
    run: &RunId,
    after_end: bool,
    commands: Vec<RunningCommand>,
    at: Timestamp,
) -> Vec<UiCommand> {
    let Some(view) = model.run_mut(run).filter(|view| !view.is_over) else { return Vec::new() };
    let list = &mut view.pane_data.running_commands;
    let runs = !commands.is_empty();
    list.set_commands(commands, at);
    let waits = list.is_watched && !after_end;
    list.is_watched = runs || waits;
    view.pane_data.agents += 1;
    if !runs || waits {
        return Vec::new();
    }
    vec![UiCommand::ask(RunRequest::RunningCommands { run: run.clone(), after_end: true })]
}

/// `/stop c1`: of the run in front, else of any run of this session. `None`: no such command runs.
pub fn stop_command(model: &UiModel, id: &str) -> Option<Vec<UiCommand>> {
    let has =
        |run: &RunId| model.find_run(run).is_some_and(|view| view.pane_data.running_commands.has_command(id));
    let front = model.shown_run().map(|run| &run.id).filter(|run| has(run));
    let run = front.or_else(|| model.runs.iter().map(|run| &run.id).find(|run| has(run)))?.clone();
    Some(vec![UiCommand::ask(RunRequest::StopCommand { run, id: id.to_owned() })])
}

pub fn on_stopped(model: &mut UiModel, result: Result<String, String>) {
    model.add_item(match result {
        Ok(text) => TranscriptItem::note_item(&text),
        Err(reason) => TranscriptItem::warning_item(&reason),
    });
}
