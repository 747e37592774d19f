//! Texts in cells: signs that are drawn as one, and lines of at most so many columns.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Joins what is on both of its sides.
const JOINER: char = '\u{200d}';

/// The signs of a text, each with what is combined with it.
pub(super) fn text_signs(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut before = None;
        let end = rest.char_indices().find_map(|(at, c)| {
            let is_joined = before.replace(c).is_none_or(|before| before == JOINER);
            (!is_joined && c.width().unwrap_or(0) > 0).then_some(at)
        });
        let (sign, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        (!sign.is_empty()).then_some(sign)
    })
}

/// Columns that a text takes sign by sign.
pub(super) fn text_columns(text: &str) -> usize {
    text_signs(text).map(UnicodeWidthStr::width).sum()
}

/// Lines of at most `columns`, broken at blanks, else behind a mark, else anywhere; `…` for what is beyond `most` lines.
pub(super) fn wrap_text(text: &str, columns: usize, most: usize) -> Vec<String> {
    let columns = columns.max(2);
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let gap = usize::from(!line.is_empty());
        if text_columns(&line) + gap + text_columns(word) <= columns {
            line.push_str(if gap > 0 { " " } else { "" });
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        line = break_word(word, columns, &mut lines);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            *last = cut_with_ellipsis(&format!("{last}……"), columns.min(text_columns(last) + 1));
        }
    }
    lines
}

/// Pushes the full lines of a long word; returns what is left of it.
fn break_word(word: &str, columns: usize, lines: &mut Vec<String>) -> String {
    let mut rest = word;
    while text_columns(rest) > columns {
        let (mut used, mut end, mut good) = (0, 0, 0);
        for sign in text_signs(rest) {
            used += sign.width();
            if used > columns {
                break;
            }
            end += sign.len();
            if ['.', ',', '(', '_', '/', '-', ':', '&', '|'].iter().any(|mark| sign.starts_with(*mark)) {
                good = end;
            }
        }
        // a break far left wastes the line
        let end = if good * 2 > end { good } else { end.max(1) };
        let Some((line, after)) = rest.split_at_checked(end) else { break };
        lines.push(line.to_owned());
        rest = after;
    }
    rest.to_owned()
}

/// As much of a text as fits, with `…` for the rest.
pub(super) fn cut_with_ellipsis(text: &str, columns: usize) -> String {
    if text_columns(text) <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 1;
    for sign in text_signs(text) {
        used += sign.width();
        if used > columns {
            break;
        }
        out.push_str(sign);
    }
    out.truncate(out.trim_end().len());
    if columns > 0 {
        out.push('…');
    }
    out
}
