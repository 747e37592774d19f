//! Texts that no run has read and none will. Refuses to send them by itself.

use crate::model::UiModel;
use crate::transcript::item::TranscriptItem;

/// They come back to the input box, or to its history if something is being typed.
pub fn return_to_input(model: &mut UiModel) {
    if model.queued.is_empty() {
        return;
    }
    let text = std::mem::take(&mut model.queued).join("\n");
    let reader = model.text_reader();
    if model.line_mode {
        // the next line takes the place of what stands in the input box
        let told = format!("this was not read; type it again to send it to {reader}:\n{text}");
        model.add_item(TranscriptItem::warning_item(&told));
    } else if model.composer.is_empty() {
        model.composer.paste_text(&text);
        model.returned_text = Some(model.composer.text());
        // beside a run that works, or a question, these keys do something else first
        let is_free = model.busy_run().is_none() && model.dialogs.is_empty();
        let away = if is_free { ", Ctrl+C puts it away" } else { "" };
        model.hint = Some(format!("not read: Enter sends it to {reader}{away}"));
    } else {
        model.composer.remember_text(&text);
        model.hint = Some("what you typed meanwhile is in the history: Up".to_owned());
    }
}

/// A command that is begun behind a text that came back is no part of it: the text goes into the history.
pub fn make_way_for_command(model: &mut UiModel) {
    let is_untouched = model.returned_text.take().is_some_and(|text| text == model.composer.text());
    if is_untouched && !model.composer.is_empty() {
        model.composer.clear_into_history();
        model.hint = Some("what was not read is in the history: Up".to_owned());
    }
}
