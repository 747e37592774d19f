//! When a run takes the project's lock: at its start, or only before it changes files.
//!
//! A served run may wait for long: for a model's answer, for sub-agents. While it has changed no file it does not lock
//! out other runs. It takes its first snapshot with the lock, so that an undo of the run reverts no earlier change of
//! others. Work of sub-agents is the client's own and needs no lock.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio::task::AbortHandle;

use super::driver_message::DriverMessage;
use super::runtime_context::RuntimeContext;
use synthdev_domain::ids::{CallId, RunId};
use synthdev_domain::project_lock::LockHolder;
use synthdev_domain::tool::{ToolOutcome, ToolRisk};
use synthdev_engine::effect::Effect;
use synthdev_engine::event::RunEvent;
use synthdev_engine::input::Input;
use synthdev_engine::machine::Machine;
use synthdev_ports::lock::{LockError, ProjectLock, ProjectLockGuard};

/// How often it is looked whether the project is free.
const LOOK: Duration = Duration::from_millis(250);
/// Attempts before the run reports that it waits.
const SILENT: u32 = 4;

/// The project's lock of one run.
#[derive(Default)]
pub(super) struct RunProjectLock {
    lock_guard: Option<ProjectLockGuard>,
    /// How it is taken, where it was not taken at the start.
    deferred_lock: Option<DeferredProjectLock>,
    /// What begins when it is taken.
    held_effects: Vec<Effect>,
    pending_lock: Option<ProjectLockWait>,
}

#[derive(Clone)]
pub(super) struct DeferredProjectLock {
    pub(super) context: Arc<RuntimeContext>,
    pub(super) lock: Arc<dyn ProjectLock>,
    pub(super) holder: LockHolder,
}

/// Asks until the project is free; dropped, it asks no longer.
struct ProjectLockWait {
    task: AbortHandle,
    context: Arc<RuntimeContext>,
    run: RunId,
}

impl Drop for ProjectLockWait {
    fn drop(&mut self) {
        self.task.abort();
        self.context.runs.waits_no_longer(&self.run);
    }
}

impl RunProjectLock {
    /// Taken, or nothing that needs a lock.
    pub(super) fn acquired_at_start(guard: Option<ProjectLockGuard>) -> Self {
        Self { lock_guard: guard, ..Self::default() }
    }

    pub(super) fn deferred(late: DeferredProjectLock) -> Self {
        Self { deferred_lock: Some(late), ..Self::default() }
    }

    /// Gives back what may begin; keeps what has to wait for the lock.
    pub(super) fn admit_effect(&mut self, effect: Effect, machine: &Machine) -> Option<Effect> {
        let needs = match &effect {
            Effect::RunTool { risk, .. } => *risk != ToolRisk::Read,
            Effect::TakeSnapshot { call, .. } => machine.is_first_snapshot(*call),
            Effect::Evaluate { .. }
            | Effect::CallModel { .. }
            | Effect::CheckTool { .. }
            | Effect::AskApproval { .. }
            | Effect::AskPerson { .. }
            | Effect::SetTimer { .. }
            | Effect::Abort { .. }
            | Effect::Finish => false,
        };
        if !needs || self.deferred_lock.is_none() || self.lock_guard.is_some() {
            return Some(effect);
        }
        self.held_effects.push(effect);
        None
    }

    /// Drops effects that no branch waits for any more.
    pub(super) fn drop_call(&mut self, call: CallId) {
        self.held_effects.retain(|effect| effect.call() != Some(call));
    }

    /// After each input: requests the lock if it is needed. Returns effects that do not need it any more: a snapshot
    /// that only the end of the run waits for, or a step that is delegated.
    pub(super) fn request_when_needed(
        &mut self,
        machine: &Machine,
        inbox_sender: &UnboundedSender<DriverMessage>,
    ) -> Vec<Effect> {
        if self.held_effects.is_empty() {
            self.pending_lock = None;
            return Vec::new();
        }
        let changes = self.held_effects.iter().any(|effect| matches!(effect, Effect::RunTool { .. }));
        if changes || machine.is_to_change() {
            if let (None, Some(late)) = (&self.pending_lock, &self.deferred_lock) {
                self.pending_lock = Some(late.clone().wait_for_lock(inbox_sender.clone()));
            }
            return Vec::new();
        }
        self.pending_lock = None;
        if machine.waits_for_snapshot() { std::mem::take(&mut self.held_effects) } else { Vec::new() }
    }

    /// The lock was taken, or the request failed: the effects that begin, or the failures.
    pub(super) fn handle_lock_result(
        &mut self,
        taken: Result<ProjectLockGuard, LockError>,
    ) -> Result<Vec<Effect>, Vec<Input>> {
        let wanted = self.pending_lock.take().is_some();
        match taken {
            Ok(guard) => {
                self.lock_guard = wanted.then_some(guard);
                Ok(std::mem::take(&mut self.held_effects))
            }
            Err(error) => {
                let why = match error {
                    LockError::Held(other) => other.to_string(),
                    LockError::Io { message, hint } => {
                        hint.map_or_else(|| message.clone(), |hint| format!("{message} ({hint})"))
                    }
                };
                Err(std::mem::take(&mut self.held_effects)
                    .into_iter()
                    .filter_map(|held| lock_failure_input(held, &why))
                    .collect())
            }
        }
    }
}

impl DeferredProjectLock {
    fn wait_for_lock(self, inbox_sender: UnboundedSender<DriverMessage>) -> ProjectLockWait {
        let (shared, run) = (Arc::clone(&self.context), self.holder.run.clone());
        let task = tokio::spawn(async move { self.request_lock(inbox_sender).await }).abort_handle();
        ProjectLockWait { task, context: shared, run }
    }

    async fn request_lock(self, inbox_sender: UnboundedSender<DriverMessage>) {
        let mut looks = 0;
        loop {
            let Self { lock, holder, .. } = self.clone();
            let taken = match tokio::task::spawn_blocking(move || lock.try_lock(&holder)).await {
                Ok(Err(LockError::Held(other))) => {
                    looks += 1;
                    if looks >= SILENT {
                        self.warn_waiting(&other);
                    }
                    tokio::time::sleep(LOOK).await;
                    continue;
                }
                Ok(taken) => DriverMessage::ProjectLock(taken),
                Err(_) => DriverMessage::EffectPanicked,
            };
            // without a receiver the guard is dropped, which releases the lock
            let _ = inbox_sender.send(taken);
            return;
        }
    }

    fn warn_waiting(&self, other: &LockHolder) {
        let run = &self.holder.run;
        if self.context.runs.waits_behind(run, other) {
            let text = format!("{other}: this run goes on when that one has ended");
            let now = self.context.ports.clock.now();
            self.context.bus.publish(run, now, RunEvent::Warning { code: "files".into(), text });
        }
    }
}

fn lock_failure_input(effect: Effect, why: &str) -> Option<Input> {
    match effect {
        Effect::TakeSnapshot { call, .. } => Some(Input::SnapshotFailed { call, reason: why.to_owned() }),
        Effect::RunTool { call, .. } => {
            let outcome = ToolOutcome {
                content: why.to_owned(),
                summary: "not begun".to_owned(),
                ..ToolOutcome::default()
            };
            Some(Input::ToolDone { call, outcome })
        }
        _ => None,
    }
}
