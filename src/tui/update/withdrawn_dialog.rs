//! A question that was withdrawn without an answer, because its run was paused or ended. Input that was meant for it
//! must not answer another question, nor be sent to another run.

use crate::dialog::{AnswerDraft, QuestionDialog};
use crate::model::{UiModel, WithdrawnDialog};
use crate::text::one_line;
use crate::transcript::item::TranscriptItem;
use synthdev_domain::ids::{CallId, RunId, Timestamp};

/// A key within this time may have been meant for the dialog before.
const LATE_MS: i64 = 1_500;

/// The question in front.
pub fn front_question(model: &UiModel) -> Option<(RunId, CallId)> {
    let dialog = model.dialogs.front()?;
    Some((dialog.run_id()?.clone(), dialog.call_id()?))
}

/// Takes questions away that the user has not answered on this screen. Words that were typed in one of them are kept.
pub fn remove_dialogs(model: &mut UiModel, is_gone: impl Fn(&QuestionDialog) -> bool) {
    let (gone, kept): (Vec<_>, Vec<_>) =
        std::mem::take(&mut model.dialogs).into_iter().partition(|dialog| is_gone(dialog));
    model.dialogs = kept.into();
    for mut dialog in gone {
        let title = one_line(&dialog.title);
        if keep_words(model, dialog.take_own_words()) {
            let told = format!("no answer is wanted any more: {title} Your words are in the history");
            model.add_item(TranscriptItem::note_item(&told));
        }
    }
}

/// Words that were typed in a question and not sent go into the history. Whether there were any.
pub fn keep_words(model: &mut UiModel, draft: Option<AnswerDraft>) -> bool {
    let draft = draft.filter(|_| !model.line_mode);
    let words = draft.map(|draft| draft.text.expanded_text()).unwrap_or_default();
    let has_words = !words.trim().is_empty();
    if has_words {
        model.composer.remember_text(&words);
        let when = if model.dialogs.is_empty() { "" } else { " once the question is answered" };
        model.hint = Some(format!("your words are in the history: Up brings them back{when}"));
    }
    has_words
}

/// `before` was in front before something happened.
pub fn note_withdrawal(model: &mut UiModel, before: Option<(RunId, CallId)>, written: bool, at: Timestamp) {
    if before.is_some() && before != front_question(model) {
        model.withdrawn_dialog = Some(WithdrawnDialog { at, draft: written && !model.composer.is_empty() });
    }
}

/// Whether a key of now may be for a question that is gone.
pub fn is_late(model: &UiModel, at: Timestamp) -> bool {
    model.withdrawn_dialog.is_some_and(|gone| (0..LATE_MS).contains(&(at.0 - gone.at.0)))
}

/// Whether a text is kept back: it may be the answer to a question that is gone.
pub fn hold_back_text(model: &mut UiModel, text: &str) -> bool {
    let late = is_late(model, model.now);
    if !model.withdrawn_dialog.take().is_some_and(|gone| gone.draft || late) {
        return false;
    }
    if model.line_mode {
        let told = format!("not sent, because its question may have been withdrawn: {}", one_line(text));
        model.add_item(TranscriptItem::warning_item(&told));
    } else {
        model.composer.set_text(text);
        let reader = model.text_reader();
        model.hint = Some(format!("question withdrawn: Enter again sends this to {reader}"));
    }
    true
}
