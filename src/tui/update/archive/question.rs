//! Keys while the history asks something.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::asking::wait_for;
use super::moving::scroll;
use crate::domain::ids::RunId;
use crate::runtime::command::Control;
use crate::tui::archive::{Archive, Asked, Question, Wait, Waiting};
use crate::tui::backend::Travel;
use crate::tui::model::Model;
use crate::tui::msg::Cmd;
use crate::tui::slash;
use crate::tui::update::busy::in_the_way;

/// `typing`: the key before was pressed a moment ago, so this one may not be meant for a question that just appeared.
pub(super) fn press(model: &mut Model, key: KeyEvent, typing: bool) -> Vec<Cmd> {
    let Some(archive) = &mut model.archive else { return Vec::new() };
    match &archive.question {
        Some(Question::Agree { travel, armed }) => {
            let (travel, surprised) = (travel.clone(), !armed && typing);
            agree(model, travel, key, surprised)
        }
        Some(Question::Cancel { run }) => {
            let run = run.clone();
            cancel(model, run, key)
        }
        Some(_) => write(model, key),
        None => Vec::new(),
    }
}

/// It follows the key at once: who has pressed that is not surprised.
fn cancel(model: &mut Model, run: RunId, key: KeyEvent) -> Vec<Cmd> {
    let Some(archive) = &mut model.archive else { return Vec::new() };
    match key.code {
        KeyCode::Char('y') => {
            archive.question = None;
            let about = format!("ending {run}");
            return wait_for(model, Asked::Control { run, control: Control::Cancel }, &about);
        }
        KeyCode::Char('n') | KeyCode::Esc => {
            archive.question = None;
            archive.tell("nothing was changed");
        }
        _ => {}
    }
    Vec::new()
}

fn agree(model: &mut Model, wanted: Travel, key: KeyEvent, surprised: bool) -> Vec<Cmd> {
    let Some(archive) = &mut model.archive else { return Vec::new() };
    if let Some(Question::Agree { armed, .. }) = &mut archive.question {
        *armed |= !surprised;
    }
    match key.code {
        KeyCode::Up => scroll(archive, 1, false),
        KeyCode::Down => scroll(archive, 1, true),
        KeyCode::PageUp | KeyCode::PageDown => {
            let rows = archive.page.as_ref().map_or(1, |page| page.text.page());
            scroll(archive, rows, key.code == KeyCode::PageDown);
        }
        KeyCode::Char('y') if surprised => {}
        KeyCode::Char('y') => {
            (archive.question, archive.page) = (None, None);
            return travel(model, wanted);
        }
        KeyCode::Char('n') | KeyCode::Esc => {
            (archive.question, archive.page) = (None, None);
            archive.tell("nothing was changed");
        }
        _ => {}
    }
    Vec::new()
}

/// What is in the way may have come since the question.
fn travel(model: &mut Model, travel: Travel) -> Vec<Cmd> {
    let busy = in_the_way(model, "change files");
    let Some(archive) = &mut model.archive else { return Vec::new() };
    if let Some(why) = busy {
        archive.refuse(&why);
        return Vec::new();
    }
    let about = match travel {
        Travel::Undo { .. } => "bringing the files back",
        Travel::Rewind { .. } => "going back",
        Travel::Fork { .. } => "forking",
    };
    archive.wait = Some(Wait { what: Waiting::Travel, about: about.to_owned() });
    vec![Cmd::Travel(travel)]
}

fn write(model: &mut Model, key: KeyEvent) -> Vec<Cmd> {
    let Some(archive) = &mut model.archive else { return Vec::new() };
    archive.note = None;
    match key.code {
        KeyCode::Esc => {
            archive.question = None;
            archive.tell("nothing was changed");
        }
        KeyCode::Enter => return entered(model),
        KeyCode::Backspace => drop(typed(archive).and_then(String::pop)),
        KeyCode::Char('u') if key.modifiers.contains(KeyModifiers::CONTROL) => {
            typed(archive).into_iter().for_each(String::clear);
        }
        KeyCode::Char(letter) if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => {
            typed(archive).into_iter().for_each(|typed| typed.push(letter));
        }
        _ => {}
    }
    Vec::new()
}

fn typed(archive: &mut Archive) -> Option<&mut String> {
    match archive.question.as_mut()? {
        Question::Fork { typed, .. } | Question::Export { typed, .. } => Some(typed),
        Question::Agree { .. } | Question::Cancel { .. } => None,
    }
}

/// What does not fit stays, to be corrected.
fn entered(model: &mut Model) -> Vec<Cmd> {
    let Some(archive) = &mut model.archive else { return Vec::new() };
    match archive.question.clone() {
        Some(Question::Fork { run, step, typed }) => match slash::changes(&typed) {
            Ok(set) => {
                archive.question = None;
                travel(model, Travel::Fork { run: Some(run.to_string()), step, set })
            }
            Err(why) => {
                archive.refuse(&why);
                Vec::new()
            }
        },
        Some(Question::Export { run, typed }) => {
            let to = typed.trim().to_owned();
            if to.is_empty() {
                archive.refuse("name a file; one that ends in .md gets Markdown");
                return Vec::new();
            }
            archive.question = None;
            wait_for(model, Asked::Export { run, to }, "writing the file")
        }
        Some(Question::Agree { .. } | Question::Cancel { .. }) | None => Vec::new(),
    }
}
