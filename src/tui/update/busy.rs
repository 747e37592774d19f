//! What has to be over before something else begins.

use crate::runtime::command::Command;
use crate::tui::backend::Preparation;
use crate::tui::model::Model;
use crate::tui::msg::{Beginning, Cmd};
use crate::tui::transcript::item::Item;

/// Says what is in the way, if something is.
pub fn refuse_while_busy(model: &mut Model, what: &str) -> bool {
    let Some(why) = in_the_way(model, what) else { return false };
    model.say(Item::warning(&why));
    true
}

/// What is in the way, in words.
pub fn in_the_way(model: &Model, what: &str) -> Option<String> {
    if let Some(Beginning { name, waits_for, .. }) = &model.beginning {
        return Some(match waits_for {
            Preparation::Files => format!("cannot {what} while the files for {name} are copied"),
            Preparation::Windows => format!("cannot {what} while a server is asked for the window of {name}"),
        });
    }
    if let Some(opening) = &model.opening {
        return Some(format!("cannot {what} while run {} is being read", opening.run));
    }
    let run = model.busy_run()?;
    if let Some(stand) = run.stands.first() {
        return Some(format!(
            "cannot {what} while {} stands {} — /continue or /stop",
            run.workflow,
            stand.place()
        ));
    }
    let name =
        if run.chat { "the agent is answering".to_owned() } else { format!("{} is running", run.workflow) };
    Some(format!("cannot {what} while {name} — Esc stops it"))
}

/// Something is in the way of taking up a run.
pub fn is_busy(model: &Model) -> bool {
    model.beginning.is_some() || model.opening.is_some() || model.busy_run().is_some()
}

/// Leaves the conversation; the next text starts one.
pub fn end_chat(model: &mut Model) -> Vec<Cmd> {
    model.chat.take().map(|id| vec![Cmd::Send(id, Command::End)]).unwrap_or_default()
}
