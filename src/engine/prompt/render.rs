//! From a group to the messages that one agent is shown.

use std::borrow::Cow;

use super::prompt_unit::{ANSWER, ARGUMENTS, PromptUnit, answer_length};
use super::sources::PromptSources;
use super::truncate::TruncationPlan;
use synthdev_domain::context::{AnsweredCall, ContextEntry, MessageAuthor, ToolVisibility};
use synthdev_domain::message::{ChatMessage, ChatRole};

pub(super) const CUT: &str = "\n[… cut to fit the context …]\n";

/// The agent's prompt with the run's brief behind it, and the examples.
pub(super) fn opening(scene: &PromptSources<'_>) -> Vec<ChatMessage> {
    let agent = scene.agent;
    let mut messages = Vec::with_capacity(1 + agent.examples.len());
    let system: Vec<&str> = system_parts(scene).collect();
    if !system.is_empty() {
        messages.push(ChatMessage::text(ChatRole::System, system.join("\n\n")));
    }
    messages.extend(agent.examples.iter().cloned());
    messages
}

/// How many messages [`opening`] makes.
pub(super) fn opening_messages(scene: &PromptSources<'_>) -> usize {
    usize::from(system_parts(scene).next().is_some()) + scene.agent.examples.len()
}

fn system_parts<'a>(scene: &PromptSources<'a>) -> impl Iterator<Item = &'a str> {
    let prompt = Some(scene.agent.system_prompt.as_str()).filter(|text| !text.trim().is_empty());
    prompt.into_iter().chain(scene.brief.parts(scene.agent.without))
}

fn speaker_name(author: &MessageAuthor) -> Option<&str> {
    match author {
        MessageAuthor::Agent(id) => Some(id),
        // The workflow speaks for the person: naming it would only disturb the cached prefix.
        MessageAuthor::Workflow | MessageAuthor::Human | MessageAuthor::Start | MessageAuthor::Script => None,
    }
}

/// Texts of others get their names where the agent hears more than one: in a context with three seats from the first
/// request on, as a name that came later would change what was said before it.
pub(super) fn project(
    scene: &PromptSources<'_>,
    group: &PromptUnit<'_>,
    fit: &TruncationPlan,
    messages: &mut Vec<ChatMessage>,
) {
    let (entry, visibility) = (group.entry, scene.context.tool_visibility);
    if entry.role == ChatRole::System {
        if !entry.text.trim().is_empty() {
            messages.push(ChatMessage::text(ChatRole::System, cut(&entry.text, group.room)));
        }
        return;
    }
    if group.own {
        project_own(entry, fit, group.room, messages);
        let reminder = scene.reminder().filter(|_| group.reminded);
        return messages.extend(reminder.map(|text| ChatMessage::text(ChatRole::User, text)));
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
    if scene.others >= 2
        && !group.lead
        && let Some(name) = speaker_name(&entry.author)
    {
        text.insert_str(0, &format!("[{name}]: "));
    }
    messages.push(ChatMessage::text(ChatRole::User, cut(&text, group.room)));
}

/// How many messages [`project`] makes of an entry.
pub(super) fn messages(group: &PromptUnit<'_>, visibility: ToolVisibility) -> usize {
    let entry = group.entry;
    let blank = entry.text.trim().is_empty();
    if entry.role == ChatRole::System {
        return usize::from(!blank);
    }
    if group.own {
        let words = usize::from(!blank);
        let reminded = usize::from(group.reminded);
        return if entry.calls.is_empty() { words } else { 1 + entry.calls.len() + reminded };
    }
    let calls = !entry.calls.is_empty() && visibility != ToolVisibility::None;
    usize::from(!blank || entry.interrupted || calls)
}

/// Own words are assistant messages; each call is followed by its result, in order.
fn project_own(
    entry: &ContextEntry,
    fit: &TruncationPlan,
    room: Option<usize>,
    messages: &mut Vec<ChatMessage>,
) {
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
pub(super) fn said(entry: &ContextEntry) -> Cow<'_, str> {
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
fn whole_call(call: &AnsweredCall, fit: &TruncationPlan) -> String {
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
