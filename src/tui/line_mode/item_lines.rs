//! An entry of the conversation as lines: author, state, text. `None` while it is not finished.

use crate::text::{format_count, format_duration};
use crate::transcript::item::{AgentReplyItem, ToolItem, ToolStatus, TranscriptBlock, TranscriptItem};

/// Lines of a tool's result that are shown; the rest is counted.
const RESULT: usize = 20;

/// `state`: where the run is; `details`: results and data as well.
pub(super) fn item_lines(item: &TranscriptItem, state: &str, details: bool) -> Option<Vec<String>> {
    Some(match item {
        TranscriptItem::Block(block) => block_lines(block),
        TranscriptItem::Reply(reply) if reply.open => return None,
        TranscriptItem::Reply(reply) => reply_lines(reply, state),
        TranscriptItem::Tool(tool) if tool.status == ToolStatus::Running => return None,
        TranscriptItem::Tool(tool) => tool_lines(tool, state, details),
        TranscriptItem::Line { text, .. } => text.lines().map(str::to_owned).collect(),
        TranscriptItem::Rule(text) => vec![format!("state: {text}")],
        // each step is printed as it comes: those before are printed already
        TranscriptItem::Transition(path) => match path.states.as_slice() {
            [.., from, to] => vec![format!("state: {from} → {to}")],
            [only] => vec![format!("state: {only}")],
            [] => Vec::new(),
        },
        TranscriptItem::Detail(text) if details => text.lines().map(str::to_owned).collect(),
        TranscriptItem::Detail(_) => Vec::new(),
    })
}

fn block_lines(block: &TranscriptBlock) -> Vec<String> {
    let mut body = block.body.lines();
    let mut lines = match (block.title.is_empty(), body.clone().count()) {
        (true, _) => Vec::new(),
        (false, 0) => vec![block.title.clone()],
        (false, 1) => vec![format!("{}: {}", block.title, body.next().unwrap_or_default())],
        (false, _) => vec![format!("{}:", block.title)],
    };
    lines.extend(body.map(str::to_owned));
    lines.extend(block.foot.iter().cloned());
    lines
}

fn reply_lines(reply: &AgentReplyItem, state: &str) -> Vec<String> {
    let place = if reply.branch.is_empty() { state } else { &reply.branch };
    let who = speaker_label(&reply.agent, place);
    let end = if reply.interrupted { " — interrupted" } else { "" };
    let text = reply.text.trim_end();
    let mut said = text.lines();
    let first = said.next().unwrap_or("(no words)");
    let mut lines = vec![format!("{who}: {first}")];
    lines.extend(said.map(str::to_owned));
    if let Some(last) = lines.last_mut() {
        last.push_str(end);
    }
    lines
}

fn tool_lines(tool: &ToolItem, state: &str, details: bool) -> Vec<String> {
    let how = match tool.status {
        ToolStatus::Done | ToolStatus::Running => "done",
        ToolStatus::Failed => "failed",
        ToolStatus::Stopped => "interrupted",
    };
    let took = tool.took_ms.map(|ms| format!(", {}", format_duration(ms))).unwrap_or_default();
    let summary = if tool.summary.is_empty() { how.to_owned() } else { format!("{how}, {}", tool.summary) };
    let who = speaker_label(&tool.agent, state);
    let counts = tool.change.as_ref().filter(|_| tool.status == ToolStatus::Done).map(|change| {
        let (added, removed) = change.line_counts();
        format!(" +{added} −{removed}")
    });
    let call = format!("{} {}{}", tool.tool, tool.input.line, counts.unwrap_or_default());
    let mut lines = vec![format!("{who}: {}: {summary}{took}", call.trim_end())];
    if details {
        lines.extend(tool.input.rest.lines().map(|line| format!("  {line}")));
        let all: Vec<&str> = tool.content.lines().collect();
        lines.extend(all.iter().take(RESULT).map(|line| format!("  {line}")));
        if all.len() > RESULT {
            lines.push(format!("  … {}", format_count((all.len() - RESULT) as u64, "more line")));
        }
    }
    lines
}

fn speaker_label(agent: &str, state: &str) -> String {
    match (agent.is_empty(), state.is_empty()) {
        (true, true) => "step".to_owned(),
        (true, false) => state.to_owned(),
        (false, true) => agent.to_owned(),
        (false, false) => format!("{agent} ({state})"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agent_identity::AgentRoster;
    use crate::transcript::item::{ItemTone, ToolFileDiff};
    use crate::transcript::tool_input::ToolInput;

    fn edit(status: ToolStatus) -> TranscriptItem {
        let arguments = json!({"file_path": "src/a.rs", "old_text": "one", "new_text": "1\n2"});
        TranscriptItem::Tool(ToolItem {
            agent: "coder".to_owned(),
            identity: AgentRoster::from_declared(["coder"]).identity("coder"),
            tool: "edit_file".to_owned(),
            input: ToolInput::from_arguments(&arguments, true),
            status,
            started_at: None,
            summary: "1 replacement".to_owned(),
            content: String::new(),
            took_ms: Some(1_200),
            change: ToolFileDiff::from_arguments(&arguments).map(Box::new),
        })
    }

    #[test]
    fn lines_have_the_words_of_the_screen() {
        let check = |item: &TranscriptItem, expected: Option<&[&str]>| {
            let lines = item_lines(item, "code", false);
            let expected = expected.map(|lines| lines.iter().map(ToString::to_string).collect::<Vec<_>>());
            assert_eq!(lines, expected);
        };
        let done = "coder (code): edit_file src/a.rs +2 −1: done, 1 replacement, 1.2 s";
        check(&edit(ToolStatus::Done), Some(&[done]));
        let cut_off = "coder (code): edit_file src/a.rs: interrupted, 1 replacement, 1.2 s";
        check(&edit(ToolStatus::Stopped), Some(&[cut_off]));
        check(&edit(ToolStatus::Running), None);
        let card = TranscriptBlock::new(ItemTone::Dim, "workflow to coder, privately", "Write it.");
        let card =
            TranscriptItem::Block(card.as_card(AgentRoster::from_declared(["coder"]).identity("coder")));
        check(&card, Some(&["workflow to coder, privately: Write it."]));
        check(&TranscriptItem::transition(&["code", "test", "review"]), Some(&["state: test → review"]));
    }
}
