//! Files that the conversation names open in the user's own editor, at their line.

use ratatui::crossterm::event::MouseEvent;
use ratatui::layout::Rect;

use crate::layout::PaneKind;
use crate::model::UiModel;
use crate::msg::UiCommand;

/// A click on the name of a file, while the conversation has the keys.
pub(super) fn open_clicked(model: &UiModel, event: MouseEvent, area: Rect) -> Option<UiCommand> {
    if model.panes.focus != Some(PaneKind::Conversation) {
        return None;
    }
    let (row, column) = (event.row.checked_sub(area.y)?, event.column.checked_sub(area.x)?);
    model.transcript.mention_at(usize::from(row), usize::from(column)).map(UiCommand::OpenFile)
}

/// The next file that the chosen entry names: pressed again, the one after it.
pub(super) fn open_next(model: &mut UiModel) -> Vec<UiCommand> {
    let found = model.transcript.chosen_mentions();
    if found.is_empty() {
        model.hint = Some(match model.transcript.selected_index() {
            Some(_) => "this entry names no file".to_owned(),
            None => "choose an entry that names a file first".to_owned(),
        });
        return Vec::new();
    }
    let at = model.transcript.take_mention_number() % found.len();
    found.into_iter().nth(at).map(UiCommand::OpenFile).into_iter().collect()
}

/// The editor was closed, or could not be opened.
pub(super) fn on_closed(model: &mut UiModel, result: Result<(), String>) {
    model.needs_repaint = true;
    if let Err(reason) = result {
        model.hint = Some(reason);
    }
}
