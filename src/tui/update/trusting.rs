//! Nothing begins while it is asked whether the project's own definitions count: it waits for the answer, in its order.

use crate::tui::dialog::Kind;
use crate::tui::model::Model;
use crate::tui::msg::Cmd;
use crate::tui::transcript::item::Item;

/// Keeps back what the answer decides about.
pub fn hold(model: &mut Model, cmds: Vec<Cmd>) -> Vec<Cmd> {
    if !model.dialogs.iter().any(|dialog| matches!(dialog.kind, Kind::Trust)) {
        return cmds;
    }
    let (begins, now): (Vec<Cmd>, Vec<Cmd>) = cmds.into_iter().partition(Cmd::begins);
    for cmd in begins {
        if let Some(what) = told(&cmd) {
            model.say(Item::note(&format!(
                "{what} waits until you have said whether this project is trusted"
            )));
        }
        // one conversation takes all texts
        if !model.start.contains(&cmd) {
            model.start.push(cmd);
        }
    }
    now
}

/// What waits, in words; texts that wait are on screen anyway.
fn told(cmd: &Cmd) -> Option<String> {
    match cmd {
        Cmd::StartWorkflow { name, .. } | Cmd::StartBeside { name, .. } | Cmd::ChooseWorkflow(name) => {
            Some(format!("workflow {name}"))
        }
        Cmd::Role(name) => Some(format!("role {name}")),
        _ => None,
    }
}
