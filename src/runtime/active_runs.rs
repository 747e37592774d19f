//! The runs that this process drives: where to send messages for them, and the listener for requests of other processes
//! about them.

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
    inbox_senders: Mutex<HashMap<RunId, UnboundedSender<DriverMessage>>>,
    /// Notified when this process stops driving a run.
    run_left: Notify,
    listener: Mutex<Option<ControlListenerTask>>,
    /// Whose end runs wait for, to change the project's files.
    waiting_for: Mutex<HashMap<RunId, LockHolder>>,
}

struct ControlListenerTask(AbortHandle);

impl Drop for ControlListenerTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl ActiveRuns {
    fn lock_outboxes(&self) -> MutexGuard<'_, HashMap<RunId, UnboundedSender<DriverMessage>>> {
        self.inbox_senders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the listener for requests of other processes, unless it runs already.
    pub(super) fn ensure_listener(&self, begin: impl FnOnce() -> AbortHandle) {
        let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        if listener.as_ref().is_none_or(|listener| listener.0.is_finished()) {
            *listener = Some(ControlListenerTask(begin()));
        }
    }

    /// Registers a run as driven by this process.
    pub(super) fn insert_run(&self, run: RunId, inbox_sender: UnboundedSender<DriverMessage>) {
        self.lock_outboxes().insert(run, inbox_sender);
    }

    /// `false`: this process resumed the run again meanwhile.
    pub(super) fn remove_run(&self, run: &RunId, inbox_sender: &UnboundedSender<DriverMessage>) -> bool {
        let mut inbox_senders = self.lock_outboxes();
        let left = inbox_senders.get(run).is_some_and(|known| known.same_channel(inbox_sender));
        if left {
            inbox_senders.remove(run);
        }
        drop(inbox_senders);
        self.run_left.notify_waiters();
        left
    }

    fn lock_waiting_runs(&self) -> MutexGuard<'_, HashMap<RunId, LockHolder>> {
        self.waiting_for.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `false`: it was known that the run waits for this one.
    pub(super) fn waits_behind(&self, run: &RunId, other: &LockHolder) -> bool {
        self.lock_waiting_runs().insert(run.clone(), other.clone()).as_ref() != Some(other)
    }

    pub(super) fn waits_no_longer(&self, run: &RunId) {
        self.lock_waiting_runs().remove(run);
    }

    pub(super) fn awaited_holder(&self, run: &RunId) -> Option<LockHolder> {
        self.lock_waiting_runs().get(run).cloned()
    }

    /// The channel to the driver of the run.
    pub(super) fn outbox_for(&self, run: &RunId) -> Option<UnboundedSender<DriverMessage>> {
        self.lock_outboxes().get(run).cloned()
    }

    /// `false`: this process does not drive the run.
    pub(super) fn send(&self, run: &RunId, mail: DriverMessage) -> bool {
        self.lock_outboxes().get(run).is_some_and(|inbox_sender| inbox_sender.send(mail).is_ok())
    }

    pub(super) fn drives_run(&self, run: &RunId) -> bool {
        self.lock_outboxes().contains_key(run)
    }

    pub(super) fn driven_runs(&self) -> Vec<RunId> {
        self.lock_outboxes().keys().cloned().collect()
    }

    /// Until this drive of the run is over; there may be another one by then.
    pub(super) async fn wait_until_left(&self, run: &RunId, inbox_sender: &UnboundedSender<DriverMessage>) {
        loop {
            let mut left = pin!(self.run_left.notified());
            left.as_mut().enable();
            if !self.lock_outboxes().get(run).is_some_and(|known| known.same_channel(inbox_sender)) {
                return;
            }
            left.await;
        }
    }
}
