//! Keys while the history asks something.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::cursor::scroll_rows;
use super::requests::wait_for;
use crate::editor::prompt_guard::PromptChoice;
use crate::history_browser::{
    HistoryBrowser, HistoryPrompt, HistoryRequest, HistoryWait, HistoryWaitKind, fork_assignment,
};
use crate::keymap::chord::KeyChord;
use crate::keymap::{KeyAction, KeyFocusState};
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::text::one_line;
use crate::update::busy::busy_reason;
use crate::update::key_press::KeyPress;
use crate::update::question_keys::JUST_APPEARED;
use synthdev_domain::ids::RunId;
use synthdev_service::data_assignments::parse_assignment_line;
use synthdev_service::run_steering::ControlAction;
use synthdev_service::session::{RunRequest, TimeTravelRequest};

pub(super) fn on_prompt_key(model: &mut UiModel, press: KeyPress) -> Vec<UiCommand> {
    let key = press.key;
    let Some(archive) = &mut model.history_browser else { return Vec::new() };
    match &archive.question {
        Some(HistoryPrompt::Agree { travel, .. }) => {
            let travel = travel.clone();
            confirm_travel(model, travel, press)
        }
        Some(HistoryPrompt::Cancel { run, .. }) => {
            let run = run.clone();
            confirm_cancel(model, run, press)
        }
        Some(_) => on_text_key(model, key),
        None => Vec::new(),
    }
}

/// A key before the question could be read is not meant for it, nor is one just behind such a key. Whether it was one.
fn hold_early_key(archive: &mut HistoryBrowser, press: KeyPress) -> bool {
    let guard = archive.question.as_mut().and_then(HistoryPrompt::key_guard_mut);
    let Some(guard) = guard.filter(|guard| guard.ms_left(press.at) > 0) else { return false };
    match press.key.code {
        KeyCode::Enter => {}
        KeyCode::Char(_) => guard.note_typed(press.at),
        _ => return false,
    }
    archive.show_note(JUST_APPEARED);
    true
}

fn confirm_cancel(model: &mut UiModel, run: RunId, press: KeyPress) -> Vec<UiCommand> {
    let Some(archive) = &mut model.history_browser else { return Vec::new() };
    archive.status_note = None;
    if hold_early_key(archive, press) {
        return Vec::new();
    }
    match take_answer(archive, press.key) {
        Some(true) => {
            archive.question = None;
            let about = format!("ending {run}");
            return wait_for(model, HistoryRequest::Control { run, control: ControlAction::Cancel }, &about);
        }
        Some(false) => {
            archive.question = None;
            archive.show_note("nothing was changed");
        }
        None => {}
    }
    Vec::new()
}

/// A letter only chooses: Enter behind it answers. Another letter makes words of both, which answer nothing.
fn take_answer(archive: &mut HistoryBrowser, key: KeyEvent) -> Option<bool> {
    let Some(HistoryPrompt::Agree { choice, .. } | HistoryPrompt::Cancel { choice, .. }) =
        &mut archive.question
    else {
        return None;
    };
    match key.code {
        KeyCode::Esc => return Some(false),
        KeyCode::Enter => {
            if choice.is_open() {
                *choice = PromptChoice::Missing;
            }
            return choice.letter().map(|letter| letter == 'y');
        }
        KeyCode::Char(_) if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => {}
        KeyCode::Char(letter) => {
            let answer = PromptChoice::Letter(letter.to_ascii_lowercase());
            let is_answer =
                matches!(answer, PromptChoice::Letter('y' | 'n')) && (choice.is_open() || *choice == answer);
            *choice = if is_answer { answer } else { PromptChoice::Text };
        }
        KeyCode::Backspace => *choice = PromptChoice::None,
        _ => {}
    }
    None
}

fn confirm_travel(model: &mut UiModel, wanted: TimeTravelRequest, press: KeyPress) -> Vec<UiCommand> {
    let Some(archive) = &mut model.history_browser else { return Vec::new() };
    archive.status_note = None;
    let key = press.key;
    match key.code {
        KeyCode::Up => scroll_rows(archive, 1, false),
        KeyCode::Down => scroll_rows(archive, 1, true),
        KeyCode::PageUp | KeyCode::PageDown => {
            let rows = archive.page.as_ref().map_or(1, |page| page.text.page_rows());
            scroll_rows(archive, rows, key.code == KeyCode::PageDown);
        }
        _ if hold_early_key(archive, press) => {}
        _ => match take_answer(archive, key) {
            Some(true) => {
                (archive.question, archive.page) = (None, None);
                return travel_to(model, wanted);
            }
            Some(false) => {
                (archive.question, archive.page) = (None, None);
                archive.show_note("nothing was changed");
            }
            None => {}
        },
    }
    Vec::new()
}

/// What is in the way may have come since the question.
fn travel_to(model: &mut UiModel, travel: TimeTravelRequest) -> Vec<UiCommand> {
    let busy = busy_reason(model, "change files").filter(|_| travel.changes_present());
    let Some(archive) = &mut model.history_browser else { return Vec::new() };
    if let Some(why) = busy {
        archive.show_error(&why);
        return Vec::new();
    }
    let about = match travel {
        TimeTravelRequest::Undo { .. } => "bringing the files back",
        TimeTravelRequest::Rewind { .. } => "going back",
        TimeTravelRequest::Fork { .. } => "forking",
    };
    archive.pending_wait = Some(HistoryWait { wait_kind: HistoryWaitKind::Travel, label: about.to_owned() });
    vec![UiCommand::ask(RunRequest::Travel(travel))]
}

fn on_text_key(model: &mut UiModel, key: KeyEvent) -> Vec<UiCommand> {
    let action = model.keymap.action(KeyChord::from_event(key), KeyFocusState::default());
    let Some(archive) = &mut model.history_browser else { return Vec::new() };
    archive.status_note = None;
    match key.code {
        KeyCode::Esc => {
            archive.question = None;
            archive.show_note("nothing was changed");
        }
        KeyCode::Enter => return on_text_entered(model),
        KeyCode::Tab | KeyCode::BackTab => complete_variable(archive),
        _ => {
            if let Some(
                HistoryPrompt::Fork { typed_text: typed, .. }
                | HistoryPrompt::Export { typed_text: typed, .. },
            ) = &mut archive.question
            {
                match action {
                    Some(KeyAction::Edit(edit)) => typed.take_key(key, Some(edit)),
                    Some(_) => {}
                    None => typed.take_key(key, None),
                }
            }
        }
    }
    Vec::new()
}

/// Tab writes a variable of the step with its value, and then the next one in its place.
fn complete_variable(archive: &mut HistoryBrowser) {
    let Some(HistoryPrompt::Fork { typed_text, data: Some(data), .. }) = &mut archive.question else {
        return archive.show_note("nothing can be completed here");
    };
    let text = typed_text.text();
    let before = &text[..typed_text.cursor_offset()];
    let written: Vec<String> = data.iter().map(|(name, value)| fork_assignment(name, value)).collect();
    // what Tab wrote last
    let is_last = |form: &String| {
        let left = before.strip_suffix(form.as_str());
        left.is_some_and(|left| left.is_empty() || left.ends_with(char::is_whitespace))
    };
    let last = written.iter().position(is_last);
    let word = match last {
        Some(at) => written[at].as_str(),
        None => before.rsplit(char::is_whitespace).next().unwrap_or_default(),
    };
    let found = match last {
        Some(at) => written.get((at + 1) % written.len()),
        None => written.iter().find(|form| form.starts_with(word)),
    };
    let Some(found) = found else {
        let why = format!("no variable of this step begins with `{}`", one_line(word));
        return archive.show_note(&why);
    };
    typed_text.replace_before_cursor(word.len(), found);
}

/// What does not fit stays, to be corrected.
fn on_text_entered(model: &mut UiModel) -> Vec<UiCommand> {
    let Some(archive) = &mut model.history_browser else { return Vec::new() };
    match archive.question.clone() {
        Some(HistoryPrompt::Fork { run, step, typed_text: typed, .. }) => {
            match parse_assignment_line(&typed.text()) {
                Ok(set) => {
                    let (run, step) = (Some(run.to_string()), step.into());
                    travel_to(model, TimeTravelRequest::Fork { run, step, set, restore_files: false })
                }
                Err(why) => {
                    archive.show_error(&why.to_string());
                    Vec::new()
                }
            }
        }
        Some(HistoryPrompt::Export { run, typed_text: typed }) => {
            let to = typed.text().trim().to_owned();
            if to.is_empty() {
                archive.show_error("name a file; one that ends in .md gets Markdown");
                return Vec::new();
            }
            wait_for(model, HistoryRequest::Export { run, target_path: to }, "writing the file")
        }
        Some(HistoryPrompt::Agree { .. } | HistoryPrompt::Cancel { .. }) | None => Vec::new(),
    }
}
