//! Commands about the conversation that is open: its name, and its summary.

use super::busy;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::transcript::item::TranscriptItem;
use synthdev_domain::ids::RunId;
use synthdev_service::run_steering::{RunCommand, SteeringAction};

pub(super) fn rename_conversation(model: &mut UiModel, name: String) -> Vec<UiCommand> {
    let Some(run) = open_conversation(model) else { return Vec::new() };
    vec![UiCommand::Send(run, RunCommand::Steer(SteeringAction::Rename { name }))]
}

/// `keep`: what the summary must keep.
pub(super) fn compact_conversation(model: &mut UiModel, keep: String) -> Vec<UiCommand> {
    if busy::refuse_while_busy(model, "sum up the conversation") {
        return Vec::new();
    }
    let Some(run) = open_conversation(model) else { return Vec::new() };
    let now = model.now;
    if let Some(view) = model.run_mut(&run) {
        // a text that is typed meanwhile waits for the end of it
        (view.awaiting_text, view.busy_since) = (None, Some(now));
    }
    vec![UiCommand::Send(run, RunCommand::Steer(SteeringAction::Compact { keep }))]
}

/// The conversation that plain text goes to; says so if there is none.
fn open_conversation(model: &mut UiModel) -> Option<RunId> {
    let open = model.chat.clone().filter(|id| model.find_run(id).is_some_and(|run| !run.is_over));
    if open.is_none() {
        let note = "no conversation is open: a message starts one, /resume reopens one";
        model.add_item(TranscriptItem::note_item(note));
    }
    open
}
