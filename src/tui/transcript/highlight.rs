//! Colours for code: comments, strings, numbers, words of the language, names of types. One small reader for all
//! languages, line by line, so that a block of any length is coloured as it comes.

use ratatui::style::Style;

use super::line_wrap::StyledPiece;
use crate::theme::ColorTheme;

mod languages;

pub use languages::{LanguageSyntax, find_file_language, find_language};

/// What is open at the end of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum HighlightState {
    #[default]
    Code,
    Comment,
    /// A string of several lines, and what ends it.
    Text(&'static str),
}

#[derive(Clone, Copy)]
enum HighlightKind {
    Plain,
    Comment,
    Text,
    Number,
    Word,
    Type,
}

/// The line in pieces.
pub fn highlight_line<'a>(
    line: &'a str,
    language: &LanguageSyntax,
    lex: &mut HighlightState,
    base: Style,
    theme: ColorTheme,
) -> Vec<StyledPiece<'a>> {
    let mut pieces: Vec<StyledPiece<'a>> = Vec::new();
    let mut plain = 0;
    let mut at = 0;
    while at < line.len() {
        let (kind, end) = next_token(line, at, language, lex);
        if !matches!(kind, HighlightKind::Plain) {
            if plain < at {
                pieces.push((base, &line[plain..at]));
            }
            pieces.push((base.patch(highlight_style(kind, theme)), &line[at..end]));
            plain = end;
        }
        at = end;
    }
    if plain < line.len() {
        pieces.push((base, &line[plain..]));
    }
    pieces
}

fn highlight_style(kind: HighlightKind, theme: ColorTheme) -> Style {
    match kind {
        HighlightKind::Plain => theme.text(),
        HighlightKind::Comment => theme.dim_style(),
        HighlightKind::Text => theme.good_style(),
        HighlightKind::Number => theme.warning_style(),
        HighlightKind::Word => theme.bold_style(),
        HighlightKind::Type => theme.accent_style(),
    }
}

/// What begins at a byte, and where it ends: always behind it.
fn next_token(
    line: &str,
    at: usize,
    language: &LanguageSyntax,
    lex: &mut HighlightState,
) -> (HighlightKind, usize) {
    let rest = &line[at..];
    let upto = |end: Option<usize>, mark: &str| end.map(|end| at + end + mark.len());
    match *lex {
        HighlightState::Comment => {
            let close = language.block.map_or("", |block| block.1);
            let end = upto(rest.find(close), close);
            if end.is_some() {
                *lex = HighlightState::Code;
            }
            return (HighlightKind::Comment, end.unwrap_or(line.len()));
        }
        HighlightState::Text(close) => {
            let end = upto(find_closing_mark(rest, close), close);
            if end.is_some() {
                *lex = HighlightState::Code;
            }
            return (HighlightKind::Text, end.unwrap_or(line.len()));
        }
        HighlightState::Code => {}
    }
    if let Some((open, close)) = language.block.filter(|block| rest.starts_with(block.0)) {
        let end = rest[open.len()..].find(close).map(|end| at + open.len() + end + close.len());
        if end.is_none() {
            *lex = HighlightState::Comment;
        }
        return (HighlightKind::Comment, end.unwrap_or(line.len()));
    }
    let apart = line[..at].chars().next_back().is_none_or(|before| before.is_whitespace() || before == ';');
    if language.comments.iter().any(|mark| rest.starts_with(mark) && (*mark != "#" || apart)) {
        return (HighlightKind::Comment, line.len());
    }
    if let Some(quote) = language.long_quotes.iter().find(|quote| rest.starts_with(**quote)) {
        let end = find_closing_mark(&rest[quote.len()..], quote).map(|end| at + end + 2 * quote.len());
        if end.is_none() {
            *lex = HighlightState::Text(quote);
        }
        return (HighlightKind::Text, end.unwrap_or(line.len()));
    }
    next_word(line, at, language)
}

/// Strings of one line, numbers, words; anything else is one character of no kind.
fn next_word(line: &str, at: usize, language: &LanguageSyntax) -> (HighlightKind, usize) {
    let rest = &line[at..];
    let Some(first) = rest.chars().next() else { return (HighlightKind::Plain, line.len()) };
    if language.quote_chars.contains(first)
        && let Some(end) = string_end(rest, first, language)
    {
        return (HighlightKind::Text, at + end);
    }
    let run = |ok: fn(char) -> bool| rest.find(|c| !ok(c)).map_or(line.len(), |end| at + end);
    if first.is_ascii_digit() {
        return (HighlightKind::Number, run(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.')));
    }
    if !first.is_alphabetic() && first != '_' {
        return (HighlightKind::Plain, at + first.len_utf8());
    }
    let end = run(|c| c.is_alphanumeric() || c == '_');
    let text = &line[at..end];
    let known = language.keywords.contains(&text)
        || language.ignores_case && language.keywords.contains(&text.to_ascii_lowercase().as_str());
    let kind = match first {
        _ if known => HighlightKind::Word,
        'A'..='Z' if language.types => HighlightKind::Type,
        _ => HighlightKind::Plain,
    };
    (kind, end)
}

/// Where a string of one line ends. `'a` of Rust opens nothing, and neither does a quote that nothing closes.
fn string_end(rest: &str, quote: char, language: &LanguageSyntax) -> Option<usize> {
    let close = &rest[..1];
    let end = 1 + find_closing_mark(&rest[1..], close)? + 1;
    let lifetime = quote == '\'' && language.has_lifetimes;
    let inner = &rest[1..end - 1];
    (!lifetime || inner.starts_with('\\') || inner.chars().count() == 1).then_some(end)
}

/// The first `mark` that has no backslash before it.
fn find_closing_mark(text: &str, mark: &str) -> Option<usize> {
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

    /// Highlighted pieces, with the sign of their kind.
    fn check(name: &str, lines: &[(&str, &[(&str, HighlightKind)])]) {
        let theme = ColorTheme::default();
        let language = find_language(name).unwrap();
        let mut lex = HighlightState::default();
        for (line, expected) in lines {
            let found = highlight_line(line, language, &mut lex, Style::new(), theme);
            assert_eq!(found.iter().map(|piece| piece.1).collect::<String>(), *line);
            let loud: Vec<StyledPiece<'_>> =
                found.into_iter().filter(|piece| piece.0 != Style::new()).collect();
            let expected: Vec<StyledPiece<'_>> =
                expected.iter().map(|(text, kind)| (highlight_style(*kind, theme), *text)).collect();
            assert_eq!(loud, expected, "{name}: {line}");
        }
    }

    #[test]
    fn words_strings_numbers_and_comments_stand_out() {
        use HighlightKind::{Comment, Number, Text, Type, Word};
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
        assert!(find_language("nonsense").is_none());
    }
}
