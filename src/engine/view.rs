//! What one agent is shown of its context: projected to its perspective, trimmed by whole groups (§1.2, A41).
//!
//! Recomputed before every model call, never stored.

use std::collections::BTreeSet;

use super::turn::Turn;
use crate::domain::agent::AgentSpec;
use crate::domain::context::{AnsweredCall, Author, Entry, Side};
use crate::domain::message::{ChatMessage, ChatRole};

/// The messages of one request.
#[derive(Debug)]
pub struct View {
    pub messages: Vec<ChatMessage>,
    /// Oldest entries that did not fit.
    pub dropped: usize,
    /// Entries that are shown without their middle: even alone they would not fit.
    pub shortened: usize,
}

/// The view cannot be brought below the limit: what may not be dropped is too long by itself.
#[derive(Debug, PartialEq, Eq)]
pub struct Overflow {
    pub length: usize,
    pub limit: usize,
}

const CUT: &str = "\n[… cut to fit the context …]\n";

/// Computes the view of `agent`. `others` tells the seat of another agent by id.
pub fn compute(
    agent: &AgentSpec,
    entries: &[Entry],
    turn: &Turn,
    limit: usize,
    side_of: &dyn Fn(&str) -> Option<Side>,
) -> Result<View, Overflow> {
    let own_input = turn.stores_input.then(|| {
        let text = turn.input.clone().unwrap_or_default();
        Entry::text(turn.input_author.clone(), ChatRole::User, text)
    });
    let directive = (!turn.stores_input && turn.side == Side::User)
        .then(|| Entry::text(Author::Workflow, ChatRole::User, turn.input.clone().unwrap_or_default()));
    let mut groups: Vec<Group<'_>> = Vec::with_capacity(entries.len() + turn.entries.len() + 1);
    for entry in entries {
        groups.push(Group { entry, own: is_own(agent, entry, side_of), keep: entry.pinned, lead: false });
    }
    for entry in own_input.iter().filter(|entry| !entry.text.is_empty()) {
        groups.push(Group { entry, own: is_own(agent, entry, side_of), keep: true, lead: false });
    }
    // A private directive speaks to the agent: it is never the agent's own word, whatever the seat.
    for entry in directive.iter().filter(|entry| !entry.text.is_empty()) {
        groups.push(Group { entry, own: false, keep: true, lead: true });
    }
    for part in &turn.entries {
        groups.push(Group { entry: &part.entry, own: !part.private, keep: false, lead: part.private });
    }
    let dropped = trim(&mut groups, limit)?;
    let budget = Budget::new(&groups, limit);
    let named = speakers(agent, &groups).len() >= 2;
    let mut messages = opening(agent);
    for (at, group) in groups.iter().enumerate() {
        project(group, named, budget.of(at), &mut messages);
    }
    Ok(View { messages, dropped, shortened: budget.shortens(&groups) })
}

struct Group<'a> {
    entry: &'a Entry,
    own: bool,
    keep: bool,
    /// Said to the agent by the workflow inside this visit: needs no name.
    lead: bool,
}

fn opening(agent: &AgentSpec) -> Vec<ChatMessage> {
    let mut messages = Vec::with_capacity(1 + agent.examples.len());
    if !agent.system_prompt.trim().is_empty() {
        messages.push(ChatMessage::text(ChatRole::System, agent.system_prompt.clone()));
    }
    messages.extend(agent.examples.iter().cloned());
    messages
}

/// §1.2: an entry by the agent is its own; for a user seat so is every canonical `user` entry that no other
/// user-seat agent wrote.
fn is_own(agent: &AgentSpec, entry: &Entry, side_of: &dyn Fn(&str) -> Option<Side>) -> bool {
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

/// Drops the oldest whole groups until the rest fits; never a kept one, never the newest.
fn trim(groups: &mut Vec<Group<'_>>, limit: usize) -> Result<usize, Overflow> {
    let lengths: Vec<usize> = groups.iter().map(|group| group.entry.length()).collect();
    let mut total: usize = lengths.iter().sum();
    if total <= limit {
        return Ok(0);
    }
    let newest = groups.len().saturating_sub(1);
    let mut gone = vec![false; groups.len()];
    for at in 0..newest {
        if total <= limit {
            break;
        }
        if !groups[at].keep {
            gone[at] = true;
            total -= lengths[at];
        }
    }
    let pinned: usize = groups
        .iter()
        .enumerate()
        .filter(|(at, group)| group.entry.pinned && *at != newest)
        .map(|(at, _)| lengths[at])
        .sum();
    if pinned + CUT.chars().count() > limit {
        return Err(Overflow { length: pinned, limit });
    }
    let dropped = gone.iter().filter(|gone| **gone).count();
    let mut at = 0;
    groups.retain(|_| {
        at += 1;
        !gone[at - 1]
    });
    Ok(dropped)
}

/// How long each unpinned part may be when whole groups were not enough: the rest of the limit, shared.
struct Budget {
    parts: Vec<Option<usize>>,
}

impl Budget {
    fn new(groups: &[Group<'_>], limit: usize) -> Self {
        let total: usize = groups.iter().map(|group| group.entry.length()).sum();
        if total <= limit {
            return Self { parts: vec![None; groups.len()] };
        }
        let pinned: usize =
            groups.iter().filter(|group| group.entry.pinned).map(|group| group.entry.length()).sum();
        let loose = (total - pinned).max(1);
        let room = limit.saturating_sub(pinned);
        let parts = groups
            .iter()
            .map(|group| (!group.entry.pinned).then(|| group.entry.length() * room / loose))
            .collect();
        Self { parts }
    }

    fn shortens(&self, groups: &[Group<'_>]) -> usize {
        let cut = |(group, part): &(&Group<'_>, &Option<usize>)| {
            part.is_some_and(|room| room < group.entry.length())
        };
        groups.iter().zip(&self.parts).filter(cut).count()
    }

    fn of(&self, at: usize) -> Option<usize> {
        self.parts.get(at).copied().flatten()
    }
}

fn speakers<'a>(agent: &AgentSpec, groups: &[Group<'a>]) -> BTreeSet<&'a str> {
    groups
        .iter()
        .filter(|group| !group.own && !group.lead)
        .filter_map(|group| speaker_name(&group.entry.author))
        .filter(|name| *name != agent.id)
        .collect()
}

fn speaker_name(author: &Author) -> Option<&str> {
    match author {
        Author::Agent(id) => Some(id),
        // The workflow speaks for the person: naming it would only disturb the cached prefix.
        Author::Workflow | Author::Human | Author::Start | Author::Script => None,
    }
}

fn project(group: &Group<'_>, named: bool, budget: Option<usize>, messages: &mut Vec<ChatMessage>) {
    let entry = group.entry;
    if group.own {
        return project_own(entry, budget, messages);
    }
    let mut text = String::new();
    if named
        && !group.lead
        && let Some(name) = speaker_name(&entry.author)
    {
        text.push_str(&format!("[{name}]: "));
    }
    text.push_str(&entry.text);
    for call in &entry.calls {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&summary_line(call));
    }
    if !text.trim().is_empty() {
        messages.push(ChatMessage::text(ChatRole::User, cut(&text, budget)));
    }
}

/// Own words are assistant messages; each call is followed by its result, in order.
fn project_own(entry: &Entry, budget: Option<usize>, messages: &mut Vec<ChatMessage>) {
    if entry.calls.is_empty() {
        if !entry.text.trim().is_empty() {
            messages.push(ChatMessage::text(ChatRole::Assistant, cut(&entry.text, budget)));
        }
        return;
    }
    let mut message = ChatMessage::text(ChatRole::Assistant, entry.text.clone());
    message.tool_calls = entry.calls.iter().map(|call| call.call.clone()).collect();
    messages.push(message);
    let share = budget.map(|room| room / entry.calls.len());
    for call in &entry.calls {
        let answer = if call.answer.trim().is_empty() { "(no output)" } else { call.answer.as_str() };
        messages.push(ChatMessage::tool_result(&call.call.id, cut(answer, share)));
    }
}

/// Another agent's call as one short text (`tool_visibility: summary`, the default).
fn summary_line(call: &AnsweredCall) -> String {
    let state = if call.ok { "ok" } else { "failed" };
    format!(
        "[used {} {} → {state}: {}]",
        call.call.name,
        shorten(&call.call.arguments, 200),
        shorten(&call.answer, 400)
    )
}

fn shorten(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most {
        return line;
    }
    let mut short: String = line.chars().take(most).collect();
    short.push('…');
    short
}

/// Elides the middle so that both ends stay readable.
fn cut(text: &str, budget: Option<usize>) -> String {
    let length = text.chars().count();
    let Some(room) = budget.filter(|room| *room < length) else { return text.to_owned() };
    let keep = room.saturating_sub(CUT.chars().count());
    let head: String = text.chars().take(keep - keep / 2).collect();
    let tail: String = text.chars().skip(length - keep / 2).collect();
    format!("{head}{CUT}{tail}")
}

#[cfg(test)]
mod tests;
