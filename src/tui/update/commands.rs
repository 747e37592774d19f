//! What each slash command does.

use std::collections::BTreeSet;

use super::busy::{leave_chat, refuse_while_busy};
use super::leaving::leave_program;
use super::{conversation, editor, file_work, history, history_browser, lookups, panes, setup, steering};
use crate::dialog::QuestionDialog;
use crate::display::DisplayRequest;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::slash::{self, SlashAction};
use crate::theme;
use crate::transcript::item::{ItemTone, TranscriptItem};
use synthdev_service::run_start::FileSharingMode;
use synthdev_service::session::{DefinitionRequest, RunRequest, SnapshotOperation, StartRequest};

/// Runs a command line; one that is not understood says why and changes nothing.
pub fn run_command_line(model: &mut UiModel, line: &str) -> Vec<UiCommand> {
    match slash::parse_command_line(line) {
        Ok(action) => run_slash_action(model, action),
        Err(reason) => {
            model.add_item(TranscriptItem::line(ItemTone::Bad, &reason));
            Vec::new()
        }
    }
}

#[expect(clippy::too_many_lines, reason = "one match: a case for each kind, a line or two in each")]
fn run_slash_action(model: &mut UiModel, action: SlashAction) -> Vec<UiCommand> {
    match action {
        SlashAction::Help(name) => show_help(model, name.as_deref()),
        SlashAction::Workflow { name, input, sharing_mode: beside } => {
            start_workflow(model, name, input, beside)
        }
        SlashAction::Workflows => vec![UiCommand::ask(DefinitionRequest::Workflows)],
        SlashAction::Role(name) => {
            if refuse_while_busy(model, "change the role") {
                Vec::new()
            } else {
                vec![UiCommand::ask(DefinitionRequest::Role(name))]
            }
        }
        SlashAction::Roles(group) => vec![UiCommand::ask(DefinitionRequest::Roles(group))],
        SlashAction::Tools => vec![UiCommand::ask(DefinitionRequest::Tools(model.facts.role.clone()))],
        SlashAction::Cost => {
            let models: BTreeSet<String> = model.ledger().entries.iter().map(|entry| entry.model).collect();
            vec![UiCommand::ask(DefinitionRequest::Prices(models.into_iter().collect()))]
        }
        SlashAction::Review(agent) => review_call(model, agent),
        SlashAction::Runs { statuses, search_words: words } => {
            panes::show_live_runs(model);
            vec![history::list_runs_command(statuses, words)]
        }
        SlashAction::Search(words) => vec![UiCommand::ask(RunRequest::Search(words))],
        // typed twice while a run is being resumed, the second does not continue the run from its position
        SlashAction::Resume(None) if model.is_workflow_stopped() && model.resuming_runs.is_empty() => {
            steering::continue_run(model)
        }
        SlashAction::Resume(run) => history::resume_run(model, run),
        SlashAction::Steps(run) => history::show_steps(model, run),
        SlashAction::Why { run, step } => history::explain_step(model, run, step),
        SlashAction::Travel(travel) => history::time_travel(model, travel),
        SlashAction::TravelOrSteps { word, travel } => history::travel_or_list_steps(model, word, travel),
        SlashAction::Snapshot(command) => run_snapshot_command(model, command),
        SlashAction::Configure(level) => setup::open_setup(model, level),
        SlashAction::Keys => {
            let table =
                if model.line_mode { slash::help::LINE_MODE_KEYS.to_owned() } else { model.keymap.table() };
            model.show_answer("Keys", &table);
            Vec::new()
        }
        SlashAction::Theme(Some(name)) => {
            model.terminal_background.follow_background = theme::follows_background(&name);
            vec![UiCommand::Display(DisplayRequest::Theme(name))]
        }
        SlashAction::Theme(None) => {
            model.add_item(TranscriptItem::note_item(&theme::theme_list_text(model.theme)));
            Vec::new()
        }
        SlashAction::Mouse(wanted) => set_mouse(model, wanted),
        SlashAction::Steer(steer) => steering::run_steer_action(model, steer),
        SlashAction::Watch(wanted) => {
            panes::watch_named(model, wanted.as_deref());
            Vec::new()
        }
        SlashAction::Edit { name, in_external_editor: external } => {
            editor::open_editor(model, name, external)
        }
        SlashAction::EditNew(name) => editor::open_fresh(model, name),
        SlashAction::History => history_browser::open_browser(model),
        SlashAction::Clear => clear_conversation(model),
        SlashAction::Compact(keep) => conversation::compact_conversation(model, keep),
        SlashAction::Rename(name) => conversation::rename_conversation(model, name),
        SlashAction::Quit => leave_program(model),
        aside => lookups::run_lookup(model, aside),
    }
}

fn set_mouse(model: &mut UiModel, wanted: Option<bool>) -> Vec<UiCommand> {
    model.mouse = wanted.unwrap_or(!model.mouse);
    let text = if model.mouse {
        "the mouse scrolls, chooses panes and copies what is dragged over; with Shift the terminal selects"
    } else {
        "the mouse is the terminal's: it selects text"
    };
    model.add_item(TranscriptItem::note_item(text));
    vec![UiCommand::Mouse(model.mouse)]
}

fn review_call(model: &mut UiModel, agent: Option<String>) -> Vec<UiCommand> {
    let Some(run) = model.shown_run().map(|run| run.id.clone()) else {
        model.add_item(TranscriptItem::line(ItemTone::Bad, "nothing was asked so far"));
        return Vec::new();
    };
    vec![UiCommand::ask(RunRequest::Review { run, agent })]
}

fn show_help(model: &mut UiModel, name: Option<&str>) -> Vec<UiCommand> {
    let keys = (!model.line_mode).then(|| model.keymap.help_text());
    match slash::help::help_text(name, keys.as_deref()) {
        Ok((title, text)) => model.show_answer(&title, &text),
        Err(reason) => drop(model.add_item(TranscriptItem::line(ItemTone::Bad, &reason))),
    }
    Vec::new()
}

/// A workflow may start while others run; the backend reports if it would change their files.
fn start_workflow(
    model: &mut UiModel,
    name: String,
    input: String,
    beside: Option<FileSharingMode>,
) -> Vec<UiCommand> {
    let front = model.workflow.take();
    let refused = refuse_while_busy(model, "start a workflow");
    model.workflow = front;
    if refused {
        return Vec::new();
    }
    vec![match beside {
        Some(beside) => UiCommand::ask(StartRequest::Beside { name, input, sharing_mode: beside }),
        None if input.is_empty() => UiCommand::ask(DefinitionRequest::ChooseWorkflow(name)),
        None => UiCommand::ask(StartRequest::Workflow { name, input }),
    }]
}

fn run_snapshot_command(model: &mut UiModel, command: SnapshotOperation) -> Vec<UiCommand> {
    match command {
        SnapshotOperation::Restore { id } => {
            if refuse_while_busy(model, "restore files") {
                return Vec::new();
            }
            vec![UiCommand::ask(RunRequest::PlanRestore(id))]
        }
        SnapshotOperation::Delete { id } => {
            let title = format!("Delete snapshot {id}?");
            let cmd = UiCommand::ask(RunRequest::Snapshot(SnapshotOperation::Delete { id }));
            model.push_question(QuestionDialog::for_confirmation(
                &title,
                "The files of the project stay as they are.",
                cmd,
            ));
            Vec::new()
        }
        other => {
            let watch = file_work::watch_snapshot(model, &other);
            watch.into_iter().chain([UiCommand::ask(RunRequest::Snapshot(other))]).collect()
        }
    }
}

/// Empties the screen and starts the conversation anew; the role stays. A running workflow continues.
fn clear_conversation(model: &mut UiModel) -> Vec<UiCommand> {
    for run in &mut model.runs {
        run.replies.clear();
        run.tools.clear();
        run.retry.clear();
    }
    if let Some(opening) = &mut model.opening_run {
        opening.preview_range = None;
    }
    model.transcript.clear_items();
    model.finished_run = None;
    // the line that named the last run is gone, too
    model.last_speaking_run = None;
    model.last_addressed = None;
    model.shell.discard_pending_output();
    // open entries continue below
    for view in &mut model.runs {
        view.remap_positions(|_| None);
        view.was_cleared = true;
    }
    if model.workflow.is_some() {
        return Vec::new();
    }
    leave_chat(model)
}
