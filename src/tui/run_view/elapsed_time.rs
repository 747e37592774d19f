//! How long a run has taken until now, and what it waits for, in words.

use super::RunView;
use synthdev_domain::ids::Timestamp;

impl RunView {
    /// A conversation in which the next words are the user's: nothing works in it.
    pub fn awaits_message(&self) -> bool {
        self.chat && !self.is_over && self.awaiting_text.is_some() && self.outbox.is_empty()
    }

    /// Milliseconds of work until `now`; `None`: it has never begun.
    pub fn elapsed_ms(&self, now: Timestamp) -> Option<u64> {
        let here = |since: Timestamp| u64::try_from(now.0.saturating_sub(since.0)).unwrap_or(0);
        self.busy_since.map(|since| self.worked_ms.saturating_add(here(since)))
    }

    /// All of its time until `now`, and what of it was waiting, in words; `None`: it has not begun.
    pub fn describe_elapsed(&self, now: Timestamp) -> Option<String> {
        self.elapsed_ms(now).and_then(|_| self.times.describe_until(now))
    }

    /// That it waits for a time, if nothing in it works; `None`: it does not.
    pub fn describe_timed_wait(&self, now: Timestamp, calm: bool) -> Option<String> {
        self.times.describe_timed_wait(now, calm).filter(|_| !self.is_over && !self.is_working())
    }

    /// How long a workflow has run so far, and what of it was waiting: the longest form first. See
    /// [`super::run_times::RunTimes::describe_live`].
    pub fn live_time(&self, now: Timestamp, stands: Option<&str>) -> Vec<String> {
        match self.elapsed_ms(now) {
            Some(_) if !self.is_over && !self.chat => self.times.describe_live(now, stands),
            _ => Vec::new(),
        }
    }
}
