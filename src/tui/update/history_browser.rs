//! The history: what keys, time and answers do to it.
//!
//! Refuses: reading anything itself, and changing a run without the same checks as the slash commands.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::open_run;
use crate::backend::{TimeTravelOutcome, TimeTravelPreview};
use crate::history_browser::{
    HistoryBrowser, HistoryPrompt, HistoryReply, HistoryRequest, HistoryRunPage, HistoryText,
    HistoryTextView, HistoryWaitKind, RunDetails,
};
use crate::model::UiModel;
use crate::msg::{BackendReply, UiCommand};
use crate::transcript::item::{ItemTone, TranscriptBlock, TranscriptItem};
use synthdev_domain::ids::{RunId, Timestamp};

mod cursor;
mod keys;
mod prompt_keys;
mod requests;
mod run_actions;

use requests::{ask, number};

/// `/history`, and its key.
pub fn open(model: &mut UiModel) -> Vec<UiCommand> {
    model.popup = None;
    let counted = model.last_key.unwrap_or_default();
    model.archive = Some(Box::new(HistoryBrowser { counted, ..HistoryBrowser::default() }));
    model.panes.leave();
    let mut cmds = feed(model);
    cmds.extend(count(model));
    cmds
}

/// A key while the history is in front.
pub fn press(model: &mut UiModel, key: KeyEvent, at: Timestamp, typing: bool) -> Vec<UiCommand> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('l') if control => model.repaint = true,
        KeyCode::Char('c') if control => {
            (model.archive, model.last_interrupt) = (None, Some(at));
            model.hint = Some("left the history · Ctrl+C again leaves".to_owned());
        }
        _ => {
            let mut cmds = keys::press(model, key, typing);
            cmds.extend(feed(model));
            cmds.extend(poll_changes(model, at));
            return cmds;
        }
    }
    Vec::new()
}

/// A text that was pasted: into what is being typed.
pub fn paste(model: &mut UiModel, text: &str) -> Vec<UiCommand> {
    let line: String = text.lines().next().unwrap_or_default().chars().filter(|c| !c.is_control()).collect();
    if let Some(archive) = &mut model.archive {
        keys::insert(archive, &line);
    }
    feed(model)
}

/// The wheel scrolls what is in front.
pub fn wheel(model: &mut UiModel, down: bool) -> Vec<UiCommand> {
    /// Rows that one step of the wheel moves.
    const WHEEL: usize = 3;
    if let Some(archive) = &mut model.archive {
        cursor::scroll(archive, WHEEL, down);
    }
    feed(model)
}

/// Once a second while something works: did anybody write?
pub fn tick(model: &mut UiModel) -> Vec<UiCommand> {
    count(model).into_iter().collect()
}

/// Somebody has written to the history.
pub fn on_store_change(model: &mut UiModel) -> Vec<UiCommand> {
    let mut cmds = tick(model);
    // nobody has counted what was there when it was opened
    if let Some(archive) = model.archive.as_mut().filter(|archive| archive.seen.is_none()) {
        archive.list.stale = true;
        cmds.extend(feed(model));
        cmds.extend(reread(model));
    }
    cmds
}

/// An answer; one that nobody waits for any more is nobody's.
pub fn handle_reply(model: &mut UiModel, number: u64, told: HistoryReply) -> Vec<UiCommand> {
    let Some(archive) = &mut model.archive else { return Vec::new() };
    let awaited = archive.waits_for(&HistoryWaitKind::Answer(number));
    match told {
        HistoryReply::Page(result) => {
            let now = page(archive, number, result);
            model.now = model.now.max(now);
        }
        HistoryReply::Changes(count) => return changed(model, count),
        HistoryReply::Opened(result) => {
            opened(archive, number, result);
            // somebody wrote while it was read
            if archive.run.as_ref().is_some_and(|run| run.behind) {
                let mut cmds: Vec<UiCommand> = reread(model).into_iter().collect();
                cmds.extend(feed(model));
                return cmds;
            }
        }
        HistoryReply::Text(result) if awaited => {
            archive.wait = None;
            match result {
                Ok(text) => archive.page = Some(Box::new(HistoryTextView::new(text))),
                Err(why) => archive.refuse(&why),
            }
        }
        HistoryReply::Done(result) if awaited => {
            archive.wait = None;
            match result {
                Ok(text) => {
                    archive.note = Some((ItemTone::Good, text));
                    // the run may have changed
                    archive.list.stale = true;
                    let mut cmds: Vec<UiCommand> = reread(model).into_iter().collect();
                    cmds.extend(feed(model));
                    return cmds;
                }
                Err(why) => archive.refuse(&why),
            }
        }
        // the answer to whatever was asked was broken off
        HistoryReply::Text(Err(why)) => {
            archive.counting = false;
            page(archive, number, Err(why.clone()));
            opened(archive, number, Err(why));
        }
        HistoryReply::Text(Ok(_)) | HistoryReply::Done(_) => {}
    }
    feed(model)
}

/// An answer about a journey or a run that is taken up, if the history waits for it; else it is given back.
pub fn handle_time_travel_reply(model: &mut UiModel, reply: BackendReply) -> Option<BackendReply> {
    let Some(archive) = &mut model.archive else { return Some(reply) };
    let wait = archive.wait.as_ref().map(|wait| &wait.what);
    match (reply, wait) {
        (BackendReply::Planned(plan), Some(HistoryWaitKind::Plan)) => planned(archive, plan),
        (BackendReply::Travelled(Err(why)), Some(HistoryWaitKind::Travel)) => {
            archive.wait = None;
            archive.refuse(&why);
        }
        // the conversation tells it, too
        (BackendReply::Travelled(Ok(done)), Some(HistoryWaitKind::Travel)) => {
            travelled(model, &done);
            return Some(BackendReply::Travelled(Ok(done)));
        }
        (BackendReply::Past { run, past: Err(why) }, Some(HistoryWaitKind::TakeUp(wanted)))
            if wanted.as_str() == run =>
        {
            archive.wait = None;
            archive.refuse(&why);
            model.retrying = None;
            if let Some(opening) = open_run::take_opening(model, &RunId::from(run.as_str())) {
                open_run::abort_opening(model, opening);
            }
        }
        (
            reply @ (BackendReply::Past { past: Ok(_), .. } | BackendReply::Glance(_)),
            Some(HistoryWaitKind::TakeUp(_)),
        ) => {
            model.archive = None;
            return Some(reply);
        }
        (reply, _) => return Some(reply),
    }
    None
}

fn planned(archive: &mut HistoryBrowser, plan: Result<TimeTravelPreview, String>) {
    archive.wait = None;
    match plan {
        Ok(TimeTravelPreview { travel, title, body }) => {
            let items = vec![TranscriptItem::Block(TranscriptBlock::new(ItemTone::Plain, "", &body))];
            archive.page = Some(Box::new(HistoryTextView::new(HistoryText { title, items, step: None })));
            archive.question = Some(HistoryPrompt::Agree { travel, armed: false });
        }
        Err(why) => archive.refuse(&why),
    }
}

fn travelled(model: &mut UiModel, done: &TimeTravelOutcome) {
    let Some(archive) = &mut model.archive else { return };
    archive.wait = None;
    let mut block = TranscriptBlock::new(ItemTone::Good, "Done", &done.text);
    if let Some(run) = &done.stands {
        block = block.foot(format!("/resume, or its line in the list, goes on with {run}"));
    }
    let text =
        HistoryText { title: "done".to_owned(), items: vec![TranscriptItem::Block(block)], step: None };
    archive.page = Some(Box::new(HistoryTextView::new(text)));
    archive.list.stale = true;
}

/// The next page of the list, if one is wanted: one at a time.
fn feed(model: &mut UiModel) -> Vec<UiCommand> {
    let Some(after) = model.archive.as_mut().and_then(|archive| archive.list.next_page_cursor()) else {
        return Vec::new();
    };
    let number = number(model);
    let Some(archive) = &mut model.archive else { return Vec::new() };
    let filter = archive.list.filter.clone();
    archive.list.asked = Some((number, filter.clone(), after.is_none()));
    vec![ask(number, HistoryRequest::Page { filter, after })]
}

/// Where nothing works, nobody looks by the clock whether anything has begun elsewhere: a key does, but not each of
/// many in a row.
fn poll_changes(model: &mut UiModel, at: Timestamp) -> Option<UiCommand> {
    const APART_MS: i64 = 5_000;
    let idle = !model.ticking();
    let archive = model.archive.as_mut().filter(|archive| idle && archive.wait.is_none())?;
    if at.0.saturating_sub(archive.counted.0) < APART_MS {
        return None;
    }
    archive.counted = at;
    count(model)
}

fn count(model: &mut UiModel) -> Option<UiCommand> {
    model.archive.as_ref().filter(|archive| !archive.counting)?;
    let number = number(model);
    model.archive.as_mut()?.counting = true;
    Some(ask(number, HistoryRequest::Changes))
}

fn changed(model: &mut UiModel, count: Option<u64>) -> Vec<UiCommand> {
    let Some(archive) = &mut model.archive else { return Vec::new() };
    archive.counting = false;
    let before = std::mem::replace(&mut archive.seen, count);
    if count.is_none() || before == count || before.is_none() {
        // a long run whose turn has not come yet
        let waits = archive.run.as_ref().is_some_and(|run| run.behind);
        return if waits { reread(model).into_iter().collect() } else { Vec::new() };
    }
    archive.list.stale = true;
    let mut cmds = feed(model);
    cmds.extend(reread(model));
    cmds
}

/// The open run once more, if nobody asks for it already; it stays on screen meanwhile.
fn reread(model: &mut UiModel) -> Option<UiCommand> {
    /// A longer one is not read every second.
    const LONG: usize = 2_000;
    const APART_MS: i64 = 10_000;
    let now = model.now;
    let open = model.archive.as_mut()?.run.as_mut()?;
    let early = open.steps().len() > LONG && now.0.saturating_sub(open.read_at.0) < APART_MS;
    open.behind = early || open.asked.is_some();
    if open.behind {
        return None;
    }
    open.read_at = now;
    let (run, known) = (open.row.id.clone(), Some((open.row.updated, open.row.status)));
    let number = number(model);
    model.archive.as_mut()?.run.as_mut()?.asked = Some(number);
    Some(ask(number, HistoryRequest::Open { run, known }))
}

fn page(archive: &mut HistoryBrowser, number: u64, result: Result<HistoryRunPage, String>) -> Timestamp {
    if archive.list.asked.as_ref().is_none_or(|(asked, ..)| *asked != number) {
        return Timestamp(0);
    }
    match result {
        Ok(HistoryRunPage { rows, more, at }) => {
            archive.list.fed(rows, more);
            at
        }
        Err(why) => {
            archive.list.failed(why);
            Timestamp(0)
        }
    }
}

fn opened(archive: &mut HistoryBrowser, number: u64, result: Result<Option<Box<RunDetails>>, String>) {
    let Some(run) = archive.run.as_mut().filter(|run| run.asked == Some(number)) else { return };
    match result {
        Ok(Some(look)) => run.read(*look),
        Ok(None) => run.asked = None,
        Err(why) => {
            run.asked = None;
            if run.look.is_none() {
                archive.run = None;
            }
            archive.refuse(&why);
        }
    }
}
