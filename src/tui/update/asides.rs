//! Commands that look something up beside what goes on: agents, graphs, pages, trust.

use super::{index, shell, tasks, typing, verbosity};
use crate::tui::backend::Page;
use crate::tui::dialog::Dialog;
use crate::tui::keymap::{self, ACTIONS};
use crate::tui::layout::Pane;
use crate::tui::model::Model;
use crate::tui::msg::{Cmd, Reply};
use crate::tui::report::agents;
use crate::tui::slash::{Action, closest};
use crate::tui::transcript::item::{Item, Tone};

pub fn act(model: &mut Model, action: Action) -> Vec<Cmd> {
    match action {
        Action::Agents if model.runs.is_empty() => say(model, "nobody has been asked in this session"),
        Action::Agents => report(model, "Agents", &agents::all(&model.runs)),
        Action::Agent(name) => return agent(model, &name),
        Action::Graph(wanted) => return graph(model, wanted),
        Action::Pane(name) => pane(model, &name),
        Action::Page(Page::Export { run, file }) => return export(model, run, file),
        Action::Page(page) => return vec![Cmd::Page(page)],
        Action::Budget => match model.watched_run().map(agents::budget) {
            Some(text) => report(model, "Budget", &text),
            None => say(model, "nothing has run in this session"),
        },
        Action::Trust(Some(false)) => return vec![Cmd::Trust(false)],
        Action::Trust(_) => return vec![Cmd::Trusts],
        Action::Shell(line) => return shell::act(model, line),
        Action::Task(deed) => return vec![Cmd::Task(deed)],
        Action::Index(limit) => return index::look(model, limit),
        Action::Vim(wanted) => typing::vim(model, wanted),
        Action::Verbosity(wanted) => return verbosity::set(model, wanted),
        // the rest is done where it is read
        _ => {}
    }
    Vec::new()
}

pub fn reply(model: &mut Model, reply: Reply) {
    match reply {
        Reply::Page(Ok((title, text))) => report(model, &title, &text),
        Reply::Page(Err(reason)) | Reply::Trusts(Err(reason)) => {
            model.say(Item::line(Tone::Warning, &reason));
        }
        Reply::Trusts(Ok(asked)) => {
            model.dialogs.push_back(Dialog::trust(&asked.files, &asked.changes));
        }
        Reply::Shell { command, told } => shell::ran(model, command, told),
        Reply::Tasks { deed, told } => tasks::told(model, deed, told),
        Reply::Suggested(number, suggested, at) => shell::suggested(model, number, suggested, at),
        _ => {}
    }
}

fn agent(model: &mut Model, name: &str) -> Vec<Cmd> {
    let Some(run) = model.watched_run() else {
        say(model, "nobody has been asked in this session");
        return Vec::new();
    };
    match agents::one(run, name, model.transcript.items()) {
        Some(text) => report(model, name, &text),
        None => {
            let names = run.agents.iter().map(|agent| agent.name.as_str());
            let tail = closest(name, names)
                .map_or_else(|| "/agents lists them".to_owned(), |name| format!("did you mean {name}?"));
            let text = format!("no agent {name} in {} {} — {tail}", run.workflow, run.id);
            model.say(Item::line(Tone::Bad, &text));
        }
    }
    Vec::new()
}

/// On the screen the pane shows it; as a text it is for other workflows, and where there is no screen.
fn graph(model: &mut Model, wanted: Option<String>) -> Vec<Cmd> {
    let run = model.watched_run().filter(|run| !run.chat).map(|run| run.id.clone());
    match (wanted, run) {
        (Some(name), _) => vec![Cmd::Page(Page::Graph(name))],
        (None, Some(run)) if model.linear => vec![Cmd::Page(Page::RunGraph(run))],
        (None, Some(_)) => {
            model.panes.show(Pane::Graph);
            Vec::new()
        }
        (None, None) => {
            say(model, "no workflow has run in this session: /graph WORKFLOW draws one");
            Vec::new()
        }
    }
}

fn pane(model: &mut Model, name: &str) {
    let shown = |row: &&keymap::Row| matches!(row.action, keymap::Action::Show(_));
    let found = ACTIONS.iter().filter(shown).find(|row| row.name == name);
    if let Some(keymap::Action::Show(pane)) = found.map(|row| row.action) {
        return model.panes.show(pane);
    }
    let names: Vec<&str> = ACTIONS.iter().filter(shown).map(|row| row.name).collect();
    let text = format!("there is no pane {name}: they are {}", names.join(", "));
    model.say(Item::line(Tone::Bad, &text));
}

fn export(model: &mut Model, run: Option<String>, file: Option<String>) -> Vec<Cmd> {
    let run = run.or_else(|| model.watched_run().map(|run| run.id.to_string()));
    if run.is_none() {
        say(model, "nothing has run in this session: /export RUN");
        return Vec::new();
    }
    vec![Cmd::Page(Page::Export { run, file })]
}

fn say(model: &mut Model, text: &str) {
    model.say(Item::note(text));
}

fn report(model: &mut Model, title: &str, text: &str) {
    model.answer(title, text);
}
