//! Leaving the program.

use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::run_view::RunView;
use synthdev_service::run_steering::RunCommand;

/// Leaves: every run can be resumed.
pub fn leave_program(model: &mut UiModel) -> Vec<UiCommand> {
    model.is_leaving = true;
    let open: Vec<&RunView> = model.runs.iter().filter(|run| !run.is_over).collect();
    let left = open.iter().filter(|run| !run.chat && !run.is_cancelling);
    let left = left.map(|run| (run.workflow.clone(), run.id.clone())).collect();
    let mut cmds: Vec<UiCommand> =
        open.iter().map(|run| UiCommand::Send(run.id.clone(), RunCommand::Leave)).collect();
    model.chat_left = open.iter().any(|run| run.chat);
    model.runs_left = left;
    cmds.push(UiCommand::Quit);
    cmds
}
