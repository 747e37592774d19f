//! Text on its way to the screen: escape sequences out, long lines into rows, numbers into words.
//!
//! Everything that a model, a tool or a file wrote passes `clean` (or `reveal` where a person decides about
//! it) before it is laid out: output is data, it never steers the terminal (ERR-8).

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Drops whole escape sequences (colours of a compiler), shows other control characters, expands tabs.
pub fn clean(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte == b'\n' || (0x20..0x7f).contains(&byte)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skip = escape_length(rest);
        if skip > 0 {
            rest = &rest[skip..];
            continue;
        }
        rest = &rest[first.len_utf8()..];
        push_visible(&mut out, first, rest);
    }
    Cow::Owned(out)
}

/// Hides nothing: escape sequences become visible. For texts that a person is asked to approve.
pub fn reveal(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte == b'\n' || (0x20..0x7f).contains(&byte)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for (at, c) in text.char_indices() {
        push_visible(&mut out, c, &text[at + c.len_utf8()..]);
    }
    Cow::Owned(out)
}

/// Cleaned and on one line: newlines become `⏎`.
pub fn one_line(text: &str) -> String {
    clean(text.trim()).replace('\n', "⏎ ")
}

/// Columns that a cleaned text takes.
pub fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { UnicodeWidthStr::width(text) }
}

/// At most `columns` wide, the cut shown by `…`.
pub fn fit(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    let mut used = 0;
    for grapheme in text.graphemes(true) {
        let wide = width(grapheme);
        if used + wide + 1 > columns {
            break;
        }
        out.push_str(grapheme);
        used += wide;
    }
    if columns > 0 {
        out.push('…');
    }
    Cow::Owned(out)
}

/// The rows of one logical line (no newline in it): byte ranges, broken after spaces where possible.
/// All rows but the last stay as they are when text is appended, so a stream is wrapped only once.
pub fn wrap(line: &str, columns: usize) -> Vec<Range<usize>> {
    wrap_hanging(line, columns, columns)
}

/// As `wrap`, with another width for the rows after the first.
pub fn wrap_hanging(line: &str, first: usize, others: usize) -> Vec<Range<usize>> {
    let (mut columns, others) = (first.max(1), others.max(1));
    if line.is_ascii() && line.len() <= columns {
        return std::iter::once(0..line.len()).collect();
    }
    let mut rows = Vec::new();
    let (mut start, mut used) = (0, 0);
    // Where the row may be broken: after the last space, and the width up to there.
    let mut space: Option<(usize, usize)> = None;
    let mut place = |at: usize, grapheme: &str| {
        let wide = width(grapheme);
        if used + wide > columns && grapheme != " " {
            let (cut, before) = space.take().unwrap_or((at, used));
            if cut > start {
                rows.push(start..cut);
                columns = others;
            }
            start = cut;
            used -= before;
            if used + wide > columns && at > start {
                rows.push(start..at);
                start = at;
                used = 0;
            }
        }
        used += wide;
        if grapheme == " " {
            space = Some((at + 1, used));
        }
    };
    if line.is_ascii() {
        for at in 0..line.len() {
            place(at, &line[at..=at]);
        }
    } else {
        for (at, grapheme) in line.grapheme_indices(true) {
            place(at, grapheme);
        }
    }
    rows.push(start..line.len());
    rows
}

/// `1234567` → `1,234,567`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 file`, `2 files`, `1,234 files`.
pub fn counted(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", thousands(number))
}

/// Short form for narrow places: `950`, `12.3k`, `4.1M`.
#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
pub fn short_number(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => format!("{:.1}k", number as f64 / 1e3),
        _ => format!("{:.1}M", number as f64 / 1e6),
    }
}

/// Dollars, or that the price is not known (MODEL-9).
pub fn dollars(cost: Option<f64>) -> String {
    match cost {
        None => "price unknown".to_owned(),
        Some(0.0) => "$0".to_owned(),
        Some(cost) if cost < 0.01 => format!("${cost:.4}"),
        Some(cost) => format!("${cost:.2}"),
    }
}

/// Milliseconds for people: `0.4 s`, `12 s`, `3 min 05 s`.
#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
pub fn duration(ms: u64) -> String {
    match ms {
        0..10_000 => format!("{:.1} s", ms as f64 / 1e3),
        10_000..60_000 => format!("{} s", ms / 1_000),
        _ => format!("{} min {:02} s", ms / 60_000, ms / 1_000 % 60),
    }
}

/// How many bytes at the start of `text` are a whole escape sequence; 0 if none starts here.
fn escape_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    if bytes.first() != Some(&0x1b) {
        return 0;
    }
    match bytes.get(1) {
        Some(b'[') => {
            let end = bytes[2..].iter().position(|byte| !(0x20..0x40).contains(byte));
            end.filter(|at| bytes[2 + at].is_ascii()).map_or(0, |at| at + 3)
        }
        // Strings (titles, links, clipboard, images): to BEL or ESC \. The payload goes too.
        Some(b']' | b'P' | b'X' | b'^' | b'_') => {
            let end = bytes[2..].iter().position(|byte| matches!(byte, 0x07 | 0x1b));
            end.map_or(0, |at| {
                let closing = 2 + at;
                if bytes[closing] == 0x07 {
                    closing + 1
                } else if bytes.get(closing + 1) == Some(&b'\\') {
                    closing + 2
                } else {
                    closing
                }
            })
        }
        Some(b'(' | b')' | b'#') if bytes.get(2).is_some_and(u8::is_ascii) => 3,
        Some(byte) if (0x30..0x7f).contains(byte) => 2,
        _ => 0,
    }
}

fn push_visible(out: &mut String, c: char, rest: &str) {
    match c {
        '\n' => out.push('\n'),
        '\t' => out.push_str("    "),
        // Windows line ends are no news; a lone return would overwrite the line on a terminal.
        '\r' if rest.starts_with('\n') || rest.is_empty() => {}
        '\0'..='\u{1f}' => out.push(char::from_u32(0x2400 + c as u32).unwrap_or('␀')),
        '\u{7f}' => out.push('␡'),
        '\u{80}'..='\u{9f}'
        | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{061c}'
        // Overrides of the writing direction make text read differently from what it is.
        | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' => {
            let _ = write!(out, "‹U+{:04X}›", c as u32);
        }
        _ => out.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(line: &str, columns: usize) -> Vec<&str> {
        wrap(line, columns).into_iter().map(|range| &line[range]).collect()
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
        check("    fn main", 9, &["    fn ", "main"]);
        check("e\u{301}e\u{301}e\u{301}", 2, &["e\u{301}e\u{301}", "e\u{301}"]);
    }

    #[test]
    fn appending_changes_only_the_last_row() {
        let text = "the quick brown-fox jumps over thelazydogthatislong and 日本語 ends here";
        for columns in 1..20 {
            let mut before: Vec<Range<usize>> = Vec::new();
            for (end, _) in text.char_indices().skip(1) {
                let now = wrap(&text[..end], columns);
                let stable = before.len().saturating_sub(1);
                assert_eq!(before[..stable], now[..stable], "{columns} {end}");
                before = now;
            }
        }
    }

    #[test]
    fn control_characters_never_reach_the_screen() {
        let check = |text: &str, cleaned: &str, revealed: &str| {
            assert_eq!(clean(text), cleaned, "clean {text:?}");
            assert_eq!(reveal(text), revealed, "reveal {text:?}");
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
        assert_eq!(fit("hello", 5), "hello");
        assert_eq!(fit("hello!", 5), "hell…");
        assert_eq!(fit("日本語", 4), "日…");
        assert_eq!(fit("x", 0), "");
        assert_eq!(thousands(10_000), "10,000");
        assert_eq!(short_number(12_345), "12.3k");
    }
}
