//! A request that is not in the recording: its agent, and how it differs from the nearest recorded one.

use std::fmt::Write as _;
use std::sync::Arc;

use super::format::RecordedCall;
use super::matcher::RecordedCallMatcher;
use super::normalize::{NormalizedRequest, NormalizedTool};
use synthdev_domain::line_diff;
use synthdev_domain::message::{ChatMessage, ChatRole};
use synthdev_domain::number_format::format_count;

/// Lines of a difference that are shown.
const MOST_LINES: usize = 40;
/// Longer lines are taken apart at the ends of sentences, so that a changed word does not repeat a whole page.
const LONG_LINE: usize = 120;
/// Requests that are compared line by line; the others are further away already.
const CLOSEST: usize = 4;

/// The recording that is played, for display.
#[derive(Clone, Debug, Default)]
pub struct PlayedRecording {
    /// The file as it was named.
    pub name: String,
    /// The command that records it anew.
    pub record: String,
    /// The workflow was another one when it was recorded.
    pub workflow_changed: bool,
}

impl PlayedRecording {
    pub(super) fn record_again_command(&self) -> String {
        format!("to record it again: {}", self.record)
    }
}

/// In one line, and in full.
pub fn describe_mismatch(
    asked: &NormalizedRequest,
    state: &str,
    matcher: &RecordedCallMatcher,
    playing: &PlayedRecording,
) -> (String, String) {
    let who = format!("agent `{}` in state `{state}`", asked.agent);
    let (line, difference) = mismatch_text(asked, state, matcher, playing, &who);
    let mut text = line.clone();
    if let Some(difference) = difference {
        let _ = write!(text, " (- recorded, + now):\n{}", cap_lines(&difference));
    }
    if playing.workflow_changed {
        text.push_str("\nthe workflow, a role or a tool has changed since it was recorded");
    }
    let _ = write!(text, "\n{}", playing.record_again_command());
    (line, text)
}

fn mismatch_text(
    asked: &NormalizedRequest,
    state: &str,
    matcher: &RecordedCallMatcher,
    playing: &PlayedRecording,
    who: &str,
) -> (String, Option<String>) {
    let name = &playing.name;
    let same = matcher.calls().filter(|(call, _)| call.request == *asked).count();
    if same > 0 {
        let times = if same == 1 { "once".to_owned() } else { format!("{same} times") };
        return (
            format!("{who} asks again what {name} answers only {times}: the run makes more calls now"),
            None,
        );
    }
    let Some(nearest) = nearest_call(asked, state, matcher) else {
        let mut known: Vec<&str> = matcher.calls().map(|(call, _)| call.request.agent.as_str()).collect();
        known.sort_unstable();
        known.dedup();
        let known = if known.is_empty() { "no calls at all".to_owned() } else { known.join(", ") };
        return (
            format!("{who} asks something, but {name} holds no call of this agent (it has: {known})"),
            None,
        );
    };
    let there = if nearest.state == state { String::new() } else { format!(" in state `{}`", nearest.state) };
    let line = format!("{who} asks what {name} does not hold; the nearest is call {}{there}", nearest.call);
    (line, Some(difference_text(&nearest.request, asked)))
}

/// The recorded request of this agent with the smallest difference; of equal ones one that is still left, then one
/// of this state, then the first.
fn nearest_call<'s>(
    asked: &NormalizedRequest,
    state: &str,
    matcher: &'s RecordedCallMatcher,
) -> Option<&'s RecordedCall> {
    let own = matcher.calls().filter(|(call, _)| call.request.agent == asked.agent);
    let mut own: Vec<_> =
        own.map(|(call, taken)| (rough_distance(&call.request, asked), taken, call)).collect();
    own.sort_by_key(|(distance, taken, call)| (*distance, *taken, call.state != state));
    own.truncate(CLOSEST);
    let exactly = |(_, taken, call): &(usize, bool, &RecordedCall)| {
        let changed = difference_text(&call.request, asked);
        (changed.lines().filter(|line| line.starts_with(['-', '+'])).count(), *taken, call.state != state)
    };
    own.into_iter().min_by_key(exactly).map(|(_, _, call)| call)
}

/// Parts that differ; a message that is missing weighs more than one that changed.
fn rough_distance(one: &NormalizedRequest, other: &NormalizedRequest) -> usize {
    let pairs = one.messages.iter().zip(&other.messages);
    let changed = pairs.filter(|(one, other)| one != other).count();
    let missing = one.messages.len().abs_diff(other.messages.len());
    let tools = one.tools.iter().filter(|tool| !other.tools.contains(tool)).count()
        + other.tools.iter().filter(|tool| !one.tools.contains(tool)).count();
    let rest = [
        one.role != other.role,
        one.level != other.level,
        one.parameters != other.parameters,
        one.tool_choice != other.tool_choice,
    ];
    changed + 2 * missing + tools + rest.iter().filter(|differs| **differs).count()
}

/// Part by part, each with a title.
fn difference_text(recorded: &NormalizedRequest, now: &NormalizedRequest) -> String {
    let mut text = String::new();
    push_part_difference(&mut text, "who asks, and how", &request_facts(recorded), &request_facts(now));
    let system = |asked: &NormalizedRequest| {
        asked.messages.first().is_some_and(|first| first.role == ChatRole::System)
    };
    let first = usize::from(system(recorded) && system(now));
    if first == 1 {
        push_part_difference(
            &mut text,
            "system prompt",
            &message_text(&recorded.messages[0]),
            &message_text(&now.messages[0]),
        );
    }
    push_tool_difference(&mut text, &recorded.tools, &now.tools);
    for at in first..recorded.messages.len().max(now.messages.len()) {
        let (one, other) = (recorded.messages.get(at), now.messages.get(at));
        if one == other {
            continue;
        }
        let role = one.or(other).map_or("", |message| message.role.as_str());
        let said =
            |message: Option<&Arc<ChatMessage>>| message.map(|one| message_text(one)).unwrap_or_default();
        push_part_difference(&mut text, &format!("message {} ({role})", at + 1), &said(one), &said(other));
    }
    text
}

fn push_tool_difference(text: &mut String, recorded: &[NormalizedTool], now: &[NormalizedTool]) {
    let find =
        |list: &[NormalizedTool], name: &str| list.iter().find(|tool| tool.name == name).map(tool_text);
    for tool in recorded {
        let here = find(now, &tool.name).unwrap_or_default();
        push_part_difference(text, &format!("tool `{}`", tool.name), &tool_text(tool), &here);
    }
    for tool in now.iter().filter(|tool| find(recorded, &tool.name).is_none()) {
        push_part_difference(text, &format!("tool `{}`", tool.name), "", &tool_text(tool));
    }
    let names = |list: &[NormalizedTool]| list.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
    let (mut before, mut after) = (names(recorded), names(now));
    if before != after {
        before.sort_unstable();
        after.sort_unstable();
        if before == after {
            text.push_str("the order of the tools\n");
        }
    }
}

fn push_part_difference(text: &mut String, title: &str, recorded: &str, now: &str) {
    if recorded == now {
        return;
    }
    let marked = match (recorded.is_empty(), now.is_empty()) {
        (true, _) => mark_all_lines(now, '+'),
        (_, true) => mark_all_lines(recorded, '-'),
        _ => line_diff::diff_lines(&break_long_lines(recorded), &break_long_lines(now)),
    };
    let _ = write!(text, "{title}\n{marked}");
}

/// A part that only one side has: its first lines identify it.
fn mark_all_lines(text: &str, mark: char) -> String {
    let lines = break_long_lines(text);
    let mut marked: String = lines.lines().take(4).map(|line| format!("{mark} {line}\n")).collect();
    match lines.lines().count() {
        0..=4 => {}
        more => marked.push_str(&format!("{mark} … {}\n", format_count(more as u64 - 4, "more line"))),
    }
    marked
}

fn request_facts(asked: &NormalizedRequest) -> String {
    let mut text = format!("role: {}\nlevel: {}\n", asked.role, asked.level);
    if let Ok(serde_json::Value::Object(parameters)) = serde_json::to_value(&asked.parameters) {
        parameters.iter().for_each(|(name, value)| text.push_str(&format!("{name}: {value}\n")));
    }
    let choice = serde_json::to_value(&asked.tool_choice).unwrap_or_default();
    let _ = writeln!(text, "tool choice: {choice}");
    text
}

fn tool_text(tool: &NormalizedTool) -> String {
    let schema = serde_json::to_string_pretty(&tool.parameters).unwrap_or_default();
    let kind = if tool.decides { "a decision" } else { "a tool" };
    format!("{kind}: {}\n{schema}\n", tool.description)
}

/// Everything of a message that counts, as lines.
fn message_text(message: &ChatMessage) -> String {
    let mut text = format!("({})\n{}\n", message.role.as_str(), message.content);
    for call in &message.tool_calls {
        let _ = writeln!(text, "calls {} {} [{}]", call.name, call.arguments, call.id);
    }
    if let Some(id) = &message.tool_call_id {
        let _ = writeln!(text, "answers [{id}]");
    }
    for sealed in &message.sealed {
        let _ = writeln!(text, "sealed {}", sealed.block);
    }
    text
}

/// Long lines end where sentences do, or at the last, between words.
fn break_long_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        if line.chars().count() <= LONG_LINE {
            out.push_str(line);
            out.push('\n');
            continue;
        }
        let mut length = 0;
        for word in line.split_inclusive(' ') {
            let ends = length > 20 && [". ", "! ", "? ", "; "].iter().any(|end| out.ends_with(end));
            let letters = word.chars().count();
            if ends || (length > 0 && length + letters > LONG_LINE) {
                out.push('\n');
                length = 0;
            }
            length += letters;
            if letters > LONG_LINE {
                let letters: Vec<char> = word.chars().collect();
                let pieces = letters.chunks(LONG_LINE).map(|piece| piece.iter().collect::<String>());
                out.push_str(&pieces.collect::<Vec<_>>().join("\n"));
            } else {
                out.push_str(word);
            }
        }
        out.push('\n');
    }
    out
}

fn cap_lines(difference: &str) -> String {
    let count = difference.lines().count();
    if count <= MOST_LINES {
        return difference.trim_end().to_owned();
    }
    let lines: Vec<&str> = difference.lines().take(MOST_LINES - 1).collect();
    format!("{}\n… {}", lines.join("\n"), format_count((count - lines.len()) as u64, "more line"))
}
