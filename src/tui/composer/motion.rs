//! Where words and lines begin and end, in a text taken as a row of characters. Pure: knows no widget and no key.

/// The beginning of the line that a place is in.
pub fn line_start(text: &[char], at: usize) -> usize {
    text[..at.min(text.len())].iter().rposition(|c| *c == '\n').map_or(0, |line| line + 1)
}

/// The end of the line that a place is in: its newline, or the end of the text.
pub fn line_end(text: &[char], at: usize) -> usize {
    let at = at.min(text.len());
    text[at..].iter().position(|c| *c == '\n').map_or(text.len(), |more| at + more)
}

/// The beginning of the next word.
pub fn word_after(text: &[char], at: usize) -> usize {
    let mut to = at;
    if let Some(here) = text.get(at).map(|c| char_class(*c)).filter(|kind| *kind != MotionCharClass::Blank) {
        while text.get(to).is_some_and(|c| char_class(*c) == here) {
            to += 1;
        }
    }
    while text.get(to).is_some_and(|c| c.is_whitespace()) {
        // an empty line is a word of its own
        if to > at && text[to] == '\n' && text[to - 1] == '\n' {
            break;
        }
        to += 1;
    }
    to
}

/// The beginning of this word, or of the one before.
pub fn word_before(text: &[char], at: usize) -> usize {
    let mut to = at.min(text.len());
    while to > 0 && text[to - 1].is_whitespace() {
        to -= 1;
    }
    let Some(here) = to.checked_sub(1).map(|last| char_class(text[last])) else { return 0 };
    while to > 0 && char_class(text[to - 1]) == here {
        to -= 1;
    }
    to
}

/// Behind the rest of this word, or behind the next word.
pub fn rest_of_word(text: &[char], at: usize) -> usize {
    let mut to = at.min(text.len());
    while text.get(to).is_some_and(|c| c.is_whitespace()) {
        to += 1;
    }
    let Some(here) = text.get(to).map(|c| char_class(*c)) else { return to };
    while text.get(to).is_some_and(|c| char_class(*c) == here) {
        to += 1;
    }
    to
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MotionCharClass {
    Blank,
    Letter,
    Mark,
}

fn char_class(c: char) -> MotionCharClass {
    match c {
        _ if c.is_whitespace() => MotionCharClass::Blank,
        // marks that belong to a letter stay with it
        _ if c.is_alphanumeric() || c == '_' => MotionCharClass::Letter,
        _ if !c.is_ascii() && unicode_width::UnicodeWidthChar::width(c) == Some(0) => MotionCharClass::Letter,
        _ => MotionCharClass::Mark,
    }
}
