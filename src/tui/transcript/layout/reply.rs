//! An agent's turn: its name, what it thought, what it says. While it streams only what may still change is laid out.

use ratatui::text::{Line, Span};

use crate::text::{display_width, fit_to_columns, format_thousands};
use crate::transcript::item::AgentReplyItem;
use crate::transcript::layout_options::{INDENT, ItemLayoutOptions, layout_plain};
use crate::transcript::markdown;

/// The position from which the layout of a streamed reply continues.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplyLayoutTail {
    reasoning_tail: Option<ReasoningTail>,
    text: markdown::MarkdownTail,
}

/// What is known of the reasoning.
#[derive(Clone, PartialEq, Eq, Debug)]
struct ReasoningTail {
    /// Bytes that are laid out.
    length: usize,
    /// Newlines up to a byte: nothing is counted twice.
    newlines: usize,
    counted_bytes: usize,
    tail: markdown::MarkdownTail,
}

/// The row of the reasoning's summary, below the name.
const THOUGHT: usize = 1;

impl ReplyLayoutTail {
    /// There is more than was laid out at once.
    pub fn has_more(&self) -> bool {
        self.text.has_more
    }
}

pub(super) fn layout_reply(
    reply: &AgentReplyItem,
    look: ItemLayoutOptions,
    most: usize,
    rows: &mut Vec<Line<'static>>,
) -> Option<ReplyLayoutTail> {
    let theme = look.theme;
    let mark = if reply.identity.is_known() { format!("{} ", reply.identity.mark()) } else { String::new() };
    let room = look.columns.saturating_sub(display_width(&mark));
    let name = format!("{mark}{}", fit_to_columns(&reply.agent, room));
    let room = look.columns.saturating_sub(display_width(&name));
    let branch = if reply.branch.is_empty() { String::new() } else { format!(" · {}", reply.branch) };
    let model = format!("{branch} {}", reply.model);
    rows.push(Line::from(vec![
        Span::styled(name, reply.identity.style(theme)),
        Span::styled(fit_to_columns(&model, room).into_owned(), theme.dim_style()),
    ]));
    let thought = (!reply.reasoning.is_empty()).then(|| {
        rows.push(Line::default());
        let tail = markdown::MarkdownTail::at_row(rows.len());
        extend_thought(reply, ReasoningTail { length: 0, newlines: 0, counted_bytes: 0, tail }, look, rows)
    });
    let text = markdown::MarkdownTail::at_row(rows.len());
    let text =
        markdown::extend_layout(&reply.text, text, look.text_options(INDENT, theme.text()), most, rows);
    if reply.interrupted {
        layout_interrupted(look, rows);
    }
    (reply.open || text.has_more).then_some(ReplyLayoutTail { reasoning_tail: thought, text })
}

/// Lays out what was added to an open reply; what is final stays. `None`: all of it must be laid out again.
pub fn extend_reply(
    reply: &AgentReplyItem,
    tail: ReplyLayoutTail,
    look: ItemLayoutOptions,
    most: usize,
    rows: &mut Vec<Line<'static>>,
) -> Option<ReplyLayoutTail> {
    let ReplyLayoutTail { reasoning_tail: thought, text } = tail;
    let (before, begun) = (thought.as_ref().map_or(0, |thought| thought.length), rows.len() > text.row);
    let mut tail = ReplyLayoutTail { reasoning_tail: thought, text };
    if before < reply.reasoning.len() {
        // reasoning arrives after the text, or for the first time
        if begun || before == 0 {
            return None;
        }
        tail.reasoning_tail = tail.reasoning_tail.map(|thought| extend_thought(reply, thought, look, rows));
        tail.text = markdown::MarkdownTail::at_row(rows.len());
    } else if !begun && !reply.text.is_empty() && tail.reasoning_tail.is_some() {
        rows[THOUGHT] = reasoning_line(reply, &tail, look);
    }
    tail.text = markdown::extend_layout(
        &reply.text,
        tail.text,
        look.text_options(INDENT, look.theme.text()),
        most,
        rows,
    );
    if reply.interrupted {
        if tail.reasoning_tail.is_some() {
            rows[THOUGHT] = reasoning_line(reply, &tail, look);
        }
        layout_interrupted(look, rows);
    }
    Some(tail)
}

fn layout_interrupted(look: ItemLayoutOptions, rows: &mut Vec<Line<'static>>) {
    layout_plain("— interrupted", look.theme.warning_style(), look.columns, INDENT, rows);
}

fn extend_thought(
    reply: &AgentReplyItem,
    thought: ReasoningTail,
    look: ItemLayoutOptions,
    rows: &mut Vec<Line<'static>>,
) -> ReasoningTail {
    let text = reply.reasoning.trim_end();
    let mut thought = thought;
    if text.len() > thought.counted_bytes {
        thought.newlines += text[thought.counted_bytes..].matches('\n').count();
        thought.counted_bytes = text.len();
    }
    thought.length = reply.reasoning.len();
    if look.details {
        thought.tail = markdown::extend_layout(
            text,
            thought.tail,
            look.text_options(INDENT * 2, look.theme.dim_style()),
            usize::MAX,
            rows,
        );
    }
    rows[THOUGHT] = reply_line(reply, thought.newlines, look);
    thought
}

fn reasoning_line(reply: &AgentReplyItem, tail: &ReplyLayoutTail, look: ItemLayoutOptions) -> Line<'static> {
    reply_line(reply, tail.reasoning_tail.as_ref().map_or(0, |thought| thought.newlines), look)
}

fn reply_line(reply: &AgentReplyItem, newlines: usize, look: ItemLayoutOptions) -> Line<'static> {
    let lines = format_thousands(newlines as u64 + 1);
    let plural = if newlines == 0 { "" } else { "s" };
    let verb = if reply.open && reply.text.is_empty() { "thinking" } else { "thought" };
    let hint = if look.details { "" } else { " (Ctrl+O)" };
    let text = format!("{:INDENT$}∴ {verb}, {lines} line{plural}{hint}", "");
    Line::styled(fit_to_columns(&text, look.columns).into_owned(), look.theme.dim_style())
}
