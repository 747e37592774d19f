//! What entries come to in a view: characters and messages.

use super::group::{Group, Scene, is_own};
use super::project::messages;
use crate::domain::context::{Entry, ToolVisibility};
use crate::engine::sight::{Shown, Sight, Size};
use crate::engine::thread::Thread;

/// Brings what is known of the agent's sight up to the present end of its thread.
pub(super) fn look(sight: &mut Sight, scene: &Scene<'_>) {
    let Thread { log, asides, .. } = scene.thread;
    let visibility = scene.context.tool_visibility;
    for at in sight.entries()..=log.entries.len() {
        while let Some(aside) = asides.get(sight.heard()).filter(|aside| aside.at <= at) {
            let own = aside.agent == scene.turn.agent;
            sight.add_aside(own.then(|| shown(&aside.entry, aside.own, visibility)));
        }
        if let Some(entry) = log.entries.get(at) {
            let own = is_own(scene.agent, entry, scene.side_of);
            sight.add_entry(shown(entry, own, visibility), entry.pinned);
        }
    }
}

/// What groups come to.
pub(super) fn size(groups: &[Group<'_>], visibility: ToolVisibility) -> Size {
    let sizes = groups.iter().map(|group| Size {
        groups: 1,
        length: group.length,
        messages: messages(group.entry, group.own, visibility),
    });
    sizes.fold(Size::default(), Size::plus)
}

/// An entry as this agent sees it.
fn shown(entry: &Entry, own: bool, visibility: ToolVisibility) -> Shown {
    let group = Group::new(entry, own, visibility);
    Shown { own, length: group.length, messages: messages(entry, own, visibility) }
}
