//! `/resume` without an id: what there is to choose from, and the keys of the list.

use ratatui::crossterm::event::{KeyCode, KeyModifiers, MouseEvent, MouseEventKind};

use super::history;
use super::key_press::KeyPress;
use crate::keymap::KeyAction;
use crate::keymap::chord::KeyChord;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::resume_picker::{ResumePicker, numbered_list};
use crate::transcript::item::TranscriptItem;
use synthdev_domain::ids::Timestamp;
use synthdev_service::session::{ResumableRuns, RunListPurpose};

/// Rows that a page or three steps of the wheel move.
const PAGE: usize = 10;
const WHEEL: usize = 3;

/// Opens the list. Where there is no conversation, workflows are resumed as before: the only one at once.
pub(super) fn on_resumable(
    model: &mut UiModel,
    list: Result<ResumableRuns, String>,
    at: Timestamp,
) -> Vec<UiCommand> {
    let list = match list {
        Ok(list) => list,
        Err(reason) => {
            model.add_item(TranscriptItem::error("What can be resumed cannot be listed", &reason));
            return Vec::new();
        }
    };
    if list.conversations.is_empty() {
        return history::on_list(model, RunListPurpose::Resume, Ok(list.workflows), at);
    }
    model.now = model.now.max(at);
    let workflows = list.workflows.into_iter().filter(history::can_resume).collect();
    let picker = ResumePicker::from_runs(ResumableRuns { workflows, ..list }, model.now);
    if !model.line_mode {
        model.resume_picker = Some(picker);
        return Vec::new();
    }
    let text = numbered_list(&picker.entries);
    model.add_item(TranscriptItem::report_item("Can be resumed", &text));
    model.resume_choices = picker.entries.into_iter().map(|entry| entry.run).collect();
    Vec::new()
}

pub(super) fn on_key(model: &mut UiModel, press: KeyPress) -> Option<Vec<UiCommand>> {
    let key = press.key;
    if model.keymap.has_binding(KeyAction::Repaint, KeyChord::from_event(key)) {
        model.needs_repaint = true;
        return Some(Vec::new());
    }
    let control = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    let picker = model.resume_picker.as_mut()?;
    let last = picker.matching_entries().len().saturating_sub(1);
    match key.code {
        KeyCode::Esc => model.resume_picker = None,
        KeyCode::Char('c') if control => {
            (model.resume_picker, model.last_interrupt) = (None, Some(press.at));
            model.hint = Some("nothing was resumed · Ctrl+C again leaves".to_owned());
        }
        KeyCode::Up if picker.selected == 0 => picker.selected = last,
        KeyCode::Up => picker.selected -= 1,
        KeyCode::Down if picker.selected >= last => picker.selected = 0,
        KeyCode::Down => picker.selected += 1,
        KeyCode::PageUp => picker.selected = picker.selected.saturating_sub(PAGE),
        KeyCode::PageDown => picker.selected = (picker.selected + PAGE).min(last),
        KeyCode::Home => picker.selected = 0,
        KeyCode::End => picker.selected = last,
        KeyCode::Enter => {
            let Some(run) = picker.chosen_run() else { return Some(Vec::new()) };
            model.resume_picker = None;
            return Some(history::resume_run(model, Some(run.to_string())));
        }
        KeyCode::Backspace => picker.set_filter(|filter| {
            filter.pop();
        }),
        KeyCode::Char('u') if control => picker.set_filter(String::clear),
        KeyCode::Char(letter) if !control => picker.set_filter(|filter| filter.push(letter)),
        _ => {}
    }
    Some(Vec::new())
}

pub(super) fn on_paste(model: &mut UiModel, text: &str) {
    if let Some(picker) = &mut model.resume_picker {
        picker.set_filter(|filter| filter.push_str(text.lines().next().unwrap_or_default()));
    }
}

/// The wheel moves the choice.
pub(super) fn on_mouse(model: &mut UiModel, event: MouseEvent) {
    let Some(picker) = &mut model.resume_picker else { return };
    let last = picker.matching_entries().len().saturating_sub(1);
    match event.kind {
        MouseEventKind::ScrollUp => picker.selected = picker.selected.saturating_sub(WHEEL),
        MouseEventKind::ScrollDown => picker.selected = (picker.selected + WHEEL).min(last),
        _ => {}
    }
}
