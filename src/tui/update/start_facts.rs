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
    let outdated = TranscriptItem::warning_item(outdated).text();
    let now = match &model.facts.notice {
        Some(notice) => TranscriptItem::warning_item(notice),
        None => TranscriptItem::note_item(&report::start_line(&model.facts)),
    };
    // positions of what follows stay valid: the line is replaced, not taken out
    let at = model.transcript.items().position(|item| item.text() == outdated);
    if let Some(at) = at {
        model.transcript.edit_item(at, |item| *item = now);
    }
}
