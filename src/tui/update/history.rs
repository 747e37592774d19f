//! Past runs: resumable ones, lists, search hits, rewind, fork and undo.

use std::fmt::Write as _;

use super::{addressee, busy, history_browser, mention, open_run, resuming, unread_input};
use crate::complete::complete_input;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::past_run::PastRun;
use crate::report::history as report;
use crate::run_view::RunView;
use crate::text::format_count;
use crate::transcript::item::{ItemTone, TranscriptBlock, TranscriptItem};
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::{RunStatus, RunSummary};
use synthdev_service::event_description::EventDescription;
use synthdev_service::named_step::NamedStep;
use synthdev_service::session::{
    RunFilter, RunListPurpose, RunRequest, TimeTravelOutcome, TimeTravelRequest,
};

/// Runs that `/runs` shows.
const LISTED: usize = 20;
/// Runs that are offered at the start.
const OFFERED: usize = 5;
/// The newest runs, among which resumable ones are counted.
const COUNTED: usize = 200;

/// Requests the runs of this project that can be resumed.
pub fn offer_command() -> UiCommand {
    UiCommand::ask(RunRequest::List(waiting_filter(), RunListPurpose::Offer))
}

/// For the completion of ids.
pub fn run_names_command() -> UiCommand {
    UiCommand::ask(RunRequest::List(
        RunFilter { this_project_only: true, limit: LISTED, ..RunFilter::default() },
        RunListPurpose::Names,
    ))
}

pub fn list_runs_command(statuses: Vec<RunStatus>, words: Option<String>) -> UiCommand {
    UiCommand::ask(RunRequest::List(
        RunFilter { this_project_only: false, statuses, search_words: words, limit: LISTED },
        RunListPurpose::Show,
    ))
}

/// What runs of this project wait for, step by step.
pub fn pending_command() -> UiCommand {
    let statuses = vec![RunStatus::Paused, RunStatus::Running];
    UiCommand::ask(RunRequest::List(
        RunFilter { this_project_only: true, statuses, search_words: None, limit: LISTED },
        RunListPurpose::Pending,
    ))
}

/// Without an id: the run that was left last in this session, else the user chooses.
pub fn resume_run(model: &mut UiModel, run: Option<String>) -> Vec<UiCommand> {
    if busy::refuse_while_busy(model, "take up a run") {
        return Vec::new();
    }
    let named = run.map(|run| numbered_run(model, &run).unwrap_or(run));
    match named.or_else(|| model.last_left_run.as_ref().map(ToString::to_string)) {
        Some(name) => open_run::start_opening(model, name),
        None => vec![ask_resumable()],
    }
}

/// Asks what can be resumed in this project.
pub fn ask_resumable() -> UiCommand {
    UiCommand::ask(RunRequest::Resumable(waiting_filter()))
}

/// The run that a number of the printed list means.
fn numbered_run(model: &UiModel, typed: &str) -> Option<String> {
    let at = typed.parse::<usize>().ok()?.checked_sub(1)?;
    model.resume_choices.get(at).map(ToString::to_string)
}

/// Without an id, the run in front is meant, else the newest of this session.
pub fn time_travel(model: &mut UiModel, mut travel: TimeTravelRequest) -> Vec<UiCommand> {
    let is_undo = matches!(travel, TimeTravelRequest::Undo { .. });
    let last = if is_undo { undoable_run_id(model) } else { default_run_id(model) };
    let (run, what) = match &mut travel {
        TimeTravelRequest::Undo { run } => (run, "undo a run"),
        TimeTravelRequest::Rewind { run, .. } => (run, "rewind a run"),
        TimeTravelRequest::Fork { run, .. } => (run, "fork a run"),
    };
    if run.is_none() {
        *run = last;
    }
    if !travel.changes_present() {
        return vec![UiCommand::ask(RunRequest::Travel(travel))];
    }
    if busy::refuse_while_busy(model, what) {
        return Vec::new();
    }
    vec![UiCommand::ask(RunRequest::Plan(travel))]
}

pub fn show_steps(model: &UiModel, run: Option<String>) -> Vec<UiCommand> {
    vec![UiCommand::ask(RunRequest::Steps(run.or_else(|| default_run_id(model))))]
}

/// A word alone is a state of the run that is meant without an id, or else names a run.
pub fn travel_or_list_steps(model: &mut UiModel, word: String, travel: TimeTravelRequest) -> Vec<UiCommand> {
    if is_state_name(model, &word) { time_travel(model, travel) } else { show_steps(model, Some(word)) }
}

/// Why a step was taken, or which steps there are.
pub fn explain_step(model: &UiModel, run: Option<String>, step: Option<NamedStep>) -> Vec<UiCommand> {
    let (run, step) = match (run, step) {
        (Some(word), None) if is_state_name(model, &word) => (None, Some(NamedStep::State(word))),
        place => place,
    };
    let run = run.or_else(|| front_or_newest_run(model).map(ToString::to_string));
    vec![UiCommand::ask(match step {
        Some(step) => RunRequest::Why { run, step },
        None => RunRequest::Steps(run),
    })]
}

/// Whether a word that may name a run or a state means a state: the run in front has been in it, or the word is the
/// beginning of no id.
fn is_state_name(model: &UiModel, word: &str) -> bool {
    let front = front_or_newest_run(model).and_then(|id| model.find_run(id));
    let has_visited = front.is_some_and(|run| run.pane_data.visits.last_step_in(word).is_some());
    has_visited || !may_name_run(model, word)
}

/// Ids begin with a digit until 2030, and have none of the letters that look like one.
fn may_name_run(model: &UiModel, word: &str) -> bool {
    let is_id_letter = |letter: char| letter.is_ascii_digit() || letter.is_ascii_lowercase();
    let has_digit = word.contains(|letter: char| letter.is_ascii_digit());
    let mut known =
        model.runs.iter().map(|run| run.id.as_str()).chain(model.last_left_run.as_ref().map(RunId::as_str));
    known.any(|id| id.starts_with(word))
        || model.names.runs.iter().any(|(id, _)| id.starts_with(word))
        || (has_digit && word.chars().all(is_id_letter) && !word.contains(['i', 'l', 'o', 'u']))
}

pub(super) fn on_list(
    model: &mut UiModel,
    purpose: RunListPurpose,
    list: Result<Vec<RunSummary>, String>,
    at: Timestamp,
) -> Vec<UiCommand> {
    match list {
        Ok(list) => {
            model.now = model.now.max(at);
            match purpose {
                RunListPurpose::Offer | RunListPurpose::Resume => on_offer(model, purpose, list),
                RunListPurpose::Show | RunListPurpose::Names => on_runs_listed(model, purpose, &list),
                RunListPurpose::Pending => show_pending(model, &list),
            }
        }
        Err(reason) => {
            if purpose != RunListPurpose::Names {
                show_error(model, "The runs cannot be listed", &reason);
            }
            Vec::new()
        }
    }
}

/// All of a run that is to be resumed, or why it cannot be.
pub(super) fn on_past_run(
    model: &mut UiModel,
    run: &str,
    past_run: Result<PastRun, String>,
) -> Vec<UiCommand> {
    let opened_from_browser = history_browser::finish_opening(model, run, past_run.as_ref().err());
    match past_run {
        Ok(past) => return resume_past_run(model, past),
        Err(reason) => {
            model.retrying_run = None;
            if let Some(opening) = open_run::take_opening(model, &RunId::from(run)) {
                open_run::abort_opening(model, opening);
            }
            if !opened_from_browser {
                show_error(model, &format!("run {run} is not resumed"), &reason);
                unread_input::return_to_input(model);
            }
        }
    }
    Vec::new()
}

/// Failed runs are among them that cannot be tried again: see `can_resume`.
pub fn waiting_filter() -> RunFilter {
    let statuses = vec![RunStatus::Interrupted, RunStatus::Paused, RunStatus::Failed];
    RunFilter { this_project_only: true, statuses, search_words: None, limit: COUNTED }
}

pub(super) fn can_resume(run: &RunSummary) -> bool {
    run.progress.status != RunStatus::Failed || !run.progress.pauses.is_empty()
}

/// For the steps of a run: a fork that was not started counts where the session has no other run.
fn default_run_id(model: &UiModel) -> Option<String> {
    front_or_newest_run(model).or(model.last_left_run.as_ref()).map(ToString::to_string)
}

/// Whether `/why`, `/rewind` and `/fork` mean this run when no id is typed.
pub(super) fn is_default_run(model: &UiModel, run: &RunId) -> bool {
    front_or_newest_run(model).is_some_and(|front| front == run)
}

/// A conversation in front counts where it may have changed files.
fn undoable_run_id(model: &UiModel) -> Option<String> {
    let chat = model.shown_run().filter(|run| run.chat && run.snapshot.is_some());
    chat.map(|run| &run.id).or_else(|| front_or_newest_run(model)).map(ToString::to_string)
}

/// The workflow that the user looks at, before one that was left for later or runs elsewhere.
fn front_or_newest_run(model: &UiModel) -> Option<&RunId> {
    let front = model.workflow.as_ref().or(model.finished_run.as_ref());
    let newest = || model.runs.iter().rev().find(|run| !run.chat).map(|run| &run.id);
    front.filter(|run| model.find_run(run).is_some()).or_else(newest)
}

fn show_error(model: &mut UiModel, title: &str, reason: &str) {
    model.add_item(TranscriptItem::error(title, reason));
}

/// Questions that are on screen first: they are answered there.
fn show_pending(model: &mut UiModel, list: &[RunSummary]) -> Vec<UiCommand> {
    let asked = model.dialogs.iter().filter(|dialog| dialog.run_id().is_some());
    // this session knows its own runs better
    let known = |run: &RunSummary| model.find_run(&run.id).is_some_and(|view| !view.is_over);
    let list: Vec<RunSummary> = list.iter().filter(|run| !known(run)).cloned().collect();
    let text = report::pending_text(asked.map(|dialog| dialog.title.as_str()), &list, model.now);
    model.add_item(match text {
        Some(text) => TranscriptItem::report_item("Waits for an answer", &text),
        None => TranscriptItem::note_item("no run of this project waits for an answer"),
    });
    Vec::new()
}

fn on_runs_listed(model: &mut UiModel, wanted: RunListPurpose, list: &[RunSummary]) -> Vec<UiCommand> {
    let now = model.now;
    if wanted == RunListPurpose::Show {
        let awaits = |run: &RunId| model.find_run(run).is_some_and(RunView::awaits_message);
        let text = report::runs_text(list, now, awaits);
        model.add_item(TranscriptItem::report_item("Runs", &text));
        return Vec::new();
    }
    model.names.runs = list.iter().map(|run| report::name_and_state(run, now)).collect();
    let is_live = |run: &&RunSummary| {
        let waits = [RunStatus::Running, RunStatus::Paused, RunStatus::Interrupted];
        waits.contains(&run.progress.status)
    };
    model.names.live_runs = list.iter().filter(is_live).map(|run| report::name_and_state(run, now)).collect();
    if mention::refresh_mentions(model).is_some() {
        return Vec::new();
    }
    if let Some(before) = model.composer.before_cursor() {
        model.popup = complete_input(before, &model.names);
    }
    Vec::new()
}

/// Runs that can be resumed: counts all, shows the newest.
fn on_offer(model: &mut UiModel, wanted: RunListPurpose, mut list: Vec<RunSummary>) -> Vec<UiCommand> {
    let most = list.len() >= COUNTED;
    list.retain(can_resume);
    match (wanted, list.as_slice()) {
        (RunListPurpose::Resume, []) => {
            let note =
                "no run of this project is paused or interrupted — /runs lists all, /resume ID resumes one";
            model.add_item(TranscriptItem::note_item(note));
        }
        (RunListPurpose::Resume, [only]) => return open_run::start_opening(model, only.id.to_string()),
        (_, []) => {}
        (_, list) => {
            let shown = if wanted == RunListPurpose::Offer { OFFERED } else { LISTED }.min(list.len());
            let least = if most { "at least " } else { "" };
            let title = format!("{least}{} can be resumed", format_count(list.len() as u64, "run"));
            let mut text = report::waiting_runs_text(&list[..shown], model.now);
            if list.len() > shown {
                let lists = if wanted == RunListPurpose::Offer { "/resume" } else { "/runs" };
                let _ = write!(text, "… {} more: {lists}", list.len() - shown);
            }
            let hint = match list {
                [only] => format!("→ /resume {} goes on", only.id),
                list => format!("→ /resume {} continues the newest", list[0].id),
            };
            model.add_item(TranscriptItem::Block(
                TranscriptBlock::new(ItemTone::Warning, &title, &text).with_footer(hint),
            ));
        }
    }
    Vec::new()
}

/// Shows the past of the run, unless it is on screen already, and resumes it.
fn resume_past_run(model: &mut UiModel, mut past: PastRun) -> Vec<UiCommand> {
    let run = past.view.id.clone();
    let opening = open_run::take_opening(model, &run);
    let retry = model.retrying_run.take().is_some_and(|wanted| wanted == run);
    if busy::refuse_while_busy(model, "take up a run") {
        opening.into_iter().for_each(|opening| open_run::abort_opening(model, opening));
        unread_input::return_to_input(model);
        return Vec::new();
    }
    let lines = opening.as_ref().map(|opening| opening.lines.clone()).unwrap_or_default();
    let definition_note = past.definition_note.take();
    let mut view = open_run::show_past_run(model, past, opening);
    model.add_items(definition_note.map(|note| TranscriptItem::note_item(&note)));
    let mut cmds = Vec::new();
    if view.chat {
        cmds = busy::leave_chat(model);
        // its one agent is the role that is talked to
        if let Some(agent) = view.agents.first() {
            view.workflow.clone_from(&agent.name);
            model.facts.role.clone_from(&agent.name);
            model.facts.model.clone_from(&agent.model);
        }
        model.chat = Some(run.clone());
        addressee::on_reopened(model);
    } else {
        model.workflow = Some(run.clone());
    }
    // a resumed run asks its question again and takes no answer before
    (view.is_over, view.awaiting_text) = (false, None);
    model.runs.retain(|known| known.id != run);
    model.runs.push(view);
    (model.last_left_run, model.finished_run) = (None, None);
    resuming::start_resuming(model, &run);
    cmds.push(if retry {
        UiCommand::ask(RunRequest::Retry(run))
    } else {
        UiCommand::ask(RunRequest::Resume(run))
    });
    model.held_lines = lines;
    cmds
}

pub(super) fn not_resumed(model: &mut UiModel, run: &RunId, reason: &str) {
    resuming::abort_resuming(model, run);
    if let Some(view) = model.run_mut(run) {
        view.is_over = true;
        (view.is_cancelling, view.is_interrupting) = (false, false);
        view.activity.clear();
        let texts = std::mem::take(&mut view.outbox);
        model.queued.extend(texts);
    }
    for slot in [&mut model.chat, &mut model.workflow] {
        if slot.as_ref() == Some(run) {
            *slot = None;
        }
    }
    show_error(model, &format!("run {run} does not go on"), reason);
    unread_input::return_to_input(model);
}

pub(super) fn on_travelled(model: &mut UiModel, done: TimeTravelOutcome) {
    let TimeTravelOutcome { text, resumable_run: stands } = done;
    let mut block = TranscriptBlock::new(ItemTone::Good, "Done", &text);
    if let Some(run) = stands {
        block = block.with_footer(format!("→ /resume continues {run}"));
        model.last_left_run = Some(run);
    }
    model.add_item(TranscriptItem::Block(block));
}

/// The run was resumed: updates its view from `at` on.
pub fn on_resumed(model: &mut UiModel, run: &RunId, at: Timestamp, words: &EventDescription<'_>) {
    let Some(view) = model.run_mut(run) else { return };
    if !view.chat {
        // a process that died left the time open
        view.worked_ms = view.elapsed_ms(view.last_event_at).unwrap_or(view.worked_ms);
    }
    (view.is_over, view.is_paused) = (false, false);
    (view.question_left_open, view.awaiting_text) = (false, None);
    view.busy_since = Some(at);
    // it reports its stops again
    view.stopped_at.clear();
    let chat = view.chat;
    model.finished_run = None;
    *(if chat { &mut model.chat } else { &mut model.workflow }) = Some(run.clone());
    model.add_item(TranscriptItem::rule(&words.title));
    if !words.detail.is_empty() {
        model.add_item(TranscriptItem::note_item(&words.detail));
    }
    model.add_items(words.notes.iter().map(|note| TranscriptItem::note_item(note)));
}
