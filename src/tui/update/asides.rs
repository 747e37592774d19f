//! Commands that look something up beside what goes on: agents, graphs, pages, trust, a command for the shell.

use super::{typing, verbosity};
use crate::tui::backend::{Page, ShellTold};
use crate::tui::dialog::Dialog;
use crate::tui::keymap::{self, ACTIONS};
use crate::tui::layout::Pane;
use crate::tui::model::Model;
use crate::tui::msg::{Cmd, Reply};
use crate::tui::report::agents;
use crate::tui::slash::{Action, closest};
use crate::tui::transcript::item::{Block, Item, Tone};

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
        Action::Shell(command) => {
            say(model, &format!("$ {command}"));
            return vec![Cmd::Shell(command, false)];
        }
        Action::ShellAdd => match model.shell.clone() {
            Some(text) => model.composer.paste(&text),
            None => say(model, "no command was run yet: /cmd COMMAND"),
        },
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
        Reply::Shell { command, told } => ran(model, command, told),
        _ => {}
    }
}

fn ran(model: &mut Model, command: String, told: Result<ShellTold, String>) {
    match told {
        Ok(ShellTold::Risky(why)) => {
            let body = format!("$ {command}\n\n! {why}");
            let again = Cmd::Shell(command, true);
            model.dialogs.push_back(Dialog::confirm("Run this command?", &body, again));
        }
        Ok(ShellTold::Done { ok, summary, text }) => {
            let (tone, sign) = if ok { (Tone::Accent, "$") } else { (Tone::Bad, "✗ $") };
            let block = Block::new(tone, &format!("{sign} {command} · {summary}"), &text);
            model.say(Item::Block(block.foot("→ /cmd add puts it into the input box")));
            model.shell = Some(format!("$ {command}\n{}\n", text.trim_end()));
        }
        Err(reason) => {
            model.say(Item::error("the command was not run", &reason));
        }
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
