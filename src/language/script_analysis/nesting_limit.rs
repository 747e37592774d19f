//! How long and how deeply nested a script may be, and the stack that parsing it gets.
//!
//! The parser and everything that walks its tree recurse, and a stack overflow ends the program instead of giving a
//! finding. Two measures prevent that: a text nested deeper than any real script is refused with an error that names
//! the cause, and every other text gets a stack that is large enough for its longest possible nesting. The first gives
//! a clear error but can be fooled (it does not know regular expressions); the second cannot.

use super::SyntaxError;

/// Longest script, in characters.
const LONGEST: usize = 100_000;
/// Most brackets that may be open at once, and most prefix operators in a row.
const DEEPEST: usize = 500;
/// Stack for one token, more than twice of what was measured without optimisation: every level of nesting takes at
/// least one token. Only what is really used costs memory.
const STACK_PER_TOKEN: usize = 8 * 1024;
/// What even an empty script takes.
const STACK_AT_LEAST: usize = 256 * 1024;

/// Refuses what is too long or nested too deeply to be meant.
///
/// # Errors
/// Which limit was passed, where, and what to do (E06).
pub(super) fn check_nesting(source: &str) -> Result<(), SyntaxError> {
    if source.len() > LONGEST && source.chars().count() > LONGEST {
        return Err(SyntaxError {
            message: "the script is longer than 100,000 characters".to_owned(),
            hint: Some("keep data in files that agents read".to_owned()),
            offset: 0,
        });
    }
    match if source.len() > DEEPEST { too_deep(source.as_bytes()) } else { None } {
        None => Ok(()),
        Some((what, offset)) => Err(SyntaxError {
            message: format!("nested too deeply: more than {DEEPEST} {what}"),
            hint: Some("split the script into smaller steps".to_owned()),
            offset,
        }),
    }
}

/// Runs `read` with a stack that is large enough to recurse over `text`; on the present one if it will do.
pub(super) fn with_stack<T>(text: &str, read: impl FnOnce() -> T) -> T {
    let stack = STACK_AT_LEAST + count_tokens(text) * STACK_PER_TOKEN;
    stacker::maybe_grow(stack, stack, read)
}

/// At least as many as there are: a word is one, any other visible character is one.
fn count_tokens(text: &str) -> usize {
    let mut inside_word = false;
    let mut found = 0;
    for byte in text.bytes() {
        let word = is_word(byte);
        let continues = word && inside_word;
        if !(byte.is_ascii_whitespace() || continues) {
            found += 1;
        }
        inside_word = word;
    }
    found
}

/// What is nested too deeply, and the offset where the limit is passed.
fn too_deep(bytes: &[u8]) -> Option<(&'static str, usize)> {
    let mut open = 0_usize;
    let mut prefixes = 0_usize;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let start = at;
        at = token_end(bytes, at);
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        match byte {
            b'!' | b'~' | b'+' | b'-' => prefixes += 1,
            _ if is_prefix_word(&bytes[start..at]) => prefixes += 1,
            _ if byte.is_ascii_whitespace() => {}
            _ => prefixes = 0,
        }
        if open > DEEPEST {
            return Some(("open brackets", start));
        }
        if prefixes > DEEPEST {
            return Some(("operators in a row", start));
        }
    }
    None
}

/// The end of the string, comment, word or single character at `at`.
fn token_end(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    let length = match rest {
        [quote @ (b'"' | b'\'' | b'`'), ..] => string_length(rest, *quote),
        [b'/', b'/', ..] => rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()),
        [b'/', b'*', ..] => {
            rest[2..].windows(2).position(|pair| pair == b"*/").map_or(rest.len(), |body| body + 4)
        }
        [first, ..] if is_word(*first) => rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len()),
        _ => 1,
    };
    at + length
}

/// Length of a string. What a template computes counts as its text: deep templates only lose the courtesy.
fn string_length(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while let Some(byte) = rest.get(at) {
        match *byte {
            b'\\' => at += 1,
            b'\n' if quote != b'`' => return at,
            byte if byte == quote => return at + 1,
            _ => {}
        }
        at += 1;
    }
    rest.len()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || !byte.is_ascii()
}

fn is_prefix_word(word: &[u8]) -> bool {
    [&b"typeof"[..], b"void", b"delete", b"new", b"await", b"yield", b"do", b"else"].contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absurd_scripts_are_refused() {
        let rows: [(String, Option<(&str, usize)>); 14] = [
            (format!("{}1{}", "(".repeat(500), ")".repeat(500)), None),
            (format!("{}1{}", "(".repeat(501), ")".repeat(501)), Some(("open brackets", 500))),
            (format!("{}{}", "[".repeat(300), "{".repeat(300)), Some(("open brackets", 500))),
            ("f(1);".repeat(2_000), None),
            (format!("'{}'", "(".repeat(9_000)), None),
            (format!("`\n{}`", "(".repeat(9_000)), None),
            (format!("/*{}*/ 1", "(".repeat(9_000)), None),
            (format!("1 // {}", "(".repeat(9_000)), None),
            (format!("'\\'{}'", "(".repeat(9_000)), None),
            (format!("'it\n{}", "(".repeat(9_000)), Some(("open brackets", 504))),
            (format!("{}1", "!".repeat(501)), Some(("operators in a row", 500))),
            (format!("{}1", "- ".repeat(501)), Some(("operators in a row", 1000))),
            (format!("{}1", "typeof ".repeat(501)), Some(("operators in a row", 3500))),
            (format!("{}1", "-1 + !".repeat(5_000)), None),
        ];
        for (text, expected) in rows {
            let shown: String = text.chars().take(20).collect();
            assert_eq!(too_deep(text.as_bytes()), expected, "{shown}");
            assert_eq!(
                check_nesting(&text).err().map(|error| error.offset),
                expected.map(|(_, offset)| offset)
            );
        }
    }

    #[test]
    fn length_is_counted_in_characters() {
        let of = |length: usize| format!("'{}'", "ä".repeat(length - 2));
        assert_eq!(check_nesting(&of(LONGEST)), Ok(()));
        let refused = check_nesting(&of(LONGEST + 1)).unwrap_err();
        assert!(refused.message.contains("100,000 characters") && refused.hint.is_some(), "{refused:?}");
    }

    #[test]
    fn no_text_has_more_tokens_than_are_counted() {
        for (text, expected) in [("", 0), ("  \n", 0), ("abc", 1), ("a=>a", 4), ("if(1)x", 5), ("ä ö", 2)] {
            assert_eq!(count_tokens(text), expected, "{text}");
        }
    }
}
