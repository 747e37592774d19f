//! What one agent is shown of its context: projected to its perspective, trimmed by whole groups (§1.2, A41).
//!
//! Recomputed before every model call, never stored. Two views of one agent, one after the other, begin with the
//! same messages as long as nothing is left out, so that providers can cache them.

mod fit;
mod group;
mod project;
pub mod summary;

use crate::domain::message::{ChatMessage, ChatRole};

pub use fit::Overflow;
pub use group::Scene;

use fit::{Fit, fit};
use group::{Group, Said, groups};
use project::{opening, project, speakers};

/// The messages of one request.
#[derive(Debug)]
pub struct View {
    pub messages: Vec<ChatMessage>,
    /// Oldest entries that did not fit.
    pub dropped: usize,
    /// Texts that are shown with their middle left out.
    pub shortened: usize,
}

/// Computes the view of the scene's agent.
///
/// # Errors
/// What must be shown whole is longer than the limit; with `trim: "error"`, the whole view is.
pub fn compute(scene: &Scene<'_>) -> Result<View, Overflow> {
    let said = Said::of(scene.turn);
    let mut groups = groups(scene, &said);
    let fit = fit(&mut groups, scene.context)?;
    let named = speakers(scene.agent, &groups).len() >= 2;
    let mut messages = opening(scene.agent);
    for group in &groups {
        project(group, named, scene.context.tool_visibility, &fit, &mut messages);
    }
    // The role's reminder follows every tool round (TOOL-19).
    let after_tools = scene.turn.entries.last().is_some_and(|part| !part.entry.calls.is_empty());
    let reminder = scene.agent.reminder.as_ref();
    if let Some(reminder) = reminder.filter(|text| after_tools && !text.trim().is_empty()) {
        messages.push(ChatMessage::text(ChatRole::User, reminder.clone()));
    }
    Ok(View { messages, dropped: fit.dropped, shortened: shortened(&fit, &groups) })
}

fn shortened(fit: &Fit, groups: &[Group<'_>]) -> usize {
    let elided = groups.iter().filter(|group| fit.answers.is_some() && group.elidable > 0);
    let calls: usize = elided.map(|group| group.entry.calls.len()).sum();
    calls + fit.cut
}

#[cfg(test)]
mod tests;
