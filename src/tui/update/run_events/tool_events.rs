//! Calls of tools, and decisions, as items of the conversation.

use crate::model::UiModel;
use crate::report;
use crate::text::one_line;
use crate::transcript::item::{ItemTone, ToolFileDiff, ToolItem, ToolStatus, TranscriptItem};
use synthdev_domain::ids::RunId;
use synthdev_engine::event::RunEvent;

pub(super) fn on_tool_event(model: &mut UiModel, run: &RunId, event: RunEvent) {
    match event {
        RunEvent::ToolStarted { call, agent, tool, arguments } => {
            let item = TranscriptItem::Tool(ToolItem {
                agent: one_line(&agent),
                tool: one_line(&tool),
                arguments: report::arguments_line(&arguments),
                status: ToolStatus::Running,
                summary: String::new(),
                content: String::new(),
                took_ms: None,
                change: ToolFileDiff::from_arguments(&arguments).map(Box::new),
            });
            let place = model.add_item(item);
            if let Some(view) = model.run_mut(run) {
                view.tools.insert(call, place);
                view.activity = format!("{} runs {}", one_line(&agent), one_line(&tool)).trim().to_owned();
            }
        }
        RunEvent::ToolFinished { call, ok, summary, content, duration_ms, .. } => {
            let Some(place) = model.run_mut(run).and_then(|view| view.tools.remove(&call)) else { return };
            model.transcript.edit_item(place, |item| {
                if let TranscriptItem::Tool(tool) = item {
                    tool.finish_call(ok, &summary, &content, duration_ms);
                }
            });
        }
        RunEvent::ToolRefused { agent, tool, reason } => {
            model.add_item(TranscriptItem::line(
                ItemTone::Bad,
                &format!("✗ {tool} refused for {agent}: {reason}"),
            ));
        }
        RunEvent::Decided { agent, tool, arguments } => {
            let text = format!("◆ {agent} decides {tool}: {}", report::decision_text(&arguments));
            model.add_item(TranscriptItem::line(ItemTone::Accent, &text));
        }
        _ => {}
    }
}
