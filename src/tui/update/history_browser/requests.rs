//! Questions of the history to the backend, numbered so that an answer finds whoever still waits for it.

use crate::history_browser::{BrowsedRun, HistoryRequest, HistoryWait, HistoryWaitKind};
use crate::model::UiModel;
use crate::msg::UiCommand;

/// A number for the next question.
pub(super) fn number(model: &mut UiModel) -> u64 {
    model.archives += 1;
    model.archives
}

pub(super) fn ask(number: u64, asked: HistoryRequest) -> UiCommand {
    UiCommand::Archive(number, Box::new(asked))
}

/// Asks something that other keys wait for.
pub(super) fn wait_for(model: &mut UiModel, asked: HistoryRequest, about: &str) -> Vec<UiCommand> {
    let number = number(model);
    if let Some(archive) = &mut model.archive {
        archive.wait = Some(HistoryWait { what: HistoryWaitKind::Answer(number), about: about.to_owned() });
    }
    vec![ask(number, asked)]
}

/// Opens the run under the cursor of the list.
pub(super) fn enter(model: &mut UiModel) -> Vec<UiCommand> {
    let Some(row) = model.archive.as_ref().and_then(|archive| archive.list.chosen()).cloned() else {
        return Vec::new();
    };
    let number = number(model);
    let Some(archive) = &mut model.archive else { return Vec::new() };
    let run = row.id.clone();
    archive.run = Some(Box::new(BrowsedRun::new(row, number)));
    vec![ask(number, HistoryRequest::Open { run, known: None })]
}
