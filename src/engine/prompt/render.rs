//! Turns a prompt unit into the messages that one agent sees.

use std::borrow::Cow;

use super::prompt_unit::{ANSWER, ARGUMENTS, PromptUnit, answer_length};
use super::sources::PromptSources;
use super::truncate::TruncationPlan;
use synthdev_domain::context::{AnsweredCall, ContextEntry, MessageAuthor, ToolVisibility};
use synthdev_domain::message::{ChatMessage, ChatRole};

pub(super) const CUT: &str = "\n[… cut to fit the context …]\n";

/// The agent's prompt with the run's brief behind it, and the examples.
pub(super) fn prompt_and_examples(sources: &PromptSources<'_>) -> Vec<ChatMessage> {
    let agent = sources.agent;
    let mut messages = Vec::with_capacity(1 + agent.examples.len());
    let system: Vec<&str> = system_parts(sources).collect();
    if !system.is_empty() {
        messages.push(ChatMessage::text(ChatRole::System, system.join("\n\n")));
    }
    messages.extend(agent.examples.iter().cloned());
    messages
}

/// How many messages [`prompt_and_examples`] makes.
pub(super) fn opening_messages(sources: &PromptSources<'_>) -> usize {
    usize::from(system_parts(sources).next().is_some()) + sources.agent.examples.len()
}

fn system_parts<'a>(sources: &PromptSources<'a>) -> impl Iterator<Item = &'a str> {
    let prompt = Some(sources.agent.system_prompt.as_str()).filter(|text| !text.trim().is_empty());
    prompt.into_iter().chain(sources.system_context.included_parts(sources.agent.without))
}

fn speaker_name(author: &MessageAuthor) -> Option<&str> {
    match author {
        MessageAuthor::Agent(id) => Some(id),
        // The workflow speaks for the user: naming it would only disturb the cached prefix.
        MessageAuthor::Workflow | MessageAuthor::Human | MessageAuthor::Start | MessageAuthor::Script => None,
    }
}

/// Texts of others get their names if the agent sees more than one author: in a context with three seats from the first
/// request on, as a name that came later would change the earlier messages.
pub(super) fn project_entry(
    sources: &PromptSources<'_>,
    group: &PromptUnit<'_>,
    fit: &TruncationPlan,
    messages: &mut Vec<ChatMessage>,
) {
    let (entry, visibility) = (group.entry, sources.context.tool_visibility);
    if entry.role == ChatRole::System {
        if !entry.text.trim().is_empty() {
            messages.push(ChatMessage::text(ChatRole::System, elide_middle(&entry.text, group.max_chars)));
        }
        return;
    }
    if group.is_own {
        project_own_entry(entry, fit, group.max_chars, messages);
        let reminder = sources.reminder_text().filter(|_| group.has_reminder);
        return messages.extend(reminder.map(|text| ChatMessage::text(ChatRole::User, text)));
    }
    let mut text = entry_text(entry).into_owned();
    for call in entry.calls.iter().filter(|_| visibility != ToolVisibility::None) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&match visibility {
            ToolVisibility::Full => full_call_text(call, fit),
            ToolVisibility::Summary | ToolVisibility::None => summary_line(call),
        });
    }
    if text.trim().is_empty() {
        return;
    }
    if sources.other_agent_count >= 2
        && !group.is_directive
        && let Some(name) = speaker_name(&entry.author)
    {
        text.insert_str(0, &format!("[{name}]: "));
    }
    messages.push(ChatMessage::text(ChatRole::User, elide_middle(&text, group.max_chars)));
}

/// How many messages [`project_entry`] makes of an entry.
pub(super) fn projected_count(group: &PromptUnit<'_>, visibility: ToolVisibility) -> usize {
    let entry = group.entry;
    let blank = entry.text.trim().is_empty();
    if entry.role == ChatRole::System {
        return usize::from(!blank);
    }
    if group.is_own {
        let words = usize::from(!blank);
        let reminded = usize::from(group.has_reminder);
        return if entry.calls.is_empty() { words } else { 1 + entry.calls.len() + reminded };
    }
    let calls = !entry.calls.is_empty() && visibility != ToolVisibility::None;
    usize::from(!blank || entry.interrupted || calls)
}

/// Own words are assistant messages; each call is followed by its result, in order.
fn project_own_entry(
    entry: &ContextEntry,
    fit: &TruncationPlan,
    room: Option<usize>,
    messages: &mut Vec<ChatMessage>,
) {
    if entry.calls.is_empty() {
        if !entry.text.trim().is_empty() {
            messages.push(ChatMessage::text(ChatRole::Assistant, elide_middle(&entry_text(entry), room)));
        }
        return;
    }
    let mut message = ChatMessage::text(ChatRole::Assistant, entry_text(entry).into_owned());
    message.tool_calls = entry.calls.iter().map(|call| call.call.clone()).collect();
    message.sealed.clone_from(&entry.sealed);
    messages.push(message);
    for call in &entry.calls {
        let answer = if call.answer.trim().is_empty() { "(no output)" } else { call.answer.as_str() };
        messages.push(ChatMessage::tool_result(
            &call.call.id,
            elide_middle(answer, fit.answer_room(answer_length(call))),
        ));
    }
}

/// The words of an entry; a cancelled answer says that it is not whole.
pub(super) fn entry_text(entry: &ContextEntry) -> Cow<'_, str> {
    if entry.interrupted {
        Cow::Owned(format!("{} [interrupted]", entry.text))
    } else {
        Cow::Borrowed(&entry.text)
    }
}

/// Another agent's call as one short text (`tool_visibility: summary`, the default).
pub(super) fn summary_line(call: &AnsweredCall) -> String {
    let state = call_state_text(call);
    let arguments = shorten_text(&call.call.arguments, ARGUMENTS);
    format!("[used {} {arguments} → {state}: {}]", call.call.name, shorten_text(&call.answer, ANSWER))
}

/// Another agent's call with everything (`tool_visibility: full`).
fn full_call_text(call: &AnsweredCall, fit: &TruncationPlan) -> String {
    let answer = elide_middle(&call.answer, fit.answer_room(answer_length(call)));
    format!("[used {} {} → {}:\n{answer}]", call.call.name, call.call.arguments, call_state_text(call))
}

fn call_state_text(call: &AnsweredCall) -> &'static str {
    if call.ok { "ok" } else { "failed" }
}

fn shorten_text(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most {
        return line;
    }
    let mut short: String = line.chars().take(most).collect();
    short.push('…');
    short
}

/// Elides the middle so that both ends stay readable.
pub(super) fn elide_middle(text: &str, budget: Option<usize>) -> String {
    let length = text.chars().count();
    let Some(room) = budget.filter(|room| *room < length) else { return text.to_owned() };
    let keep = room.saturating_sub(CUT.chars().count());
    let head: String = text.chars().take(keep - keep / 2).collect();
    let tail: String = text.chars().skip(length - keep / 2).collect();
    format!("{head}{CUT}{tail}")
}
