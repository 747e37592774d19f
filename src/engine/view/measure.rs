//! What entries come to in a view: characters and messages.

use std::borrow::Cow;

use super::group::{Group, is_own, sealed_length, sum};
use super::project::messages;
use super::scene::{Scene, around};
use crate::domain::context::Entry;
use crate::engine::sight::{Shown, Sight, Size, Spot};
use crate::engine::thread::Thread;

/// Brings what is known of the agent's sight up to the present end of its thread.
pub(super) fn look(sight: &mut Sight, scene: &Scene<'_>) {
    if sight.around().is_none() && scene.agent.choice.context_size.is_some() {
        sight.stands_among(around(scene));
    }
    let protocol = scene.agent.choice.protocol;
    if scene.counts_anew() && !sight.counts_for(protocol) {
        sight.count_for(protocol, |spot| sealed(spot, scene));
    }
    let Thread { asides, .. } = scene.thread;
    for at in sight.entries()..=scene.thread.length() {
        while let Some(aside) = asides.get(sight.heard()).filter(|aside| aside.at <= at) {
            let own = aside.agent == scene.turn.agent;
            sight.add_aside(own.then(|| shown(&aside.entry, aside.own, scene)));
        }
        if let Some(entry) = scene.thread.entry(at) {
            let own = is_own(scene.agent, entry, scene.side_of);
            sight.add_entry(shown(entry, own, scene), entry.pinned);
        }
    }
}

/// What the thread knows already, if it is of now.
pub(super) fn sight<'a>(scene: &Scene<'a>) -> Cow<'a, Sight> {
    let thread = scene.thread;
    let known = thread.sights.get(&scene.turn.agent);
    let present = |sight: &&Sight| {
        let whole = sight.entries() == thread.length() && sight.heard() == thread.asides.len();
        whole && (!scene.counts_anew() || sight.counts_for(scene.agent.choice.protocol))
    };
    known.filter(present).map_or_else(|| Cow::Owned(anew(scene)), Cow::Borrowed)
}

/// Found by a look at everything.
fn anew(scene: &Scene<'_>) -> Sight {
    let mut sight = Sight::default();
    look(&mut sight, scene);
    sight
}

/// Of one of the agent's own items that a view may show.
fn sealed(spot: Spot, scene: &Scene<'_>) -> usize {
    let entry = match spot {
        Spot::Log(at) => scene.thread.entry(at),
        Spot::Aside(at) => scene.thread.asides.get(at).map(|aside| &aside.entry),
    };
    entry.map_or(0, |entry| sealed_length(entry, scene))
}

/// What groups come to.
pub(super) fn size(groups: &[Group<'_>], scene: &Scene<'_>) -> Size {
    let messages = groups.iter().map(|group| messages(group, scene.context.tool_visibility)).sum();
    Size { messages, ..sum(groups) }
}

/// An entry as this agent sees it.
fn shown(entry: &Entry, own: bool, scene: &Scene<'_>) -> Shown {
    let group = Group::new(entry, own, scene);
    Shown {
        own,
        length: group.length,
        sealed: group.sealed,
        messages: messages(&group, scene.context.tool_visibility),
    }
}
