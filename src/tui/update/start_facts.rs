//! What a session begins with: role, model and tools, and a warning where something is missing. A warning that no longer
//! holds leaves the screen.

use crate::model::UiModel;
use crate::report;
use crate::transcript::item::TranscriptItem;
use synthdev_service::session::StatusFacts;

pub fn say_start_facts(model: &mut UiModel) {
    model.start_facts_wait = false;
    let line = report::start_line(&model.facts);
    model.add_item(TranscriptItem::note_item(&line));
    if let Some(notice) = model.facts.notice.clone() {
        model.add_item(TranscriptItem::warning_item(&notice));
    }
}

/// The facts differ from `before`: replaces the outdated warning by the current facts.
pub fn renew_start_facts(model: &mut UiModel, before: &StatusFacts) {
    if model.start_facts_wait {
        return say_start_facts(model);
    }
    let Some(outdated) = before.notice.as_ref().filter(|_| before.notice != model.facts.notice) else {
        return;
    };
    let outdated = TranscriptItem::warning_item(outdated);
    let facts = TranscriptItem::note_item(&report::start_line(&model.facts));
    let now = match model.facts.notice.clone() {
        Some(notice) => TranscriptItem::warning_item(&notice),
        // the facts above it say the rest
        None if replace_item(model, &TranscriptItem::note_item(&report::start_line(before)), &facts) => {
            TranscriptItem::note_item(READY)
        }
        None => facts,
    };
    replace_item(model, &outdated, &now);
}

/// The start line says what holds now. What was printed in line mode stays.
pub fn renew_start_line(model: &mut UiModel, before: &StatusFacts) {
    if !model.line_mode {
        let now = TranscriptItem::note_item(&report::start_line(&model.facts));
        replace_item(model, &TranscriptItem::note_item(&report::start_line(before)), &now);
    }
}

/// What stands in place of a warning that no longer holds.
const READY: &str = "ready: type what is to be done";

/// Whether the item was there. Positions of what follows stay valid: it is replaced, not taken out.
fn replace_item(model: &mut UiModel, outdated: &TranscriptItem, now: &TranscriptItem) -> bool {
    let outdated = outdated.text();
    let at = model.transcript.items().position(|item| item.text() == outdated);
    if let Some(at) = at {
        model.transcript.edit_item(at, |item| item.clone_from(now));
    }
    at.is_some()
}
