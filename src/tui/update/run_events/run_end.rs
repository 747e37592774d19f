//! The end of a run or of a turn: what is still open is closed, the result and the way back are shown.

use std::collections::VecDeque;

use serde_json::Value;

use super::super::{unread_input, withdrawn_dialog};
use crate::dialog::QuestionDialog;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::report;
use crate::text::{clean_text, format_dollars, format_thousands};
use crate::transcript::TranscriptList;
use crate::transcript::item::{BlockBodyStyle, ItemTone, ToolStatus, TranscriptBlock, TranscriptItem};
use synthdev_domain::ids::{CallId, RunId, SnapshotId};
use synthdev_domain::journal::RunStatus;
use synthdev_domain::run_error::RunError;

/// States that the last line shows of a long path: it has room for about six, and its steps stand above.
const SHOWN_FIRST: usize = 3;
const SHOWN_LAST: usize = 3;

/// Marks a reply that will get no more text.
pub fn interrupt_reply(model: &mut UiModel, run: &RunId, call: CallId) {
    let Some(view) = model.run_mut(run) else { return };
    view.speakers.remove(&call);
    view.summarizing_calls.remove(&call);
    view.retry.remove(&call);
    if let Some(at) = view.replies.remove(&call) {
        mark_interrupted(model, at);
    }
}

/// The model was stopped. In a conversation no other line says so if it had not written any text.
pub fn stop_reply(model: &mut UiModel, run: &RunId, call: CallId) {
    let Some(view) = model.run_mut(run) else { return };
    let is_silent = view.chat && !view.replies.contains_key(&call) && !view.summarizing_calls.contains(&call);
    let speaker = view.speakers.get(&call).filter(|_| is_silent).map(|speaker| speaker.agent.clone());
    interrupt_reply(model, run, call);
    if let Some(agent) = speaker {
        model.add_item(TranscriptItem::line(ItemTone::Warning, &format!("{agent} — interrupted")));
    }
}

/// Marks a tool that will not answer any more.
pub fn interrupt_tool(model: &mut UiModel, at: usize) {
    model.transcript.edit_item(at, |item| {
        if let TranscriptItem::Tool(tool) = item {
            tool.status = ToolStatus::Stopped;
        }
    });
}

/// Everything that still grows was cut off.
pub fn close_open(model: &mut UiModel, run: &RunId) {
    let Some(view) = model.run_mut(run) else { return };
    let replies: Vec<usize> = view.replies.drain().map(|(_, at)| at).collect();
    let tools: Vec<usize> = view.tools.drain().map(|(_, at)| at).collect();
    view.speakers.clear();
    view.summarizing_calls.clear();
    view.retry.clear();
    view.branches.clear();
    view.snapshot_facts.progress_forms.clear();
    let stopped = view.is_cancelling || view.is_interrupting;
    (view.is_cancelling, view.is_interrupting) = (false, false);
    for at in replies {
        mark_interrupted(model, at);
    }
    tools.into_iter().for_each(|at| interrupt_tool(model, at));
    let asks = |dialog: &QuestionDialog| dialog.run_id() == Some(run);
    if stopped || model.dialogs.iter().any(asks) {
        // "stopping …" and "it waits" are over; a hint about another run is not
        model.hint = None;
    }
    withdrawn_dialog::remove_dialogs(model, asks);
}

pub fn on_run_finished(
    model: &mut UiModel,
    run: &RunId,
    status: RunStatus,
    output: Option<Value>,
    error: Option<RunError>,
    path: Vec<String>,
    snapshot: Option<SnapshotId>,
) -> Vec<UiCommand> {
    // a run that only paused still has its branches when it continues
    let branches = model.run_mut(run).map(|view| view.branches.clone()).unwrap_or_default();
    close_open(model, run);
    let now = model.now;
    let Some(view) = model.run_mut(run) else { return Vec::new() };
    let elapsed = view.elapsed_ms(now);
    let stands = status == RunStatus::Paused || status == RunStatus::Failed && view.question_left_open;
    if matches!(status, RunStatus::Paused | RunStatus::Failed) {
        view.branches = branches;
    }
    view.worked_ms = elapsed.unwrap_or(view.worked_ms);
    (view.is_over, view.is_paused) = (true, stands);
    view.stopped_at.clear();
    let was_pausing = std::mem::take(&mut view.is_pause_requested) && status == RunStatus::Completed;
    view.awaiting_text = None;
    view.activity.clear();
    view.busy_since = None;
    if !path.is_empty() {
        view.path = path;
    }
    let chat = view.chat;
    // messages that wait for a paused run are read when it is resumed, and only then
    let kept = stands && !chat;
    let outbox = if kept { VecDeque::new() } else { std::mem::take(&mut view.outbox) };
    view.withdrawals.clear();
    let took = elapsed.and(view.times.describe_until(now)).map(|time| format!(" in {time}"));
    let is_cut = status != RunStatus::Completed;
    let snapshot = snapshot.filter(|_| view.snapshot_facts.may_have_changed_files(is_cut));
    let output = output.filter(|value| !was_said_last(&model.transcript, value));
    let Some(view) = model.find_run(run) else { return Vec::new() };
    let item = end_item(view, status, stands, output, error, snapshot, &took.unwrap_or_default());
    // A conversation that was left says nothing.
    if !chat || status == RunStatus::Failed {
        model.add_item(item);
    }
    if was_pausing {
        model.add_item(TranscriptItem::note_item("it was not paused: only the end came after /pause"));
    }
    for slot in [&mut model.chat, &mut model.workflow] {
        if slot.as_ref() == Some(run) {
            *slot = None;
        }
    }
    if !chat {
        model.finished_run = Some(run.clone());
    }
    if !chat && model.workflow.is_none() {
        // another running one becomes the front run
        model.workflow = model.live_runs().last().map(|other| other.id.clone());
    }
    if stands && !chat {
        model.last_left_run = Some(run.clone());
    } else if model.last_left_run.as_ref() == Some(run) {
        model.last_left_run = None;
    }
    if !chat && !outbox.is_empty() {
        unread_input::report_unread(model, run);
    }
    model.queued.extend(outbox);
    unread_input::return_to_input(model);
    Vec::new()
}

/// Entries among which the last answer is looked for: a loop of scripts may come after it.
const ANSWER_WITHIN: usize = 40;

/// The result is what an agent said last: it stands there already.
fn was_said_last(transcript: &TranscriptList, output: &Value) -> bool {
    let text = match output {
        Value::String(text) => text,
        // the one value of a result
        Value::Object(map) if map.len() == 1 => {
            let Some(Value::String(text)) = map.values().next() else { return false };
            text
        }
        _ => return false,
    };
    let text = clean_text(text.trim());
    let mut last = transcript.items().rev().take(ANSWER_WITHIN);
    let said = last.find_map(|item| match item {
        TranscriptItem::Reply(reply) => Some(reply.text.trim()),
        _ => None,
    });
    !text.is_empty() && said == Some(&*text)
}

fn end_item(
    view: &crate::run_view::RunView,
    status: RunStatus,
    stands: bool,
    output: Option<Value>,
    error: Option<RunError>,
    snapshot: Option<SnapshotId>,
    took: &str,
) -> TranscriptItem {
    let usage = view.ledger.usage();
    let good = status == RunStatus::Completed;
    let title = match (good, stands) {
        (true, _) => format!("✓ {} {}{took}", view.workflow, status.as_str()),
        // the words of every list
        (false, true) => {
            let mark = if status == RunStatus::Paused { '‖' } else { '✗' };
            format!("{mark} {} {} in {}{took}", view.workflow, status.as_str(), view.state)
        }
        (false, false) => format!("✗ {} {}{took}", view.workflow, status.as_str()),
    };
    let mut body = output.as_ref().map(report::value_text).unwrap_or_default();
    let mut hint = None;
    if let Some(error) = error {
        let place = error.place.as_ref().map(|place| format!("at {place}\n")).unwrap_or_default();
        let whole = [error.title.as_str(), "\n", &place, &error.detail].concat();
        body = [body, whole].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
        hint = error.hint.as_deref().map(report::adapt_hint).filter(|_| !stands);
    }
    let tone = match status {
        RunStatus::Completed => ItemTone::Good,
        RunStatus::Failed => ItemTone::Bad,
        _ => ItemTone::Warning,
    };
    let style = if good { BlockBodyStyle::Markdown } else { BlockBodyStyle::Plain };
    let mut block = TranscriptBlock::new(tone, &title, &body).style(style);
    if stands {
        block = block.with_footer("→ nothing is lost: /resume continues it, now or in a later session");
    }
    if let Some(hint) = hint {
        block = block.with_footer(format!("→ {hint}"));
    }
    block = block.with_footer(format!(
        "{} · {} tokens · {}",
        shown_path(&view.path),
        format_thousands(usage.total()),
        format_dollars(view.ledger.cost_usd())
    ));
    if let Some(place) = &view.worktree_note {
        block = block.with_footer(place.clone());
    } else if snapshot.is_some() {
        let gaps = view.snapshot_facts.uncovered_text();
        // the short form means the newest run only
        block = block.with_footer(format!("undo: /undo · later: /undo {}{gaps}", view.id));
    }
    TranscriptItem::Block(block)
}

/// The way a run took; of a long one the beginning and the end.
fn shown_path(path: &[String]) -> String {
    let (from, to) = (SHOWN_FIRST, path.len().saturating_sub(SHOWN_LAST));
    match path.get(from..to).map(<[String]>::len) {
        None | Some(0 | 1) => path.join(" → "),
        Some(hidden) => {
            format!("{} → … {hidden} more → {}", path[..from].join(" → "), path[to..].join(" → "))
        }
    }
}

fn mark_interrupted(model: &mut UiModel, at: usize) {
    model.transcript.interrupt_reply(at);
}
