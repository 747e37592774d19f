//! What one agent is shown of its context: projected to its perspective, trimmed by whole groups.
//!
//! Recomputed before every model call, never stored but for where it begins. Two views of one agent, one after the
//! other, begin with the same messages from one trim to the next, so that providers can cache them. At the end of the
//! earlier one stands what is gone with its visit: a directive, words that stay private.

mod limits;
mod prompt_unit;
mod render;
mod size;
mod sources;
pub mod summary;
mod truncate;
mod window;

use synthdev_domain::message::ChatMessage;

pub use sources::{PromptSources, WINDOW};
pub use truncate::ContextOverflow;
pub use window::{DroppedEntries, WindowStart, current_start, dropped_between, required_start};

use prompt_unit::{PromptUnit, TurnInput, groups};
use render::{opening, opening_messages, project};
use size::sight;
use truncate::{TruncationPlan, fit};
use window::PromptWindow;

use super::context_index::ContextIndex;

/// The messages of one request.
#[derive(Debug)]
pub struct PromptMessages {
    pub messages: Vec<ChatMessage>,
    /// Oldest entries that did not fit.
    pub dropped: usize,
    /// Texts that are shown with their middle left out.
    pub shortened: usize,
}

/// What is told of a view, without its messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PromptOutline {
    pub messages: usize,
    pub dropped: usize,
    pub shortened: usize,
}

/// Brings the sight of the scene's agent up to date. It belongs into the thread before the view is computed: a view
/// without it looks at every entry there ever was.
pub fn update_index(mut sight: ContextIndex, scene: &PromptSources<'_>) -> ContextIndex {
    size::extend_index(&mut sight, scene);
    sight
}

/// Computes the view of the scene's agent, from where it begins: see [`begin()`].
///
/// # Errors
/// What must be shown whole is longer than the limit; with `trim: "error"`, the whole view is.
pub fn build_messages(scene: &PromptSources<'_>) -> Result<PromptMessages, ContextOverflow> {
    let said = TurnInput::from_turn(scene.turn);
    let sight = sight(scene);
    let window = PromptWindow::measure(scene, &said, &sight);
    let mut groups = groups(scene, &said, &sight, sight.begin());
    let fit = fit(&mut groups, scene, window.left_out)?;
    let mut messages = opening(scene);
    for group in &groups {
        project(scene, group, &fit, &mut messages);
    }
    Ok(PromptMessages { messages, dropped: fit.dropped, shortened: shortened(&fit, &groups) })
}

/// What [`compute`] would tell of the view; mostly without a look at any entry.
///
/// # Errors
/// As there.
pub fn outline(scene: &PromptSources<'_>) -> Result<PromptOutline, ContextOverflow> {
    let said = TurnInput::from_turn(scene.turn);
    let sight = sight(scene);
    let window = PromptWindow::measure(scene, &said, &sight);
    if let Some(messages) = window.messages {
        let messages = opening_messages(scene) + messages;
        return Ok(PromptOutline { messages, dropped: window.left_out, shortened: 0 });
    }
    let view = build_messages(scene)?;
    Ok(PromptOutline { messages: view.messages.len(), dropped: view.dropped, shortened: view.shortened })
}

fn shortened(fit: &TruncationPlan, groups: &[PromptUnit<'_>]) -> usize {
    let elided = groups.iter().filter(|group| fit.answers.is_some() && group.elidable > 0);
    let calls: usize = elided.map(|group| group.entry.calls.len()).sum();
    calls + fit.cut
}

#[cfg(test)]
mod tests;
