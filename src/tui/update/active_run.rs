//! The workflow in front: the one that commands and plain text are for.

use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::run_view::RunView;
use crate::transcript::item::TranscriptItem;
use synthdev_domain::ids::RunId;
use synthdev_engine::steering::SteeringAction;
use synthdev_runtime::command::RunCommand;

pub fn active_run(model: &UiModel) -> Option<&RunView> {
    if let Some(id) = &model.workflow {
        return model.run(id).filter(|run| !run.over);
    }
    // one that is being read is on screen already: what is typed there is for it
    let opening = model.opening.as_ref().filter(|opening| opening.lent)?;
    model.run(&opening.run).filter(|run| !run.chat)
}

pub fn send(run: RunId, steering: SteeringAction) -> Vec<UiCommand> {
    vec![UiCommand::Send(run, RunCommand::Steer(steering))]
}

pub fn nothing_runs(model: &mut UiModel) -> Vec<UiCommand> {
    model.say(TranscriptItem::warning(
        "no workflow runs: /workflow NAME starts one, /resume takes one up again",
    ));
    Vec::new()
}
