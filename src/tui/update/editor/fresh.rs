//! Keys while a new workflow or role is chosen and named.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::tui::editor::fresh::{Fresh, Naming, Patterns, Wish};
use crate::tui::editor::{Asked, Begun, Edit, Editor};
use crate::tui::model::Model;
use crate::tui::msg::Cmd;
use crate::tui::transcript::item::{Item, Tone};

/// Names are never longer.
const LONGEST: usize = 64;

pub(super) enum Next {
    Stay,
    Leave,
    Ask(Wish),
}

/// `/edit --new [NAME]`
pub fn open(model: &mut Model, wanted: Option<String>) -> Vec<Cmd> {
    model.edits += 1;
    model.edit =
        Some(Edit::Fresh(Box::new(Fresh { wanted: wanted.unwrap_or_default(), ..Fresh::default() })));
    vec![Cmd::Edit(model.edits, Box::new(Asked::Patterns))]
}

pub(super) fn offered(model: &mut Model, found: Result<Patterns, String>) {
    match (found, &mut model.edit) {
        (Ok(patterns), Some(Edit::Fresh(fresh))) => fresh.patterns = patterns,
        (Ok(_), _) => {}
        (Err(reason), _) => {
            model.edit = None;
            model.say(Item::line(Tone::Bad, &reason));
        }
    }
}

/// Its text is there, or its name cannot be had. Gives the editor.
pub(super) fn begun(model: &mut Model, number: u64, result: Result<Box<Begun>, String>) -> Option<Editor> {
    let Some(Edit::Fresh(fresh)) = &mut model.edit else { return None };
    match result {
        Ok(begun) => Some(Editor::begun(number, *begun)),
        Err(reason) => {
            if let Some(naming) = &mut fresh.naming {
                (naming.problem, naming.asked) = (Some(reason), false);
            }
            None
        }
    }
}

pub(super) fn paste(fresh: &mut Fresh, text: &str) {
    let line = text.lines().next().unwrap_or_default();
    match &mut fresh.naming {
        Some(naming) => naming.name.push_str(line),
        None => fresh.typed.push_str(line),
    }
}

pub(super) fn press(fresh: &mut Fresh, key: KeyEvent) -> Next {
    let control = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    if matches!(key.code, KeyCode::Char('c' | 'q')) && control {
        return Next::Leave;
    }
    if fresh.naming.is_some() { in_name(fresh, key, control) } else { in_list(fresh, key, control) }
}

fn in_list(fresh: &mut Fresh, key: KeyEvent, control: bool) -> Next {
    let count = fresh.fitting().len().max(1);
    match key.code {
        KeyCode::Esc => return Next::Leave,
        KeyCode::Up => fresh.selected = (fresh.selected + count - 1) % count,
        KeyCode::Down => fresh.selected = (fresh.selected + 1) % count,
        KeyCode::PageUp => fresh.selected = fresh.selected.saturating_sub(10),
        KeyCode::PageDown => fresh.selected = (fresh.selected + 10).min(count - 1),
        KeyCode::Enter => {
            let pattern = fresh.fitting().get(fresh.selected).map(|pattern| (*pattern).clone());
            fresh.naming = pattern.map(|pattern| Naming {
                pattern,
                name: fresh.wanted.clone(),
                problem: None,
                asked: false,
            });
        }
        KeyCode::Backspace => {
            fresh.typed.pop();
            fresh.selected = 0;
        }
        KeyCode::Char('u') if key.modifiers.contains(KeyModifiers::CONTROL) => {
            fresh.typed.clear();
            fresh.selected = 0;
        }
        KeyCode::Char(c) if !control => {
            fresh.typed.push(c);
            fresh.selected = 0;
        }
        _ => {}
    }
    Next::Stay
}

fn in_name(fresh: &mut Fresh, key: KeyEvent, control: bool) -> Next {
    let layer = fresh.layer();
    let Some(naming) = &mut fresh.naming else { return Next::Stay };
    match key.code {
        KeyCode::Esc => fresh.naming = None,
        KeyCode::Tab => {
            fresh.patterns.project = !fresh.patterns.project;
            naming.problem = None;
        }
        KeyCode::Enter if naming.asked => {}
        KeyCode::Enter => {
            naming.asked = true;
            return Next::Ask(Wish {
                pattern: naming.pattern.clone(),
                name: naming.name.trim().to_owned(),
                layer,
            });
        }
        KeyCode::Backspace => {
            naming.name.pop();
            naming.problem = None;
        }
        KeyCode::Char('u') if key.modifiers.contains(KeyModifiers::CONTROL) => {
            naming.name.clear();
            naming.problem = None;
        }
        KeyCode::Char(c) if !control && naming.name.len() < LONGEST => {
            naming.name.push(c);
            naming.problem = None;
        }
        _ => {}
    }
    Next::Stay
}
