//! The effects in progress of a run; all of them stop with its driver.

use std::collections::HashMap;
use std::sync::PoisonError;

use tokio::task::AbortHandle;

use super::effect_executor::EffectExecutor;
use super::journal::needs_intent;
use synthdev_domain::ids::CallId;
use synthdev_engine::effect::Effect;

pub(super) struct RunningEffects {
    executor: EffectExecutor,
    running_effects: HashMap<CallId, RunningEffect>,
}

struct RunningEffect {
    handle: AbortHandle,
    /// A model call, a tool or a snapshot: to stop it would lose something.
    counts_as_work: bool,
}

impl RunningEffects {
    pub(super) fn new(performer: EffectExecutor) -> Self {
        Self { executor: performer, running_effects: HashMap::new() }
    }

    pub(super) fn begin_effect(&mut self, effect: Effect) {
        match effect {
            Effect::Abort { call } => {
                if let Some(task) = self.running_effects.remove(&call) {
                    task.handle.abort();
                }
                // no branch needs its partial reply any more
                self.executor.partial_replies.lock().unwrap_or_else(PoisonError::into_inner).remove(&call);
            }
            Effect::Finish => {}
            effect => {
                let counts = needs_intent(&effect);
                if let Some((call, handle)) = self.executor.perform_effect(effect) {
                    self.running_effects.retain(|_, task| !task.handle.is_finished());
                    self.running_effects.insert(call, RunningEffect { handle, counts_as_work: counts });
                }
            }
        }
    }

    /// Stops all of them, and what tools have left running: when the end of the run is published, none of its processes
    /// is left. `is_final`: the run will not be resumed.
    pub(super) async fn end_run(self, is_final: bool) {
        let executor = self.executor.clone();
        drop(self);
        executor.context.ports.tools.end_run(&executor.run, is_final).await;
    }

    /// Whether something is under way that should come to its end.
    pub(super) fn are_at_work(&self) -> bool {
        self.running_effects.values().any(|task| task.counts_as_work && !task.handle.is_finished())
    }
}

impl Drop for RunningEffects {
    fn drop(&mut self) {
        self.running_effects.values().for_each(|task| task.handle.abort());
    }
}
