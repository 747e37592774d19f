//! Keys of the input box that are in the table of keys, keys as in vi, the search of what was sent, and the text in the
//! user's own editor.

use ratatui::crossterm::event::KeyEvent;

use crate::composer::ComposerEdit;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::transcript::item::TranscriptItem;

/// The number of the editor that the input box is: those of workflows and roles count from 1.
pub const ELSEWHERE: u64 = 0;

/// Larger texts come back folded, as if they had been pasted.
const LARGEST: usize = 64_000;

/// Keys that do not mean what the table says: a search is in progress, or they are vi's.
pub fn handle_special_key(model: &mut UiModel, key: KeyEvent) -> bool {
    let taken = if model.composer.is_searching() {
        model.composer.search_key(key)
    } else {
        model.composer.vim_key(key)
    };
    if taken {
        model.popup = None;
    }
    taken
}

pub fn apply_edit(model: &mut UiModel, edit: ComposerEdit) {
    if let Err(reason) = model.composer.apply_edit(edit) {
        model.hint = Some(reason);
    }
}

/// Opens the text in the user's own editor.
pub fn open_external_editor(model: &mut UiModel) -> Vec<UiCommand> {
    model.popup = None;
    let text = model.composer.expanded_text().into();
    vec![UiCommand::External { number: ELSEWHERE, name: "message.md".to_owned(), text }]
}

/// Takes the text from the user's own editor.
pub fn apply_external_text(model: &mut UiModel, result: Result<String, String>) {
    model.needs_repaint = true;
    match result {
        Ok(text) if text.len() > LARGEST => {
            model.composer.set_text("");
            model.composer.paste_text(text.trim_end_matches('\n'));
        }
        Ok(text) => model.composer.replace_undoably(&text),
        Err(reason) => model.hint = Some(reason),
    }
}

/// `/vim`
pub fn set_vim_mode(model: &mut UiModel, wanted: Option<bool>) {
    let on = wanted.unwrap_or(!model.composer.uses_vim());
    model.composer.use_vim(on);
    let text = if on {
        "keys as in vi: Esc leaves the insert mode, i comes back; the letter before the text is the mode"
    } else {
        "keys as usual"
    };
    model.add_item(TranscriptItem::note_item(text));
}
