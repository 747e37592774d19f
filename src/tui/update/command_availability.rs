//! Which commands can do nothing now, in the list of commands and where lines come and go.

use super::busy;
use crate::model::UiModel;
use crate::slash::availability::{SlashCommandContext, blocked};

/// Says in the list of commands which of them can do nothing now.
pub fn explain(model: &mut UiModel) {
    let now = situation(model);
    let Some(popup) = &mut model.popup else { return };
    for candidate in &mut popup.candidates {
        let name = candidate.line.strip_prefix('/').filter(|_| candidate.label.starts_with('/'));
        candidate.blocked = name.and_then(|name| blocked(name.trim(), now));
    }
}

fn situation(model: &UiModel) -> SlashCommandContext {
    SlashCommandContext { busy: busy::is_busy(model), run: model.shown_run().is_some(), linear: model.linear }
}
