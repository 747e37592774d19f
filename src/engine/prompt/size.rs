//! What entries come to in a view: characters and messages.

use std::borrow::Cow;

use super::prompt_unit::{PromptUnit, is_own, sealed_length, sum};
use super::render::messages;
use super::sources::{PromptSources, around};
use crate::context_index::{ContextIndex, EntryMetrics, EntryRef, SpanTotals};
use crate::conversation::LiveConversation;
use synthdev_domain::context::ContextEntry;

/// Brings what is known of the agent's sight up to the present end of its thread.
pub(super) fn extend_index(sight: &mut ContextIndex, scene: &PromptSources<'_>) {
    if sight.around().is_none() && scene.agent.choice.context_size.is_some() {
        sight.set_overhead(around(scene));
    }
    let protocol = scene.agent.choice.protocol;
    if scene.counts_anew() && !sight.counts_for(protocol) {
        sight.count_for(protocol, |spot| sealed(spot, scene));
    }
    let LiveConversation { asides, .. } = scene.thread;
    for at in sight.entries()..=scene.thread.length() {
        while let Some(aside) = asides.get(sight.private_count()).filter(|aside| aside.at <= at) {
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
pub(super) fn sight<'a>(scene: &PromptSources<'a>) -> Cow<'a, ContextIndex> {
    let thread = scene.thread;
    let known = thread.sights.get(&scene.turn.agent);
    let present = |sight: &&ContextIndex| {
        let whole = sight.entries() == thread.length() && sight.private_count() == thread.asides.len();
        whole && (!scene.counts_anew() || sight.counts_for(scene.agent.choice.protocol))
    };
    known.filter(present).map_or_else(|| Cow::Owned(anew(scene)), Cow::Borrowed)
}

/// Found by a look at everything.
fn anew(scene: &PromptSources<'_>) -> ContextIndex {
    let mut sight = ContextIndex::default();
    extend_index(&mut sight, scene);
    sight
}

/// Of one of the agent's own items that a view may show.
fn sealed(spot: EntryRef, scene: &PromptSources<'_>) -> usize {
    let entry = match spot {
        EntryRef::Log(at) => scene.thread.entry(at),
        EntryRef::Aside(at) => scene.thread.asides.get(at).map(|aside| &aside.entry),
    };
    entry.map_or(0, |entry| sealed_length(entry, scene))
}

/// What groups come to.
pub(super) fn size(groups: &[PromptUnit<'_>], scene: &PromptSources<'_>) -> SpanTotals {
    let messages = groups.iter().map(|group| messages(group, scene.context.tool_visibility)).sum();
    SpanTotals { messages, ..sum(groups) }
}

/// An entry as this agent sees it.
fn shown(entry: &ContextEntry, own: bool, scene: &PromptSources<'_>) -> EntryMetrics {
    let group = PromptUnit::new(entry, own, scene);
    EntryMetrics {
        own,
        length: group.length,
        sealed: group.sealed,
        messages: messages(&group, scene.context.tool_visibility),
    }
}
