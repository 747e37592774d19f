//! Esc in a workflow: the models are stopped in the middle of a word, and the person says how it goes on (WFM-6, WFM-9).

use crate::domain::ids::{CallId, RunId};
use crate::engine::input::Answer;
use crate::engine::steering::{Breakpoint, Steering};
use crate::runtime::command::Command;
use crate::tui::dialog::Dialog;
use crate::tui::model::Model;
use crate::tui::msg::Cmd;
use crate::tui::run_view::Stand;

/// Esc while a workflow works.
pub(super) fn interrupt(model: &mut Model, run: RunId) -> Vec<Cmd> {
    model.hint = Some("interrupting … · Ctrl+C ends it".to_owned());
    if model.run(&run).is_some_and(|view| view.interrupting) {
        // it was asked already, and what it does cannot be stopped: a tool, a script
        model.hint = Some("it stands still when what runs now is over · Ctrl+C or /stop ends it".to_owned());
        return Vec::new();
    }
    if let Some(view) = model.run_mut(&run) {
        view.interrupting = true;
    }
    vec![Cmd::Send(run, Command::Interrupt)]
}

/// Ctrl+C while a workflow works.
pub(super) fn end(model: &mut Model, run: RunId) -> Vec<Cmd> {
    model.hint = Some("stopping …".to_owned());
    if let Some(view) = model.run_mut(&run) {
        view.stopping = true;
    }
    vec![Cmd::Send(run, Command::Cancel)]
}

/// Esc where it stands still already: shall it end?
pub(super) fn asks(model: &mut Model) -> Vec<Cmd> {
    let front = model.workflow.as_ref().and_then(|id| model.run(id));
    let Some((run, name)) = front.map(|run| (run.id.clone(), run.workflow.clone())) else {
        return Vec::new();
    };
    let body = "It stands still. No leaves it so: type what shall be different, or /continue, /step, /set.\n\
                Yes ends the run; what it did stays, and /undo brings the files back.";
    let cmd = Cmd::Send(run, Command::Cancel);
    model.dialogs.push_back(Dialog::confirm(&format!("End {name}?"), body, cmd));
    Vec::new()
}

/// A text while models were interrupted: they are told it when they are asked again. `None`: none was, or they were told
/// already.
pub(super) fn guide(model: &mut Model, run: &RunId, text: &str) -> Option<Vec<Cmd>> {
    let view = model.run_mut(run)?;
    let now = |stand: &mut Stand| stand.point == Some(Breakpoint::Now);
    // one answer each: what is typed next is another text
    let calls: Vec<CallId> = view.stands.extract_if(.., now).map(|stand| stand.call).collect();
    let told = |call: CallId| {
        Cmd::Send(run.clone(), Command::Answer { call, answer: Answer::Text { text: text.to_owned() } })
    };
    let mut cmds: Vec<Cmd> = calls.into_iter().map(told).collect();
    if cmds.is_empty() {
        return None;
    }
    if !view.stands.is_empty() {
        cmds.push(Cmd::Send(run.clone(), Command::Steer(Steering::Continue)));
    }
    Some(cmds)
}
