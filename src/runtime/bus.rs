//! Carries the events of all runs to everyone who watches.

use std::sync::{Mutex, PoisonError};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::domain::ids::{RunId, Timestamp};
use crate::engine::event::{Published, RunEvent};

#[derive(Default)]
pub(super) struct Bus {
    watchers: Mutex<Vec<Watcher>>,
}

struct Watcher {
    to: UnboundedSender<Published>,
    deltas: bool,
}

impl Bus {
    pub(super) fn subscribe(&self, deltas: bool) -> UnboundedReceiver<Published> {
        let (to, from) = unbounded_channel();
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner).push(Watcher { to, deltas });
        from
    }

    /// Whether anyone wants streamed pieces: headless runs without `--events` save that work.
    pub(super) fn wants_deltas(&self) -> bool {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|watcher| watcher.deltas)
    }

    pub(super) fn publish(&self, run: &RunId, at: Timestamp, event: RunEvent) {
        let delta = matches!(event, RunEvent::Delta { .. });
        let published = Published { run: run.clone(), at, event };
        self.watchers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|watcher| (delta && !watcher.deltas) || watcher.to.send(published.clone()).is_ok());
    }
}
