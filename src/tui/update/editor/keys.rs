//! Keys in the text.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::acts::{again, external, find, wish_save};
use super::prompt;
use crate::tui::editor::buffer::Way;
use crate::tui::editor::complete::describe;
use crate::tui::editor::{Editor, LARGEST, Prompt};
use crate::tui::msg::Cmd;

/// What F1 shows.
const KEYS: &str = "\
Ctrl+S saves · Ctrl+Q or Esc leaves · Ctrl+O your own editor
Ctrl+Z, Ctrl+Y undo, redo · Ctrl+X, C, V cut, copy, paste · Ctrl+A all
Ctrl+← Ctrl+→ a word · Ctrl+W deletes a word · Ctrl+Home Ctrl+End ends
Ctrl+F finds · F3, Shift+F3 the next, the one before
Ctrl+Space what fits here · F2 what this key means
F8, Shift+F8 the next finding, the one before · F4 all findings
F6 the graph · Alt+↑ Alt+↓ scroll it";

pub(super) fn press(editor: &mut Editor, key: KeyEvent) -> Vec<Cmd> {
    if editor.about.take().is_some() && key.code == KeyCode::Esc {
        return Vec::new();
    }
    if editor.prompt.is_some() {
        return prompt::press(editor, key);
    }
    editor.note = None;
    if editor.offer.is_some() && in_offer(editor, key) {
        return Vec::new();
    }
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char(c) if control => return with_control(editor, c, key),
        KeyCode::Esc => leave(editor),
        KeyCode::F(number) => function(editor, number, key.modifiers.contains(KeyModifiers::SHIFT)),
        KeyCode::PageUp | KeyCode::PageDown => {
            let page = isize::try_from(editor.rows.saturating_sub(1).max(1)).unwrap_or(1);
            editor.buffer.scroll(if key.code == KeyCode::PageUp { -page } else { page });
        }
        KeyCode::Up if key.modifiers.contains(KeyModifiers::ALT) => {
            editor.graph_top = editor.graph_top.saturating_sub(1)
        }
        KeyCode::Down if key.modifiers.contains(KeyModifiers::ALT) => editor.graph_top += 1,
        KeyCode::Enter => editor.buffer.newline(),
        KeyCode::Char(_) if editor.buffer.text().len() >= LARGEST => {
            editor.note = Some("too long: texts of up to 1 MB are edited here".to_owned());
        }
        _ => editor.buffer.key(key),
    }
    Vec::new()
}

fn with_control(editor: &mut Editor, c: char, key: KeyEvent) -> Vec<Cmd> {
    let mut copied = None;
    match c {
        's' => wish_save(editor),
        'q' => leave(editor),
        'o' => return vec![external(editor)],
        'f' => editor.prompt = Some(Prompt::Find(String::new())),
        'g' => find(editor, Way::Next),
        'z' => drop(editor.buffer.undo()),
        'y' => drop(editor.buffer.redo()),
        'a' => editor.buffer.select_all(),
        'x' => copied = editor.buffer.cut(),
        'v' => editor.buffer.put_back(),
        'c' => match editor.buffer.copy() {
            None => editor.note = Some("nothing is selected · Esc leaves the editor".to_owned()),
            some => copied = some,
        },
        ' ' => offer(editor),
        _ => editor.buffer.key(key),
    }
    copied.map(Cmd::Copy).into_iter().collect()
}

fn function(editor: &mut Editor, number: u8, shift: bool) {
    match number {
        1 => editor.about = Some(KEYS.to_owned()),
        2 => {
            let found = describe(&editor.buffer.text(), editor.buffer.offset(), &editor.schema);
            editor.about =
                Some(found.unwrap_or_else(|| "the schema says nothing about this place".to_owned()));
        }
        3 => find(editor, if shift { Way::Back } else { Way::Next }),
        4 => editor.list = !editor.list,
        6 => editor.graph = !editor.graph,
        8 => to_finding(editor, shift),
        // what many terminals send for Shift+F3 and Shift+F8
        15 => find(editor, Way::Back),
        20 => to_finding(editor, true),
        _ => {}
    }
}

fn to_finding(editor: &mut Editor, back: bool) {
    let (row, column) = editor.buffer.cursor();
    let here = (row + 1, column + 1);
    let own = editor.findings.iter().filter(|finding| finding.place.file == editor.file.name);
    let places: Vec<(usize, usize)> = own.map(|finding| (finding.place.line, finding.place.column)).collect();
    let next = if back {
        places.iter().rev().find(|place| **place < here).or(places.last())
    } else {
        places.iter().find(|place| **place > here).or(places.first())
    };
    match next.copied() {
        Some((line, column)) => editor.buffer.go(line.saturating_sub(1), column.saturating_sub(1)),
        None if editor.findings.is_empty() => editor.note = Some("nothing is wrong".to_owned()),
        None => editor.list = true,
    }
}

fn leave(editor: &mut Editor) {
    if editor.is_changed() {
        editor.prompt = Some(Prompt::Leave);
    } else {
        editor.leaves = true;
    }
}

fn offer(editor: &mut Editor) {
    editor.offer = again(editor, 0);
    match &editor.offer {
        None => editor.note = Some("nothing is known to fit here".to_owned()),
        Some(offer) if offer.list.len() == 1 => take(editor),
        Some(_) => {}
    }
}

/// Whether the key was the list's.
fn in_offer(editor: &mut Editor, key: KeyEvent) -> bool {
    let Some(offer) = &mut editor.offer else { return false };
    let count = offer.list.len().max(1);
    match key.code {
        KeyCode::Up => offer.selected = (offer.selected + count - 1) % count,
        KeyCode::Down => offer.selected = (offer.selected + 1) % count,
        KeyCode::Enter | KeyCode::Tab => take(editor),
        KeyCode::Esc => editor.offer = None,
        KeyCode::Backspace => return false,
        // what is typed narrows the list
        KeyCode::Char(_) if !key.modifiers.contains(KeyModifiers::CONTROL) => return false,
        _ => {
            editor.offer = None;
            return false;
        }
    }
    true
}

fn take(editor: &mut Editor) {
    let Some(mut offer) = editor.offer.take() else { return };
    if offer.selected < offer.list.len() {
        let candidate = offer.list.swap_remove(offer.selected);
        editor.buffer.replace(offer.from..offer.to, &candidate.text);
    }
}
