//! Keys in the text.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::super::key_press::KeyPress;
use super::actions::{edit_text, external_edit_command, refresh_completion, request_save, start_search};
use super::{prompt, simulate};
use crate::editor::action::EditorAction;
use crate::editor::buffer::EditorSearchStart;
use crate::editor::complete::describe_at;
use crate::editor::{DefinitionEditor, EditorPrompt};
use crate::msg::UiCommand;
use crate::text::format_count;
use crate::view::GRAPH_COLUMNS;
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};

/// `meant`: the action of the key in the table.
pub(super) fn on_key(
    editor: &mut DefinitionEditor,
    press: KeyPress,
    meant: Option<EditorAction>,
    columns: u16,
) -> Vec<UiCommand> {
    let key = press.key;
    if editor.help_text.take().is_some() && key.code == KeyCode::Esc {
        return Vec::new();
    }
    if editor.prompt.is_some() {
        return prompt::on_key(editor, press, meant.is_some());
    }
    editor.status_note = None;
    if editor.completion.is_some() && in_offer(editor, key) {
        return Vec::new();
    }
    if key.code == KeyCode::Esc && close_topmost(editor) {
        return Vec::new();
    }
    if editor.list.is_some() && in_findings(editor, key) {
        return Vec::new();
    }
    if let Some(act) = meant {
        if let Some(problem) = graph_problem(editor, act, columns) {
            note(editor, &problem);
            return Vec::new();
        }
        return perform_action(editor, act);
    }
    edit_text(editor, key);
    Vec::new()
}

/// The list of findings, while it is open: the text shows the chosen one. Whether the key was the list's.
fn in_findings(editor: &mut DefinitionEditor, key: KeyEvent) -> bool {
    let Some(at) = editor.chosen_finding().filter(|_| key.modifiers.is_empty()) else { return false };
    let at = match key.code {
        KeyCode::Up => at.saturating_sub(1),
        KeyCode::Down => (at + 1).min(editor.findings.len().saturating_sub(1)),
        KeyCode::Enter => at,
        _ => return false,
    };
    editor.list = (key.code != KeyCode::Enter).then_some(at);
    let place = editor.findings.get(at).filter(|finding| finding.place.file == editor.file.name);
    let place = place.map(|finding| (finding.place.line, finding.place.column));
    match place {
        Some((line, column)) => editor.buffer.move_to(line.saturating_sub(1), column.saturating_sub(1)),
        None if key.code == KeyCode::Enter && !editor.findings.is_empty() => {
            editor.status_note = Some("that finding is of another file".to_owned());
        }
        None => {}
    }
    true
}

/// Esc closes the topmost overlay before it leaves the editor. Whether there was one.
fn close_topmost(editor: &mut DefinitionEditor) -> bool {
    editor.simulation.take().is_some() || editor.list.take().is_some()
}

fn perform_action(editor: &mut DefinitionEditor, act: EditorAction) -> Vec<UiCommand> {
    let mut copied = None;
    match act {
        EditorAction::Leave => leave_editor(editor),
        // over the whole screen (`key_help`)
        EditorAction::Help => {}
        EditorAction::Save => request_save(editor),
        EditorAction::External => return vec![external_edit_command(editor)],
        EditorAction::Undo if !editor.buffer.undo() => note(editor, "nothing to take back"),
        EditorAction::Redo if !editor.buffer.redo() => note(editor, "nothing to do again"),
        EditorAction::Undo | EditorAction::Redo => {}
        EditorAction::Cut => {
            copied = editor.buffer.cut_selection();
            if copied.is_none() {
                note(editor, "nothing is selected: Shift and an arrow select");
            }
        }
        EditorAction::Copy => match editor.buffer.copy_selection() {
            None => editor.status_note = Some("nothing is selected · Esc leaves the editor".to_owned()),
            some => copied = some,
        },
        EditorAction::Paste if !editor.buffer.paste_clipboard() => {
            note(editor, "nothing was cut or copied here yet")
        }
        EditorAction::Paste => {}
        EditorAction::SelectAll => editor.buffer.select_all(),
        EditorAction::Find => editor.ask(EditorPrompt::Find(String::new())),
        EditorAction::FindNext => start_search(editor, EditorSearchStart::Next),
        EditorAction::FindBack => start_search(editor, EditorSearchStart::Back),
        EditorAction::Offer => offer_completion(editor),
        EditorAction::Describe => {
            let found = describe_at(&editor.buffer.text(), editor.buffer.offset(), &editor.schema);
            editor.help_text =
                Some(found.unwrap_or_else(|| "the schema does not describe this place".to_owned()));
        }
        EditorAction::NextFinding => to_finding(editor, false),
        EditorAction::FindingBack => to_finding(editor, true),
        EditorAction::Findings => editor.toggle_list(),
        EditorAction::Simulate => return simulate::start_simulation(editor).into_iter().collect(),
        EditorAction::Graph if editor.simulation.take().is_some() => {}
        EditorAction::Graph => editor.graph = !editor.graph,
        EditorAction::GraphUp => scroll_side(editor, false),
        EditorAction::GraphDown => scroll_side(editor, true),
    }
    let what = if act == EditorAction::Cut { "cut" } else { "copied" };
    copied.map(|text| copy_command(editor, what, text)).into_iter().collect()
}

fn note(editor: &mut DefinitionEditor, text: &str) {
    editor.status_note = Some(text.to_owned());
}

/// Why a key of the graph shows nothing. What a simulation found has its own place, in which these keys scroll.
fn graph_problem(editor: &DefinitionEditor, act: EditorAction, columns: u16) -> Option<String> {
    let scrolls = matches!(act, EditorAction::GraphUp | EditorAction::GraphDown);
    if editor.simulation.is_some() || !scrolls && act != EditorAction::Graph {
        return None;
    }
    if editor.graph_list.is_none() {
        return Some("there is no graph of this text".to_owned());
    }
    if columns < GRAPH_COLUMNS {
        return Some(format!("the graph needs {GRAPH_COLUMNS} columns, here are {columns}"));
    }
    (scrolls && !editor.graph).then(|| "the graph is hidden".to_owned())
}

/// Into the terminal's clipboard; `what` was done with the text.
pub(super) fn copy_command(editor: &mut DefinitionEditor, what: &str, text: String) -> UiCommand {
    let lines = text.lines().count().max(1) as u64;
    editor.status_note = Some(format!("{what} {}", format_count(lines, "line")));
    UiCommand::Copy(text)
}

/// Scrolls the side pane; drawing clamps the position.
fn scroll_side(editor: &mut DefinitionEditor, down: bool) {
    let top = editor.simulation.as_mut().map_or(&mut editor.graph_top, |simulation| &mut simulation.top_row);
    *top = if down { *top + 1 } else { top.saturating_sub(1) };
}

fn to_finding(editor: &mut DefinitionEditor, back: bool) {
    let (row, column_before) = editor.buffer.cursor();
    let here = (row + 1, column_before + 1);
    let own = editor.findings.iter().filter(|finding| finding.place.file == editor.file.name);
    let places: Vec<(usize, usize)> = own.map(|finding| (finding.place.line, finding.place.column)).collect();
    let next = if back {
        places.iter().rev().find(|place| **place < here).or(places.last())
    } else {
        places.iter().find(|place| **place > here).or(places.first())
    };
    match next.copied() {
        Some((line, column)) => {
            editor.buffer.move_to(line.saturating_sub(1), column.saturating_sub(1));
            if editor.buffer.cursor() == (row, column_before) {
                note(editor, "the cursor is at the only place with a finding");
            }
            if editor.list.take().is_some() {
                editor.toggle_list();
            }
        }
        None if editor.findings.is_empty() => editor.status_note = Some("nothing is wrong".to_owned()),
        None if editor.list.is_none() => editor.toggle_list(),
        None => {}
    }
}

/// The first error in this file.
pub(super) fn to_first_error(editor: &mut DefinitionEditor) {
    let is_own_error = |finding: &&Diagnostic| {
        finding.severity == DiagnosticSeverity::Error && finding.place.file == editor.file.name
    };
    let place = editor.findings.iter().find(is_own_error).map(|error| (error.place.line, error.place.column));
    if let Some((line, column)) = place {
        editor.buffer.move_to(line.saturating_sub(1), column.saturating_sub(1));
    }
}

fn leave_editor(editor: &mut DefinitionEditor) {
    if editor.is_changed() {
        editor.ask_at_key(EditorPrompt::Leave);
    } else {
        editor.close_when_saved = true;
    }
}

fn offer_completion(editor: &mut DefinitionEditor) {
    editor.completion = refresh_completion(editor, 0);
    match &editor.completion {
        None => editor.status_note = Some("no completions here".to_owned()),
        Some(offer) if offer.list.len() == 1 => accept_completion(editor),
        Some(_) => {}
    }
}

/// Whether the key was the list's.
fn in_offer(editor: &mut DefinitionEditor, key: KeyEvent) -> bool {
    let Some(offer) = &mut editor.completion else { return false };
    let count = offer.list.len().max(1);
    match key.code {
        KeyCode::Up => offer.selected = (offer.selected + count - 1) % count,
        KeyCode::Down => offer.selected = (offer.selected + 1) % count,
        KeyCode::Enter | KeyCode::Tab => accept_completion(editor),
        KeyCode::Esc => editor.completion = None,
        KeyCode::Backspace => return false,
        // typed characters narrow the list
        KeyCode::Char(_) if !key.modifiers.contains(KeyModifiers::CONTROL) => return false,
        _ => {
            editor.completion = None;
            return false;
        }
    }
    true
}

fn accept_completion(editor: &mut DefinitionEditor) {
    let Some(mut offer) = editor.completion.take() else { return };
    if offer.selected < offer.list.len() {
        let candidate = offer.list.swap_remove(offer.selected);
        editor.buffer.replace_range(offer.start..offer.end, &candidate.text);
    }
}
