//! Keys in panes: showing, scrolling, searching, copying, and which run they show.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{clipboard, file_mentions, graph_pane, pane_layout, timeline};
use crate::display::DisplayRequest;
use crate::keymap::KeyAction;
use crate::keymap::chord::KeyChord;
use crate::layers::ScreenLayer;
use crate::layout::PaneKind;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::pane::PaneSearch;
use crate::pane::body::PaneRowCopy;
use crate::pane::data;
use crate::pane::graph_card::watched_drawing;
use crate::run_view::RunView;
use crate::run_view::pane_data::RunDefinitionState;
use crate::text::{format_count, one_line};
use crate::transcript::SelectionStep;
use crate::transcript::item::TranscriptItem;
use crate::view;
use synthdev_domain::ids::RunId;

/// Requests a definition that panes on screen need, unless it was requested before.
pub fn request_definition(model: &mut UiModel) -> Option<UiCommand> {
    let run = model.watched_run()?;
    if !matches!(run.pane_data.definition, RunDefinitionState::Unasked) {
        return None;
    }
    let id = run.id.clone();
    // values that the user sets while the run is stopped are compared with the definition
    let needed = !run.stopped_at.is_empty()
        || model.on_screen().iter().any(|pane| matches!(pane, PaneKind::Graph | PaneKind::Data));
    if !needed {
        return None;
    }
    model.run_mut(&id)?.pane_data.definition = RunDefinitionState::Asked;
    Some(UiCommand::Display(DisplayRequest::Definition(id)))
}

/// A key while a pane has the keys. `None`: it is a letter, and further typing means the input box. A key that means
/// nothing in the pane does nothing elsewhere.
pub fn on_key(model: &mut UiModel, key: KeyEvent) -> Option<Vec<UiCommand>> {
    let meant = model.key_action(key);
    if model.panes.is_search_typed() {
        return Some(type_search(model, key, meant));
    }
    let pane = model.panes.focus?;
    if let Some(action) = meant.filter(|action| action.is_for_pane(pane)) {
        return Some(run_key_action(model, action));
    }
    let chord = KeyChord::from_event(key);
    // a question that passes a key on leaves it to the input line
    if chord.is_text() || model.focused_pane().is_none() {
        model.panes.focus_input();
        return None;
    }
    let help = model.keymap.key(KeyAction::Help).map(|help| format!(": {help} shows its keys"));
    model.hint =
        Some(format!("{chord} does nothing in the {} pane{}", pane.title(), help.unwrap_or_default()));
    Some(Vec::new())
}

/// A search that is typed takes the text.
pub fn on_paste(model: &mut UiModel, text: &str) -> Option<Vec<UiCommand>> {
    let search = model.panes.search.as_mut().filter(|search| search.is_typing)?;
    search.search_words.push_str(&one_line(text));
    Some(Vec::new())
}

/// What a key means, wherever it was pressed.
pub fn run_key_action(model: &mut UiModel, action: KeyAction) -> Vec<UiCommand> {
    match action {
        KeyAction::Repaint => model.needs_repaint = true,
        KeyAction::Details => model.details = !model.details,
        KeyAction::SidePanel => pane_layout::toggle_side_panel(model),
        KeyAction::PageUp => scroll_page(model, false),
        KeyAction::PageDown => scroll_page(model, true),
        KeyAction::LineUp => scroll_pane(model, scroll_target(model), 1, false),
        KeyAction::LineDown => scroll_pane(model, scroll_target(model), 1, true),
        KeyAction::Oldest => scroll_to_edge(model, scroll_target(model), false),
        KeyAction::Newest => scroll_to_edge(model, scroll_target(model), true),
        // a question keeps the keys
        KeyAction::Show(PaneKind::Conversation) if model.is_open(ScreenLayer::KeyQuestion) => {
            model.panes.to_conversation();
            super::approvals::report_question_focus(model);
        }
        KeyAction::Show(pane) => model.panes.show_pane(pane),
        KeyAction::NextPane => cycle_focus(model, 1),
        KeyAction::PreviousPane => cycle_focus(model, -1),
        KeyAction::Zoom => pane_layout::toggle_zoom(model),
        KeyAction::NextQuestion => super::approvals::walk_questions(model, true),
        KeyAction::NextRun => next_run(model, 1),
        KeyAction::PreviousRun => next_run(model, -1),
        other => return in_pane(model, other),
    }
    Vec::new()
}

fn in_pane(model: &mut UiModel, action: KeyAction) -> Vec<UiCommand> {
    let Some(pane) = model.panes.focus else { return Vec::new() };
    // several keys may come between two frames
    view::arrange_panes(model);
    if view::is_empty_pane(model, pane) && needs_rows(action) {
        model.hint = Some(format!("there is nothing in the {} pane yet", pane.title()));
        return Vec::new();
    }
    if let Some(step) = timeline::bar_step(action).filter(|_| pane == PaneKind::Timeline) {
        timeline::choose_bar(model, step);
        return Vec::new();
    }
    if pane == PaneKind::Graph
        && let Some(commands) = graph_pane::on_graph_action(model, action)
    {
        return commands;
    }
    match action {
        KeyAction::RowUp => scroll_pane(model, pane, 1, false),
        KeyAction::RowDown => scroll_pane(model, pane, 1, true),
        KeyAction::PaneUp => scroll_page(model, false),
        KeyAction::PaneDown => scroll_page(model, true),
        KeyAction::First => scroll_to_edge(model, pane, false),
        KeyAction::Last => scroll_to_edge(model, pane, true),
        KeyAction::Open if pane == PaneKind::Conversation => return open_item(model),
        KeyAction::OpenFile if pane == PaneKind::Conversation => return file_mentions::open_next(model),
        KeyAction::Open if pane == PaneKind::Timeline => return timeline::open_chosen_row(model),
        KeyAction::Open => open_pane_row(model, pane),
        KeyAction::NextItem if pane == PaneKind::Conversation => {
            model.transcript.select_item(SelectionStep::Next)
        }
        KeyAction::PreviousItem if pane == PaneKind::Conversation => {
            model.transcript.select_item(SelectionStep::Previous)
        }
        KeyAction::Search => {
            model.panes.search = Some(PaneSearch { is_typing: true, ..PaneSearch::default() })
        }
        KeyAction::NextHit => find_in_pane(model, pane, true, false),
        KeyAction::PreviousHit => find_in_pane(model, pane, false, false),
        KeyAction::Mark => {
            let state = model.panes.state_mut(pane);
            state.mark_start = state.mark_start.xor(Some(state.cursor));
            let is_marked = state.mark_start.is_some();
            let copy = model.keymap.pane_key(KeyAction::Copy).map(|key| format!(", {key} copies them"));
            model.hint = Some(match is_marked {
                true => format!("rows are marked from here: ↑↓ take more{}", copy.unwrap_or_default()),
                false => "no row is marked".to_owned(),
            });
        }
        KeyAction::Copy => return copy_rows(model, pane, false),
        KeyAction::CopyAll => return copy_rows(model, pane, true),
        KeyAction::Back => on_escape(model),
        // a graph or a timeline that is not there yet
        _ => model.hint = Some(format!("the {} pane shows nothing for this key yet", pane.title())),
    }
    Vec::new()
}

/// The action is about what a pane shows.
fn needs_rows(action: KeyAction) -> bool {
    !matches!(action, KeyAction::Back | KeyAction::Search | KeyAction::NextHit | KeyAction::PreviousHit)
}

/// The pane that keys of the input box scroll: what a narrow or zoomed screen shows, else the conversation.
pub fn scroll_target(model: &UiModel) -> PaneKind {
    let shown = model.panes.zoomed_pane.or(model.panes.front_pane.filter(|_| model.is_narrow()));
    model.panes.focus.or(shown).unwrap_or(PaneKind::Conversation)
}

fn scroll_page(model: &mut UiModel, down: bool) {
    let pane = scroll_target(model);
    let rows = match pane {
        PaneKind::Conversation => model.transcript.page_rows(),
        _ => model.panes.state(pane).height.saturating_sub(1).max(1),
    };
    scroll_pane(model, pane, rows, down);
}

pub fn scroll_pane(model: &mut UiModel, pane: PaneKind, rows: usize, down: bool) {
    match (pane, down) {
        (PaneKind::Conversation, true) => model.transcript.scroll_down(rows),
        (PaneKind::Conversation, false) => model.transcript.scroll_up(rows),
        (PaneKind::Graph, _) if watched_drawing(model).is_some() => {
            graph_pane::change_graph(model, |state, drawing| state.scroll_rows(rows, down, drawing.size()));
        }
        _ => {
            view::arrange_panes(model);
            let len = view::pane_body(model, pane).map_or(0, |body| body.len());
            let state = model.panes.state_mut(pane);
            let row = if down { state.cursor + rows } else { state.cursor.saturating_sub(rows) };
            state.go_to(row, len);
        }
    }
}

fn scroll_to_edge(model: &mut UiModel, pane: PaneKind, last: bool) {
    match (pane, last) {
        (PaneKind::Conversation, true) => model.transcript.follow_end(),
        (PaneKind::Conversation, false) => model.transcript.to_start(),
        (PaneKind::Graph, _) if watched_drawing(model).is_some() => {
            graph_pane::change_graph(model, |state, drawing| state.go_to_edge(drawing, last));
        }
        _ => {
            let len = view::pane_body(model, pane).map_or(0, |body| body.len());
            let state = model.panes.state_mut(pane);
            state.go_to(if last { len } else { 0 }, len);
            // the graph follows the run, not its last line
            state.cursor_held = !last;
        }
    }
}

/// Esc, one thing after the other: the search, the whole screen, the keys.
fn on_escape(model: &mut UiModel) {
    let panes = &mut model.panes;
    let marked = panes.focus.and_then(|pane| panes.state_mut(pane).mark_start.take());
    if marked.is_some() || panes.search.take().is_some() || panes.zoomed_pane.take().is_some() {
        return;
    }
    panes.to_conversation();
    model.transcript.clear_selection();
}

/// Moves the focus to the next of: input box, conversation, and panes beside it.
fn cycle_focus(model: &mut UiModel, step: isize) {
    let narrow = model.is_narrow();
    let mut stops: Vec<Option<PaneKind>> = vec![None];
    if narrow || model.panes.zoomed_pane.is_some() {
        stops.push(Some(PaneKind::Conversation));
        let mut open = model.panes.open_panes.clone();
        open.sort_by_key(|pane| *pane as u8);
        stops.extend(open.into_iter().map(Some));
    } else {
        stops.extend(model.on_screen().into_iter().map(Some));
    }
    let at = stops.iter().position(|stop| *stop == model.panes.focus).unwrap_or(0);
    let next = at.checked_add_signed(step).unwrap_or(stops.len() - 1) % stops.len();
    match stops[next] {
        Some(pane) => model.panes.focus_pane(pane),
        None => model.panes.to_conversation(),
    }
}

/// The panes show another run of this session.
fn next_run(model: &mut UiModel, step: isize) {
    let Some(at) = model.watched_run().and_then(|run| model.runs.iter().position(|one| one.id == run.id))
    else {
        model.hint = Some("there is no run yet".to_owned());
        return;
    };
    let count = model.runs.len();
    let next = at.checked_add_signed(step).unwrap_or(count - 1) % count;
    let id = model.runs[next].id.clone();
    watch_run(model, &id);
}

/// The panes show this run until a new one begins.
pub fn watch_run(model: &mut UiModel, id: &RunId) {
    model.watched_run = Some(id.clone());
    let Some(at) = model.runs.iter().position(|run| run.id == *id) else { return };
    if !model.runs[at].is_over && !model.runs[at].chat {
        // text and steering commands go to the run on screen
        model.workflow = Some(id.clone());
    }
    let run = &model.runs[at];
    let what = if run.is_over { "over" } else { "runs" };
    model.hint =
        Some(format!("panes show {} {} ({what}), {} of {}", run.workflow, run.id, at + 1, model.runs.len()));
}

/// Live runs of this session, above the list of all runs.
pub fn show_live_runs(model: &mut UiModel) {
    let text = run_state_lines(model, |run| !run.is_over && !run.chat);
    if !text.is_empty() {
        model.add_item(TranscriptItem::report_item("Running now: /watch ID brings one in front", &text));
    }
}

/// A line for each: where it is, and what it waits for.
fn run_state_lines(model: &UiModel, wanted: impl Fn(&RunView) -> bool) -> String {
    let shown = model.watched_run().map(|run| run.id.clone());
    let lines = model.runs.iter().filter(|run| wanted(run)).map(|run| {
        let mark = if Some(&run.id) == shown.as_ref() { '▸' } else { ' ' };
        let what = if run.is_over { "over" } else { run.state.as_str() };
        let stands = run
            .stopped_at
            .first()
            .map(|stand| format!(" · stopped {}", stand.stop_location()))
            .unwrap_or_default();
        let asked = model.dialogs.iter().filter(|dialog| dialog.run_id() == Some(&run.id)).count();
        let asked =
            if asked > 0 { format!(" · {}", format_count(asked as u64, "question")) } else { String::new() };
        format!("{mark} {} {} · {what}{stands}{asked}", run.id, run.workflow)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// `/watch`: which runs there are, or one of them.
pub fn watch_named(model: &mut UiModel, wanted: Option<&str>) {
    let Some(wanted) = wanted else {
        let text = run_state_lines(model, |_| true);
        let text = if text.is_empty() { "none yet".to_owned() } else { text };
        model.add_item(TranscriptItem::report_item("Runs of this session", &text));
        return;
    };
    let mut found =
        model.runs.iter().filter(|run| run.id.as_str().starts_with(wanted) || run.workflow == wanted);
    match (found.next().map(|run| run.id.clone()), found.next()) {
        (Some(id), None) => watch_run(model, &id),
        (Some(_), Some(_)) => {
            model.add_item(TranscriptItem::warning_item(&format!(
                "more than one run of this session matches {wanted}: /watch lists them"
            )));
        }
        (None, _) => {
            model.add_item(TranscriptItem::warning_item(&format!(
                "no run of this session matches {wanted}: /watch lists them"
            )));
        }
    }
}

fn open_pane_row(model: &mut UiModel, pane: PaneKind) {
    let state = model.panes.state(pane);
    let key = state.rows.get(state.cursor).and_then(|row| row.key.clone());
    let Some(key) =
        key.filter(|_| !matches!(pane, PaneKind::Conversation | PaneKind::Timeline | PaneKind::Graph))
    else {
        model.hint = Some("this row has nothing to open".to_owned());
        return;
    };
    let first = state.rows[..=state.cursor].iter().position(|row| row.key.as_ref() == Some(&key));
    model.panes.toggle_row(&key);
    let state = model.panes.state_mut(pane);
    state.cursor_held = true;
    if let Some(first) = first {
        state.cursor = first;
    }
}

/// Opens or folds the selected item of the conversation. Where there is nothing to fold, opens a file that it names.
fn open_item(model: &mut UiModel) -> Vec<UiCommand> {
    let opened = model.transcript.selected_index().is_some_and(|at| model.transcript.toggle_fold(at));
    if !opened {
        if !model.transcript.chosen_mentions().is_empty() {
            return file_mentions::open_next(model);
        }
        let key = |action| model.keymap.pane_key(action).map_or(String::new(), |key| key.to_string());
        let (before, next) = (key(KeyAction::PreviousItem), key(KeyAction::NextItem));
        model.hint = Some(match model.transcript.selected_index() {
            Some(_) => "all of it is shown".to_owned(),
            None => format!("{before} and {next} choose an entry to open"),
        });
    }
    Vec::new()
}

fn type_search(model: &mut UiModel, key: KeyEvent, meant: Option<KeyAction>) -> Vec<UiCommand> {
    let (Some(pane), Some(search)) = (model.panes.focus, model.panes.search.as_mut()) else {
        return Vec::new();
    };
    match key.code {
        KeyCode::Esc => model.panes.search = None,
        KeyCode::Enter => {
            search.is_typing = false;
            if search.search_words.trim().is_empty() {
                model.panes.search = None;
            } else {
                find_in_pane(model, pane, true, true);
            }
        }
        KeyCode::Backspace => {
            search.search_words.pop();
        }
        KeyCode::Char(letter) if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => {
            search.search_words.push(letter);
        }
        _ => {
            if let Some(action) = meant.filter(|action| action.is_anywhere()) {
                return run_key_action(model, action);
            }
        }
    }
    Vec::new()
}

/// Puts the cursor on the next matching row; `here` includes the row of the cursor.
fn find_in_pane(model: &mut UiModel, pane: PaneKind, down: bool, here: bool) {
    view::arrange_panes(model);
    let Some(search) = &model.panes.search else {
        let key = model.keymap.pane_key(KeyAction::Search).map(|key| format!(": {key} searches"));
        model.hint = Some(format!("nothing is searched for{}", key.unwrap_or_default()));
        return;
    };
    let words = search.search_words.trim().to_lowercase();
    let found = match pane {
        PaneKind::Conversation => model.transcript.find_text(&words, down),
        PaneKind::Graph if watched_drawing(model).is_some() => {
            let mut found = false;
            graph_pane::change_graph(model, |state, drawing| {
                found = state.find_state(drawing, &words, down, here);
            });
            found
        }
        _ => {
            let Some(body) = view::pane_body(model, pane) else { return };
            let (len, at) = (body.len(), model.panes.state(pane).cursor);
            let from = usize::from(!here);
            let steps = from..len.max(1) + from;
            let row = |step: usize| if down { (at + step) % len } else { (at + len - step % len) % len };
            let found = steps.filter(|_| len > 0).map(row).find(|row| body.row_contains(*row, &words));
            if let Some(row) = found {
                model.panes.state_mut(pane).go_to(row, len);
                model.panes.state_mut(pane).cursor_held = true;
            }
            found.is_some()
        }
    };
    if let Some(search) = &mut model.panes.search {
        search.not_found = !found;
    }
}

fn copy_rows(model: &mut UiModel, pane: PaneKind, whole: bool) -> Vec<UiCommand> {
    let text = match (pane, whole) {
        (PaneKind::Conversation, true) => Some(model.transcript.text()),
        (PaneKind::Conversation, false) => model.transcript.chosen_item().map(TranscriptItem::text),
        (_, true) => view::pane_body(model, pane).map(|body| body.texts(0..body.len())),
        (_, false) => row_text(model, pane),
    };
    let (cmd, said) = clipboard::copy_command(text.unwrap_or_default());
    model.hint = Some(said);
    cmd.into_iter().collect()
}

fn row_text(model: &UiModel, pane: PaneKind) -> Option<String> {
    let state = model.panes.state(pane);
    let body = view::pane_body(model, pane)?;
    if state.mark_start.is_some() {
        return Some(body.texts(state.chosen_rows()));
    }
    let row = state.rows.get(state.cursor).filter(|_| pane == PaneKind::Data);
    if let Some(PaneRowCopy::Data(scope, pointer)) = row.and_then(|row| row.copied.as_ref()) {
        let value = data::value_at(&model.watched_run()?.pane_data.data, scope, pointer)?;
        return Some(data::copy_text(value));
    }
    Some(body.text(state.cursor))
}
