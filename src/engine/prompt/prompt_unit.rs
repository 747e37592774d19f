//! What a view is made of, before anything is left out: the log with the agent's own asides where they happened and
//! the summary in the place of what it covers, the input, what the visit has brought so far.

use super::sources::PromptSources;
use crate::agent_turn::{AgentTurn, SummaryPart};
use crate::context_index::{ContextIndex, ContextRange, EntryRef, SpanTotals};
use crate::conversation::{ConversationSummary, LiveConversation};
use synthdev_domain::agent::AgentSpec;
use synthdev_domain::context::{AnsweredCall, ContextEntry, ConversationSide, MessageAuthor, ToolVisibility};
use synthdev_domain::message::{ChatRole, OpaqueBlock};

/// Characters that a short text of another's call takes of its arguments and of its answer, at most.
pub(super) const ARGUMENTS: usize = 200;
pub(super) const ANSWER: usize = 400;

/// The input of the visit as entries that live as long as the view is computed.
pub(super) struct TurnInput {
    input: Option<ContextEntry>,
    directive: Option<ContextEntry>,
}

impl TurnInput {
    pub(super) fn from_turn(turn: &AgentTurn) -> Self {
        let spoken = |entry: &ContextEntry| !entry.text.is_empty();
        Self { input: turn.stored_input().filter(spoken), directive: turn.directive().filter(spoken) }
    }
}

/// What is shown or left out as a whole: an entry, a turn with all its answered calls.
pub(super) struct PromptUnit<'a> {
    pub(super) entry: &'a ContextEntry,
    pub(super) own: bool,
    /// Never left out.
    pub(super) keep: bool,
    /// Said to the agent by the workflow: needs no name.
    pub(super) lead: bool,
    /// Stands for what is left out already: the last to be cut, the first to be cut short.
    pub(super) summary: bool,
    /// Where it stands, for what a summary can speak for.
    pub(super) at: Option<(SummaryPart, usize)>,
    /// The agent's reminder stands behind it: it used tools.
    pub(super) reminded: bool,
    /// Characters as shown to this agent.
    pub(super) length: usize,
    /// Characters that only the model's server can read.
    pub(super) sealed: usize,
    /// The part of the readable ones that may lose its middle: answers of tools.
    pub(super) elidable: usize,
    /// The text is cut to this.
    pub(super) room: Option<usize>,
}

impl<'a> PromptUnit<'a> {
    pub(super) fn new(entry: &'a ContextEntry, own: bool, scene: &PromptSources<'_>) -> Self {
        let answers: usize = entry.calls.iter().map(answer_length).sum();
        let reminder = scene.reminder().filter(|_| own && used_tools(entry, scene.agent));
        let (length, elidable) = match scene.context.tool_visibility {
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
        let reminded = reminder.is_some();
        let sealed = if own { sealed_length(entry, scene) } else { 0 };
        let (keep, lead, summary, at, room) = (false, false, false, None, None);
        Self { entry, own, keep, lead, summary, at, reminded, length, sealed, elidable, room }
    }

    /// What it comes to, without its messages.
    pub(super) fn size(&self) -> SpanTotals {
        SpanTotals { groups: 1, length: self.length, sealed: self.sealed, messages: 0 }
    }

    fn kept(self, keep: bool) -> Self {
        Self { keep, ..self }
    }

    /// Speaks to the agent: never its own word.
    fn leading(self) -> Self {
        Self { lead: true, ..self }
    }

    fn at(self, part: SummaryPart, at: usize) -> Self {
        Self { at: Some((part, at)), ..self }
    }

    pub(super) fn summary(summary: &'a ConversationSummary, scene: &PromptSources<'_>) -> Self {
        let group = Self::new(&summary.entry, false, scene);
        Self { summary: true, ..group.kept(true).leading() }
    }
}

/// Whether it ran tools that do something: a decision alone is none.
fn used_tools(entry: &ContextEntry, agent: &AgentSpec) -> bool {
    let decides = |name: &str| agent.parsing_tools.iter().any(|tool| tool.name == name);
    entry.calls.iter().any(|answered| !decides(&answered.call.name))
}

/// Characters that go back to the model's server unread with the calls that they led to.
pub(super) fn sealed_length(entry: &ContextEntry, scene: &PromptSources<'_>) -> usize {
    if entry.calls.is_empty() || !scene.measures() {
        return 0;
    }
    let protocol = scene.agent.choice.protocol;
    entry.sealed.iter().filter(|one| one.is_for(protocol)).map(OpaqueBlock::length).sum()
}

/// What groups come to, without their messages.
pub(super) fn sum(groups: &[PromptUnit<'_>]) -> SpanTotals {
    groups.iter().map(PromptUnit::size).fold(SpanTotals::default(), SpanTotals::plus)
}

pub(super) fn answer_length(call: &AnsweredCall) -> usize {
    call.answer.chars().count()
}

pub(super) fn range<'a>(scene: &PromptSources<'_>, sight: &'a ContextIndex) -> ContextRange<'a> {
    let covered = scene.thread.summary.as_ref().map_or(0, |summary| summary.covers);
    sight.range(covered, scene.context.pin_first)
}

/// The log with the agent's own asides where they happened and the summary in the place of what it covers, all
/// without what may be left out before `from`; then the input, then what the visit has brought so far.
pub(super) fn groups<'a>(
    scene: &PromptSources<'a>,
    said: &'a TurnInput,
    sight: &ContextIndex,
    from: usize,
) -> Vec<PromptUnit<'a>> {
    let LiveConversation { asides, .. } = scene.thread;
    let range = range(scene, sight);
    let mut groups: Vec<PromptUnit<'a>> = Vec::new();
    let mut summary = summary(scene.thread);
    for place in range.shown(from) {
        let Some((spot, shown, entries)) = sight.item(place) else { continue };
        groups.extend(
            summary
                .take_if(|summary| summary.covers <= entries)
                .map(|summary| PromptUnit::summary(summary, scene)),
        );
        groups.extend(match spot {
            EntryRef::Aside(at) => asides.get(at).map(|aside| {
                let group = PromptUnit::new(&aside.entry, shown.own, scene);
                if shown.own { group } else { group.leading() }
            }),
            EntryRef::Log(at) => scene.thread.entry(at).map(|entry| {
                PromptUnit::new(entry, shown.own, scene).kept(range.keeps(place)).at(SummaryPart::Log, at)
            }),
        });
    }
    groups.extend(summary.map(|summary| PromptUnit::summary(summary, scene)));
    groups.extend(visit(scene, said));
    groups
}

/// The summary of a log, where there is a place for it.
pub(super) fn summary(thread: &LiveConversation) -> Option<&ConversationSummary> {
    thread.summary.as_ref().filter(|summary| summary.covers <= thread.length())
}

/// The input, then what the visit has brought so far.
pub(super) fn visit<'a>(scene: &PromptSources<'a>, said: &'a TurnInput) -> Vec<PromptUnit<'a>> {
    let turn = scene.turn;
    let mut groups: Vec<PromptUnit<'a>> = Vec::with_capacity(turn.entries.len() + 3);
    if let Some(entry) = &said.input {
        groups.push(PromptUnit::new(entry, is_own(scene.agent, entry, scene.side_of), scene).kept(true));
    }
    if let Some(entry) = &said.directive {
        groups.push(PromptUnit::new(entry, false, scene).kept(true).leading());
    }
    groups.extend(turn.record.as_ref().map(|record| PromptUnit::summary(record, scene)));
    let covered = turn.record.as_ref().map_or(0, |record| record.covers);
    for (at, part) in turn.entries.iter().enumerate().skip(covered.max(turn.begin)) {
        let group = PromptUnit::new(&part.entry, part.is_own(), scene).at(SummaryPart::Visit, at);
        groups.push(if part.private { group.leading() } else { group });
    }
    groups
}

/// An entry by the agent is its own; for a user seat so is every canonical `user` entry that no other
/// user-seat agent wrote and that was not said to it.
pub(super) fn is_own(
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
