//! From an item to its rows at one width.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::item::{Block, Body, Item, Reply, Tone, ToolItem, ToolStatus};
use super::markdown;
use crate::domain::tool::body_of;
use crate::tui::text::{counted, fit, one_line, thousands, width, wrap};
use crate::tui::theme::Theme;

/// Everything the look of an item depends on, besides the item.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Look {
    pub columns: usize,
    /// Full tool output, reasoning and data changes (Ctrl+O).
    pub details: bool,
    pub theme: Theme,
}

/// Where a stream goes on: its last row and the byte of the text that this row starts with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tail {
    pub row: usize,
    pub byte: usize,
}

const INDENT: usize = 2;

/// A person's text with more lines than this is shown by its first ones.
const FOLD_FROM: usize = 40;
const FOLD_SHOWN: usize = 10;

/// Lines of a failed tool's output that are always shown.
const FAILED_SHOWN: usize = 3;

/// The rows of an item; an open reply also says where appended text goes on.
pub fn layout(item: &Item, look: Look) -> (Vec<Line<'static>>, Option<Tail>) {
    let mut rows = Vec::new();
    let mut tail = None;
    match item {
        Item::Block(block) => lay_block(block, look, &mut rows),
        Item::Reply(reply) => tail = lay_reply(reply, look, &mut rows),
        Item::Tool(tool) => lay_tool(tool, look, &mut rows),
        Item::Line { tone, text } => {
            lay_plain(text, style_of(*tone, look.theme), look.columns, INDENT, &mut rows);
        }
        Item::Rule(text) => rows.push(rule(text, look)),
        Item::Detail(text) if look.details => {
            lay_plain(text, look.theme.dim(), look.columns, INDENT, &mut rows);
        }
        Item::Detail(_) => {}
    }
    (rows, tail)
}

/// Lays out what was appended to an open reply since `tail`; earlier rows stay.
pub fn extend(reply: &Reply, tail: Tail, columns: usize, rows: &mut Vec<Line<'static>>) -> Tail {
    rows.truncate(tail.row);
    let mut tail = tail;
    let mut start = tail.byte;
    for line in reply.text[tail.byte..].split('\n') {
        for row in wrap(line, columns.saturating_sub(INDENT)) {
            tail = Tail { row: rows.len(), byte: start + row.start };
            rows.push(Line::raw(format!("{:INDENT$}{}", "", &line[row])));
        }
        start += line.len() + 1;
    }
    tail
}

fn lay_block(block: &Block, look: Look, rows: &mut Vec<Line<'static>>) {
    let theme = look.theme;
    if !block.title.is_empty() {
        let style = style_of(block.tone, theme).patch(theme.bold());
        markdown::push(&[(style, &block.title)], look.columns, 0, INDENT, rows);
    }
    if let Some((shown, hidden)) = folded(block, look) {
        lay_plain(shown, theme.text(), look.columns, INDENT, rows);
        let more = format!("… {} (Ctrl+O)", counted(hidden as u64, "more line"));
        lay_plain(&more, theme.dim(), look.columns, INDENT, rows);
    } else if !block.body.is_empty() {
        match block.style {
            Body::Plain => lay_plain(&block.body, theme.text(), look.columns, INDENT, rows),
            Body::Dim => lay_plain(&block.body, theme.dim(), look.columns, INDENT, rows),
            Body::Markdown => markdown::layout(&block.body, look.columns, INDENT, theme, rows),
            Body::Diff => {
                for line in block.body.split('\n') {
                    lay_plain(line, diff_style(line, theme), look.columns, INDENT, rows);
                }
            }
        }
    }
    for line in &block.foot {
        lay_plain(line, theme.dim(), look.columns, INDENT, rows);
    }
}

/// The beginning of a long text that a person pasted, and how many lines are hidden: it is no news to them.
fn folded(block: &Block, look: Look) -> Option<(&str, usize)> {
    if look.details || block.tone != Tone::Human {
        return None;
    }
    let (end, _) = block.body.match_indices('\n').nth(FOLD_SHOWN - 1)?;
    let hidden = block.body[end + 1..].split('\n').count();
    (FOLD_SHOWN + hidden > FOLD_FROM).then(|| (&block.body[..end], hidden))
}

/// Colours of a unified diff's line.
pub fn diff_style(line: &str, theme: Theme) -> Style {
    match line.as_bytes().first() {
        Some(b'+') => theme.good(),
        Some(b'-') => theme.bad(),
        Some(b'@') => theme.accent(),
        _ => theme.text(),
    }
}

fn lay_reply(reply: &Reply, look: Look, rows: &mut Vec<Line<'static>>) -> Option<Tail> {
    let theme = look.theme;
    let name = Span::styled(reply.agent.clone(), theme.seat(reply.side));
    let room = look.columns.saturating_sub(width(&reply.agent));
    let branch = if reply.branch.is_empty() { String::new() } else { format!(" · {}", reply.branch) };
    let model = format!("{branch} {}", reply.model);
    rows.push(Line::from(vec![name, Span::styled(fit(&model, room).into_owned(), theme.dim())]));
    lay_reasoning(reply, look, rows);
    if reply.open {
        let tail = Tail { row: rows.len(), byte: 0 };
        return Some(extend(reply, tail, look.columns, rows));
    }
    if !reply.text.is_empty() {
        markdown::layout(&reply.text, look.columns, INDENT, theme, rows);
    }
    if reply.interrupted {
        lay_plain("— interrupted", theme.warning(), look.columns, INDENT, rows);
    }
    None
}

fn lay_reasoning(reply: &Reply, look: Look, rows: &mut Vec<Line<'static>>) {
    if reply.reasoning.is_empty() {
        return;
    }
    let lines = thousands(reply.reasoning.trim_end().split('\n').count() as u64);
    let plural = if lines == "1" { "" } else { "s" };
    let verb = if reply.open && reply.text.is_empty() { "thinking" } else { "thought" };
    let hint = if look.details { "" } else { " (Ctrl+O)" };
    let title = format!("∴ {verb}, {lines} line{plural}{hint}");
    lay_plain(&title, look.theme.dim(), look.columns, INDENT, rows);
    if look.details {
        lay_plain(reply.reasoning.trim_end(), look.theme.dim(), look.columns, INDENT * 2, rows);
    }
}

fn lay_tool(tool: &ToolItem, look: Look, rows: &mut Vec<Line<'static>>) {
    let theme = look.theme;
    let (mark, style) = match tool.status {
        ToolStatus::Running => ("•", theme.dim()),
        ToolStatus::Done => ("✓", theme.good()),
        ToolStatus::Failed => ("✗", theme.bad()),
        ToolStatus::Stopped => ("✗", theme.warning()),
    };
    let mut room = look.columns.saturating_sub(INDENT + 2);
    let name = fit(&tool.tool, room).into_owned();
    room = room.saturating_sub(width(&name) + 1);
    // The result matters more than the arguments: they get what is left.
    let result = match tool.status {
        ToolStatus::Running => " — running".to_owned(),
        ToolStatus::Stopped => " — interrupted".to_owned(),
        _ if tool.summary.is_empty() => String::new(),
        _ => format!(" — {}", one_line(&tool.summary)),
    };
    let least = width(&tool.arguments).min(room / 2);
    let result = fit(&result, room - least).into_owned();
    let arguments = fit(&tool.arguments, room.saturating_sub(width(&result))).into_owned();
    rows.push(Line::from(vec![
        Span::styled(format!("{:INDENT$}{mark} ", ""), style),
        Span::styled(format!("{name} "), theme.bold()),
        Span::raw(arguments),
        Span::styled(result, theme.dim()),
    ]));
    if look.details && !tool.content.is_empty() {
        let shown = body_of(tool.content.trim_end());
        if !shown.is_empty() {
            lay_plain(shown, theme.dim(), look.columns, INDENT * 2, rows);
        }
    } else if tool.status == ToolStatus::Failed
        && let Some(words) = last_words(&tool.content)
    {
        lay_plain(&words, theme.dim(), look.columns, INDENT * 2, rows);
    }
}

/// The end of what a failed tool printed, which mostly says why.
fn last_words(content: &str) -> Option<String> {
    let printed: Vec<&str> =
        body_of(content.trim_end()).split('\n').filter(|line| !line.trim().is_empty()).collect();
    let hidden = printed.len().saturating_sub(FAILED_SHOWN);
    let more = (hidden > 0).then(|| format!("… {} (Ctrl+O)", counted(hidden as u64, "more line")));
    let shown = printed[hidden..].iter().map(|line| (*line).to_owned());
    let lines: Vec<String> = more.into_iter().chain(shown).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn lay_plain(text: &str, style: Style, columns: usize, indent: usize, rows: &mut Vec<Line<'static>>) {
    for line in text.split('\n') {
        let own = line.len() - line.trim_start_matches(' ').len();
        markdown::push(&[(style, line)], columns, indent, own, rows);
    }
}

fn rule(text: &str, look: Look) -> Line<'static> {
    let text = fit(text, look.columns.saturating_sub(4)).into_owned();
    let fill = look.columns.saturating_sub(width(&text) + 4);
    Line::styled(format!("── {text} {}", "─".repeat(fill)), look.theme.dim())
}

fn style_of(tone: Tone, theme: Theme) -> Style {
    match tone {
        Tone::Plain => theme.text(),
        Tone::Dim => theme.dim(),
        Tone::Human => theme.human(),
        Tone::Accent => theme.accent(),
        Tone::Good => theme.good(),
        Tone::Warning => theme.warning(),
        Tone::Bad => theme.bad(),
    }
}
