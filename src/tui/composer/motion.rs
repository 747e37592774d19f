//! Where a movement ends, in a text taken as a row of characters. Pure: knows no widget and no key.

use std::ops::Range;

/// A movement by its letter, as vi names it; `g` is `gg`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VimMotion {
    pub key: char,
    /// What `f`, `t`, `F` and `T` look for.
    pub target_char: char,
}

/// How far an operator reaches when it uses a motion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MotionReach {
    /// Up to the place.
    Before,
    /// The character at the place as well.
    With,
    /// Whole lines.
    Lines,
}

impl VimMotion {
    pub const fn from_key(key: char) -> Self {
        Self { key, target_char: '\0' }
    }

    pub fn motion_reach(self) -> MotionReach {
        match self.key {
            'e' | 'E' | 'f' | 't' => MotionReach::With,
            'j' | 'k' | 'G' | 'g' => MotionReach::Lines,
            _ => MotionReach::Before,
        }
    }

    /// The place after the movement; `None`: there is none, nothing moves.
    pub fn target(self, text: &[char], at: usize, count: Option<usize>) -> Option<usize> {
        let times = count.unwrap_or(1);
        let line = line_start(text, at);
        match self.key {
            'h' => (at > line).then(|| at.saturating_sub(times).max(line)),
            'l' => (at < line_end(text, at)).then(|| (at + times).min(line_end(text, at))),
            '0' => Some(line),
            '^' => Some(first_letter(text, at)),
            '$' => Some(line_end(text, move_lines_down(text, at, times - 1)?)),
            'j' => move_lines_down(text, at, times),
            'k' => move_lines_up(text, at, times),
            'G' => Some(count.map_or_else(|| first_letter(text, text.len()), |line| nth_line(text, line))),
            'g' => Some(nth_line(text, count.unwrap_or(1))),
            'w' | 'W' => repeat_step(at, times, |at| word_after(text, at, self.key == 'W')),
            'b' | 'B' => repeat_step(at, times, |at| word_before(text, at, self.key == 'B')),
            'e' | 'E' => repeat_step(at, times, |at| word_end(text, at, self.key == 'E')),
            'f' | 't' => self.find_after(text, at, times),
            'F' | 'T' => self.find_before(text, at, times),
            _ => None,
        }
    }

    fn find_after(self, text: &[char], at: usize, times: usize) -> Option<usize> {
        let end = line_end(text, at);
        // after `t` the cursor is already before a match: that one does not count
        let from = (at + if self.key == 't' { 2 } else { 1 }).min(end);
        let mut hits = (from..end).filter(|place| text[*place] == self.target_char);
        let hit = hits.nth(times - 1)?;
        Some(if self.key == 't' { hit - 1 } else { hit })
    }

    fn find_before(self, text: &[char], at: usize, times: usize) -> Option<usize> {
        let start = line_start(text, at);
        let to = at.saturating_sub(usize::from(self.key == 'T')).max(start);
        let hit = (start..to).rev().filter(|place| text[*place] == self.target_char).nth(times - 1)?;
        Some(if self.key == 'T' { hit + 1 } else { hit })
    }
}

/// The beginning of the line that a place is in.
pub fn line_start(text: &[char], at: usize) -> usize {
    text[..at.min(text.len())].iter().rposition(|c| *c == '\n').map_or(0, |line| line + 1)
}

/// The end of the line that a place is in: its newline, or the end of the text.
pub fn line_end(text: &[char], at: usize) -> usize {
    let at = at.min(text.len());
    text[at..].iter().position(|c| *c == '\n').map_or(text.len(), |more| at + more)
}

/// The first character of a line that is no blank.
pub fn first_letter(text: &[char], at: usize) -> usize {
    let (start, end) = (line_start(text, at), line_end(text, at));
    (start..end).find(|place| !text[*place].is_whitespace()).unwrap_or(start)
}

/// The beginning of the next word.
pub fn word_after(text: &[char], at: usize, big: bool) -> usize {
    let mut to = at;
    if let Some(here) =
        text.get(at).map(|c| char_class(*c, big)).filter(|kind| *kind != MotionCharClass::Blank)
    {
        while text.get(to).is_some_and(|c| char_class(*c, big) == here) {
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
pub fn word_before(text: &[char], at: usize, big: bool) -> usize {
    let mut to = at.min(text.len());
    while to > 0 && text[to - 1].is_whitespace() {
        to -= 1;
    }
    let Some(here) = to.checked_sub(1).map(|last| char_class(text[last], big)) else { return 0 };
    while to > 0 && char_class(text[to - 1], big) == here {
        to -= 1;
    }
    to
}

/// The last character of this word, or of the next.
pub fn word_end(text: &[char], at: usize, big: bool) -> usize {
    rest_of_word(text, at + 1, big).saturating_sub(1)
}

/// Behind the rest of this word, or behind the next word.
pub fn rest_of_word(text: &[char], at: usize, big: bool) -> usize {
    let mut to = at.min(text.len());
    while text.get(to).is_some_and(|c| c.is_whitespace()) {
        to += 1;
    }
    let Some(here) = text.get(to).map(|c| char_class(*c, big)) else { return to };
    while text.get(to).is_some_and(|c| char_class(*c, big) == here) {
        to += 1;
    }
    to
}

/// The word around a place, or the blanks there; `around`: with the blanks behind it.
pub fn word_at(text: &[char], at: usize, around: bool) -> Option<Range<usize>> {
    let here = char_class(*text.get(at)?, false);
    let same = |place: usize| char_class(text[place], false) == here && text[place] != '\n';
    if text[at] == '\n' {
        return None;
    }
    let start = (0..at).rev().take_while(|place| same(*place)).last().unwrap_or(at);
    let mut end = (at..text.len()).take_while(|place| same(*place)).last().map_or(at, |last| last + 1);
    while around && text.get(end).is_some_and(|c| *c == ' ') {
        end += 1;
    }
    Some(start..end)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MotionCharClass {
    Blank,
    Letter,
    Mark,
}

fn char_class(c: char, big: bool) -> MotionCharClass {
    match c {
        _ if c.is_whitespace() => MotionCharClass::Blank,
        // marks that belong to a letter stay with it
        _ if big || c.is_alphanumeric() || c == '_' => MotionCharClass::Letter,
        _ if !c.is_ascii() && unicode_width::UnicodeWidthChar::width(c) == Some(0) => MotionCharClass::Letter,
        _ => MotionCharClass::Mark,
    }
}

fn repeat_step(at: usize, times: usize, step: impl Fn(usize) -> usize) -> Option<usize> {
    let mut to = at;
    for _ in 0..times {
        let next = step(to);
        if next == to {
            break;
        }
        to = next;
    }
    (to != at).then_some(to)
}

fn move_lines_down(text: &[char], at: usize, times: usize) -> Option<usize> {
    let column = at - line_start(text, at);
    let mut start = line_start(text, at);
    for _ in 0..times {
        let end = line_end(text, start);
        if end == text.len() {
            return None;
        }
        start = end + 1;
    }
    Some((start + column).min(line_end(text, start)))
}

fn move_lines_up(text: &[char], at: usize, times: usize) -> Option<usize> {
    let column = at - line_start(text, at);
    let mut start = line_start(text, at);
    for _ in 0..times {
        start = line_start(text, start.checked_sub(1)?);
    }
    Some((start + column).min(line_end(text, start)))
}

/// Lines count from 1; there is always a last one.
fn nth_line(text: &[char], line: usize) -> usize {
    let starts = text.iter().enumerate().filter(|(_, c)| **c == '\n').map(|(at, _)| at + 1);
    let starts: Vec<usize> = std::iter::once(0).chain(starts).collect();
    first_letter(text, starts[line.clamp(1, starts.len()) - 1])
}
