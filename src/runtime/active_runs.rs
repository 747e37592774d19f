//! The runs that this process drives: where to send messages for them, and the listener for requests of other processes
//! about them.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::AbortHandle;

use super::driver_message::DriverMessage;
use synthdev_domain::ids::RunId;
use synthdev_domain::project_lock::LockHolder;
use synthdev_ports::tool::ToolPort;

#[derive(Default)]
pub(super) struct ActiveRuns {
    driven: Mutex<HashMap<RunId, ActiveRunEntry>>,
    /// Notified when this process stops driving a run.
    run_left: Notify,
    listener: Mutex<Option<ControlListenerTask>>,
    /// Whose end runs wait for, to change the project's files.
    waiting_for: Mutex<HashMap<RunId, LockHolder>>,
}

/// A run that this process drives.
struct ActiveRunEntry {
    inbox_sender: UnboundedSender<DriverMessage>,
    /// Which its agents use: the configuration may have changed since.
    tools: Arc<dyn ToolPort>,
}

struct ControlListenerTask(AbortHandle);

impl Drop for ControlListenerTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl ActiveRuns {
    fn lock_runs(&self) -> MutexGuard<'_, HashMap<RunId, ActiveRunEntry>> {
        self.driven.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the listener for requests of other processes, unless it runs already.
    pub(super) fn ensure_listener(&self, begin: impl FnOnce() -> AbortHandle) {
        let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        if listener.as_ref().is_none_or(|listener| listener.0.is_finished()) {
            *listener = Some(ControlListenerTask(begin()));
        }
    }

    /// Registers a run as driven by this process.
    pub(super) fn insert_run(
        &self,
        run: RunId,
        inbox_sender: UnboundedSender<DriverMessage>,
        tools: Arc<dyn ToolPort>,
    ) {
        self.lock_runs().insert(run, ActiveRunEntry { inbox_sender, tools });
    }

    /// The tools of a run that this process drives.
    pub(super) fn tools_for(&self, run: &RunId) -> Option<Arc<dyn ToolPort>> {
        self.lock_runs().get(run).map(|driven| Arc::clone(&driven.tools))
    }

    /// `false`: this process resumed the run again meanwhile.
    pub(super) fn remove_run(&self, run: &RunId, inbox_sender: &UnboundedSender<DriverMessage>) -> bool {
        let mut driven = self.lock_runs();
        let left = driven.get(run).is_some_and(|known| known.inbox_sender.same_channel(inbox_sender));
        if left {
            driven.remove(run);
        }
        drop(driven);
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
        self.lock_runs().get(run).map(|driven| driven.inbox_sender.clone())
    }

    /// `false`: this process does not drive the run.
    pub(super) fn send(&self, run: &RunId, mail: DriverMessage) -> bool {
        self.lock_runs().get(run).is_some_and(|driven| driven.inbox_sender.send(mail).is_ok())
    }

    pub(super) fn drives_run(&self, run: &RunId) -> bool {
        self.lock_runs().contains_key(run)
    }

    pub(super) fn driven_runs(&self) -> Vec<RunId> {
        self.lock_runs().keys().cloned().collect()
    }

    /// Until this drive of the run is over; there may be another one by then.
    pub(super) async fn wait_until_left(&self, run: &RunId, inbox_sender: &UnboundedSender<DriverMessage>) {
        loop {
            let mut left = pin!(self.run_left.notified());
            left.as_mut().enable();
            let same = |known: &ActiveRunEntry| known.inbox_sender.same_channel(inbox_sender);
            if !self.lock_runs().get(run).is_some_and(same) {
                return;
            }
            left.await;
        }
    }
}
