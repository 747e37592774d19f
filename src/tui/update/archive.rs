//! The history: what keys, time and answers do to it (HIST-2).
//!
//! Refuses: reading anything itself, and changing a run without the same checks as the slash commands.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::opening;
use crate::domain::ids::{RunId, Timestamp};
use crate::tui::archive::{Archive, Asked, Look, Page, Question, Runs, Text, Told, Waiting};
use crate::tui::backend::{Plan, Travelled};
use crate::tui::model::Model;
use crate::tui::msg::{Cmd, Reply};
use crate::tui::transcript::item::{Block, Item, Tone};

mod asking;
mod deeds;
mod keys;
mod moving;
mod question;

use asking::{ask, number};

/// `/history`, and its key.
pub fn open(model: &mut Model) -> Vec<Cmd> {
    model.popup = None;
    let counted = model.last_key.unwrap_or_default();
    model.archive = Some(Box::new(Archive { counted, ..Archive::default() }));
    model.panes.leave();
    let mut cmds = feed(model);
    cmds.extend(count(model));
    cmds
}

/// A key while the history is in front.
pub fn press(model: &mut Model, key: KeyEvent, at: Timestamp, typing: bool) -> Vec<Cmd> {
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
            cmds.extend(look(model, at));
            return cmds;
        }
    }
    Vec::new()
}

/// A text that was pasted: into what is being typed.
pub fn paste(model: &mut Model, text: &str) -> Vec<Cmd> {
    let line: String = text.lines().next().unwrap_or_default().chars().filter(|c| !c.is_control()).collect();
    if let Some(archive) = &mut model.archive {
        keys::insert(archive, &line);
    }
    feed(model)
}

/// The wheel scrolls what is in front.
pub fn wheel(model: &mut Model, down: bool) -> Vec<Cmd> {
    /// Rows that one step of the wheel moves.
    const WHEEL: usize = 3;
    if let Some(archive) = &mut model.archive {
        moving::scroll(archive, WHEEL, down);
    }
    feed(model)
}

/// Once a second while something works: did anybody write?
pub fn tick(model: &mut Model) -> Vec<Cmd> {
    count(model).into_iter().collect()
}

/// Somebody has written to the history.
pub fn stirred(model: &mut Model) -> Vec<Cmd> {
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
pub fn told(model: &mut Model, number: u64, told: Told) -> Vec<Cmd> {
    let Some(archive) = &mut model.archive else { return Vec::new() };
    let awaited = archive.waits_for(&Waiting::Answer(number));
    match told {
        Told::Page(result) => {
            let now = page(archive, number, result);
            model.now = model.now.max(now);
        }
        Told::Changes(count) => return changed(model, count),
        Told::Opened(result) => {
            opened(archive, number, result);
            // somebody wrote while it was read
            if archive.run.as_ref().is_some_and(|run| run.behind) {
                let mut cmds: Vec<Cmd> = reread(model).into_iter().collect();
                cmds.extend(feed(model));
                return cmds;
            }
        }
        Told::Text(result) if awaited => {
            archive.wait = None;
            match result {
                Ok(text) => archive.page = Some(Box::new(Page::new(text))),
                Err(why) => archive.refuse(&why),
            }
        }
        Told::Done(result) if awaited => {
            archive.wait = None;
            match result {
                Ok(text) => {
                    archive.note = Some((Tone::Good, text));
                    // the run may have changed
                    archive.list.stale = true;
                    let mut cmds: Vec<Cmd> = reread(model).into_iter().collect();
                    cmds.extend(feed(model));
                    return cmds;
                }
                Err(why) => archive.refuse(&why),
            }
        }
        // the answer to whatever was asked was broken off
        Told::Text(Err(why)) => {
            archive.counting = false;
            page(archive, number, Err(why.clone()));
            opened(archive, number, Err(why));
        }
        Told::Text(Ok(_)) | Told::Done(_) => {}
    }
    feed(model)
}

/// An answer about a journey or a run that is taken up, if the history waits for it; else it is given back.
pub fn journey(model: &mut Model, reply: Reply) -> Option<Reply> {
    let Some(archive) = &mut model.archive else { return Some(reply) };
    let wait = archive.wait.as_ref().map(|wait| &wait.what);
    match (reply, wait) {
        (Reply::Planned(plan), Some(Waiting::Plan)) => planned(archive, plan),
        (Reply::Travelled(Err(why)), Some(Waiting::Travel)) => {
            archive.wait = None;
            archive.refuse(&why);
        }
        // the conversation tells it, too
        (Reply::Travelled(Ok(done)), Some(Waiting::Travel)) => {
            travelled(model, &done);
            return Some(Reply::Travelled(Ok(done)));
        }
        (Reply::Past { run, past: Err(why) }, Some(Waiting::TakeUp(wanted))) if wanted.as_str() == run => {
            archive.wait = None;
            archive.refuse(&why);
            model.retrying = None;
            if let Some(opening) = opening::of(model, &RunId::from(run.as_str())) {
                opening::given_up(model, opening);
            }
        }
        (reply @ (Reply::Past { past: Ok(_), .. } | Reply::Glance(_)), Some(Waiting::TakeUp(_))) => {
            model.archive = None;
            return Some(reply);
        }
        (reply, _) => return Some(reply),
    }
    None
}

fn planned(archive: &mut Archive, plan: Result<Plan, String>) {
    archive.wait = None;
    match plan {
        Ok(Plan { travel, title, body }) => {
            let items = vec![Item::Block(Block::new(Tone::Plain, "", &body))];
            archive.page = Some(Box::new(Page::new(Text { title, items, step: None })));
            archive.question = Some(Question::Agree { travel, armed: false });
        }
        Err(why) => archive.refuse(&why),
    }
}

fn travelled(model: &mut Model, done: &Travelled) {
    let Some(archive) = &mut model.archive else { return };
    archive.wait = None;
    let mut block = Block::new(Tone::Good, "Done", &done.text);
    if let Some(run) = &done.stands {
        block = block.foot(format!("/resume, or its line in the list, goes on with {run}"));
    }
    let text = Text { title: "done".to_owned(), items: vec![Item::Block(block)], step: None };
    archive.page = Some(Box::new(Page::new(text)));
    archive.list.stale = true;
}

/// The next page of the list, if one is wanted: one at a time.
fn feed(model: &mut Model) -> Vec<Cmd> {
    let Some(after) = model.archive.as_mut().and_then(|archive| archive.list.wanted()) else {
        return Vec::new();
    };
    let number = number(model);
    let Some(archive) = &mut model.archive else { return Vec::new() };
    let filter = archive.list.filter.clone();
    archive.list.asked = Some((number, filter.clone(), after.is_none()));
    vec![ask(number, Asked::Page { filter, after })]
}

/// Where nothing works, nobody looks by the clock whether anything has begun elsewhere: a key does, but not each of
/// many in a row.
fn look(model: &mut Model, at: Timestamp) -> Option<Cmd> {
    const APART_MS: i64 = 5_000;
    let idle = !model.ticking();
    let archive = model.archive.as_mut().filter(|archive| idle && archive.wait.is_none())?;
    if at.0.saturating_sub(archive.counted.0) < APART_MS {
        return None;
    }
    archive.counted = at;
    count(model)
}

fn count(model: &mut Model) -> Option<Cmd> {
    model.archive.as_ref().filter(|archive| !archive.counting)?;
    let number = number(model);
    model.archive.as_mut()?.counting = true;
    Some(ask(number, Asked::Changes))
}

fn changed(model: &mut Model, count: Option<u64>) -> Vec<Cmd> {
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
fn reread(model: &mut Model) -> Option<Cmd> {
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
    Some(ask(number, Asked::Open { run, known }))
}

fn page(archive: &mut Archive, number: u64, result: Result<Runs, String>) -> Timestamp {
    if archive.list.asked.as_ref().is_none_or(|(asked, ..)| *asked != number) {
        return Timestamp(0);
    }
    match result {
        Ok(Runs { rows, more, at }) => {
            archive.list.fed(rows, more);
            at
        }
        Err(why) => {
            archive.list.failed(why);
            Timestamp(0)
        }
    }
}

fn opened(archive: &mut Archive, number: u64, result: Result<Option<Box<Look>>, String>) {
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
