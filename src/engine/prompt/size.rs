//! What entries come to in a prompt: characters and messages.

use std::borrow::Cow;

use super::prompt_unit::{PromptUnit, is_own_entry, sealed_length, sum_units};
use super::render::projected_count;
use super::sources::{PromptSources, overhead_chars};
use crate::context_index::{ContextIndex, EntryMetrics, EntryRef, SpanTotals};
use crate::conversation::LiveConversation;
use synthdev_domain::context::ContextEntry;

/// Extends the agent's context index to the present end of its conversation.
pub(super) fn extend_index(context_index: &mut ContextIndex, sources: &PromptSources<'_>) {
    if context_index.overhead_chars().is_none() && sources.agent.choice.context_size.is_some() {
        context_index.set_overhead(overhead_chars(sources));
    }
    let protocol = sources.agent.choice.protocol;
    if sources.recounts_reasoning() && !context_index.is_measured_for(protocol) {
        context_index.remeasure_for(protocol, |spot| reasoning_chars(spot, sources));
    }
    let LiveConversation { private_messages: asides, .. } = sources.conversation;
    for at in context_index.entries()..=sources.conversation.length() {
        while let Some(aside) =
            asides.get(context_index.private_count()).filter(|aside| aside.log_position <= at)
        {
            let own = aside.agent == sources.agent_turn.agent;
            context_index.add_private(own.then(|| entry_metrics(&aside.entry, aside.is_own, sources)));
        }
        if let Some(entry) = sources.conversation.entry(at) {
            let own = is_own_entry(sources.agent, entry, sources.side_of);
            context_index.add_entry(entry_metrics(entry, own, sources), entry.pinned);
        }
    }
}

/// What the thread knows already, if it is of now.
pub(super) fn current_index<'a>(sources: &PromptSources<'a>) -> Cow<'a, ContextIndex> {
    let conversation = sources.conversation;
    let known = conversation.context_indexes.get(&sources.agent_turn.agent);
    let present = |context_index: &&ContextIndex| {
        let whole = context_index.entries() == conversation.length()
            && context_index.private_count() == conversation.private_messages.len();
        whole
            && (!sources.recounts_reasoning() || context_index.is_measured_for(sources.agent.choice.protocol))
    };
    known.filter(present).map_or_else(|| Cow::Owned(build_index(sources)), Cow::Borrowed)
}

/// Found by a look at everything.
fn build_index(sources: &PromptSources<'_>) -> ContextIndex {
    let mut context_index = ContextIndex::default();
    extend_index(&mut context_index, sources);
    context_index
}

/// Of one of the agent's own items that a prompt may show.
fn reasoning_chars(spot: EntryRef, sources: &PromptSources<'_>) -> usize {
    let entry = match spot {
        EntryRef::Log(at) => sources.conversation.entry(at),
        EntryRef::Aside(at) => sources.conversation.private_messages.get(at).map(|aside| &aside.entry),
    };
    entry.map_or(0, |entry| sealed_length(entry, sources))
}

/// The totals of prompt units.
pub(super) fn units_size(groups: &[PromptUnit<'_>], sources: &PromptSources<'_>) -> SpanTotals {
    let messages = groups.iter().map(|group| projected_count(group, sources.context.tool_visibility)).sum();
    SpanTotals { messages, ..sum_units(groups) }
}

/// An entry as this agent sees it.
fn entry_metrics(entry: &ContextEntry, own: bool, sources: &PromptSources<'_>) -> EntryMetrics {
    let group = PromptUnit::new(entry, own, sources);
    EntryMetrics {
        is_own: own,
        length: group.length,
        reasoning_chars: group.reasoning_chars,
        messages: projected_count(&group, sources.context.tool_visibility),
    }
}
