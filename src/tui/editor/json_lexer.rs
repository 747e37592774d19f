//! The parts of a JSON text, also of one that is broken: for colours, for brackets, for completion.
//!
//! Reads a line or a whole text; refuses to judge it: that is for `check`.

use std::ops::Range;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EditorTokenKind {
    /// `{` or `[`
    Open(u8),
    /// `}` or `]`
    Close(u8),
    Comma,
    Colon,
    /// With its quotes; the last one may be missing.
    Text,
    Number,
    /// `true`, `null`, or something else without quotes.
    Word,
    Comment,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EditorToken {
    pub kind: EditorTokenKind,
    pub range: Range<usize>,
}

/// The tokens of a text, in order.
pub struct EditorTokenizer<'a> {
    bytes: &'a [u8],
    offset: usize,
    /// Inside a comment of several lines.
    pub in_block_comment: bool,
}

/// `inside`: the text begins in a comment of several lines.
pub fn editor_tokens(text: &str, inside: bool) -> EditorTokenizer<'_> {
    EditorTokenizer { bytes: text.as_bytes(), offset: 0, in_block_comment: inside }
}

/// Whether each line begins inside a comment; empty if none does.
pub fn inside_comments(lines: &[String]) -> Vec<bool> {
    if !lines.iter().any(|line| line.contains("/*")) {
        return Vec::new();
    }
    let mut inside = false;
    let mut all = Vec::with_capacity(lines.len());
    for line in lines {
        all.push(inside);
        let mut tokens = editor_tokens(line, inside);
        while tokens.next().is_some() {}
        inside = tokens.in_block_comment;
    }
    all
}

impl EditorTokenizer<'_> {
    fn comment(&mut self, from: usize) -> EditorToken {
        let rest = self.bytes.get(self.offset..).unwrap_or_default();
        match rest.windows(2).position(|two| two == b"*/") {
            Some(end) => {
                self.offset += end + 2;
                self.in_block_comment = false;
            }
            None => {
                self.offset = self.bytes.len();
                self.in_block_comment = true;
            }
        }
        EditorToken { kind: EditorTokenKind::Comment, range: from..self.offset }
    }

    /// To the quote, or to the end of the line.
    fn text(&mut self) {
        let mut escaped = false;
        while let Some(byte) = self.bytes.get(self.offset) {
            match byte {
                b'\n' => return,
                b'"' if !escaped => {
                    self.offset += 1;
                    return;
                }
                _ => escaped = *byte == b'\\' && !escaped,
            }
            self.offset += 1;
        }
    }

    fn skip_until(&mut self, ends: impl Fn(u8) -> bool) {
        while self.bytes.get(self.offset).is_some_and(|byte| !ends(*byte)) {
            self.offset += 1;
        }
    }
}

impl Iterator for EditorTokenizer<'_> {
    type Item = EditorToken;

    fn next(&mut self) -> Option<EditorToken> {
        let blank = |byte: u8| byte.is_ascii_whitespace();
        if self.in_block_comment && self.offset < self.bytes.len() {
            return Some(self.comment(self.offset));
        }
        self.skip_until(|byte| !blank(byte));
        let from = self.offset;
        let first = *self.bytes.get(from)?;
        self.offset += 1;
        let kind = match first {
            b'{' | b'[' => EditorTokenKind::Open(first),
            b'}' | b']' => EditorTokenKind::Close(first),
            b',' => EditorTokenKind::Comma,
            b':' => EditorTokenKind::Colon,
            b'"' => {
                self.text();
                EditorTokenKind::Text
            }
            b'/' if self.bytes.get(self.offset) == Some(&b'*') => {
                self.offset += 1;
                return Some(self.comment(from));
            }
            b'/' if self.bytes.get(self.offset) == Some(&b'/') => {
                self.skip_until(|byte| byte == b'\n');
                EditorTokenKind::Comment
            }
            _ => {
                self.skip_until(|byte| blank(byte) || b"{}[],:\"/".contains(&byte));
                if first.is_ascii_digit() || first == b'-' {
                    EditorTokenKind::Number
                } else {
                    EditorTokenKind::Word
                }
            }
        };
        Some(EditorToken { kind, range: from..self.offset })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token_kinds(text: &str) -> Vec<(EditorTokenKind, &str)> {
        editor_tokens(text, false).map(|token| (token.kind, &text[token.range])).collect()
    }

    #[test]
    fn texts_are_taken_apart_whatever_they_are() {
        let check = |text: &str, expected: &[(EditorTokenKind, &str)]| {
            assert_eq!(token_kinds(text), expected, "{text}")
        };
        check(
            "{\"a\": -1.5, // x",
            &[
                (EditorTokenKind::Open(b'{'), "{"),
                (EditorTokenKind::Text, "\"a\""),
                (EditorTokenKind::Colon, ":"),
                (EditorTokenKind::Number, "-1.5"),
                (EditorTokenKind::Comma, ","),
                (EditorTokenKind::Comment, "// x"),
            ],
        );
        check("\"é\\\"b\"tru", &[(EditorTokenKind::Text, "\"é\\\"b\""), (EditorTokenKind::Word, "tru")]);
        check("\"open\n]", &[(EditorTokenKind::Text, "\"open"), (EditorTokenKind::Close(b']'), "]")]);
        check(
            "/* a\n*/ 1 /* b",
            &[
                (EditorTokenKind::Comment, "/* a\n*/"),
                (EditorTokenKind::Number, "1"),
                (EditorTokenKind::Comment, "/* b"),
            ],
        );
        check("/", &[(EditorTokenKind::Word, "/")]);
        check("é", &[(EditorTokenKind::Word, "é")]);
        check("\"\\", &[(EditorTokenKind::Text, "\"\\")]);
        check("  ", &[]);
    }

    #[test]
    fn comments_of_several_lines_are_carried_on() {
        let lines = |text: &str| text.split('\n').map(str::to_owned).collect::<Vec<_>>();
        let check =
            |text: &str, expected: &[bool]| assert_eq!(inside_comments(&lines(text)), expected, "{text}");
        check("{\n}", &[]);
        check("/* a\n\nb */ {\n}", &[false, true, true, false]);
        check("\"/*\"\n1", &[false, false]);
        check("// /*\n1", &[false, false]);
    }
}
