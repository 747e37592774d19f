//! Private-use characters that represent unknown parts of a line while it is read. The same characters in a line are
//! replaced first.

/// Text that is known only when the line runs.
pub const UNKNOWN: char = '\u{f8f0}';
/// Text that came over the network.
pub const DOWNLOADED: char = '\u{f8f1}';
/// `*` of a pattern.
pub const ANY: char = '\u{f8f2}';
/// `?` or `[…]` of a pattern.
pub const ONE: char = '\u{f8f3}';
/// Where an unquoted value is split into words.
pub const SPLIT: char = '\u{f8f4}';
pub const OPEN: char = '\u{f8f5}';
pub const COMMA: char = '\u{f8f6}';
pub const CLOSE: char = '\u{f8f7}';
/// The ends of `[…]`, which may be in several parts of a word.
pub const FROM: char = '\u{f8f8}';
pub const TO: char = '\u{f8f9}';

/// Whether a letter of a line could be taken for one of these.
pub fn is_mark(letter: char) -> bool {
    ('\u{f8f0}'..='\u{f8ff}').contains(&letter)
}
