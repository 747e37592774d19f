//! What entries come to in a view: characters and messages.

use std::borrow::Cow;

use super::prompt_unit::{PromptUnit, is_own_entry, sealed_length, sum_units};
use super::render::projected_count;
use super::sources::{PromptSources, overhead_chars};
use crate::context_index::{ContextIndex, EntryMetrics, EntryRef, SpanTotals};
use crate::conversation::LiveConversation;
use synthdev_domain::context::ContextEntry;

/// Extends the agent's context index to the present end of its conversation.
pub(super) fn extend_index(sight: &mut ContextIndex, scene: &PromptSources<'_>) {
    if sight.overhead_chars().is_none() && scene.agent.choice.context_size.is_some() {
        sight.set_overhead(overhead_chars(scene));
    }
    let protocol = scene.agent.choice.protocol;
    if scene.recounts_reasoning() && !sight.is_measured_for(protocol) {
        sight.remeasure_for(protocol, |spot| reasoning_chars(spot, scene));
    }
    let LiveConversation { private_messages: asides, .. } = scene.conversation;
    for at in sight.entries()..=scene.conversation.length() {
        while let Some(aside) = asides.get(sight.private_count()).filter(|aside| aside.log_position <= at) {
            let own = aside.agent == scene.agent_turn.agent;
            sight.add_private(own.then(|| entry_metrics(&aside.entry, aside.is_own, scene)));
        }
        if let Some(entry) = scene.conversation.entry(at) {
            let own = is_own_entry(scene.agent, entry, scene.side_of);
            sight.add_entry(entry_metrics(entry, own, scene), entry.pinned);
        }
    }
}

/// What the thread knows already, if it is of now.
pub(super) fn current_index<'a>(scene: &PromptSources<'a>) -> Cow<'a, ContextIndex> {
    let thread = scene.conversation;
    let known = thread.context_indexes.get(&scene.agent_turn.agent);
    let present = |sight: &&ContextIndex| {
        let whole =
            sight.entries() == thread.length() && sight.private_count() == thread.private_messages.len();
        whole && (!scene.recounts_reasoning() || sight.is_measured_for(scene.agent.choice.protocol))
    };
    known.filter(present).map_or_else(|| Cow::Owned(build_index(scene)), Cow::Borrowed)
}

/// Found by a look at everything.
fn build_index(scene: &PromptSources<'_>) -> ContextIndex {
    let mut sight = ContextIndex::default();
    extend_index(&mut sight, scene);
    sight
}

/// Of one of the agent's own items that a view may show.
fn reasoning_chars(spot: EntryRef, scene: &PromptSources<'_>) -> usize {
    let entry = match spot {
        EntryRef::Log(at) => scene.conversation.entry(at),
        EntryRef::Aside(at) => scene.conversation.private_messages.get(at).map(|aside| &aside.entry),
    };
    entry.map_or(0, |entry| sealed_length(entry, scene))
}

/// What groups come to.
pub(super) fn units_size(groups: &[PromptUnit<'_>], scene: &PromptSources<'_>) -> SpanTotals {
    let messages = groups.iter().map(|group| projected_count(group, scene.context.tool_visibility)).sum();
    SpanTotals { messages, ..sum_units(groups) }
}

/// An entry as this agent sees it.
fn entry_metrics(entry: &ContextEntry, own: bool, scene: &PromptSources<'_>) -> EntryMetrics {
    let group = PromptUnit::new(entry, own, scene);
    EntryMetrics {
        is_own: own,
        length: group.length,
        reasoning_chars: group.reasoning_chars,
        messages: projected_count(&group, scene.context.tool_visibility),
    }
}
