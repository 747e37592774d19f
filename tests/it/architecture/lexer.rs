//! Comments and text literals of Rust source, which the parser drops or hides in macros.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PieceKind {
    Comment,
    Literal,
}

#[derive(PartialEq, Eq, Debug)]
pub(super) struct Piece<'a> {
    pub(super) line: usize,
    pub(super) kind: PieceKind,
    pub(super) text: &'a str,
}

/// Each comment and text literal, in order; a comment of several lines is one piece.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let (mut at, mut line) = (0, 1);
    while at < bytes.len() {
        let (kind, begin, end, next) = match bytes[at] {
            b'/' if bytes[at..].starts_with(b"//") => {
                let end = find(bytes, at, b"\n");
                (PieceKind::Comment, at, end, end)
            }
            b'/' if bytes[at..].starts_with(b"/*") => {
                let end = find(bytes, at, b"*/");
                (PieceKind::Comment, at, end, end + 2)
            }
            b'"' => {
                let end = end_of_literal(bytes, at + 1);
                (PieceKind::Literal, at + 1, end, end + 1)
            }
            b'r' if !(at > 0 && is_name_byte(bytes[at - 1])) => match raw_literal(bytes, at) {
                Some((begin, end, next)) => (PieceKind::Literal, begin, end, next),
                None => {
                    at += 1;
                    continue;
                }
            },
            b'\'' => {
                at = behind_quote(text, at);
                continue;
            }
            byte => {
                line += usize::from(byte == b'\n');
                at += 1;
                continue;
            }
        };
        let next = next.min(bytes.len());
        found.push(Piece { line, kind, text: &text[begin..end.min(bytes.len())] });
        line += bytes[at..next].iter().filter(|byte| **byte == b'\n').count();
        at = next;
    }
    found
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Where the needle begins, or the end of the text.
fn find(bytes: &[u8], from: usize, needle: &[u8]) -> usize {
    bytes[from..]
        .windows(needle.len())
        .position(|window| window == needle)
        .map_or(bytes.len(), |found| from + found)
}

fn end_of_literal(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at
}

/// Begin and end of the text of `r#"…"#`, and what follows it.
fn raw_literal(bytes: &[u8], at: usize) -> Option<(usize, usize, usize)> {
    let marks = bytes[at + 1..].iter().take_while(|byte| **byte == b'#').count();
    let begin = at + 1 + marks;
    if bytes.get(begin) != Some(&b'"') {
        return None;
    }
    let close = [&b"\""[..], &vec![b'#'; marks]].concat();
    let end = find(bytes, begin + 1, &close);
    Some((begin + 1, end, end + close.len()))
}

/// Behind a character literal, or behind the mark of a lifetime.
fn behind_quote(text: &str, at: usize) -> usize {
    let mut letters = text[at + 1..].chars();
    match letters.next() {
        // the escaped letter is part of it, also when it is a quote
        Some('\\') => find(text.as_bytes(), at + 3, b"'") + 1,
        Some(letter) if letters.next() == Some('\'') => at + 2 + letter.len_utf8(),
        _ => at + 1,
    }
}
