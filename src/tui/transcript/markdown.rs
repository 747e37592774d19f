//! Markdown for answers: headings, lists, tasks, quotes, tables, rules, fenced code, and marks inside of lines.
//!
//! Works line by line and returns where it can continue: while an answer streams, what can no longer change is laid out
//! once, however long it becomes. Line breaks stay as they are written. A line of more than some thousand bytes is cut,
//! so that the open end is always small. Refuses: HTML (shown as it is), marks across lines.

use std::borrow::Cow;
use std::sync::Arc;

use ratatui::text::Line;

use super::diff::diff_style;
use super::highlight::{self, HighlightState, LanguageSyntax};
use super::line_wrap::{LinePrefix, TextLayoutOptions, blank_columns, push_wrapped};
use crate::text::display_width;
use inline::inline_pieces;
use segments::{LineSegment, parse_segment};
use table::MarkdownTable;

mod inline;
mod segments;
mod table;

/// The position from which the layout of a text continues: everything before it is final.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MarkdownTail {
    pub row: usize,
    byte: usize,
    state: MarkdownState,
    /// There is more than was laid out at once.
    pub has_more: bool,
}

/// What earlier lines say about the next.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct MarkdownState {
    open_fence: Option<CodeFence>,
    /// With the quotes around it.
    table: Option<(Arc<MarkdownTable>, usize)>,
    /// The next segment continues a line.
    continues_line: bool,
}

/// An open block of code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct CodeFence {
    fence_byte: u8,
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
/// Columns that a wrapped line of code is indented by, besides its own indentation.
const CODE_HANG: usize = 2;
/// The widest indentation of a list that is kept.
const DEEPEST: usize = 24;

impl MarkdownTail {
    pub fn at_row(row: usize) -> Self {
        Self { row, ..Self::default() }
    }
}

/// Lays out a cleaned text.
pub fn layout_markdown(text: &str, page: TextLayoutOptions, rows: &mut Vec<Line<'static>>) {
    extend_layout(text, MarkdownTail::at_row(rows.len()), page, usize::MAX, rows);
}

/// Lays out what came since `tail`, and no more than about `most` bytes of it; empty lines at both ends are left out.
pub fn extend_layout(
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
    tail.has_more = false;
    if tail.byte >= text.len() {
        return tail;
    }
    let until = tail.byte.saturating_add(most);
    MarkdownLayouter {
        text,
        page,
        layout_end: until,
        state: tail.state.clone(),
        settled_tail: tail,
        held_tail: None,
        rows,
    }
    .layout_text()
}

struct MarkdownLayouter<'a, 'r> {
    text: &'a str,
    page: TextLayoutOptions,
    /// No line that begins here or later is laid out now.
    layout_end: usize,
    state: MarkdownState,
    settled_tail: MarkdownTail,
    /// What the line before may still become depends on this one: until it is whole, nothing after this is settled.
    held_tail: Option<MarkdownTail>,
    rows: &'r mut Vec<Line<'static>>,
}

impl<'a> MarkdownLayouter<'a, '_> {
    fn layout_text(mut self) -> MarkdownTail {
        let mut next = Some(self.settled_tail.byte);
        while let Some(start) = next {
            let here = MarkdownTail {
                row: self.rows.len(),
                byte: start,
                state: self.state.clone(),
                has_more: false,
            };
            if start >= self.layout_end {
                return MarkdownTail { has_more: true, ..here };
            }
            let segment = parse_segment(self.text, start);
            self.settled_tail = match self.held_tail.take() {
                Some(held) if segment.next_start.is_none() => held,
                _ => here.clone(),
            };
            let within = std::mem::replace(&mut self.state.continues_line, segment.is_continued);
            next = segment.next_start;
            if within {
                self.continue_line(segment.text);
            } else if let Some(end) = self.layout_table(&segment, &here) {
                next = end;
            } else {
                self.layout_line(segment.text);
            }
        }
        self.settled_tail
    }

    /// A later part of a line that was cut.
    fn continue_line(&mut self, text: &'a str) {
        if text.is_empty() {
            return;
        }
        match self.state.open_fence.take() {
            Some(mut fence) => {
                self.layout_code(text, &mut fence);
                self.state.open_fence = Some(fence);
            }
            None => {
                let left = self.gutter_text(0);
                let lead =
                    LinePrefix { style: self.page.theme.dim_style(), first_row: &left, other_rows: &left };
                push_wrapped(
                    &inline_pieces(text, self.page.base, self.page.theme),
                    lead,
                    self.page.prose_columns(),
                    self.rows,
                );
            }
        }
    }

    /// A table that begins here, as far as it has a say in its widths; gives where to read on.
    fn layout_table(&mut self, segment: &LineSegment<'a>, here: &MarkdownTail) -> Option<Option<usize>> {
        let (depth, header) = count_quotes(segment.text, QUOTES);
        if self.state.open_fence.is_some()
            || self.state.table.is_some()
            || segment.is_continued
            || !table::is_row(header)
        {
            return None;
        }
        let second = segment.next_start.map(|next| self.segment_from(next))?;
        let (rule_depth, rule) = count_quotes(second.text, QUOTES);
        if second.next_start.is_none() {
            // it is not whole
            self.held_tail = Some(here.clone());
        }
        let room = self.room_at_depth(depth);
        let mut table = MarkdownTable::parse_header(header, rule, room).filter(|_| rule_depth == depth)?;
        let mut lines = vec![header];
        let mut next = second.next_start;
        while let Some(row) =
            next.map(|next| self.segment_from(next)).filter(|_| lines.len() < table::MEASURED)
        {
            let (row_depth, text) = count_quotes(row.text, QUOTES);
            if row_depth != depth || row.is_continued || !table::is_row(text) {
                break;
            }
            lines.push(text);
            next = row.next_start;
        }
        table.measure_columns(lines.iter().copied(), room);
        self.state.table = Some((Arc::new(table), depth));
        for (at, line) in lines.iter().enumerate() {
            self.layout_row(line, depth, at == 0);
        }
        if lines.len() < table::MEASURED {
            self.held_tail = Some(here.clone());
        }
        if next.is_none() {
            self.settled_tail = here.clone();
        }
        Some(next)
    }

    fn segment_from(&self, start: usize) -> LineSegment<'a> {
        parse_segment(self.text, start)
    }

    fn layout_row(&mut self, line: &str, depth: usize, header: bool) {
        let Some((table, _)) = self.state.table.clone() else { return };
        let left = self.gutter_text(depth);
        let lead = LinePrefix { style: self.page.theme.dim_style(), first_row: &left, other_rows: &left };
        table.layout_row(line, self.page.base, header, lead, self.page.theme, self.rows);
    }

    /// A whole line, or its first part.
    fn layout_line(&mut self, line: &'a str) {
        if let Some(mut fence) = self.state.open_fence.take() {
            let (depth, text) = count_quotes(line, fence.depth);
            if depth == fence.depth {
                if !closes_fence(text, &fence) {
                    self.layout_code(text, &mut fence);
                    self.state.open_fence = Some(fence);
                }
                return;
            }
        }
        let (depth, text) = count_quotes(line, QUOTES);
        self.state.table =
            self.state.table.take().filter(|(_, around)| *around == depth && table::is_row(text));
        if self.state.table.is_some() {
            return self.layout_row(text, depth, false);
        }
        if let Some((fence, language)) = opening_fence(text, depth) {
            self.state.open_fence = Some(fence);
            if !language.is_empty() {
                let left = format!("{}  ", self.gutter_text(depth));
                let lead =
                    LinePrefix { style: self.page.theme.dim_style(), first_row: &left, other_rows: &left };
                push_wrapped(&[(self.page.theme.dim_style(), language)], lead, self.page.columns, self.rows);
            }
            return;
        }
        self.layout_block(text, depth);
    }

    fn layout_code(&mut self, line: &str, fence: &mut CodeFence) {
        let own = line.len() - line.trim_start_matches(' ').len();
        let line = &line[own.min(fence.indent)..];
        let (base, theme) = (self.page.base, self.page.theme);
        let pieces = match &mut fence.code {
            CodeFenceKind::Plain => vec![(base.patch(theme.accent_style()), line)],
            CodeFenceKind::Diff => vec![(base.patch(diff_style(line, theme)), line)],
            CodeFenceKind::Known(language, lex) => {
                highlight::highlight_line(line, language, lex, base, theme)
            }
        };
        let left = format!("{}  ", self.gutter_text(fence.depth));
        // what wraps stands below its line, a little to the right
        let hang = (own.saturating_sub(fence.indent) + CODE_HANG).min(DEEPEST);
        let others = format!("{left}{}", blank_columns(hang));
        push_wrapped(
            &pieces,
            LinePrefix { style: theme.dim_style(), first_row: &left, other_rows: &others },
            self.page.columns,
            self.rows,
        );
    }

    /// Headings, rules, items of lists, paragraphs.
    fn layout_block(&mut self, text: &'a str, depth: usize) {
        let theme = self.page.theme;
        let gutter = self.gutter_text(depth);
        let own = text.len() - text.trim_start_matches(' ').len();
        let body = &text[own..];
        let lead = LinePrefix { style: theme.dim_style(), first_row: &gutter, other_rows: &gutter };
        if let Some((level, title)) = parse_heading(body) {
            let style = self.page.base.patch(theme.bold_style());
            let style = if level <= 2 { style.patch(theme.accent_style()) } else { style };
            return push_wrapped(
                &inline_pieces(title, style, theme),
                lead,
                self.page.prose_columns(),
                self.rows,
            );
        }
        if is_rule(body) {
            let room = self
                .room_at_depth(depth)
                .min(self.page.prose_columns().saturating_sub(display_width(&gutter)));
            let line = "─".repeat(room);
            return push_wrapped(&[(theme.dim_style(), &line)], lead, self.page.prose_columns(), self.rows);
        }
        let own = own.min(DEEPEST);
        let left = format!("{gutter}{}", blank_columns(own));
        let (mark, rest) = list_marker(body).unwrap_or((Cow::Borrowed(""), body));
        let others = format!("{left}{}", blank_columns(display_width(&mark)));
        let mut pieces = vec![(self.page.base, &*mark)];
        pieces.extend(inline_pieces(rest, self.page.base, theme));
        push_wrapped(
            &pieces,
            LinePrefix { style: theme.dim_style(), first_row: &left, other_rows: &others },
            self.page.prose_columns(),
            self.rows,
        );
    }

    /// The free columns on the left, and a bar for each quote.
    fn gutter_text(&self, depth: usize) -> Cow<'static, str> {
        let free = blank_columns(self.page.indent);
        if depth == 0 { Cow::Borrowed(free) } else { Cow::Owned(format!("{free}{}", "│ ".repeat(depth))) }
    }

    fn room_at_depth(&self, depth: usize) -> usize {
        self.page.columns.saturating_sub(self.page.indent + 2 * depth)
    }
}

/// How many quotes enclose a line, at most so many, and the rest of the line.
fn count_quotes(line: &str, most: usize) -> (usize, &str) {
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

fn opening_fence(text: &str, depth: usize) -> Option<(CodeFence, &str)> {
    let body = text.trim_start_matches(' ');
    let mark = body.bytes().next().filter(|byte| matches!(byte, b'`' | b'~'))?;
    let length = body.bytes().take_while(|byte| *byte == mark).count();
    let info = body[length..].trim();
    if length < 3 || mark == b'`' && info.contains('`') {
        return None;
    }
    let name = info.split([' ', ',', '{']).next().unwrap_or_default();
    let code = match highlight::find_language(name) {
        _ if matches!(name, "diff" | "patch") => CodeFenceKind::Diff,
        Some(language) => CodeFenceKind::Known(language, HighlightState::default()),
        None => CodeFenceKind::Plain,
    };
    Some((CodeFence { fence_byte: mark, length, indent: text.len() - body.len(), depth, code }, info))
}

fn closes_fence(text: &str, fence: &CodeFence) -> bool {
    let body = text.trim();
    body.len() >= fence.length && body.bytes().all(|byte| byte == fence.fence_byte)
}

fn parse_heading(body: &str) -> Option<(usize, &str)> {
    let level = body.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &body[level..];
    if !(1..=6).contains(&level) || !rest.starts_with(' ') {
        return None;
    }
    let title = rest.trim();
    let bare = title.trim_end_matches('#');
    // closing hashes are set apart by a space
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
fn list_marker(body: &str) -> Option<(Cow<'_, str>, &str)> {
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
