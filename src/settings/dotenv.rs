//! The text of a `.env` file, read as shells write it. Refuses: which of several files wins, and what a name means.

use std::ops::Range;

/// One `NAME=value`, with the bytes of both; those of the value hold its quotes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DotenvAssignment {
    pub name: String,
    pub value: String,
    pub name_range: Range<usize>,
    pub value_range: Range<usize>,
}

/// `export`, comments, single quotes (literal), double quotes (with `\n`, `\"`, `\\`) that may run over several lines.
/// The second list has the lines that are none of these: the file belongs to other programs too.
pub fn parse_dotenv(text: &str) -> (Vec<DotenvAssignment>, Vec<Range<usize>>) {
    let (mut found, mut broken) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let line_end = rest.find('\n').unwrap_or(rest.len());
        let line = &rest[..line_end];
        let next = at + line_end + 1;
        let trimmed = line.trim_start_matches('\u{feff}').trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            at = next;
            continue;
        }
        let left = line.split_once('=').map_or("", |(left, _)| left);
        let name = left.trim_start_matches('\u{feff}').trim();
        let name = name.strip_prefix("export ").map_or(name, str::trim);
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
        {
            broken.push(at..at + line.len());
            at = next;
            continue;
        }
        let name_at = at + line.find(name).unwrap_or(0);
        let (value, used) = parse_value(&rest[left.len() + 1..]);
        let after = left.len() + 1 + used;
        found.push(DotenvAssignment {
            name: name.to_owned(),
            value,
            name_range: name_at..name_at + name.len(),
            value_range: at + left.len() + 1..at + after,
        });
        at += after + rest[after..].find('\n').map_or(rest.len() - after, |newline| newline + 1);
    }
    (found, broken)
}

/// The value at the start of `text`, and how many bytes it took.
fn parse_value(text: &str) -> (String, usize) {
    let lead = text.len() - text.trim_start_matches([' ', '\t']).len();
    let body = &text[lead..];
    match body.chars().next() {
        Some('\'') => match body[1..].find('\'') {
            Some(end) => (body[1..=end].to_owned(), lead + end + 2),
            None => parse_unquoted(text),
        },
        Some('"') => double_quoted(&body[1..])
            .map_or_else(|| parse_unquoted(text), |(value, used)| (value, lead + 1 + used)),
        _ => parse_unquoted(text),
    }
}

fn parse_unquoted(text: &str) -> (String, usize) {
    let line = &text[..text.find('\n').unwrap_or(text.len())];
    let end = line.find(" #").or_else(|| line.find("\t#")).unwrap_or(line.len());
    (line[..end].trim().to_owned(), line.len())
}

fn double_quoted(text: &str) -> Option<(String, usize)> {
    let mut out = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((out, at + 1)),
            '\\' => match chars.next()?.1 {
                'n' => out.push('\n'),
                'r' => out.push('\r'),
                't' => out.push('\t'),
                other => out.push(other),
            },
            _ => out.push(c),
        }
    }
    None
}
