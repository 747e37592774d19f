//! Parts of keys at the places where a text was cut before keys were looked for in it.

use super::key_form::{CUT, KeyFormMatch};
use super::{SHORTEST, SecretRedactor};
use synthdev_domain::secret::REDACTION_MARK;

/// Around the number of bytes that a cap left out.
const NOTICE: (&str, &str) = ("[… ", " bytes left out …]");

impl SecretRedactor {
    /// Nothing is put in the place of what goes: a gap is there already.
    pub(super) fn without_cut_keys(&self, text: String) -> String {
        if self.key_forms.is_empty() || !text.contains(CUT) {
            return text;
        }
        let mut clean = String::with_capacity(text.len());
        let (mut from, mut follows) = (0, false);
        for (start, end) in notice_positions(&text) {
            clean.push_str(&self.redact_between_gaps(&text[from..start], follows, true));
            clean.push_str(&text[start..end]);
            (from, follows) = (end, true);
        }
        clean.push_str(&self.redact_between_gaps(&text[from..], follows, false));
        clean
    }

    /// A part of a text: whether it `follows` a gap, and whether one follows it.
    fn redact_between_gaps(&self, part: &str, follows: bool, before: bool) -> String {
        let head = if follows { usize::from(part.starts_with('\n')).max(quoted_break(part)) } else { 0 };
        let tail = if before { break_at_end(&part[head..]) } else { 0 };
        let (first, rest) = part.split_at(head);
        let (body, last) = rest.split_at(rest.len() - tail);
        let body = if follows { &body[self.end_of_leading_key(body)..] } else { body };
        let body = if before { &body[..self.start_of_trailing_key(body)] } else { body };
        [first, &self.without_short_cuts(body), last].concat()
    }

    /// Where the ends of keys at the beginning of a text are over.
    fn end_of_leading_key(&self, text: &str) -> usize {
        let mut start = text.len() - text.trim_start_matches(char::REPLACEMENT_CHARACTER).len();
        loop {
            let rest = &text.as_bytes()[start..];
            let ends = self.key_forms.iter().flat_map(|form| {
                (1..form.text.len()).filter_map(|from| match form.match_at(from, rest) {
                    KeyFormMatch::Whole(length) => Some(length),
                    KeyFormMatch::Open | KeyFormMatch::Other => None,
                })
            });
            match ends.max() {
                Some(length) if length > 0 => start += length,
                _ => return start,
            }
        }
    }

    /// Where the beginnings of keys at the end of a text start.
    fn start_of_trailing_key(&self, text: &str) -> usize {
        let mut end = text.trim_end_matches(char::REPLACEMENT_CHARACTER).len();
        loop {
            match self.settled_length(&text[..end]) {
                at if at < end => end = at,
                _ => return end,
            }
        }
    }

    /// A line that was cut ends with the mark alone. Many others do, too: only much of a key goes.
    fn without_short_cuts(&self, text: &str) -> String {
        let mut clean = String::with_capacity(text.len());
        let mut from = 0;
        for (at, _) in text.match_indices(CUT) {
            let part = &text[from..at];
            let settled = self.settled_length(part);
            if part.len() - settled >= SHORTEST {
                clean.push_str(&part[..settled]);
                clean.push_str(REDACTION_MARK);
            } else {
                clean.push_str(part);
            }
            from = at;
        }
        clean.push_str(&text[from..]);
        clean
    }
}

fn notice_positions(text: &str) -> Vec<(usize, usize)> {
    let notice = |(start, _): (usize, &str)| {
        let number = &text[start + NOTICE.0.len()..];
        let rest = number.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let digits = number.len() - rest.len();
        (digits > 0 && rest.starts_with(NOTICE.1))
            .then_some((start, start + NOTICE.0.len() + digits + NOTICE.1.len()))
    };
    text.match_indices(NOTICE.0).filter_map(notice).collect()
}

/// A line's end that JSON has quoted, at the beginning of a text.
fn quoted_break(text: &str) -> usize {
    let rest = text.trim_start_matches('\\');
    let slashes = text.len() - rest.len();
    if slashes > 0 && rest.starts_with('n') { slashes + 1 } else { 0 }
}

/// A line's end at the end of a text, also one that JSON has quoted.
fn break_at_end(text: &str) -> usize {
    match text.strip_suffix('n') {
        Some(rest) if rest.ends_with('\\') => text.len() - rest.trim_end_matches('\\').len(),
        _ => usize::from(text.ends_with('\n')),
    }
}
