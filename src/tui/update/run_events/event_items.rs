//! The words for an event as an entry of the conversation.

use crate::text::one_line;
use crate::transcript::item::{ItemTone, TranscriptItem};
use synthdev_service::event_description::{EventDescription, EventKind, EventSeverity};

/// `None`: it has no line of its own, or one that depends on the state of the run.
pub(super) fn event_item(words: &EventDescription<'_>) -> Option<TranscriptItem> {
    let line = || one_line(&words.line());
    Some(match words.kind {
        EventKind::Rewind | EventKind::Nested => TranscriptItem::rule(&line()),
        // what it does not cover is told
        EventKind::Snapshot if !words.detail.is_empty() => TranscriptItem::note_item(&line()),
        EventKind::Wait | EventKind::Control => TranscriptItem::note_item(&line()),
        EventKind::Snapshot | EventKind::Data | EventKind::BranchStart => {
            TranscriptItem::detail_item(&line())
        }
        // these texts may have several lines
        EventKind::Log => TranscriptItem::detail_item(&words.line()),
        EventKind::Warning => marked_item(words, &words.line()),
        EventKind::BranchEnd | EventKind::Recovery | EventKind::ToolRefusal | EventKind::Decision => {
            marked_item(words, &line())
        }
        _ => return None,
    })
}

fn marked_item(words: &EventDescription<'_>, line: &str) -> TranscriptItem {
    let tone = match (words.severity, words.kind) {
        (EventSeverity::Bad, _) => ItemTone::Bad,
        (EventSeverity::Warning, _) => ItemTone::Warning,
        (_, EventKind::Decision) => ItemTone::Accent,
        _ => ItemTone::Dim,
    };
    TranscriptItem::line(tone, &format!("{} {line}", words.mark()))
}
