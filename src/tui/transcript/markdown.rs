//! Markdown for answers: headings, lists, tasks, quotes, tables, rules, fenced code, and marks inside of lines.
//!
//! Works line by line and says where it can go on: while an answer streams, what can no longer change is laid out once,
//! however long it becomes. Line breaks stay as they are written. A line of more than some thousand bytes is cut, so
//! that the open end is always small. Refuses: HTML (shown as it is), marks across lines.

use std::borrow::Cow;
use std::sync::Arc;

use ratatui::text::Line;

use super::diff::diff_style;
use super::highlight::{self, HighlightState, LanguageSyntax};
use super::line_wrap::{LinePrefix, TextLayoutOptions, blank, put};
use crate::text::width;
use inline::inline;
use segments::{LineSegment, segment};
use table::MarkdownTable;

mod inline;
mod segments;
mod table;

/// Where a text goes on: everything before is final.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MarkdownTail {
    pub row: usize,
    byte: usize,
    state: MarkdownState,
    /// There is more than was laid out at once.
    pub more: bool,
}

/// What earlier lines say about the next.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct MarkdownState {
    fence: Option<CodeFence>,
    /// With the quotes around it.
    table: Option<(Arc<MarkdownTable>, usize)>,
    /// The next segment goes on with a line.
    within: bool,
}

/// An open block of code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct CodeFence {
    mark: u8,
    length: usize,
    indent: usize,
    /// Quotes around it.
    depth: usize,
    code: CodeFenceKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CodeFenceKind {
    Plain,
    Diff,
    Known(&'static LanguageSyntax, HighlightState),
}

/// Quotes deeper than this look alike.
const QUOTES: usize = 8;
/// The widest indentation of a list that is kept.
const DEEPEST: usize = 24;

impl MarkdownTail {
    pub fn at(row: usize) -> Self {
        Self { row, ..Self::default() }
    }
}

/// Lays out a cleaned text.
pub fn layout(text: &str, page: TextLayoutOptions, rows: &mut Vec<Line<'static>>) {
    extend(text, MarkdownTail::at(rows.len()), page, usize::MAX, rows);
}

/// Lays out what came since `tail`, and no more than about `most` bytes of it; empty lines at both ends are left out.
pub fn extend(
    text: &str,
    tail: MarkdownTail,
    page: TextLayoutOptions,
    most: usize,
    rows: &mut Vec<Line<'static>>,
) -> MarkdownTail {
    let text = text.trim_end();
    let mut tail = tail;
    rows.truncate(tail.row);
    if tail.byte == 0 {
        tail.byte = text.len() - text.trim_start_matches('\n').len();
    }
    tail.more = false;
    if tail.byte >= text.len() {
        return tail;
    }
    let until = tail.byte.saturating_add(most);
    MarkdownLayouter { text, page, until, state: tail.state.clone(), settled: tail, hold: None, rows }.read()
}

struct MarkdownLayouter<'a, 'r> {
    text: &'a str,
    page: TextLayoutOptions,
    /// No line that begins here or later is laid out now.
    until: usize,
    state: MarkdownState,
    settled: MarkdownTail,
    /// What the line before may still become depends on this one: until it is whole, nothing after this is settled.
    hold: Option<MarkdownTail>,
    rows: &'r mut Vec<Line<'static>>,
}

impl<'a> MarkdownLayouter<'a, '_> {
    fn read(mut self) -> MarkdownTail {
        let mut next = Some(self.settled.byte);
        while let Some(start) = next {
            let here =
                MarkdownTail { row: self.rows.len(), byte: start, state: self.state.clone(), more: false };
            if start >= self.until {
                return MarkdownTail { more: true, ..here };
            }
            let segment = segment(self.text, start);
            self.settled = match self.hold.take() {
                Some(held) if segment.next.is_none() => held,
                _ => here.clone(),
            };
            let within = std::mem::replace(&mut self.state.within, segment.broken);
            next = segment.next;
            if within {
                self.go_on(segment.text);
            } else if let Some(end) = self.table(&segment, &here) {
                next = end;
            } else {
                self.line(segment.text);
            }
        }
        self.settled
    }

    /// A later part of a line that was cut.
    fn go_on(&mut self, text: &'a str) {
        if text.is_empty() {
            return;
        }
        match self.state.fence.take() {
            Some(mut fence) => {
                self.code(text, &mut fence);
                self.state.fence = Some(fence);
            }
            None => {
                let left = self.gutter(0);
                let lead = LinePrefix { style: self.page.theme.dim(), first: &left, rest: &left };
                put(&inline(text, self.page.base, self.page.theme), lead, self.page.columns, self.rows);
            }
        }
    }

    /// A table that begins here, as far as it has a say in its widths; gives where to read on.
    fn table(&mut self, segment: &LineSegment<'a>, here: &MarkdownTail) -> Option<Option<usize>> {
        let (depth, header) = quoted(segment.text, QUOTES);
        if self.state.fence.is_some()
            || self.state.table.is_some()
            || segment.broken
            || !table::is_row(header)
        {
            return None;
        }
        let second = segment.next.map(|next| self.segment_of(next))?;
        let (rule_depth, rule) = quoted(second.text, QUOTES);
        if second.next.is_none() {
            // it is not whole
            self.hold = Some(here.clone());
        }
        let room = self.room(depth);
        let mut table = MarkdownTable::parse_header(header, rule, room).filter(|_| rule_depth == depth)?;
        let mut lines = vec![header];
        let mut next = second.next;
        while let Some(row) = next.map(|next| self.segment_of(next)).filter(|_| lines.len() < table::MEASURED)
        {
            let (row_depth, text) = quoted(row.text, QUOTES);
            if row_depth != depth || row.broken || !table::is_row(text) {
                break;
            }
            lines.push(text);
            next = row.next;
        }
        table.measure(lines.iter().copied(), room);
        self.state.table = Some((Arc::new(table), depth));
        for (at, line) in lines.iter().enumerate() {
            self.row(line, depth, at == 0);
        }
        if lines.len() < table::MEASURED {
            self.hold = Some(here.clone());
        }
        if next.is_none() {
            self.settled = here.clone();
        }
        Some(next)
    }

    fn segment_of(&self, start: usize) -> LineSegment<'a> {
        segment(self.text, start)
    }

    fn row(&mut self, line: &str, depth: usize, header: bool) {
        let Some((table, _)) = self.state.table.clone() else { return };
        let left = self.gutter(depth);
        let lead = LinePrefix { style: self.page.theme.dim(), first: &left, rest: &left };
        table.put(line, (self.page.base, header), lead, self.page.theme, self.rows);
    }

    /// A whole line, or its first part.
    fn line(&mut self, line: &'a str) {
        if let Some(mut fence) = self.state.fence.take() {
            let (depth, text) = quoted(line, fence.depth);
            if depth == fence.depth {
                if !closes(text, &fence) {
                    self.code(text, &mut fence);
                    self.state.fence = Some(fence);
                }
                return;
            }
        }
        let (depth, text) = quoted(line, QUOTES);
        self.state.table =
            self.state.table.take().filter(|(_, around)| *around == depth && table::is_row(text));
        if self.state.table.is_some() {
            return self.row(text, depth, false);
        }
        if let Some((fence, language)) = opens(text, depth) {
            self.state.fence = Some(fence);
            if !language.is_empty() {
                let left = format!("{}  ", self.gutter(depth));
                let lead = LinePrefix { style: self.page.theme.dim(), first: &left, rest: &left };
                put(&[(self.page.theme.dim(), language)], lead, self.page.columns, self.rows);
            }
            return;
        }
        self.block(text, depth);
    }

    fn code(&mut self, line: &str, fence: &mut CodeFence) {
        let own = line.len() - line.trim_start_matches(' ').len();
        let line = &line[own.min(fence.indent)..];
        let (base, theme) = (self.page.base, self.page.theme);
        let pieces = match &mut fence.code {
            CodeFenceKind::Plain => vec![(base.patch(theme.accent()), line)],
            CodeFenceKind::Diff => vec![(base.patch(diff_style(line, theme)), line)],
            CodeFenceKind::Known(language, lex) => highlight::pieces(line, language, lex, base, theme),
        };
        let left = format!("{}  ", self.gutter(fence.depth));
        put(
            &pieces,
            LinePrefix { style: theme.dim(), first: &left, rest: &left },
            self.page.columns,
            self.rows,
        );
    }

    /// Headings, rules, items of lists, paragraphs.
    fn block(&mut self, text: &'a str, depth: usize) {
        let theme = self.page.theme;
        let gutter = self.gutter(depth);
        let own = text.len() - text.trim_start_matches(' ').len();
        let body = &text[own..];
        let lead = LinePrefix { style: theme.dim(), first: &gutter, rest: &gutter };
        if let Some((level, title)) = heading(body) {
            let style = self.page.base.patch(theme.bold());
            let style = if level <= 2 { style.patch(theme.accent()) } else { style };
            return put(&inline(title, style, theme), lead, self.page.columns, self.rows);
        }
        if is_rule(body) {
            let line = "─".repeat(self.room(depth));
            return put(&[(theme.dim(), &line)], lead, self.page.columns, self.rows);
        }
        let own = own.min(DEEPEST);
        let left = format!("{gutter}{}", blank(own));
        let (mark, rest) = marker(body).unwrap_or((Cow::Borrowed(""), body));
        let others = format!("{left}{}", blank(width(&mark)));
        let mut pieces = vec![(self.page.base, &*mark)];
        pieces.extend(inline(rest, self.page.base, theme));
        put(
            &pieces,
            LinePrefix { style: theme.dim(), first: &left, rest: &others },
            self.page.columns,
            self.rows,
        );
    }

    /// The free columns on the left, and a bar for each quote.
    fn gutter(&self, depth: usize) -> Cow<'static, str> {
        let free = blank(self.page.indent);
        if depth == 0 { Cow::Borrowed(free) } else { Cow::Owned(format!("{free}{}", "│ ".repeat(depth))) }
    }

    fn room(&self, depth: usize) -> usize {
        self.page.columns.saturating_sub(self.page.indent + 2 * depth)
    }
}

/// How many quotes a line stands in, at most so many, and what is left of it.
fn quoted(line: &str, most: usize) -> (usize, &str) {
    let (mut depth, mut rest) = (0, line);
    while depth < most {
        let body = rest.trim_start_matches(' ');
        match body.strip_prefix('>') {
            Some(inner) if rest.len() - body.len() < 4 => {
                rest = inner.strip_prefix(' ').unwrap_or(inner);
                depth += 1;
            }
            _ => break,
        }
    }
    (depth, rest)
}

fn opens(text: &str, depth: usize) -> Option<(CodeFence, &str)> {
    let body = text.trim_start_matches(' ');
    let mark = body.bytes().next().filter(|byte| matches!(byte, b'`' | b'~'))?;
    let length = body.bytes().take_while(|byte| *byte == mark).count();
    let info = body[length..].trim();
    if length < 3 || mark == b'`' && info.contains('`') {
        return None;
    }
    let name = info.split([' ', ',', '{']).next().unwrap_or_default();
    let code = match highlight::language(name) {
        _ if matches!(name, "diff" | "patch") => CodeFenceKind::Diff,
        Some(language) => CodeFenceKind::Known(language, HighlightState::default()),
        None => CodeFenceKind::Plain,
    };
    Some((CodeFence { mark, length, indent: text.len() - body.len(), depth, code }, info))
}

fn closes(text: &str, fence: &CodeFence) -> bool {
    let body = text.trim();
    body.len() >= fence.length && body.bytes().all(|byte| byte == fence.mark)
}

fn heading(body: &str) -> Option<(usize, &str)> {
    let level = body.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &body[level..];
    if !(1..=6).contains(&level) || !rest.starts_with(' ') {
        return None;
    }
    let title = rest.trim();
    let bare = title.trim_end_matches('#');
    // hashes that close it stand apart
    Some((level, if bare.ends_with(' ') || bare.is_empty() { bare.trim_end() } else { title }))
}

/// `---`, `* * *`
fn is_rule(body: &str) -> bool {
    let mut marks = body.bytes().filter(|byte| *byte != b' ');
    let Some(mark) = marks.next().filter(|byte| matches!(byte, b'-' | b'*' | b'_')) else { return false };
    let mut count = 1;
    marks.all(|byte| {
        count += 1;
        byte == mark
    }) && count >= 3
}

/// The marker of a list's item as it is shown, and what follows.
fn marker(body: &str) -> Option<(Cow<'_, str>, &str)> {
    let digits = body.bytes().take_while(u8::is_ascii_digit).count();
    let bullet = matches!(body.as_bytes().first(), Some(b'-' | b'*' | b'+'));
    let length = match body.as_bytes().get(digits) {
        Some(b'.' | b')') if (1..=9).contains(&digits) => digits + 1,
        _ if bullet => 1,
        _ => return None,
    };
    let rest = body[length..].strip_prefix(' ')?;
    if !bullet {
        return Some((Cow::Borrowed(&body[..=length]), rest));
    }
    let task = |mark: &str| rest.strip_prefix(mark);
    Some(match (task("[ ] "), task("[x] ").or_else(|| task("[X] "))) {
        (Some(rest), _) => ("☐ ".into(), rest),
        (_, Some(rest)) => ("☑ ".into(), rest),
        _ => ("- ".into(), rest),
    })
}

#[cfg(test)]
mod tests;
