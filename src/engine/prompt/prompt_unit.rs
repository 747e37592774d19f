//! The units of a prompt, before any is left out: the log with the agent's private messages where they happened and the
//! summary in the place of what it covers, the input, what the visit has brought so far.

use super::sources::PromptSources;
use crate::agent_turn::{AgentTurn, SummaryPart};
use crate::context_index::{ContextIndex, ContextRange, EntryRef, SpanTotals};
use crate::conversation::{ConversationSummary, LiveConversation};
use synthdev_domain::agent::AgentSpec;
use synthdev_domain::context::{
    AnsweredCall, CHARACTERS_A_TOKEN, ContextEntry, ConversationSide, MessageAuthor, ToolVisibility,
};
use synthdev_domain::image_reference::image_tokens;
use synthdev_domain::message::{ChatRole, OpaqueBlock};

/// Characters that a short text of another's call takes of its arguments and of its answer, at most.
pub(super) const ARGUMENTS: usize = 200;
pub(super) const ANSWER: usize = 400;

/// The input of the visit as entries that live as long as the prompt is computed.
pub(super) struct TurnInput {
    input: Option<ContextEntry>,
    directive: Option<ContextEntry>,
}

impl TurnInput {
    pub(super) fn from_turn(turn: &AgentTurn) -> Self {
        let spoken = |entry: &ContextEntry| !entry.text.is_empty();
        Self { input: turn.stored_input().filter(spoken), directive: turn.directive_entry().filter(spoken) }
    }
}

/// A part of a prompt that is kept or dropped as a whole: an entry, or a turn with all its calls and their results.
pub(super) struct PromptUnit<'a> {
    pub(super) entry: &'a ContextEntry,
    pub(super) is_own: bool,
    /// Never left out.
    pub(super) is_pinned: bool,
    /// A message of the workflow to the agent: needs no name.
    pub(super) is_directive: bool,
    /// Replaces entries that were left out: the last to be cut, the first to be shortened.
    pub(super) summary: bool,
    /// Its position, to look up whether a summary covers it.
    pub(super) summary_position: Option<(SummaryPart, usize)>,
    /// The agent's reminder follows it, because it used tools.
    pub(super) has_reminder: bool,
    /// Characters as shown to this agent.
    pub(super) length: usize,
    /// Characters of opaque reasoning blocks.
    pub(super) reasoning_chars: usize,
    /// The part of the readable ones that may lose its middle: answers of tools.
    pub(super) elidable_chars: usize,
    /// The text is cut to this.
    pub(super) max_chars: Option<usize>,
}

impl<'a> PromptUnit<'a> {
    pub(super) fn new(entry: &'a ContextEntry, own: bool, sources: &PromptSources<'_>) -> Self {
        let answers: usize = entry.calls.iter().map(answer_length).sum();
        let reminder = sources.reminder_text().filter(|_| own && used_tools(entry, sources.agent));
        let (length, elidable) = match sources.context.tool_visibility {
            _ if own => {
                let reminder = reminder.map_or(0, |text| text.chars().count());
                (entry.length() + reminder, answers)
            }
            ToolVisibility::Full => (entry.length(), answers),
            ToolVisibility::Summary => {
                (entry.text.chars().count() + entry.calls.iter().map(called_length).sum::<usize>(), 0)
            }
            ToolVisibility::None => (entry.text.chars().count(), 0),
        };
        let length = length + image_chars(entry, sources);
        let reminded = reminder.is_some();
        let sealed = if own { sealed_length(entry, sources) } else { 0 };
        let (keep, lead, summary, at, room) = (false, false, false, None, None);
        Self {
            entry,
            is_own: own,
            is_pinned: keep,
            is_directive: lead,
            summary,
            summary_position: at,
            has_reminder: reminded,
            length,
            reasoning_chars: sealed,
            elidable_chars: elidable,
            max_chars: room,
        }
    }

    /// What it comes to, without its messages.
    pub(super) fn size(&self) -> SpanTotals {
        SpanTotals { groups: 1, length: self.length, reasoning_chars: self.reasoning_chars, messages: 0 }
    }

    fn pinned_if(self, keep: bool) -> Self {
        Self { is_pinned: keep, ..self }
    }

    /// Addressed to the agent: never its own message.
    fn into_directive(self) -> Self {
        Self { is_directive: true, ..self }
    }

    fn at_summary_part(self, part: SummaryPart, at: usize) -> Self {
        Self { summary_position: Some((part, at)), ..self }
    }

    pub(super) fn summary(summary: &'a ConversationSummary, sources: &PromptSources<'_>) -> Self {
        let group = Self::new(&summary.entry, false, sources);
        Self { summary: true, ..group.pinned_if(true).into_directive() }
    }
}

/// What the images of an entry come to, in characters, for a model that takes images.
fn image_chars(entry: &ContextEntry, sources: &PromptSources<'_>) -> usize {
    if !sources.agent.choice.images {
        return 0;
    }
    let answers = entry.calls.iter().map(|call| image_tokens(&call.answer));
    let tokens = image_tokens(&entry.text) + answers.sum::<u64>();
    usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(CHARACTERS_A_TOKEN)
}

/// Whether it ran tools that do something: a decision alone is none.
fn used_tools(entry: &ContextEntry, agent: &AgentSpec) -> bool {
    let decides = |name: &str| agent.parsing_tools.iter().any(|tool| tool.name == name);
    entry.calls.iter().any(|answered| !decides(&answered.call.name))
}

/// Characters that are sent back to the model's server, unread, with the calls that they led to.
pub(super) fn sealed_length(entry: &ContextEntry, sources: &PromptSources<'_>) -> usize {
    if entry.calls.is_empty() || !sources.measures_everything() {
        return 0;
    }
    let protocol = sources.agent.choice.protocol;
    entry.sealed.iter().filter(|one| one.is_for(protocol)).map(OpaqueBlock::length).sum()
}

/// The totals of prompt units, without their messages.
pub(super) fn sum_units(groups: &[PromptUnit<'_>]) -> SpanTotals {
    groups.iter().map(PromptUnit::size).fold(SpanTotals::default(), SpanTotals::sum_with)
}

pub(super) fn answer_length(call: &AnsweredCall) -> usize {
    call.answer.chars().count()
}

pub(super) fn context_range<'a>(
    sources: &PromptSources<'_>,
    context_index: &'a ContextIndex,
) -> ContextRange<'a> {
    let covered = sources.conversation.summary.as_ref().map_or(0, |summary| summary.covered_count);
    context_index.range(covered, sources.context.pin_first)
}

/// The log with the agent's own private messages where they happened and the summary in the place of what it covers, all
/// without what may be left out before `from`; then the input, then what the visit has brought so far.
pub(super) fn log_units<'a>(
    sources: &PromptSources<'a>,
    said: &'a TurnInput,
    context_index: &ContextIndex,
    from: usize,
) -> Vec<PromptUnit<'a>> {
    let LiveConversation { private_messages: asides, .. } = sources.conversation;
    let range = context_range(sources, context_index);
    let mut groups: Vec<PromptUnit<'a>> = Vec::new();
    let mut summary = placed_summary(sources.conversation);
    for place in range.shown_items(from) {
        let Some((spot, shown, entries)) = context_index.item(place) else { continue };
        groups.extend(
            summary
                .take_if(|summary| summary.covered_count <= entries)
                .map(|summary| PromptUnit::summary(summary, sources)),
        );
        groups.extend(match spot {
            EntryRef::Aside(at) => asides.get(at).map(|aside| {
                let group = PromptUnit::new(&aside.entry, shown.is_own, sources);
                if shown.is_own { group } else { group.into_directive() }
            }),
            EntryRef::Log(at) => sources.conversation.entry(at).map(|entry| {
                PromptUnit::new(entry, shown.is_own, sources)
                    .pinned_if(range.is_pinned(place))
                    .at_summary_part(SummaryPart::Log, at)
            }),
        });
    }
    groups.extend(summary.map(|summary| PromptUnit::summary(summary, sources)));
    groups.extend(turn_units(sources, said));
    groups
}

/// The summary of a log, where there is a place for it.
pub(super) fn placed_summary(conversation: &LiveConversation) -> Option<&ConversationSummary> {
    conversation.summary.as_ref().filter(|summary| summary.covered_count <= conversation.length())
}

/// The input, then what the visit has brought so far.
pub(super) fn turn_units<'a>(sources: &PromptSources<'a>, said: &'a TurnInput) -> Vec<PromptUnit<'a>> {
    let turn = sources.agent_turn;
    let mut groups: Vec<PromptUnit<'a>> = Vec::with_capacity(turn.entries.len() + 3);
    if let Some(entry) = &said.input {
        groups.push(
            PromptUnit::new(entry, is_own_entry(sources.agent, entry, sources.side_of), sources)
                .pinned_if(true),
        );
    }
    if let Some(entry) = &said.directive {
        groups.push(PromptUnit::new(entry, false, sources).pinned_if(true).into_directive());
    }
    groups.extend(turn.record.as_ref().map(|record| PromptUnit::summary(record, sources)));
    let covered = turn.record.as_ref().map_or(0, |record| record.covered_count);
    for (at, part) in turn.entries.iter().enumerate().skip(covered.max(turn.window_start)) {
        let group =
            PromptUnit::new(&part.entry, part.is_own(), sources).at_summary_part(SummaryPart::Visit, at);
        groups.push(if part.private { group.into_directive() } else { group });
    }
    groups
}

/// An entry by the agent is its own; for a user seat so is every canonical `user` entry that no other user-seat agent
/// wrote and that was not addressed to it.
pub(super) fn is_own_entry(
    agent: &AgentSpec,
    entry: &ContextEntry,
    side_of: &dyn Fn(&str) -> Option<ConversationSide>,
) -> bool {
    if entry.to.as_ref().is_some_and(|to| *to == agent.id) {
        return false;
    }
    match &entry.author {
        MessageAuthor::Agent(id) if *id == agent.id => true,
        MessageAuthor::Agent(id) => {
            agent.side == ConversationSide::User
                && entry.role == ChatRole::User
                && side_of(id) != Some(ConversationSide::User)
        }
        MessageAuthor::Start | MessageAuthor::Workflow | MessageAuthor::Human | MessageAuthor::Script => {
            match agent.side {
                ConversationSide::User => entry.role == ChatRole::User,
                ConversationSide::Assistant => entry.role == ChatRole::Assistant,
            }
        }
    }
}

/// Characters that a short text takes of a call.
fn called_length(call: &AnsweredCall) -> usize {
    call.call.arguments.chars().count().min(ARGUMENTS) + answer_length(call).min(ANSWER)
}
