//! Keys never reach a model, the journal or the screen, whatever a tool prints.
//!
//! Only copies are rewritten. What is executed stays as it was decided: a tool call whose arguments hold a key carries the
//! original arguments beside the cleaned ones, in memory only.
//!
//! A key is found as it is and in the forms in which programs pass texts on: quoted as JSON, as base64 (also within a
//! longer text, also over several lines), in an address, in hexadecimal. What was encrypted, compressed or spelled out
//! differently is not. Where a text was cut, what may be a part of a key at either side goes, too.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use synthdev_domain::model::ModelReply;
use synthdev_domain::secret::{REDACTION_MARK, SecretText};
use synthdev_engine::input::Input;

mod cut_keys;
mod key_form;
mod placeholder_key;

use key_form::{CUT, KeyForm, KeyFormMatch, is_break};

/// The texts to hide: every key that this process holds, in all of its forms.
#[derive(Clone, Default)]
pub struct SecretRedactor {
    /// The longest first, so that none leaves a part of another behind.
    key_forms: Vec<KeyForm>,
    /// The first two bytes of every form, as a bit set: one lookup shows that no key begins here.
    start_pairs: Vec<u64>,
    /// The most bytes that one of them takes in a text.
    max_length: usize,
}

/// Shorter texts are no keys; hiding them would eat ordinary words.
const SHORTEST: usize = 8;

/// How often a text of JSON is quoted within another one.
const DEEPEST: usize = 4;

impl SecretRedactor {
    /// Of these keys.
    pub fn new(secrets: Vec<String>) -> Self {
        let mut forms: Vec<KeyForm> = secrets
            .iter()
            .filter(|secret| secret.len() >= SHORTEST && !placeholder_key::is_placeholder_key(secret))
            .flat_map(|secret| key_forms(secret))
            .collect();
        // of two equal forms, the one that may be wrapped comes first
        forms.sort_by(|one, other| other.text.len().cmp(&one.text.len()).then_with(|| other.cmp(one)));
        forms.dedup_by(|next, kept| next.text == kept.text);
        let mut starts = if forms.is_empty() { Vec::new() } else { vec![0; 1024] };
        for form in &forms {
            let (first, second) = (form.text.as_bytes()[0], form.text.as_bytes()[1]);
            let breaks = (0..=u8::MAX).filter(|byte| form.is_wrapped && is_break(*byte));
            for (word, bit) in breaks.chain([second]).map(|second| bitmap_position(first, second)) {
                starts[word] |= bit;
            }
        }
        let longest = forms.iter().map(KeyForm::max_length).max().unwrap_or(0);
        Self { key_forms: forms, start_pairs: starts, max_length: longest }
    }

    /// Any value that is stored or shown.
    pub fn clean_data<T: Serialize + DeserializeOwned>(&self, value: T) -> T {
        if self.key_forms.is_empty() {
            return value;
        }
        // every form is known as JSON quotes it, too: a text without any holds none in its values
        let cleaned = serde_json::to_string(&value)
            .ok()
            .filter(|text| self.find_key(text.as_bytes(), 0).is_some() || text.contains(CUT))
            .and_then(|text| serde_json::from_str(&text).ok())
            .and_then(|data: Value| {
                let clean = self.clean_value(data.clone());
                (clean != data).then(|| serde_json::from_value(clean).ok()).flatten()
            });
        cleaned.unwrap_or(value)
    }

    /// An input of a run, as the run and its record keep it. The calls in it are executed as the model sent them.
    pub(super) fn clean_input(&self, input: Input) -> Input {
        let Input::Replied { call, reply } = input else { return self.clean_data(input) };
        Input::Replied { call, reply: self.clean_reply(reply) }
    }

    fn clean_reply(&self, reply: ModelReply) -> ModelReply {
        let sent: Vec<String> = if self.key_forms.is_empty() {
            Vec::new()
        } else {
            reply.tool_calls.iter().map(|call| call.arguments.clone()).collect()
        };
        let mut reply = self.clean_data(reply);
        for (call, sent) in reply.tool_calls.iter_mut().zip(sent) {
            if call.arguments != sent {
                call.original = Some(SecretText::new(sent));
            }
        }
        reply
    }

    /// Whether it contains a key, in any form.
    pub(super) fn contains_key<T: Serialize>(&self, value: &T) -> bool {
        !self.key_forms.is_empty()
            && serde_json::to_string(value).is_ok_and(|text| self.find_key(text.as_bytes(), 0).is_some())
    }

    pub(super) fn redact_text(&self, text: String) -> String {
        self.without_cut_keys(self.without_keys(text))
    }

    fn without_keys(&self, text: String) -> String {
        let bytes = text.as_bytes();
        let Some((mut start, mut length)) = self.find_key(bytes, 0) else { return text };
        let (mut clean, mut from) = (String::with_capacity(text.len()), 0);
        loop {
            clean.push_str(&text[from..start]);
            clean.push_str(REDACTION_MARK);
            from = start + length;
            match self.find_key(bytes, from) {
                Some(next) => (start, length) = next,
                None => break,
            }
        }
        clean.push_str(&text[from..]);
        clean
    }

    /// A text that was cut off: what may be most of a key at its end is hidden, too.
    pub(super) fn clean_cut(&self, text: String) -> String {
        let mut text = self.redact_text(text);
        let open = self.settled_length(&text);
        let rest = &text[open..];
        let most = |form: &KeyForm| form.may_start_in(rest.as_bytes()) && rest.len() * 2 >= form.text.len();
        if rest.len() >= SHORTEST && self.key_forms.iter().any(most) {
            text.replace_range(open.., REDACTION_MARK);
        }
        text
    }

    /// Where the part of a clean text ends in which no key can have begun: what follows is the beginning of one.
    pub(super) fn settled_length(&self, text: &str) -> usize {
        let from = text.len().saturating_sub(self.max_length.saturating_sub(1));
        let bytes = text.as_bytes();
        (from..text.len())
            // almost nowhere does any form begin: a stream asks for each of its pieces
            .filter(|at| bytes.get(at + 1).is_none_or(|second| self.may_begin_with(bytes[*at], *second)))
            .find(|at| {
                text.is_char_boundary(*at)
                    && self.key_forms.iter().any(|form| form.may_start_in(&bytes[*at..]))
            })
            .unwrap_or(text.len())
    }

    fn clean_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.redact_text(text)),
            Value::Array(items) => items.into_iter().map(|item| self.clean_value(item)).collect(),
            Value::Object(map) => {
                map.into_iter().map(|(key, value)| (self.redact_text(key), self.clean_value(value))).collect()
            }
            plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => plain,
        }
    }

    /// Whether a form begins with these two bytes.
    fn may_begin_with(&self, first: u8, second: u8) -> bool {
        let (word, bit) = bitmap_position(first, second);
        self.start_pairs.get(word).is_some_and(|starts| starts & bit != 0)
    }

    /// Start and length of the first form at or behind `from`.
    fn find_key(&self, text: &[u8], from: usize) -> Option<(usize, usize)> {
        if self.key_forms.is_empty() {
            return None;
        }
        let pairs = text.get(from..)?.windows(2).enumerate();
        pairs.filter(|(_, pair)| self.may_begin_with(pair[0], pair[1])).find_map(|(at, _)| {
            let rest = &text[from + at..];
            self.key_forms.iter().find_map(|form| match form.match_at(0, rest) {
                KeyFormMatch::Whole(length) => Some((from + at, length)),
                KeyFormMatch::Open | KeyFormMatch::Other => None,
            })
        })
    }
}

fn bitmap_position(first: u8, second: u8) -> (usize, u64) {
    let number = usize::from(first) << 8 | usize::from(second);
    (number >> 6, 1 << (number & 63))
}

/// A key as it is, and as others write it.
fn key_forms(secret: &str) -> Vec<KeyForm> {
    let bytes = secret.as_bytes();
    let mut forms = vec![KeyForm::from_text(secret.to_owned())];
    for kept in ["-_.~", "-_.!~*'()"] {
        for hexadecimal in ["%02X", "%02x"] {
            forms.push(KeyForm::from_text(in_address(bytes, kept, hexadecimal == "%02X")));
        }
    }
    forms.push(KeyForm::from_wrapped_text(hex_pattern(bytes, false)));
    forms.push(KeyForm::from_wrapped_text(hex_pattern(bytes, true)));
    for letters in [BASE64, BASE64_URL] {
        forms.extend((0..3).map(|before| KeyForm::from_wrapped_text(in_base64(bytes, before, letters))));
    }
    // texts of JSON are stored within JSON, and some programs quote `/` there
    let quoted_slashes = |form: &KeyForm| form.with_text(escape_json_text(&form.text).replace('/', "\\/"));
    let mut quoted: Vec<KeyForm> =
        forms.iter().map(|form| form.with_text(escape_json_text(&form.text))).collect();
    quoted.extend(forms.iter().filter(|form| form.text.contains('/')).map(quoted_slashes));
    for _ in 0..DEEPEST {
        forms.extend(quoted.iter().cloned());
        quoted = quoted.iter().map(|form| form.with_text(escape_json_text(&form.text))).collect();
    }
    forms
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE64_URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The letters that depend on nothing but the key, with `before` bytes of another text in front of it.
fn in_base64(bytes: &[u8], before: usize, letters: &[u8; 64]) -> String {
    let bit = |at: usize| {
        let byte = at / 8;
        byte.checked_sub(before).and_then(|byte| bytes.get(byte)).map_or(0, |byte| *byte >> (7 - at % 8) & 1)
    };
    let first = (before * 8).div_ceil(6);
    let end = (before + bytes.len()) * 8 / 6;
    let letter = |at: usize| {
        let number = (0..6).fold(0, |number, place| number << 1 | bit(at * 6 + place));
        char::from(letters[usize::from(number)])
    };
    (first..end).map(letter).collect()
}

/// As `%2F`, but for letters, digits and what is in `kept`.
fn in_address(bytes: &[u8], kept: &str, capital: bool) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        if byte.is_ascii_alphanumeric() || kept.as_bytes().contains(byte) {
            text.push(char::from(*byte));
        } else {
            text.push('%');
            text.push_str(&hex_pattern(&[*byte], capital));
        }
        text
    })
}

fn hex_pattern(bytes: &[u8], capital: bool) -> String {
    let digits: &[u8; 16] = if capital { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
    let digit = |half: u8| char::from(digits[usize::from(half)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// As it is written between the quotes of a JSON text.
fn escape_json_text(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

#[cfg(test)]
mod tests;
