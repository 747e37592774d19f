//! The workflow in front: the one that commands and plain text are for.

use crate::domain::ids::RunId;
use crate::engine::steering::Steering;
use crate::runtime::command::Command;
use crate::tui::model::Model;
use crate::tui::msg::Cmd;
use crate::tui::run_view::RunView;
use crate::tui::transcript::item::Item;

pub fn front(model: &Model) -> Option<&RunView> {
    if let Some(id) = &model.workflow {
        return model.run(id).filter(|run| !run.over);
    }
    // one that is being read is on screen already: what is typed there is for it
    let opening = model.opening.as_ref().filter(|opening| opening.lent)?;
    model.run(&opening.run).filter(|run| !run.chat)
}

pub fn send(run: RunId, steering: Steering) -> Vec<Cmd> {
    vec![Cmd::Send(run, Command::Steer(steering))]
}

pub fn nothing_runs(model: &mut Model) -> Vec<Cmd> {
    model.say(Item::warning("no workflow runs: /workflow NAME starts one, /resume takes one up again"));
    Vec::new()
}
