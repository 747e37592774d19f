//! Colours for code: comments, strings, numbers, words of the language, names of types. One small reader for all
//! languages, line by line, so that a block of any length is coloured as it comes.

use ratatui::style::Style;

use super::rows::Piece;
use crate::tui::theme::Theme;

mod languages;

pub use languages::{Language, language};

/// What is open at the end of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Lex {
    #[default]
    Code,
    Comment,
    /// A string of several lines, and what ends it.
    Text(&'static str),
}

#[derive(Clone, Copy)]
enum Kind {
    Plain,
    Comment,
    Text,
    Number,
    Word,
    Type,
}

/// The line in pieces.
pub fn pieces<'a>(
    line: &'a str,
    language: &Language,
    lex: &mut Lex,
    base: Style,
    theme: Theme,
) -> Vec<Piece<'a>> {
    let mut pieces: Vec<Piece<'a>> = Vec::new();
    let mut plain = 0;
    let mut at = 0;
    while at < line.len() {
        let (kind, end) = token(line, at, language, lex);
        if !matches!(kind, Kind::Plain) {
            if plain < at {
                pieces.push((base, &line[plain..at]));
            }
            pieces.push((base.patch(style(kind, theme)), &line[at..end]));
            plain = end;
        }
        at = end;
    }
    if plain < line.len() {
        pieces.push((base, &line[plain..]));
    }
    pieces
}

fn style(kind: Kind, theme: Theme) -> Style {
    match kind {
        Kind::Plain => theme.text(),
        Kind::Comment => theme.dim(),
        Kind::Text => theme.good(),
        Kind::Number => theme.warning(),
        Kind::Word => theme.bold(),
        Kind::Type => theme.accent(),
    }
}

/// What begins at a byte, and where it ends: always behind it.
fn token(line: &str, at: usize, language: &Language, lex: &mut Lex) -> (Kind, usize) {
    let rest = &line[at..];
    let upto = |end: Option<usize>, mark: &str| end.map(|end| at + end + mark.len());
    match *lex {
        Lex::Comment => {
            let close = language.block.map_or("", |block| block.1);
            let end = upto(rest.find(close), close);
            if end.is_some() {
                *lex = Lex::Code;
            }
            return (Kind::Comment, end.unwrap_or(line.len()));
        }
        Lex::Text(close) => {
            let end = upto(closing(rest, close), close);
            if end.is_some() {
                *lex = Lex::Code;
            }
            return (Kind::Text, end.unwrap_or(line.len()));
        }
        Lex::Code => {}
    }
    if let Some((open, close)) = language.block.filter(|block| rest.starts_with(block.0)) {
        let end = rest[open.len()..].find(close).map(|end| at + open.len() + end + close.len());
        if end.is_none() {
            *lex = Lex::Comment;
        }
        return (Kind::Comment, end.unwrap_or(line.len()));
    }
    let apart = line[..at].chars().next_back().is_none_or(|before| before.is_whitespace() || before == ';');
    if language.comments.iter().any(|mark| rest.starts_with(mark) && (*mark != "#" || apart)) {
        return (Kind::Comment, line.len());
    }
    if let Some(quote) = language.long_quotes.iter().find(|quote| rest.starts_with(**quote)) {
        let end = closing(&rest[quote.len()..], quote).map(|end| at + end + 2 * quote.len());
        if end.is_none() {
            *lex = Lex::Text(quote);
        }
        return (Kind::Text, end.unwrap_or(line.len()));
    }
    word(line, at, language)
}

/// Strings of one line, numbers, words; anything else is one character of no kind.
fn word(line: &str, at: usize, language: &Language) -> (Kind, usize) {
    let rest = &line[at..];
    let Some(first) = rest.chars().next() else { return (Kind::Plain, line.len()) };
    if language.quotes.contains(first)
        && let Some(end) = quoted(rest, first, language)
    {
        return (Kind::Text, at + end);
    }
    let run = |ok: fn(char) -> bool| rest.find(|c| !ok(c)).map_or(line.len(), |end| at + end);
    if first.is_ascii_digit() {
        return (Kind::Number, run(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.')));
    }
    if !first.is_alphabetic() && first != '_' {
        return (Kind::Plain, at + first.len_utf8());
    }
    let end = run(|c| c.is_alphanumeric() || c == '_');
    let text = &line[at..end];
    let known = language.words.contains(&text)
        || language.any_case && language.words.contains(&text.to_ascii_lowercase().as_str());
    let kind = match first {
        _ if known => Kind::Word,
        'A'..='Z' if language.types => Kind::Type,
        _ => Kind::Plain,
    };
    (kind, end)
}

/// Where a string of one line ends. `'a` of Rust opens nothing, and neither does a quote that nothing closes.
fn quoted(rest: &str, quote: char, language: &Language) -> Option<usize> {
    let close = &rest[..1];
    let end = 1 + closing(&rest[1..], close)? + 1;
    let lifetime = quote == '\'' && language.lifetimes;
    let inner = &rest[1..end - 1];
    (!lifetime || inner.starts_with('\\') || inner.chars().count() == 1).then_some(end)
}

/// The first `mark` that has no backslash before it.
fn closing(text: &str, mark: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'\\' {
            at += 2;
        } else if bytes[at..].starts_with(mark.as_bytes()) {
            return Some(at);
        } else {
            at += 1;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces that stand out, with the sign of their kind.
    fn check(name: &str, lines: &[(&str, &[(&str, Kind)])]) {
        let theme = Theme::default();
        let language = language(name).unwrap();
        let mut lex = Lex::default();
        for (line, expected) in lines {
            let found = pieces(line, language, &mut lex, Style::new(), theme);
            assert_eq!(found.iter().map(|piece| piece.1).collect::<String>(), *line);
            let loud: Vec<Piece<'_>> = found.into_iter().filter(|piece| piece.0 != Style::new()).collect();
            let expected: Vec<Piece<'_>> =
                expected.iter().map(|(text, kind)| (style(*kind, theme), *text)).collect();
            assert_eq!(loud, expected, "{name}: {line}");
        }
    }

    #[test]
    fn words_strings_numbers_and_comments_stand_out() {
        use Kind::{Comment, Number, Text, Type, Word};
        check(
            "rust",
            &[
                (
                    "let a: &'a str = \"x\\\"y\"; // end",
                    &[("let", Word), ("\"x\\\"y\"", Text), ("// end", Comment)],
                ),
                (
                    "match c { 'x' => 1_000, _ => Some(0xff) }",
                    &[("match", Word), ("'x'", Text), ("1_000", Number), ("Some", Type), ("0xff", Number)],
                ),
                ("/* a", &[("/* a", Comment)]),
                ("b */ fn é() {}", &[("b */", Comment), ("fn", Word)]),
            ],
        );
        check(
            "python",
            &[
                ("s = \"\"\"one # no", &[("\"\"\"one # no", Text)]),
                ("two\"\"\" # yes", &[("two\"\"\"", Text), ("# yes", Comment)]),
                ("it's open", &[]),
            ],
        );
        check("sh", &[("echo $# 'a b' # c", &[("'a b'", Text), ("# c", Comment)])]);
        check("sql", &[("SELECT a FROM t -- c", &[("SELECT", Word), ("FROM", Word), ("-- c", Comment)])]);
        check(
            "js",
            &[("const a = `x", &[("const", Word), ("`x", Text)]), ("y` + 1", &[("y`", Text), ("1", Number)])],
        );
        assert!(language("nonsense").is_none());
    }
}
