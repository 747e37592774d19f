//! Text for the screen: removes escape sequences, wraps long lines, formats numbers.
//!
//! Every text of a model, a tool or a file passes `clean_text` (or `reveal_controls` where the user decides about it)
//! before layout: output is data, and must not control the terminal.

use std::borrow::Cow;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

pub use synthdev_domain::number_format::{
    format_count, format_dollars, format_duration, format_thousands, format_whole_seconds, short_number,
};
use synthdev_domain::terminal_safe;

/// How full a model's window is: `34 % of 128k`, and `<1 % of 1.0M` while there is little in it.
pub fn window_fill_text(used: u64, window: u64) -> String {
    let percent = match used.saturating_mul(100) / window.max(1) {
        0 if used > 0 => "<1".to_owned(),
        percent => percent.to_string(),
    };
    if (10_000..1_000_000).contains(&window) {
        format!("{percent} % of {}k", window / 1_000)
    } else {
        format!("{percent} % of {}", short_number(window))
    }
}

/// Where a conversation is scrolled to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScrollPosition {
    pub percent: usize,
    /// Of an entry that is longer than the screen: its line at the top, and how many it has.
    pub line_of_long: Option<(usize, usize)>,
}

impl ScrollPosition {
    /// `40 %`, in a long entry `line 120 of 812`: two figures would be of different texts.
    pub fn to_text(self) -> String {
        match self.line_of_long {
            Some((line, lines)) => format!("line {line} of {lines}"),
            None => scroll_text(self.percent),
        }
    }
}

/// How far down a text is scrolled: `40 %`. At its first row it is `top`: `0 %` reads as if nothing were there.
pub fn scroll_text(percent: usize) -> String {
    if percent == 0 { "top".to_owned() } else { format!("{percent} %") }
}

/// Drops whole escape sequences (colours of a compiler), shows other control characters, expands tabs.
pub fn clean_text(text: &str) -> Cow<'_, str> {
    expand_tabs(terminal_safe::strip_escape_sequences(line_end_dropped(text)))
}

/// As [`clean_text`], for the first bytes of a text that comes in pieces: what is whole of it.
pub fn clean_first(text: &str, end: usize) -> Cow<'_, str> {
    expand_tabs(terminal_safe::strip_escape_sequences_to(text, end))
}

/// Hides nothing: escape sequences become visible. For texts that the user is asked to approve.
pub fn reveal_controls(text: &str) -> Cow<'_, str> {
    expand_tabs(terminal_safe::escape_controls(line_end_dropped(text)))
}

/// Cleaned and on one line: newlines become `⏎`.
pub fn one_line(text: &str) -> String {
    clean_text(text.trim()).replace('\n', "⏎ ")
}

/// Columns that a cleaned text takes: the sum of its cells, as they are drawn.
pub fn display_width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { display_cells(text).map(|(_, _, wide)| wide).sum() }
}

/// The parts of a text that take one cell or two: start, text, columns. Combining marks stay with their letter; a
/// grapheme wider than two columns (a row of half-letters) is taken apart.
pub fn display_cells(text: &str) -> impl Iterator<Item = (usize, &str, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &text[at..];
        let mut chars = rest.chars();
        let first = chars.next()?;
        let start = at;
        if is_own_cell(first) && chars.next().is_none_or(is_own_cell) {
            at += first.len_utf8();
            return Some((start, &text[start..at], first.width().unwrap_or(0)));
        }
        let cell = rest.graphemes(true).next().unwrap_or(rest);
        let wide = UnicodeWidthStr::width(cell);
        if wide <= 2 {
            at += cell.len();
            return Some((start, cell, wide));
        }
        at += first.len_utf8();
        Some((start, &text[start..at], first.width().unwrap_or(0)))
    })
}

/// Next to another such letter it is a cell of its own, whatever else there is: most of what is ever shown.
fn is_own_cell(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a1}'..='\u{ac}' | '\u{ae}'..='\u{2ff}' | '\u{370}'..='\u{482}' | '\u{3041}'..='\u{3096}'
        | '\u{30a1}'..='\u{30fa}' | '\u{4e00}'..='\u{9fff}' | '\u{2500}'..='\u{259f}')
}

/// At most `columns` wide, the cut shown by `…`.
pub fn fit_to_columns(text: &str, columns: usize) -> Cow<'_, str> {
    if display_width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    let mut used = 0;
    for (_, cell, wide) in display_cells(text) {
        if used + wide + 1 > columns {
            break;
        }
        out.push_str(cell);
        used += wide;
    }
    if columns > 0 {
        out.push('…');
    }
    Cow::Owned(out)
}

/// Entries joined by ` · ` in at most `columns`: what has no room goes from the end, whole, and `…` stands for it.
pub fn fit_entries(text: &str, columns: usize) -> Cow<'_, str> {
    let mut kept = text;
    while display_width(text) > columns
        && let Some((before, _)) = kept.rsplit_once(" · ")
    {
        kept = before;
        if display_width(kept) + 2 <= columns {
            return Cow::Owned(format!("{kept} …"));
        }
    }
    fit_to_columns(text, columns)
}

/// The end of a line that is being typed, with room for the cursor after it; `…` replaces the text before it.
pub fn visible_tail(line: &str, columns: usize) -> Cow<'_, str> {
    let room = columns.saturating_sub(1);
    let all = display_width(line);
    if all <= room {
        return Cow::Borrowed(line);
    }
    let mut left = all;
    for (at, _, wide) in display_cells(line) {
        if left < room {
            return Cow::Owned(format!("…{}", &line[at..]));
        }
        left -= wide;
    }
    Cow::Borrowed("")
}

/// The rows of one logical line (no newline in it): byte ranges, broken after spaces where possible.
/// All rows but the last stay as they are when text is appended, so a stream is wrapped only once.
pub fn wrap_line(line: &str, columns: usize) -> Vec<Range<usize>> {
    wrap_hanging(line, columns, columns)
}

/// As `wrap_line`, with another width for the rows after the first.
pub fn wrap_hanging(line: &str, first: usize, others: usize) -> Vec<Range<usize>> {
    let (first, others) = (first.max(1), others.max(1));
    if line.is_ascii() { wrap_bytes(line.as_bytes(), first, others) } else { wrap_cells(line, first, others) }
}

/// One byte is one column. Spaces at the end of a row may exceed the edge.
fn wrap_bytes(line: &[u8], first: usize, others: usize) -> Vec<Range<usize>> {
    let mut rows = Vec::new();
    let (mut columns, mut start) = (first, 0);
    while line.len() - start > columns {
        let edge = start + columns;
        let spaces = line[edge..].iter().take_while(|byte| **byte == b' ').count();
        let end = if spaces > 0 {
            edge + spaces
        } else {
            line[start..edge].iter().rposition(|byte| *byte == b' ').map_or(edge, |at| start + at + 1)
        };
        if end == line.len() {
            break;
        }
        rows.push(start..end);
        (columns, start) = (others, end);
    }
    rows.push(start..line.len());
    rows
}

fn wrap_cells(line: &str, first: usize, others: usize) -> Vec<Range<usize>> {
    let mut rows = Vec::new();
    let (mut columns, mut start) = (first, 0);
    while let Some(end) = row_end(&line[start..], columns) {
        rows.push(start..start + end);
        (columns, start) = (others, start + end);
    }
    rows.push(start..line.len());
    rows
}

/// Where the first row ends if not all fits: behind its last space, else before what does not fit.
fn row_end(line: &str, columns: usize) -> Option<usize> {
    let (mut used, mut space) = (0, None);
    for (at, cell, wide) in display_cells(line) {
        if used + wide > columns && cell != " " && at > 0 {
            return Some(space.unwrap_or(at));
        }
        used += wide;
        if cell == " " {
            space = Some(at + 1);
        }
    }
    None
}

/// Half of a Windows line end, met while a text still streams, is no news.
fn line_end_dropped(text: &str) -> &str {
    text.strip_suffix('\r').unwrap_or(text)
}

fn expand_tabs(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.contains('\t') { Cow::Owned(text.replace('\t', "    ")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(line: &str, columns: usize) -> Vec<&str> {
        wrap_line(line, columns).into_iter().map(|range| &line[range]).collect()
    }

    #[test]
    fn lines_break_after_spaces_and_long_words_anywhere() {
        let check = |line: &str, columns: usize, expected: &[&str]| {
            assert_eq!(rows(line, columns), expected, "{line:?} at {columns}");
        };
        check("", 5, &[""]);
        check("hello", 5, &["hello"]);
        check("hello world", 5, &["hello ", "world"]);
        check("hello world", 8, &["hello ", "world"]);
        check("abcdefgh", 3, &["abc", "def", "gh"]);
        check("a abcdefgh", 3, &["a ", "abc", "def", "gh"]);
        check("日本語", 4, &["日本", "語"]);
        check("日本語", 1, &["日", "本", "語"]);
        check(" 日本語日本語", 5, &[" ", "日本", "語日", "本語"]);
        check("    fn main", 9, &["    fn ", "main"]);
        check("e\u{301}e\u{301}e\u{301}", 2, &["e\u{301}e\u{301}", "e\u{301}"]);
    }

    #[test]
    fn entries_go_whole_from_the_end() {
        let check = |columns: usize, expected: &str| {
            assert_eq!(fit_entries("a run · 2 failed · 日本", columns), expected, "{columns}");
        };
        check(23, "a run · 2 failed · 日本");
        check(22, "a run · 2 failed …");
        check(18, "a run · 2 failed …");
        check(17, "a run …");
        check(6, "a run…");
        check(4, "a r…");
        check(0, "");
    }

    #[test]
    fn bytes_and_letters_are_wrapped_alike() {
        let line = "  the quick  brown-fox jumps over thelazydogthatislong   and ends   here ";
        for (first, others) in (1..30).flat_map(|first| (1..30).map(move |others| (first, others))) {
            let bytes = wrap_bytes(line.as_bytes(), first, others);
            assert_eq!(bytes, wrap_cells(line, first, others), "{first} {others}");
        }
    }

    #[test]
    fn appending_changes_only_the_last_row() {
        let text = "the quick brown-fox jumps over thelazydogthatislong and 日本語 ends here";
        for columns in 1..20 {
            let mut before: Vec<Range<usize>> = Vec::new();
            for (end, _) in text.char_indices().skip(1) {
                let now = wrap_line(&text[..end], columns);
                let stable = before.len().saturating_sub(1);
                assert_eq!(before[..stable], now[..stable], "{columns} {end}");
                before = now;
            }
        }
    }

    #[test]
    fn control_characters_never_reach_the_screen() {
        let check = |text: &str, cleaned: &str, revealed: &str| {
            assert_eq!(clean_text(text), cleaned, "clean {text:?}");
            assert_eq!(reveal_controls(text), revealed, "reveal {text:?}");
        };
        check("plain\ntext", "plain\ntext", "plain\ntext");
        check("\x1b[31mred\x1b[0m", "red", "␛[31mred␛[0m");
        check("\x1b]0;title\x07x", "x", "␛]0;title␇x");
        check("\x1b]52;c;aGk=\x1b\\x", "x", "␛]52;c;aGk=␛\\x");
        check("\x1b", "␛", "␛");
        check("a\x08b", "a␈b", "a␈b");
        check("one\r\ntwo\rthree", "one\ntwo␍three", "one\ntwo␍three");
        check("\u{9b}31m", "‹U+009B›31m", "‹U+009B›31m");
        check("\u{202e}evil", "‹U+202E›evil", "‹U+202E›evil");
        check("\tx", "    x", "    x");
        check("\x1b[é", "␛[é", "␛[é");
    }

    #[test]
    fn texts_fit() {
        assert_eq!(fit_to_columns("hello", 5), "hello");
        assert_eq!(fit_to_columns("hello!", 5), "hell…");
        assert_eq!(fit_to_columns("日本語", 4), "日…");
        assert_eq!(fit_to_columns("x", 0), "");
        let ends = [
            ("hello", 6, "hello"),
            ("hello", 5, "…llo"),
            ("日本語", 6, "…本語"),
            ("日本語", 5, "…語"),
            ("日本", 2, ""),
            ("x", 0, ""),
        ];
        for (text, columns, expected) in ends {
            assert_eq!(visible_tail(text, columns), expected, "{text} at {columns}");
        }
        assert_eq!(format_thousands(10_000), "10,000");
        assert_eq!(short_number(12_345), "12.3k");
    }
}
