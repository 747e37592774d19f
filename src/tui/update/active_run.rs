//! The workflow in front: the one that commands and plain text are for.

use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::run_view::RunView;
use crate::transcript::item::TranscriptItem;
use synthdev_domain::ids::RunId;
use synthdev_service::run_steering::{RunCommand, SteeringAction};

pub fn active_run(model: &UiModel) -> Option<&RunView> {
    if let Some(id) = &model.workflow {
        return model.find_run(id).filter(|run| !run.is_over);
    }
    // one that is being read is on screen already: what is typed there is for it
    let opening = model.opening_run.as_ref().filter(|opening| opening.view_from_preview)?;
    model.find_run(&opening.run).filter(|run| !run.chat)
}

pub fn steer_commands(run: RunId, steering: SteeringAction) -> Vec<UiCommand> {
    vec![UiCommand::Send(run, RunCommand::Steer(steering))]
}

/// The user wants a run of this session to stop before its next state. The run forgets that when it is interrupted.
pub fn note_pause_request(model: &mut UiModel, run: &RunId) {
    let is_live = model.live_runs().any(|live| live.id == *run);
    if let Some(view) = model.run_mut(run).filter(|_| is_live) {
        view.is_pause_requested = true;
    }
}

pub fn report_no_active_run(model: &mut UiModel) -> Vec<UiCommand> {
    model.add_item(TranscriptItem::warning_item(
        "no workflow runs: /workflow NAME starts one, /resume continues one",
    ));
    Vec::new()
}
