//! What one agent is shown of its context: projected to its perspective, trimmed by whole groups (§1.2, A41).
//!
//! Recomputed before every model call, never stored but for where it begins. Two views of one agent, one after the
//! other, begin with the same messages from one trim to the next, so that providers can cache them. At the end of the
//! earlier one stands what is gone with its visit: a directive, words that stay private.

mod begin;
mod bounds;
mod fit;
mod group;
mod measure;
mod project;
mod scene;
pub mod summary;

use crate::domain::message::ChatMessage;

pub use begin::{Begin, Lost, begin, held, lost};
pub use fit::Overflow;
pub use scene::{Scene, WINDOW};

use begin::Window;
use fit::{Fit, fit};
use group::{Group, Said, groups};
use measure::sight;
use project::{opening, opening_messages, project};

use super::sight::Sight;

/// The messages of one request.
#[derive(Debug)]
pub struct View {
    pub messages: Vec<ChatMessage>,
    /// Oldest entries that did not fit.
    pub dropped: usize,
    /// Texts that are shown with their middle left out.
    pub shortened: usize,
}

/// What is told of a view, without its messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outline {
    pub messages: usize,
    pub dropped: usize,
    pub shortened: usize,
}

/// Brings the sight of the scene's agent up to date. It belongs into the thread before the view is computed: a view
/// without it looks at every entry there ever was.
pub fn look(mut sight: Sight, scene: &Scene<'_>) -> Sight {
    measure::look(&mut sight, scene);
    sight
}

/// Computes the view of the scene's agent, from where it begins: see [`begin()`].
///
/// # Errors
/// What must be shown whole is longer than the limit; with `trim: "error"`, the whole view is.
pub fn compute(scene: &Scene<'_>) -> Result<View, Overflow> {
    let said = Said::of(scene.turn);
    let sight = sight(scene);
    let window = Window::of(scene, &said, &sight);
    let mut groups = groups(scene, &said, &sight, sight.begin());
    let fit = fit(&mut groups, scene, window.left_out)?;
    let mut messages = opening(scene);
    for group in &groups {
        project(scene, group, &fit, &mut messages);
    }
    Ok(View { messages, dropped: fit.dropped, shortened: shortened(&fit, &groups) })
}

/// What [`compute`] would tell of the view; mostly without a look at any entry.
///
/// # Errors
/// As there.
pub fn outline(scene: &Scene<'_>) -> Result<Outline, Overflow> {
    let said = Said::of(scene.turn);
    let sight = sight(scene);
    let window = Window::of(scene, &said, &sight);
    if let Some(messages) = window.messages {
        let messages = opening_messages(scene) + messages;
        return Ok(Outline { messages, dropped: window.left_out, shortened: 0 });
    }
    let view = compute(scene)?;
    Ok(Outline { messages: view.messages.len(), dropped: view.dropped, shortened: view.shortened })
}

fn shortened(fit: &Fit, groups: &[Group<'_>]) -> usize {
    let elided = groups.iter().filter(|group| fit.answers.is_some() && group.elidable > 0);
    let calls: usize = elided.map(|group| group.entry.calls.len()).sum();
    calls + fit.cut
}

#[cfg(test)]
mod tests;
