//! Enter behind words that stand in the input box while an answer of a list is wanted: they name a choice, are no answer,
//! or are kept until they are sent once more. Refuses letters that choose: `question_keys`.

use super::dialog_keys;
use crate::dialog::{NamedChoice, QuestionDialog};
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::slash;
use crate::text::{fit_to_columns, one_line};

/// Columns of the words in a notice.
const WORD: usize = 24;

/// `None`: the words are a message, or a command.
pub fn on_words_sent(model: &mut UiModel) -> Option<Vec<UiCommand>> {
    let text = model.composer.text();
    let dialog = model.dialogs.front_mut()?;
    if text.trim().is_empty() || slash::is_command(&text) {
        return None;
    }
    let named = dialog.named_choice(&text);
    match named {
        _ if dialog.is_early_answer(&text) => refuse_early_letter(model, &text),
        NamedChoice::One(at) if dialog.has_own_words => return Some(answer_by_name(model, at)),
        NamedChoice::One(at) => choose_by_name(model, at),
        NamedChoice::Several(names) => {
            refuse_words(model, &text, &format!("is the beginning of {}", names.join(", ")))
        }
        NamedChoice::Nothing if dialog.refuses_words() => {
            refuse_words(model, &text, "is not in the list");
        }
        NamedChoice::Nothing => return hold_answer_like(model, text),
    }
    model.popup = None;
    Some(Vec::new())
}

fn quoted(text: &str) -> String {
    format!("`{}`", fit_to_columns(&one_line(text.trim()), WORD))
}

/// A letter that came too early is no text at all, whatever is asked.
fn refuse_early_letter(model: &mut UiModel, text: &str) {
    let now = model.last_key;
    model.composer.set_text("");
    if let Some(dialog) = model.dialogs.front_mut() {
        dialog.typed_at = now;
        dialog.problem = Some(format!("{} came too early: press it again", quoted(text)));
    }
}

/// A text that was sent while a key was wanted answers nothing, and waits for no other question either.
fn refuse_words(model: &mut UiModel, text: &str, why: &str) {
    let now = model.last_key;
    model.composer.clear_into_history();
    if let Some(dialog) = model.dialogs.front_mut() {
        // the next line of a paste without brackets comes at once: it is no answer either
        dialog.typed_at = now;
        dialog.problem = Some(format!("{} {why}", quoted(text)));
    }
    // a workflow often asks for words behind a choice: what was typed too soon is not to be typed again
    model.hint = Some("kept: Up brings it back once the question is answered".to_owned());
}

/// The words were begun beside the question: they are its answer.
fn answer_by_name(model: &mut UiModel, at: usize) -> Vec<UiCommand> {
    model.popup = None;
    let Some(dialog) = model.dialogs.front_mut() else { return Vec::new() };
    let lets_happen = dialog.answers().get(at).is_some_and(|answer| dialog.lets_happen(answer.meaning));
    if lets_happen && dialog.scroll_before_yes() {
        return Vec::new();
    }
    model.composer.set_text("");
    // the answer to a workflow's question may be private
    model.composer.discard_unsaved_texts();
    let cmds = dialog_keys::pick_choice(model, at);
    model.dialogs.iter_mut().for_each(QuestionDialog::unpick);
    cmds
}

/// The words were begun before the question could be read: they choose, and Enter answers.
fn choose_by_name(model: &mut UiModel, at: usize) {
    let now = model.last_key;
    model.composer.clear_into_history();
    if let Some(dialog) = model.dialogs.front_mut() {
        (dialog.selected, dialog.covers_text, dialog.typed_at) = (Some(at), true, now);
        dialog.problem = Some("begun before this question: Enter gives the chosen answer".to_owned());
    }
}

/// Beside a question whose answers are letters, what looks like one goes to no agent unasked: it is sent with a second
/// Enter, which is not that of a key that is held down.
fn hold_answer_like(model: &mut UiModel, text: String) -> Option<Vec<UiCommand>> {
    let now = model.last_key;
    let dialog = model.dialogs.front_mut()?;
    let is_held_down = now.is_some_and(|now| dialog.is_fresh(now));
    if !dialog.may_be_answer(&text) || dialog.held_words == text && !is_held_down {
        dialog.held_words.clear();
        return None;
    }
    dialog.typed_at = now;
    dialog.problem = Some(format!("{} answers nothing: Enter again sends it to the agent", quoted(&text)));
    dialog.held_words = text;
    Some(Vec::new())
}
