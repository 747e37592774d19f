//! Ends replies that do not end by themselves: a model that repeats itself, a server that exceeds the requested length,
//! a stream that never stops.
//!
//! A reply that only became too long is cut off and used, like one that its server has cut. A repetition is an error.

use std::time::Duration;

use tokio::time::Instant;

use synthdev_domain::model::ModelError;

use super::errors;
use super::reply_decoder::ReplyDecoder;

/// Most bytes of a reply with its opaque reasoning blocks: a million tokens.
const LONGEST_ANSWER: usize = 4 << 20;
/// The same where neither the request nor the model bounds it: more than any model is known to give at once.
const LONGEST_UNBOUNDED: usize = 1 << 20;
/// Bytes of a stream, whatever they hold: each token of a reply comes wrapped in hundreds of them.
const LONGEST_STREAM: usize = 256 << 20;
/// Calls and other parts of one reply.
const MOST_PIECES: usize = 4_096;
/// Bytes a token where a reply has passed the length that it was asked for: twice what usual text has.
const BYTES_A_TOKEN: usize = 8;
/// What a short reply may have beyond that.
const SLACK: usize = 4_096;

/// Bytes of a text that say the same again and again before it is stopped: thousands of tokens.
const REPEATED: usize = 16 << 10;
/// The same of arguments, which may be a whole file.
const REPEATED_ARGUMENTS: usize = 64 << 10;
/// The repetitions together are this many times as long as the repeated text.
const TIMES: usize = 8;
/// Characters of it that are shown.
const SHOWN: usize = 40;

/// What bounds one reply.
#[derive(Clone, Copy, Debug)]
pub struct AnswerLimits {
    /// The requested limit, or the model's; `None`: unknown.
    pub tokens: Option<u64>,
    /// When its call has taken all the time that it may.
    pub deadline: Instant,
    /// How long that was, for an error.
    pub call: Duration,
}

/// Looks at a reply while it grows.
#[derive(Debug)]
pub struct AnswerGuard {
    limits: AnswerLimits,
    streamed_bytes: usize,
    text: RepetitionDetector,
    reasoning: RepetitionDetector,
    /// Of the newest call, with its number.
    arguments: (usize, RepetitionDetector),
}

impl AnswerGuard {
    pub fn new(limits: AnswerLimits) -> Self {
        Self {
            limits,
            streamed_bytes: 0,
            text: RepetitionDetector::new(REPEATED),
            reasoning: RepetitionDetector::new(REPEATED),
            arguments: (0, RepetitionDetector::new(REPEATED_ARGUMENTS)),
        }
    }

    /// Checks the reply after every further part of its stream; whether it is to be cut off at this point.
    ///
    /// # Errors
    /// The reply repeats itself for too long.
    pub fn check_progress<A: ReplyDecoder>(
        &mut self,
        answer: &A,
        read: usize,
        server_label: &str,
    ) -> Result<bool, ModelError> {
        self.streamed_bytes += read;
        let spoken = answer.reply();
        if Instant::now() >= self.limits.deadline {
            return Err(errors::call_timeout_error(server_label, self.limits.call, &spoken.received_note()));
        }
        if self.streamed_bytes > LONGEST_STREAM || answer.pieces() > MOST_PIECES {
            let detail = format!(
                "{server_label} sent a stream without an end: it was stopped{}",
                spoken.received_note()
            );
            return Err(ModelError::Protocol { detail });
        }
        let number = spoken.calls.len();
        if self.arguments.0 != number {
            self.arguments = (number, RepetitionDetector::new(REPEATED_ARGUMENTS));
        }
        let repeated = self
            .text
            .find_repetition(&spoken.text)
            .or_else(|| self.reasoning.find_repetition(&spoken.reasoning));
        let repeated = repeated.or_else(|| self.arguments.1.find_repetition(spoken.calls.newest_arguments()));
        if let Some(repeated) = repeated {
            let detail = format!(
                "the model says {repeated} again and again: its answer was stopped{}",
                spoken.received_note()
            );
            return Err(ModelError::Repetition { detail });
        }
        let bytes = spoken.bytes();
        Ok(bytes + spoken.extra_bytes > LONGEST_ANSWER || bytes > self.max_bytes())
    }

    /// Bytes that a reply of the length that was asked for surely does not have.
    fn max_bytes(&self) -> usize {
        let tokens = self.limits.tokens.and_then(|tokens| usize::try_from(tokens).ok());
        tokens.map_or(LONGEST_UNBOUNDED, |tokens| tokens.saturating_mul(BYTES_A_TOKEN).saturating_add(SLACK))
    }
}

/// Detects whether a growing text ends in repetitions.
#[derive(Debug)]
struct RepetitionDetector {
    /// Bytes of its end that are looked at.
    window: usize,
    /// Its length when it was looked at.
    seen_length: usize,
    border_lengths: Vec<usize>,
}

impl RepetitionDetector {
    fn new(window: usize) -> Self {
        Self { window, seen_length: 0, border_lengths: Vec::new() }
    }

    /// The repeated text, for the user. Looks again each time the text has grown by a part of the window.
    fn find_repetition(&mut self, text: &str) -> Option<String> {
        if text.len() < self.window || text.len() - self.seen_length < self.window / 4 {
            return None;
        }
        self.seen_length = text.len();
        let end = &text.as_bytes()[text.len() - self.window..];
        let period = shortest_period(end, &mut self.border_lengths);
        if period > self.window / TIMES {
            return None;
        }
        let said = &text[text.ceil_char_boundary(text.len() - period)..];
        // where there are lines, from the beginning of one
        let (tail, head) = said.split_once('\n').unwrap_or((said, ""));
        Some(match errors::short_line(&format!("{head}{tail}")).chars().take(SHOWN).collect::<String>() {
            line if line.is_empty() => "nothing but blanks".to_owned(),
            line => format!("\"{line}\""),
        })
    }
}

/// After how many bytes a text begins anew, by the borders of all its beginnings (Knuth, Morris and Pratt); its own
/// length where it does not.
fn shortest_period(text: &[u8], borders: &mut Vec<usize>) -> usize {
    borders.clear();
    borders.push(0);
    let mut border = 0;
    for at in 1..text.len() {
        while border > 0 && text[at] != text[border] {
            border = borders[border - 1];
        }
        border += usize::from(text[at] == text[border]);
        borders.push(border);
    }
    text.len() - border
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fed in pieces of so many bytes: after how many it was found.
    fn detect_in_pieces(text: &str, piece: usize) -> Option<(usize, String)> {
        let mut repeats = RepetitionDetector::new(REPEATED);
        (1..=text.len() / piece)
            .find_map(|count| Some((count * piece, repeats.find_repetition(&text[..count * piece])?)))
    }

    #[test]
    fn what_is_said_again_and_again_is_found() {
        let numbered: String = (0..20_000).map(|line| format!("{line}. the same\n")).collect();
        let late = format!("{}{}", &numbered[..100_000], "Once more.\n".repeat(4_000));
        let paragraph: String = (0..50).map(|word| format!("word {word} of it, ")).collect();
        let rows = [
            ("a letter", "a".repeat(40_000), Some("\"a\"")),
            ("blanks", " \n".repeat(40_000), Some("nothing but blanks")),
            ("a line", "I am not sure.\n".repeat(4_000), Some("I am not sure.")),
            ("a paragraph", paragraph.repeat(60), Some("of it,")),
            ("at last", late, Some("Once more.")),
            ("lines that differ", numbered, None),
            ("a long table", format!("{}\n", "-".repeat(12_000)).repeat(2), None),
            ("not for long", "ha ".repeat(5_000), None),
        ];
        for (about, text, says) in rows {
            for piece in [1, 7, 1_000, 20_000] {
                let found = detect_in_pieces(&text, piece);
                match (&found, says) {
                    (Some((_, said)), Some(says)) => assert!(said.contains(says), "{about}: {said}"),
                    (None, None) => {}
                    _ => panic!("{about}, {piece} at a time: {found:?}"),
                }
            }
        }
        let (after, _) = detect_in_pieces(&"again ".repeat(10_000), 1).unwrap();
        assert!(after <= REPEATED + REPEATED / 4, "{after}");
    }

    #[test]
    fn periods_are_found() {
        let rows = [("aaaa", 1), ("abab", 2), ("ababa", 2), ("abcd", 4), ("aabaabaa", 3), ("a", 1)];
        for (text, period) in rows {
            assert_eq!(shortest_period(text.as_bytes(), &mut Vec::new()), period, "{text}");
        }
    }
}
