//! What is being done for a run; all of it stops with its driver.

use std::collections::HashMap;
use std::sync::PoisonError;

use tokio::task::AbortHandle;

use super::journal::needs_intent;
use super::perform::Performer;
use crate::domain::ids::CallId;
use crate::engine::effect::Effect;

pub(super) struct Tasks {
    performer: Performer,
    running: HashMap<CallId, Task>,
}

struct Task {
    handle: AbortHandle,
    /// A model call, a tool or a snapshot: to stop it would lose something.
    counts: bool,
}

impl Tasks {
    pub(super) fn new(performer: Performer) -> Self {
        Self { performer, running: HashMap::new() }
    }

    pub(super) fn begin(&mut self, effect: Effect) {
        match effect {
            Effect::Abort { call } => {
                if let Some(task) = self.running.remove(&call) {
                    task.handle.abort();
                }
                // what it had streamed belongs to nobody any more
                self.performer.partial.lock().unwrap_or_else(PoisonError::into_inner).remove(&call);
            }
            Effect::Finish => {}
            effect => {
                let counts = needs_intent(&effect);
                if let Some((call, handle)) = self.performer.perform(effect) {
                    self.running.retain(|_, task| !task.handle.is_finished());
                    self.running.insert(call, Task { handle, counts });
                }
            }
        }
    }

    /// Whether something is under way that should come to its end.
    pub(super) fn are_at_work(&self) -> bool {
        self.running.values().any(|task| task.counts && !task.handle.is_finished())
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.running.values().for_each(|task| task.handle.abort());
    }
}
