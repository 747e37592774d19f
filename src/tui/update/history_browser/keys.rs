//! Keys of the history, by the topmost view: a question, a page, a run, the list.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::acting_keys::acts_in_front;
use super::cursor::{find_next, page_rows, scroll_rows, scroll_to_edge};
use super::requests::{open_selected_run, wait_for};
use super::{prompt_keys, run_actions};
use crate::editor::prompt_guard::PromptChoice;
use crate::history_browser::step_list::StepLine;
use crate::history_browser::{HistoryBrowser, HistoryPrompt, HistoryRequest, HistoryWaitKind, RunAction};
use crate::keymap::KeyAction;
use crate::keymap::chord::KeyChord;
use crate::layout::PaneKind;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::pane::PaneSearch;
use crate::pane::graph_card::{card_text, last_step_of_chosen};
use crate::run_view::timeline::bar_choice::BarStep;
use crate::text::one_line;
use crate::transcript::SelectionStep;
use crate::transcript::item::TranscriptItem;
use crate::update::clipboard;
use crate::update::graph_steps::{graph_step, open_card_length};
use crate::update::key_press::KeyPress;
use synthdev_domain::journal::RunStatus;

pub(super) fn on_key(model: &mut UiModel, press: KeyPress) -> Vec<UiCommand> {
    let key = press.key;
    let Some(archive) = &mut model.history_browser else { return Vec::new() };
    if let Some(wait) = &archive.pending_wait {
        // a rewind, a fork and a resume cannot be cancelled any more
        if key.code == KeyCode::Esc && matches!(wait.wait_kind, HistoryWaitKind::Answer(_)) {
            archive.pending_wait = None;
        }
        return Vec::new();
    }
    if archive.question.is_some() {
        return prompt_keys::on_prompt_key(model, press);
    }
    archive.status_note = None;
    if archive.list.is_typing || archive.search.as_ref().is_some_and(|search| search.is_typing) {
        return type_words(model, key);
    }
    let is_of_deed = |action: KeyAction| matches!(action, KeyAction::Deed(_));
    let has_no_run = archive.is_single_page;
    let acts = |action: &KeyAction| {
        acts_in_front(model, *action) || says_why_not(*action) && !(has_no_run && is_of_deed(*action))
    };
    match model.key_action(key).filter(acts) {
        Some(action) => run_action(model, action),
        None => {
            on_other_key(model, KeyChord::from_event(key));
            Vec::new()
        }
    }
}

/// Where it does not act, it says so itself.
fn says_why_not(action: KeyAction) -> bool {
    matches!(
        action,
        KeyAction::Deed(_)
            | KeyAction::ByStatus
            | KeyAction::ByWorkflow
            | KeyAction::ByProject
            | KeyAction::GraphBreakpoint
            | KeyAction::Search
            | KeyAction::Show(PaneKind::Graph)
    )
}

/// A letter that is no key here begins the search, as in every list that typing narrows.
fn on_other_key(model: &mut UiModel, chord: KeyChord) {
    let help = model.keymap.key(KeyAction::Help).map(|help| format!(": {help} shows the keys"));
    let Some(archive) = &mut model.history_browser else { return };
    let is_comparison = archive.comparison.is_some() && archive.page.is_none();
    if let KeyCode::Char(letter) = chord.code
        && chord.is_text()
        && !is_comparison
    {
        start_search(archive);
        insert_text(archive, letter.encode_utf8(&mut [0; 4]));
        return;
    }
    archive.show_note(&format!("{chord} does nothing here{}", help.unwrap_or_default()));
}

fn run_action(model: &mut UiModel, action: KeyAction) -> Vec<UiCommand> {
    let Some(archive) = &mut model.history_browser else { return Vec::new() };
    if action == KeyAction::Show(PaneKind::Graph) {
        return toggle_graph(model);
    }
    if archive.front_graph().is_some() {
        return in_graph(model, action);
    }
    run_list_action(model, action)
}

/// The graph of the run that is looked at, and back.
fn toggle_graph(model: &mut UiModel) -> Vec<UiCommand> {
    let Some(archive) = &mut model.history_browser else { return Vec::new() };
    let is_covered = archive.page.is_some() || archive.comparison.is_some();
    let Some(run) = archive.run.as_mut().filter(|_| !is_covered) else {
        archive.show_note(match &archive.run {
            Some(_) => "Esc goes back to the steps of the run, where the graph is",
            None => "the graph is of one run: Enter opens the chosen one",
        });
        return Vec::new();
    };
    if run.graph.take().is_some() {
        return Vec::new();
    }
    run.is_graph_outdated = false;
    let run = run.row.id.clone();
    wait_for(model, HistoryRequest::Graph { run }, "reading the graph")
}

/// The graph has its own keys; what is done with a run is done beside its steps.
fn in_graph(model: &mut UiModel, action: KeyAction) -> Vec<UiCommand> {
    let theme = model.theme;
    let Some(archive) = &mut model.history_browser else { return Vec::new() };
    let Some(shown) = archive.run.as_ref().and_then(|run| run.shown_graph()) else { return Vec::new() };
    if let Some(step) = graph_step(action, &shown) {
        let length = open_card_length(&shown, theme);
        if let Some(graph) = archive.front_graph() {
            graph.change_view(|state, drawing| state.apply_step(step, drawing, length));
        }
        return Vec::new();
    }
    match action {
        KeyAction::Copy | KeyAction::CopyAll => {
            let text = card_text(&shown, theme);
            return copy_text(archive, text);
        }
        KeyAction::Deed(RunAction::Why) => return explain_chosen_state(model),
        KeyAction::Deed(_) => {
            archive.show_note("Esc goes back to the steps of the run, where that key works")
        }
        KeyAction::GraphBreakpoint => {
            archive.show_note("breakpoints are for runs that go on: set them in the pane of the graph")
        }
        KeyAction::Back
        | KeyAction::Search
        | KeyAction::NextHit
        | KeyAction::PreviousHit
        | KeyAction::Repaint => return run_list_action(model, action),
        _ => archive.show_note("that key works in the list: Esc goes back to it"),
    }
    Vec::new()
}

/// Why the last step in the state that is chosen in the graph was taken.
fn explain_chosen_state(model: &mut UiModel) -> Vec<UiCommand> {
    let Some(archive) = &mut model.history_browser else { return Vec::new() };
    let Some(run) = &archive.run else { return Vec::new() };
    let step = run.shown_graph().and_then(|shown| last_step_of_chosen(&shown));
    let Some(step) = step else {
        archive.show_note("the run was never in this state");
        return Vec::new();
    };
    let run = run.row.id.clone();
    let about = format!("finding out why the run entered step {step}");
    wait_for(model, HistoryRequest::Why { run, step }, &about)
}

fn run_list_action(model: &mut UiModel, action: KeyAction) -> Vec<UiCommand> {
    let Some(archive) = &mut model.history_browser else { return Vec::new() };
    if chooses_bar(archive, action) {
        return Vec::new();
    }
    if let Some(text) = empty_list_text(archive).filter(|_| moves_in_list(action)) {
        archive.show_note(text);
        return Vec::new();
    }
    match action {
        KeyAction::RowUp | KeyAction::LineUp => scroll_rows(archive, 1, false),
        KeyAction::RowDown | KeyAction::LineDown => scroll_rows(archive, 1, true),
        KeyAction::PaneUp | KeyAction::PageUp => scroll_rows(archive, page_rows(archive), false),
        KeyAction::PaneDown | KeyAction::PageDown => scroll_rows(archive, page_rows(archive), true),
        KeyAction::First => scroll_to_edge(archive, false),
        KeyAction::Last => scroll_to_edge(archive, true),
        KeyAction::Back => go_back(model),
        KeyAction::Open => return open_selected(model),
        KeyAction::Search => start_search(archive),
        KeyAction::NextHit => find_next(archive, true, false),
        KeyAction::PreviousHit => find_next(archive, false, false),
        KeyAction::NextItem => return open_neighbour(model, true),
        KeyAction::PreviousItem => return open_neighbour(model, false),
        KeyAction::Copy => return copy_rows(archive, false),
        KeyAction::CopyAll => return copy_rows(archive, true),
        KeyAction::Repaint => model.needs_repaint = true,
        KeyAction::Deed(_) if archive.comparison.is_some() => {
            archive.show_note("two runs are compared: Esc goes back to one of them");
        }
        KeyAction::Deed(deed) => return run_actions::run_action(model, deed),
        KeyAction::ByStatus => by_status(archive),
        KeyAction::ByWorkflow => by_workflow(archive),
        KeyAction::ByProject => {
            on_list(archive, |archive| {
                archive.list.filter.this_project_only = !archive.list.filter.this_project_only
            });
        }
        // panes and the input box are behind it
        _ => {}
    }
    Vec::new()
}

/// The list in front has no rows.
fn empty_list_text(archive: &HistoryBrowser) -> Option<&'static str> {
    match (&archive.page, &archive.comparison, &archive.run) {
        (None, None, None) if archive.list.is_empty() && archive.list.wait_text().is_none() => {
            Some("there is no run in the list")
        }
        (None, None, Some(run)) if run.steps().is_empty() => Some("there is no step of this run yet"),
        _ => None,
    }
}

fn moves_in_list(action: KeyAction) -> bool {
    matches!(
        action,
        KeyAction::RowUp
            | KeyAction::RowDown
            | KeyAction::LineUp
            | KeyAction::LineDown
            | KeyAction::PaneUp
            | KeyAction::PaneDown
            | KeyAction::PageUp
            | KeyAction::PageDown
            | KeyAction::First
            | KeyAction::Last
            | KeyAction::Open
    )
}

/// The chart of a run: Left and Right choose a bar; Up and Down its row of the chart, once one is chosen.
fn chooses_bar(archive: &mut HistoryBrowser, action: KeyAction) -> bool {
    let in_front = archive.page.is_some() || archive.comparison.is_some();
    let Some(run) = archive.run.as_mut().filter(|_| !in_front) else { return false };
    let is_chosen = run.chosen_bar.is_some();
    let step = match action {
        KeyAction::ChooseLeft => BarStep::Before,
        KeyAction::ChooseRight => BarStep::Next,
        KeyAction::RowUp if is_chosen => BarStep::TrackAbove,
        KeyAction::RowDown if is_chosen => BarStep::TrackBelow,
        _ => return false,
    };
    run.choose_bar(step);
    true
}

/// Puts a text into the open text field; drops it if there is none.
pub(super) fn insert_text(archive: &mut HistoryBrowser, text: &str) {
    match (&mut archive.question, &mut archive.search) {
        (
            Some(
                HistoryPrompt::Fork { typed_text: typed, .. }
                | HistoryPrompt::Export { typed_text: typed, .. },
            ),
            _,
        ) => typed.insert_text(text),
        // a letter before it is no answer any more
        (Some(HistoryPrompt::Agree { choice, .. } | HistoryPrompt::Cancel { choice, .. }), _) => {
            *choice = PromptChoice::Text;
        }
        (None, Some(search)) if search.is_typing => search.search_words.push_str(text),
        (None, _) if archive.list.is_typing => archive.list.filter.search_words.push_str(text),
        (None, _) => {}
    }
}

/// Esc, one level after the other; the list keeps its place.
fn go_back(model: &mut UiModel) {
    let Some(archive) = &mut model.history_browser else { return };
    let first = archive.search.take().is_some()
        || archive.page.take().is_some()
        || archive.comparison.take().is_some()
        || archive.run.as_mut().is_some_and(|run| run.graph.take().is_some())
        || archive.run.as_mut().is_some_and(|run| run.chosen_bar.take().is_some())
        || archive.run.take().is_some();
    if first {
        return;
    }
    if archive.list.filter.search_words.is_empty() {
        model.history_browser = None;
    } else {
        archive.list.filter.search_words.clear();
    }
}

pub(super) fn open_selected(model: &mut UiModel) -> Vec<UiCommand> {
    let Some(archive) = &mut model.history_browser else { return Vec::new() };
    let made = archive.page.as_ref().and_then(|page| Some((page.resumable_run.clone()?, page.guard)));
    if let Some((run, guard)) = made {
        if model.last_key.is_some_and(|at| guard.ms_left(at) > 0) {
            archive.show_note("this page just appeared: read it, then press Enter again");
            return Vec::new();
        }
        return run_actions::resume_run(model, run);
    }
    if let Some(page) = &mut archive.page {
        if let Some(at) = page.text.selected_index() {
            page.text.toggle_fold(at);
        }
        return Vec::new();
    }
    if archive.comparison.is_some() {
        return Vec::new();
    }
    let Some(run) = &archive.run else { return open_selected_run(model) };
    if run.chosen_bar.is_some() {
        let Some(call) = run.chosen_call() else {
            archive.show_note("only calls and questions can be opened");
            return Vec::new();
        };
        let run = run.row.id.clone();
        return wait_for(model, HistoryRequest::Call { run, call }, "reading the call");
    }
    let Some(step) = run.selected_step() else { return Vec::new() };
    let run = run.row.id.clone();
    wait_for(model, HistoryRequest::Step { run, step }, &format!("reading step {step}"))
}

/// In a step: its messages and calls are chosen, or the step beside it is shown.
fn open_neighbour(model: &mut UiModel, next: bool) -> Vec<UiCommand> {
    let Some(archive) = &mut model.history_browser else { return Vec::new() };
    let (Some(page), Some(run)) = (&mut archive.page, &mut archive.run) else {
        if let Some(page) = &mut archive.page {
            page.text.select_item(if next { SelectionStep::Next } else { SelectionStep::Previous });
        }
        return Vec::new();
    };
    if page.step.is_none() && page.explained_step.is_none() {
        page.text.select_item(if next { SelectionStep::Next } else { SelectionStep::Previous });
        return Vec::new();
    }
    // one that was opened from the graph is of another step than the cursor's
    let explained = page.explained_step;
    let shown = run.steps().iter().position(|line| Some(line.step) == page.step.or(explained));
    let cursor = shown.unwrap_or(run.cursor);
    let at = if next { cursor + 1 } else { cursor.wrapping_sub(1) };
    let Some(step) = run.steps().get(at).map(|line| line.step) else {
        archive.show_note(if next { "this is the last step" } else { "this is the first step" });
        return Vec::new();
    };
    run.select_row(at);
    let run = run.row.id.clone();
    if explained.is_some() {
        let about = format!("finding out why the run entered step {step}");
        return wait_for(model, HistoryRequest::Why { run, step }, &about);
    }
    wait_for(model, HistoryRequest::Step { run, step }, &format!("reading step {step}"))
}

fn start_search(archive: &mut HistoryBrowser) {
    if archive.comparison.is_some() && archive.page.is_none() {
        archive.show_note("n and N go to the next difference and to the one before");
    } else if archive.page.is_none() && archive.run.is_none() {
        archive.list.is_typing = true;
    } else {
        archive.search = Some(PaneSearch { is_typing: true, ..PaneSearch::default() });
    }
}

fn type_words(model: &mut UiModel, key: KeyEvent) -> Vec<UiCommand> {
    let Some(archive) = &mut model.history_browser else { return Vec::new() };
    let list = archive.search.is_none();
    let Some(words) = (if list {
        Some(&mut archive.list.filter.search_words)
    } else {
        archive.search.as_mut().map(|search| &mut search.search_words)
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
            archive.list.is_typing = false;
        }
        KeyCode::Esc => archive.search = None,
        KeyCode::Enter if list => archive.list.is_typing = false,
        KeyCode::Enter => {
            let empty = words.trim().is_empty();
            if let Some(search) = &mut archive.search {
                search.is_typing = false;
            }
            if empty { archive.search = None } else { find_next(archive, true, true) }
        }
        // the list is looked through while words are typed
        KeyCode::Up | KeyCode::Down if list => scroll_rows(archive, 1, key.code == KeyCode::Down),
        KeyCode::PageUp | KeyCode::PageDown if list => {
            scroll_rows(archive, page_rows(archive), key.code == KeyCode::PageDown);
        }
        _ => {}
    }
    Vec::new()
}

fn copy_rows(archive: &mut HistoryBrowser, whole: bool) -> Vec<UiCommand> {
    let both = archive.comparison.as_ref().filter(|_| archive.page.is_none());
    let text = match (&archive.page, &archive.run, whole) {
        _ if both.is_some() => both.map(|both| both.comparison.to_text()).unwrap_or_default(),
        (Some(page), _, true) => page.text.text(),
        (Some(page), _, false) => page.text.chosen_item().map(TranscriptItem::text).unwrap_or_default(),
        (None, Some(run), false) => {
            run.steps().get(run.cursor).map(|line| one_line(&line.state)).unwrap_or_default()
        }
        (None, Some(run), true) => {
            let line = |line: &StepLine| format!("{} {} #{}", line.step, one_line(&line.state), line.visit);
            run.steps().iter().map(line).collect::<Vec<_>>().join("\n")
        }
        (None, None, _) => archive.list.chosen_run().map(|row| row.id.to_string()).unwrap_or_default(),
    };
    copy_text(archive, text)
}

fn copy_text(archive: &mut HistoryBrowser, text: String) -> Vec<UiCommand> {
    let (cmd, said) = clipboard::copy_command(text);
    archive.show_note(&said);
    cmd.into_iter().collect()
}

fn on_list(archive: &mut HistoryBrowser, change: impl FnOnce(&mut HistoryBrowser)) {
    if archive.page.is_none() && archive.run.is_none() && archive.comparison.is_none() {
        change(archive);
    } else {
        archive.show_note("that key works in the list: Esc goes back to it");
    }
}

fn by_status(archive: &mut HistoryBrowser) {
    /// Runs that need the user come first.
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
    if let Some(empty) = empty_list_text(archive).filter(|_| archive.list.filter.workflow.is_none()) {
        return archive.show_note(&format!("{empty}: no workflow to choose"));
    }
    on_list(archive, |archive| {
        let chosen = archive.list.chosen_run().map(|row| row.workflow.clone());
        let filter = &mut archive.list.filter;
        filter.workflow = if filter.workflow.is_some() { None } else { chosen };
    });
}
