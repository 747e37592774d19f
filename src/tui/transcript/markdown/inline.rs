//! Inline marks: **bold**, *italic*, ~~struck~~, `code`, links. An unclosed mark stays as text.
//!
//! Visits every byte a bounded number of times, whatever the line contains.

use ratatui::style::{Modifier, Style};

use super::super::line_wrap::StyledPiece;
use crate::theme::ColorTheme;

/// Addresses longer than this are no addresses.
const URL_LIMIT: usize = 1_000;
/// Runs of more backticks than this are text.
const TICKS: usize = 8;

#[derive(Clone, Copy, Debug)]
enum InlineToken<'a> {
    Text(&'a str),
    Code(&'a str),
    /// Its words and its address.
    Link(&'a str, &'a str),
    /// `**`: how many of them may still open or close something is known in the end.
    Marks(&'a str),
}

#[derive(Clone, Copy, Debug)]
struct DelimiterRun {
    token: usize,
    kind: u8,
    remaining: usize,
    can_open: bool,
    can_close: bool,
}

/// Changes of depth before a token: bold, italic, struck.
type EmphasisChanges = Vec<[i32; 3]>;

/// The line in pieces, marks taken away.
pub fn inline_pieces(line: &str, base: Style, theme: ColorTheme) -> Vec<StyledPiece<'_>> {
    if !line.bytes().any(is_special) {
        return vec![(base, line)];
    }
    let (tokens, mut marks) = scan_tokens(line);
    let turns = pair_delimiters(tokens.len(), &mut marks);
    let mut pieces = Vec::with_capacity(tokens.len());
    let (mut depth, mut mark) = ([0; 3], 0);
    for (at, token) in tokens.iter().enumerate() {
        for (sum, turn) in depth.iter_mut().zip(turns[at]) {
            *sum += turn;
        }
        let style = nested_style(base, depth, theme);
        match *token {
            InlineToken::Text(text) => pieces.push((style, text)),
            InlineToken::Code(text) => pieces.push((style.patch(theme.accent_style()), text)),
            InlineToken::Link(label, url) => {
                pieces.push((style.add_modifier(Modifier::UNDERLINED), label));
                if label != url {
                    pieces.extend([
                        (base.patch(theme.dim_style()), " ("),
                        (base.patch(theme.dim_style()), url),
                    ]);
                    pieces.push((base.patch(theme.dim_style()), ")"));
                }
            }
            InlineToken::Marks(run) => {
                pieces.push((style, &run[..marks[mark].remaining]));
                mark += 1;
            }
        }
    }
    pieces.retain(|piece| !piece.1.is_empty());
    pieces
}

fn nested_style(base: Style, depth: [i32; 3], theme: ColorTheme) -> Style {
    let [bold, italic, struck] = depth.map(|depth| depth > 0);
    let mut style = if bold { base.patch(theme.bold_style()) } else { base };
    if italic {
        style = style.add_modifier(Modifier::ITALIC);
    }
    if struck {
        style = style.add_modifier(Modifier::CROSSED_OUT);
    }
    style
}

fn is_special(byte: u8) -> bool {
    matches!(byte, b'\\' | b'`' | b'*' | b'_' | b'~' | b'[' | b'<')
}

/// Delimiters that do not occur any more, so that they are not searched again.
struct AbsentDelimiters {
    absent_ticks: [bool; TICKS + 1],
    link: bool,
    angle: bool,
}

fn scan_tokens(line: &str) -> (Vec<InlineToken<'_>>, Vec<DelimiterRun>) {
    let bytes = line.as_bytes();
    let (mut tokens, mut marks) = (Vec::new(), Vec::new());
    let mut absent = AbsentDelimiters { absent_ticks: [false; TICKS + 1], link: false, angle: false };
    // `plain` is where the text begins that is not yet a token
    let (mut at, mut plain) = (0, 0);
    while at < bytes.len() {
        let byte = bytes[at];
        if !is_special(byte) {
            at += 1;
            continue;
        }
        if byte == b'\\' {
            if bytes.get(at + 1).is_some_and(u8::is_ascii_punctuation) {
                tokens.push(InlineToken::Text(&line[plain..at]));
                plain = at + 1;
                at += 1;
            }
            at += 1;
            continue;
        }
        let run = bytes[at..].iter().take_while(|next| **next == byte).count();
        let found = match byte {
            b'`' => code_span(line, at, run, &mut absent),
            b'[' => parse_link(line, at, &mut absent),
            b'<' => parse_autolink(line, at, &mut absent),
            _ => None,
        };
        if let Some((token, end)) = found {
            let before = if byte == b'[' { line[plain..at].strip_suffix('!') } else { None };
            tokens.push(InlineToken::Text(before.unwrap_or(&line[plain..at])));
            tokens.push(token);
            (at, plain) = (end, end);
        } else if matches!(byte, b'*' | b'_') || byte == b'~' && run == 2 {
            tokens.push(InlineToken::Text(&line[plain..at]));
            marks.push(delimiter_run(line, at, run, tokens.len()));
            tokens.push(InlineToken::Marks(&line[at..at + run]));
            at += run;
            plain = at;
        } else {
            at += if byte == b'[' || byte == b'<' { 1 } else { run };
        }
    }
    tokens.push(InlineToken::Text(&line[plain..]));
    (tokens, marks)
}

/// Whether a run of marks can open or close, by its neighbours.
fn delimiter_run(line: &str, at: usize, run: usize, token: usize) -> DelimiterRun {
    let before = line[..at].chars().next_back().unwrap_or(' ');
    let after = line[at + run..].chars().next().unwrap_or(' ');
    let punctuation = |c: char| !c.is_alphanumeric() && !c.is_whitespace();
    let left =
        !after.is_whitespace() && (!punctuation(after) || before.is_whitespace() || punctuation(before));
    let right =
        !before.is_whitespace() && (!punctuation(before) || after.is_whitespace() || punctuation(after));
    let kind = line.as_bytes()[at];
    // inside of a word an underscore is a letter
    let (opens, closes) = if kind == b'_' {
        (left && (!right || punctuation(before)), right && (!left || punctuation(after)))
    } else {
        (left, right)
    };
    DelimiterRun { token, kind, remaining: run, can_open: opens, can_close: closes }
}

fn code_span<'a>(
    line: &'a str,
    at: usize,
    run: usize,
    absent: &mut AbsentDelimiters,
) -> Option<(InlineToken<'a>, usize)> {
    if run > TICKS || absent.absent_ticks[run] {
        return None;
    }
    let bytes = line.as_bytes();
    let start = at + run;
    let mut next = start;
    while let Some(found) = line[next..].find('`') {
        let from = next + found;
        let length = bytes[from..].iter().take_while(|byte| **byte == b'`').count();
        if length == run {
            let inner = &line[start..from];
            let bare = inner.strip_prefix(' ').and_then(|inner| inner.strip_suffix(' '));
            let bare = bare.filter(|bare| !bare.trim().is_empty()).unwrap_or(inner);
            return Some((InlineToken::Code(bare), from + run));
        }
        next = from + length;
    }
    absent.absent_ticks[run] = true;
    None
}

/// `[words](address)`, with a title that is not shown.
fn parse_link<'a>(
    line: &'a str,
    at: usize,
    absent: &mut AbsentDelimiters,
) -> Option<(InlineToken<'a>, usize)> {
    if absent.link {
        return None;
    }
    let rest = &line[at + 1..];
    let Some(close) = rest.find(']') else {
        absent.link = true;
        return None;
    };
    let label = &rest[..close];
    let target = rest[close + 1..].strip_prefix('(')?;
    if label.is_empty() || label.contains('[') {
        return None;
    }
    let mut depth = 0;
    let mut end = None;
    for (at, byte) in target.bytes().enumerate().take(URL_LIMIT) {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 0 => {
                end = Some(at);
                break;
            }
            b')' => depth -= 1,
            _ => {}
        }
    }
    let inside = &target[..end?];
    let url = inside.split_once(" \"").map_or(inside, |(url, _)| url).trim();
    let url = url.strip_prefix('<').and_then(|url| url.strip_suffix('>')).unwrap_or(url);
    let after = at + 1 + close + 2 + inside.len() + 1;
    (!url.is_empty() && !url.contains(' ')).then_some((InlineToken::Link(label, url), after))
}

/// `<https://…>`
fn parse_autolink<'a>(
    line: &'a str,
    at: usize,
    absent: &mut AbsentDelimiters,
) -> Option<(InlineToken<'a>, usize)> {
    if absent.angle {
        return None;
    }
    let rest = &line[at + 1..];
    let known = ["https://", "http://", "mailto:"].iter().any(|scheme| rest.starts_with(scheme));
    if !known {
        return None;
    }
    let Some(end) = rest.find('>') else {
        absent.angle = true;
        return None;
    };
    let url = &rest[..end];
    (!url.contains([' ', '<'])).then_some((InlineToken::Link(url, url), at + 1 + end + 1))
}

/// Finds what opens for everything that closes; takes away the marks that found each other.
fn pair_delimiters(tokens: usize, marks: &mut [DelimiterRun]) -> EmphasisChanges {
    let mut turns: EmphasisChanges = vec![[0; 3]; tokens + 1];
    let mut open: Vec<usize> = Vec::new();
    // Below this place of the stack nothing opens such a run: by kind, length modulo three, and whether it opens, too.
    let mut bottom = [[[0; 2]; 3]; 3];
    for at in 0..marks.len() {
        let mut closer = marks[at];
        while closer.can_close && closer.remaining > 0 {
            let floor =
                &mut bottom[delimiter_kind(closer.kind)][closer.remaining % 3][usize::from(closer.can_open)];
            let from = (*floor).min(open.len());
            let fits = |mark: &DelimiterRun| {
                mark.kind == closer.kind && mark.remaining > 0 && can_pair(mark, &closer)
            };
            let Some(found) = open[from..].iter().rposition(|index| fits(&marks[*index])) else {
                *floor = open.len();
                break;
            };
            let opener = open[from + found];
            open.truncate(from + found + 1);
            let both = marks[opener].remaining.min(closer.remaining).min(2);
            let depth = if closer.kind == b'~' { 2 } else { usize::from(both == 1) };
            turns[marks[opener].token + 1][depth] += 1;
            turns[closer.token][depth] -= 1;
            marks[opener].remaining -= both;
            closer.remaining -= both;
            if marks[opener].remaining == 0 {
                open.pop();
            }
        }
        marks[at] = closer;
        if closer.can_open && closer.remaining > 0 {
            open.push(at);
        }
    }
    turns
}

fn delimiter_kind(byte: u8) -> usize {
    match byte {
        b'*' => 0,
        b'_' => 1,
        _ => 2,
    }
}

/// The rule of three: a run that could do both closes only what adds up.
fn can_pair(opener: &DelimiterRun, closer: &DelimiterRun) -> bool {
    if closer.kind == b'~' {
        return true;
    }
    let both_ways = opener.can_close || closer.can_open;
    !both_ways
        || !(opener.remaining + closer.remaining).is_multiple_of(3)
        || opener.remaining.is_multiple_of(3) && closer.remaining.is_multiple_of(3)
}
