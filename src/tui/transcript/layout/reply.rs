//! An agent's turn: its name, what it thought, what it says. While it streams only what may still change is laid out.

use ratatui::text::{Line, Span};

use crate::text::{fit, thousands, width};
use crate::transcript::item::AgentReplyItem;
use crate::transcript::layout_options::{INDENT, ItemLayoutOptions, lay_plain};
use crate::transcript::markdown;

/// Where a streamed reply goes on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplyLayoutTail {
    thought: Option<ReasoningTail>,
    text: markdown::MarkdownTail,
}

/// What is known of the reasoning.
#[derive(Clone, PartialEq, Eq, Debug)]
struct ReasoningTail {
    /// Bytes that are laid out.
    length: usize,
    /// Newlines up to a byte: nothing is counted twice.
    newlines: usize,
    counted: usize,
    tail: markdown::MarkdownTail,
}

/// The row that tells of the reasoning; the name stands above it.
const THOUGHT: usize = 1;

impl ReplyLayoutTail {
    /// There is more than was laid out at once.
    pub fn has_more(&self) -> bool {
        self.text.more
    }
}

pub(super) fn layout(
    reply: &AgentReplyItem,
    look: ItemLayoutOptions,
    most: usize,
    rows: &mut Vec<Line<'static>>,
) -> Option<ReplyLayoutTail> {
    let theme = look.theme;
    let name = fit(&reply.agent, look.columns).into_owned();
    let room = look.columns.saturating_sub(width(&name));
    let branch = if reply.branch.is_empty() { String::new() } else { format!(" · {}", reply.branch) };
    let model = format!("{branch} {}", reply.model);
    rows.push(Line::from(vec![
        Span::styled(name, theme.seat(reply.side)),
        Span::styled(fit(&model, room).into_owned(), theme.dim()),
    ]));
    let thought = (!reply.reasoning.is_empty()).then(|| {
        rows.push(Line::default());
        let tail = markdown::MarkdownTail::at(rows.len());
        extend_thought(reply, ReasoningTail { length: 0, newlines: 0, counted: 0, tail }, look, rows)
    });
    let text = markdown::MarkdownTail::at(rows.len());
    let text = markdown::extend(&reply.text, text, look.page(INDENT, theme.text()), most, rows);
    if reply.interrupted {
        lay_interrupted(look, rows);
    }
    (reply.open || text.more).then_some(ReplyLayoutTail { thought, text })
}

/// Lays out what was added to an open reply; what is final stays. `None`: all of it must be laid out again.
pub fn extend(
    reply: &AgentReplyItem,
    tail: ReplyLayoutTail,
    look: ItemLayoutOptions,
    most: usize,
    rows: &mut Vec<Line<'static>>,
) -> Option<ReplyLayoutTail> {
    let ReplyLayoutTail { thought, text } = tail;
    let (before, begun) = (thought.as_ref().map_or(0, |thought| thought.length), rows.len() > text.row);
    let mut tail = ReplyLayoutTail { thought, text };
    if before < reply.reasoning.len() {
        // it thinks on after it has spoken, or begins to
        if begun || before == 0 {
            return None;
        }
        tail.thought = tail.thought.map(|thought| extend_thought(reply, thought, look, rows));
        tail.text = markdown::MarkdownTail::at(rows.len());
    } else if !begun && !reply.text.is_empty() && tail.thought.is_some() {
        rows[THOUGHT] = reasoning_line(reply, &tail, look);
    }
    tail.text = markdown::extend(&reply.text, tail.text, look.page(INDENT, look.theme.text()), most, rows);
    if reply.interrupted {
        if tail.thought.is_some() {
            rows[THOUGHT] = reasoning_line(reply, &tail, look);
        }
        lay_interrupted(look, rows);
    }
    Some(tail)
}

fn lay_interrupted(look: ItemLayoutOptions, rows: &mut Vec<Line<'static>>) {
    lay_plain("— interrupted", look.theme.warning(), look.columns, INDENT, rows);
}

fn extend_thought(
    reply: &AgentReplyItem,
    thought: ReasoningTail,
    look: ItemLayoutOptions,
    rows: &mut Vec<Line<'static>>,
) -> ReasoningTail {
    let text = reply.reasoning.trim_end();
    let mut thought = thought;
    if text.len() > thought.counted {
        thought.newlines += text[thought.counted..].matches('\n').count();
        thought.counted = text.len();
    }
    thought.length = reply.reasoning.len();
    if look.details {
        thought.tail =
            markdown::extend(text, thought.tail, look.page(INDENT * 2, look.theme.dim()), usize::MAX, rows);
    }
    rows[THOUGHT] = line(reply, thought.newlines, look);
    thought
}

fn reasoning_line(reply: &AgentReplyItem, tail: &ReplyLayoutTail, look: ItemLayoutOptions) -> Line<'static> {
    line(reply, tail.thought.as_ref().map_or(0, |thought| thought.newlines), look)
}

fn line(reply: &AgentReplyItem, newlines: usize, look: ItemLayoutOptions) -> Line<'static> {
    let lines = thousands(newlines as u64 + 1);
    let plural = if newlines == 0 { "" } else { "s" };
    let verb = if reply.open && reply.text.is_empty() { "thinking" } else { "thought" };
    let hint = if look.details { "" } else { " (Ctrl+O)" };
    let text = format!("{:INDENT$}∴ {verb}, {lines} line{plural}{hint}", "");
    Line::styled(fit(&text, look.columns).into_owned(), look.theme.dim())
}
