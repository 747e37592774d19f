//! Calls of tools as items of the conversation.

use serde_json::Value;

use crate::model::UiModel;
use crate::report;
use crate::text::one_line;
use crate::transcript::item::{ToolFileDiff, ToolItem, ToolStatus, TranscriptItem};
use synthdev_domain::ids::{CallId, RunId};

pub(super) fn on_tool_started(
    model: &mut UiModel,
    run: &RunId,
    call: CallId,
    agent: &str,
    tool: &str,
    arguments: &Value,
) {
    let item = TranscriptItem::Tool(ToolItem {
        agent: one_line(agent),
        tool: one_line(tool),
        arguments: report::arguments_line(arguments),
        status: ToolStatus::Running,
        summary: String::new(),
        content: String::new(),
        took_ms: None,
        change: ToolFileDiff::from_arguments(arguments).map(Box::new),
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
