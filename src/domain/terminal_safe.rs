//! Text that steers no terminal: control characters and overrides of the writing direction become visible.
//!
//! Nothing is dropped but whole escape sequences, and those only where asked for (`clean`): what is hidden
//! could be the name of a file that is about to be deleted.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Text of several lines: everything but newlines and tabs that is no visible character is shown as a symbol
/// (`␛`) or by its number (`‹U+202E›`). Given its own result it changes nothing.
pub fn escape_controls(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for (at, c) in text.char_indices() {
        push_visible(&mut out, c, &text[at + c.len_utf8()..]);
    }
    Cow::Owned(out)
}

/// The first line that is not blank, made visible as by [`escape_controls`] and cut to `most` characters.
pub fn first_line(text: &str, most: usize) -> String {
    let line = escape_controls(text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim());
    if line.chars().count() <= most {
        return line.into_owned();
    }
    let short: String = line.chars().take(most.saturating_sub(1)).collect();
    format!("{short}…")
}

/// As `escape_controls`, and characters without a shape (joiners, fillers, tags, blanks that are no spaces) are shown
/// by their number, too: for texts that a user decides about. Emoji are kept.
pub fn escape_invisible(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut before = None;
    for (at, c) in text.char_indices() {
        let rest = &text[at + c.len_utf8()..];
        if is_invisible_between(before, c, rest.chars().next()) {
            push_number(&mut out, c);
        } else {
            push_visible(&mut out, c, rest);
        }
        before = Some(c);
    }
    Cow::Owned(out)
}

/// As `escape_invisible`, inside a line.
pub fn escape_invisible_name(text: &str) -> String {
    let shown = escape_invisible(text);
    escape_name(&shown).into_owned()
}

/// As `escape_controls`, but drops whole escape sequences: for output of programs, whose colours carry no information.
pub fn strip_escape_sequences(text: &str) -> Cow<'_, str> {
    strip_escape_sequences_to(text, text.len())
}

/// The first bytes of a text, up to a place that `whole` gave, cleaned as they are within all of it: what follows may
/// end a sequence.
pub fn strip_escape_sequences_to(text: &str, end: usize) -> Cow<'_, str> {
    if is_plain(&text[..end]) {
        return Cow::Borrowed(&text[..end]);
    }
    let mut out = String::with_capacity(end + 16);
    let mut rest = text;
    while text.len() - rest.len() < end
        && let Some(first) = rest.chars().next()
    {
        let skip = escape_length(rest);
        if skip > 0 {
            rest = &rest[skip..];
            continue;
        }
        rest = &rest[first.len_utf8()..];
        push_visible(&mut out, first, rest);
    }
    Cow::Owned(out)
}

/// Where a text that comes in pieces can be cleaned up to: behind that, a sequence or a line end is not whole yet. One
/// that does not end is waited for no longer than some thousand bytes.
pub fn complete_prefix_length(text: &str) -> usize {
    const LONGEST: usize = 4_096;
    let (mut at, mut end) = (0, text.len());
    // the last sequence that is whole
    let mut last = 0..0;
    while let Some(found) = text[at..].find('\x1b') {
        at += found;
        let length = escape_length(&text[at..]);
        // the escape that ends a string belongs to it
        let open = if length == 0 {
            is_unfinished(&text.as_bytes()[at + 1..])
        } else {
            text[at + length..] == *"\x1b"
        };
        if open && text.len() - at <= LONGEST {
            end = at;
            break;
        }
        last = at..at + length;
        at += length.max(1);
    }
    let ended = text[..end].trim_end_matches('\r').len();
    // a return that ends a sequence is not parted from it
    let ended = if last.contains(&ended) { last.start } else { ended };
    if end - ended <= LONGEST { ended } else { end }
}

/// What follows an escape that begins no whole sequence could still become one.
fn is_unfinished(rest: &[u8]) -> bool {
    match rest.split_first() {
        None => true,
        Some((b'[', rest)) => rest.iter().all(|byte| (0x20..0x40).contains(byte)),
        Some((b']' | b'P' | b'X' | b'^' | b'_', _)) => true,
        Some((b'(' | b')' | b'#', rest)) => rest.is_empty(),
        Some(_) => false,
    }
}

/// For a name inside a line (a file, a state, a tool): newlines, returns and tabs are shown, too, so that a name cannot
/// pass for a line of its own.
pub fn escape_name(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => out.push('␊'),
            '\t' => out.push('␉'),
            c => push_visible(&mut out, c, ""),
        }
    }
    Cow::Owned(out)
}

/// A URL without what may be a secret: user and password, query and fragment.
pub fn redact_url(text: &str) -> Cow<'_, str> {
    let cut = &text[..text.find(['?', '#']).unwrap_or(text.len())];
    let (scheme, rest) = cut.find("://").map_or(("", cut), |at| cut.split_at(at + "://".len()));
    let server = &rest[..rest.find(['/', '\\']).unwrap_or(rest.len())];
    let number = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit() || byte == b']');
    // what looks like a port and is none may be a password with a slash in it
    let whole = !server.contains('@') && server.rsplit_once(':').is_none_or(|(_, port)| number(port));
    let place = rest.rfind('@').filter(|_| !whole).map_or(rest, |at| &rest[at + 1..]);
    if place.len() == rest.len() { Cow::Borrowed(cut) } else { Cow::Owned(format!("{scheme}{place}")) }
}

/// The same for the address of a repository, which may be a path.
pub fn redact_remote(text: &str) -> Cow<'_, str> {
    let is_path = text.starts_with(['/', '.', '~']) || !text.contains("://") && !text.contains('@');
    if is_path { Cow::Borrowed(text) } else { redact_url(text) }
}

/// The same for every URL in a message of another program.
pub fn redact_urls_in(message: &str) -> String {
    let is_end = |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '`' | '(' | ')' | '<' | '>');
    let pieces = message.split_inclusive(is_end).map(|piece| {
        let (text, end) = piece.split_at(piece.trim_end_matches(is_end).len());
        let shown = if text.contains("://") { redact_url(text) } else { Cow::Borrowed(text) };
        format!("{shown}{end}")
    });
    pieces.collect()
}

/// JSON text in which everything that `escape_controls` would replace is escaped in JSON's way (`\u202e`): another text
/// of the same value. Outside of strings JSON has only newlines and tabs of these, which are kept.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    if json.is_ascii() && !json.contains('\u{7f}') {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if c >= '\u{7f}' && is_unsafe_character(c) {
            let _ = write!(out, "\\u{:04x}", c as u32);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// No visible character, or one that changes how others read.
fn is_unsafe_character(c: char) -> bool {
    matches!(c,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{061c}'
        // Overrides of the writing direction make text read differently from what it is.
        | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Whether a character has no width, or is invisible in its context.
fn is_invisible_between(before: Option<char>, c: char, after: Option<char>) -> bool {
    match c {
        // how an emoji looks
        '\u{fe0e}' | '\u{fe0f}' => !before.is_some_and(is_picture),
        '\u{200d}' => {
            !(before.is_some_and(|c| is_picture(c) || c == '\u{fe0f}') && after.is_some_and(is_picture))
        }
        _ => is_shapeless(c),
    }
}

fn is_picture(c: char) -> bool {
    matches!(c, '\u{203c}'..='\u{2049}' | '\u{2190}'..='\u{27ff}' | '\u{2900}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

/// Default-ignorable characters of Unicode, and blanks that are no spaces.
fn is_shapeless(c: char) -> bool {
    matches!(c,
        '\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{1680}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}'
        | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d159}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

fn push_number(out: &mut String, c: char) {
    let _ = write!(out, "‹U+{:04X}›", c as u32);
}

fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'\n' | b'\t' | 0x20..0x7f))
}

/// How many bytes at the start of `text` are a whole escape sequence; 0 if none starts here.
fn escape_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    if bytes.first() != Some(&0x1b) {
        return 0;
    }
    match bytes.get(1) {
        Some(b'[') => {
            let end = bytes[2..].iter().position(|byte| !(0x20..0x40).contains(byte));
            end.filter(|at| bytes[2 + at].is_ascii()).map_or(0, |at| at + 3)
        }
        // Strings (titles, links, clipboard, images): to BEL or ESC \. The payload goes too.
        Some(b']' | b'P' | b'X' | b'^' | b'_') => {
            let end = bytes[2..].iter().position(|byte| matches!(byte, 0x07 | 0x1b));
            end.map_or(0, |at| {
                let closing = 2 + at;
                if bytes[closing] == 0x07 {
                    closing + 1
                } else if bytes.get(closing + 1) == Some(&b'\\') {
                    closing + 2
                } else {
                    closing
                }
            })
        }
        Some(b'(' | b')' | b'#') if bytes.get(2).is_some_and(u8::is_ascii) => 3,
        Some(byte) if (0x30..0x7f).contains(byte) => 2,
        _ => 0,
    }
}

fn push_visible(out: &mut String, c: char, rest: &str) {
    match c {
        '\n' | '\t' => out.push(c),
        // Windows line ends are no news; a lone return would overwrite the line on a terminal.
        '\r' if rest.starts_with('\n') => {}
        '\0'..='\u{1f}' => out.push(char::from_u32(0x2400 + c as u32).unwrap_or('␀')),
        '\u{7f}' => out.push('␡'),
        c if is_unsafe_character(c) => push_number(out, c),
        _ => out.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_in_pieces_is_cleaned_like_the_whole() {
        let check = |text: &str, size: usize| {
            let (mut held, mut cleaned) = (String::new(), String::new());
            for c in text.chars().collect::<Vec<_>>().chunks(size) {
                held.extend(c);
                let end = complete_prefix_length(&held);
                cleaned.push_str(&strip_escape_sequences_to(&held, end));
                held.drain(..end);
            }
            cleaned.push_str(&strip_escape_sequences(&held));
            assert_eq!(cleaned, strip_escape_sequences(text), "{text:?} by {size}");
        };
        for text in [
            "a\x1b[1;31mred\x1b[0m\r\nb\x1b]0;title\x07c\x1b]8;;x\x1b\\d\x1b(Be\x1b[éf\rg\x1b",
            // what ends a string begins another sequence
            "a\x1bXgone\x1b[31mb",
            "a\x1b]gone\x1bXgone\x1b]0;\x1b(Bb\x1b",
            "a\x1bXgone\x1b[3",
            "a\x1b(\rb\x1b[\rc\x1bXgone\r\x1b[md\r\x1b[me",
            "a\x1b[\r",
        ] {
            (1..8).for_each(|size| check(text, size));
        }
        let long = format!("\x1b]{}", "x".repeat(5_000));
        assert_eq!(complete_prefix_length(&long), long.len());
    }

    #[test]
    fn a_url_is_shown_without_its_secrets() {
        let rows = [
            ("https://h.example:8/v1", "https://h.example:8/v1"),
            ("https://h.example/@me/v1", "https://h.example/@me/v1"),
            ("http://[::1]/v1/@a", "http://[::1]/v1/@a"),
            ("https://h.example/v1?key=secret", "https://h.example/v1"),
            ("https://h.example/v1#secret", "https://h.example/v1"),
            ("https://me:secret@h.example/v1?a@b", "https://h.example/v1"),
            ("https://me:sec/ret@h.example/v1", "https://h.example/v1"),
            ("me:secret@h.example", "h.example"),
            ("localhost:1/v1", "localhost:1/v1"),
        ];
        for (text, expected) in rows {
            assert_eq!(redact_url(text), expected, "{text}");
        }
    }

    #[test]
    fn a_repository_and_a_message_are_shown_without_secrets() {
        for (text, expected) in [
            ("https://me:sec@ret@h.example/x.git?token=secret", "https://h.example/x.git"),
            ("git@h.example:x.git", "h.example:x.git"),
            ("/srv/a@b/x#1.git", "/srv/a@b/x#1.git"),
            ("file:///srv/a@b.git", "file:///srv/a@b.git"),
        ] {
            assert_eq!(redact_remote(text), expected);
        }
        assert_eq!(
            redact_urls_in("cannot read 'http://me:secret@h.example/x.git' (http://h.example:1): a@b"),
            "cannot read 'http://h.example/x.git' (http://h.example:1): a@b"
        );
    }

    #[test]
    fn what_has_no_shape_is_shown_where_a_user_decides() {
        for (text, expected) in [
            ("plain\n\t日本 é e\u{301}", "plain\n\t日本 é e\u{301}"),
            ("r\u{200b}m\u{200d}x\u{ad}", "r‹U+200B›m‹U+200D›x‹U+00AD›"),
            ("a\u{e0072}\u{e007f}\u{3164}\u{2800}\u{a0}", "a‹U+E0072›‹U+E007F›‹U+3164›‹U+2800›‹U+00A0›"),
            ("a\u{fe0f}\u{e0100}\u{34f}\u{2063}", "a‹U+FE0F›‹U+E0100›‹U+034F›‹U+2063›"),
            ("❤\u{fe0f} 👩\u{200d}👧", "❤\u{fe0f} 👩\u{200d}👧"),
            ("❤\u{fe0f}\u{fe0f}👩\u{200d}a", "❤\u{fe0f}‹U+FE0F›👩‹U+200D›a"),
            ("\u{202e}\u{feff}\u{1b}[2K\r\u{85}", "‹U+202E›‹U+FEFF›␛[2K␍‹U+0085›"),
        ] {
            assert_eq!(escape_invisible(text), expected, "{text:?}");
            assert_eq!(escape_invisible(expected), expected, "twice {text:?}");
        }
        assert_eq!(escape_invisible_name("a\n\u{200b}b"), "a␊‹U+200B›b");
    }

    #[test]
    fn what_steers_a_terminal_is_shown() {
        let check = |text: &str, revealed: &str, cleaned: &str, named: &str| {
            assert_eq!(escape_controls(text), revealed, "reveal {text:?}");
            assert_eq!(strip_escape_sequences(text), cleaned, "clean {text:?}");
            assert_eq!(escape_name(text), named, "name {text:?}");
            assert_eq!(escape_controls(revealed), revealed, "twice {text:?}");
        };
        check("plain", "plain", "plain", "plain");
        check("a\nb\tc", "a\nb\tc", "a\nb\tc", "a␊b␉c");
        check("n\x1b[2K.txt", "n␛[2K.txt", "n.txt", "n␛[2K.txt");
        check("\x1b]52;c;aGk=\x1b\\x", "␛]52;c;aGk=␛\\x", "x", "␛]52;c;aGk=␛\\x");
        check("a\r\nb\rc\r", "a\nb␍c␍", "a\nb␍c␍", "a␍␊b␍c␍");
        check("\u{9b}2K\x7f", "‹U+009B›2K␡", "‹U+009B›2K␡", "‹U+009B›2K␡");
        check("日本", "日本", "日本", "日本");
        for c in
            ('\u{202a}'..='\u{202e}').chain('\u{2066}'..='\u{2069}').chain("\u{200e}\u{200f}\u{61c}".chars())
        {
            let shown = format!("‹U+{:04X}›", c as u32);
            check(&c.to_string(), &shown, &shown, &shown);
        }
    }
}
