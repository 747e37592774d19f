//! What entries come to in a view: characters and messages.

use super::group::{Group, Scene, is_own};
use super::project::messages;
use super::window;
use crate::domain::context::Entry;
use crate::engine::sight::{Shown, Sight, Size};
use crate::engine::thread::Thread;

/// Brings what is known of the agent's sight up to the present end of its thread.
pub(super) fn look(sight: &mut Sight, scene: &Scene<'_>) {
    if sight.around().is_none() && scene.agent.choice.context_size.is_some() {
        sight.stands_among(window::around(scene));
    }
    let Thread { log, asides, .. } = scene.thread;
    for at in sight.entries()..=log.entries.len() {
        while let Some(aside) = asides.get(sight.heard()).filter(|aside| aside.at <= at) {
            let own = aside.agent == scene.turn.agent;
            sight.add_aside(own.then(|| shown(&aside.entry, aside.own, scene)));
        }
        if let Some(entry) = log.entries.get(at) {
            let own = is_own(scene.agent, entry, scene.side_of);
            sight.add_entry(shown(entry, own, scene), entry.pinned);
        }
    }
}

/// What groups come to.
pub(super) fn size(groups: &[Group<'_>], scene: &Scene<'_>) -> Size {
    let sizes = groups.iter().map(|group| Size {
        groups: 1,
        length: group.length,
        messages: messages(group, scene.context.tool_visibility),
    });
    sizes.fold(Size::default(), Size::plus)
}

/// An entry as this agent sees it.
fn shown(entry: &Entry, own: bool, scene: &Scene<'_>) -> Shown {
    let group = Group::new(entry, own, scene);
    Shown { own, length: group.length, messages: messages(&group, scene.context.tool_visibility) }
}
