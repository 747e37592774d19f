//! Texts that no run has read and none will.

use crate::model::UiModel;

/// They come back to the input box, or to its history if something is being typed.
pub fn return_to_input(model: &mut UiModel) {
    if model.queued.is_empty() {
        return;
    }
    let text = std::mem::take(&mut model.queued).join("\n");
    if model.composer.is_empty() {
        model.composer.paste_text(&text);
        let reader = model.text_reader();
        model.hint = Some(format!(
            "what you typed meanwhile is back: Enter sends it to {reader}, Ctrl+C puts it away"
        ));
    } else {
        model.composer.remember_text(&text);
        model.hint = Some("what you typed meanwhile is in the history: Up".to_owned());
    }
}
