//! The words for an event as an entry of the conversation.

use serde_json::Value;

use crate::agent_identity::AgentIdentity;
use crate::report::value_text;
use crate::text::{display_width, one_line};
use crate::transcript::item::{BlockBodyStyle, ItemTone, TranscriptBlock, TranscriptItem};
use synthdev_domain::context::MessageAuthor;
use synthdev_service::event_description::{EventDescription, EventKind, EventSeverity};

/// Columns of what is decided that stand beside the title.
const DECISION_LINE: usize = 60;

/// `None`: it has no line of its own, or one that depends on the state of the run.
pub(super) fn event_item(words: &EventDescription<'_>) -> Option<TranscriptItem> {
    let line = || one_line(&words.line());
    Some(match words.kind {
        EventKind::Rewind | EventKind::Nested => TranscriptItem::rule(&line()),
        EventKind::Wait | EventKind::Control => TranscriptItem::note_item(&line()),
        EventKind::Snapshot | EventKind::Data | EventKind::BranchStart => {
            TranscriptItem::detail_item(&line())
        }
        // these texts may have several lines
        EventKind::Log => TranscriptItem::detail_item(&words.line()),
        EventKind::Warning => marked_item(words, &words.line()),
        EventKind::BranchEnd | EventKind::Recovery | EventKind::ToolRefusal => marked_item(words, &line()),
        _ => return None,
    })
}

fn marked_item(words: &EventDescription<'_>, line: &str) -> TranscriptItem {
    let tone = match (words.severity, words.kind) {
        (EventSeverity::Bad, _) => ItemTone::Bad,
        (EventSeverity::Warning, _) => ItemTone::Warning,
        _ => ItemTone::Dim,
    };
    TranscriptItem::line(tone, &format!("{} {line}", words.mark()))
}

/// The card of a decision: beside its title if that is short, else a line for each value.
pub(super) fn decision_card(
    words: &EventDescription<'_>,
    arguments: &Value,
    agent: AgentIdentity,
) -> TranscriptItem {
    let detail = one_line(&words.detail);
    let block = if display_width(&detail) <= DECISION_LINE && !words.detail.contains('\n') {
        TranscriptBlock::new(ItemTone::Plain, &words.line(), "")
    } else {
        TranscriptBlock::new(ItemTone::Plain, &words.title, &decision_lines(arguments))
    };
    TranscriptItem::Block(block.as_card(agent))
}

fn decision_lines(arguments: &Value) -> String {
    let Value::Object(map) = arguments else { return value_text(arguments) };
    let line = |(key, value): (&String, &Value)| {
        let text = value_text(value);
        let gap = if text.contains('\n') { ":\n" } else { " = " };
        format!("{key}{gap}{text}")
    };
    map.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// What the workflow tells one agent alone, who is named beside the author.
pub(super) fn private_card(
    author: &MessageAuthor,
    agent: Option<(&str, AgentIdentity)>,
    text: &str,
) -> TranscriptItem {
    let who = match author {
        MessageAuthor::Agent(name) => name.as_str(),
        MessageAuthor::Human => "you",
        MessageAuthor::Script => "script",
        MessageAuthor::Start | MessageAuthor::Workflow => "workflow",
    };
    let to = agent.map(|(name, _)| format!(" to {name}"));
    let title = format!("{who}{}, privately", to.unwrap_or_default());
    let block = TranscriptBlock::new(ItemTone::Dim, &title, text).style(BlockBodyStyle::Dim);
    TranscriptItem::Block(block.as_card(agent.map(|(_, identity)| identity).unwrap_or_default()))
}
