//! Builds the prompt of one agent: its context as this agent sees it, trimmed by whole prompt units (`PromptUnit`).
//!
//! Recomputed before every model call; only the start position is stored. Between two trims, consecutive prompts of one
//! agent begin with the same messages, so that providers can cache them. What belongs to one visit only, such as a
//! directive or a private message, comes at the end of a prompt and is gone from the next.

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

use prompt_unit::{PromptUnit, TurnInput, log_units};
use render::{opening_messages, project_entry, prompt_and_examples};
use size::current_index;
use truncate::{TruncationPlan, fit_units};
use window::PromptWindow;

use super::context_index::ContextIndex;

/// The messages of one request.
#[derive(Debug)]
pub struct PromptMessages {
    pub messages: Vec<ChatMessage>,
    /// Oldest entries that did not fit.
    pub dropped: usize,
    /// Texts that are shown with their middle left out.
    pub shortened_count: usize,
}

/// Counts of a prompt, without its messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PromptOutline {
    pub messages: usize,
    pub dropped: usize,
    pub shortened_count: usize,
}

/// Brings the context index of the agent up to date. The caller stores it in the conversation before the prompt is
/// computed: without it, the computation reads every entry.
pub fn update_index(mut context_index: ContextIndex, sources: &PromptSources<'_>) -> ContextIndex {
    size::extend_index(&mut context_index, sources);
    context_index
}

/// Computes the agent's prompt, from its start position: see `window`.
///
/// # Errors
/// What must be shown whole is longer than the limit; with `trim: "error"`, the whole prompt is.
pub fn build_messages(sources: &PromptSources<'_>) -> Result<PromptMessages, ContextOverflow> {
    let said = TurnInput::from_turn(sources.agent_turn);
    let context_index = current_index(sources);
    let window = PromptWindow::measure_window(sources, &said, &context_index);
    let mut groups = log_units(sources, &said, &context_index, context_index.start());
    let fit = fit_units(&mut groups, sources, window.left_out_count)?;
    let mut messages = prompt_and_examples(sources);
    for group in &groups {
        project_entry(sources, group, &fit, &mut messages);
    }
    Ok(PromptMessages { messages, dropped: fit.dropped, shortened_count: shortened_count(&fit, &groups) })
}

/// The outline of what [`build_messages`] would return; mostly without reading any entry.
///
/// # Errors
/// As there.
pub fn outline_messages(sources: &PromptSources<'_>) -> Result<PromptOutline, ContextOverflow> {
    let said = TurnInput::from_turn(sources.agent_turn);
    let context_index = current_index(sources);
    let window = PromptWindow::measure_window(sources, &said, &context_index);
    if let Some(messages) = window.messages {
        let messages = opening_messages(sources) + messages;
        return Ok(PromptOutline { messages, dropped: window.left_out_count, shortened_count: 0 });
    }
    let view = build_messages(sources)?;
    Ok(PromptOutline {
        messages: view.messages.len(),
        dropped: view.dropped,
        shortened_count: view.shortened_count,
    })
}

fn shortened_count(fit: &TruncationPlan, groups: &[PromptUnit<'_>]) -> usize {
    let elided = groups.iter().filter(|group| fit.answers.is_some() && group.elidable_chars > 0);
    let calls: usize = elided.map(|group| group.entry.calls.len()).sum();
    calls + fit.cut_count
}

#[cfg(test)]
mod tests;
