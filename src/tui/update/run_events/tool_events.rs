//! Calls of tools as items of the conversation.

use serde_json::Value;

use crate::model::UiModel;
use crate::text::one_line;
use crate::transcript::item::{ToolFileDiff, ToolItem, ToolStatus, TranscriptItem};
use crate::transcript::tool_input::ToolInput;
use synthdev_domain::ids::{CallId, RunId, Timestamp};

pub(super) fn on_tool_started(
    model: &mut UiModel,
    run: &RunId,
    at: Timestamp,
    call: CallId,
    agent: &str,
    tool: &str,
    arguments: &Value,
) {
    let identity = model.find_run(run).map(|view| view.roster.identity(agent)).unwrap_or_default();
    let change = ToolFileDiff::from_arguments(arguments).map(Box::new);
    let item = TranscriptItem::Tool(ToolItem {
        agent: one_line(agent),
        identity,
        tool: one_line(tool),
        input: ToolInput::from_arguments(arguments, change.is_some()),
        status: ToolStatus::Running,
        started_at: Some(at),
        summary: String::new(),
        content: String::new(),
        took_ms: None,
        change,
    });
    let place = model.add_item(item);
    if let Some(view) = model.run_mut(run) {
        view.tools.insert(call, place);
        view.activity = format!("{} runs {}", one_line(agent), one_line(tool)).trim().to_owned();
    }
}

/// On the line of the call, until the next report or the result.
pub(super) fn show_progress(model: &mut UiModel, run: &RunId, call: CallId, text: &str) {
    let Some(place) = model.find_run(run).and_then(|view| view.tools.get(&call).copied()) else { return };
    model.transcript.edit_item(place, |item| {
        if let TranscriptItem::Tool(tool) = item {
            tool.summary = one_line(text);
        }
    });
}

/// `place`: of the call's item.
pub(super) fn finish_tool_item(
    model: &mut UiModel,
    place: usize,
    ok: bool,
    summary: &str,
    content: &str,
    duration_ms: u64,
) {
    model.transcript.edit_item(place, |item| {
        if let TranscriptItem::Tool(tool) = item {
            tool.finish_call(ok, summary, content, duration_ms);
        }
    });
}
