//! What the letters of a command mean, as far as they are typed: `[count] operator [count] motion` and shorter ones.

use crate::composer::motion::VimMotion;

/// No count is larger: it would only keep the screen waiting.
const MOST: usize = 10_000;

/// What was read of a command.
pub(super) enum VimCommandParse {
    More,
    Nonsense,
    Command { count: Option<usize>, verb: VimVerb },
}

pub(super) enum VimVerb {
    Move(VimMotion),
    /// An operator on what a motion passes.
    Over(char, VimMotion),
    /// On whole lines.
    Lines(char),
    /// On a word; with the blanks behind it.
    Word(char, bool),
    Replace(char),
    Single(char),
}

/// Reads a command as far as it is typed.
pub(super) fn parse_vim_command(typed: &str, visual: bool) -> VimCommandParse {
    let (first, rest) = parse_count(typed);
    let mut letters = rest.chars();
    let Some(verb) = letters.next() else { return VimCommandParse::More };
    let rest = letters.as_str();
    let command = |count, verb| VimCommandParse::Command { count, verb };
    match verb {
        'd' | 'c' | 'y' if visual => command(first, VimVerb::Lines(verb)),
        'd' | 'c' | 'y' => {
            let (second, rest) = parse_count(rest);
            let count = match (first, second) {
                (None, None) => None,
                (a, b) => Some((a.unwrap_or(1) * b.unwrap_or(1)).min(MOST)),
            };
            let mut letters = rest.chars();
            match (letters.next(), letters.next()) {
                (None, _) | (Some('i' | 'a'), None) => VimCommandParse::More,
                (Some(again), _) if again == verb => command(count, VimVerb::Lines(verb)),
                (Some(which @ ('i' | 'a')), Some('w')) => command(count, VimVerb::Word(verb, which == 'a')),
                _ => parse_motion(rest, count, |motion| VimVerb::Over(verb, motion)),
            }
        }
        'r' if visual => VimCommandParse::Nonsense,
        'r' => rest.chars().next().map_or(VimCommandParse::More, |c| command(first, VimVerb::Replace(c))),
        'x' | 's' | 'X' | 'D' | 'C' | 'S' | 'Y' | 'p' | 'P' | 'i' | 'I' | 'a' | 'A' | 'o' | 'O' | 'v'
        | 'V' | '~' | 'J' | 'u' | '.' => command(first, VimVerb::Single(verb)),
        _ => parse_motion(&typed[typed.len() - rest.len() - verb.len_utf8()..], first, VimVerb::Move),
    }
}

fn parse_motion(
    text: &str,
    count: Option<usize>,
    verb: impl FnOnce(VimMotion) -> VimVerb,
) -> VimCommandParse {
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (Some('f' | 't' | 'F' | 'T' | 'g') | None, None) => VimCommandParse::More,
        (Some(key @ ('f' | 't' | 'F' | 'T')), Some(wanted)) => {
            VimCommandParse::Command { count, verb: verb(VimMotion { key, target_char: wanted }) }
        }
        (Some('g'), Some('g')) => VimCommandParse::Command { count, verb: verb(VimMotion::from_key('g')) },
        (
            Some(
                key @ ('h' | 'l' | 'j' | 'k' | '0' | '^' | '$' | 'w' | 'W' | 'b' | 'B' | 'e' | 'E' | 'G'
                | ';' | ','),
            ),
            _,
        ) => VimCommandParse::Command { count, verb: verb(VimMotion::from_key(key)) },
        (Some(' '), _) => VimCommandParse::Command { count, verb: verb(VimMotion::from_key('l')) },
        _ => VimCommandParse::Nonsense,
    }
}

/// A count does not begin with 0: that is a motion.
fn parse_count(text: &str) -> (Option<usize>, &str) {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits == 0 || text.starts_with('0') {
        return (None, text);
    }
    let (number, rest) = text.split_at(digits);
    (Some(number.parse().unwrap_or(MOST).clamp(1, MOST)), rest)
}
