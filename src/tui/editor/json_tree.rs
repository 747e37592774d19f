//! A JSON text as a tree, as far as one can be made of it: a text that is being written is broken most of the time.
//!
//! Every part knows its bytes. Finds where in the tree a place of the text is, for completion and descriptions.

use std::ops::Range;

use super::json_lexer::{EditorToken, EditorTokenKind, editor_tokens};

/// Deeper than any file that means something.
const DEEPEST: usize = 128;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EditorJsonTree {
    Object {
        range: Range<usize>,
        entries: Vec<EditorJsonEntry>,
    },
    Array {
        range: Range<usize>,
        items: Vec<EditorJsonTree>,
    },
    Text {
        range: Range<usize>,
        text: String,
    },
    /// A number, a word.
    Other {
        range: Range<usize>,
    },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EditorJsonEntry {
    pub key: String,
    pub key_range: Range<usize>,
    /// Where its colon ends.
    pub colon_end: Option<usize>,
    pub value: Option<EditorJsonTree>,
    /// Where what belongs to it ends.
    pub end: usize,
}

/// A step down the tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EditorJsonStep {
    Key(String),
    Item,
}

/// What is written at a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EditorJsonSlot {
    Key,
    Value,
}

/// A place in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EditorJsonPosition<'a> {
    /// To the object that holds the key, or to the value itself.
    pub path: Vec<EditorJsonStep>,
    pub slot: EditorJsonSlot,
    /// Objects and arrays on the way, from outside.
    pub enclosing: Vec<&'a EditorJsonTree>,
    /// What is written there already, with its quotes.
    pub range: Range<usize>,
    /// The key has its colon.
    pub has_colon: bool,
}

impl EditorJsonTree {
    /// Of a whole text; `None`: nothing is written.
    pub fn parse_text(text: &str) -> Option<Self> {
        let all: Vec<EditorToken> =
            editor_tokens(text, false).filter(|token| token.kind != EditorTokenKind::Comment).collect();
        EditorJsonParser { text, tokens: &all, offset: 0 }.parse_value(0)
    }

    pub fn range(&self) -> &Range<usize> {
        match self {
            Self::Object { range, .. }
            | Self::Array { range, .. }
            | Self::Text { range, .. }
            | Self::Other { range } => range,
        }
    }

    pub fn text(&self) -> Option<&str> {
        if let Self::Text { text, .. } = self { Some(text) } else { None }
    }

    pub fn entries(&self) -> &[EditorJsonEntry] {
        if let Self::Object { entries, .. } = self { entries } else { &[] }
    }

    pub fn items(&self) -> &[EditorJsonTree] {
        if let Self::Array { items, .. } = self { items } else { &[] }
    }

    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|entry| entry.key == key)?.value.as_ref()
    }

    /// Every object below, itself included, with the key that leads to it or to its list.
    pub fn for_each_object<'a>(&'a self, key: &'a str, seen: &mut impl FnMut(&'a str, &'a Self)) {
        match self {
            Self::Object { entries, .. } => {
                seen(key, self);
                for entry in entries {
                    if let Some(value) = &entry.value {
                        value.for_each_object(&entry.key, seen);
                    }
                }
            }
            Self::Array { items, .. } => items.iter().for_each(|item| item.for_each_object(key, seen)),
            Self::Text { .. } | Self::Other { .. } => {}
        }
    }

    /// Where byte `at` is.
    pub fn position_at(&self, at: usize) -> EditorJsonPosition<'_> {
        let mut spot = EditorJsonPosition {
            path: Vec::new(),
            slot: EditorJsonSlot::Value,
            enclosing: Vec::new(),
            range: at..at,
            has_colon: false,
        };
        let mut here = self;
        loop {
            match here {
                Self::Text { range, .. } | Self::Other { range } => {
                    if touches_range(range, at) {
                        spot.range = range.clone();
                    }
                    return spot;
                }
                Self::Object { entries, .. } => {
                    spot.enclosing.push(here);
                    let Some(below) = in_object(entries, at, &mut spot) else { return spot };
                    here = below;
                }
                Self::Array { items, .. } => {
                    spot.enclosing.push(here);
                    spot.path.push(EditorJsonStep::Item);
                    let Some(below) = items.iter().find(|item| is_within(item, at)) else { return spot };
                    here = below;
                }
            }
        }
    }
}

fn in_object<'a>(
    entries: &'a [EditorJsonEntry],
    at: usize,
    spot: &mut EditorJsonPosition<'a>,
) -> Option<&'a EditorJsonTree> {
    spot.slot = EditorJsonSlot::Key;
    let entry = entries.iter().find(|entry| at > entry.key_range.start && at <= entry.end)?;
    if touches_range(&entry.key_range, at) {
        (spot.range, spot.has_colon) = (entry.key_range.clone(), entry.colon_end.is_some());
        return None;
    }
    if entry.colon_end.is_none_or(|colon| at < colon) {
        return None;
    }
    spot.slot = EditorJsonSlot::Value;
    spot.path.push(EditorJsonStep::Key(entry.key.clone()));
    entry.value.as_ref().filter(|value| is_within(value, at))
}

fn touches_range(range: &Range<usize>, at: usize) -> bool {
    at >= range.start && at <= range.end
}

/// Of a list or object the inside, of others also the edges.
fn is_within(tree: &EditorJsonTree, at: usize) -> bool {
    let range = tree.range();
    match tree {
        EditorJsonTree::Object { .. } | EditorJsonTree::Array { .. } => at > range.start && at < range.end,
        EditorJsonTree::Text { .. } | EditorJsonTree::Other { .. } => touches_range(range, at),
    }
}

struct EditorJsonParser<'a> {
    text: &'a str,
    tokens: &'a [EditorToken],
    offset: usize,
}

impl EditorJsonParser<'_> {
    fn peek_token(&self) -> Option<&EditorToken> {
        self.tokens.get(self.offset)
    }

    fn kind(&self) -> Option<EditorTokenKind> {
        self.peek_token().map(|token| token.kind)
    }

    fn parse_value(&mut self, depth: usize) -> Option<EditorJsonTree> {
        let token = self.peek_token()?.clone();
        self.offset += 1;
        match token.kind {
            EditorTokenKind::Open(_) if depth > DEEPEST => None,
            EditorTokenKind::Open(b'{') => Some(self.parse_object(token.range.start, depth)),
            EditorTokenKind::Open(_) => Some(self.parse_array(token.range.start, depth)),
            EditorTokenKind::Text => Some(EditorJsonTree::Text {
                text: unquote_text(&self.text[token.range.clone()]),
                range: token.range,
            }),
            EditorTokenKind::Number | EditorTokenKind::Word => {
                Some(EditorJsonTree::Other { range: token.range })
            }
            EditorTokenKind::Close(_)
            | EditorTokenKind::Comma
            | EditorTokenKind::Colon
            | EditorTokenKind::Comment => None,
        }
    }

    /// The end of a list or object: after its bracket, or where the next part begins that is none of it.
    fn close_bracket(&mut self, bracket: u8) -> usize {
        match self.peek_token().cloned() {
            Some(token) if token.kind == EditorTokenKind::Close(bracket) => {
                self.offset += 1;
                token.range.end
            }
            Some(token) => token.range.start,
            // still open: what is written next belongs to it
            None => self.text.len() + 1,
        }
    }

    fn parse_array(&mut self, start: usize, depth: usize) -> EditorJsonTree {
        let mut items = Vec::new();
        while let Some(kind) = self.kind() {
            match kind {
                EditorTokenKind::Close(_) => break,
                _ => items.extend(self.parse_value(depth + 1)),
            }
        }
        EditorJsonTree::Array { range: start..self.close_bracket(b']'), items }
    }

    fn parse_object(&mut self, start: usize, depth: usize) -> EditorJsonTree {
        let mut entries = Vec::new();
        while let Some(token) = self.peek_token().cloned() {
            match token.kind {
                EditorTokenKind::Close(_) => break,
                EditorTokenKind::Text | EditorTokenKind::Word | EditorTokenKind::Number => {
                    self.offset += 1;
                    entries.push(self.parse_entry(token.range, depth));
                }
                // nothing that has a key: passed over whole
                _ => drop(self.parse_value(depth + 1)),
            }
        }
        EditorJsonTree::Object { range: start..self.close_bracket(b'}'), entries }
    }

    fn parse_entry(&mut self, key_range: Range<usize>, depth: usize) -> EditorJsonEntry {
        let key = unquote_text(&self.text[key_range.clone()]);
        let mut entry = EditorJsonEntry { key, end: key_range.end, key_range, colon_end: None, value: None };
        let Some(colon) = self
            .peek_token()
            .filter(|token| token.kind == EditorTokenKind::Colon)
            .map(|token| token.range.end)
        else {
            return entry;
        };
        self.offset += 1;
        entry.colon_end = Some(colon);
        let next_is_key = self.kind() == Some(EditorTokenKind::Text)
            && self.tokens.get(self.offset + 1).is_some_and(|after| after.kind == EditorTokenKind::Colon);
        let begins = matches!(
            self.kind(),
            Some(
                EditorTokenKind::Open(_)
                    | EditorTokenKind::Text
                    | EditorTokenKind::Number
                    | EditorTokenKind::Word
            )
        );
        if begins && !next_is_key {
            entry.value = self.parse_value(depth + 1);
        }
        // up to what follows: a value can still be written there
        let next = self.peek_token().map_or(self.text.len(), |token| token.range.start);
        entry.end = entry.value.as_ref().map_or(next, |value| value.range().end);
        entry
    }
}

/// The text between the quotes.
fn unquote_text(text: &str) -> String {
    let Some(inner) = text.strip_prefix('"') else { return text.to_owned() };
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    if !inner.contains('\\') {
        return inner.to_owned();
    }
    serde_json::from_str(&format!("\"{inner}\"")).unwrap_or_else(|_| inner.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `|` is the place.
    fn position_text(marked: &str) -> (String, EditorJsonSlot, String, bool) {
        let at = marked.find('|').unwrap();
        let text = marked.replace('|', "");
        let tree = EditorJsonTree::parse_text(&text).unwrap();
        let spot = tree.position_at(at);
        let path = spot.path.iter().map(|step| match step {
            EditorJsonStep::Key(key) => format!(".{key}"),
            EditorJsonStep::Item => "[]".to_owned(),
        });
        let written = text.get(spot.range.clone()).unwrap_or_default().to_owned();
        (path.collect(), spot.slot, written, spot.has_colon)
    }

    #[test]
    fn places_are_found_in_whole_and_broken_texts() {
        let check = |marked: &str, path: &str, slot: EditorJsonSlot, written: &str, colon: bool| {
            let expected = (path.to_owned(), slot, written.to_owned(), colon);
            assert_eq!(position_text(marked), expected, "{marked}");
        };
        check("{|}", "", EditorJsonSlot::Key, "", false);
        check("{ \"sta|\": 1}", "", EditorJsonSlot::Key, "\"sta\"", true);
        check("{ \"sta|", "", EditorJsonSlot::Key, "\"sta", false);
        check("{ sta|", "", EditorJsonSlot::Key, "sta", false);
        check("{\"a\": |}", ".a", EditorJsonSlot::Value, "", false);
        check("{\"a\": |, \"b\": 1}", ".a", EditorJsonSlot::Value, "", false);
        check("{\"a\": 1, |\"b\": 1}", "", EditorJsonSlot::Key, "", false);
        check("{\"a\": 1, | }", "", EditorJsonSlot::Key, "", false);
        check("{\"a\": tr|}", ".a", EditorJsonSlot::Value, "tr", false);
        check("{\"a\": [{\"n\": \"x|\"}]}", ".a[].n", EditorJsonSlot::Value, "\"x\"", false);
        check("{\"a\": [{|", ".a[]", EditorJsonSlot::Key, "", false);
        check("{\"a\": [|", ".a[]", EditorJsonSlot::Value, "", false);
        check("{\"a\": [\n  \"x|\n], \"b\": 2}", ".a[]", EditorJsonSlot::Value, "\"x", false);
        check("{\"a\": |\n \"b\": {}}", ".a", EditorJsonSlot::Value, "", false);
        check("[{\"a\": 1}, {|}]", "[]", EditorJsonSlot::Key, "", false);
    }

    #[test]
    fn nothing_is_too_broken() {
        assert_eq!(EditorJsonTree::parse_text(""), None);
        for text in ["}", "{]", "{:,:}", "[[[[", "{\"a\"\"b\":}", "{\"a\":{\"b\":[}", "é\"", "{1:2}"] {
            let tree = EditorJsonTree::parse_text(text);
            for at in 0..=text.len() + 2 {
                let _ = tree.as_ref().map(|tree| tree.position_at(at));
            }
        }
        let deep = EditorJsonTree::parse_text(&"[".repeat(100_000)).unwrap();
        assert!(!deep.items().is_empty());
    }
}
