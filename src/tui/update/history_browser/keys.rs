//! Keys of the history, by what is in front: a question, a page, a run, the list.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::cursor::{edge, find, page_of, scroll};
use super::requests::{enter, wait_for};
use super::{prompt_keys, run_actions};
use crate::history_browser::step_list::StepLine;
use crate::history_browser::{HistoryBrowser, HistoryPrompt, HistoryRequest, HistoryWaitKind};
use crate::keymap::chord::KeyChord;
use crate::keymap::{KeyAction, KeyFocusState};
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::pane::PaneSearch;
use crate::text::one_line;
use crate::transcript::SelectionStep;
use crate::transcript::item::TranscriptItem;
use crate::update::clipboard;
use synthdev_domain::journal::RunStatus;

pub(super) fn press(model: &mut UiModel, key: KeyEvent, typing: bool) -> Vec<UiCommand> {
    let Some(archive) = &mut model.archive else { return Vec::new() };
    if let Some(wait) = &archive.wait {
        // a journey and a run that is taken up are on their way: nothing takes them back
        if key.code == KeyCode::Esc && matches!(wait.what, HistoryWaitKind::Answer(_)) {
            archive.wait = None;
        }
        return Vec::new();
    }
    if archive.question.is_some() {
        return prompt_keys::press(model, key, typing);
    }
    archive.note = None;
    if archive.list.typing || archive.search.as_ref().is_some_and(|search| search.typing) {
        return type_words(model, key);
    }
    let now = KeyFocusState { pane: true, empty: true, history: true, ..KeyFocusState::default() };
    model.keymap.action(KeyChord::from_event(key), now).map_or_else(Vec::new, |action| act(model, action))
}

fn act(model: &mut UiModel, action: KeyAction) -> Vec<UiCommand> {
    let Some(archive) = &mut model.archive else { return Vec::new() };
    match action {
        KeyAction::RowUp | KeyAction::LineUp => scroll(archive, 1, false),
        KeyAction::RowDown | KeyAction::LineDown => scroll(archive, 1, true),
        KeyAction::PaneUp | KeyAction::PageUp => scroll(archive, page_of(archive), false),
        KeyAction::PaneDown | KeyAction::PageDown => scroll(archive, page_of(archive), true),
        KeyAction::First => edge(archive, false),
        KeyAction::Last => edge(archive, true),
        KeyAction::Back => back(model),
        KeyAction::Open => return open(model),
        KeyAction::Search => search(archive),
        KeyAction::NextHit => find(archive, true, false),
        KeyAction::PreviousHit => find(archive, false, false),
        KeyAction::NextItem => return neighbour(model, true),
        KeyAction::PreviousItem => return neighbour(model, false),
        KeyAction::Copy => return copy(archive, false),
        KeyAction::CopyAll => return copy(archive, true),
        KeyAction::Repaint => model.repaint = true,
        KeyAction::Deed(deed) => return run_actions::act(model, deed),
        KeyAction::ByStatus => by_status(archive),
        KeyAction::ByWorkflow => by_workflow(archive),
        KeyAction::ByProject => {
            on_list(archive, |archive| archive.list.filter.here = !archive.list.filter.here);
        }
        // panes and the input box lie behind
        _ => {}
    }
    Vec::new()
}

/// A text into what is being typed; it is nobody's otherwise.
pub(super) fn insert(archive: &mut HistoryBrowser, text: &str) {
    match (&mut archive.question, &mut archive.search) {
        (Some(HistoryPrompt::Fork { typed, .. } | HistoryPrompt::Export { typed, .. }), _) => {
            typed.push_str(text)
        }
        (Some(HistoryPrompt::Agree { .. } | HistoryPrompt::Cancel { .. }), _) => {}
        (None, Some(search)) if search.typing => search.words.push_str(text),
        (None, _) if archive.list.typing => archive.list.filter.words.push_str(text),
        (None, _) => {}
    }
}

/// Esc, one level after the other; the list keeps its place.
fn back(model: &mut UiModel) {
    let Some(archive) = &mut model.archive else { return };
    let first =
        archive.search.take().is_some() || archive.page.take().is_some() || archive.run.take().is_some();
    if first {
        return;
    }
    if archive.list.filter.words.is_empty() {
        model.archive = None;
    } else {
        archive.list.filter.words.clear();
    }
}

fn open(model: &mut UiModel) -> Vec<UiCommand> {
    let Some(archive) = &mut model.archive else { return Vec::new() };
    if let Some(page) = &mut archive.page {
        if let Some(at) = page.text.selected() {
            page.text.toggle(at);
        }
        return Vec::new();
    }
    let Some(run) = &archive.run else { return enter(model) };
    let Some(step) = run.step() else { return Vec::new() };
    let run = run.row.id.clone();
    wait_for(model, HistoryRequest::Step { run, step }, &format!("reading step {step}"))
}

/// In a step: its messages and calls are chosen, or the step beside it is shown.
fn neighbour(model: &mut UiModel, next: bool) -> Vec<UiCommand> {
    let Some(archive) = &mut model.archive else { return Vec::new() };
    let (Some(page), Some(run)) = (&mut archive.page, &mut archive.run) else {
        if let Some(page) = &mut archive.page {
            page.text.select(if next { SelectionStep::Next } else { SelectionStep::Previous });
        }
        return Vec::new();
    };
    if page.step.is_none() {
        page.text.select(if next { SelectionStep::Next } else { SelectionStep::Previous });
        return Vec::new();
    }
    let at = if next { run.cursor + 1 } else { run.cursor.wrapping_sub(1) };
    let Some(step) = run.steps().get(at).map(|line| line.step) else {
        archive.show_note(if next { "this is the last step" } else { "this is the first step" });
        return Vec::new();
    };
    run.go_to(at);
    let run = run.row.id.clone();
    wait_for(model, HistoryRequest::Step { run, step }, &format!("reading step {step}"))
}

fn search(archive: &mut HistoryBrowser) {
    if archive.page.is_none() && archive.run.is_none() {
        archive.list.typing = true;
    } else {
        archive.search = Some(PaneSearch { typing: true, ..PaneSearch::default() });
    }
}

fn type_words(model: &mut UiModel, key: KeyEvent) -> Vec<UiCommand> {
    let Some(archive) = &mut model.archive else { return Vec::new() };
    let list = archive.search.is_none();
    let Some(words) = (if list {
        Some(&mut archive.list.filter.words)
    } else {
        archive.search.as_mut().map(|search| &mut search.words)
    }) else {
        return Vec::new();
    };
    match key.code {
        KeyCode::Char(letter) if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => {
            words.push(letter);
        }
        KeyCode::Char('u') if key.modifiers.contains(KeyModifiers::CONTROL) => words.clear(),
        KeyCode::Backspace => drop(words.pop()),
        KeyCode::Esc if list => {
            words.clear();
            archive.list.typing = false;
        }
        KeyCode::Esc => archive.search = None,
        KeyCode::Enter if list => archive.list.typing = false,
        KeyCode::Enter => {
            let empty = words.trim().is_empty();
            if let Some(search) = &mut archive.search {
                search.typing = false;
            }
            if empty { archive.search = None } else { find(archive, true, true) }
        }
        // the list is looked through while words are typed
        KeyCode::Up | KeyCode::Down if list => scroll(archive, 1, key.code == KeyCode::Down),
        KeyCode::PageUp | KeyCode::PageDown if list => {
            scroll(archive, page_of(archive), key.code == KeyCode::PageDown);
        }
        _ => {}
    }
    Vec::new()
}

fn copy(archive: &mut HistoryBrowser, whole: bool) -> Vec<UiCommand> {
    let text = match (&archive.page, &archive.run, whole) {
        (Some(page), _, true) => page.text.text(),
        (Some(page), _, false) => page.text.chosen().map(TranscriptItem::text).unwrap_or_default(),
        (None, Some(run), false) => {
            run.steps().get(run.cursor).map(|line| one_line(&line.state)).unwrap_or_default()
        }
        (None, Some(run), true) => {
            let line = |line: &StepLine| format!("{} {} #{}", line.step, one_line(&line.state), line.visit);
            run.steps().iter().map(line).collect::<Vec<_>>().join("\n")
        }
        (None, None, _) => archive.list.chosen().map(|row| row.id.to_string()).unwrap_or_default(),
    };
    let (cmd, said) = clipboard::copied(text);
    archive.show_note(&said);
    cmd.into_iter().collect()
}

fn on_list(archive: &mut HistoryBrowser, change: impl FnOnce(&mut HistoryBrowser)) {
    if archive.page.is_none() && archive.run.is_none() {
        change(archive);
    } else {
        archive.show_note("the list has that: Esc goes back to it");
    }
}

fn by_status(archive: &mut HistoryBrowser) {
    /// Those that somebody has to do something about come first.
    const ROUND: [RunStatus; 6] = [
        RunStatus::Failed,
        RunStatus::Paused,
        RunStatus::Interrupted,
        RunStatus::Running,
        RunStatus::Completed,
        RunStatus::Cancelled,
    ];
    on_list(archive, |archive| {
        let filter = &mut archive.list.filter;
        let at = filter.status.and_then(|status| ROUND.iter().position(|one| *one == status));
        filter.status = at.map_or(Some(ROUND[0]), |at| ROUND.get(at + 1).copied());
    });
}

/// Only runs of the same workflow, or all again.
fn by_workflow(archive: &mut HistoryBrowser) {
    on_list(archive, |archive| {
        let chosen = archive.list.chosen().map(|row| row.workflow.clone());
        let filter = &mut archive.list.filter;
        filter.workflow = if filter.workflow.is_some() { None } else { chosen };
    });
}
