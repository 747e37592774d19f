//! What a user waits for before a run begins or goes on, in the history or while a model is set up, and for how long: a wait
//! that takes a while moves, so that it is not taken for a hang.

use crate::text::format_whole_seconds;
use synthdev_domain::ids::Timestamp;

/// A shorter wait does not move, in milliseconds.
const STILL_MS: u64 = 300;
/// From then on a wait says how long it has taken, in milliseconds.
const TIMED_MS: u64 = 2_000;
/// One sign after the other, where something is drawn anyway.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The wait in front, and since when it is there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WaitClock {
    text: Option<String>,
    since: Timestamp,
}

impl WaitClock {
    /// Another wait begins anew.
    pub fn note_wait(&mut self, text: Option<String>, now: Timestamp) {
        // at the beginning no message has told the time yet
        if self.text != text || self.since.0 == 0 {
            (self.text, self.since) = (text, now);
        }
    }

    /// The text of a wait; after a moment with a sign that moves and with the time.
    pub fn with_time(&self, text: &str, now: Timestamp) -> String {
        let ms = u64::try_from(now.0.saturating_sub(self.since.0)).unwrap_or(0);
        if ms < STILL_MS || self.text.as_deref() != Some(text) {
            return text.to_owned();
        }
        with_spinner(text, ms, TIMED_MS)
    }
}

/// `⠹ coder writes 12 s`; the time only from `timed_ms` on.
pub fn with_spinner(what: &str, ms: u64, timed_ms: u64) -> String {
    let sign = SPINNER[usize::try_from(ms / 250).unwrap_or(0) % SPINNER.len()];
    let time = if ms < timed_ms { String::new() } else { format!(" {}", format_whole_seconds(ms)) };
    format!("{sign} {what}{time}")
}
