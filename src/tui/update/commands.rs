//! What each slash command does.

use std::collections::BTreeSet;

use super::busy::{end_chat, refuse_while_busy};
use super::{archive, asides, editor, history, panes, setup, steering};
use crate::tui::backend::{Beside, SnapshotCommand};
use crate::tui::dialog::Dialog;
use crate::tui::model::Model;
use crate::tui::msg::{Cmd, Purpose};
use crate::tui::slash::{self, Action};
use crate::tui::theme;
use crate::tui::transcript::item::{Item, Tone};

/// Runs a command line; one that is not understood says why and changes nothing.
pub fn run(model: &mut Model, line: &str) -> Vec<Cmd> {
    match slash::parse(line) {
        Ok(action) => act(model, action),
        Err(reason) => {
            model.say(Item::line(Tone::Bad, &reason));
            Vec::new()
        }
    }
}

fn act(model: &mut Model, action: Action) -> Vec<Cmd> {
    match action {
        Action::Help(name) => help(model, name.as_deref()),
        Action::Workflow { name, input, beside } => workflow(model, name, input, beside),
        Action::Workflows => vec![Cmd::Workflows],
        Action::Role(name) => {
            if refuse_while_busy(model, "change the role") {
                Vec::new()
            } else {
                vec![Cmd::Role(name)]
            }
        }
        Action::Roles(group) => vec![Cmd::Roles(group)],
        Action::Tools => vec![Cmd::Tools(model.facts.role.clone())],
        Action::Cost => {
            let models: BTreeSet<String> = model.ledger().entries.iter().map(|entry| entry.model).collect();
            vec![Cmd::Prices(models.into_iter().collect())]
        }
        Action::Review(agent) => review(model, agent),
        Action::Runs { statuses, words } => {
            panes::tell_live(model);
            vec![history::runs(statuses, words)]
        }
        Action::Search(words) => vec![Cmd::Search(words)],
        // typed twice while a run is being taken up, it does not let it go on from where it stands
        Action::Resume(None) if model.goes_on_here() && model.rising.is_empty() => steering::go_on(model),
        Action::Resume(run) => history::resume(model, run),
        Action::Steps(run) => history::steps(model, run),
        Action::Travel(travel) => history::travel(model, travel),
        Action::Snapshot(command) => snapshot(model, command),
        Action::Configure(level) => setup::open(model, level),
        Action::Keys => {
            let table = model.keymap.table();
            model.answer("Keys", &table);
            Vec::new()
        }
        Action::Theme(Some(name)) => {
            model.background.wanted = name == "auto";
            vec![Cmd::Theme(name)]
        }
        Action::Theme(None) => {
            model.say(Item::note(&theme::list(model.theme)));
            Vec::new()
        }
        Action::Mouse(wanted) => mouse(model, wanted),
        Action::Steer(steer) => steering::act(model, steer),
        Action::Watch(wanted) => {
            panes::watch_named(model, wanted.as_deref());
            Vec::new()
        }
        Action::Edit { name, external } => editor::open(model, name, external),
        Action::EditNew(name) => editor::open_fresh(model, name),
        Action::History => archive::open(model),
        Action::Clear => clear(model),
        Action::Quit => super::leave(model),
        aside => asides::act(model, aside),
    }
}

fn mouse(model: &mut Model, wanted: Option<bool>) -> Vec<Cmd> {
    model.mouse = wanted.unwrap_or(!model.mouse);
    let text = if model.mouse { "the mouse scrolls and chooses panes" } else { "the mouse selects text" };
    model.say(Item::note(text));
    vec![Cmd::Mouse(model.mouse)]
}

fn review(model: &mut Model, agent: Option<String>) -> Vec<Cmd> {
    let Some(run) = model.shown_run().map(|run| run.id.clone()) else {
        model.say(Item::line(Tone::Bad, "nothing was asked so far"));
        return Vec::new();
    };
    vec![Cmd::Review { run, agent }]
}

fn help(model: &mut Model, name: Option<&str>) -> Vec<Cmd> {
    match slash::help::help(name, &model.keymap.help()) {
        Ok((title, text)) => model.answer(&title, &text),
        Err(reason) => drop(model.say(Item::line(Tone::Bad, &reason))),
    }
    Vec::new()
}

/// A workflow may begin while others go on; the backend says if it would change their files.
fn workflow(model: &mut Model, name: String, input: String, beside: Option<Beside>) -> Vec<Cmd> {
    let front = model.workflow.take();
    let refused = refuse_while_busy(model, "start a workflow");
    model.workflow = front;
    if refused {
        return Vec::new();
    }
    vec![match beside {
        Some(beside) => Cmd::StartBeside { name, input, beside },
        None if input.is_empty() => Cmd::ChooseWorkflow(name),
        None => Cmd::StartWorkflow { name, input },
    }]
}

fn snapshot(model: &mut Model, command: SnapshotCommand) -> Vec<Cmd> {
    match command {
        SnapshotCommand::Restore { id } => {
            if refuse_while_busy(model, "restore files") {
                return Vec::new();
            }
            vec![Cmd::Snapshot(SnapshotCommand::Show { id }, Purpose::BeforeRestore)]
        }
        SnapshotCommand::Delete { id } => {
            let title = format!("Delete snapshot {id}?");
            let cmd = Cmd::Snapshot(SnapshotCommand::Delete { id }, Purpose::Show);
            model.dialogs.push_back(Dialog::confirm(
                &title,
                "The files of the project stay as they are.",
                cmd,
            ));
            Vec::new()
        }
        other => vec![Cmd::Snapshot(other, Purpose::Show)],
    }
}

/// The screen is emptied and the conversation starts anew; the role stays (REPL-8). A workflow goes on.
fn clear(model: &mut Model) -> Vec<Cmd> {
    for run in &mut model.runs {
        run.replies.clear();
        run.tools.clear();
        run.retry.clear();
    }
    if let Some(opening) = &mut model.opening {
        opening.shown = None;
    }
    model.transcript.clear();
    // the line that named who spoke last is gone, too
    model.voice = None;
    model.shell.forget_along();
    // what still grows goes on below
    model.runs.iter_mut().for_each(|view| view.moved(|_| None));
    if model.workflow.is_some() {
        return Vec::new();
    }
    end_chat(model)
}
