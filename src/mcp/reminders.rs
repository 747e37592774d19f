//! Which pauses somebody is going to be reminded of: one reminder for each, however often it is looked at (B4).

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::domain::ids::{CallId, RunId};

type Pause = (RunId, CallId);

/// Those of this process.
#[derive(Default)]
pub struct Reminders(Mutex<BTreeSet<Pause>>);

/// The right to remind of one; dropped, the next may.
pub(super) struct Reminder {
    all: Arc<Reminders>,
    pause: Pause,
}

impl Reminders {
    /// `None`: somebody does already.
    pub(super) fn remind(self: Arc<Self>, pause: Pause) -> Option<Reminder> {
        let new = self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(pause.clone());
        new.then(|| Reminder { all: Arc::clone(&self), pause })
    }
}

impl Drop for Reminder {
    fn drop(&mut self) {
        self.all.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_reminds_of_a_pause() {
        let all = Arc::<Reminders>::default();
        let pause = |call| (RunId("r".to_owned()), CallId(call));
        let first = Arc::clone(&all).remind(pause(1));
        assert!(first.is_some() && Arc::clone(&all).remind(pause(1)).is_none());
        assert!(Arc::clone(&all).remind(pause(2)).is_some(), "another one");
        drop(first);
        assert!(all.remind(pause(1)).is_some());
    }
}
