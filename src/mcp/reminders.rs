//! The tokens of pauses, and which pauses have a pending reminder: one token and one reminder for each, however often
//! its status is read. Tokens are not stored: after a restart there are new ones.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use synthdev_domain::ids::{CallId, RunId, Timestamp};
use synthdev_service::run_resume::ResumeToken;

/// Identifies a pause.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PauseKey {
    pub(super) run: RunId,
    pub(super) call: CallId,
}

/// Those of this process.
#[derive(Default)]
pub struct PauseReminders {
    reminded_pauses: Mutex<BTreeSet<PauseKey>>,
    tokens: Mutex<BTreeMap<PauseKey, ResumeToken>>,
}

/// The right to remind of one; dropped, the next may.
pub(super) struct PauseReminder {
    reminders: Arc<PauseReminders>,
    pause: PauseKey,
}

impl PauseReminders {
    /// `None`: the pause has a reminder already.
    pub(super) fn claim_reminder(self: Arc<Self>, pause: PauseKey) -> Option<PauseReminder> {
        let new = self.lock_reminded().insert(pause.clone());
        new.then(|| PauseReminder { reminders: Arc::clone(&self), pause })
    }

    /// The token of a pause: the earlier one, as long as it is `good`; else a `new` one.
    pub(super) fn token(
        &self,
        pause: PauseKey,
        now: Timestamp,
        good: impl FnOnce(&ResumeToken) -> bool,
        new: impl FnOnce() -> Option<ResumeToken>,
    ) -> Option<ResumeToken> {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.retain(|_, token| token.expires_at > now);
        if let Some(token) = tokens.get(&pause).filter(|token| good(token)) {
            return Some(token.clone());
        }
        let token = new()?;
        tokens.insert(pause, token.clone());
        Some(token)
    }

    fn lock_reminded(&self) -> MutexGuard<'_, BTreeSet<PauseKey>> {
        self.reminded_pauses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PauseReminder {
    fn drop(&mut self) {
        self.reminders.lock_reminded().remove(&self.pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pause(call: u64) -> PauseKey {
        PauseKey { run: RunId("r".to_owned()), call: CallId(call) }
    }

    #[test]
    fn one_at_a_time_reminds_of_a_pause() {
        let all = Arc::<PauseReminders>::default();
        let first = Arc::clone(&all).claim_reminder(pause(1));
        assert!(first.is_some() && Arc::clone(&all).claim_reminder(pause(1)).is_none());
        assert!(Arc::clone(&all).claim_reminder(pause(2)).is_some(), "another one");
        drop(first);
        assert!(all.claim_reminder(pause(1)).is_some());
    }

    #[test]
    fn a_pause_has_one_token_as_long_as_that_is_good() {
        let all = PauseReminders::default();
        let ask = |call, now, good, text: &str| {
            let new = || Some(ResumeToken { text: text.to_owned(), expires_at: Timestamp(now + 10) });
            all.token(pause(call), Timestamp(now), |_| good, new).map(|token| token.text).unwrap()
        };
        for (call, now, good, text, expected) in [
            (1, 0, true, "a", "a"),
            (1, 5, true, "b", "a"),
            (2, 5, true, "c", "c"),
            (1, 6, false, "d", "d"),
            (1, 7, true, "e", "d"),
            (1, 16, true, "f", "f"),
        ] {
            assert_eq!(ask(call, now, good, text), expected, "{call} at {now}");
        }
    }
}
