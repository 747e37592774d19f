//! Past runs: what can be taken up again, lists, words that were found, journeys back.

use std::fmt::Write as _;

use super::{archive, busy, mention, opening, rising, unread};
use crate::domain::ids::{RunId, Timestamp};
use crate::domain::journal::{RunStatus, RunSummary};
use crate::tui::backend::{Plan, RunFilter, Travel, Travelled};
use crate::tui::complete::complete;
use crate::tui::dialog::Dialog;
use crate::tui::model::Model;
use crate::tui::msg::{Cmd, Reply, RunsFor};
use crate::tui::past::Past;
use crate::tui::report::history as report;
use crate::tui::text::counted;
use crate::tui::transcript::item::{Block, Item, Tone};

/// Runs that `/runs` shows.
const LISTED: usize = 20;
/// Runs that are offered at the start.
const OFFERED: usize = 5;
/// The newest runs among which those that can be taken up again are counted.
const COUNTED: usize = 200;

/// Asks for the runs of this project that can be taken up again.
pub fn offer() -> Cmd {
    Cmd::Runs(waiting(), RunsFor::Offer)
}

/// For the completion of ids.
pub fn names() -> Cmd {
    Cmd::Runs(RunFilter { here: true, limit: LISTED, ..RunFilter::default() }, RunsFor::Names)
}

pub fn runs(statuses: Vec<RunStatus>, words: Option<String>) -> Cmd {
    Cmd::Runs(RunFilter { here: false, statuses, words, limit: LISTED }, RunsFor::Show)
}

/// What runs of this project wait for, step by step.
pub fn pending() -> Cmd {
    let statuses = vec![RunStatus::Paused, RunStatus::Running];
    Cmd::Runs(RunFilter { here: true, statuses, words: None, limit: LISTED }, RunsFor::Pending)
}

/// Without an id: the run that was left here last, else what waits in this project.
pub fn resume(model: &mut Model, run: Option<String>) -> Vec<Cmd> {
    if busy::refuse_while_busy(model, "take up a run") {
        return Vec::new();
    }
    let named = run.or_else(|| model.standing.as_ref().map(ToString::to_string));
    match named {
        Some(name) => opening::wanted(model, name),
        None => vec![Cmd::Runs(waiting(), RunsFor::Resume)],
    }
}

/// Without an id, the workflow of this session that was on last is meant.
pub fn travel(model: &mut Model, mut travel: Travel) -> Vec<Cmd> {
    let (run, what) = match &mut travel {
        Travel::Undo { run } => (run, "undo a run"),
        Travel::Rewind { run, .. } => (run, "rewind a run"),
        Travel::Fork { run, .. } => (run, "fork a run"),
    };
    if run.is_none() {
        *run = here(model);
    }
    if busy::refuse_while_busy(model, what) {
        return Vec::new();
    }
    // a fork changes nothing that was: it needs no yes
    vec![if matches!(travel, Travel::Fork { .. }) { Cmd::Travel(travel) } else { Cmd::Plan(travel) }]
}

pub fn steps(model: &Model, run: Option<String>) -> Vec<Cmd> {
    vec![Cmd::Steps(run.or_else(|| here(model)))]
}

pub fn reply(model: &mut Model, reply: Reply) -> Vec<Cmd> {
    let Some(reply) = archive::journey(model, reply) else { return Vec::new() };
    match reply {
        Reply::Runs { wanted, list: Ok(list), at } => {
            model.now = model.now.max(at);
            return match wanted {
                RunsFor::Offer | RunsFor::Resume => on_offer(model, wanted, list),
                RunsFor::Show | RunsFor::Names => listed(model, wanted, &list),
                RunsFor::Pending => waits(model, &list),
            };
        }
        Reply::Runs { wanted: RunsFor::Names, .. } => {}
        Reply::Runs { list: Err(reason), .. } => bad(model, "The runs cannot be listed", &reason),
        Reply::Found { words, lines: Ok(lines), at } => {
            let title = format!("Found: {words}");
            model.say(Item::report(&title, &report::found(&lines, at)));
        }
        Reply::Found { lines: Err(reason), .. } => bad(model, "Nothing could be searched", &reason),
        Reply::Glance(past) => return opening::glance(model, *past),
        Reply::Past { past: Ok(past), .. } => return take_up(model, *past),
        Reply::Past { run, past: Err(reason) } => {
            model.retrying = None;
            if let Some(opening) = opening::of(model, &RunId::from(run.as_str())) {
                opening::given_up(model, opening);
            }
            bad(model, &format!("run {run} is not taken up"), &reason);
            unread::give_back(model);
        }
        Reply::Earlier { run, before, items } => opening::earlier(model, &run, before, items),
        Reply::Resumed { run, result: Ok(()) } => return rising::driven(model, &run),
        Reply::Resumed { run, result: Err(reason) } => not_resumed(model, &run, &reason),
        Reply::Steps(Ok(steps)) => {
            let title = format!("Steps of {} {}", steps.workflow, steps.run);
            model.say(Item::report(&title, &report::steps(&steps)));
        }
        Reply::Planned(Ok(Plan { travel, title, body })) => {
            model.dialogs.push_back(Dialog::confirm(&title, &body, Cmd::Travel(travel)));
        }
        Reply::Travelled(Ok(done)) => travelled(model, done),
        Reply::Steps(Err(reason)) | Reply::Planned(Err(reason)) | Reply::Travelled(Err(reason)) => {
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

fn here(model: &Model) -> Option<String> {
    let last = model.runs.iter().rev().find(|run| !run.chat).map(|run| &run.id);
    model.standing.as_ref().or(last).map(ToString::to_string)
}

fn bad(model: &mut Model, title: &str, reason: &str) {
    model.say(Item::error(title, reason));
}

/// Questions that are on screen first: they are answered there.
fn waits(model: &mut Model, list: &[RunSummary]) -> Vec<Cmd> {
    let asked = model.dialogs.iter().filter(|dialog| dialog.run().is_some());
    // what is asked in runs of this session is known better here
    let known = |run: &RunSummary| model.run(&run.id).is_some_and(|view| !view.over);
    let list: Vec<RunSummary> = list.iter().filter(|run| !known(run)).cloned().collect();
    let text = report::pending(asked.map(|dialog| dialog.title.as_str()), &list, model.now);
    model.say(match text {
        Some(text) => Item::report("Waits for an answer", &text),
        None => Item::note("no run of this project waits for an answer"),
    });
    Vec::new()
}

fn listed(model: &mut Model, wanted: RunsFor, list: &[RunSummary]) -> Vec<Cmd> {
    let now = model.now;
    if wanted == RunsFor::Show {
        model.say(Item::report("Runs", &report::runs(list, now)));
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
fn on_offer(model: &mut Model, wanted: RunsFor, mut list: Vec<RunSummary>) -> Vec<Cmd> {
    let most = list.len() >= COUNTED;
    list.retain(can_go_on);
    match (wanted, list.as_slice()) {
        (RunsFor::Resume, []) => {
            let note =
                "no run of this project waits or was interrupted — /runs lists all, /resume ID takes one";
            model.say(Item::note(note));
        }
        (RunsFor::Resume, [only]) => return opening::wanted(model, only.id.to_string()),
        (_, []) => {}
        (_, list) => {
            let shown = if wanted == RunsFor::Offer { OFFERED } else { LISTED }.min(list.len());
            let least = if most { "at least " } else { "" };
            let title = format!("{least}{} can be taken up again", counted(list.len() as u64, "run"));
            let mut text = report::waiting(&list[..shown], model.now);
            if list.len() > shown {
                let lists = if wanted == RunsFor::Offer { "/resume" } else { "/runs" };
                let _ = write!(text, "… {} more: {lists}", list.len() - shown);
            }
            let hint = match list {
                [_] => "→ /resume goes on".to_owned(),
                list => format!("→ /resume {} goes on with the newest", list[0].id),
            };
            model.say(Item::Block(Block::new(Tone::Warning, &title, &text).foot(hint)));
        }
    }
    Vec::new()
}

/// Shows what had happened, unless it stands here already, and has the run go on.
fn take_up(model: &mut Model, past: Past) -> Vec<Cmd> {
    let run = past.view.id.clone();
    let opening = opening::of(model, &run);
    let retry = model.retrying.take().is_some_and(|wanted| wanted == run);
    if busy::refuse_while_busy(model, "take up a run") {
        opening.into_iter().for_each(|opening| opening::given_up(model, opening));
        unread::give_back(model);
        return Vec::new();
    }
    let lines = opening.as_ref().map(|opening| opening.lines.clone()).unwrap_or_default();
    let mut view = opening::shown(model, past, opening);
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
    rising::begins(model, &run);
    cmds.push(if retry { Cmd::Retry(run) } else { Cmd::Resume(run) });
    model.meanwhile = lines;
    cmds
}

fn not_resumed(model: &mut Model, run: &RunId, reason: &str) {
    rising::given_up(model, run);
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
    unread::give_back(model);
}

fn travelled(model: &mut Model, done: Travelled) {
    let Travelled { text, stands } = done;
    let mut block = Block::new(Tone::Good, "Done", &text);
    if let Some(run) = stands {
        block = block.foot(format!("→ /resume goes on with {run}"));
        model.standing = Some(run);
    }
    model.say(Item::Block(block));
}

/// Of a run that was taken up: it goes on from now.
pub fn resumed(model: &mut Model, run: &RunId, at: Timestamp, again: usize, notes: &[String]) {
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
    model.say(Item::rule("taken up again"));
    if again > 0 {
        let calls = counted(again as u64, "call");
        model.say(Item::note(&format!("{calls} that had begun and never answered: made once more")));
    }
    for note in notes {
        model.say(Item::note(note));
    }
}
