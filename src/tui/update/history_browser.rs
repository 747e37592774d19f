//! The history: what keys, time and answers do to it.
//!
//! Refuses: reading anything itself, and changing a run without the same checks as the slash commands.

use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use super::key_press::KeyPress;
use crate::editor::prompt_guard::{PromptChoice, PromptKeyGuard};
use crate::history_browser::run_comparison::{RunComparison, RunComparisonView};
use crate::history_browser::{
    HistoryBrowser, HistoryPrompt, HistoryRequest, HistoryResponse, HistoryRunPage, HistoryText,
    HistoryTextView, HistoryWaitKind, RunDetails, RunGraphFacts,
};
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::pane::graph::WHEEL_COLUMNS;
use crate::transcript::item::{ItemTone, TranscriptBlock, TranscriptItem};
use synthdev_domain::ids::{CallId, RunId, Timestamp};
use synthdev_service::session::{ActionPreview, RunRequest, RunResponse, TimeTravelOutcome};

mod acting_keys;
mod clicks;
mod cursor;
mod key_list;
mod keys;
mod prompt_keys;
mod requests;
mod run_actions;

pub(super) use key_list::key_list;
use requests::{next_query_number, query_command};

/// `/history`, and its key.
pub fn open_browser(model: &mut UiModel) -> Vec<UiCommand> {
    model.popup = None;
    let counted = model.last_key.unwrap_or_default();
    model.history_browser =
        Some(Box::new(HistoryBrowser { count_requested_at: counted, ..HistoryBrowser::default() }));
    model.panes.focus_input();
    let mut cmds = request_next_page(model);
    cmds.extend(change_count_command(model));
    cmds
}

/// One call of a run on screen, over everything else; Esc closes it.
pub fn open_call_page(model: &mut UiModel, run: RunId, call: CallId) -> Vec<UiCommand> {
    open_single_page(model, HistoryRequest::Call { run, call }, "reading the call")
}

/// The same with a step of a run.
pub fn open_step_page(model: &mut UiModel, run: RunId, step: u32) -> Vec<UiCommand> {
    open_single_page(model, HistoryRequest::Step { run, step }, &format!("reading step {step}"))
}

fn open_single_page(model: &mut UiModel, asked: HistoryRequest, about: &str) -> Vec<UiCommand> {
    model.popup = None;
    model.history_browser =
        Some(Box::new(HistoryBrowser { is_single_page: true, ..HistoryBrowser::default() }));
    requests::wait_for(model, asked, about)
}

/// A key while the history is in front.
pub fn on_key(model: &mut UiModel, press: KeyPress) -> Vec<UiCommand> {
    if press.is_control('l') {
        model.needs_repaint = true;
        return Vec::new();
    }
    if press.is_control('c') {
        (model.history_browser, model.last_interrupt) = (None, Some(press.at));
        model.hint = Some("left the history · Ctrl+C again leaves".to_owned());
        return Vec::new();
    }
    let mut cmds = keys::on_key(model, press);
    cmds.extend(request_next_page(model));
    cmds.extend(poll_changes(model, press.at));
    cmds
}

/// A paste goes into the open text field.
pub fn on_paste(model: &mut UiModel, text: &str) -> Vec<UiCommand> {
    let line: String = text.lines().next().unwrap_or_default().chars().filter(|c| !c.is_control()).collect();
    if let Some(archive) = &mut model.history_browser {
        keys::insert_text(archive, &line);
    }
    request_next_page(model)
}

/// The wheel scrolls the topmost view; a click chooses a row or a state, on the chosen one it opens it.
pub fn on_mouse(model: &mut UiModel, event: MouseEvent) -> Vec<UiCommand> {
    /// Rows that one step of the wheel moves.
    const WHEEL: usize = 3;
    let Some(archive) = &mut model.history_browser else { return Vec::new() };
    let mut cmds = Vec::new();
    match event.kind {
        MouseEventKind::ScrollUp => cursor::scroll_rows(archive, WHEEL, false),
        MouseEventKind::ScrollDown => cursor::scroll_rows(archive, WHEEL, true),
        MouseEventKind::ScrollLeft | MouseEventKind::ScrollRight => {
            let right = event.kind == MouseEventKind::ScrollRight;
            if let Some(graph) = archive.front_graph() {
                graph.change_view(|state, drawing| {
                    state.scroll_columns(WHEEL_COLUMNS, right, drawing.size());
                });
            }
        }
        // what was dragged over is copied, and comes not here
        MouseEventKind::Up(MouseButton::Left) => cmds = clicks::on_click(model, event.column, event.row),
        _ => return Vec::new(),
    }
    cmds.extend(request_next_page(model));
    cmds
}

/// Once a second while work is in progress: checks for writes to the history.
pub fn on_tick(model: &mut UiModel) -> Vec<UiCommand> {
    change_count_command(model).into_iter().collect()
}

/// The history has changed.
pub fn on_store_change(model: &mut UiModel) -> Vec<UiCommand> {
    let mut cmds = on_tick(model);
    // the change counter of the opening is not known yet
    if let Some(archive) = model.history_browser.as_mut().filter(|archive| archive.seen_changes.is_none()) {
        archive.list.is_stale = true;
        cmds.extend(request_next_page(model));
        cmds.extend(reread_open_run(model));
    }
    cmds
}

/// A reply; one that was cancelled is dropped.
pub fn on_response(model: &mut UiModel, number: u64, told: HistoryResponse) -> Vec<UiCommand> {
    let Some(archive) = &mut model.history_browser else { return Vec::new() };
    let awaited = archive.waits_for(&HistoryWaitKind::Answer(number));
    match told {
        HistoryResponse::Page(result) => {
            let now = on_page_loaded(archive, number, result);
            model.now = model.now.max(now);
        }
        HistoryResponse::Changes(count) => return on_store_changed(model, count),
        HistoryResponse::Opened(result) => {
            let has_changed = on_run_opened(archive, number, result);
            let mut cmds: Vec<UiCommand> =
                if has_changed { reread_graph(model).into_iter().collect() } else { Vec::new() };
            // the history has changed while it was read
            let again = |archive: &HistoryBrowser| archive.run.as_ref().is_some_and(|run| run.is_outdated);
            if model.history_browser.as_deref().is_some_and(again) {
                cmds.extend(reread_open_run(model));
            }
            cmds.extend(request_next_page(model));
            return cmds;
        }
        HistoryResponse::Trend(trend) => archive.trends.add(number, trend),
        HistoryResponse::Compared(result) if awaited => show_comparison(archive, result),
        HistoryResponse::Data(result) => archive.show_fork_data(number, result),
        HistoryResponse::Graph(result) => {
            if awaited {
                show_graph(archive, result);
            } else {
                update_graph(archive, number, result);
            }
            let mut cmds: Vec<UiCommand> = refresh_outdated_graph(model).into_iter().collect();
            cmds.extend(request_next_page(model));
            return cmds;
        }
        HistoryResponse::Text(result) if awaited => show_page(archive, result),
        HistoryResponse::Done(result) if awaited => {
            archive.pending_wait = None;
            match result {
                Ok(text) => {
                    archive.close_typed_line();
                    archive.status_note = Some((ItemTone::Good, text));
                    // the run may have changed
                    archive.list.is_stale = true;
                    let mut cmds: Vec<UiCommand> = reread_open_run(model).into_iter().collect();
                    cmds.extend(request_next_page(model));
                    return cmds;
                }
                Err(why) => archive.show_error(&why),
            }
        }
        // the answer to whatever was asked was broken off
        HistoryResponse::Text(Err(why)) => {
            archive.count_requested = false;
            archive.trends.add(number, None);
            on_page_loaded(archive, number, Err(why.clone()));
            update_graph(archive, number, Err(why.clone()));
            on_run_opened(archive, number, Err(why));
        }
        HistoryResponse::Text(Ok(_)) | HistoryResponse::Done(_) | HistoryResponse::Compared(_) => {}
    }
    request_next_page(model)
}

fn show_comparison(archive: &mut HistoryBrowser, result: Result<Box<RunComparison>, String>) {
    archive.pending_wait = None;
    match result {
        Ok(both) => archive.comparison = Some(Box::new(RunComparisonView::new(*both))),
        Err(why) => archive.show_error(&why),
    }
}

fn show_graph(archive: &mut HistoryBrowser, result: Result<Box<RunGraphFacts>, String>) {
    archive.pending_wait = None;
    match (result, &mut archive.run) {
        (Ok(facts), Some(run)) => run.show_graph(*facts),
        (Ok(_), None) => {}
        (Err(why), _) => archive.show_error(&why),
    }
}

/// The graph on screen was read again. One that cannot be read stays as it was: the run itself says why.
fn update_graph(archive: &mut HistoryBrowser, number: u64, result: Result<Box<RunGraphFacts>, String>) {
    let Some(run) = archive.run.as_mut().filter(|run| run.pending_graph == Some(number)) else { return };
    run.pending_graph = None;
    if let Ok(facts) = result
        && run.graph.is_some()
    {
        run.show_graph(*facts);
    }
}

fn show_page(archive: &mut HistoryBrowser, result: Result<HistoryText, String>) {
    archive.pending_wait = None;
    match result {
        Ok(text) => archive.page = Some(Box::new(HistoryTextView::new(text))),
        Err(why) => archive.show_error(&why),
    }
}

/// A response about a rewind or fork, if the history waits for it; else it is returned.
pub(super) fn take_time_travel_response(model: &mut UiModel, response: RunResponse) -> Option<RunResponse> {
    let Some(archive) = &mut model.history_browser else { return Some(response) };
    let wait = archive.pending_wait.as_ref().map(|wait| &wait.wait_kind);
    match (response, wait) {
        (
            RunResponse::Planned { action: RunRequest::Plan(travel), preview },
            Some(HistoryWaitKind::Plan(asked)),
        ) if travel == *asked => {
            on_travel_planned(archive, preview);
        }
        (RunResponse::Travelled(Err(why)), Some(HistoryWaitKind::Travel)) => {
            archive.pending_wait = None;
            archive.show_error(&why);
        }
        // the conversation shows it, too
        (RunResponse::Travelled(Ok(done)), Some(HistoryWaitKind::Travel)) => {
            on_travelled(model, &done);
            return Some(RunResponse::Travelled(Ok(done)));
        }
        (response, _) => return Some(response),
    }
    None
}

/// A run comes on the screen: the history, if it waits for one, closes.
pub(super) fn close_for_opening(model: &mut UiModel) {
    let waits = |archive: &HistoryBrowser| {
        let wait = archive.pending_wait.as_ref().map(|wait| &wait.wait_kind);
        matches!(wait, Some(HistoryWaitKind::TakeUp(_)))
    };
    if model.history_browser.as_deref().is_some_and(waits) {
        model.history_browser = None;
    }
}

/// All of a run was read, or cannot be: whether the history had asked for this run, and shows the error.
pub(super) fn finish_opening(model: &mut UiModel, run: &str, error: Option<&String>) -> bool {
    let Some(why) = error else {
        close_for_opening(model);
        return false;
    };
    let asked = |archive: &&mut Box<HistoryBrowser>| archive.waits_for(&HistoryWaitKind::TakeUp(run.into()));
    let Some(archive) = model.history_browser.as_mut().filter(asked) else { return false };
    archive.pending_wait = None;
    archive.show_error(why);
    true
}

fn on_travel_planned(archive: &mut HistoryBrowser, plan: Result<ActionPreview, String>) {
    archive.pending_wait = None;
    match plan {
        Ok(ActionPreview { title, body, request: Some(RunRequest::Travel(travel)) }) => {
            let items = vec![TranscriptItem::Block(TranscriptBlock::new(ItemTone::Plain, "", &body))];
            archive.page =
                Some(Box::new(HistoryTextView::new(HistoryText { title, items, ..HistoryText::default() })));
            let (choice, guard) = (PromptChoice::None, PromptKeyGuard::default());
            archive.question = Some(HistoryPrompt::Agree { travel, choice, guard });
        }
        Ok(ActionPreview { body, .. }) => archive.show_note(&body),
        Err(why) => archive.show_error(&why),
    }
}

fn on_travelled(model: &mut UiModel, done: &TimeTravelOutcome) {
    let Some(archive) = &mut model.history_browser else { return };
    archive.pending_wait = None;
    archive.close_typed_line();
    let mut block = TranscriptBlock::new(ItemTone::Good, "Done", &done.text);
    if let Some(run) = &done.resumable_run {
        block = block.with_footer(format!("Enter, /resume or its line in the list goes on with {run}"));
    }
    let items = vec![TranscriptItem::Block(block)];
    let text = HistoryText { title: "done".to_owned(), items, ..HistoryText::default() };
    let resumable_run = done.resumable_run.clone();
    archive.page = Some(Box::new(HistoryTextView { resumable_run, ..HistoryTextView::new(text) }));
    archive.list.is_stale = true;
}

/// Requests the next page of the list if it is needed: one at a time.
fn request_next_page(model: &mut UiModel) -> Vec<UiCommand> {
    close_empty_page(model);
    if model.history_browser.as_ref().is_some_and(|archive| archive.is_single_page) {
        return Vec::new();
    }
    let mut cmds: Vec<UiCommand> = request_trend(model).into_iter().collect();
    let Some(after) = model.history_browser.as_mut().and_then(|archive| archive.list.next_page_cursor())
    else {
        return cmds;
    };
    let number = next_query_number(model);
    let Some(archive) = &mut model.history_browser else { return cmds };
    let filter = archive.list.filter.clone();
    archive.list.pending_page = Some((number, filter.clone(), after.is_none()));
    cmds.push(query_command(number, HistoryRequest::Page { filter, after_cursor: after }));
    cmds
}

/// Requests the last runs of the chosen run's workflow, while the list shows them and they are not known.
fn request_trend(model: &mut UiModel) -> Option<UiCommand> {
    let archive = model.history_browser.as_ref().filter(|archive| archive.run.is_none())?;
    let workflow = archive.list.chosen_run()?.workflow.clone();
    if !archive.trends.needs(&workflow) {
        return None;
    }
    let number = next_query_number(model);
    let archive = model.history_browser.as_mut()?;
    archive.trends.pending = Some((number, workflow.clone()));
    Some(query_command(number, HistoryRequest::Trend { workflow }))
}

/// A single page that is closed, or that never came, leaves nothing in front; why it did not come is a hint then.
fn close_empty_page(model: &mut UiModel) {
    let is_empty = |archive: &HistoryBrowser| archive.page.is_none() && archive.pending_wait.is_none();
    let Some(archive) = model.history_browser.take_if(|archive| archive.is_single_page && is_empty(archive))
    else {
        return;
    };
    if let Some((ItemTone::Bad, why)) = archive.status_note {
        model.hint = Some(why);
    }
}

/// While nothing works there is no timer that checks for runs elsewhere: a key does, but not each of many in a row.
fn poll_changes(model: &mut UiModel, at: Timestamp) -> Option<UiCommand> {
    const APART_MS: i64 = 5_000;
    let idle = !model.needs_ticks();
    let archive = model.history_browser.as_mut().filter(|archive| idle && archive.pending_wait.is_none())?;
    if at.0.saturating_sub(archive.count_requested_at.0) < APART_MS {
        return None;
    }
    archive.count_requested_at = at;
    change_count_command(model)
}

fn change_count_command(model: &mut UiModel) -> Option<UiCommand> {
    let wanted = |archive: &&HistoryBrowser| !archive.count_requested && !archive.is_single_page;
    model.history_browser.as_deref().filter(wanted)?;
    let number = next_query_number(model);
    model.history_browser.as_mut()?.count_requested = true;
    Some(query_command(number, HistoryRequest::Changes))
}

fn on_store_changed(model: &mut UiModel, count: Option<u64>) -> Vec<UiCommand> {
    let Some(archive) = &mut model.history_browser else { return Vec::new() };
    archive.count_requested = false;
    let before = std::mem::replace(&mut archive.seen_changes, count);
    if count.is_none() || before == count || before.is_none() {
        // a long run whose turn has not come yet
        let waits = archive.run.as_ref().is_some_and(|run| run.is_outdated);
        return if waits { reread_open_run(model).into_iter().collect() } else { Vec::new() };
    }
    archive.list.is_stale = true;
    archive.trends.mark_outdated();
    let mut cmds = request_next_page(model);
    cmds.extend(reread_open_run(model));
    cmds
}

/// Reads the open run again, if no such request is pending; it stays on screen meanwhile.
fn reread_open_run(model: &mut UiModel) -> Option<UiCommand> {
    /// A longer one is not read every second.
    const LONG: usize = 2_000;
    const APART_MS: i64 = 10_000;
    let now = model.now;
    let open = model.history_browser.as_mut()?.run.as_mut()?;
    let early = open.steps().len() > LONG && now.0.saturating_sub(open.read_at.0) < APART_MS;
    open.is_outdated = early || open.pending_query.is_some();
    if open.is_outdated {
        return None;
    }
    open.read_at = now;
    let (run, known) = (open.row.id.clone(), Some((open.row.updated, open.row.status)));
    let number = next_query_number(model);
    model.history_browser.as_mut()?.run.as_mut()?.pending_query = Some(number);
    Some(query_command(number, HistoryRequest::Open { run, known_state: known }))
}

/// The run has changed, and so has its graph, if that is on screen. A graph that is being read may be older than the
/// change: it is read again after its answer.
fn reread_graph(model: &mut UiModel) -> Option<UiCommand> {
    let open = model.history_browser.as_mut()?.run.as_mut()?;
    open.is_graph_outdated = open.graph.is_none() || open.pending_graph.is_some();
    if open.is_graph_outdated {
        return None;
    }
    let run = open.row.id.clone();
    let number = next_query_number(model);
    model.history_browser.as_mut()?.run.as_mut()?.pending_graph = Some(number);
    Some(query_command(number, HistoryRequest::Graph { run }))
}

/// Reads the graph on screen again if the run has changed since it was asked for.
fn refresh_outdated_graph(model: &mut UiModel) -> Option<UiCommand> {
    let open = model.history_browser.as_ref()?.run.as_ref()?;
    if open.graph.is_some() && open.is_graph_outdated { reread_graph(model) } else { None }
}

fn on_page_loaded(
    archive: &mut HistoryBrowser,
    number: u64,
    result: Result<HistoryRunPage, String>,
) -> Timestamp {
    if archive.list.pending_page.as_ref().is_none_or(|(asked, ..)| *asked != number) {
        return Timestamp(0);
    }
    match result {
        Ok(HistoryRunPage { rows, has_more: more, at }) => {
            archive.list.add_page(rows, more);
            at
        }
        Err(why) => {
            archive.list.on_page_failed(why);
            Timestamp(0)
        }
    }
}

/// Whether the run is another one than was shown.
fn on_run_opened(
    archive: &mut HistoryBrowser,
    number: u64,
    result: Result<Option<Box<RunDetails>>, String>,
) -> bool {
    let Some(run) = archive.run.as_mut().filter(|run| run.pending_query == Some(number)) else {
        return false;
    };
    match result {
        Ok(Some(look)) => {
            run.set_details(*look);
            return true;
        }
        Ok(None) => run.pending_query = None,
        Err(why) => {
            run.pending_query = None;
            if run.details.is_none() {
                archive.run = None;
            }
            archive.show_error(&why);
        }
    }
    false
}
