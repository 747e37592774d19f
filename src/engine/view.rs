//! What one agent is shown of its context: projected to its perspective, trimmed by whole groups (§1.2, A41).
//!
//! Recomputed before every model call, never stored.

use std::borrow::Cow;
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
    /// Texts that are shown with their middle left out.
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
    let fit = fit(&mut groups, limit)?;
    let named = speakers(agent, &groups).len() >= 2;
    let mut messages = opening(agent);
    let newest = groups.len().saturating_sub(1);
    for (at, group) in groups.iter().enumerate() {
        let room = fit.newest.filter(|_| at == newest);
        project(group, named, &fit, room, &mut messages);
    }
    // The role's reminder follows every tool round (TOOL-19).
    let after_tools = turn.entries.last().is_some_and(|part| !part.entry.calls.is_empty());
    if let Some(reminder) = agent.reminder.as_ref().filter(|text| after_tools && !text.trim().is_empty()) {
        messages.push(ChatMessage::text(ChatRole::User, reminder.clone()));
    }
    let elided =
        if fit.answers.is_some() { groups.iter().map(|group| group.entry.calls.len()).sum() } else { 0 };
    let shortened = elided + usize::from(fit.newest.is_some());
    Ok(View { messages, dropped: fit.dropped, shortened })
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

/// What a view leaves out to stay below its limit (A41).
struct Fit {
    dropped: usize,
    /// Tool answers may take this much of their own length together: room and whole.
    answers: Option<(usize, usize)>,
    /// The newest entry is another's text and too long by itself: it is cut to this (CTX-5).
    newest: Option<usize>,
}

impl Fit {
    const WHOLE: Self = Self { dropped: 0, answers: None, newest: None };

    /// Room for an answer of `length`.
    fn answer(&self, length: usize) -> Option<usize> {
        self.answers.map(|(room, whole)| length.saturating_mul(room) / whole.max(1))
    }
}

/// Drops the oldest whole groups until the rest fits, never a kept one, never the newest; then elides the
/// middle of tool answers. What must be shown whole and does not fit is an overflow, not a silent cut.
fn fit(groups: &mut Vec<Group<'_>>, limit: usize) -> Result<Fit, Overflow> {
    let lengths: Vec<usize> = groups.iter().map(|group| group.entry.length()).collect();
    let mut total: usize = lengths.iter().sum();
    if total <= limit {
        return Ok(Fit::WHOLE);
    }
    let kept: usize =
        groups.iter().zip(&lengths).filter(|(group, _)| group.keep).map(|(_, length)| length).sum();
    if kept > limit {
        return Err(Overflow { length: kept, limit });
    }
    let newest = groups.len().saturating_sub(1);
    let mut gone = vec![false; groups.len()];
    for at in 0..newest {
        if total > limit && !groups[at].keep {
            gone[at] = true;
            total -= lengths[at];
        }
    }
    let dropped = gone.iter().filter(|gone| **gone).count();
    let mut gone = gone.into_iter();
    groups.retain(|_| !gone.next().unwrap_or(false));
    if total <= limit {
        return Ok(Fit { dropped, ..Fit::WHOLE });
    }
    let whole: usize = groups.iter().flat_map(|group| &group.entry.calls).map(answer_length).sum();
    let last = groups.last().filter(|group| group.entry.calls.is_empty() && !group.keep);
    Ok(Fit {
        dropped,
        answers: (whole > 0).then(|| (limit.saturating_sub(total - whole), whole)),
        newest: last.map(|_| limit - kept),
    })
}

fn answer_length(call: &AnsweredCall) -> usize {
    call.answer.chars().count()
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

fn project(group: &Group<'_>, named: bool, fit: &Fit, room: Option<usize>, messages: &mut Vec<ChatMessage>) {
    let entry = group.entry;
    if entry.role == ChatRole::System {
        if !entry.text.trim().is_empty() {
            messages.push(ChatMessage::text(ChatRole::System, cut(&entry.text, room)));
        }
        return;
    }
    if group.own {
        return project_own(entry, fit, room, messages);
    }
    let mut text = String::new();
    if named
        && !group.lead
        && let Some(name) = speaker_name(&entry.author)
    {
        text.push_str(&format!("[{name}]: "));
    }
    text.push_str(&said(entry));
    for call in &entry.calls {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&summary_line(call));
    }
    if !text.trim().is_empty() {
        messages.push(ChatMessage::text(ChatRole::User, cut(&text, room)));
    }
}

/// Own words are assistant messages; each call is followed by its result, in order.
fn project_own(entry: &Entry, fit: &Fit, room: Option<usize>, messages: &mut Vec<ChatMessage>) {
    if entry.calls.is_empty() {
        if !entry.text.trim().is_empty() {
            messages.push(ChatMessage::text(ChatRole::Assistant, cut(&said(entry), room)));
        }
        return;
    }
    let mut message = ChatMessage::text(ChatRole::Assistant, said(entry).into_owned());
    message.tool_calls = entry.calls.iter().map(|call| call.call.clone()).collect();
    messages.push(message);
    for call in &entry.calls {
        let answer = if call.answer.trim().is_empty() { "(no output)" } else { call.answer.as_str() };
        messages.push(ChatMessage::tool_result(&call.call.id, cut(answer, fit.answer(answer_length(call)))));
    }
}

/// The words of an entry; a cancelled answer says that it is not whole.
fn said(entry: &Entry) -> Cow<'_, str> {
    if entry.interrupted {
        Cow::Owned(format!("{} [interrupted]", entry.text))
    } else {
        Cow::Borrowed(&entry.text)
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
