//! The runs that are driven here: where to send what is meant for them, and who listens meanwhile to other processes that
//! want something of them.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::AbortHandle;

use super::driver_message::DriverMessage;
use synthdev_domain::ids::RunId;
use synthdev_domain::project_lock::LockHolder;

#[derive(Default)]
pub(super) struct ActiveRuns {
    outboxes: Mutex<HashMap<RunId, UnboundedSender<DriverMessage>>>,
    /// A run is driven here no longer.
    left: Notify,
    listener: Mutex<Option<ControlListenerTask>>,
    /// Whose end runs wait for, to change the project's files.
    behind: Mutex<HashMap<RunId, LockHolder>>,
}

struct ControlListenerTask(AbortHandle);

impl Drop for ControlListenerTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl ActiveRuns {
    fn outboxes(&self) -> MutexGuard<'_, HashMap<RunId, UnboundedSender<DriverMessage>>> {
        self.outboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody listens to others from now on, as long as runs can be driven here.
    pub(super) fn listens(&self, begin: impl FnOnce() -> AbortHandle) {
        let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        if listener.as_ref().is_none_or(|listener| listener.0.is_finished()) {
            *listener = Some(ControlListenerTask(begin()));
        }
    }

    /// From now on a run is driven here.
    pub(super) fn begin(&self, run: RunId, outbox: UnboundedSender<DriverMessage>) {
        self.outboxes().insert(run, outbox);
    }

    /// `false`: it was taken up again here meanwhile.
    pub(super) fn end(&self, run: &RunId, outbox: &UnboundedSender<DriverMessage>) -> bool {
        let mut outboxes = self.outboxes();
        let left = outboxes.get(run).is_some_and(|known| known.same_channel(outbox));
        if left {
            outboxes.remove(run);
        }
        drop(outboxes);
        self.left.notify_waiters();
        left
    }

    fn behind(&self) -> MutexGuard<'_, HashMap<RunId, LockHolder>> {
        self.behind.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `false`: it was known that the run waits for this one.
    pub(super) fn waits_behind(&self, run: &RunId, other: &LockHolder) -> bool {
        self.behind().insert(run.clone(), other.clone()).as_ref() != Some(other)
    }

    pub(super) fn waits_no_longer(&self, run: &RunId) {
        self.behind().remove(run);
    }

    pub(super) fn awaited_holder(&self, run: &RunId) -> Option<LockHolder> {
        self.behind().get(run).cloned()
    }

    /// The way to who drives it now.
    pub(super) fn outbox(&self, run: &RunId) -> Option<UnboundedSender<DriverMessage>> {
        self.outboxes().get(run).cloned()
    }

    /// `false`: nobody drives the run here.
    pub(super) fn send(&self, run: &RunId, mail: DriverMessage) -> bool {
        self.outboxes().get(run).is_some_and(|outbox| outbox.send(mail).is_ok())
    }

    pub(super) fn drives(&self, run: &RunId) -> bool {
        self.outboxes().contains_key(run)
    }

    pub(super) fn all(&self) -> Vec<RunId> {
        self.outboxes().keys().cloned().collect()
    }

    /// Until this drive of the run is over; there may be another one by then.
    pub(super) async fn until_left(&self, run: &RunId, outbox: &UnboundedSender<DriverMessage>) {
        loop {
            let mut left = pin!(self.left.notified());
            left.as_mut().enable();
            if !self.outboxes().get(run).is_some_and(|known| known.same_channel(outbox)) {
                return;
            }
            left.await;
        }
    }
}
