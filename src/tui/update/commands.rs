//! What each slash command does.

use std::collections::BTreeSet;

use super::busy::{end_chat, refuse_while_busy};
use super::{editor, history, history_browser, lookups, panes, setup, steering};
use crate::backend::{ConcurrentRunMode, SnapshotOperation};
use crate::dialog::QuestionDialog;
use crate::model::UiModel;
use crate::msg::{SnapshotPurpose, UiCommand};
use crate::slash::{self, SlashAction};
use crate::theme;
use crate::transcript::item::{ItemTone, TranscriptItem};

/// Runs a command line; one that is not understood says why and changes nothing.
pub fn run(model: &mut UiModel, line: &str) -> Vec<UiCommand> {
    match slash::parse(line) {
        Ok(action) => act(model, action),
        Err(reason) => {
            model.say(TranscriptItem::line(ItemTone::Bad, &reason));
            Vec::new()
        }
    }
}

fn act(model: &mut UiModel, action: SlashAction) -> Vec<UiCommand> {
    match action {
        SlashAction::Help(name) => help(model, name.as_deref()),
        SlashAction::Workflow { name, input, beside } => workflow(model, name, input, beside),
        SlashAction::Workflows => vec![UiCommand::Workflows],
        SlashAction::Role(name) => {
            if refuse_while_busy(model, "change the role") {
                Vec::new()
            } else {
                vec![UiCommand::Role(name)]
            }
        }
        SlashAction::Roles(group) => vec![UiCommand::Roles(group)],
        SlashAction::Tools => vec![UiCommand::Tools(model.facts.role.clone())],
        SlashAction::Cost => {
            let models: BTreeSet<String> = model.ledger().entries.iter().map(|entry| entry.model).collect();
            vec![UiCommand::Prices(models.into_iter().collect())]
        }
        SlashAction::Review(agent) => review(model, agent),
        SlashAction::Runs { statuses, words } => {
            panes::show_live_runs(model);
            vec![history::runs(statuses, words)]
        }
        SlashAction::Search(words) => vec![UiCommand::Search(words)],
        // typed twice while a run is being taken up, it does not let it go on from where it stands
        SlashAction::Resume(None) if model.is_workflow_stopped() && model.rising.is_empty() => {
            steering::continue_run(model)
        }
        SlashAction::Resume(run) => history::resume(model, run),
        SlashAction::Steps(run) => history::steps(model, run),
        SlashAction::Travel(travel) => history::travel(model, travel),
        SlashAction::Snapshot(command) => snapshot(model, command),
        SlashAction::Configure(level) => setup::open(model, level),
        SlashAction::Keys => {
            let table = model.keymap.table();
            model.answer("Keys", &table);
            Vec::new()
        }
        SlashAction::Theme(Some(name)) => {
            model.background.wanted = name == "auto";
            vec![UiCommand::Theme(name)]
        }
        SlashAction::Theme(None) => {
            model.say(TranscriptItem::note(&theme::list(model.theme)));
            Vec::new()
        }
        SlashAction::Mouse(wanted) => mouse(model, wanted),
        SlashAction::Steer(steer) => steering::act(model, steer),
        SlashAction::Watch(wanted) => {
            panes::watch_named(model, wanted.as_deref());
            Vec::new()
        }
        SlashAction::Edit { name, external } => editor::open(model, name, external),
        SlashAction::EditNew(name) => editor::open_fresh(model, name),
        SlashAction::History => history_browser::open(model),
        SlashAction::Clear => clear(model),
        SlashAction::Quit => super::leave(model),
        aside => lookups::act(model, aside),
    }
}

fn mouse(model: &mut UiModel, wanted: Option<bool>) -> Vec<UiCommand> {
    model.mouse = wanted.unwrap_or(!model.mouse);
    let text = if model.mouse { "the mouse scrolls and chooses panes" } else { "the mouse selects text" };
    model.say(TranscriptItem::note(text));
    vec![UiCommand::Mouse(model.mouse)]
}

fn review(model: &mut UiModel, agent: Option<String>) -> Vec<UiCommand> {
    let Some(run) = model.shown_run().map(|run| run.id.clone()) else {
        model.say(TranscriptItem::line(ItemTone::Bad, "nothing was asked so far"));
        return Vec::new();
    };
    vec![UiCommand::Review { run, agent }]
}

fn help(model: &mut UiModel, name: Option<&str>) -> Vec<UiCommand> {
    match slash::help::help(name, &model.keymap.help()) {
        Ok((title, text)) => model.answer(&title, &text),
        Err(reason) => drop(model.say(TranscriptItem::line(ItemTone::Bad, &reason))),
    }
    Vec::new()
}

/// A workflow may begin while others go on; the backend says if it would change their files.
fn workflow(
    model: &mut UiModel,
    name: String,
    input: String,
    beside: Option<ConcurrentRunMode>,
) -> Vec<UiCommand> {
    let front = model.workflow.take();
    let refused = refuse_while_busy(model, "start a workflow");
    model.workflow = front;
    if refused {
        return Vec::new();
    }
    vec![match beside {
        Some(beside) => UiCommand::StartBeside { name, input, beside },
        None if input.is_empty() => UiCommand::ChooseWorkflow(name),
        None => UiCommand::StartWorkflow { name, input },
    }]
}

fn snapshot(model: &mut UiModel, command: SnapshotOperation) -> Vec<UiCommand> {
    match command {
        SnapshotOperation::Restore { id } => {
            if refuse_while_busy(model, "restore files") {
                return Vec::new();
            }
            vec![UiCommand::Snapshot(SnapshotOperation::Show { id }, SnapshotPurpose::BeforeRestore)]
        }
        SnapshotOperation::Delete { id } => {
            let title = format!("Delete snapshot {id}?");
            let cmd = UiCommand::Snapshot(SnapshotOperation::Delete { id }, SnapshotPurpose::Show);
            model.dialogs.push_back(QuestionDialog::confirm(
                &title,
                "The files of the project stay as they are.",
                cmd,
            ));
            Vec::new()
        }
        other => vec![UiCommand::Snapshot(other, SnapshotPurpose::Show)],
    }
}

/// The screen is emptied and the conversation starts anew; the role stays. A workflow goes on.
fn clear(model: &mut UiModel) -> Vec<UiCommand> {
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
    model.runs.iter_mut().for_each(|view| view.remap_positions(|_| None));
    if model.workflow.is_some() {
        return Vec::new();
    }
    end_chat(model)
}
