//! Requests of the history to the backend, numbered so that a late reply is recognized.

use crate::display::DisplayRequest;
use crate::history_browser::{BrowsedRun, HistoryRequest, HistoryWait, HistoryWaitKind};
use crate::model::UiModel;
use crate::msg::UiCommand;

/// A number for the next question.
pub(super) fn next_query_number(model: &mut UiModel) -> u64 {
    model.history_query_count += 1;
    model.history_query_count
}

pub(super) fn query_command(number: u64, asked: HistoryRequest) -> UiCommand {
    UiCommand::Display(DisplayRequest::History(number, Box::new(asked)))
}

/// Asks something that other keys wait for.
pub(super) fn wait_for(model: &mut UiModel, asked: HistoryRequest, about: &str) -> Vec<UiCommand> {
    let number = next_query_number(model);
    if let Some(archive) = &mut model.history_browser {
        archive.pending_wait =
            Some(HistoryWait { wait_kind: HistoryWaitKind::Answer(number), label: about.to_owned() });
    }
    vec![query_command(number, asked)]
}

/// Opens the run under the cursor of the list.
pub(super) fn open_selected_run(model: &mut UiModel) -> Vec<UiCommand> {
    let Some(row) = model.history_browser.as_ref().and_then(|archive| archive.list.chosen_run()).cloned()
    else {
        return Vec::new();
    };
    let number = next_query_number(model);
    let Some(archive) = &mut model.history_browser else { return Vec::new() };
    let run = row.id.clone();
    archive.run = Some(Box::new(BrowsedRun::new(row, number)));
    vec![query_command(number, HistoryRequest::Open { run, known_state: None })]
}
