//! Keys and pastes while a question is open: which of them are for it, and which are for what lies below.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use super::key_press::KeyPress;
use super::{answer_words, approvals, dialog_keys, draft_keys, question_replies, withdrawn_dialog};
use crate::dialog::{AnswerDraft, DialogKind, DraftPurpose, QuestionDialog};
use crate::keymap::KeyAction;
use crate::layers::ScreenLayer;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::view;
use synthdev_domain::ids::Timestamp;

/// Rows that a notch of the wheel scrolls.
const WHEEL: usize = 3;
/// For how long "just" is a true word.
const RECENT_MS: i64 = 3_000;
/// Why a key was not taken as an answer.
pub const JUST_APPEARED: &str = "this question just appeared: read it, then press again";
/// The same, where a text was typed a moment ago.
const WAS_TYPED: &str = "you were typing: press it again";
/// The same for a letter behind a text that was begun.
const IN_TEXT: &str = "this is text now: ↑↓ and Enter answer";

/// Whether the key came late for a question that is gone: the one in its place is read first.
pub fn hold_late_key(model: &mut UiModel, press: KeyPress) -> bool {
    if model.composer.is_empty()
        && let Some(gone) = &mut model.withdrawn_dialog
    {
        gone.draft = false;
    }
    !model.line_mode
        && withdrawn_dialog::is_late(model, press.at)
        && !is_anywhere_key(model, press.key)
        && is_held_back(model, press)
}

fn is_held_back(model: &mut UiModel, press: KeyPress) -> bool {
    let key = press.key;
    let typed = !model.composer.is_empty() && key.code != KeyCode::Enter;
    let Some(dialog) = model.dialogs.front_mut().filter(|dialog| !typed && !is_scroll_key(dialog, key))
    else {
        return false;
    };
    if dialog.is_written() && key.code != KeyCode::Enter {
        return false;
    }
    let is_text = dialog.draft.is_none() && !model.composer.is_vim_key(key);
    let text = model.composer.text();
    hold_early_key(dialog, &text, typed_letter(key).filter(|_| is_text), press).is_some()
}

/// Such a key acts beside the question.
fn is_anywhere_key(model: &UiModel, key: KeyEvent) -> bool {
    model.key_action(key).is_some_and(KeyAction::is_anywhere)
}

/// A key while a question is open. `None`: it is not for the question.
pub fn on_key(model: &mut UiModel, press: KeyPress) -> Option<Vec<UiCommand>> {
    let key = press.key;
    let unseen = !model.line_mode && model.dialogs.front().is_some_and(|dialog| dialog.shown_at.is_none());
    if unseen && key.code == KeyCode::Esc {
        // it stops what the screen shows, and leaves no question that came in the same moment
        return None;
    }
    if let Some(forward) = walk_direction(model, key) {
        approvals::walk_questions(model, forward);
        return Some(Vec::new());
    }
    if model.is_answer_written() {
        return in_written(model, press);
    }
    if is_anywhere_key(model, key) {
        return None;
    }
    if model.dialogs.front().is_some_and(|dialog| dialog.draft.is_some()) {
        return Some(in_draft(model, key));
    }
    behind_picked_letter(model, press).or_else(|| on_answer_key(model, press))
}

/// A key beside the list of answers.
fn on_answer_key(model: &mut UiModel, press: KeyPress) -> Option<Vec<UiCommand>> {
    let KeyPress { key, at, is_typing: typing } = press;
    let guarded = is_guarded(model, at);
    let begun = has_begun_text(model, key);
    let is_search = model.panes.is_search_typed();
    let is_vi = model.composer.is_vim_key(key);
    let dialog = model.dialogs.front_mut()?;
    if !model.composer.is_empty() && changes_text(key) {
        // it continues the text in the box
        (dialog.is_armed, dialog.typed_at) = (false, Some(at));
        return None;
    }
    let answers = dialog_keys::accepts_key(dialog, key) && !is_scroll_key(dialog, key);
    if guarded && !begun && answers {
        // vi's commands write nothing
        let letter = typed_letter(key).filter(|_| !is_vi);
        return hold_early_key(dialog, &model.composer.text(), letter, press);
    }
    let surprised = typing && !dialog.is_armed && !model.line_mode;
    if surprised && key.code == KeyCode::Enter && !begun {
        dialog.is_armed = true;
        dialog.problem = Some(early_key_text(dialog, at));
        return Some(Vec::new());
    }
    let command = model.composer.first_line().starts_with('/');
    let is_text = matches!(key.code, KeyCode::Char(_)) && !dialog_keys::accepts_key(dialog, key);
    let writes = matches!(key.code, KeyCode::Enter | KeyCode::Char(_));
    let written = begun && (typing || guarded || command || writes);
    // commands work first, whatever is asked
    let begins = model.composer.is_empty() && key.code == KeyCode::Char('/');
    // also after an answer that was not taken: otherwise the letters vanish, and Enter behind them is an answer
    if begins || command || is_text || begun && typed_letter(key).is_some() {
        (dialog.is_armed, dialog.selected) = (false, dialog.default_row);
    }
    dialog.problem = None;
    if model.composer.is_empty() {
        dialog.has_own_words = is_text && !guarded && !is_vi;
    }
    let is_word = is_text && !begins && !guarded && !is_search && !is_vi && key.code != KeyCode::Char(' ');
    if is_word
        && dialog.is_approval()
        && model.composer.is_empty()
        && let Some(letter) = typed_letter(key)
    {
        type_words(model, &letter.to_string(), at);
        return Some(Vec::new());
    }
    if key.code == KeyCode::Esc && written && !is_vi && !is_search && model.popup.is_none() {
        // below, it would stop the run that waits here
        model.hint = Some(format!("Ctrl+C takes the text away, then {}", dialog.escape_hint()));
        return Some(Vec::new());
    }
    // a letter in the middle of a sentence is no answer, however long ago the one before it was typed
    if !dialog.is_armed && (written || !dialog_keys::accepts_key(dialog, key)) {
        dialog.typed_at = match key.code {
            KeyCode::Enter if command => None,
            _ if typed_letter(key).is_some() => Some(at),
            _ => dialog.typed_at,
        };
        if answers && begun && !typing && !guarded && !command && typed_letter(key).is_some() {
            dialog.problem = Some(IN_TEXT.to_owned());
        }
        return if key.code == KeyCode::Enter { answer_words::on_words_sent(model) } else { None };
    }
    Some(answer_question(model, press))
}

/// Words for the input box, or for the search in a pane, are no answers. An answer that came too early is no text, and
/// makes room for a command; but Enter behind it does not give another answer, unless that was chosen since.
fn has_begun_text(model: &mut UiModel, key: KeyEvent) -> bool {
    let text = model.composer.text();
    let dialog = model.dialogs.front().filter(|dialog| dialog.is_early_answer(&text));
    let is_sent = key.code == KeyCode::Enter && dialog.is_some_and(|dialog| !dialog.is_armed);
    // with another letter behind it, it is a text
    let continues = typed_letter(key).is_some_and(|letter| letter != '/' && !text.starts_with(letter));
    let is_early = dialog.is_some() && !continues;
    if is_early && key.code == KeyCode::Char('/') {
        model.composer.set_text("");
    }
    model.panes.is_search_typed() || !text.is_empty() && (!is_early || is_sent)
}

/// The front question, and the text in the input box that is an answer to it which came too early.
pub fn early_answer(model: &UiModel) -> Option<(u64, String)> {
    let dialog = model.dialogs.front().filter(|dialog| !dialog.early_text.is_empty())?;
    let text = model.composer.text();
    (text == dialog.early_text || dialog.is_early_answer(&text)).then_some((dialog.number, text))
}

/// An answer that came too early is no text when its question is not in front any more. Several letters may have been the
/// beginning of one: the history keeps them.
pub fn clear_early_answer(model: &mut UiModel, before: Option<(u64, String)>) {
    let Some((question, text)) = before else { return };
    let is_gone = model.dialogs.front().is_none_or(|dialog| dialog.number != question);
    if !is_gone || model.composer.text() != text {
        return;
    }
    if text.chars().all(|c| text.starts_with(c)) {
        model.composer.set_text("");
    } else {
        model.composer.clear_into_history();
    }
}

/// No answer yet. A letter is for the input box: it may begin a text, and nothing that is typed is lost.
fn hold_early_key(
    dialog: &mut QuestionDialog,
    text: &str,
    letter: Option<char>,
    press: KeyPress,
) -> Option<Vec<UiCommand>> {
    dialog.problem = Some(early_key_text(dialog, press.at));
    if let Some(letter) = letter {
        dialog.note_early_letter(text, letter, press.at);
    }
    if press.key.code == KeyCode::Enter {
        // a key that is held down answers nothing
        dialog.typed_at = Some(press.at);
    }
    letter.is_none().then(Vec::new)
}

/// Why a key came too early: the question is new, or it may belong to what was typed.
fn early_key_text(dialog: &QuestionDialog, at: Timestamp) -> String {
    let is_recent = dialog.shown_at.is_none_or(|shown| at.0 - shown.0 < RECENT_MS);
    if is_recent { JUST_APPEARED.to_owned() } else { WAS_TYPED.to_owned() }
}

/// A key that the question takes.
fn answer_question(model: &mut UiModel, press: KeyPress) -> Vec<UiCommand> {
    let key = press.key;
    let text = model.composer.text();
    let Some(dialog) = model.dialogs.front_mut() else { return Vec::new() };
    let early = if dialog.is_early_answer(&text) { text } else { String::new() };
    if typed_letter(key).is_some_and(|letter| dialog.pick_letter(letter, &early)) {
        dialog.is_armed = true;
        if !early.is_empty() {
            model.composer.set_text("");
        }
        return Vec::new();
    }
    let meaning = dialog_keys::key_meaning(dialog, key);
    if meaning.is_some() && dialog.is_early_answer(&model.composer.text()) {
        model.composer.set_text("");
    }
    // scrolling alone does not begin an answer
    dialog.is_armed |= !is_scroll_key(dialog, key);
    if meaning.is_some_and(|meaning| dialog.lets_happen(meaning)) && dialog.scroll_before_yes() {
        return Vec::new();
    }
    let cmds = dialog_keys::on_dialog_key(model, key);
    if key.code == KeyCode::Enter {
        // what is typed inside of the question begins anew
        model.dialogs.iter_mut().for_each(QuestionDialog::unpick);
    }
    cmds
}

/// A key behind a letter that has chosen an answer: another letter makes words of both, so that no sentence answers
/// anything, however slowly it is typed. `None`: it is none of these keys.
fn behind_picked_letter(model: &mut UiModel, press: KeyPress) -> Option<Vec<UiCommand>> {
    let dialog = model.dialogs.front_mut().filter(|dialog| !dialog.picked.is_empty())?;
    dialog.problem = None;
    match typed_letter(press.key) {
        // commands work first, whatever is chosen; in the middle of typing it belongs to the words, as in `n/a`
        Some('/') if !press.is_typing => {
            dialog.unpick();
            return None;
        }
        Some(' ') if dialog_keys::turns_page(dialog, press.key) => dialog.read_on(),
        Some(letter) => {
            if let Some(words) = dialog.begin_words(letter) {
                type_words(model, &words, press.at);
            }
        }
        None if matches!(press.key.code, KeyCode::Backspace | KeyCode::Delete) => dialog.unpick(),
        None => return None,
    }
    Some(Vec::new())
}

/// Words that begin beside a question: where it can be denied with a reason, they are the reason; else they are for the
/// input line.
fn type_words(model: &mut UiModel, words: &str, at: Timestamp) {
    let Some(dialog) = model.dialogs.front_mut() else { return };
    (dialog.is_armed, dialog.selected) = (false, dialog.default_row);
    if dialog.is_approval() {
        dialog.draft = Some(AnswerDraft::new(DraftPurpose::Reason, words));
        return;
    }
    (dialog.typed_at, dialog.has_own_words) = (Some(at), true);
    dialog.problem = Some(IN_TEXT.to_owned());
    model.composer.to_insert();
    model.composer.set_text(words);
}

/// A key for what is typed inside of the question.
fn in_draft(model: &mut UiModel, key: KeyEvent) -> Vec<UiCommand> {
    if let Some(dialog) = model.dialogs.front_mut() {
        dialog.problem = None;
    }
    dialog_keys::on_dialog_key(model, key)
}

/// The question in front appeared too short a time ago for a key to be meant for it.
fn is_guarded(model: &UiModel, at: Timestamp) -> bool {
    !model.line_mode && model.dialogs.front().is_some_and(|dialog| dialog.is_fresh(at))
}

/// Tab goes to the next question where there are several, Shift+Tab to the one before.
fn walk_direction(model: &UiModel, key: KeyEvent) -> Option<bool> {
    let forward = match key.code {
        KeyCode::Tab => true,
        KeyCode::BackTab => false,
        _ => return None,
    };
    let free = model.popup.is_none() && model.composer.is_empty() && !model.panes.is_search_typed();
    let typed = model.dialogs.front().is_some_and(|dialog| dialog.draft.is_some());
    (free && !typed && model.dialogs.len() > 1).then_some(forward)
}

/// Keys that mean the question rather than the text that answers it.
fn in_written(model: &mut UiModel, press: KeyPress) -> Option<Vec<UiCommand>> {
    let key = press.key;
    let guarded = is_guarded(model, press.at) && model.composer.is_empty();
    // what is begun before the question can have been read is no answer to it
    notice_draft(model, guarded && typed_letter(key).is_some_and(|letter| letter != '/'));
    let dialog = model.dialogs.front_mut()?;
    dialog.problem = None;
    if model.composer.is_searching() || model.composer.is_vim_key(key) {
        return None;
    }
    match key.code {
        KeyCode::PageUp => model.turn_question_page(false),
        KeyCode::PageDown => model.turn_question_page(true),
        _ if model.popup.is_some() => return None,
        KeyCode::Enter | KeyCode::Esc if guarded => {
            dialog.problem = Some(early_key_text(dialog, press.at));
            if key.code == KeyCode::Enter {
                // a key that is held down answers nothing
                dialog.typed_at = Some(press.at);
            }
        }
        KeyCode::Esc if model.composer.is_empty() => return Some(question_replies::dismiss_dialog(model)),
        KeyCode::Esc => {
            model.hint = Some(format!("Ctrl+C takes the text away, then {}", dialog.escape_hint()));
        }
        KeyCode::Enter if !key.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SHIFT) => {
            return dialog_keys::submit_written_answer(model);
        }
        _ => return None,
    }
    Some(Vec::new())
}

/// Whether the input box held something when the question on screen came: that is no answer to it.
fn notice_draft(model: &mut UiModel, begins: bool) {
    let begun = begins || !model.composer.is_empty();
    if let Some(DialogKind::Write { form, .. }) = model.dialogs.front_mut().map(|dialog| &mut dialog.kind) {
        form.draft = Some(begun && form.draft != Some(false));
    }
}

/// Nothing that was chosen before a paste is an answer behind it. A letter before it begins the text.
fn take_choice_back(model: &mut UiModel) {
    let now = model.now;
    let lists = |dialog: &&mut QuestionDialog| dialog.draft.is_none() && !dialog.is_written();
    let Some(dialog) = model.dialogs.front_mut().filter(lists) else { return };
    let begun = std::mem::take(&mut dialog.picked);
    (dialog.is_armed, dialog.selected, dialog.typed_at) = (false, dialog.default_row, Some(now));
    dialog.has_own_words = false;
    if !begun.is_empty() {
        model.composer.set_text(&begun);
    }
}

/// What is typed inside of the question takes it; else it goes into the input box, and is no answer.
pub fn on_paste(model: &mut UiModel, text: &str) -> Option<Vec<UiCommand>> {
    notice_draft(model, false);
    take_choice_back(model);
    let passes = model.is_open(ScreenLayer::TypedQuestion) || model.panes.is_search_typed();
    if model.dialogs.front_mut().is_some_and(|dialog| draft_keys::on_paste(dialog, text)) {
        return Some(Vec::new());
    }
    if !passes {
        if model.dialogs.front().is_some_and(|dialog| dialog.is_early_answer(&model.composer.text())) {
            model.composer.set_text("");
        }
        model.hint = Some("pasted into the input line: it answers nothing".to_owned());
    }
    None
}

/// The letter of a key that writes one.
fn typed_letter(key: KeyEvent) -> Option<char> {
    match key.code {
        KeyCode::Char(c) if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => Some(c),
        _ => None,
    }
}

/// A key that changes a text in the input box, or moves in it.
fn changes_text(key: KeyEvent) -> bool {
    match key.code {
        KeyCode::Backspace | KeyCode::Delete | KeyCode::Left | KeyCode::Right => true,
        KeyCode::Home | KeyCode::End => true,
        KeyCode::Char(_) => key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT),
        _ => false,
    }
}

fn is_scroll_key(dialog: &QuestionDialog, key: KeyEvent) -> bool {
    match key.code {
        KeyCode::Down => dialog.rows_below() > 0,
        KeyCode::Up => dialog.is_up_for_text(),
        KeyCode::PageUp | KeyCode::PageDown => true,
        // of a text that is all on screen they choose an answer
        KeyCode::Home | KeyCode::End => dialog.has_overflow(),
        _ => dialog_keys::turns_page(dialog, key),
    }
}

/// The wheel over the question scrolls its text; `false`: it is not over it.
pub fn on_wheel(model: &mut UiModel, event: MouseEvent) -> bool {
    let down = match event.kind {
        MouseEventKind::ScrollUp => false,
        MouseEventKind::ScrollDown => true,
        _ => return false,
    };
    let place = Position { x: event.column, y: event.row };
    let over = view::question_area(model).is_some_and(|area| area.contains(place));
    if let Some(dialog) = model.dialogs.front_mut().filter(|_| over) {
        dialog.scroll_by(WHEEL, down);
    }
    over
}
