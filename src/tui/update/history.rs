//! Past runs: what can be taken up again, lists, words that were found, journeys back.

use std::fmt::Write as _;

use super::{busy, history_browser, mention, open_run, resuming, unread_input};
use crate::backend::{RunFilter, TimeTravelOutcome, TimeTravelPreview, TimeTravelRequest};
use crate::complete::complete;
use crate::dialog::QuestionDialog;
use crate::model::UiModel;
use crate::msg::{BackendReply, RunListPurpose, UiCommand};
use crate::past_run::PastRun;
use crate::report::history as report;
use crate::text::format_count;
use crate::transcript::item::{ItemTone, TranscriptBlock, TranscriptItem};
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::{RunStatus, RunSummary};

/// Runs that `/runs` shows.
const LISTED: usize = 20;
/// Runs that are offered at the start.
const OFFERED: usize = 5;
/// The newest runs among which those that can be taken up again are counted.
const COUNTED: usize = 200;

/// Asks for the runs of this project that can be taken up again.
pub fn offer() -> UiCommand {
    UiCommand::Runs(waiting(), RunListPurpose::Offer)
}

/// For the completion of ids.
pub fn names() -> UiCommand {
    UiCommand::Runs(RunFilter { here: true, limit: LISTED, ..RunFilter::default() }, RunListPurpose::Names)
}

pub fn runs(statuses: Vec<RunStatus>, words: Option<String>) -> UiCommand {
    UiCommand::Runs(RunFilter { here: false, statuses, words, limit: LISTED }, RunListPurpose::Show)
}

/// What runs of this project wait for, step by step.
pub fn pending() -> UiCommand {
    let statuses = vec![RunStatus::Paused, RunStatus::Running];
    UiCommand::Runs(RunFilter { here: true, statuses, words: None, limit: LISTED }, RunListPurpose::Pending)
}

/// Without an id: the run that was left here last, else what waits in this project.
pub fn resume(model: &mut UiModel, run: Option<String>) -> Vec<UiCommand> {
    if busy::refuse_while_busy(model, "take up a run") {
        return Vec::new();
    }
    let named = run.or_else(|| model.standing.as_ref().map(ToString::to_string));
    match named {
        Some(name) => open_run::start_opening(model, name),
        None => vec![UiCommand::Runs(waiting(), RunListPurpose::Resume)],
    }
}

/// Without an id, the workflow of this session that was on last is meant.
pub fn travel(model: &mut UiModel, mut travel: TimeTravelRequest) -> Vec<UiCommand> {
    let (run, what) = match &mut travel {
        TimeTravelRequest::Undo { run } => (run, "undo a run"),
        TimeTravelRequest::Rewind { run, .. } => (run, "rewind a run"),
        TimeTravelRequest::Fork { run, .. } => (run, "fork a run"),
    };
    if run.is_none() {
        *run = default_run_id(model);
    }
    if busy::refuse_while_busy(model, what) {
        return Vec::new();
    }
    // a fork changes nothing that was: it needs no yes
    vec![if matches!(travel, TimeTravelRequest::Fork { .. }) {
        UiCommand::Travel(travel)
    } else {
        UiCommand::Plan(travel)
    }]
}

pub fn steps(model: &UiModel, run: Option<String>) -> Vec<UiCommand> {
    vec![UiCommand::Steps(run.or_else(|| default_run_id(model)))]
}

pub fn reply(model: &mut UiModel, reply: BackendReply) -> Vec<UiCommand> {
    let Some(reply) = history_browser::handle_time_travel_reply(model, reply) else { return Vec::new() };
    match reply {
        BackendReply::Runs { wanted, list: Ok(list), at } => {
            model.now = model.now.max(at);
            return match wanted {
                RunListPurpose::Offer | RunListPurpose::Resume => on_offer(model, wanted, list),
                RunListPurpose::Show | RunListPurpose::Names => listed(model, wanted, &list),
                RunListPurpose::Pending => waits(model, &list),
            };
        }
        BackendReply::Runs { wanted: RunListPurpose::Names, .. } => {}
        BackendReply::Runs { list: Err(reason), .. } => bad(model, "The runs cannot be listed", &reason),
        BackendReply::Found { words, lines: Ok(lines), at } => {
            let title = format!("Found: {words}");
            model.say(TranscriptItem::report(&title, &report::found(&lines, at)));
        }
        BackendReply::Found { lines: Err(reason), .. } => bad(model, "Nothing could be searched", &reason),
        BackendReply::Glance(past) => return open_run::show_preview(model, *past),
        BackendReply::Past { past: Ok(past), .. } => return resume_past_run(model, *past),
        BackendReply::Past { run, past: Err(reason) } => {
            model.retrying = None;
            if let Some(opening) = open_run::take_opening(model, &RunId::from(run.as_str())) {
                open_run::abort_opening(model, opening);
            }
            bad(model, &format!("run {run} is not taken up"), &reason);
            unread_input::return_to_input(model);
        }
        BackendReply::Earlier { run, before, items } => open_run::earlier(model, &run, before, items),
        BackendReply::Resumed { run, result: Ok(()) } => return resuming::release_held_commands(model, &run),
        BackendReply::Resumed { run, result: Err(reason) } => not_resumed(model, &run, &reason),
        BackendReply::Steps(Ok(steps)) => {
            let title = format!("Steps of {} {}", steps.workflow, steps.run);
            model.say(TranscriptItem::report(&title, &report::steps(&steps)));
        }
        BackendReply::Planned(Ok(TimeTravelPreview { travel, title, body })) => {
            model.dialogs.push_back(QuestionDialog::confirm(&title, &body, UiCommand::Travel(travel)));
        }
        BackendReply::Travelled(Ok(done)) => travelled(model, done),
        BackendReply::Steps(Err(reason))
        | BackendReply::Planned(Err(reason))
        | BackendReply::Travelled(Err(reason)) => {
            bad(model, "Nothing was changed", &reason);
        }
        _ => {}
    }
    Vec::new()
}

/// Failed runs are among them that cannot be tried again: see `can_go_on`.
fn waiting() -> RunFilter {
    let statuses = vec![RunStatus::Interrupted, RunStatus::Paused, RunStatus::Failed];
    RunFilter { here: true, statuses, words: None, limit: COUNTED }
}

fn can_go_on(run: &RunSummary) -> bool {
    run.progress.status != RunStatus::Failed || !run.progress.pauses.is_empty()
}

fn default_run_id(model: &UiModel) -> Option<String> {
    let last = model.runs.iter().rev().find(|run| !run.chat).map(|run| &run.id);
    model.standing.as_ref().or(last).map(ToString::to_string)
}

fn bad(model: &mut UiModel, title: &str, reason: &str) {
    model.say(TranscriptItem::error(title, reason));
}

/// Questions that are on screen first: they are answered there.
fn waits(model: &mut UiModel, list: &[RunSummary]) -> Vec<UiCommand> {
    let asked = model.dialogs.iter().filter(|dialog| dialog.run().is_some());
    // what is asked in runs of this session is known better here
    let known = |run: &RunSummary| model.run(&run.id).is_some_and(|view| !view.over);
    let list: Vec<RunSummary> = list.iter().filter(|run| !known(run)).cloned().collect();
    let text = report::pending(asked.map(|dialog| dialog.title.as_str()), &list, model.now);
    model.say(match text {
        Some(text) => TranscriptItem::report("Waits for an answer", &text),
        None => TranscriptItem::note("no run of this project waits for an answer"),
    });
    Vec::new()
}

fn listed(model: &mut UiModel, wanted: RunListPurpose, list: &[RunSummary]) -> Vec<UiCommand> {
    let now = model.now;
    if wanted == RunListPurpose::Show {
        model.say(TranscriptItem::report("Runs", &report::runs(list, now)));
        return Vec::new();
    }
    model.names.runs = list.iter().map(|run| report::name_and_state(run, now)).collect();
    if mention::refresh(model).is_some() {
        return Vec::new();
    }
    if let Some(before) = model.composer.before_cursor() {
        model.popup = complete(before, &model.names);
    }
    Vec::new()
}

/// Runs that can be taken up again: all are counted, the newest are shown.
fn on_offer(model: &mut UiModel, wanted: RunListPurpose, mut list: Vec<RunSummary>) -> Vec<UiCommand> {
    let most = list.len() >= COUNTED;
    list.retain(can_go_on);
    match (wanted, list.as_slice()) {
        (RunListPurpose::Resume, []) => {
            let note =
                "no run of this project waits or was interrupted — /runs lists all, /resume ID takes one";
            model.say(TranscriptItem::note(note));
        }
        (RunListPurpose::Resume, [only]) => return open_run::start_opening(model, only.id.to_string()),
        (_, []) => {}
        (_, list) => {
            let shown = if wanted == RunListPurpose::Offer { OFFERED } else { LISTED }.min(list.len());
            let least = if most { "at least " } else { "" };
            let title = format!("{least}{} can be taken up again", format_count(list.len() as u64, "run"));
            let mut text = report::waiting(&list[..shown], model.now);
            if list.len() > shown {
                let lists = if wanted == RunListPurpose::Offer { "/resume" } else { "/runs" };
                let _ = write!(text, "… {} more: {lists}", list.len() - shown);
            }
            let hint = match list {
                [_] => "→ /resume goes on".to_owned(),
                list => format!("→ /resume {} goes on with the newest", list[0].id),
            };
            model.say(TranscriptItem::Block(
                TranscriptBlock::new(ItemTone::Warning, &title, &text).foot(hint),
            ));
        }
    }
    Vec::new()
}

/// Shows what had happened, unless it stands here already, and has the run go on.
fn resume_past_run(model: &mut UiModel, past: PastRun) -> Vec<UiCommand> {
    let run = past.view.id.clone();
    let opening = open_run::take_opening(model, &run);
    let retry = model.retrying.take().is_some_and(|wanted| wanted == run);
    if busy::refuse_while_busy(model, "take up a run") {
        opening.into_iter().for_each(|opening| open_run::abort_opening(model, opening));
        unread_input::return_to_input(model);
        return Vec::new();
    }
    let lines = opening.as_ref().map(|opening| opening.lines.clone()).unwrap_or_default();
    let mut view = open_run::show_past_run(model, past, opening);
    let mut cmds = Vec::new();
    if view.chat {
        cmds = busy::end_chat(model);
        // its one agent is the role that is talked to
        if let Some(agent) = view.agents.first() {
            view.workflow.clone_from(&agent.name);
            model.facts.role.clone_from(&agent.name);
            model.facts.model.clone_from(&agent.model);
        }
        model.chat = Some(run.clone());
    } else {
        model.workflow = Some(run.clone());
    }
    // what it asked then it asks again; nobody hears an answer before
    (view.over, view.waiting) = (false, None);
    model.runs.retain(|known| known.id != run);
    model.runs.push(view);
    model.standing = None;
    resuming::start_resuming(model, &run);
    cmds.push(if retry { UiCommand::Retry(run) } else { UiCommand::Resume(run) });
    model.meanwhile = lines;
    cmds
}

fn not_resumed(model: &mut UiModel, run: &RunId, reason: &str) {
    resuming::abort_resuming(model, run);
    if let Some(view) = model.run_mut(run) {
        view.over = true;
        (view.stopping, view.interrupting) = (false, false);
        view.activity.clear();
        let texts = std::mem::take(&mut view.outbox);
        model.queued.extend(texts);
    }
    for slot in [&mut model.chat, &mut model.workflow] {
        if slot.as_ref() == Some(run) {
            *slot = None;
        }
    }
    bad(model, &format!("run {run} does not go on"), reason);
    unread_input::return_to_input(model);
}

fn travelled(model: &mut UiModel, done: TimeTravelOutcome) {
    let TimeTravelOutcome { text, stands } = done;
    let mut block = TranscriptBlock::new(ItemTone::Good, "Done", &text);
    if let Some(run) = stands {
        block = block.foot(format!("→ /resume goes on with {run}"));
        model.standing = Some(run);
    }
    model.say(TranscriptItem::Block(block));
}

/// Of a run that was taken up: it goes on from now.
pub fn resumed(model: &mut UiModel, run: &RunId, at: Timestamp, again: usize, notes: &[String]) {
    let Some(view) = model.run_mut(run) else { return };
    if !view.chat {
        // a process that died left the time open
        view.worked_ms = view.elapsed(view.last_at).unwrap_or(view.worked_ms);
    }
    (view.over, view.left_open, view.waiting) = (false, false, None);
    view.busy_since = Some(at);
    // where it still stands is told again
    view.stands.clear();
    let chat = view.chat;
    *(if chat { &mut model.chat } else { &mut model.workflow }) = Some(run.clone());
    model.say(TranscriptItem::rule("taken up again"));
    if again > 0 {
        let calls = format_count(again as u64, "call");
        model
            .say(TranscriptItem::note(&format!("{calls} that had begun and never answered: made once more")));
    }
    for note in notes {
        model.say(TranscriptItem::note(note));
    }
}
