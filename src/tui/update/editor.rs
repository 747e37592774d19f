//! Keys and answers in the editor of workflows and roles.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseEventKind};

use crate::domain::diagnostic::Severity;
use crate::tui::editor::act::Act;
use crate::tui::editor::{
    Asked, Edit, Editor, LARGEST, Listing, Opened, Prompt, Refused, Report, Saved, Told,
};
use crate::tui::keymap::chord::Chord;
use crate::tui::keymap::{Action, Now};
use crate::tui::model::Model;
use crate::tui::msg::Cmd;
use crate::tui::run_view::drawing::Drawing;
use crate::tui::text::counted;
use crate::tui::transcript::item::{Item, Tone};

mod acts;
mod fresh;
mod keys;
mod prompt;
mod simulate;

pub use fresh::open as open_fresh;

/// Rows that one step of the wheel moves.
const WHEEL: isize = 3;

/// `/edit [NAME]`.
pub fn open(model: &mut Model, name: Option<String>, external: bool) -> Vec<Cmd> {
    model.edits += 1;
    let asked = name.map_or(Asked::Files, |name| Asked::Open { name, external });
    vec![Cmd::Edit(model.edits, Box::new(asked))]
}

/// A key while the editor is in front.
pub fn press(model: &mut Model, key: KeyEvent) -> Vec<Cmd> {
    let chord = Chord::of(key);
    if model.keymap.has(Action::Repaint, chord) {
        model.repaint = true;
        return Vec::new();
    }
    let meant = model.keymap.action(chord, Now { editor: true, ..Now::default() });
    let meant = meant.and_then(|action| if let Action::Editor(act) = action { Some(act) } else { None });
    let help = if meant == Some(Act::Help) { model.keymap.editor_help() } else { String::new() };
    match &mut model.edit {
        None => Vec::new(),
        Some(Edit::List(listing)) => match in_list(listing, key) {
            Chosen::Nothing => Vec::new(),
            Chosen::Leave => {
                model.edit = None;
                Vec::new()
            }
            Chosen::File(name) => open(model, Some(name), false),
            Chosen::New => fresh::open(model, None),
        },
        Some(Edit::Fresh(dialog)) => match fresh::press(dialog, key) {
            fresh::Next::Stay => Vec::new(),
            fresh::Next::Leave => {
                model.edit = None;
                Vec::new()
            }
            fresh::Next::Ask(wish) => vec![Cmd::Edit(model.edits, Box::new(Asked::Begin(wish)))],
        },
        Some(Edit::Text(editor)) => {
            let mut cmds = keys::press(editor, key, meant, &help);
            cmds.extend(settle(editor));
            if editor.leaves && editor.prompt.is_none() && !editor.saving && !editor.wants_save {
                model.edit = None;
            }
            cmds
        }
    }
}

pub fn paste(model: &mut Model, text: &str) -> Vec<Cmd> {
    match &mut model.edit {
        Some(Edit::Text(editor)) => {
            match &mut editor.prompt {
                Some(Prompt::Find(words)) => words.push_str(text.lines().next().unwrap_or_default()),
                Some(_) => {}
                None if editor.buffer.text().len() + text.len() > LARGEST => {
                    editor.note = Some("too long: texts of up to 1 MB are edited here".to_owned());
                }
                None => editor.buffer.paste(text),
            }
            settle(editor)
        }
        Some(Edit::List(listing)) => {
            listing.typed.push_str(text.lines().next().unwrap_or_default());
            Vec::new()
        }
        Some(Edit::Fresh(dialog)) => {
            fresh::paste(dialog, text);
            Vec::new()
        }
        None => Vec::new(),
    }
}

pub fn wheel(model: &mut Model, kind: MouseEventKind) {
    let rows = match kind {
        MouseEventKind::ScrollUp => -WHEEL,
        MouseEventKind::ScrollDown => WHEEL,
        _ => return,
    };
    if let Some(Edit::Text(editor)) = &mut model.edit {
        editor.buffer.scroll(rows);
    }
}

/// An answer; one to an editor that was closed is nobody's.
pub fn told(model: &mut Model, number: u64, told: Told) -> Vec<Cmd> {
    match told {
        Told::Files(Ok(files)) if number == model.edits => {
            model.edit = Some(Edit::List(Listing { files, ..Listing::default() }));
            Vec::new()
        }
        Told::Opened(Ok(opened)) if number == model.edits => opened_one(model, number, *opened),
        Told::Files(Err(reason)) | Told::Opened(Err(reason)) if number == model.edits => {
            model.edit = None;
            model.say(Item::line(Tone::Bad, &reason));
            Vec::new()
        }
        Told::Patterns(found) if number == model.edits => {
            fresh::offered(model, found);
            Vec::new()
        }
        Told::Begun(result) if number == model.edits => match fresh::begun(model, number, result) {
            Some(editor) => put_in_front(model, editor),
            None => Vec::new(),
        },
        Told::Files(_) | Told::Opened(_) | Told::Patterns(_) | Told::Begun(_) => Vec::new(),
        Told::Simulated { version, result } => {
            if let Some(editor) = of(model, number) {
                simulate::done(editor, version, result);
            }
            Vec::new()
        }
        Told::Checked { version, report } => {
            let Some(editor) = of(model, number) else { return Vec::new() };
            checked(editor, version, *report);
            settle(editor)
        }
        Told::Saved(result) => saved(model, number, result),
    }
}

/// The text as the person's own editor left it.
pub fn edited(model: &mut Model, number: u64, result: Result<String, String>) -> Vec<Cmd> {
    model.repaint = true;
    let Some(editor) = of(model, number) else { return Vec::new() };
    match result {
        Ok(text) if text.len() > LARGEST => {
            editor.note = Some("left as it was: the text is now larger than 1 MB".to_owned());
        }
        Ok(text) if text.replace("\r\n", "\n") == editor.buffer.text() => {
            editor.note = Some("nothing was changed".to_owned());
        }
        Ok(text) => {
            editor.buffer.replace_all(&text);
            editor.note = Some("taken over; Ctrl+S saves it".to_owned());
        }
        Err(reason) => editor.note = Some(reason),
    }
    settle(editor)
}

fn of(model: &mut Model, number: u64) -> Option<&mut Editor> {
    match &mut model.edit {
        Some(Edit::Text(editor)) if editor.number == number => Some(editor),
        _ => None,
    }
}

fn opened_one(model: &mut Model, number: u64, opened: Opened) -> Vec<Cmd> {
    if opened.text.len() > LARGEST {
        model.edit = None;
        let text = format!("{} is larger than 1 MB: edit it with a program of your own", opened.file.name);
        model.say(Item::line(Tone::Bad, &text));
        return Vec::new();
    }
    let external = opened.external;
    let editor = Editor::new(number, opened);
    let elsewhere = external.then(|| acts::external(&editor));
    let mut cmds = put_in_front(model, editor);
    cmds.extend(elsewhere);
    cmds
}

fn put_in_front(model: &mut Model, mut editor: Editor) -> Vec<Cmd> {
    let cmds = settle(&mut editor);
    model.popup = None;
    model.edit = Some(Edit::Text(Box::new(editor)));
    cmds
}

fn checked(editor: &mut Editor, version: u64, report: Report) {
    editor.checking = None;
    // an older text's findings still say more than none
    editor.checked = Some(version);
    editor.findings = report.findings;
    editor.findings.sort_by_key(|finding| (finding.place.line, finding.place.column));
    editor.outdated = report.graphs.is_empty();
    if !report.graphs.is_empty() {
        editor.drawing = Some(Drawing::of(report.graphs));
    }
}

fn saved(model: &mut Model, number: u64, result: Result<Saved, Refused>) -> Vec<Cmd> {
    let note = result.as_ref().ok().map(|saved| saved.note.clone());
    // the workflows and roles are other ones now: names, and what the status line says
    let again = if note.is_some() { vec![Cmd::Names, Cmd::Status] } else { Vec::new() };
    let Some(editor) = of(model, number) else { return again };
    editor.saving = false;
    match result {
        Ok(saved) => {
            editor.saved = saved.version;
            editor.base = Some(saved.text);
            editor.note = Some(saved.note);
        }
        Err(Refused::Changed(text)) => editor.prompt = Some(Prompt::Conflict(text)),
        Err(Refused::Failed(reason)) => {
            editor.leaves = false;
            editor.note = Some(reason);
        }
    }
    let done = editor.leaves && note.is_some();
    if let Some(note) = note.filter(|_| done) {
        model.edit = None;
        model.say(Item::note(&note));
    }
    again
}

/// What follows from a change: it is checked, one text after the other, and saved once that is known to be right.
fn settle(editor: &mut Editor) -> Vec<Cmd> {
    editor.refresh();
    if let Some(offer) = editor.offer.take() {
        editor.offer = acts::again(editor, offer.selected);
    }
    let mut cmds = Vec::new();
    if !editor.is_checked() && editor.checking.is_none() {
        let version = editor.buffer.version();
        editor.checking = Some(version);
        let text = editor.buffer.text().into();
        let asked = Asked::Check { file: editor.file.clone(), text, version };
        cmds.push(Cmd::Edit(editor.number, Box::new(asked)));
    }
    if editor.wants_save && editor.is_checked() {
        editor.wants_save = false;
        let errors = editor.count(Severity::Error);
        if errors > 0 {
            editor.prompt = Some(Prompt::Force);
            editor.note = Some(counted(errors as u64, "error"));
        } else {
            cmds.push(acts::save(editor, false));
        }
    }
    cmds
}

enum Chosen {
    Nothing,
    Leave,
    File(String),
    New,
}

fn in_list(listing: &mut Listing, key: KeyEvent) -> Chosen {
    let count = listing.fitting().len().max(1);
    let control = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    match key.code {
        KeyCode::Esc => return Chosen::Leave,
        KeyCode::Char('c' | 'q') if control => return Chosen::Leave,
        KeyCode::Char('n') if control => return Chosen::New,
        KeyCode::Up => listing.selected = (listing.selected + count - 1) % count,
        KeyCode::Down => listing.selected = (listing.selected + 1) % count,
        KeyCode::PageUp => listing.selected = listing.selected.saturating_sub(10),
        KeyCode::PageDown => listing.selected = (listing.selected + 10).min(count - 1),
        KeyCode::Enter => {
            let chosen = listing.fitting().get(listing.selected).map(|file| file.name.clone());
            return chosen.map_or(Chosen::Nothing, Chosen::File);
        }
        KeyCode::Backspace => {
            listing.typed.pop();
            listing.selected = 0;
        }
        KeyCode::Char('u') if key.modifiers.contains(KeyModifiers::CONTROL) => {
            listing.typed.clear();
            listing.selected = 0;
        }
        KeyCode::Char(c) if !control => {
            listing.typed.push(c);
            listing.selected = 0;
        }
        _ => {}
    }
    Chosen::Nothing
}
