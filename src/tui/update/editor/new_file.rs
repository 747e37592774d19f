//! Keys while a new workflow or role is chosen and named.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::editor::new_file::{NewFileNaming, NewFilePicker};
use crate::editor::{DefinitionEditor, EditorScreen};
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::transcript::item::{ItemTone, TranscriptItem};
use synthdev_service::session::{
    EditorRequest, NewEditFile, NewFileRequest, NewFileTemplates, SessionRequest,
};

/// Names are never longer.
const LONGEST: usize = 64;

pub(super) enum NewFileKeyOutcome {
    Stay,
    Leave,
    Ask(NewFileRequest),
}

/// `/edit --new [NAME]`
pub fn open_picker(model: &mut UiModel, wanted: Option<String>) -> Vec<UiCommand> {
    model.edits += 1;
    model.edit = Some(EditorScreen::Fresh(Box::new(NewFilePicker {
        requested_name: wanted.unwrap_or_default(),
        ..NewFilePicker::default()
    })));
    vec![UiCommand::Ask(SessionRequest::Editor(model.edits, Box::new(EditorRequest::Patterns)))]
}

pub(super) fn on_templates_loaded(model: &mut UiModel, found: Result<NewFileTemplates, String>) {
    match (found, &mut model.edit) {
        (Ok(patterns), Some(EditorScreen::Fresh(fresh))) => fresh.patterns = patterns,
        (Ok(_), _) => {}
        (Err(reason), _) => {
            model.edit = None;
            model.add_item(TranscriptItem::line(ItemTone::Bad, &reason));
        }
    }
}

/// Its text is there, or its name cannot be had. Gives the editor.
pub(super) fn create_editor(
    model: &mut UiModel,
    number: u64,
    result: Result<Box<NewEditFile>, String>,
) -> Option<DefinitionEditor> {
    let Some(EditorScreen::Fresh(fresh)) = &mut model.edit else { return None };
    match result {
        Ok(begun) => Some(DefinitionEditor::for_new_file(number, *begun)),
        Err(reason) => {
            if let Some(naming) = &mut fresh.naming_step {
                (naming.problem, naming.check_pending) = (Some(reason), false);
            }
            None
        }
    }
}

pub(super) fn on_paste(fresh: &mut NewFilePicker, text: &str) {
    let line = text.lines().next().unwrap_or_default();
    match &mut fresh.naming_step {
        Some(naming) => naming.name.push_str(line),
        None => fresh.typed_filter.push_str(line),
    }
}

pub(super) fn on_key(fresh: &mut NewFilePicker, key: KeyEvent) -> NewFileKeyOutcome {
    let control = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    if matches!(key.code, KeyCode::Char('c' | 'q')) && control {
        return NewFileKeyOutcome::Leave;
    }
    if fresh.naming_step.is_some() { in_name(fresh, key, control) } else { in_list(fresh, key, control) }
}

fn in_list(fresh: &mut NewFilePicker, key: KeyEvent, control: bool) -> NewFileKeyOutcome {
    let count = fresh.matching_templates().len().max(1);
    match key.code {
        KeyCode::Esc => return NewFileKeyOutcome::Leave,
        KeyCode::Up => fresh.selected = (fresh.selected + count - 1) % count,
        KeyCode::Down => fresh.selected = (fresh.selected + 1) % count,
        KeyCode::PageUp => fresh.selected = fresh.selected.saturating_sub(10),
        KeyCode::PageDown => fresh.selected = (fresh.selected + 10).min(count - 1),
        KeyCode::Enter => {
            let pattern = fresh.matching_templates().get(fresh.selected).map(|pattern| (*pattern).clone());
            fresh.naming_step = pattern.map(|pattern| NewFileNaming {
                pattern,
                name: fresh.requested_name.clone(),
                problem: None,
                check_pending: false,
            });
        }
        KeyCode::Backspace => {
            fresh.typed_filter.pop();
            fresh.selected = 0;
        }
        KeyCode::Char('u') if key.modifiers.contains(KeyModifiers::CONTROL) => {
            fresh.typed_filter.clear();
            fresh.selected = 0;
        }
        KeyCode::Char(c) if !control => {
            fresh.typed_filter.push(c);
            fresh.selected = 0;
        }
        _ => {}
    }
    NewFileKeyOutcome::Stay
}

fn in_name(fresh: &mut NewFilePicker, key: KeyEvent, control: bool) -> NewFileKeyOutcome {
    let layer = fresh.selected_layer();
    let Some(naming) = &mut fresh.naming_step else { return NewFileKeyOutcome::Stay };
    match key.code {
        KeyCode::Esc => fresh.naming_step = None,
        KeyCode::Tab => {
            fresh.patterns.project = !fresh.patterns.project;
            naming.problem = None;
        }
        KeyCode::Enter if naming.check_pending => {}
        KeyCode::Enter if naming.name.trim().is_empty() => {
            naming.problem = Some("type a name first".to_owned());
        }
        KeyCode::Enter => {
            naming.check_pending = true;
            return NewFileKeyOutcome::Ask(NewFileRequest {
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
    NewFileKeyOutcome::Stay
}
