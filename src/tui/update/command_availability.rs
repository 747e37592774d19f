//! Which commands can do nothing now, in the list of commands and where lines come and go.

use super::busy;
use crate::model::UiModel;
use crate::slash::availability::{SlashCommandContext, unavailable_reason};

/// Says in the list of commands which of them can do nothing now.
pub fn mark_unavailable(model: &mut UiModel) {
    let now = command_context(model);
    let Some(popup) = &mut model.popup else { return };
    for candidate in &mut popup.candidates {
        let name = candidate.line.strip_prefix('/').filter(|_| candidate.label.starts_with('/'));
        candidate.unavailable_reason = name.and_then(|name| unavailable_reason(name.trim(), now));
    }
}

fn command_context(model: &UiModel) -> SlashCommandContext {
    SlashCommandContext {
        is_busy: busy::is_busy(model),
        run: model.shown_run().is_some(),
        line_mode: model.line_mode,
    }
}
