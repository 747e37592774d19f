//! Effects that wait until their intent is in the journal, and when a failed write is retried.
//!
//! Refuses to perform unrecorded effects: a crash would repeat them.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::Sleep;

use synthdev_domain::ids::CallId;
use synthdev_engine::effect::Effect;

/// Twice as long after each failure.
const FIRST_MS: u64 = 100;
const LONGEST_MS: u64 = 3_200;
/// Failures in a row, six seconds in all, after which a blocked run is left.
const MOST_FAILURES: u32 = 7;

#[derive(Default)]
pub(super) struct HeldEffects {
    effects: Vec<Effect>,
    failures: u32,
    pause: Option<Pin<Box<Sleep>>>,
}

impl HeldEffects {
    pub(super) fn hold_effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Drops an effect that no branch waits for any more.
    pub(super) fn drop_call(&mut self, call: CallId) {
        self.effects.retain(|effect| effect.call() != Some(call));
    }

    /// The store could not be written; what fails before the next try counts once.
    pub(super) fn on_write_failed(&mut self) {
        if self.pause.is_none() {
            let delay = FIRST_MS.checked_shl(self.failures).unwrap_or(LONGEST_MS).min(LONGEST_MS);
            self.failures = self.failures.saturating_add(1);
            self.pause = Some(Box::pin(tokio::time::sleep(Duration::from_millis(delay))));
        }
    }

    /// It could be written.
    pub(super) fn on_write_succeeded(&mut self) {
        (self.failures, self.pause) = (0, None);
    }

    /// What may begin now.
    pub(super) fn drain(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.effects.is_empty()
    }

    /// It was tried often enough.
    pub(super) fn is_spent(&self) -> bool {
        self.failures >= MOST_FAILURES
    }

    /// Until it should be tried again; for ever if nothing has failed.
    pub(super) async fn next_try(&mut self) {
        match &mut self.pause {
            Some(pause) => pause.await,
            None => std::future::pending().await,
        }
        self.pause = None;
    }
}
