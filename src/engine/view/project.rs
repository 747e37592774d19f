//! From a group to the messages that one agent is shown (§1.2).

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::fit::Fit;
use super::group::{ANSWER, ARGUMENTS, Group, answer_length};
use crate::domain::agent::AgentSpec;
use crate::domain::context::{AnsweredCall, Author, Entry, ToolVisibility};
use crate::domain::message::{ChatMessage, ChatRole};

pub(super) const CUT: &str = "\n[… cut to fit the context …]\n";

/// The agent's prompt and examples.
pub(super) fn opening(agent: &AgentSpec) -> Vec<ChatMessage> {
    let mut messages = Vec::with_capacity(1 + agent.examples.len());
    if !agent.system_prompt.trim().is_empty() {
        messages.push(ChatMessage::text(ChatRole::System, agent.system_prompt.clone()));
    }
    messages.extend(agent.examples.iter().cloned());
    messages
}

/// How many messages [`opening`] makes.
pub(super) fn opening_messages(agent: &AgentSpec) -> usize {
    usize::from(!agent.system_prompt.trim().is_empty()) + agent.examples.len()
}

/// The other agents that a view quotes.
pub(super) fn speakers<'a>(agent: &AgentSpec, groups: &[Group<'a>]) -> BTreeSet<&'a str> {
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

pub(super) fn project(
    group: &Group<'_>,
    named: bool,
    visibility: ToolVisibility,
    fit: &Fit,
    messages: &mut Vec<ChatMessage>,
) {
    let entry = group.entry;
    if entry.role == ChatRole::System {
        if !entry.text.trim().is_empty() {
            messages.push(ChatMessage::text(ChatRole::System, cut(&entry.text, group.room)));
        }
        return;
    }
    if group.own {
        return project_own(entry, fit, group.room, messages);
    }
    let mut text = said(entry).into_owned();
    for call in entry.calls.iter().filter(|_| visibility != ToolVisibility::None) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&match visibility {
            ToolVisibility::Full => whole_call(call, fit),
            ToolVisibility::Summary | ToolVisibility::None => summary_line(call),
        });
    }
    if text.trim().is_empty() {
        return;
    }
    if named
        && !group.lead
        && let Some(name) = speaker_name(&entry.author)
    {
        text.insert_str(0, &format!("[{name}]: "));
    }
    messages.push(ChatMessage::text(ChatRole::User, cut(&text, group.room)));
}

/// How many messages [`project`] makes of an entry.
pub(super) fn messages(entry: &Entry, own: bool, visibility: ToolVisibility) -> usize {
    let blank = entry.text.trim().is_empty();
    if entry.role == ChatRole::System {
        return usize::from(!blank);
    }
    if own {
        let words = usize::from(!blank);
        return if entry.calls.is_empty() { words } else { 1 + entry.calls.len() };
    }
    let calls = !entry.calls.is_empty() && visibility != ToolVisibility::None;
    usize::from(!blank || entry.interrupted || calls)
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
    message.sealed.clone_from(&entry.sealed);
    messages.push(message);
    for call in &entry.calls {
        let answer = if call.answer.trim().is_empty() { "(no output)" } else { call.answer.as_str() };
        messages.push(ChatMessage::tool_result(&call.call.id, cut(answer, fit.answer(answer_length(call)))));
    }
}

/// The words of an entry; a cancelled answer says that it is not whole.
pub(super) fn said(entry: &Entry) -> Cow<'_, str> {
    if entry.interrupted {
        Cow::Owned(format!("{} [interrupted]", entry.text))
    } else {
        Cow::Borrowed(&entry.text)
    }
}

/// Another agent's call as one short text (`tool_visibility: summary`, the default).
pub(super) fn summary_line(call: &AnsweredCall) -> String {
    let state = state(call);
    let arguments = shorten(&call.call.arguments, ARGUMENTS);
    format!("[used {} {arguments} → {state}: {}]", call.call.name, shorten(&call.answer, ANSWER))
}

/// Another agent's call with everything (`tool_visibility: full`).
fn whole_call(call: &AnsweredCall, fit: &Fit) -> String {
    let answer = cut(&call.answer, fit.answer(answer_length(call)));
    format!("[used {} {} → {}:\n{answer}]", call.call.name, call.call.arguments, state(call))
}

fn state(call: &AnsweredCall) -> &'static str {
    if call.ok { "ok" } else { "failed" }
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
pub(super) fn cut(text: &str, budget: Option<usize>) -> String {
    let length = text.chars().count();
    let Some(room) = budget.filter(|room| *room < length) else { return text.to_owned() };
    let keep = room.saturating_sub(CUT.chars().count());
    let head: String = text.chars().take(keep - keep / 2).collect();
    let tail: String = text.chars().skip(length - keep / 2).collect();
    format!("{head}{CUT}{tail}")
}
