//! Text on its way to the screen: escape sequences out, long lines into rows, numbers into words.
//!
//! Everything that a model, a tool or a file wrote passes `clean` (or `reveal` where a person decides about
//! it) before it is laid out: output is data, it never steers the terminal (ERR-8).

use std::borrow::Cow;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::domain::printable;

/// Drops whole escape sequences (colours of a compiler), shows other control characters, expands tabs.
pub fn clean(text: &str) -> Cow<'_, str> {
    expand_tabs(printable::clean(line_end_dropped(text)))
}

/// Hides nothing: escape sequences become visible. For texts that a person is asked to approve.
pub fn reveal(text: &str) -> Cow<'_, str> {
    expand_tabs(printable::reveal(line_end_dropped(text)))
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
