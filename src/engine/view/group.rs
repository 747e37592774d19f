//! What a view is made of, before anything is left out: the log with the agent's own asides where they happened and
//! the summary in the place of what it covers, the input, what the visit has brought so far.

use crate::domain::agent::AgentSpec;
use crate::domain::context::{AnsweredCall, Author, ContextSpec, Entry, Side, ToolVisibility};
use crate::domain::message::ChatRole;
use crate::engine::thread::{Summary, Thread};
use crate::engine::turn::{Part, Turn};

/// Characters that a short text of another's call takes of its arguments and of its answer, at most.
pub(super) const ARGUMENTS: usize = 200;
pub(super) const ANSWER: usize = 400;

/// Everything that a view is made of.
pub struct Scene<'a> {
    pub agent: &'a AgentSpec,
    pub context: &'a ContextSpec,
    pub thread: &'a Thread,
    pub turn: &'a Turn,
    /// The seat of another agent, by id.
    pub side_of: &'a dyn Fn(&str) -> Option<Side>,
}

/// The input of the visit as entries that live as long as the view is computed.
pub(super) struct Said {
    input: Option<Entry>,
    directive: Option<Entry>,
}

impl Said {
    pub(super) fn of(turn: &Turn) -> Self {
        let spoken = |entry: &Entry| !entry.text.is_empty();
        Self { input: turn.stored_input().filter(spoken), directive: turn.directive().filter(spoken) }
    }
}

/// What is shown or left out as a whole: an entry, a turn with all its answered calls (A41).
pub(super) struct Group<'a> {
    pub(super) entry: &'a Entry,
    pub(super) own: bool,
    /// Never left out.
    pub(super) keep: bool,
    /// Said to the agent by the workflow: needs no name.
    pub(super) lead: bool,
    /// Stands for what is left out already: the last to be cut, the first to be cut short.
    pub(super) summary: bool,
    /// Where it stands, for what a summary can speak for.
    pub(super) at: Option<(Part, usize)>,
    /// Characters as shown to this agent.
    pub(super) length: usize,
    /// The part of them that may lose its middle: answers of tools.
    pub(super) elidable: usize,
    /// The text is cut to this.
    pub(super) room: Option<usize>,
}

impl<'a> Group<'a> {
    fn new(entry: &'a Entry, own: bool, visibility: ToolVisibility) -> Self {
        let answers: usize = entry.calls.iter().map(answer_length).sum();
        let (length, elidable) = match visibility {
            _ if own => (entry.length(), answers),
            ToolVisibility::Full => (entry.length(), answers),
            ToolVisibility::Summary => {
                (entry.text.chars().count() + entry.calls.iter().map(called_length).sum::<usize>(), 0)
            }
            ToolVisibility::None => (entry.text.chars().count(), 0),
        };
        Self { entry, own, keep: false, lead: false, summary: false, at: None, length, elidable, room: None }
    }

    fn kept(self, keep: bool) -> Self {
        Self { keep, ..self }
    }

    /// Speaks to the agent: never its own word.
    fn leading(self) -> Self {
        Self { lead: true, ..self }
    }

    fn at(self, part: Part, at: usize) -> Self {
        Self { at: Some((part, at)), ..self }
    }

    fn summary(summary: &'a Summary) -> Self {
        let group = Self::new(&summary.entry, false, ToolVisibility::None);
        Self { summary: true, ..group.kept(true).leading() }
    }
}

pub(super) fn answer_length(call: &AnsweredCall) -> usize {
    call.answer.chars().count()
}

/// The log with the agent's own asides where they happened and the summary in the place of what it covers;
/// then the input, then what the visit has brought so far.
pub(super) fn groups<'a>(scene: &Scene<'a>, said: &'a Said) -> Vec<Group<'a>> {
    let visibility = scene.context.tool_visibility;
    let entries = &scene.thread.log.entries;
    let turn = scene.turn;
    let mut asides = scene.thread.asides.iter().filter(|aside| aside.agent == turn.agent).peekable();
    let mut groups: Vec<Group<'a>> = Vec::with_capacity(entries.len() + turn.entries.len() + 2);
    let summary = scene.thread.summary.as_ref();
    let covered = summary.map_or(0, |summary| summary.covers);
    let kept = kept(entries, scene.context.pin_first);
    for at in 0..=entries.len() {
        if let Some(summary) = summary.filter(|summary| summary.covers == at) {
            groups.push(Group::summary(summary));
        }
        while let Some(aside) = asides.next_if(|aside| aside.at <= at) {
            let group = Group::new(&aside.entry, aside.own, visibility);
            groups.push(if aside.own { group } else { group.leading() });
        }
        let keep = kept.get(at).copied().unwrap_or_default();
        let Some(entry) = entries.get(at).filter(|_| at >= covered || keep) else { continue };
        let own = is_own(scene.agent, entry, scene.side_of);
        groups.push(Group::new(entry, own, visibility).kept(keep).at(Part::Log, at));
    }
    if let Some(entry) = &said.input {
        groups.push(Group::new(entry, is_own(scene.agent, entry, scene.side_of), visibility).kept(true));
    }
    if let Some(entry) = &said.directive {
        groups.push(Group::new(entry, false, visibility).kept(true).leading());
    }
    groups.extend(turn.record.as_ref().map(Group::summary));
    let covered = turn.record.as_ref().map_or(0, |record| record.covers);
    for (at, part) in turn.entries.iter().enumerate().skip(covered) {
        let group = Group::new(&part.entry, !part.private, visibility).at(Part::Visit, at);
        groups.push(if part.private { group.leading() } else { group });
    }
    groups
}

/// Which entries of a log are never left out: the starting messages and the first ones after them.
pub(super) fn kept(entries: &[Entry], pin_first: usize) -> Vec<bool> {
    let mut left = pin_first;
    entries
        .iter()
        .map(|entry| {
            if entry.pinned {
                return true;
            }
            let pins = left > 0;
            left = left.saturating_sub(1);
            pins
        })
        .collect()
}

/// §1.2: an entry by the agent is its own; for a user seat so is every canonical `user` entry that no other
/// user-seat agent wrote and that was not said to it.
fn is_own(agent: &AgentSpec, entry: &Entry, side_of: &dyn Fn(&str) -> Option<Side>) -> bool {
    if entry.to.as_ref().is_some_and(|to| *to == agent.id) {
        return false;
    }
    match &entry.author {
        Author::Agent(id) if *id == agent.id => true,
        Author::Agent(id) => {
            agent.side == Side::User && entry.role == ChatRole::User && side_of(id) != Some(Side::User)
        }
        Author::Start | Author::Workflow | Author::Human | Author::Script => match agent.side {
            Side::User => entry.role == ChatRole::User,
            Side::Assistant => entry.role == ChatRole::Assistant,
        },
    }
}

/// Characters that a short text takes of a call.
fn called_length(call: &AnsweredCall) -> usize {
    call.call.arguments.chars().count().min(ARGUMENTS) + answer_length(call).min(ANSWER)
}
